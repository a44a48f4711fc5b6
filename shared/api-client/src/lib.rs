//! A client of the API of Recollect, for programs such as the command line.
//!
//! It calls a server over HTTP, or routers in the same process. Both ways send the same requests
//! and return the same answers and errors.

mod client;
mod error;
mod form;
mod repeat;
#[cfg(test)]
mod tests;
mod transport;

pub use client::ApiClient;
pub use error::{ApiError, InvalidUrl, Refusal};
pub use form::UploadFile;
pub use http::{Method, StatusCode};
