//! The mapping of errors to HTTP answers. No other place knows status codes.

use axum::response::{IntoResponse, Response};
use domain::Error;
use http::header::RETRY_AFTER;
use http::{HeaderValue, StatusCode};
use serde_json::json;
use tracing::error;

use crate::request_log::{note_error, request_id};

/// The result of a handler.
pub type ApiResult<T> = Result<T, ApiError>;

/// An error answer in the shape of the API: `{error, details?, type, issues?, requestId}`.
#[derive(Debug)]
pub struct ApiError(pub Error);

impl<E: Into<Error>> From<E> for ApiError {
    fn from(error: E) -> Self {
        Self(error.into())
    }
}

fn status_of(error: &Error) -> StatusCode {
    match error {
        Error::Invalid { .. } => StatusCode::BAD_REQUEST,
        Error::Unauthenticated(_) => StatusCode::UNAUTHORIZED,
        Error::Forbidden(_) => StatusCode::FORBIDDEN,
        Error::NotFound(_) => StatusCode::NOT_FOUND,
        Error::Conflict(_) => StatusCode::CONFLICT,
        Error::TooLarge(_) => StatusCode::PAYLOAD_TOO_LARGE,
        Error::UnsupportedMedia(_) => StatusCode::UNSUPPORTED_MEDIA_TYPE,
        Error::RateLimited { .. } => StatusCode::TOO_MANY_REQUESTS,
        Error::Unsupported(_) => StatusCode::NOT_IMPLEMENTED,
        Error::Unavailable(_) => StatusCode::SERVICE_UNAVAILABLE,
        Error::Internal(_) => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

/// Formats an error together with its causes, for the log.
pub(crate) fn format_error_chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text = format!("{text}: {cause}");
        source = cause.source();
    }
    text
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let status = status_of(&self.0);
        let request_id = request_id();
        note_error(self.0.type_name());
        if matches!(self.0, Error::Unavailable(_) | Error::Internal(_)) {
            error!(request.id = %request_id, error = %format_error_chain(&self.0), "request {request_id} failed");
        }

        let mut body = json!({"error": self.0.to_string(), "type": self.0.type_name(), "requestId": request_id});
        if let Error::Invalid { issues, .. } = &self.0
            && !issues.is_empty()
        {
            let issue = |issue: &domain::RequestIssue| json!({"path": issue.path, "message": issue.message});
            body["issues"] = issues.iter().map(issue).collect();
        }

        let mut response = (status, axum::response::Json(body)).into_response();
        let mut header = |name: &'static str, value: &'static str| {
            response
                .headers_mut()
                .insert(name, HeaderValue::from_static(value));
        };

        match status {
            // compat: both official clients retry 409 and every 5xx unless this header forbids it.
            StatusCode::CONFLICT | StatusCode::NOT_IMPLEMENTED => header("x-should-retry", "false"),
            StatusCode::SERVICE_UNAVAILABLE => header("retry-after", "1"),
            StatusCode::UNAUTHORIZED => header("www-authenticate", "Bearer"),
            _ => {}
        }

        if let Error::RateLimited {
            retry_after_seconds,
            ..
        } = self.0
        {
            response
                .headers_mut()
                .insert(RETRY_AFTER, HeaderValue::from(retry_after_seconds));
        }

        response
    }
}
