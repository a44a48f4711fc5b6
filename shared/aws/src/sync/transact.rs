//! The transactions of a step.

use std::time::Duration;

use aws_sdk_dynamodb::operation::transact_write_items::TransactWriteItemsError;
use aws_sdk_dynamodb::types::{
    AttributeValue, ConditionCheck, Delete, Put, ReturnValuesOnConditionCheckFailure,
    TransactWriteItem,
};
use domain::PortError;
use domain::ports::PortResult;

use super::plan::ItemWrite;
use crate::connections::put_if_revision;
use crate::error::{Cancellation, classify_cancellation, port_error};
use crate::records::connections::RevisionRecord;
use crate::records::{Item, item_absent, key_item, number_value};
use crate::table::Table;
use crate::table_keys::connection_items as item_keys;
use crate::transaction::{condition_check, delete_write, put_write};

/// The most attempts at a transaction that conflicts with others. The items of a connection are in
/// one partition, which takes a thousand units a second. A full transaction needs two hundred, so
/// large steps do have to wait.
const MAX_ATTEMPTS: u32 = 8;
/// The first pause between two attempts. Each following pause is twice as long.
const FIRST_PAUSE: Duration = Duration::from_millis(50);

/// The condition on the stored state for a step to continue.
pub(super) struct StepFence<'a> {
    /// The partition of the connection.
    pub(super) pk: &'a str,
    /// The number of the step that must be stored, or `None` if no state may be stored.
    pub(super) previous_step: Option<u64>,
}

impl StepFence<'_> {
    fn condition(&self) -> String {
        if self.previous_step.is_some() {
            format!("{} = :previous", RevisionRecord::ATTRIBUTES.revision)
        } else {
            item_absent()
        }
    }

    fn values(&self) -> Option<std::collections::HashMap<String, AttributeValue>> {
        let previous = self.previous_step?;
        Some([(":previous".to_owned(), number_value(previous))].into())
    }

    fn check_fence(&self, table: &Table) -> PortResult<TransactWriteItem> {
        let check = ConditionCheck::builder().table_name(&table.name);
        let check = check.set_key(Some(key_item(&(
            self.pk.to_owned(),
            item_keys::STATE_KEY.to_owned(),
        ))));
        let check = check.condition_expression(self.condition());
        condition_check(check.set_expression_attribute_values(self.values()))
    }

    fn put_state(&self, table: &Table, state: Item) -> PortResult<TransactWriteItem> {
        let put = Put::builder().table_name(&table.name).set_item(Some(state));
        let put = put
            .condition_expression(self.condition())
            .set_expression_attribute_values(self.values());
        let put = put
            .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld);
        put_write(put)
    }
}

/// Makes a part of the writes of a step. Returns `false` if the step has already been completed.
pub(super) async fn write_part(
    table: &Table,
    fence: &StepFence<'_>,
    writes: Vec<ItemWrite>,
) -> PortResult<bool> {
    let mut items = vec![fence.check_fence(table)?];
    for write in writes {
        items.push(transact_item(table, fence.pk, write)?);
    }
    Ok(send_transaction(table, items).await? == TransactionOutcome::Done)
}

/// Makes the last writes of a step and stores the state after it. Returns `false` if another writer
/// was first. Our own first attempt whose answer was lost counts as success.
pub(super) async fn write_last_part(
    table: &Table,
    fence: &StepFence<'_>,
    writes: Vec<ItemWrite>,
    state: Item,
) -> PortResult<bool> {
    if writes.is_empty() {
        return put_if_revision(table, state, fence.previous_step).await;
    }

    let write_token = RevisionRecord::ATTRIBUTES.write_token;
    let own_token = state.get(write_token).cloned();
    let mut items = vec![fence.put_state(table, state)?];
    for write in writes {
        items.push(transact_item(table, fence.pk, write)?);
    }

    Ok(match send_transaction(table, items).await? {
        TransactionOutcome::Done => true,
        TransactionOutcome::FenceFailed(stored) => {
            let mut stored = stored.unwrap_or_default();
            let stored_token = stored.remove(write_token);
            stored_token.is_some() && stored_token == own_token
        }
    })
}

fn transact_item(table: &Table, pk: &str, write: ItemWrite) -> PortResult<TransactWriteItem> {
    match write {
        ItemWrite::Put(new) => {
            put_write(Put::builder().table_name(&table.name).set_item(Some(new)))
        }
        ItemWrite::Delete(sk) => {
            let delete = Delete::builder().table_name(&table.name);
            delete_write(delete.set_key(Some(key_item(&(pk.to_owned(), sk)))))
        }
    }
}

/// The outcome of a transaction.
#[derive(PartialEq)]
enum TransactionOutcome {
    /// The transaction was committed.
    Done,
    /// The fence did not hold. The value is the stored state, if the fence asked for it.
    FenceFailed(Option<Item>),
}

/// Sends a transaction whose first item is the fence. Sending it again has no further effect.
async fn send_transaction(
    table: &Table,
    items: Vec<TransactWriteItem>,
) -> PortResult<TransactionOutcome> {
    for attempt in 0.. {
        let transaction = table
            .client
            .transact_write_items()
            .set_transact_items(Some(items.clone()));
        let Err(error) = transaction.send().await else {
            break;
        };
        let Some(TransactWriteItemsError::TransactionCanceledException(canceled)) =
            error.as_service_error()
        else {
            return Err(port_error(error));
        };
        let reasons = canceled.cancellation_reasons();
        match classify_cancellation(reasons) {
            Cancellation::Condition => {
                let stored = match reasons {
                    [fence, ..] => fence.item.clone(),
                    [] => None,
                };
                return Ok(TransactionOutcome::FenceFailed(stored));
            }
            Cancellation::Conflict | Cancellation::Temporary if attempt + 1 < MAX_ATTEMPTS => {}
            Cancellation::Conflict | Cancellation::Temporary => {
                return Err(PortError::Unavailable(Box::new(error)));
            }
            Cancellation::Other => return Err(port_error(error)),
        }
        tokio::time::sleep(FIRST_PAUSE * 2_u32.pow(attempt)).await;
    }

    Ok(TransactionOutcome::Done)
}
