//! The request log on DynamoDB.
//!
//! The records of an hour have a partition of their own. Another partition has the hours of an
//! organization.
//!
//! An hour with records has an open marker, or counts, or both. The marker says that the counts are
//! missing or stale. It carries a token and is deleted in the transaction that stores the counts. A
//! late record puts a marker with a fresh token in the transaction that writes the record. Counts
//! that were computed without that record are therefore never final.
//!
//! A busy hour also has slices: counts of its first part, with the token of the marker. Whoever finds another
//! token ignores them.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, PoisonError};

use async_trait::async_trait;
use aws_sdk_dynamodb::operation::put_item::PutItemError;
use aws_sdk_dynamodb::operation::query::builders::QueryFluentBuilder;
use aws_sdk_dynamodb::types::{Delete, Put, TransactWriteItem};
use domain::activity::{Hour, RequestRecord, RequestTally, TallySlices, TimeSpan};
use domain::ports::{HourCounts, PortResult, RequestLog};
use domain::{ContainerId, OrgId, PortError, Tenant, Timestamp};
use futures::future::try_join_all;

use crate::error::{condition_held, port_error};
use crate::records::request_log::{
    LoggedRequestAttributes, LoggedRequestRecord, OpenHourRecord, TallyRecord, logged_request_item,
    open_hour_item, read_logged_request, read_slices, read_tally, slices_item, tally_item,
};
use crate::records::{
    DueRecord, Item, KeyAttributes, KeyRecord, item_absent, item_present, key_item, optional_text,
    read_partition_key, read_record, read_sort_key, string_value,
};
use crate::table::{Table, page_size};
use crate::table_keys::{due_sort_key, hours};
use crate::transaction::{delete_write, put_write, transaction_error};

/// The time after a request, in seconds, after which its record is late: it may already have been counted
/// without it. The counting waits some minutes longer, because a write that began in time takes a while to
/// finish.
const LATE_SECONDS: i64 = 120;
/// The number of requests of one process within an hour after which it marks the hour as busy. It counts from
/// nothing afterwards, because a late record replaces the marker.
const BUSY_REQUESTS: u32 = 1_000;
/// The most records of one page of a search for contents. The names of that many records fit into
/// the record of a task.
const CONTENTS_PAGE: i32 = 1000;
/// The number of records that lose their contents at the same time.
const PARALLEL_UPDATES: usize = 8;
/// The most hours that a process remembers as marked. At this number it forgets all of them and
/// starts over.
const MAX_REMEMBERED_HOURS: usize = 10_000;

pub(crate) struct DynamoRequestLog {
    table: Table,
    /// The hours whose open markers this process has put, with the number of its requests.
    open_hours: Mutex<HashMap<(OrgId, Hour), u32>>,
}

impl DynamoRequestLog {
    pub(crate) fn new(table: Table) -> Self {
        Self {
            table,
            open_hours: Mutex::default(),
        }
    }

    fn lock_open_hours(&self) -> std::sync::MutexGuard<'_, HashMap<(OrgId, Hour), u32>> {
        // A panic while the lock was held cannot leave the map half changed.
        self.open_hours
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts the open marker of an hour, unless it exists. Each process does so once for an hour.
    async fn open_hour(&self, tenant: &Tenant, hour: Hour) -> PortResult<()> {
        let key = (tenant.org().clone(), hour);
        if self.lock_open_hours().contains_key(&key) {
            return Ok(());
        }

        let put = self.table.client.put_item().table_name(&self.table.name);
        let put = put
            .set_item(Some(open_hour_item(tenant, hour)?))
            .condition_expression(item_absent());
        if let Err(error) = put.send().await {
            match error.as_service_error() {
                Some(PutItemError::ConditionalCheckFailedException(_)) => {}
                _ => return Err(port_error(error)),
            }
        }

        let mut open_hours = self.lock_open_hours();
        if open_hours.len() >= MAX_REMEMBERED_HOURS {
            open_hours.clear();
        }

        open_hours.insert(key, 0);
        Ok(())
    }

