//! Recollect on one machine: the production adapters over the embedded services, with every route
//! and every worker in one process.

pub mod check;
pub mod cli;
mod command;
mod flight;
mod listen;
mod origin;
mod outside;
mod places;
mod routes;
mod system;
pub mod transfer;
mod workers;

pub use command::run;
pub use listen::{BODY_BYTES, Serving, listen, service};
pub use outside::Outside;
pub use routes::{bucket_routes, routes};
pub use system::System;
pub use workers::{Queues, Workers};
