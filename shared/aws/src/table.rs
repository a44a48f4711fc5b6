//! The calls of DynamoDB that all adapters share.

use std::collections::HashMap;

use aws_sdk_dynamodb::operation::query::builders::QueryFluentBuilder;
use aws_sdk_dynamodb::types::{DeleteRequest, KeysAndAttributes, PutRequest, Select, WriteRequest};
use domain::ports::PortResult;
use domain::{PortError, Timestamp};
use futures::stream::{self, StreamExt};

use crate::error::{build_error, port_error};
use crate::layout::DUE_INDEX;
use crate::records::{
    DueAttributes, DueRecord, Item, KeyAttributes, KeyRecord, key_item, read_partition_key,
    read_sort_key, string_value,
};
use crate::table_keys::{self, Key};

/// The most keys of one `BatchGetItem`.
const BATCH_KEYS: usize = 100;
/// The number of `BatchGetItem` calls at the same time.
const PARALLEL_BATCHES: usize = 4;
/// The most writes of one `BatchWriteItem`.
const BATCH_WRITES: usize = 25;
/// The most attempts at the part of a batch that DynamoDB leaves unprocessed.
const BATCH_ATTEMPTS: usize = 8;

/// A table, with the client that reaches it.
#[derive(Debug, Clone)]
pub(crate) struct Table {
    pub(crate) client: aws_sdk_dynamodb::Client,
    pub(crate) name: String,
}

impl Table {
    /// Reads one item, with strong consistency.
    pub(crate) async fn get(&self, key: &Key) -> PortResult<Option<Item>> {
        let request = self
            .client
            .get_item()
            .table_name(&self.name)
            .set_key(Some(key_item(key)));
        let response = request.consistent_read(true).send().await;
        Ok(response.map_err(port_error)?.item)
    }

    /// Reads the record of one item, with strong consistency.
    pub(crate) async fn get_record<T>(
        &self,
        key: &Key,
        read: fn(Item) -> PortResult<T>,
    ) -> PortResult<Option<T>> {
        match self.get(key).await? {
            Some(item) => Ok(Some(read(item)?)),
            None => Ok(None),
        }
    }

    /// Puts an item, whatever is stored under its key.
    pub(crate) async fn put(&self, item: Item) -> PortResult<()> {
        let put = self
            .client
            .put_item()
            .table_name(&self.name)
            .set_item(Some(item));
        put.send().await.map_err(port_error)?;
        Ok(())
    }

    /// Deletes an item, whatever it contains. An item that does not exist is ignored.
    pub(crate) async fn delete(&self, key: &Key) -> PortResult<()> {
        let delete = self
            .client
            .delete_item()
            .table_name(&self.name)
            .set_key(Some(key_item(key)));
        delete.send().await.map_err(port_error)?;
        Ok(())
    }

    /// Reads many items, with strong consistency, in the order of `keys`.
    pub(crate) async fn get_many(&self, keys: &[Key]) -> PortResult<Vec<Option<Item>>> {
        let mut items_by_key: HashMap<(String, String), Item> = HashMap::new();
        let mut unique: Vec<&Key> = keys.iter().collect();
        unique.sort();
        unique.dedup();
        let batches: Vec<Vec<Item>> = unique
            .chunks(BATCH_KEYS)
            .map(|batch| batch.iter().map(|key| key_item(key)).collect())
            .collect();
        let mut found = stream::iter(batches)
            .map(|batch| self.get_batch(batch))
            .buffer_unordered(PARALLEL_BATCHES);
        while let Some(items) = found.next().await {
            for item in items? {
                let key = (
                    read_partition_key(&item)?.to_owned(),
                    read_sort_key(&item)?.to_owned(),
                );
                items_by_key.insert(key, item);
            }
        }

        Ok(keys
            .iter()
            .map(|key| items_by_key.get(key).cloned())
            .collect())
    }

    async fn get_batch(&self, keys: Vec<Item>) -> PortResult<Vec<Item>> {
        let mut items = Vec::new();
        let mut pending = keys;
        for attempt in 0..BATCH_ATTEMPTS {
            if pending.is_empty() {
                return Ok(items);
            }
            if attempt > 0 {
                tokio::time::sleep(std::time::Duration::from_millis(10 << attempt)).await;
            }

            let requested_keys = KeysAndAttributes::builder()
                .set_keys(Some(pending))
                .consistent_read(true);
            let request = self
                .client
                .batch_get_item()
                .request_items(&self.name, requested_keys.build().map_err(build_error)?);
            let response = request.send().await.map_err(port_error)?;

            for (_, found) in response.responses.into_iter().flatten() {
                items.extend(found);
            }
            let mut unprocessed = response.unprocessed_keys.unwrap_or_default();
            pending = match unprocessed.remove(&self.name) {
                Some(left) => left.keys,
                None => Vec::new(),
            };
        }

        if pending.is_empty() {
            Ok(items)
        } else {
            Err(throttled_error())
        }
    }

    /// Deletes items, whatever they contain. Items that do not exist are ignored.
    pub(crate) async fn delete_many(&self, keys: &[Key]) -> PortResult<()> {
        let mut unique: Vec<&Key> = keys.iter().collect();
        unique.sort();
        unique.dedup();
        for batch in unique.chunks(BATCH_WRITES) {
            let mut writes = Vec::with_capacity(batch.len());
            for key in batch {
                let delete = DeleteRequest::builder().set_key(Some(key_item(key)));
                let delete = delete.build().map_err(build_error)?;
                writes.push(WriteRequest::builder().delete_request(delete).build());
            }
            self.write_batch(writes).await?;
        }

        Ok(())
    }