    /// Counts a request of an open hour, and marks an hour with many requests as busy.
    async fn count_request(&self, tenant: &Tenant, hour: Hour) -> PortResult<()> {
        let key = (tenant.org().clone(), hour);
        let requests = {
            let mut open_hours = self.lock_open_hours();
            let requests = open_hours.entry(key.clone()).or_default();
            *requests += 1;
            *requests
        };
        if requests >= BUSY_REQUESTS {
            self.mark_busy(tenant, hour).await?;
            self.lock_open_hours().insert(key, 0);
        }
        Ok(())
    }

    /// Marks an open hour as busy: it is due from its beginning. Does nothing if it is closed. An
    /// hour that ended at this time comes first, because it is due a second earlier.
    async fn mark_busy(&self, tenant: &Tenant, hour: Hour) -> PortResult<()> {
        let due_at = due_sort_key(hour.start_time().plus_seconds(1));
        let update = self.table.client.update_item().table_name(&self.table.name);
        let update = update
            .set_key(Some(key_item(&hours::open_key(tenant, hour))))
            .update_expression("SET #due = :due")
            .condition_expression(item_present());
        let update = update
            .expression_attribute_names("#due", DueRecord::ATTRIBUTES.due_at)
            .expression_attribute_values(":due", string_value(due_at));
        condition_held(update.send().await)?;
        Ok(())
    }

    /// Returns the transaction item that puts `item`.
    fn put_write(&self, item: Item) -> PortResult<TransactWriteItem> {
        let put = Put::builder().table_name(&self.table.name);
        put_write(put.set_item(Some(item)))
    }

    /// Returns the query for the records of an hour that follow `after`.
    fn query_hour(&self, tenant: &Tenant, hour: Hour, after: Option<&str>) -> QueryFluentBuilder {
        let pk = hours::records_partition(tenant, hour);
        let query = self.table.query_partition(&pk).consistent_read(true);
        query.set_exclusive_start_key(after.map(|after| key_item(&(pk, after.to_owned()))))
    }

    /// Returns the query for those records of an hour that lie in a span and follow `after`.
    fn query_span(
        &self,
        tenant: &Tenant,
        hour: Hour,
        span: TimeSpan,
        after: Option<&str>,
    ) -> QueryFluentBuilder {
        let pk = hours::records_partition(tenant, hour);
        let (from, to) = hours::record_range(span);
        let query = self
            .table
            .query_range(&pk, &from, &to)
            .consistent_read(true);
        query.set_exclusive_start_key(after.map(|after| key_item(&(pk, after.to_owned()))))
    }

    /// Sends a query and returns the records of its page, with the key at which the next page
    /// begins.
    async fn read_page(
        &self,
        query: QueryFluentBuilder,
    ) -> PortResult<(Vec<RequestRecord>, Option<String>)> {
        let page = query.send().await.map_err(port_error)?;
        let mut requests = Vec::new();
        for item in page.items.unwrap_or_default() {
            requests.push(read_logged_request(item)?);
        }
        Ok((requests, next_page_key(page.last_evaluated_key)?))
    }

    /// Checks whether the counts of an hour are those that were stored with `token`, and no late
    /// record has come since.
    async fn is_closed_with(&self, tenant: &Tenant, hour: Hour, token: &str) -> PortResult<bool> {
        // The counts are read first. If a late record comes between the two reads, the second one
        // finds its marker.
        let Some(counts) = self.table.get(&hours::counts_key(tenant, hour)).await? else {
            return Ok(false);
        };
        if optional_text(&counts, TallyRecord::ATTRIBUTES.token) != Some(token) {
            return Ok(false);
        }

        Ok(self
            .table
            .get(&hours::open_key(tenant, hour))
            .await?
            .is_none())
    }

    /// Removes input and output from a record. Does nothing if the record is gone.
    async fn forget_content(&self, key: (String, String)) -> PortResult<()> {
        let update = self.table.client.update_item().table_name(&self.table.name);
        let update = update
            .set_key(Some(key_item(&key)))
            .update_expression("REMOVE #in, #out");
        let update = update
            .expression_attribute_names("#in", LoggedRequestRecord::ATTRIBUTES.input)
            .expression_attribute_names("#out", LoggedRequestRecord::ATTRIBUTES.output);
        // Without the condition, the update would recreate a record that has just expired as a bare
        // key.
        let update = update.condition_expression(item_present());

        condition_held(update.send().await)?;
        Ok(())
    }
}

