//! Recollect on one machine: the production adapters over the embedded services, with every route
//! and every worker in one process.

pub mod arguments;
mod bytes_in_flight;
pub mod check;
mod command;
mod counts;
mod external_services;
mod inventory;
mod listen;
mod metrics;
mod processing_places;
mod request_origin;
mod routes;
mod system;
pub mod transfer;
mod workers;

pub use command::run_command;
pub use external_services::ExternalServices;
pub use listen::{DEFAULT_BODY_BYTES, ServingOptions, build_service, serve_until};
pub use routes::{all_routes, bucket_routes};
pub use system::{FolderObjects, LocalSystem};
pub use workers::{QueueSet, Workers};
