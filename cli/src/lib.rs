//! Recollect on one machine: the production adapters over the embedded services, with every route
//! and every worker in one process.

pub mod arguments;
pub mod check;
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

pub use command::run_command;
pub use listen::{DEFAULT_BODY_BYTES, ServingOptions, build_service, serve_until};
pub use outside::ExternalServices;
pub use routes::{all_routes, bucket_routes};
pub use system::LocalSystem;
pub use workers::{QueueSet, Workers};
