//! Task records on DynamoDB: one item a task, alone in its partition. A running task is in the
//! sparse index `due`.

use async_trait::async_trait;
use aws_sdk_dynamodb::operation::put_item::PutItemError;
use aws_sdk_dynamodb::types::{Put, ReturnValuesOnConditionCheckFailure, TransactWriteItem};
use domain::ports::{PortResult, Tasks};
use domain::{Task, TaskId, Tenant};

use crate::error::port_error;
use crate::records::organization::{TaskRecord, read_task, task_item};
use crate::records::{item_absent, number_value};
use crate::table::Table;
use crate::table_keys;
use crate::transaction::put_write;

pub(crate) struct DynamoTasks(pub(crate) Table);

#[async_trait]
impl Tasks for DynamoTasks {
    async fn get(&self, tenant: &Tenant, id: &TaskId) -> PortResult<Option<Task>> {
        let key = table_keys::task_key(tenant, id);
        self.0.get_record(&key, read_task).await
    }

    async fn save(&self, tenant: &Tenant, task: &Task) -> PortResult<bool> {
        let item = task_item(tenant, task)?;
        let put = self
            .0
            .client
            .put_item()
            .table_name(&self.0.name)
            .set_item(Some(item.clone()));
        let put = match task.step.checked_sub(1) {
            None => put.condition_expression(item_absent()),
            Some(before) => put
                .condition_expression(format!("{} = :before", TaskRecord::ATTRIBUTES.step))
                .expression_attribute_values(":before", number_value(before)),
        };

        let put = put
            .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld);
        let Err(error) = put.send().await else {
            return Ok(true);
        };

        match error.as_service_error() {
            // Our own first attempt, whose answer was lost, stored the same item.
            Some(PutItemError::ConditionalCheckFailedException(old)) => {
                Ok(old.item() == Some(&item))
            }
            _ => Err(port_error(error)),
        }
    }
}

/// Returns the write of a new task, as part of a transaction.
pub(crate) fn task_put(
    table: &Table,
    tenant: &Tenant,
    task: &Task,
) -> PortResult<TransactWriteItem> {
    let put = Put::builder()
        .table_name(&table.name)
        .set_item(Some(task_item(tenant, task)?));
    put_write(put.condition_expression(item_absent()))
}
