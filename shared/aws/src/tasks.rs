//! Task records on DynamoDB: one item a task, alone in its partition. A running task is in the
//! sparse index `due`.

use async_trait::async_trait;
use aws_sdk_dynamodb::operation::put_item::PutItemError;
use aws_sdk_dynamodb::types::{Put, ReturnValuesOnConditionCheckFailure};
use domain::ports::{PortResult, Tasks};
use domain::{Task, TaskId, TaskState, Tenant};

use crate::error::{build_error, port_error};
use crate::item::{Item, ReadItem, Table, json_value, key_item, number_value, string_value};
use crate::keys;

pub(crate) struct DynamoTasks(pub(crate) Table);

#[async_trait]
impl Tasks for DynamoTasks {
    async fn get(&self, tenant: &Tenant, id: &TaskId) -> PortResult<Option<Task>> {
        self.0
            .get(&keys::task_key(tenant, id))
            .await?
            .map(|item| item.get_json("task"))
            .transpose()
    }

    async fn save(&self, tenant: &Tenant, task: &Task) -> PortResult<bool> {
        let item = task_item(tenant, task);
        let put = self
            .0
            .client
            .put_item()
            .table_name(&self.0.name)
            .set_item(Some(item.clone()));
        let put = match task.step.checked_sub(1) {
            None => put.condition_expression("attribute_not_exists(pk)"),
            Some(before) => put
                .condition_expression("step = :before")
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
pub(crate) fn task_put(table: &Table, tenant: &Tenant, task: &Task) -> PortResult<Put> {
    let put = Put::builder()
        .table_name(&table.name)
        .set_item(Some(task_item(tenant, task)));
    put.condition_expression("attribute_not_exists(pk)")
        .build()
        .map_err(build_error)
}

fn task_item(tenant: &Tenant, task: &Task) -> Item {
    let mut item = key_item(&keys::task_key(tenant, &task.id));
    item.insert("v".into(), number_value(1));
    item.insert("step".into(), number_value(task.step));
    item.insert("task".into(), json_value(task));
    if task.state == TaskState::Running {
        item.insert(
            "qs".into(),
            string_value(keys::due_partition(task.id.as_str())),
        );
        item.insert("qd".into(), string_value(keys::due_sort_key(task.due_at)));
    }
    item
}