/// Returns the sort key of the last item of a page, or `None` if the page is the last one.
fn next_page_key(last_key: Option<Item>) -> PortResult<Option<String>> {
    match last_key {
        Some(key) => Ok(Some(read_sort_key(&key)?.to_owned())),
        None => Ok(None),
    }
}

/// Returns the hour that an item of the partition of hours is about.
fn hour_of(item: &Item) -> PortResult<Hour> {
    match hours::parse_hour_sort(read_sort_key(item)?) {
        Some(hour) => Ok(hour),
        None => Err(PortError::Corrupt("key of an hour".into())),
    }
}

#[async_trait]
impl RequestLog for DynamoRequestLog {
    async fn record(
        &self,
        tenant: &Tenant,
        record: &RequestRecord,
        now: Timestamp,
    ) -> PortResult<()> {
        let hour = Hour::containing(record.at);
        let item = logged_request_item(tenant, record)?;
        if now > record.at.plus_seconds(LATE_SECONDS) {
            let open_hour = self.put_write(open_hour_item(tenant, hour)?)?;
            let transaction = self.table.client.transact_write_items();
            let transaction = transaction
                .transact_items(open_hour)
                .transact_items(self.put_write(item)?);
            transaction.send().await.map_err(transaction_error)?;
            return Ok(());
        }

        self.open_hour(tenant, hour).await?;
        self.table.put(item).await?;
        if let Err(error) = self.count_request(tenant, hour).await {
            // The request is recorded, and the next one marks the hour.
            tracing::warn!(
                error = &error as &dyn std::error::Error,
                "could not mark an hour of the request log as busy"
            );
        }
        Ok(())
    }

    async fn list_requests(
        &self,
        tenant: &Tenant,
        hour: Hour,
        span: TimeSpan,
        after: Option<&str>,
        limit: usize,
    ) -> PortResult<(Vec<RequestRecord>, Option<String>)> {
        let query = self.query_span(tenant, hour, span, after);
        let query = query.scan_index_forward(false).limit(page_size(limit));
        self.read_page(query).await
    }

    async fn list_outlines(
        &self,
        tenant: &Tenant,
        hour: Hour,
        span: TimeSpan,
        after: Option<&str>,
    ) -> PortResult<(Vec<RequestRecord>, Option<String>)> {
        let KeyAttributes { partition, sort } = KeyRecord::ATTRIBUTES;
        let LoggedRequestAttributes {
            outline,
            containers,
            ..
        } = LoggedRequestRecord::ATTRIBUTES;

        let query = self
            .query_span(tenant, hour, span, after)
            .projection_expression(format!("{partition}, {sort}, {outline}, {containers}"));
        self.read_page(query).await
    }

    async fn count_by_hour(
        &self,
        tenant: &Tenant,
        from: Hour,
        to: Hour,
    ) -> PortResult<Vec<HourCounts>> {
        if from > to {
            return Ok(Vec::new());
        }

        let pk = hours::hours_partition(tenant);
        // Markers are read first: an hour that is closed between the two reads is found twice, and
        // never missed.
        let open = self
            .table
            .get_range(&pk, &hours::open_sort(from), &hours::open_sort(to))
            .await?;
        let closed = self
            .table
            .get_range(&pk, &hours::counts_sort(from), &hours::counts_sort(to))
            .await?;

        let mut found = BTreeMap::new();
        for item in closed {
            let hour = hour_of(&item)?;
            let (token, tally) = read_tally(item)?;
            let tally = Some(tally);
            found.insert(hour, HourCounts { hour, token, tally });
        }
        for item in open {
            let hour = hour_of(&item)?;
            let OpenHourRecord { token } = read_record(item)?;
            let tally = None;
            found.insert(hour, HourCounts { hour, token, tally });
        }

        Ok(found.into_values().collect())
    }

