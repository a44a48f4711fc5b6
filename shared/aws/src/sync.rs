//! The items of connections on DynamoDB. Each connection has a partition of its own.
//!
//! A provider item, which is a file or a folder, is one DynamoDB item. Hints lead from a folder to
//! the provider items in it, and from a provider item to the shortcuts that point to it. A hint is
//! an item without content whose key ends with the key of its provider item. It is written and
//! deleted in the transaction that changes the provider item. A reader that follows a hint always
//! checks the provider item itself.

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
    read_provider_item, read_queue_entry, read_run, read_selection, read_state, selection_item,
    state_item,
};
use crate::records::{
    Item, KeyAttributes, KeyRecord, key_item, read_each, read_sort_key, string_value,
};
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

    /// Reads a page of the provider items to which the hints with `prefix` lead. Also returns the
    /// key part after which the next page begins, or `None` after the last page.
    async fn read_hinted_items(
        &self,
        pk: &str,
        prefix: &str,
        after: Option<&str>,
        limit: usize,
    ) -> PortResult<(Vec<ItemRecord>, Option<String>)> {
        let (hints, has_more) = self.read_page(pk, prefix, after, limit).await?;
        let mut provider_item_keys = Vec::with_capacity(hints.len());
        let mut last_part = None;
        for hint in &hints {
            let sk = read_sort_key(hint)?;
            let part = sk.strip_prefix(prefix).unwrap_or(sk);
            provider_item_keys.push((pk.to_owned(), item_keys::provider_item_key_of_part(part)));
            last_part = Some(part);
        }

        let provider_items = read_each(
            self.0.get_many(&provider_item_keys).await?,
            read_provider_item,
        )?;
        let next = match last_part {
            Some(part) if has_more => Some(part.to_owned()),
            _ => None,
        };
        Ok((provider_items.into_iter().flatten().collect(), next))
    }
}

#[async_trait]
impl SyncStore for DynamoSync {
    async fn get_state(&self, tenant: &Tenant, connection: &ConnectionId) -> PortResult<SyncState> {
        let pk = table_keys::connection_items_partition(tenant, connection);
        let key = (pk, item_keys::STATE_KEY.to_owned());
        let state = self.0.get_record(&key, read_state).await?;
        Ok(state.unwrap_or_default())
    }

    async fn get_selection(
        &self,
        tenant: &Tenant,
        connection: &ConnectionId,
    ) -> PortResult<Selection> {
        let pk = table_keys::connection_items_partition(tenant, connection);
        let key = (pk, item_keys::SELECTION_KEY.to_owned());
        let selection = self.0.get_record(&key, read_selection).await?;
        Ok(selection.unwrap_or_default())
    }

    async fn save_selection(
        &self,
        tenant: &Tenant,
        connection: &ConnectionId,
        selection: &Selection,
    ) -> PortResult<bool> {
        let previous_revision = count_before(selection.rev, "selection")?;
        let pk = table_keys::connection_items_partition(tenant, connection);
        let item = selection_item(&pk, selection)?;
        put_if_revision(&self.0, item, previous_revision).await
    }

    async fn get_items(
        &self,
        tenant: &Tenant,
        connection: &ConnectionId,
        ids: &[String],
    ) -> PortResult<Vec<Option<ItemRecord>>> {
        let pk = table_keys::connection_items_partition(tenant, connection);
        let provider_item_keys: Vec<_> = ids
            .iter()
            .map(|id| (pk.clone(), item_keys::provider_item_key(id)))
            .collect();
        read_each(
            self.0.get_many(&provider_item_keys).await?,
            read_provider_item,
        )
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

        items.into_iter().map(read_provider_item).collect()
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
        let (mut provider_items, next) = self.read_hinted_items(&pk, &prefix, after, limit).await?;
        provider_items.retain(|provider_item| provider_item.parent.as_deref() == Some(folder));
        Ok((provider_items, next))
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
            let (provider_items, next) = self
                .read_hinted_items(&pk, &prefix, after.as_deref(), limit)
                .await?;
            for provider_item in provider_items {
                if provider_item.target.as_deref() == Some(target) {
                    found.push(provider_item);
                }
            }
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
        read_each(self.0.get_many(&entry_keys).await?, read_queue_entry)
    }

    async fn commit_step(
        &self,
        tenant: &Tenant,
        connection: &ConnectionId,
        writes: &[SyncWrite],
        next: &SyncState,
    ) -> PortResult<bool> {
        let previous_step = count_before(next.step, "step")?;
        let pk = table_keys::connection_items_partition(tenant, connection);
        let fence = transact::StepFence {
            pk: &pk,
            previous_step,
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
        let query = query.scan_index_forward(false).limit(page_size(limit));
        let response = query.send().await.map_err(port_error)?;
        let items = response.items.unwrap_or_default();
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
        let mut other_keys = Vec::with_capacity(items.len());
        for item in &items {
            let sk = read_sort_key(item)?;
            if sk != item_keys::STATE_KEY {
                other_keys.push((pk.clone(), sk.to_owned()));
            }
        }

        let surplus = other_keys.len().saturating_sub(limit);
        other_keys.truncate(limit);
        self.0.delete_many(&other_keys).await?;
        if has_more || surplus > 0 {
            return Ok(true);
        }

        self.0
            .delete_many(&[(pk, item_keys::STATE_KEY.to_owned())])
            .await?;
        Ok(false)
    }
}

/// Returns the number before `count`, or `None` if `count` is the first.
fn count_before(count: u64, name: &str) -> PortResult<Option<u64>> {
    match count {
        0 => Err(PortError::Internal(
            format!("a {name} that was not counted").into(),
        )),
        1 => Ok(None),
        _ => Ok(Some(count - 1)),
    }
}
