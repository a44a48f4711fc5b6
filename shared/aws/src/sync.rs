//! The items of connections on DynamoDB. Each connection has a partition of its own.
//!
//! A node is one item. Hints lead from a folder to the nodes in it, and from an item to the
//! shortcuts that point to it. A hint is an item without content whose key ends with the key of its
//! node. It is written and deleted in the transaction that changes the node. A reader that follows
//! a hint always checks the node itself.

mod item_keys;
mod plan;
mod shape;
mod transact;

use async_trait::async_trait;
use aws_sdk_dynamodb::operation::query::builders::QueryFluentBuilder;
use domain::connection::{ItemRecord, Run, Selection, SyncQueue, SyncQueueEntry, SyncState};
use domain::ports::{PortResult, SyncStore, SyncWrite};
use domain::{ConnectionId, PortError, Tenant};

use crate::connections::put_if_revision;
use crate::error::port_error;
use crate::item::{Item, ReadItem, Table, key_item, string_value};
use crate::keys;

pub(crate) struct DynamoSync(pub(crate) Table);

impl DynamoSync {
    /// Returns the query for the items of a partition whose sort keys begin with `prefix`.
    fn query_prefix(&self, pk: &str, prefix: &str) -> QueryFluentBuilder {
        let query = self
            .0
            .client
            .query()
            .table_name(&self.0.name)
            .consistent_read(true);
        let query = query.expression_attribute_values(":pk", string_value(pk));
        if prefix.is_empty() {
            return query.key_condition_expression("pk = :pk");
        }
        let query = query.key_condition_expression("pk = :pk AND begins_with(sk, :prefix)");
        query.expression_attribute_values(":prefix", string_value(prefix))
    }

    /// Reads at most `limit` items whose sort keys begin with `prefix` and follow `prefix` plus
    /// `after`. Also returns whether there may be more.
    async fn read_page(
        &self,
        pk: &str,
        prefix: &str,
        after: Option<&str>,
        limit: usize,
    ) -> PortResult<(Vec<Item>, bool)> {
        let mut items = Vec::new();
        let mut start_key =
            after.map(|after| key_item(&(pk.to_owned(), format!("{prefix}{after}"))));
        while items.len() < limit {
            let query = self
                .query_prefix(pk, prefix)
                .set_exclusive_start_key(start_key);
            let query = query.limit(page_size(limit - items.len()));
            let response = query.send().await.map_err(port_error)?;
            items.extend(response.items.unwrap_or_default());
            start_key = response.last_evaluated_key;
            if start_key.is_none() {
                return Ok((items, false));
            }
        }

        Ok((items, true))
    }

    /// Reads a page of the nodes to which the hints with `prefix` lead. Also returns the key part
    /// after which the next page begins, or `None` after the last page.
    async fn read_hinted_nodes(
        &self,
        pk: &str,
        prefix: &str,
        after: Option<&str>,
        limit: usize,
    ) -> PortResult<(Vec<ItemRecord>, Option<String>)> {
        let (hints, has_more) = self.read_page(pk, prefix, after, limit).await?;
        let part = |hint: &Item| {
            hint.get_text("sk")
                .map(|sk| sk.strip_prefix(prefix).unwrap_or(sk).to_owned())
        };

        let parts = hints.iter().map(part).collect::<PortResult<Vec<_>>>()?;
        let node_keys: Vec<_> = parts
            .iter()
            .map(|part| (pk.to_owned(), item_keys::node_key_of_part(part)))
            .collect();
        let found = self.0.get_many(&node_keys).await?;
        let nodes = found
            .iter()
            .flatten()
            .map(shape::read_node)
            .collect::<PortResult<_>>()?;

        Ok((nodes, parts.last().filter(|_| has_more).cloned()))
    }
}

/// Converts a limit to the page size of a request.
fn page_size(limit: usize) -> i32 {
    i32::try_from(limit).unwrap_or(i32::MAX).max(1)
}

