//! The index of a container on DynamoDB. Head, log records and purge records share the partition of
//! the container.

mod changes;
mod compaction;
mod erasure;

use async_trait::async_trait;
use aws_sdk_dynamodb::operation::transact_write_items::TransactWriteItemsError;
use aws_sdk_dynamodb::operation::update_item::builders::UpdateItemFluentBuilder;
use aws_sdk_dynamodb::types::{Put, TransactWriteItem, Update};
use domain::BlobRef;
use domain::container::LogEntry;
use domain::ports::{
    CommitOutcome, CompactionLease, ERASE_AFTER_SECONDS, Index, OVERDUE_AFTER_SECONDS, PortResult,
};
use domain::{
    ContainerId, DocumentChange, IndexHead, LogRecord, OrgId, PortError, Revision, SegmentRef,
    Tenant, Timestamp,
};

use crate::documents::has_all_pending;
use crate::error::port_error;
use crate::purge::purge_put;
use crate::records::index::{
    CommitRecord, HeadAttributes, HeadRecord, commit_item, purge_item, read_commit, read_head,
    read_purge,
};
use crate::records::{
    DueAttributes, DueRecord, Json, KeyRecord, VersionRecord, item_absent, key_item, number_value,
    optional_text, read_sort_key, string_value,
};
use crate::table::Table;
use crate::table_keys;
use crate::transaction::{put_write, send_update, update_write};
use changes::{build_change_writes, commit_outcome, log_entry};

pub(crate) struct DynamoIndex(pub(crate) Table);

impl DynamoIndex {
    /// Returns an update of a head.
    fn update_head(&self, tenant: &Tenant, container: &ContainerId) -> UpdateItemFluentBuilder {
        let update = self.0.client.update_item().table_name(&self.0.name);
        update.set_key(Some(key_item(&table_keys::head_key(tenant, container))))
    }

    /// Returns the update that moves the head to the next number. It detects concurrent commits:
    /// only one of them can advance the head. `pending_listed` says whether the index `pending` has
    /// all documents of the container that belong there.
    fn advance_head(
        &self,
        tenant: &Tenant,
        container: &ContainerId,
        head: &IndexHead,
        changes: &[DocumentChange],
        pending_listed: bool,
        now: Timestamp,
    ) -> PortResult<TransactWriteItem> {
        let HeadAttributes {
            last_sequence,
            document_count,
            last_removal,
            pending_listed_at,
            incarnation,
            ..
        } = HeadRecord::ATTRIBUTES;
        let DueAttributes { shard, due_at } = DueRecord::ATTRIBUTES;
        let version = VersionRecord::ATTRIBUTES.version;

        let mut set = format!("SET {last_sequence} = :next, {version} = :version");
        let mut update = Update::builder().table_name(&self.0.name);
        if let Some(documents) = head.document_count_after(changes) {
            set += &format!(", {document_count} = :documents");
            update = update.expression_attribute_values(":documents", number_value(documents));
        }

        if pending_listed {
            set += &format!(", {pending_listed_at} = :next");
        }

        if head.seq == 0 {
            let token = string_value(Revision::random().as_str());
            set += &format!(", {incarnation} = :incarnation");
            update = update.expression_attribute_values(":incarnation", token);
        }

        if changes.iter().any(DocumentChange::removes_content) {
            // The first of several removals decides when all of them are due.
            set += &format!(
                ", {last_removal} = :next, {shard} = if_not_exists({shard}, :shard), \
                 {due_at} = if_not_exists({due_at}, :due_at)"
            );
            let due = DueRecord::new(
                table_keys::due_erasure_partition(container),
                now.plus_seconds(ERASE_AFTER_SECONDS),
            );
            update = update
                .expression_attribute_values(":shard", string_value(due.shard))
                .expression_attribute_values(":due_at", string_value(due.due_at));
        }

        let update = update
            .set_key(Some(key_item(&table_keys::head_key(tenant, container))))
            .update_expression(set)
            .expression_attribute_values(":next", number_value(head.seq + 1))
            .expression_attribute_values(":version", number_value(VersionRecord::CURRENT.version));
        let update = if head.seq == 0 {
            update.condition_expression(format!("attribute_not_exists({last_sequence})"))
        } else {
            update
                .condition_expression(format!("{last_sequence} = :sequence"))
                .expression_attribute_values(":sequence", number_value(head.seq))
        };

        update_write(update)
    }

    /// Returns the put of a log record.
    fn put_log_record(
        &self,
        tenant: &Tenant,
        id: &ContainerId,
        seq: u64,
        token: &str,
        entries: &[LogEntry],
    ) -> PortResult<TransactWriteItem> {
        let item = commit_item(tenant, id, seq, token, entries)?;
        let put = Put::builder().table_name(&self.0.name).set_item(Some(item));

        put_write(put.condition_expression(item_absent()))
    }

    /// Checks whether the log record `seq` was written by this very commit, whose answer was lost.
    async fn is_own_commit(
        &self,
        tenant: &Tenant,
        container: &ContainerId,
        seq: u64,
        token: &str,
    ) -> PortResult<bool> {
        let key = table_keys::log_key(tenant, container, seq);
        let Some(item) = self.0.get(&key).await? else {
            return Ok(false);
        };
        Ok(optional_text(&item, CommitRecord::ATTRIBUTES.token) == Some(token))
    }
}

