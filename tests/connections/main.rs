//! Connections as clients see them: the routes, the consent flow in a browser, and documents that
//! stay in sync with a drive, over the production adapters and a fake drive that speaks the real
//! protocol.

mod client;
mod connectors;
mod deleting;
mod faults;
mod following;
mod names;
mod secrets;
mod selecting;
