//! The common parts of all requests to the provider.

use std::time::Duration;

use bytes::Bytes;
use domain::ports::ConnectorError;
use http::Request;
use http::header::{CONTENT_TYPE, HeaderValue};
use remote::{ApiAnswer, ApiError};

use super::DriveConnector;

/// The most bytes of an answer without content. A full page of a listing has about 2 MB.
pub(super) const MAX_RESPONSE_BYTES: usize = 32 * 1024 * 1024;
/// The name of the user agent. The provider compresses only for agents that also have `gzip` in
/// their names.
pub(super) const USER_AGENT: &str = concat!("recollect/", env!("CARGO_PKG_VERSION"), " (gzip)");

impl DriveConnector {
    /// Sends a request to the provider. The whole answer has to arrive within `time_limit`.
    pub(super) async fn send_to_provider(
        &self,
        request: Request<Bytes>,
        time_limit: Duration,
    ) -> Result<ApiAnswer, ConnectorError> {
        let call = self.http.send(request, time_limit);
        let answer = spans::trace(spans::call_span("call drive"), call).await;
        answer.map_err(network_error)
    }
}

/// Converts a network error.
fn network_error(error: ApiError) -> ConnectorError {
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
    let Some(Ok(value)) = answer.headers().get(CONTENT_TYPE).map(HeaderValue::to_str) else {
        return String::new();
    };
    let essence = value.split(';').next().unwrap_or_default();
    essence.trim().to_ascii_lowercase()
}