#[async_trait]
impl Index for DynamoIndex {
    async fn get_head(&self, tenant: &Tenant, container: &ContainerId) -> PortResult<IndexHead> {
        let key = table_keys::head_key(tenant, container);
        let head = self.0.get_record(&key, read_head).await?;
        Ok(head.unwrap_or_default())
    }

    async fn read_head_and_log(
        &self,
        tenant: &Tenant,
        container: &ContainerId,
    ) -> PortResult<(IndexHead, Vec<LogRecord>)> {
        let partition = table_keys::container_partition(tenant, container);
        let items = self
            .0
            .get_range(&partition, table_keys::HEAD, table_keys::LOG_END)
            .await?;

        let (mut head, mut records) = (IndexHead::default(), Vec::new());
        for item in items {
            if read_sort_key(&item)? == table_keys::HEAD {
                head = read_head(item)?;
            } else {
                records.push(read_commit(item)?);
            }
        }
        let covered = head.covered_through();
        records.retain(|record| record.seq > covered);

        Ok((head, records))
    }

    async fn read_log(
        &self,
        tenant: &Tenant,
        container: &ContainerId,
        after: u64,
    ) -> PortResult<Vec<LogRecord>> {
        let start_key = table_keys::log_sort_key(after + 1);
        let items = self
            .0
            .get_range(
                &table_keys::container_partition(tenant, container),
                &start_key,
                table_keys::LOG_END,
            )
            .await?;
        items.into_iter().map(read_commit).collect()
    }

    async fn commit(
        &self,
        tenant: &Tenant,
        container: &ContainerId,
        head: &IndexHead,
        changes: &[DocumentChange],
        now: Timestamp,
    ) -> PortResult<CommitOutcome> {
        let token = Revision::random();
        let seq = head.seq + 1;
        let mut entries = Vec::with_capacity(changes.len());
        for change in changes {
            entries.push(log_entry(change, now)?);
        }
        let pending_listed = head.pending_listed
            || (head.seq == 0 && has_all_pending(&self.0, tenant, container).await?);
        let next_head = self.advance_head(tenant, container, head, changes, pending_listed, now)?;
        let record = self.put_log_record(tenant, container, seq, token.as_str(), &entries)?;
        let mut items = vec![next_head, record];
        // The change to which each item belongs.
        let mut change_indexes = Vec::new();
        for (index, change) in changes.iter().enumerate() {
            let writes = build_change_writes(&self.0, tenant, change, now)?;
            change_indexes.extend(std::iter::repeat_n(index, writes.len()));
            items.extend(writes);
        }

        let mut purges = Vec::new();
        for change in changes {
            let Some(document) = change.document() else {
                continue;
            };
            let unused_blobs = change.unneeded_blobs();
            if unused_blobs.is_empty() {
                continue;
            }

            let purge = format!("{}-{}", document.id, token);
            let overdue_at = now.plus_seconds(OVERDUE_AFTER_SECONDS);
            items.push(purge_put(
                &self.0,
                tenant,
                container,
                &purge,
                &unused_blobs,
                overdue_at,
            )?);
            purges.push(purge);
        }

        let transaction = self
            .0
            .client
            .transact_write_items()
            .set_transact_items(Some(items));
        let Err(error) = transaction.send().await else {
            return Ok(CommitOutcome::Done(purges));
        };

        let Some(TransactWriteItemsError::TransactionCanceledException(reasons)) =
            error.as_service_error()
        else {
            return Err(port_error(error));
        };

        let outcome = commit_outcome(reasons.cancellation_reasons(), changes, &change_indexes);
        match outcome {
            Some(CommitOutcome::Moved)
                if self
                    .is_own_commit(tenant, container, seq, token.as_str())
                    .await? =>
            {
                Ok(CommitOutcome::Done(purges))
            }
            Some(outcome) => Ok(outcome),
            None => Err(PortError::Unavailable(Box::new(error))),
        }
    }

    async fn begin_compaction(
        &self,
        tenant: &Tenant,
        container: &ContainerId,
        lease: &CompactionLease,
        now: Timestamp,
    ) -> PortResult<bool> {
        self.take_lease(tenant, container, lease, now).await
    }

    async fn end_compaction(
        &self,
        tenant: &Tenant,
        container: &ContainerId,
        lease: &CompactionLease,
    ) -> PortResult<()> {
        self.end_lease(tenant, container, lease).await
    }