#[async_trait]
impl SyncStore for DynamoSync {
    async fn get_state(&self, tenant: &Tenant, connection: &ConnectionId) -> PortResult<SyncState> {
        let found = self
            .0
            .get(&(
                keys::connection_items_partition(tenant, connection),
                item_keys::STATE_KEY.into(),
            ))
            .await?;
        found
            .as_ref()
            .map_or_else(|| Ok(SyncState::default()), shape::read_state)
    }

    async fn get_selection(
        &self,
        tenant: &Tenant,
        connection: &ConnectionId,
    ) -> PortResult<Selection> {
        let found = self
            .0
            .get(&(
                keys::connection_items_partition(tenant, connection),
                item_keys::SELECTION_KEY.into(),
            ))
            .await?;
        found.map_or_else(|| Ok(Selection::default()), |item| item.get_json("sel"))
    }

    async fn save_selection(
        &self,
        tenant: &Tenant,
        connection: &ConnectionId,
        selection: &Selection,
    ) -> PortResult<bool> {
        let previous_revision = selection
            .rev
            .checked_sub(1)
            .ok_or_else(|| uncounted_error("selection"))?;
        let item = shape::selection_item(
            &keys::connection_items_partition(tenant, connection),
            selection,
        );
        put_if_revision(
            &self.0,
            item,
            (previous_revision > 0).then_some(previous_revision),
        )
        .await
    }

    async fn get_items(
        &self,
        tenant: &Tenant,
        connection: &ConnectionId,
        ids: &[String],
    ) -> PortResult<Vec<Option<ItemRecord>>> {
        let pk = keys::connection_items_partition(tenant, connection);
        let node_keys: Vec<_> = ids
            .iter()
            .map(|id| (pk.clone(), item_keys::node_key(id)))
            .collect();
        let found = self.0.get_many(&node_keys).await?;
        found
            .iter()
            .map(|item| item.as_ref().map(shape::read_node).transpose())
            .collect()
    }

    async fn list_items(
        &self,
        tenant: &Tenant,
        connection: &ConnectionId,
        after: Option<&str>,
        limit: usize,
    ) -> PortResult<Vec<ItemRecord>> {
        let after = after.map(item_keys::key_part);
        let (items, _) = self
            .read_page(
                &keys::connection_items_partition(tenant, connection),
                item_keys::NODE_PREFIX,
                after.as_deref(),
                limit,
            )
            .await?;

        items.iter().map(shape::read_node).collect()
    }

    async fn list_children(
        &self,
        tenant: &Tenant,
        connection: &ConnectionId,
        folder: &str,
        after: Option<&str>,
        limit: usize,
    ) -> PortResult<(Vec<ItemRecord>, Option<String>)> {
        let (pk, prefix) = (
            keys::connection_items_partition(tenant, connection),
            item_keys::children_prefix(folder),
        );
        let (mut nodes, next) = self.read_hinted_nodes(&pk, &prefix, after, limit).await?;
        nodes.retain(|node| node.parent.as_deref() == Some(folder));
        Ok((nodes, next))
    }

    async fn list_shortcuts(
        &self,
        tenant: &Tenant,
        connection: &ConnectionId,
        target: &str,
        limit: usize,
    ) -> PortResult<Vec<ItemRecord>> {
        let (pk, prefix) = (
            keys::connection_items_partition(tenant, connection),
            item_keys::shortcuts_prefix(target),
        );
        let (mut found, mut after) = (Vec::new(), None);

        loop {
            let (nodes, next) = self
                .read_hinted_nodes(&pk, &prefix, after.as_deref(), limit)
                .await?;
            found.extend(
                nodes
                    .into_iter()
                    .filter(|node| node.target.as_deref() == Some(target)),
            );
            if next.is_none() || found.len() >= limit {
                found.truncate(limit);
                return Ok(found);
            }
            after = next;
        }
    }

