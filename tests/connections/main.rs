//! Connections from the outside: the routes, a browser's way through permission, and documents that stay in step with a
//! drive, over the production adapters and a drive that speaks the protocol of the real one.

mod client;
mod deleting;
mod faults;
mod following;
mod secrets;
mod selecting;
