//! Errors: [`Error`] for failures that a caller can act on, and [`PortError`] for failures of
//! storage.

use std::error::Error as StdError;

/// The result of a use case.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The cause of a failure, which is only logged.
pub type ErrorSource = Box<dyn StdError + Send + Sync>;

/// One fault in a request, with its location.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestIssue {
    /// The location in the request, as in `["containerTags", "1"]`.
    pub path: Vec<String>,
    /// The fault, and what would be correct.
    pub message: String,
}

/// The kinds of failure of a use case. They are kinds rather than causes: the HTTP edge maps each
/// to one status code.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The request is invalid. Nothing has been changed.
    #[error("{message}")]
    Invalid {
        /// One sentence for the caller.
        message: String,
        /// The individual faults, if there are several or if their locations help.
        issues: Vec<RequestIssue>,
    },
    /// The object does not exist for this caller. This includes objects of other organizations.
    #[error("{0} not found")]
    NotFound(&'static str),
    /// The request contradicts the current state.
    #[error("{0}")]
    Conflict(String),
    /// The credential is missing, invalid or no longer valid.
    #[error("{0}")]
    Unauthenticated(&'static str),
    /// The credential does not permit this.
    #[error("{0}")]
    Forbidden(String),
    /// The request has more bytes than the route accepts.
    #[error("{0}")]
    TooLarge(String),
    /// The content is of a type that cannot be read.
    #[error("{0}")]
    UnsupportedMedia(String),
    /// The caller has sent more requests than a limit admits.
    #[error("{message}")]
    RateLimited {
        /// The limit, in one sentence.
        message: String,
        /// The seconds after which the same request will be admitted, or is worth another attempt.
        retry_after_seconds: u64,
    },
    /// The service does not support this, or not yet. The message says what it does instead.
    #[error("{0}")]
    Unsupported(String),
    /// A dependency did not answer. The same request may succeed later.
    #[error("a dependency did not answer; try again")]
    Unavailable(#[source] ErrorSource),
    /// An internal fault.
    #[error("internal error")]
    Internal(#[source] ErrorSource),
}

impl Error {
    /// Creates an [`Error::Invalid`] without a location.
    pub fn invalid(message: impl Into<String>) -> Self {
        Self::Invalid {
            message: message.into(),
            issues: Vec::new(),
        }
    }

    /// Creates an [`Error::Invalid`] about one field of the request.
    pub fn invalid_field(field: &str, message: impl Into<String>) -> Self {
        let message = message.into();
        let issue = RequestIssue {
            path: vec![field.to_owned()],
            message: message.clone(),
        };
        Self::Invalid {
            message: format!("{field}: {message}"),
            issues: vec![issue],
        }
    }

    /// Creates an [`Error::Internal`] that says what was being done.
    pub fn internal(context: impl Into<String>) -> Self {
        Self::Internal(context.into().into())
    }

    /// Returns the `type` of the error, as in the error body of the API and in the error analytics.
    pub fn type_name(&self) -> &'static str {
        match self {
            Self::Invalid { .. } => "ValidationError",
            Self::NotFound(_) => "NotFoundError",
            Self::Conflict(_) => "ConflictError",
            Self::Unauthenticated(_) => "AuthenticationError",
            Self::Forbidden(_) => "PermissionError",
            Self::TooLarge(_) => "PayloadTooLargeError",
            Self::UnsupportedMedia(_) => "UnsupportedMediaTypeError",
            Self::RateLimited { .. } => "RateLimitError",
            Self::Unsupported(_) => "UnsupportedError",
            Self::Unavailable(_) => "ServiceUnavailableError",
            Self::Internal(_) => "InternalError",
        }
    }
}

/// The reasons for which a port fails. A value that does not exist is `Ok(None)`, never an error.
#[derive(Debug, thiserror::Error)]
pub enum PortError {
    /// The condition of a write did not hold, because another writer was first.
    #[error("the condition of the write did not hold")]
    Conflict,
    /// The dependency is throttled, timed out or unreachable. A write may or may not have taken
    /// effect.
    #[error("a dependency is unavailable")]
    Unavailable(#[source] ErrorSource),
    /// A stored record does not have the form in which it was written.
    #[error("a stored record is corrupt: {0}")]
    Corrupt(String),
    /// Any other, internal fault.
    #[error("a port failed")]
    Internal(#[source] ErrorSource),
}

impl PortError {
    /// Checks whether the same call may succeed later. Workers use this to choose between
    /// redelivery and `failed`.
    pub fn is_retryable(&self) -> bool {
        matches!(self, Self::Unavailable(_) | Self::Conflict)
    }
}

impl From<PortError> for Error {
    fn from(error: PortError) -> Self {
        match error {
            PortError::Unavailable(source) => Self::Unavailable(source),
            PortError::Conflict => {
                Self::Unavailable("a concurrent change won every attempt".into())
            }
            PortError::Corrupt(message) => Self::Internal(message.into()),
            PortError::Internal(source) => Self::Internal(source),
        }
    }
}
