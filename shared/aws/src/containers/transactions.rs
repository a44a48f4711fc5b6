//! Deletions and merges of containers. Each changes several tags and containers in one transaction,
//! together with the record of the task that continues the work.

use std::collections::HashMap;

use aws_sdk_dynamodb::operation::transact_write_items::TransactWriteItemsError;
use aws_sdk_dynamodb::types::builders::UpdateBuilder;
use aws_sdk_dynamodb::types::{AttributeValue, Delete, Put, TransactWriteItem, Update};
use domain::ports::{Containers, PortResult};
use domain::{Container, ContainerId, ContainerTag, MergeRole, PortError, Task, TaskId, Tenant};

use super::DynamoContainers;
use crate::error::{Cancellation, classify_cancellation, condition_held, port_error};
use crate::records::containers::{TagAttributes, TagRecord, owner_item, read_container};
use crate::records::{Json, key_item};
use crate::table_keys;
use crate::tasks::task_put;
use crate::transaction::{delete_write, put_write, update_write};

/// Returns the condition that a tag is unchanged since it was read, with its values.
fn unchanged_condition(
    container: &Container,
) -> PortResult<(String, HashMap<String, AttributeValue>)> {
    let TagAttributes {
        container_ids,
        merge,
        ..
    } = TagRecord::ATTRIBUTES;
    let ids: Json<Vec<ContainerId>> = Json::encode(&container.ids)?;
    let mut values = HashMap::from([(":ids".to_owned(), ids.into())]);

    let merge_condition = match &container.merge {
        None => format!("attribute_not_exists({merge})"),
        Some(role) => {
            let role: Json<MergeRole> = Json::encode(role)?;
            values.insert(":merge".to_owned(), role.into());
            format!("{merge} = :merge")
        }
    };

    let condition = format!("{container_ids} = :ids AND {merge_condition}");
    Ok((condition, values))
}

impl DynamoContainers {
    /// Returns the writes of a deletion.
    pub(super) fn deletion_writes(
        &self,
        tenant: &Tenant,
        container: &Container,
    ) -> PortResult<Vec<TransactWriteItem>> {
        let (condition, values) = unchanged_condition(container)?;
        let delete = Delete::builder()
            .table_name(&self.0.name)
            .condition_expression(condition);
        let delete = delete.set_key(Some(key_item(&table_keys::tag_key(tenant, &container.tag))));
        let delete = delete.set_expression_attribute_values(Some(values));
        let mut writes = vec![delete_write(delete)?];
        for id in &container.ids {
            writes.push(self.put_owner(tenant, id, None)?);
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
        let mut source_ids: Vec<ContainerId> = Vec::new();
        for source in sources {
            source_ids.extend_from_slice(&source.ids);
        }
        let all_ids = [target.ids.as_slice(), &source_ids].concat();
        let all_ids: Json<Vec<ContainerId>> = Json::encode(&all_ids)?;
        let role = MergeRole {
            task: task.id.clone(),
            into: None,
        };

        let TagAttributes {
            container_ids,
            merge,
            ..
        } = TagRecord::ATTRIBUTES;
        let set_role = format!("SET {merge} = :role");

        let set_all = format!("{set_role}, {container_ids} = :all");
        let update = self.join_merge(tenant, target, &role, &set_all)?;
        let update = update.expression_attribute_values(":all", all_ids.into());
        let mut writes = vec![update_write(update)?];
        for source in sources {
            let role = MergeRole {
                into: Some(target.tag.clone()),
                ..role.clone()
            };
            let update = self.join_merge(tenant, source, &role, &set_role)?;
            writes.push(update_write(update)?);
        }

        for id in &source_ids {
            writes.push(self.put_owner(tenant, id, Some(&target.tag))?);
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
    ) -> PortResult<UpdateBuilder> {
        let TagAttributes {
            container_ids,
            merge,
            ..
        } = TagRecord::ATTRIBUTES;
        let ids: Json<Vec<ContainerId>> = Json::encode(&container.ids)?;
        let role: Json<MergeRole> = Json::encode(role)?;

        let update = Update::builder()
            .table_name(&self.0.name)
            .update_expression(set);
        let update = update.set_key(Some(key_item(&table_keys::tag_key(tenant, &container.tag))));
        let update = update.condition_expression(format!(
            "{container_ids} = :ids AND attribute_not_exists({merge})"
        ));

        Ok(update
            .expression_attribute_values(":ids", ids.into())
            .expression_attribute_values(":role", role.into()))
    }

    /// Returns the write of the owner record, which says which tag a physical container belongs to,
    /// or without a tag, that it is deleted.
    fn put_owner(
        &self,
        tenant: &Tenant,
        id: &ContainerId,
        tag: Option<&ContainerTag>,
    ) -> PortResult<TransactWriteItem> {
        let put = Put::builder()
            .table_name(&self.0.name)
            .set_item(Some(owner_item(tenant, id, tag)?));
        put_write(put)
    }

    /// Sends all `writes` together with the record of the task that they begin. Returns `false` if
    /// a condition did not hold.
    pub(super) async fn begin_task(
        &self,
        tenant: &Tenant,
        task: &Task,
        mut writes: Vec<TransactWriteItem>,
    ) -> PortResult<bool> {
        writes.push(task_put(&self.0, tenant, task)?);
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
                .get(&table_keys::task_key(tenant, &task.id))
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
        let key = table_keys::tag_key(tenant, tag);
        let Some(container) = self.0.get_record(&key, read_container).await? else {
            return Ok(());
        };
        let Some(role) = container.merge else {
            return Ok(());
        };
        if role.task != *task {
            return Ok(());
        }

        let merge = TagRecord::ATTRIBUTES.merge;
        let condition = format!("{merge} = :role");
        let is_source = role.into.is_some();
        let role: Json<MergeRole> = Json::encode(&role)?;

        let (key, client) = (Some(key_item(&key)), &self.0.client);
        if is_source {
            let delete = client.delete_item().table_name(&self.0.name).set_key(key);
            let delete = delete
                .condition_expression(condition)
                .expression_attribute_values(":role", role.into());
            if condition_held(delete.send().await)? {
                self.release_tag(tenant).await?;
            }
        } else {
            let update = client.update_item().table_name(&self.0.name).set_key(key);
            let update = update
                .update_expression(format!("REMOVE {merge}"))
                .condition_expression(condition)
                .expression_attribute_values(":role", role.into());
            condition_held(update.send().await)?;
        }

        Ok(())
    }
}
