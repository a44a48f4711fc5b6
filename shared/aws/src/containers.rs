//! Container tags on DynamoDB.
//!
//! Each tag is one item in the partition of the organization. A physical container that no longer
//! belongs to the tag it was made for has an owner record in its own partition.

mod transactions;

use async_trait::async_trait;
use aws_sdk_dynamodb::operation::put_item::PutItemError;
use aws_sdk_dynamodb::types::{AttributeValue, ReturnValue, ReturnValuesOnConditionCheckFailure};
use domain::ports::{Containers, PortResult};
use domain::{
    Container, ContainerChange, ContainerId, ContainerOwner, ContainerTag, Patch, PortError,
    ProfileBucket, SharedContainer, Task, TaskId,
};
use domain::{Tenant, Timestamp};
use tracing::warn;

use crate::error::{condition_held, port_error};
use crate::records::containers::{
    OwnerRecord, TagAttributes, TagCountRecord, TagRecord, new_tag_item, read_container, read_owner,
};
use crate::records::{
    Json, VersionRecord, item_absent, item_present, key_item, number_value, string_value,
};
use crate::table::Table;
use crate::table_keys;
use crate::transaction::{repeat_during_transactions, send_update};

pub(crate) struct DynamoContainers(pub(crate) Table);

#[async_trait]
impl Containers for DynamoContainers {
    async fn reserve_tag(&self, tenant: &Tenant, limit: u64) -> PortResult<bool> {
        let count = TagCountRecord::ATTRIBUTES.count;
        let condition = format!("attribute_not_exists({count}) OR {count} < :bound");
        self.add_to_tag_count(tenant, 1, &condition, limit).await
    }

    async fn release_tag(&self, tenant: &Tenant) -> PortResult<()> {
        let condition = format!("{} > :bound", TagCountRecord::ATTRIBUTES.count);
        self.add_to_tag_count(tenant, -1, &condition, 0).await?;
        Ok(())
    }

    async fn get(&self, tenant: &Tenant, tag: &ContainerTag) -> PortResult<Option<Container>> {
        let key = table_keys::tag_key(tenant, tag);
        self.0.get_record(&key, read_container).await
    }

    async fn create_tag(
        &self,
        tenant: &Tenant,
        tag: &ContainerTag,
        id: ContainerId,
        now: Timestamp,
    ) -> PortResult<Container> {
        let container = Container {
            tag: tag.clone(),
            ids: vec![id],
            created_at: now,
            updated_at: now,
            name: None,
            entity_context: None,
            profile_buckets: Vec::new(),
            memory_paths: None,
            merge: None,
        };

        let item = new_tag_item(tenant, tag, &container.ids, now)?;
        let put = self
            .0
            .client
            .put_item()
            .table_name(&self.0.name)
            .set_item(Some(item));
        let put = put.condition_expression(item_absent());
        let put = put
            .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld);

        let Err(error) = put.send().await else {
            return Ok(container);
        };

