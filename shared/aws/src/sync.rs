//! The items of connections on DynamoDB. Each connection has a partition of its own.
//!
//! A node is one item. Hints lead from a folder to the nodes in it, and from an item to the
//! shortcuts that point to it. A hint is an item without content whose key ends with the key of its
//! node. It is written and deleted in the transaction that changes the node. A reader that follows
//! a hint always checks the node itself.

mod plan;
mod transact;

use async_trait::async_trait;
use aws_sdk_dynamodb::operation::query::builders::QueryFluentBuilder;
use domain::connection::{ItemRecord, Run, Selection, SyncQueue, SyncQueueEntry, SyncState};
use domain::ports::{PortResult, SyncStore, SyncWrite};
use domain::{ConnectionId, PortError, Tenant};

use crate::connections::put_if_revision;
use crate::error::port_error;
use crate::records::connection_items::{
    read_node, read_queue_entry, read_run, read_selection, read_state, selection_item, state_item,
};
use crate::records::{Item, KeyAttributes, KeyRecord, key_item, read_sort_key, string_value};
use crate::table::{Table, page_size};
use crate::table_keys;
use crate::table_keys::connection_items as item_keys;

pub(crate) struct DynamoSync(pub(crate) Table);

impl DynamoSync {
    /// Returns the query for the items of a partition whose sort keys begin with `prefix`.
    fn query_prefix(&self, pk: &str, prefix: &str) -> QueryFluentBuilder {
        let query = self.0.query_partition(pk).consistent_read(true);
        if prefix.is_empty() {
            return query;
        }

        let KeyAttributes { partition, sort } = KeyRecord::ATTRIBUTES;
        let query = query.key_condition_expression(format!(
            "{partition} = :pk AND begins_with({sort}, :prefix)"
        ));
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
            read_sort_key(hint).map(|sk| sk.strip_prefix(prefix).unwrap_or(sk).to_owned())
        };

        let parts = hints.iter().map(part).collect::<PortResult<Vec<_>>>()?;
        let node_keys: Vec<_> = parts
            .iter()
            .map(|part| (pk.to_owned(), item_keys::node_key_of_part(part)))
            .collect();
        let found = self.0.get_many(&node_keys).await?;
        let nodes = found
            .into_iter()
            .flatten()
            .map(read_node)
            .collect::<PortResult<_>>()?;

        Ok((nodes, parts.last().filter(|_| has_more).cloned()))
    }
}

#[async_trait]
impl SyncStore for DynamoSync {
    async fn get_state(&self, tenant: &Tenant, connection: &ConnectionId) -> PortResult<SyncState> {
        let found = self
            .0
            .get(&(
                table_keys::connection_items_partition(tenant, connection),
                item_keys::STATE_KEY.into(),
            ))
            .await?;
        found.map_or_else(|| Ok(SyncState::default()), read_state)
    }

    async fn get_selection(
        &self,
        tenant: &Tenant,
        connection: &ConnectionId,
    ) -> PortResult<Selection> {
        let found = self
            .0
            .get(&(
                table_keys::connection_items_partition(tenant, connection),
                item_keys::SELECTION_KEY.into(),
            ))
            .await?;
        found.map_or_else(|| Ok(Selection::default()), read_selection)
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
        let pk = table_keys::connection_items_partition(tenant, connection);
        let item = selection_item(&pk, selection)?;
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
        let pk = table_keys::connection_items_partition(tenant, connection);
        let node_keys: Vec<_> = ids
            .iter()
            .map(|id| (pk.clone(), item_keys::node_key(id)))
            .collect();
        let found = self.0.get_many(&node_keys).await?;
        found
            .into_iter()
            .map(|item| item.map(read_node).transpose())
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
                &table_keys::connection_items_partition(tenant, connection),
                item_keys::NODE_PREFIX,
                after.as_deref(),
                limit,
            )
            .await?;

        items.into_iter().map(read_node).collect()
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
            table_keys::connection_items_partition(tenant, connection),
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
            table_keys::connection_items_partition(tenant, connection),
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
            table_keys::connection_items_partition(tenant, connection),
            item_keys::queue_prefix(queue),
        );
        let (items, _) = self.read_page(&pk, prefix, after.as_deref(), limit).await?;
        items.into_iter().map(read_queue_entry).collect()
    }

    async fn get_queue_entries(
        &self,
        tenant: &Tenant,
        connection: &ConnectionId,
        queue: SyncQueue,
        keys: &[String],
    ) -> PortResult<Vec<Option<SyncQueueEntry>>> {
        let pk = table_keys::connection_items_partition(tenant, connection);
        let entry_keys: Vec<_> = keys
            .iter()
            .map(|key| (pk.clone(), item_keys::queue_entry_key(queue, key)))
            .collect();
        let found = self.0.get_many(&entry_keys).await?;

        found
            .into_iter()
            .map(|item| item.map(read_queue_entry).transpose())
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
        let pk = table_keys::connection_items_partition(tenant, connection);
        let fence = transact::StepFence {
            pk: &pk,
            previous_step: (previous_step > 0).then_some(previous_step),
        };

        let mut parts = plan::split_into_transactions(&pk, writes)?;
        let last = parts.pop().unwrap_or_default();
        for part in parts {
            if !transact::write_part(&self.0, &fence, part).await? {
                return Ok(false);
            }
        }

        transact::write_last_part(&self.0, &fence, last, state_item(&pk, next)?).await
    }

    async fn list_runs(
        &self,
        tenant: &Tenant,
        connection: &ConnectionId,
        limit: usize,
    ) -> PortResult<Vec<Run>> {
        let query = self.query_prefix(
            &table_keys::connection_items_partition(tenant, connection),
            item_keys::RUN_PREFIX,
        );
        let response = query
            .scan_index_forward(false)
            .limit(page_size(limit))
            .send()
            .await;
        let items = response.map_err(port_error)?.items.unwrap_or_default();
        items.into_iter().take(limit).map(read_run).collect()
    }

    async fn erase_records(
        &self,
        tenant: &Tenant,
        connection: &ConnectionId,
        limit: usize,
    ) -> PortResult<bool> {
        let pk = table_keys::connection_items_partition(tenant, connection);
        // Two items more than may be deleted show whether these are all. One of the two may be the
        // state, which is not counted because it is deleted last.
        let (items, has_more) = self
            .read_page(&pk, "", None, limit.saturating_add(2))
            .await?;
        let sort_keys = items
            .iter()
            .map(read_sort_key)
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
