//! Container tags on DynamoDB.
//!
//! Each tag is one item in the partition of the organization. A physical container that no longer
//! belongs to the tag it was made for has an owner record in its own partition.

mod transactions;

use async_trait::async_trait;
use aws_sdk_dynamodb::types::{AttributeValue, ReturnValue, ReturnValuesOnConditionCheckFailure};
use aws_smithy_runtime_api::client::orchestrator::HttpResponse;
use aws_smithy_runtime_api::client::result::SdkError;
use aws_smithy_types::error::metadata::ProvideErrorMetadata;
use domain::ports::{Containers, PortResult};
use domain::{
    Container, ContainerChange, ContainerId, ContainerOwner, ContainerTag, Patch, PortError, Task,
    TaskId,
};
use domain::{Tenant, Timestamp};

use crate::error::port_error;
use crate::item::{Item, ReadItem, Table, json_value, key_item, number_value, string_value};
use crate::keys;

pub(crate) struct DynamoContainers(pub(crate) Table);

#[async_trait]
impl Containers for DynamoContainers {
    async fn reserve_tag(&self, tenant: &Tenant, limit: u64) -> PortResult<bool> {
        self.add_to_tag_count(
            tenant,
            1,
            "attribute_not_exists(tags) OR tags < :bound",
            limit,
        )
        .await
    }

    async fn release_tag(&self, tenant: &Tenant) -> PortResult<()> {
        self.add_to_tag_count(tenant, -1, "tags > :bound", 0)
            .await
            .map(|_| ())
    }

    async fn get(&self, tenant: &Tenant, tag: &ContainerTag) -> PortResult<Option<Container>> {
        self.0
            .get(&keys::tag_key(tenant, tag))
            .await?
            .as_ref()
            .map(read_container)
            .transpose()
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

        let mut item = key_item(&keys::tag_key(tenant, tag));
        item.insert("v".into(), number_value(1));
        item.insert("ids".into(), json_value(&container.ids));
        item.insert("cr".into(), number_value(now.as_millis()));

        let put = self
            .0
            .client
            .put_item()
            .table_name(&self.0.name)
            .set_item(Some(item));
        let put = put.condition_expression("attribute_not_exists(pk)");
        let put = put
            .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld);

        let Err(error) = put.send().await else {
            return Ok(container);
        };

        // Another caller was first, or our own first attempt was and its answer was lost. Either
        // way the stored item decides.
        match error.as_service_error() {
            Some(aws_sdk_dynamodb::operation::put_item::PutItemError::ConditionalCheckFailedException(
                old,
            )) => old.item().ok_or(PortError::Conflict).and_then(read_container),
            _ => Err(port_error(error)),
        }
    }

    async fn list_owners(
        &self,
        tenant: &Tenant,
        ids: &[ContainerId],
    ) -> PortResult<Vec<ContainerOwner>> {
        let keys: Vec<_> = ids.iter().map(|id| keys::owner_key(tenant, id)).collect();
        let owner_items = match keys.as_slice() {
            [key] => vec![self.0.get(key).await?],
            keys => self.0.get_many(keys).await?,
        };
        owner_items
            .iter()
            .map(|owner_item| {
                owner_item
                    .as_ref()
                    .map_or(Ok(ContainerOwner::Original), read_owner)
            })
            .collect()
    }

    async fn delete_tag(
        &self,
        tenant: &Tenant,
        container: &Container,
        task: &Task,
    ) -> PortResult<bool> {
        let is_deleted = self
            .begin_task(tenant, task, self.deletion_writes(tenant, container)?)
            .await?;
        if is_deleted {
            self.release_tag(tenant).await?;
        }
        Ok(is_deleted)
    }

    async fn begin_merge(
        &self,
        tenant: &Tenant,
        target: &Container,
        sources: &[Container],
        task: &Task,
    ) -> PortResult<bool> {
        self.begin_task(
            tenant,
            task,
            self.merge_writes(tenant, target, sources, task)?,
        )
        .await
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
        for id in ids {
            let key = key_item(&keys::owner_key(tenant, id));
            let delete = self
                .0
                .client
                .delete_item()
                .table_name(&self.0.name)
                .set_key(Some(key));
            condition_held(
                delete
                    .condition_expression("attribute_exists(gone)")
                    .send()
                    .await,
            )?;
        }

        Ok(())
    }

    async fn list(&self, tenant: &Tenant) -> PortResult<Vec<Container>> {
        let end = format!("{}\u{7f}", keys::TAG_PREFIX);
        let items = self
            .0
            .get_range(
                &keys::organization_partition(tenant),
                keys::TAG_PREFIX,
                &end,
            )
            .await?;
        items.iter().map(read_container).collect()
    }

    async fn set_context(
        &self,
        tenant: &Tenant,
        tag: &ContainerTag,
        context: &str,
    ) -> PortResult<bool> {
        let update = self.0.client.update_item().table_name(&self.0.name);
        let update = update.set_key(Some(key_item(&keys::tag_key(tenant, tag))));
        let update = update
            .update_expression("SET ectx = :context")
            .condition_expression("attribute_exists(pk)");

        condition_held(
            update
                .expression_attribute_values(":context", string_value(context))
                .send()
                .await,
        )
    }

    async fn update_settings(
        &self,
        tenant: &Tenant,
        tag: &ContainerTag,
        change: &ContainerChange,
        id: ContainerId,
        now: Timestamp,
    ) -> PortResult<Container> {
        let expression = UpdateExpression::of(change);
        let update = self.0.client.update_item().table_name(&self.0.name);
        let mut update = update.set_key(Some(key_item(&keys::tag_key(tenant, tag))));

        // Only the first writer stores the attributes that create the tag. Repeating the update
        // changes nothing.
        let values = [
            (":v", number_value(1)),
            (":ids", json_value(&[id])),
            (":now", number_value(now.as_millis())),
        ];
        for (name, value) in values.into_iter().chain(expression.values) {
            update = update.expression_attribute_values(name, value);
        }

        let update = update
            .update_expression(expression.text)
            .return_values(ReturnValue::AllNew);
        let stored = update.send().await.map_err(port_error)?.attributes;

        read_container(&stored.ok_or_else(|| PortError::Corrupt("container".into()))?)
    }
}

