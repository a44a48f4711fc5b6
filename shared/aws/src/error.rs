//! Conversion of the SDK's errors into errors of the ports.

use aws_sdk_dynamodb::types::CancellationReason;
use aws_smithy_runtime_api::client::orchestrator::HttpResponse;
use aws_smithy_runtime_api::client::result::SdkError;
use aws_smithy_types::error::metadata::ProvideErrorMetadata;
use domain::PortError;
use domain::ports::PortResult;

/// The codes of service errors that are temporary.
const TEMPORARY_CODES: [&str; 9] = [
    "ProvisionedThroughputExceededException",
    "ThrottlingException",
    "RequestLimitExceeded",
    "LimitExceededException",
    "InternalServerError",
    "TransactionConflictException",
    "TransactionInProgressException",
    "ServiceUnavailable",
    "SlowDown",
];

/// Converts an error of the SDK. No answer, throttling and server faults become `Unavailable`,
/// because the call may succeed later. All others become `Internal`.
pub(crate) fn port_error<E>(error: SdkError<E, HttpResponse>) -> PortError
where
    E: ProvideErrorMetadata + std::error::Error + Send + Sync + 'static,
{
    let is_temporary = match &error {
        SdkError::ServiceError(service) => {
            let status = service.raw().status().as_u16();
            status >= 500 || status == 429 || has_code(service.err(), &TEMPORARY_CODES)
        }
        SdkError::TimeoutError(_) | SdkError::DispatchFailure(_) | SdkError::ResponseError(_) => {
            true
        }
        _ => false,
    };

    let source = Box::new(error);
    if is_temporary {
        PortError::Unavailable(source)
    } else {
        PortError::Internal(source)
    }
}

fn has_code(error: &impl ProvideErrorMetadata, codes: &[&str]) -> bool {
    match error.code() {
        Some(code) => codes.contains(&code),
        None => false,
    }
}

/// Checks whether the condition of a write held.
pub(crate) fn condition_held<T, E>(result: Result<T, SdkError<E, HttpResponse>>) -> PortResult<bool>
where
    E: ProvideErrorMetadata + std::error::Error + Send + Sync + 'static,
{
    match result {
        Ok(_) => Ok(true),
        Err(error) if error.code() == Some("ConditionalCheckFailedException") => Ok(false),
        Err(error) => Err(port_error(error)),
    }
}

/// Converts the error of a request that this crate composed wrongly.
pub(crate) fn build_error(error: aws_smithy_types::error::operation::BuildError) -> PortError {
    PortError::Internal(Box::new(error))
}

/// The reason why a transaction was cancelled.
pub(crate) enum Cancellation {
    /// A condition did not hold.
    Condition,
    /// Another transaction used the same items. The outcome is unknown, so the caller has to read
    /// again.
    Conflict,
    /// The service throttled the request.
    Temporary,
    /// The request itself is wrong.
    Other,
}

/// Returns the most significant of the reasons.
pub(crate) fn classify_cancellation(reasons: &[CancellationReason]) -> Cancellation {
    let has = |wanted: &str| reasons.iter().any(|reason| reason.code() == Some(wanted));
    if has("ConditionalCheckFailed") {
        Cancellation::Condition
    } else if has("TransactionConflict") {
        Cancellation::Conflict
    } else if has("ThrottlingError") || has("ProvisionedThroughputExceeded") {
        Cancellation::Temporary
    } else {
        Cancellation::Other
    }
}
