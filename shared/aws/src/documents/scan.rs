//! Queries for many documents through the sparse indexes.

use aws_sdk_dynamodb::operation::query::builders::QueryFluentBuilder;
use aws_sdk_dynamodb::types::Select;
use domain::ports::{OverdueWork, PortResult};
use domain::{ContainerId, Document, Tenant, Timestamp};
use futures::future::try_join_all;
use tracing::error;

use super::{DynamoDocuments, read_document};
use crate::error::port_error;
use crate::item::{Item, ReadItem, collect_pages, string_value};
use crate::keys;
use crate::layout::{CONTAINER_INDEX, DUE_INDEX};

/// The pages of each shard in which the unfinished documents of an organization are counted. A page
/// of 1 MB has some ten thousand keys, of all organizations. All shards together hold well more
/// than one organization may have unfinished.
const DUE_PAGES: usize = 2;

/// Converts a limit to the page size of a request.
fn page_size(limit: usize) -> i32 {
    i32::try_from(limit).unwrap_or(i32::MAX).max(1)
}

/// Counts the items of a query. Stops when there are `limit`, or after `pages` pages.
async fn count_items(query: QueryFluentBuilder, limit: usize, pages: usize) -> PortResult<usize> {
    let query = query.select(Select::Count);
    let (mut total, mut start_key) = (0, None);
    for _ in 0..pages {
        let query = query.clone().set_exclusive_start_key(start_key);
        let response = query.send().await.map_err(port_error)?;
        total += usize::try_from(response.count).unwrap_or(0);
        start_key = response.last_evaluated_key;
        if start_key.is_none() || total >= limit {
            break;
        }
    }
    Ok(total)
}

impl DynamoDocuments {
    fn query_listing(&self, listing: String) -> QueryFluentBuilder {
        let query = self
            .0
            .client
            .query()
            .table_name(&self.0.name)
            .index_name(CONTAINER_INDEX.name);
        query
            .key_condition_expression("gl = :gl")
            .expression_attribute_values(":gl", string_value(listing))
    }

    fn query_due_shard(&self, shard: u32) -> QueryFluentBuilder {
        let query = self
            .0
            .client
            .query()
            .table_name(&self.0.name)
            .index_name(DUE_INDEX.name);
        query.expression_attribute_values(":qs", string_value(format!("Q#{shard}")))
    }

    pub(super) async fn list_documents(
        &self,
        tenant: &Tenant,
        container: &ContainerId,
    ) -> PortResult<Vec<Document>> {
        let query = self
            .query_listing(keys::listing_partition(tenant, container))
            .scan_index_forward(false);
        collect_pages(query)
            .await?
            .iter()
            .map(read_document)
            .collect()
    }

    pub(super) async fn list_documents_page(
        &self,
        tenant: &Tenant,
        container: &ContainerId,
        superseded: bool,
        after: Option<&str>,
        limit: usize,
    ) -> PortResult<(Vec<Document>, Option<String>)> {
        let listing = if superseded {
            keys::superseded_listing_partition
        } else {
            keys::listing_partition
        };

        let query = self
            .query_listing(listing(tenant, container))
            .limit(page_size(limit));
        let query = match after {
            None => query,
            Some(after) => query
                .key_condition_expression("gl = :gl AND gs > :after")
                .expression_attribute_values(":after", string_value(after)),
        };

        let response = query.send().await.map_err(port_error)?;
        let found = response
            .items
            .unwrap_or_default()
            .iter()
            .map(read_document)
            .collect::<PortResult<_>>()?;

        let last = response.last_evaluated_key;
        let next = last
            .map(|key| key.get_text("gs").map(str::to_owned))
            .transpose()?;

        Ok((found, next))
    }

    pub(super) async fn count_documents(
        &self,
        tenant: &Tenant,
        container: &ContainerId,
        limit: usize,
    ) -> PortResult<Option<usize>> {
        let too_many = limit.saturating_add(1);
        let query = self
            .query_listing(keys::listing_partition(tenant, container))
            .limit(page_size(too_many));
        let total = count_items(query, too_many, usize::MAX).await?;
        Ok((total <= limit).then_some(total))
    }

    pub(super) async fn count_unfinished_documents(
        &self,
        tenant: &Tenant,
        limit: usize,
    ) -> PortResult<usize> {
        let count_shard = |shard| {
            let query = self
                .query_due_shard(shard)
                .key_condition_expression("qs = :qs");
            let query = query.filter_expression("begins_with(pk, :documents)");
            count_items(
                query.expression_attribute_values(
                    ":documents",
                    string_value(keys::documents_prefix(tenant)),
                ),
                limit,
                DUE_PAGES,
            )
        };
        let counts = try_join_all((0..keys::DUE_SHARDS).map(count_shard)).await?;
        Ok(counts.into_iter().sum::<usize>().min(limit))
    }

    pub(super) async fn list_overdue(
        &self,
        before: Timestamp,
        limit: usize,
    ) -> PortResult<Vec<OverdueWork>> {
        let mut found = Vec::new();
        for shard in 0..keys::DUE_SHARDS {
            let query = self
                .query_due_shard(shard)
                .key_condition_expression("qs = :qs AND qd < :before");
            let query = query
                .expression_attribute_values(":before", string_value(keys::due_sort_key(before)));
            let response = query
                .limit(page_size(limit))
                .send()
                .await
                .map_err(port_error)?;
            for item in response.items.unwrap_or_default() {
                match parse_overdue(&item)? {
                    Some(overdue) => found.push((item.get_text("qd")?.to_owned(), overdue)),
                    // One record that cannot be read must not stop the sweep of all others.
                    None => error!("the index of unfinished work has a key that is none of ours"),
                }
            }
        }

        found.sort_by(|a, b| a.0.cmp(&b.0));
        Ok(found
            .into_iter()
            .take(limit)
            .map(|(_, overdue)| overdue)
            .collect())
    }
}

/// Parses an item of the index of unfinished work. Returns `None` if its key is not one of ours.
fn parse_overdue(item: &Item) -> PortResult<Option<OverdueWork>> {
    let (pk, sk) = (item.get_text("pk")?, item.get_text("sk")?);
    let document = keys::parse_document(pk).map(|(org, id)| OverdueWork::Document(org, id));
    let purge =
        || keys::parse_purge(pk, sk).map(|(org, id, purge)| OverdueWork::Purge(org, id, purge));
    let task = || keys::parse_task(pk).map(|(org, id)| OverdueWork::Task(org, id));
    Ok(document.or_else(purge).or_else(task))
}
