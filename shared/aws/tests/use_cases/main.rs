//! Use cases over the ports and embedded services. The transport between them counts the calls, and
//! gives answers that the embedded services never give.

mod combinations;
mod contention;
mod deletion;
mod import;
mod lookup;
mod world;