    async fn publish_segments(
        &self,
        tenant: &Tenant,
        container: &ContainerId,
        expected: u64,
        segments: &[SegmentRef],
        memories: u64,
    ) -> PortResult<bool> {
        let HeadAttributes {
            segments: segments_attribute,
            generation,
            memory_count,
            lease_token,
            lease_until,
            ..
        } = HeadRecord::ATTRIBUTES;
        let segments_json: Json<Vec<SegmentRef>> = Json::encode(segments)?;

        let update = self
            .update_head(tenant, container)
            .update_expression(format!(
                "SET {segments_attribute} = :segments, {generation} = :next, \
                 {memory_count} = :memories REMOVE {lease_token}, {lease_until}"
            ))
            .expression_attribute_values(":memories", number_value(memories))
            .expression_attribute_values(":segments", segments_json.into());
        let update = update.expression_attribute_values(":next", number_value(expected + 1));
        let update = if expected == 0 {
            update.condition_expression(format!("attribute_not_exists({generation})"))
        } else {
            update
                .condition_expression(format!("{generation} = :generation"))
                .expression_attribute_values(":generation", number_value(expected))
        };

        if send_update(update).await? {
            return Ok(true);
        }
        // Our own publication whose answer was lost shows the same segments.
        let head = self.get_head(tenant, container).await?;
        Ok(head.generation == expected + 1 && head.segments == segments)
    }

    async fn record_pending_listed(
        &self,
        tenant: &Tenant,
        container: &ContainerId,
    ) -> PortResult<()> {
        let HeadAttributes {
            last_sequence,
            pending_listed_at,
            ..
        } = HeadRecord::ATTRIBUTES;
        let update = self
            .update_head(tenant, container)
            .update_expression(format!("SET {pending_listed_at} = {last_sequence}"))
            // The index of a deleted container must not come back.
            .condition_expression(format!("attribute_exists({last_sequence})"));

        send_update(update).await.map(drop)
    }

    async fn trim_log(
        &self,
        tenant: &Tenant,
        container: &ContainerId,
        through: u64,
    ) -> PortResult<()> {
        if through == 0 {
            // In the first compaction of a container nothing is to be trimmed. DynamoDB refuses a
            // range that ends before it begins.
            return Ok(());
        }

        let pk = table_keys::container_partition(tenant, container);
        let items = self
            .0
            .get_range(
                &pk,
                &table_keys::log_sort_key(1),
                &table_keys::log_sort_key(through),
            )
            .await?;
        for item in items {
            let key = (pk.clone(), read_sort_key(&item)?.to_owned());
            self.0.delete(&key).await?;
        }

        Ok(())
    }

    async fn list_due_erasures(
        &self,
        before: Timestamp,
        limit: usize,
    ) -> PortResult<Vec<(OrgId, ContainerId)>> {
        self.list_due_erasures(before, limit).await
    }

    async fn postpone_erasure(
        &self,
        tenant: &Tenant,
        container: &ContainerId,
        due_at: Timestamp,
    ) -> PortResult<()> {
        self.postpone_due_erasure(tenant, container, due_at).await
    }

    async fn record_erasure(
        &self,
        tenant: &Tenant,
        container: &ContainerId,
        through: u64,
    ) -> PortResult<()> {
        self.end_erasure(tenant, container, through).await
    }

    async fn get_purge(
        &self,
        tenant: &Tenant,
        container: &ContainerId,
        purge: &str,
    ) -> PortResult<Option<Vec<BlobRef>>> {
        let key = table_keys::purge_key(tenant, container, purge);
        self.0.get_record(&key, read_purge).await
    }

    async fn record_purge(
        &self,
        tenant: &Tenant,
        container: &ContainerId,
        blobs: &[BlobRef],
        now: Timestamp,
    ) -> PortResult<String> {
        let purge = Revision::random().as_str().to_owned();
        let overdue_at = now.plus_seconds(OVERDUE_AFTER_SECONDS);
        let item = purge_item(tenant, container, &purge, blobs, overdue_at)?;
        self.0.put(item).await?;

        Ok(purge)
    }

    async fn list_items(
        &self,
        tenant: &Tenant,
        container: &ContainerId,
        limit: usize,
    ) -> PortResult<Vec<String>> {
        // The order is from the last sort key to the first: purge records, log records, the head.
        let query = self
            .0
            .query_partition(&table_keys::container_partition(tenant, container))
            .consistent_read(true)
            .scan_index_forward(false)
            .projection_expression(KeyRecord::ATTRIBUTES.sort);
        let mut pages = query.into_paginator().send();
        let mut found = Vec::new();
        while let Some(page) = pages.next().await {
            for item in page.map_err(port_error)?.items() {
                // The owner record outlives the index.
                let name = read_sort_key(item)?;
                if name != table_keys::OWNER && found.len() < limit {
                    found.push(name.to_owned());
                }
            }
            if found.len() >= limit {
                break;
            }
        }

        Ok(found)
    }

    async fn delete_items(
        &self,
        tenant: &Tenant,
        container: &ContainerId,
        items: &[String],
    ) -> PortResult<()> {
        let pk = table_keys::container_partition(tenant, container);
        let keys: Vec<_> = items
            .iter()
            .map(|name| (pk.clone(), name.clone()))
            .collect();
        self.0.delete_many(&keys).await
    }

    async fn delete_purge(
        &self,
        tenant: &Tenant,
        container: &ContainerId,
        purge: &str,
    ) -> PortResult<()> {
        let key = table_keys::purge_key(tenant, container, purge);
        self.0.delete(&key).await
    }
}
