//! The kinds of failure. What a caller can act on is [`Error`]; what storage can report is [`PortError`].

use std::error::Error as StdError;

/// The result of a use case.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The cause of a failure, for the log only.
pub type Source = Box<dyn StdError + Send + Sync>;

/// One thing wrong with a request, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Issue {
    /// The place in the request, as in `["containerTags", "1"]`.
    pub path: Vec<String>,
    /// What is wrong there and what would be right.
    pub message: String,
}

/// Why a use case did not do what was asked. Kinds, not causes: the edge maps each to one status code.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The request is wrong and says so before anything was changed.
    #[error("{message}")]
    Invalid {
        /// One sentence for the caller.
        message: String,
        /// The single faults, when there are several or a place is worth naming.
        issues: Vec<Issue>,
    },
    /// The thing does not exist for this caller, which includes things of other organizations.
    #[error("{0} not found")]
    NotFound(&'static str),
    /// The request contradicts the present state.
    #[error("{0}")]
    Conflict(String),
    /// No credential, or one that is not valid (any more).
    #[error("{0}")]
    Unauthenticated(&'static str),
    /// The credential does not reach this far.
    #[error("{0}")]
    Forbidden(String),
    /// More bytes than this route takes.
    #[error("{0}")]
    TooLarge(String),
    /// Content of a kind that cannot be read.
    #[error("{0}")]
    UnsupportedMedia(String),
    /// More requests than a limit admits.
    #[error("{message}")]
    RateLimited {
        /// Which limit, in one sentence.
        message: String,
        /// After how many seconds the same request will be admitted, or is worth another try.
        retry_after_seconds: u64,
    },
    /// Something that this service does not do (yet), and what it does instead.
    #[error("{0}")]
    Unsupported(String),
    /// A dependency did not answer; the same request may succeed later.
    #[error("a dependency did not answer; try again")]
    Unavailable(#[source] Source),
    /// A fault of ours.
    #[error("internal error")]
    Internal(#[source] Source),
}

impl Error {
    /// An [`Error::Invalid`] without a place.
    pub fn invalid(message: impl Into<String>) -> Self {
        Self::Invalid {
            message: message.into(),
            issues: Vec::new(),
        }
    }

    /// An [`Error::Invalid`] about one field of the request.
    pub fn invalid_field(field: &str, message: impl Into<String>) -> Self {
        let message = message.into();
        let issue = Issue {
            path: vec![field.to_owned()],
            message: message.clone(),
        };
        Self::Invalid {
            message: format!("{field}: {message}"),
            issues: vec![issue],
        }
    }

    /// An [`Error::Internal`] that says what was being done.
    pub fn internal(context: impl Into<String>) -> Self {
        Self::Internal(context.into().into())
    }

    /// The `type` of the contract's error body and of the error analytics.
    pub fn kind(&self) -> &'static str {
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

/// Why a port could not do its work. Absence is `Ok(None)`, never an error.
#[derive(Debug, thiserror::Error)]
pub enum PortError {
    /// The condition of a write did not hold: somebody else was first.
    #[error("the condition of the write did not hold")]
    Conflict,
    /// Throttled, timed out or unreachable; the write may or may not have happened.
    #[error("a dependency is unavailable")]
    Unavailable(#[source] Source),
    /// A stored record does not have the shape it was written with.
    #[error("a stored record is corrupt: {0}")]
    Corrupt(String),
    /// Anything else, a fault of ours.
    #[error("a port failed")]
    Internal(#[source] Source),
}

impl PortError {
    /// Whether the same call may succeed later; decides between redelivery and `failed`.
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
            PortError::Corrupt(what) => Self::Internal(what.into()),
            PortError::Internal(source) => Self::Internal(source),
        }
    }
}