impl DynamoContainers {
    /// Changes the number of tags by `by` if `condition` holds, in which `bound` is the value of
    /// `:bound`. Returns whether it held.
    async fn add_to_tag_count(
        &self,
        tenant: &Tenant,
        delta: i64,
        condition: &str,
        bound: u64,
    ) -> PortResult<bool> {
        let update = self.0.client.update_item().table_name(&self.0.name);
        let update = update.set_key(Some(key_item(&keys::tag_count_key(tenant))));
        let update = update
            .update_expression("ADD tags :by")
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

/// Checks whether the condition of a write held.
fn condition_held<T, E>(result: Result<T, SdkError<E, HttpResponse>>) -> PortResult<bool>
where
    E: ProvideErrorMetadata + std::error::Error + Send + Sync + 'static,
{
    match result {
        Ok(_) => Ok(true),
        Err(error) if error.code() == Some("ConditionalCheckFailedException") => Ok(false),
        Err(error) => Err(port_error(error)),
    }
}

/// Reads the owner record of a container.
fn read_owner(item: &Item) -> PortResult<ContainerOwner> {
    match item.get_optional_text("tag").map(ContainerTag::parse) {
        Some(Ok(tag)) => Ok(ContainerOwner::Tag(tag)),
        None if item.contains_key("gone") => Ok(ContainerOwner::Deleted),
        _ => Err(PortError::Corrupt("a container's owner".into())),
    }
}

/// The part of an update expression for one change, with its values.
struct UpdateExpression {
    text: String,
    values: Vec<(&'static str, AttributeValue)>,
}

impl UpdateExpression {
    fn of(change: &ContainerChange) -> Self {
        let text = |patch: &Patch<String>| patch.clone().map(string_value);
        let fields = [
            ("nm", ":name", text(&change.name)),
            ("ectx", ":context", text(&change.entity_context)),
            (
                "pb",
                ":buckets",
                change
                    .profile_buckets
                    .clone()
                    .map(|buckets| json_value(&buckets)),
            ),
            (
                "mp",
                ":paths",
                change.memory_paths.clone().map(|paths| json_value(&paths)),
            ),
        ];
        let creation_clause = "ids = if_not_exists(ids, :ids), cr = if_not_exists(cr, :now), v = if_not_exists(v, :v)";
        let (mut set_clause, mut removed_names, mut values) = (
            format!("SET {creation_clause}, up = :now"),
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

        Self {
            text: set_clause + &remove_clause,
            values,
        }
    }
}

/// Reads a container tag from its item.
fn read_container(item: &Item) -> PortResult<Container> {
    let corrupt = || PortError::Corrupt("container".into());
    let tag = item
        .get_text("sk")?
        .strip_prefix(keys::TAG_PREFIX)
        .ok_or_else(corrupt)?;
    let ids: Vec<ContainerId> = item.get_json("ids")?;
    if ids.is_empty() {
        return Err(corrupt());
    }

    let tag = ContainerTag::parse(tag).map_err(|_| corrupt())?;
    let created = item.get_number("cr")?;
    let updated = if item.contains_key("up") {
        item.get_number("up")?
    } else {
        created
    };

    Ok(Container {
        tag,
        ids,
        created_at: Timestamp::from_millis(created),
        updated_at: Timestamp::from_millis(updated),
        name: item.get_optional_text("nm").map(str::to_owned),
        entity_context: item.get_optional_text("ectx").map(str::to_owned),
        profile_buckets: item.get_optional_json("pb")?.unwrap_or_default(),
        memory_paths: item.get_optional_json("mp")?,
        merge: item.get_optional_json("mg")?,
    })
}