    async fn list_queue(
        &self,
        tenant: &Tenant,
        connection: &ConnectionId,
        queue: SyncQueue,
        after: Option<&str>,
        limit: usize,
    ) -> PortResult<Vec<SyncQueueEntry>> {
        let after = after.map(item_keys::key_part);
        let (pk, prefix) = (
            keys::connection_items_partition(tenant, connection),
            item_keys::queue_prefix(queue),
        );
        let (items, _) = self.read_page(&pk, prefix, after.as_deref(), limit).await?;
        items.iter().map(shape::read_entry).collect()
    }

    async fn get_queue_entries(
        &self,
        tenant: &Tenant,
        connection: &ConnectionId,
        queue: SyncQueue,
        keys: &[String],
    ) -> PortResult<Vec<Option<SyncQueueEntry>>> {
        let pk = keys::connection_items_partition(tenant, connection);
        let entry_keys: Vec<_> = keys
            .iter()
            .map(|key| (pk.clone(), item_keys::queue_entry_key(queue, key)))
            .collect();
        let found = self.0.get_many(&entry_keys).await?;

        found
            .iter()
            .map(|item| item.as_ref().map(shape::read_entry).transpose())
            .collect()
    }

    async fn commit_step(
        &self,
        tenant: &Tenant,
        connection: &ConnectionId,
        writes: &[SyncWrite],
        next: &SyncState,
    ) -> PortResult<bool> {
        let previous_step = next
            .step
            .checked_sub(1)
            .ok_or_else(|| uncounted_error("step"))?;
        let pk = keys::connection_items_partition(tenant, connection);
        let fence = transact::StepFence {
            pk: &pk,
            previous_step: (previous_step > 0).then_some(previous_step),
        };

        let mut parts = plan::split_into_transactions(&pk, writes);
        let last = parts.pop().unwrap_or_default();
        for part in parts {
            if !transact::write_part(&self.0, &fence, part).await? {
                return Ok(false);
            }
        }

        transact::write_last_part(&self.0, &fence, last, shape::state_item(&pk, next)?).await
    }

    async fn list_runs(
        &self,
        tenant: &Tenant,
        connection: &ConnectionId,
        limit: usize,
    ) -> PortResult<Vec<Run>> {
        let query = self.query_prefix(
            &keys::connection_items_partition(tenant, connection),
            item_keys::RUN_PREFIX,
        );
        let response = query
            .scan_index_forward(false)
            .limit(page_size(limit))
            .send()
            .await;
        let items = response.map_err(port_error)?.items.unwrap_or_default();
        items
            .iter()
            .take(limit)
            .map(|item| item.get_json("run"))
            .collect()
    }

    async fn erase_records(
        &self,
        tenant: &Tenant,
        connection: &ConnectionId,
        limit: usize,
    ) -> PortResult<bool> {
        let pk = keys::connection_items_partition(tenant, connection);
        // Two items more than may be deleted show whether these are all. One of the two may be the
        // state, which is not counted because it is deleted last.
        let (items, has_more) = self
            .read_page(&pk, "", None, limit.saturating_add(2))
            .await?;
        let sort_keys = items
            .iter()
            .map(|item| item.get_text("sk"))
            .collect::<PortResult<Vec<_>>>()?;
        let key = |sk: &&str| (pk.clone(), (*sk).to_owned());

        let other_keys: Vec<_> = sort_keys
            .iter()
            .filter(|sk| **sk != item_keys::STATE_KEY)
            .collect();
        let keys_to_delete: Vec<_> = other_keys.iter().take(limit).map(|sk| key(sk)).collect();
        self.0.delete_many(&keys_to_delete).await?;
        if has_more || other_keys.len() > keys_to_delete.len() {
            return Ok(true);
        }

        self.0
            .delete_many(&[(pk, item_keys::STATE_KEY.to_owned())])
            .await?;
        Ok(false)
    }
}

fn uncounted_error(name: &str) -> PortError {
    PortError::Internal(format!("a {name} that was not counted").into())
}