    async fn close_hour(
        &self,
        tenant: &Tenant,
        hour: Hour,
        token: &str,
        tally: &RequestTally,
    ) -> PortResult<bool> {
        let delete = Delete::builder().table_name(&self.table.name);
        let delete = delete.set_key(Some(key_item(&hours::open_key(tenant, hour))));
        let delete = delete.condition_expression("#token = :token");
        let delete = delete.expression_attribute_names("#token", OpenHourRecord::ATTRIBUTES.token);
        let delete = delete.expression_attribute_values(":token", string_value(token));
        let transaction = self.table.client.transact_write_items();
        let transaction = transaction.transact_items(delete_write(delete)?);
        let counts = self.put_write(tally_item(tenant, hour, token, tally)?)?;
        let result = transaction.transact_items(counts).send().await;

        match result.map_err(transaction_error) {
            Ok(_) => Ok(true),
            Err(PortError::Conflict) => self.is_closed_with(tenant, hour, token).await,
            Err(error) => Err(error),
        }
    }

    async fn get_slices(
        &self,
        tenant: &Tenant,
        hour: Hour,
        token: &str,
    ) -> PortResult<Option<TallySlices>> {
        let key = hours::slices_key(tenant, hour);
        let stored = self.table.get_record(&key, read_slices).await?;
        Ok(stored.and_then(|(stored, slices)| (stored == token).then_some(slices)))
    }

    async fn put_slices(
        &self,
        tenant: &Tenant,
        hour: Hour,
        token: &str,
        slices: &TallySlices,
    ) -> PortResult<()> {
        let item = slices_item(tenant, hour, token, slices)?;
        self.table.put(item).await
    }

    async fn list_overdue_hours(
        &self,
        before: Timestamp,
        limit: usize,
    ) -> PortResult<Vec<(Tenant, Hour)>> {
        let query = self.table.query_due(hours::OPEN_SHARD, before);
        let mut pages = query.into_paginator().send();
        let mut found = Vec::new();
        while let Some(page) = pages.next().await {
            for item in page.map_err(port_error)?.items.unwrap_or_default() {
                let (pk, sk) = (read_partition_key(&item)?, read_sort_key(&item)?);
                match hours::parse_open_key(pk, sk) {
                    Some((org, hour)) => found.push((Tenant::for_operator(org), hour)),
                    None => tracing::error!(
                        pk,
                        sk,
                        "an open hour has a key that cannot be read: {pk} {sk}"
                    ),
                }
                if found.len() >= limit {
                    return Ok(found);
                }
            }
        }

        Ok(found)
    }

    async fn list_contents(
        &self,
        tenant: &Tenant,
        hour: Hour,
        containers: &[ContainerId],
        after: Option<&str>,
    ) -> PortResult<(Vec<String>, Option<String>)> {
        if containers.is_empty() {
            return Ok((Vec::new(), None));
        }

        let attribute = LoggedRequestRecord::ATTRIBUTES.containers;
        let conditions: Vec<String> = (0..containers.len())
            .map(|i| format!("contains({attribute}, :c{i})"))
            .collect();
        let filter = format!(
            "({}) AND (attribute_exists(#in) OR attribute_exists(#out))",
            conditions.join(" OR ")
        );
        let mut query = self
            .query_hour(tenant, hour, after)
            .limit(CONTENTS_PAGE)
            .filter_expression(filter);
        for (i, container) in containers.iter().enumerate() {
            query = query
                .expression_attribute_values(format!(":c{i}"), string_value(container.as_str()));
        }

        let query = query
            .expression_attribute_names("#in", LoggedRequestRecord::ATTRIBUTES.input)
            .expression_attribute_names("#out", LoggedRequestRecord::ATTRIBUTES.output);
        let query = query.projection_expression(KeyRecord::ATTRIBUTES.sort);
        let page = query.send().await.map_err(port_error)?;

        let mut names = Vec::new();
        for record in page.items() {
            names.push(read_sort_key(record)?.to_owned());
        }
        Ok((names, next_page_key(page.last_evaluated_key)?))
    }

    async fn remove_contents(
        &self,
        tenant: &Tenant,
        hour: Hour,
        names: &[String],
    ) -> PortResult<()> {
        let pk = hours::records_partition(tenant, hour);
        for batch in names.chunks(PARALLEL_UPDATES) {
            let forget = |name: &String| self.forget_content((pk.clone(), name.clone()));
            try_join_all(batch.iter().map(forget)).await?;
        }

        Ok(())
    }
}