    /// Writes items, whatever was there before.
    pub(crate) async fn put_many(&self, mut items: Vec<Item>) -> PortResult<()> {
        if items.len() == 1
            && let Some(item) = items.pop()
        {
            return self.put(item).await;
        }

        for batch in items.chunks(BATCH_WRITES) {
            let mut writes = Vec::with_capacity(batch.len());
            for item in batch {
                let put = PutRequest::builder().set_item(Some(item.clone()));
                let put = put.build().map_err(build_error)?;
                writes.push(WriteRequest::builder().put_request(put).build());
            }
            self.write_batch(writes).await?;
        }

        Ok(())
    }

    async fn write_batch(&self, writes: Vec<WriteRequest>) -> PortResult<()> {
        let mut pending = writes;
        for attempt in 0..BATCH_ATTEMPTS {
            if attempt > 0 {
                tokio::time::sleep(std::time::Duration::from_millis(10 << attempt)).await;
            }
            let request = self
                .client
                .batch_write_item()
                .request_items(&self.name, pending);
            let response = request.send().await.map_err(port_error)?;
            let mut unprocessed = response.unprocessed_items.unwrap_or_default();
            pending = unprocessed.remove(&self.name).unwrap_or_default();
            if pending.is_empty() {
                return Ok(());
            }
        }

        Err(throttled_error())
    }

    /// Counts the items of a partition whose sort keys are between two bounds. Items that were
    /// written a moment ago may be missing.
    pub(crate) async fn count_range(&self, pk: &str, from: &str, to: &str) -> PortResult<usize> {
        let mut pages = self
            .query_range(pk, from, to)
            .select(Select::Count)
            .into_paginator()
            .send();
        let mut count = 0;
        while let Some(page) = pages.next().await {
            count += usize::try_from(page.map_err(port_error)?.count).unwrap_or_default();
        }
        Ok(count)
    }

    /// Reads all items of a partition whose sort keys are between two bounds, in ascending order,
    /// with strong consistency.
    pub(crate) async fn get_range(&self, pk: &str, from: &str, to: &str) -> PortResult<Vec<Item>> {
        collect_pages(self.query_range(pk, from, to).consistent_read(true)).await
    }

    /// Reads the first `limit` items of a range as [`Self::get_range`] does.
    pub(crate) async fn get_first_of_range(
        &self,
        pk: &str,
        from: &str,
        to: &str,
        limit: usize,
    ) -> PortResult<Vec<Item>> {
        let query = self.query_range(pk, from, to).consistent_read(true);
        let mut pages = query.limit(page_size(limit)).into_paginator().send();
        let mut items: Vec<Item> = Vec::new();
        while items.len() < limit
            && let Some(page) = pages.next().await
        {
            items.extend(page.map_err(port_error)?.items.unwrap_or_default());
        }
        items.truncate(limit);
        Ok(items)
    }

    /// Returns the query for the items of a partition from one sort key to another, both included.
    pub(crate) fn query_range(&self, pk: &str, from: &str, to: &str) -> QueryFluentBuilder {
        let KeyAttributes { partition, sort } = KeyRecord::ATTRIBUTES;
        self.query_partition(pk)
            .key_condition_expression(format!(
                "{partition} = :pk AND {sort} BETWEEN :from AND :to"
            ))
            .expression_attribute_values(":from", string_value(from))
            .expression_attribute_values(":to", string_value(to))
    }

    /// Returns the query for all items of a partition. A narrower condition names it `:pk`.
    pub(crate) fn query_partition(&self, pk: &str) -> QueryFluentBuilder {
        let partition = KeyRecord::ATTRIBUTES.partition;
        let query = self.client.query().table_name(&self.name);
        query
            .key_condition_expression(format!("{partition} = :pk"))
            .expression_attribute_values(":pk", string_value(pk))
    }

    /// Returns the query for all items in a shard of the index `due`.
    pub(crate) fn query_due_shard(&self, shard: &str) -> QueryFluentBuilder {
        let shard_attribute = DueRecord::ATTRIBUTES.shard;
        let query = self.client.query().table_name(&self.name);
        query
            .index_name(DUE_INDEX.name)
            .key_condition_expression(format!("{shard_attribute} = :shard"))
            .expression_attribute_values(":shard", string_value(shard))
    }

    /// Returns the query for the items in a shard of the index `due` that are due before a time.
    pub(crate) fn query_due(&self, shard: &str, before: Timestamp) -> QueryFluentBuilder {
        let DueAttributes {
            shard: shard_attribute,
            due_at,
        } = DueRecord::ATTRIBUTES;
        self.query_due_shard(shard)
            .key_condition_expression(format!("{shard_attribute} = :shard AND {due_at} < :before"))
            .expression_attribute_values(":before", string_value(table_keys::due_sort_key(before)))
    }
}

/// Converts a limit to the page size of a request.
pub(crate) fn page_size(limit: usize) -> i32 {
    i32::try_from(limit).unwrap_or(i32::MAX).max(1)
}

/// Reads all pages of a query.
pub(crate) async fn collect_pages(query: QueryFluentBuilder) -> PortResult<Vec<Item>> {
    let mut items = Vec::new();
    let mut pages = query.into_paginator().send();
    while let Some(page) = pages.next().await {
        items.extend(page.map_err(port_error)?.items.unwrap_or_default());
    }
    Ok(items)
}

pub(crate) fn throttled_error() -> PortError {
    PortError::Unavailable("the service left part of a batch unprocessed".into())
}
