//! Failures of a tool, as a model reads them: what went wrong, and what to do about it.

use std::fmt;

use api_client::{ApiError, Refusal};
use http::StatusCode;
use rmcp::ErrorData;
use rmcp::model::{CallToolResult, ContentBlock};

/// The reason why a tool did not do its work, in sentences for a model.
#[derive(Debug)]
pub(crate) struct ToolFailure {
    message: String,
    cause: FailureCause,
}

/// The cause of a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FailureCause {
    /// The arguments of the call.
    Arguments,
    /// A request that the API refused with this status.
    Refusal(StatusCode),
    /// An API that cannot be reached, or does not answer as it should.
    Outage,
}

impl ToolFailure {
    /// Returns a failure that comes from the arguments.
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            cause: FailureCause::Arguments,
        }
    }

    /// Checks whether the API refused a request with this status.
    pub(crate) fn has_status(&self, status: StatusCode) -> bool {
        self.cause == FailureCause::Refusal(status)
    }

    /// Returns the failure as the result of a tool. The model reads it and can try again.
    pub(crate) fn into_result(self) -> CallToolResult {
        CallToolResult::error(vec![ContentBlock::text(self.message)])
    }

    /// Returns the failure as an error of the protocol, for prompts and resources, which have no
    /// results that are errors.
    pub(crate) fn into_protocol_error(self) -> ErrorData {
        match self.cause {
            FailureCause::Refusal(StatusCode::NOT_FOUND) => {
                ErrorData::resource_not_found(self.message, None)
            }
            FailureCause::Refusal(status) if status.is_server_error() => {
                ErrorData::internal_error(self.message, None)
            }
            FailureCause::Outage => ErrorData::internal_error(self.message, None),
            FailureCause::Arguments | FailureCause::Refusal(_) => {
                ErrorData::invalid_params(self.message, None)
            }
        }
    }
}

impl fmt::Display for ToolFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl From<ApiError> for ToolFailure {
    fn from(error: ApiError) -> Self {
        let message = match &error {
            ApiError::Refused(refusal) => explain_refusal(refusal),
            other => sentence(&other.to_string()),
        };
        let cause = match error {
            ApiError::Refused(refusal) => FailureCause::Refusal(refusal.status),
            ApiError::TooLarge | ApiError::InvalidRequest(_) => FailureCause::Arguments,
            ApiError::Unreachable { .. }
            | ApiError::TimedOut { .. }
            | ApiError::Unexpected { .. } => FailureCause::Outage,
        };
        Self { message, cause }
    }
}

/// Returns the message of a refused request with what to do about it.
fn explain_refusal(refusal: &Refusal) -> String {
    let message = sentence(&refusal.to_string());
    let remedy = match refusal.status {
        StatusCode::UNAUTHORIZED => {
            "Tell the user to set a valid API key in the configuration of this server."
        }
        StatusCode::FORBIDDEN => {
            "The API key does not permit this. The tool `whoami` shows what it permits."
        }
        StatusCode::NOT_FOUND => {
            "Use an id that `search`, `list_documents` or `list_memories` has returned, in the same \
             container."
        }
        StatusCode::CONFLICT => "Look at the current state before you try again.",
        StatusCode::PAYLOAD_TOO_LARGE => "Split the content into smaller parts.",
        StatusCode::TOO_MANY_REQUESTS => "Wait before you try again.",
        status if status.is_server_error() => "Try again later.",
        _ if message.contains("ontainerTag") || message.contains("namespace") => {
            "The argument `container` names the container. The tool `list_containers` lists them."
        }
        _ => "Correct the arguments and try again.",
    };

    format!("{message} {remedy}")
}

/// Returns a message of the API with one full stop. It may begin with the name of a field.
fn sentence(message: &str) -> String {
    format!("{}.", message.trim_end_matches('.'))
}