        // Another caller was first, or our own first attempt was and its answer was lost. Either
        // way the stored item decides.
        match error.as_service_error() {
            Some(PutItemError::ConditionalCheckFailedException(old)) => {
                let Some(stored) = old.item() else {
                    return Err(PortError::Conflict);
                };
                read_container(stored.clone())
            }
            _ => Err(port_error(error)),
        }
    }

    async fn list_owners(
        &self,
        tenant: &Tenant,
        ids: &[ContainerId],
    ) -> PortResult<Vec<ContainerOwner>> {
        let keys: Vec<_> = ids
            .iter()
            .map(|id| table_keys::owner_key(tenant, id))
            .collect();
        let owner_items = match keys.as_slice() {
            [key] => vec![self.0.get(key).await?],
            keys => self.0.get_many(keys).await?,
        };

        let mut owners = Vec::with_capacity(owner_items.len());
        for item in owner_items {
            owners.push(match item {
                Some(item) => read_owner(item)?,
                None => ContainerOwner::Original,
            });
        }
        Ok(owners)
    }

    async fn share(
        &self,
        tenant: &Tenant,
        containers: &[Container],
        shared: &SharedContainer,
        former_tags: &[ContainerTag],
    ) -> PortResult<bool> {
        let writes = self.sharing_writes(tenant, containers, shared, former_tags)?;
        self.send(writes).await
    }

    async fn delete_tag(
        &self,
        tenant: &Tenant,
        container: &Container,
        shared: &[SharedContainer],
        task: &Task,
    ) -> PortResult<bool> {
        let writes = self.deletion_writes(tenant, container, shared)?;
        let is_deleted = self.begin_task(tenant, task, writes).await?;
        if is_deleted {
            self.count_removed_tag(tenant).await;
        }
        Ok(is_deleted)
    }

    async fn begin_merge(
        &self,
        tenant: &Tenant,
        target: &Container,
        sources: &[Container],
        shared: &[SharedContainer],
        task: &Task,
    ) -> PortResult<bool> {
        let writes = self.merge_writes(tenant, target, sources, shared, task)?;
        self.begin_task(tenant, task, writes).await
    }

    async fn end_merge_role(
        &self,
        tenant: &Tenant,
        tag: &ContainerTag,
        task: &TaskId,
    ) -> PortResult<()> {
        self.leave_merge(tenant, tag, task).await
    }

    async fn remove_owner_marks(&self, tenant: &Tenant, ids: &[ContainerId]) -> PortResult<()> {
        let deleted = OwnerRecord::ATTRIBUTES.deleted;
        for id in ids {
            let key = key_item(&table_keys::owner_key(tenant, id));
            let delete = self
                .0
                .client
                .delete_item()
                .table_name(&self.0.name)
                .set_key(Some(key));
            condition_held(
                delete
                    .condition_expression(format!("attribute_exists({deleted})"))
                    .send()
                    .await,
            )?;
        }

        Ok(())
    }

    async fn list_first(&self, tenant: &Tenant, limit: usize) -> PortResult<Vec<Container>> {
        let end = format!("{}\u{7f}", table_keys::TAG_PREFIX);
        let items = self
            .0
            .get_first_of_range(
                &table_keys::organization_partition(tenant),
                table_keys::TAG_PREFIX,
                &end,
                limit,
            )
            .await?;
        items.into_iter().map(read_container).collect()
    }

    async fn set_context(
        &self,
        tenant: &Tenant,
        tag: &ContainerTag,
        context: &str,
    ) -> PortResult<bool> {
        let entity_context = TagRecord::ATTRIBUTES.entity_context;
        let update = self.0.client.update_item().table_name(&self.0.name);
        let update = update.set_key(Some(key_item(&table_keys::tag_key(tenant, tag))));
        let update = update
            .update_expression(format!("SET {entity_context} = :context"))
            .condition_expression(item_present());

        send_update(update.expression_attribute_values(":context", string_value(context))).await
    }

    async fn update_settings(
        &self,
        tenant: &Tenant,
        tag: &ContainerTag,
        change: &ContainerChange,
        id: ContainerId,
        now: Timestamp,
    ) -> PortResult<Container> {
        let ids: Json<Vec<ContainerId>> = Json::encode(&[id][..])?;
        let expression = UpdateExpression::of(change)?;
        let update = self.0.client.update_item().table_name(&self.0.name);
        let mut update = update.set_key(Some(key_item(&table_keys::tag_key(tenant, tag))));

        // Only the first writer stores the attributes that create the tag. Repeating the update
        // changes nothing.
        let values = [
            (":version", number_value(VersionRecord::CURRENT.version)),
            (":ids", ids.into()),
            (":now", number_value(now.as_millis())),
        ];
        for (name, value) in values.into_iter().chain(expression.values) {
            update = update.expression_attribute_values(name, value);
        }

        let update = update
            .update_expression(expression.text)
            .return_values(ReturnValue::AllNew);
        let response = repeat_during_transactions(|| update.clone().send()).await;
        match response.map_err(port_error)?.attributes {
            Some(stored) => read_container(stored),
            None => Err(PortError::Corrupt("container".into())),
        }
    }

    async fn replace_buckets(
        &self,
        tenant: &Tenant,
        tag: &ContainerTag,
        expected: &[ProfileBucket],
        buckets: &[ProfileBucket],
        now: Timestamp,
    ) -> PortResult<bool> {
        let TagAttributes {
            updated_at,
            profile_buckets,
            ..
        } = TagRecord::ATTRIBUTES;

        let expected_json: Json<Vec<ProfileBucket>> = Json::encode(expected)?;
        let json: Json<Vec<ProfileBucket>> = Json::encode(buckets)?;
        let mut is_expected = format!("{profile_buckets} = :expected");
        if expected.is_empty() {
            is_expected.push_str(&format!(" OR attribute_not_exists({profile_buckets})"));
        }

        let update = self.0.client.update_item().table_name(&self.0.name);
        let update = update.set_key(Some(key_item(&table_keys::tag_key(tenant, tag))));
        let update = update
            .update_expression(format!(
                "SET {profile_buckets} = :buckets, {updated_at} = :now"
            ))
            .condition_expression(format!("{} AND ({is_expected})", item_present()))
            .expression_attribute_values(":expected", expected_json.into())
            .expression_attribute_values(":buckets", json.into())
            .expression_attribute_values(":now", number_value(now.as_millis()));
        send_update(update).await
    }
}

