//! The errors of a call. Each says what a person can change.

use std::error::Error;
use std::fmt;

use http::StatusCode;
use serde_json::Value;

/// The reason why a text is not the address of a server.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{reason}; an address looks like https://memory.example.com or http://127.0.0.1:8787")]
pub struct InvalidUrl {
    /// The reason. It does not repeat the address, which may contain a password.
    pub(crate) reason: &'static str,
}

/// The reason why a call has no answer. It never contains the key.
#[derive(Debug, thiserror::Error)]
pub enum ApiError {
    /// Nothing answers at the address, or the connection broke.
    #[error(
        "cannot reach {address}: {}; check the address, and whether the server runs",
        root_cause(cause)
    )]
    Unreachable {
        /// The address of the server.
        address: String,
        /// The error of the connection. The message has the part of it that says something.
        cause: remote::ApiError,
    },
    /// The whole answer did not arrive in time.
    #[error("{address} did not answer in time; try again, or send less at a time")]
    TimedOut {
        /// The address of the server.
        address: String,
    },
    /// The server refused the request.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The answer is not one of Recollect.
    #[error("{address} answered {status}, but not as Recollect does; check the address")]
    Unexpected {
        /// The address of the server.
        address: String,
        /// The status of the answer.
        status: StatusCode,
    },
    /// The answer is larger than this client reads.
    #[error("the answer is too large; ask for fewer items at a time")]
    TooLarge,
    /// The request cannot be written as HTTP.
    #[error("the request cannot be sent: {0}")]
    InvalidRequest(#[from] http::Error),
}

/// An error answer of the API.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// The status.
    pub status: StatusCode,
    /// The sentence that says what to change.
    pub message: String,
    /// The type of the error, as in `not_found`. It is empty if the answer names none.
    pub error_type: String,
    /// The id under which the operator finds the request in the log.
    pub request_id: Option<String>,
    /// The fields that have to change, each with a sentence.
    pub issues: Vec<(String, String)>,
    /// The seconds after which the server asks to be called again.
    pub retry_after_seconds: Option<u64>,
}

impl Refusal {
    /// Reads an error answer. Returns `None` if the body does not have the shape of one.
    pub(crate) fn parse(
        status: StatusCode,
        body: &Value,
        retry_after_seconds: Option<u64>,
    ) -> Option<Self> {
        let message = body["error"].as_str()?;
        let text = |field: &str| body[field].as_str().map(str::to_owned);
        let issues = body["issues"].as_array().into_iter().flatten();
        let issues = issues.filter_map(|issue| {
            let path = path_text(&issue["path"]);
            Some((path, issue["message"].as_str()?.to_owned()))
        });

        Some(Self {
            status,
            message: message.to_owned(),
            error_type: text("type").unwrap_or_default(),
            request_id: text("requestId"),
            issues: issues.collect(),
            retry_after_seconds,
        })
    }
}

/// Returns the path of a field as text: `metadata.year` for the list of its parts.
fn path_text(path: &Value) -> String {
    let Some(parts) = path.as_array() else {
        return path.as_str().unwrap_or_default().to_owned();
    };
    let parts = parts.iter().map(|part| match part.as_str() {
        Some(name) => name.to_owned(),
        None => part.to_string(),
    });
    parts.collect::<Vec<_>>().join(".")
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        for (path, message) in &self.issues {
            // A message with one issue usually is that issue.
            if !self.message.contains(message.as_str()) {
                write!(f, "; {path}: {message}")?;
            }
        }
        if self.status == StatusCode::UNAUTHORIZED {
            f.write_str("; check the key")?;
        }
        if let Some(seconds) = self.retry_after_seconds
            && self.status == StatusCode::TOO_MANY_REQUESTS
        {
            write!(f, "; try again in {seconds} seconds")?;
        }
        // Only the operator can do something about these, and finds them by the id.
        if self.status.is_server_error()
            && let Some(id) = &self.request_id
        {
            write!(f, " (request {id})")?;
        }
        Ok(())
    }
}

impl Error for Refusal {}

/// Returns the innermost cause of an error. The outer ones of a connection only repeat that it
/// failed.
fn root_cause(error: &remote::ApiError) -> String {
    let mut cause: &dyn Error = error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    cause.to_string()
}
