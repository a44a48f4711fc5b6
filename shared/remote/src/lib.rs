//! Outside HTTP: [`Fetcher`] reads public web pages and never reaches anything else, [`Models`] asks the operator's
//! model endpoint.
//!
//! Every request gets a connection of its own, because the guard vets addresses rather than names: a pool, a proxy or
//! a client that looks names up itself would get between the check and the dialing.

pub mod page_url;

#[cfg(feature = "client")]
mod connection;
#[cfg(feature = "client")]
mod decode;
#[cfg(feature = "client")]
mod fetch;
#[cfg(feature = "client")]
mod guard;
#[cfg(feature = "client")]
mod models;
#[cfg(feature = "client")]
mod network;
#[cfg(feature = "client")]
mod settings;
#[cfg(feature = "client")]
mod tls;

#[cfg(test)]
#[cfg(feature = "client")]
mod tests;

pub use page_url::parse_page_url;

#[cfg(feature = "client")]
pub use fetch::{FetchError, FetchErrorKind, Fetcher, Page};
#[cfg(feature = "client")]
pub use guard::refusal;
#[cfg(feature = "client")]
pub use models::{AnswerError, ModelError, Models, Question};
#[cfg(feature = "client")]
pub use network::Network;
#[cfg(feature = "client")]
pub use settings::{ModelSettings, Secret};
