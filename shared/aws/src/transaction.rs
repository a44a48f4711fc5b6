//! Conversion of the error of a cancelled transaction.

use aws_sdk_dynamodb::operation::transact_write_items::TransactWriteItemsError;
use aws_smithy_runtime_api::client::orchestrator::HttpResponse;
use aws_smithy_runtime_api::client::result::SdkError;
use domain::PortError;

use crate::error::{Cancellation, classify_cancellation, port_error};

/// Converts the error of a transaction that was not committed. A failed condition becomes
/// `Conflict`. A conflict with another transaction becomes `Unavailable`, because the transaction
/// may be tried again.
pub(crate) fn transaction_error(
    error: SdkError<TransactWriteItemsError, HttpResponse>,
) -> PortError {
    let Some(TransactWriteItemsError::TransactionCanceledException(cancelled)) =
        error.as_service_error()
    else {
        return port_error(error);
    };
    match classify_cancellation(cancelled.cancellation_reasons()) {
        Cancellation::Condition => PortError::Conflict,
        Cancellation::Conflict | Cancellation::Temporary => PortError::Unavailable(Box::new(error)),
        Cancellation::Other => port_error(error),
    }
}
