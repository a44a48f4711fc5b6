//! The common parts of all requests to the provider.

use bytes::Bytes;
use domain::ports::ConnectorError;
use http::header::{CONTENT_TYPE, HeaderValue};
use remote::{ApiAnswer, ApiError};

/// The most bytes of an answer without content. A full page of a listing has about 2 MB.
pub(super) const MAX_RESPONSE_BYTES: usize = 32 * 1024 * 1024;
/// The name of the user agent. The provider compresses only for agents that also have `gzip` in
/// their names.
pub(super) const USER_AGENT: &str = concat!("recollect/", env!("CARGO_PKG_VERSION"), " (gzip)");

/// Converts a network error.
pub(super) fn network_error(error: ApiError) -> ConnectorError {
    ConnectorError::Unavailable(Box::new(error))
}

/// Converts the error of a request that cannot be built.
pub(super) fn request_error(error: impl Into<http::Error>) -> ConnectorError {
    ConnectorError::Unavailable(Box::new(error.into()))
}

/// Returns the error for an answer that is not usable.
pub(super) fn unavailable_error(message: &str) -> ConnectorError {
    ConnectorError::Unavailable(message.into())
}

/// Returns the value of a header that carries an access token.
pub(super) fn bearer_header(token: &str) -> Result<HeaderValue, ConnectorError> {
    let mut value = HeaderValue::try_from(format!("Bearer {token}")).map_err(request_error)?;
    value.set_sensitive(true);
    Ok(value)
}

/// Reads the body, or returns `None` if it has more than `limit` bytes.
pub(super) async fn read_body(
    answer: ApiAnswer,
    limit: usize,
) -> Result<Option<Bytes>, ConnectorError> {
    answer.read_body(limit).await.map_err(network_error)
}

/// Returns the media type of an answer without parameters, in lower case.
pub(super) fn response_media_type(answer: &ApiAnswer) -> String {
    let value = answer
        .headers()
        .get(CONTENT_TYPE)
        .and_then(|value| value.to_str().ok());
    value
        .and_then(|value| value.split(';').next())
        .unwrap_or_default()
        .trim()
        .to_ascii_lowercase()
}
