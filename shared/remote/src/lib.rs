//! HTTP to other servers: [`Fetcher`] reads public web pages and never reaches anything else, and
//! [`ModelClient`] calls the operator's model endpoint.
//!
//! Every request uses a connection of its own, because the guard vets addresses rather than names.
//! A pool, a proxy or a client that resolves names itself would come between the check and the
//! connection.

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
pub use guard::url_refusal;
#[cfg(feature = "client")]
pub use models::{AnswerError, ModelClient, ModelError, Question};
#[cfg(feature = "client")]
pub use network::Network;
#[cfg(feature = "client")]
pub use settings::ModelSettings;