impl DynamoContainers {
    /// Counts one tag less after the change that removed it. The change is done, so an error is only
    /// logged: the count then stays one too high.
    async fn count_removed_tag(&self, tenant: &Tenant) {
        if let Err(error) = self.release_tag(tenant).await {
            warn!(
                error = &error as &dyn std::error::Error,
                "a deleted container tag is still counted"
            );
        }
    }

    /// Changes the number of tags by `delta` if `condition` holds, in which `bound` is the value of
    /// `:bound`. Returns whether it held.
    async fn add_to_tag_count(
        &self,
        tenant: &Tenant,
        delta: i64,
        condition: &str,
        bound: u64,
    ) -> PortResult<bool> {
        let update = self.0.client.update_item().table_name(&self.0.name);
        let update = update.set_key(Some(key_item(&table_keys::tag_count_key(tenant))));
        let update = update
            .update_expression(format!("ADD {} :by", TagCountRecord::ATTRIBUTES.count))
            .condition_expression(condition);
        let update = update.expression_attribute_values(":by", number_value(delta));

        condition_held(
            update
                .expression_attribute_values(":bound", number_value(bound))
                .send()
                .await,
        )
    }
}

/// The part of an update expression for one change, with its values.
struct UpdateExpression {
    text: String,
    values: Vec<(&'static str, AttributeValue)>,
}

impl UpdateExpression {
    fn of(change: &ContainerChange) -> PortResult<Self> {
        let TagAttributes {
            container_ids,
            created_at,
            updated_at,
            name,
            entity_context,
            profile_buckets,
            memory_paths,
            ..
        } = TagRecord::ATTRIBUTES;
        let version = VersionRecord::ATTRIBUTES.version;

        let text = |patch: &Patch<String>| patch.clone().map(string_value);
        let buckets = change.profile_buckets.clone().try_map(|buckets| {
            let json: Json<Vec<ProfileBucket>> = Json::encode(&buckets)?;
            PortResult::Ok(json.into())
        })?;
        let paths = change.memory_paths.clone().try_map(|paths| {
            let json: Json<Vec<String>> = Json::encode(&paths)?;
            PortResult::Ok(json.into())
        })?;

        let fields = [
            (name, ":name", text(&change.name)),
            (entity_context, ":context", text(&change.entity_context)),
            (profile_buckets, ":buckets", buckets),
            (memory_paths, ":paths", paths),
        ];
        let creation_clause = format!(
            "{container_ids} = if_not_exists({container_ids}, :ids), \
             {created_at} = if_not_exists({created_at}, :now), \
             {version} = if_not_exists({version}, :version)"
        );
        let (mut set_clause, mut removed_names, mut values) = (
            format!("SET {creation_clause}, {updated_at} = :now"),
            Vec::new(),
            Vec::new(),
        );
        for (name, value_name, patch) in fields {
            match patch {
                Patch::Keep => {}
                Patch::Clear => removed_names.push(name),
                Patch::Set(value) => {
                    set_clause.push_str(&format!(", {name} = {value_name}"));
                    values.push((value_name, value));
                }
            }
        }

        let remove_clause = if removed_names.is_empty() {
            String::new()
        } else {
            format!(" REMOVE {}", removed_names.join(", "))
        };

        Ok(Self {
            text: set_clause + &remove_clause,
            values,
        })
    }
}
