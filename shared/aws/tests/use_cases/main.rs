//! Use cases over the ports and embedded services. The transport between them gives
//! answers that the embedded services never give.

mod contention;
mod world;
