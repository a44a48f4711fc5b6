//! Deletions and merges of containers. Each changes several tags and containers in one transaction,
//! together with the record of the task that continues the work.

use std::collections::HashMap;

use aws_sdk_dynamodb::operation::transact_write_items::TransactWriteItemsError;
use aws_sdk_dynamodb::types::builders::UpdateBuilder;
use aws_sdk_dynamodb::types::{AttributeValue, Delete, Put, TransactWriteItem, Update};
use domain::ports::PortResult;
use domain::{
    Container, ContainerId, ContainerTag, MergeRole, PortError, SharedContainer, Task, TaskId,
    Tenant,
};

use super::DynamoContainers;
use crate::error::{Cancellation, classify_cancellation, condition_held, port_error};
use crate::records::containers::{
    OwnerAttributes, OwnerRecord, TagAttributes, TagRecord, owner_item, read_container,
};
use crate::records::{Json, item_absent, key_item, string_value};
use crate::table_keys;
use crate::tasks::task_put;
use crate::transaction::{delete_write, put_write, send_update, update_write};

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
        shared: &[SharedContainer],
    ) -> PortResult<Vec<TransactWriteItem>> {
        let (condition, values) = unchanged_condition(container)?;
        let delete = Delete::builder()
            .table_name(&self.0.name)
            .condition_expression(condition);
        let delete = delete.set_key(Some(key_item(&table_keys::tag_key(tenant, &container.tag))));
        let delete = delete.set_expression_attribute_values(Some(values));
        let mut writes = vec![delete_write(delete)?];
        for id in &container.ids {
            let write = match shared.iter().find(|shared| shared.id == *id) {
                None => self.put_owner(tenant, id, &[])?,
                Some(shared) => {
                    let other_tags = shared.tags_without(&container.tag);
                    self.change_owner(tenant, id, &shared.tags, &other_tags)?
                }
            };
            writes.push(write);
        }

        Ok(writes)
    }

    /// Returns the writes that let tags share a physical container.
    pub(super) fn sharing_writes(
        &self,
        tenant: &Tenant,
        containers: &[Container],
        shared: &SharedContainer,
        former_tags: &[ContainerTag],
    ) -> PortResult<Vec<TransactWriteItem>> {
        let container_ids = TagRecord::ATTRIBUTES.container_ids;
        let mut writes = Vec::new();
        for container in containers {
            let mut all_ids = container.ids.clone();
            all_ids.push(shared.id.clone());
            let all_ids: Json<Vec<ContainerId>> = Json::encode(&all_ids)?;

            let (condition, values) = unchanged_condition(container)?;
            let key = key_item(&table_keys::tag_key(tenant, &container.tag));
            let update = Update::builder()
                .table_name(&self.0.name)
                .set_key(Some(key))
                .update_expression(format!("SET {container_ids} = :all"))
                .condition_expression(condition)
                .set_expression_attribute_values(Some(values))
                .expression_attribute_values(":all", all_ids.into());
            writes.push(update_write(update)?);
        }

        writes.push(self.change_owner(tenant, &shared.id, former_tags, &shared.tags)?);
        Ok(writes)
    }

    /// Returns the writes that begin a merge.
    pub(super) fn merge_writes(
        &self,
        tenant: &Tenant,
        target: &Container,
        sources: &[Container],
        shared: &[SharedContainer],
        task: &Task,
    ) -> PortResult<Vec<TransactWriteItem>> {
        let mut source_ids: Vec<ContainerId> = Vec::new();
        let mut all_ids = target.ids.clone();
        for id in sources.iter().flat_map(|source| &source.ids) {
            if !source_ids.contains(id) {
                source_ids.push(id.clone());
            }
            if !all_ids.contains(id) {
                all_ids.push(id.clone());
            }
        }
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
            let write = match shared.iter().find(|shared| shared.id == *id) {
                None => self.put_owner(tenant, id, std::slice::from_ref(&target.tag))?,
                Some(shared) => {
                    let merged_tags = shared.tags_after_merge(sources, &target.tag);
                    self.change_owner(tenant, id, &shared.tags, &merged_tags)?
                }
            };
            writes.push(write);
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

    /// Returns the write of the owner record, which says which tags a physical container belongs
    /// to, or without tags, that it is deleted.
    fn put_owner(
        &self,
        tenant: &Tenant,
        id: &ContainerId,
        tags: &[ContainerTag],
    ) -> PortResult<TransactWriteItem> {
        let put = Put::builder()
            .table_name(&self.0.name)
            .set_item(Some(owner_item(tenant, id, tags)?));
        put_write(put)
    }

    /// Returns the write that gives a physical container from `former_tags` to `tags`. Its condition
    /// is that the container still belongs to `former_tags`; without any, that it is new.
    fn change_owner(
        &self,
        tenant: &Tenant,
        id: &ContainerId,
        former_tags: &[ContainerTag],
        tags: &[ContainerTag],
    ) -> PortResult<TransactWriteItem> {
        let put = Put::builder()
            .table_name(&self.0.name)
            .set_item(Some(owner_item(tenant, id, tags)?));
        let OwnerAttributes {
            tag: one,
            tags: several,
            ..
        } = OwnerRecord::ATTRIBUTES;
        let put = match former_tags {
            [] => put.condition_expression(item_absent()),
            [tag] => put
                .condition_expression(format!("{one} = :former"))
                .expression_attribute_values(":former", string_value(tag.as_str())),
            tags => {
                let tags: Json<Vec<ContainerTag>> = Json::encode(tags)?;
                put.condition_expression(format!("{several} = :former"))
                    .expression_attribute_values(":former", tags.into())
            }
        };
        put_write(put)
    }

    /// Sends all `writes` together with the record of the task that they begin. Returns `false` if
    /// a condition did not hold, or if another change of one of the items was under way.
    pub(super) async fn begin_task(
        &self,
        tenant: &Tenant,
        task: &Task,
        mut writes: Vec<TransactWriteItem>,
    ) -> PortResult<bool> {
        writes.push(task_put(&self.0, tenant, task)?);
        if self.send(writes).await? {
            return Ok(true);
        }

        // The record of the task is part of the transaction. If it exists, this very transaction was
        // done and its answer was lost.
        let task_item = self.0.get(&table_keys::task_key(tenant, &task.id)).await?;
        Ok(task_item.is_some())
    }

    /// Sends all `writes` together. Returns `false` if a condition did not hold, or if another change
    /// of one of the items was under way. Either way the caller reads the items again and decides
    /// anew.
    pub(super) async fn send(&self, writes: Vec<TransactWriteItem>) -> PortResult<bool> {
        let transaction = self.0.client.transact_write_items();
        let sent = transaction.set_transact_items(Some(writes)).send().await;
        let Err(error) = sent else {
            return Ok(true);
        };
        let Some(TransactWriteItemsError::TransactionCanceledException(canceled)) =
            error.as_service_error()
        else {
            return Err(port_error(error));
        };

        match classify_cancellation(canceled.cancellation_reasons()) {
            Cancellation::Condition | Cancellation::Conflict => Ok(false),
            Cancellation::Temporary => Err(PortError::Unavailable(Box::new(error))),
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
                self.count_removed_tag(tenant).await;
            }
        } else {
            let update = client.update_item().table_name(&self.0.name).set_key(key);
            let update = update
                .update_expression(format!("REMOVE {merge}"))
                .condition_expression(condition)
                .expression_attribute_values(":role", role.into());
            send_update(update).await?;
        }

        Ok(())
    }
}
