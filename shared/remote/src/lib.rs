//! HTTP to other servers: [`Fetcher`] reads public web pages and never reaches anything else,
//! [`ModelClient`] calls the operator's model endpoint, and [`ApiClient`] the API of a provider.
//!
//! All of them are the same client with different connectors. Pages have a connector that vets
//! every address between looking it up and connecting to it. They use a connection of their own for
//! every request, because a connection in a pool belongs to a name rather than to an address.

pub mod page_url;

#[cfg(feature = "client")]
mod api;
#[cfg(feature = "client")]
mod client;
#[cfg(feature = "client")]
mod connector;
#[cfg(feature = "client")]
mod decode;
#[cfg(feature = "client")]
mod fetch;
#[cfg(feature = "client")]
mod guard;
#[cfg(feature = "client")]
mod models;
#[cfg(feature = "client")]
mod multipart;
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
pub use api::{ApiAnswer, ApiClient, ApiError};
#[cfg(feature = "client")]
pub use fetch::{FetchError, FetchErrorKind, Fetcher, Page, PageFetcher};
#[cfg(feature = "client")]
pub use guard::url_refusal;
#[cfg(feature = "client")]
pub use models::{AnswerError, EmbeddingClient, ModelClient, ModelError, Question, RerankClient};
#[cfg(feature = "client")]
pub use multipart::{MultipartBody, MultipartForm};
#[cfg(feature = "client")]
pub use network::Network;
#[cfg(feature = "client")]
pub use settings::{ModelSettings, RoleCredentials};
