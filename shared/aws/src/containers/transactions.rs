//! Deletions and merges of containers. Each changes several tags and containers in one transaction,
//! together with the record of the task that continues the work.

use std::collections::HashMap;

use aws_sdk_dynamodb::operation::transact_write_items::TransactWriteItemsError;
use aws_sdk_dynamodb::types::builders::UpdateBuilder;
use aws_sdk_dynamodb::types::{AttributeValue, Delete, Put, TransactWriteItem, Update};
use domain::ports::{Containers, PortResult};
use domain::{Container, ContainerId, ContainerTag, MergeRole, PortError, Task, TaskId, Tenant};

use super::{DynamoContainers, condition_held, read_container};
use crate::error::{Cancellation, build_error, classify_cancellation, port_error};
use crate::item::{json_value, key_item, number_value, string_value};
use crate::keys;
use crate::tasks::task_put;

/// Returns the condition that a tag is unchanged since it was read, with its values.
fn unchanged_condition(container: &Container) -> (&'static str, HashMap<String, AttributeValue>) {
    let mut values = HashMap::from([(":ids".to_owned(), json_value(&container.ids))]);
    match &container.merge {
        None => ("ids = :ids AND attribute_not_exists(mg)", values),
        Some(merge) => {
            values.insert(":mg".to_owned(), json_value(merge));
            ("ids = :ids AND mg = :mg", values)
        }
    }
}

impl DynamoContainers {
    /// Returns the writes of a deletion.
    pub(super) fn deletion_writes(
        &self,
        tenant: &Tenant,
        container: &Container,
    ) -> PortResult<Vec<TransactWriteItem>> {
        let (condition, values) = unchanged_condition(container);
        let delete = Delete::builder()
            .table_name(&self.0.name)
            .condition_expression(condition);
        let delete = delete.set_key(Some(key_item(&keys::tag_key(tenant, &container.tag))));
        let delete = delete
            .set_expression_attribute_values(Some(values))
            .build()
            .map_err(build_error)?;
        let mut writes = vec![TransactWriteItem::builder().delete(delete).build()];
        for id in &container.ids {
            writes.push(self.put_owner(tenant, id, "gone", number_value(1))?);
        }

        Ok(writes)
    }

    /// Returns the writes that begin a merge.
    pub(super) fn merge_writes(
        &self,
        tenant: &Tenant,
        target: &Container,
        sources: &[Container],
        task: &Task,
    ) -> PortResult<Vec<TransactWriteItem>> {
        let source_ids = || sources.iter().flat_map(|source| &source.ids);
        let all_ids: Vec<&ContainerId> = target.ids.iter().chain(source_ids()).collect();
        let role = MergeRole {
            task: task.id.clone(),
            into: None,
        };

        let update = self.join_merge(tenant, target, &role, "SET mg = :part, ids = :all");
        let mut writes = vec![update_write(
            update.expression_attribute_values(":all", json_value(&all_ids)),
        )?];
        for source in sources {
            let role = MergeRole {
                into: Some(target.tag.clone()),
                ..role.clone()
            };
            writes.push(update_write(self.join_merge(
                tenant,
                source,
                &role,
                "SET mg = :part",
            ))?);
        }

        for id in source_ids() {
            writes.push(self.put_owner(tenant, id, "tag", string_value(target.tag.as_str()))?);
        }

        Ok(writes)
    }

    /// Returns the update that lets a tag take part in a merge. Its condition is that the tag is in
    /// no other merge.
    fn join_merge(
        &self,
        tenant: &Tenant,
        container: &Container,
        role: &MergeRole,
        set: &str,
    ) -> UpdateBuilder {
        let update = Update::builder()
            .table_name(&self.0.name)
            .update_expression(set);
        let update = update.set_key(Some(key_item(&keys::tag_key(tenant, &container.tag))));
        let update = update.condition_expression("ids = :ids AND attribute_not_exists(mg)");
        let update = update.expression_attribute_values(":ids", json_value(&container.ids));

        update.expression_attribute_values(":part", json_value(role))
    }

    /// Returns the write of the owner record, which says which tag a physical container belongs to,
    /// or that it is gone.
    fn put_owner(
        &self,
        tenant: &Tenant,
        id: &ContainerId,
        name: &str,
        value: AttributeValue,
    ) -> PortResult<TransactWriteItem> {
        let mut item = key_item(&keys::owner_key(tenant, id));
        item.insert("v".into(), number_value(1));
        item.insert(name.into(), value);
        let put = Put::builder()
            .table_name(&self.0.name)
            .set_item(Some(item))
            .build()
            .map_err(build_error)?;

        Ok(TransactWriteItem::builder().put(put).build())
    }

    /// Sends all `writes` together with the record of the task that they begin. Returns `false` if
    /// a condition did not hold.
    pub(super) async fn begin_task(
        &self,
        tenant: &Tenant,
        task: &Task,
        mut writes: Vec<TransactWriteItem>,
    ) -> PortResult<bool> {
        writes.push(
            TransactWriteItem::builder()
                .put(task_put(&self.0, tenant, task)?)
                .build(),
        );
        let transaction = self
            .0
            .client
            .transact_write_items()
            .set_transact_items(Some(writes));
        let Err(error) = transaction.send().await else {
            return Ok(true);
        };

        let Some(TransactWriteItemsError::TransactionCanceledException(canceled)) =
            error.as_service_error()
        else {
            return Err(port_error(error));
        };

        match classify_cancellation(canceled.cancellation_reasons()) {
            // The record of the task is part of the transaction. If it exists, this very
            // transaction was done and its answer was lost.
            Cancellation::Condition => Ok(self
                .0
                .get(&keys::task_key(tenant, &task.id))
                .await?
                .is_some()),
            Cancellation::Conflict | Cancellation::Temporary => {
                Err(PortError::Unavailable(Box::new(error)))
            }
            Cancellation::Other => Err(port_error(error)),
        }
    }

    /// Ends the part of a tag in a merge. Does nothing if it has already ended.
    pub(super) async fn leave_merge(
        &self,
        tenant: &Tenant,
        tag: &ContainerTag,
        task: &TaskId,
    ) -> PortResult<()> {
        let key = keys::tag_key(tenant, tag);
        let container = self
            .0
            .get(&key)
            .await?
            .as_ref()
            .map(read_container)
            .transpose()?;
        let Some(role) = container
            .and_then(|container| container.merge)
            .filter(|role| role.task == *task)
        else {
            return Ok(());
        };

        let (key, client) = (Some(key_item(&key)), &self.0.client);
        if role.into.is_some() {
            let delete = client.delete_item().table_name(&self.0.name).set_key(key);
            let delete = delete.condition_expression("mg = :mg");
            if condition_held(
                delete
                    .expression_attribute_values(":mg", json_value(&role))
                    .send()
                    .await,
            )? {
                self.release_tag(tenant).await?;
            }
        } else {
            let update = client.update_item().table_name(&self.0.name).set_key(key);
            let update = update
                .update_expression("REMOVE mg")
                .condition_expression("mg = :mg");
            condition_held(
                update
                    .expression_attribute_values(":mg", json_value(&role))
                    .send()
                    .await,
            )?;
        }

        Ok(())
    }
}

fn update_write(update: UpdateBuilder) -> PortResult<TransactWriteItem> {
    Ok(TransactWriteItem::builder()
        .update(update.build().map_err(build_error)?)
        .build())
}
