//! The writes of a transaction, conversion of the error of a cancelled one, and writes of items that
//! transactions change as well.

use std::time::Duration;

use aws_sdk_dynamodb::operation::transact_write_items::TransactWriteItemsError;
use aws_sdk_dynamodb::operation::update_item::builders::UpdateItemFluentBuilder;
use aws_sdk_dynamodb::types::TransactWriteItem;
use aws_sdk_dynamodb::types::builders::{
    ConditionCheckBuilder, DeleteBuilder, PutBuilder, UpdateBuilder,
};
use aws_smithy_runtime_api::client::orchestrator::HttpResponse;
use aws_smithy_runtime_api::client::result::SdkError;
use aws_smithy_types::error::metadata::ProvideErrorMetadata;
use domain::PortError;
use domain::ports::PortResult;

use crate::error::{Cancellation, build_error, classify_cancellation, condition_held, port_error};

/// The most attempts at a write that transactions of others keep refusing.
const MAX_ATTEMPTS: u32 = 6;
/// The pause before the second attempt. Each following pause is twice as long.
const FIRST_PAUSE: Duration = Duration::from_millis(20);

/// Returns the write of a transaction that puts an item.
pub(crate) fn put_write(put: PutBuilder) -> PortResult<TransactWriteItem> {
    let put = put.build().map_err(build_error)?;
    Ok(TransactWriteItem::builder().put(put).build())
}

/// Returns the write of a transaction that updates an item.
pub(crate) fn update_write(update: UpdateBuilder) -> PortResult<TransactWriteItem> {
    let update = update.build().map_err(build_error)?;
    Ok(TransactWriteItem::builder().update(update).build())
}

/// Returns the write of a transaction that deletes an item.
pub(crate) fn delete_write(delete: DeleteBuilder) -> PortResult<TransactWriteItem> {
    let delete = delete.build().map_err(build_error)?;
    Ok(TransactWriteItem::builder().delete(delete).build())
}

/// Returns the part of a transaction that only checks a condition.
pub(crate) fn condition_check(check: ConditionCheckBuilder) -> PortResult<TransactWriteItem> {
    let check = check.build().map_err(build_error)?;
    Ok(TransactWriteItem::builder().condition_check(check).build())
}

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

/// Sends an update of an item that transactions change as well. Returns `false` if its condition does
/// not hold.
pub(crate) async fn send_update(update: UpdateItemFluentBuilder) -> PortResult<bool> {
    condition_held(repeat_during_transactions(|| update.clone().send()).await)
}

/// Sends the write of one item. While a transaction changes the item, the write is refused; it is
/// then sent again after a pause.
pub(crate) async fn repeat_during_transactions<T, E, F>(
    send: impl Fn() -> F,
) -> Result<T, SdkError<E, HttpResponse>>
where
    E: ProvideErrorMetadata,
    F: Future<Output = Result<T, SdkError<E, HttpResponse>>>,
{
    const REFUSED: &str = "TransactionConflictException";
    for attempt in 1..MAX_ATTEMPTS {
        match send().await {
            Err(error) if error.code() == Some(REFUSED) => {
                tokio::time::sleep(FIRST_PAUSE * 2_u32.pow(attempt - 1)).await;
            }
            result => return result,
        }
    }
    send().await
}
