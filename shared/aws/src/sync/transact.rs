//! The transactions of a step.

use std::time::Duration;

use aws_sdk_dynamodb::operation::transact_write_items::TransactWriteItemsError;
use aws_sdk_dynamodb::types::{
    AttributeValue, CancellationReason, ConditionCheck, Delete, Put,
    ReturnValuesOnConditionCheckFailure, TransactWriteItem,
};
use domain::ports::PortResult;
use domain::{PortError, Revision};

use super::place;
use super::plan::Write;
use crate::connections::{WRITE, put_next};
use crate::error::{Cancellation, build_error, cancellation, port_error};
use crate::item::{Item, Table, key_item, n, s};

/// How often a transaction that others were in the way of is tried. A connection's items lie in one partition, which
/// takes a thousand units a second and a full transaction needs two hundred: large steps do have to wait.
const ATTEMPTS: u32 = 8;
/// The first pause; each one after it is twice as long.
const PAUSE: Duration = Duration::from_millis(50);

/// What has to be stored for a step to go on.
pub(super) struct Fence<'a> {
    /// The connection's partition.
    pub(super) pk: &'a str,
    /// The step; none when there is no state.
    pub(super) before: Option<u64>,
}

impl Fence<'_> {
    const fn condition(&self) -> &'static str {
        if self.before.is_some() {
            "rev = :before"
        } else {
            "attribute_not_exists(pk)"
        }
    }

    fn values(&self) -> Option<std::collections::HashMap<String, AttributeValue>> {
        self.before
            .map(|before| [(":before".to_owned(), n(before))].into())
    }

    fn check(&self, table: &Table) -> PortResult<TransactWriteItem> {
        let check = ConditionCheck::builder().table_name(&table.name);
        let check = check.set_key(Some(key_item(&(
            self.pk.to_owned(),
            place::STATE.to_owned(),
        ))));
        let check = check.condition_expression(self.condition());
        let check = check
            .set_expression_attribute_values(self.values())
            .build()
            .map_err(build_error)?;
        Ok(TransactWriteItem::builder().condition_check(check).build())
    }

    fn put(&self, table: &Table, state: Item) -> PortResult<TransactWriteItem> {
        let put = Put::builder().table_name(&table.name).set_item(Some(state));
        let put = put
            .condition_expression(self.condition())
            .set_expression_attribute_values(self.values());
        let put = put
            .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld);
        Ok(TransactWriteItem::builder()
            .put(put.build().map_err(build_error)?)
            .build())
    }
}

/// Makes some of a step's writes; `false` when it has been made already.
pub(super) async fn part(table: &Table, fence: &Fence<'_>, writes: Vec<Write>) -> PortResult<bool> {
    let mut items = vec![fence.check(table)?];
    for write in writes {
        items.push(written(table, fence.pk, write)?);
    }
    Ok(sent(table, items).await? == Sent::Done)
}

/// Makes the last of a step's writes and stores the state after it; `false` when somebody was first. Our own first try
/// whose answer was lost counts as done.
pub(super) async fn last(
    table: &Table,
    fence: &Fence<'_>,
    writes: Vec<Write>,
    mut state: Item,
) -> PortResult<bool> {
    if writes.is_empty() {
        return put_next(table, state, fence.before).await;
    }

    let mark = s(Revision::random().as_str());
    state.insert(WRITE.into(), mark.clone());
    let mut items = vec![fence.put(table, state)?];
    for write in writes {
        items.push(written(table, fence.pk, write)?);
    }

    Ok(match sent(table, items).await? {
        Sent::Done => true,
        Sent::Late(stored) => stored.and_then(|mut stored| stored.remove(WRITE)) == Some(mark),
    })
}

fn written(table: &Table, pk: &str, write: Write) -> PortResult<TransactWriteItem> {
    let item = TransactWriteItem::builder();
    Ok(match write {
        Write::Put(new) => {
            let put = Put::builder().table_name(&table.name).set_item(Some(new));
            item.put(put.build().map_err(build_error)?).build()
        }
        Write::Delete(sk) => {
            let delete = Delete::builder().table_name(&table.name);
            let delete = delete.set_key(Some(key_item(&(pk.to_owned(), sk))));
            item.delete(delete.build().map_err(build_error)?).build()
        }
    })
}

/// How a transaction ended.
#[derive(PartialEq)]
enum Sent {
    Done,
    /// The fence did not hold, with what is stored there if that was asked for.
    Late(Option<Item>),
}

/// Sends a transaction whose first item is the fence. It is as good the second time as the first.
async fn sent(table: &Table, items: Vec<TransactWriteItem>) -> PortResult<Sent> {
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
        match cancellation(reasons) {
            Cancellation::Condition => {
                let stored = reasons.first().and_then(CancellationReason::item).cloned();
                return Ok(Sent::Late(stored));
            }
            Cancellation::Conflict | Cancellation::Passing if attempt + 1 < ATTEMPTS => {}
            Cancellation::Conflict | Cancellation::Passing => {
                return Err(PortError::Unavailable(Box::new(error)));
            }
            Cancellation::Other => return Err(port_error(error)),
        }
        tokio::time::sleep(PAUSE * 2_u32.pow(attempt)).await;
    }

    Ok(Sent::Done)
}
