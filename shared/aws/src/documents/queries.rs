//! Queries for many documents through the sparse indexes.

use aws_sdk_dynamodb::operation::query::builders::QueryFluentBuilder;
use aws_sdk_dynamodb::types::Select;
use domain::ports::{DocumentListing, OverdueWork, PortResult};
use domain::{ContainerId, Document, Tenant, Timestamp};
use futures::future::try_join_all;
use tracing::error;

use super::DynamoDocuments;
use crate::error::port_error;
use crate::layout::CONTAINER_INDEX;
use crate::records::documents::{ListingAttributes, ListingRecord, read_document};
use crate::records::{
    DueRecord, Item, KeyRecord, read_partition_key, read_sort_key, read_text, string_value,
};
use crate::table::{Table, collect_pages, page_size};
use crate::table_keys;

/// The pages of each shard in which the unfinished documents of an organization are counted. A page
/// of 1 MB has some ten thousand keys, of all organizations. All shards together hold well more
/// than one organization may have unfinished.
const DUE_PAGES: usize = 2;

/// Counts the items of a query. Stops when there are `limit`, or after `pages` pages.
pub(super) async fn count_items(
    query: QueryFluentBuilder,
    limit: usize,
    pages: usize,
) -> PortResult<usize> {
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

/// Returns the query for the documents of a listing.
pub(super) fn query_listing(table: &Table, listing: String) -> QueryFluentBuilder {
    let listing_attribute = ListingRecord::ATTRIBUTES.listing;
    let query = table.client.query().table_name(&table.name);
    query
        .index_name(CONTAINER_INDEX.name)
        .key_condition_expression(format!("{listing_attribute} = :listing"))
        .expression_attribute_values(":listing", string_value(listing))
}

impl DynamoDocuments {
    pub(super) async fn list_documents(
        &self,
        tenant: &Tenant,
        container: &ContainerId,
    ) -> PortResult<Vec<Document>> {
        let listing = table_keys::listing_partition(tenant, container);
        let query = query_listing(&self.records, listing).scan_index_forward(false);
        let items = collect_pages(query).await?;
        items.into_iter().map(read_document).collect()
    }

    pub(super) async fn list_documents_page(
        &self,
        tenant: &Tenant,
        container: &ContainerId,
        listing: DocumentListing,
        after: Option<&str>,
        limit: usize,
    ) -> PortResult<(Vec<Document>, Option<String>)> {
        let partition = match listing {
            DocumentListing::OldestFirst | DocumentListing::NewestFirst => {
                table_keys::listing_partition(tenant, container)
            }
            DocumentListing::Superseded => {
                table_keys::superseded_listing_partition(tenant, container)
            }
        };
        let ascending = listing != DocumentListing::NewestFirst;
        let ListingAttributes { listing, position } = ListingRecord::ATTRIBUTES;

        let query = query_listing(&self.records, partition)
            .scan_index_forward(ascending)
            .limit(page_size(limit));
        let query = match after {
            None => query,
            Some(after) => {
                let comparison = if ascending { '>' } else { '<' };
                query
                    .key_condition_expression(format!(
                        "{listing} = :listing AND {position} {comparison} :after"
                    ))
                    .expression_attribute_values(":after", string_value(after))
            }
        };

        let response = query.send().await.map_err(port_error)?;
        let next = next_position(response.last_evaluated_key)?;
        let mut found = Vec::new();
        for item in response.items.unwrap_or_default() {
            found.push(read_document(item)?);
        }

        Ok((found, next))
    }

    pub(super) async fn count_documents(
        &self,
        tenant: &Tenant,
        container: &ContainerId,
        limit: usize,
    ) -> PortResult<Option<usize>> {
        let too_many = limit.saturating_add(1);
        let listing = table_keys::listing_partition(tenant, container);
        let query = query_listing(&self.records, listing).limit(page_size(too_many));
        let total = count_items(query, too_many, usize::MAX).await?;
        Ok((total <= limit).then_some(total))
    }

    pub(super) async fn count_unfinished_documents(
        &self,
        tenant: &Tenant,
        limit: usize,
    ) -> PortResult<usize> {
        let count_shard = |shard| {
            let partition = KeyRecord::ATTRIBUTES.partition;
            let query = self
                .records
                .query_due_shard(&table_keys::due_work_partition(shard))
                .filter_expression(format!("begins_with({partition}, :documents)"));
            count_items(
                query.expression_attribute_values(
                    ":documents",
                    string_value(table_keys::documents_prefix(tenant)),
                ),
                limit,
                DUE_PAGES,
            )
        };
        let counts = try_join_all((0..table_keys::DUE_SHARDS).map(count_shard)).await?;
        Ok(counts.into_iter().sum::<usize>().min(limit))
    }

    pub(super) async fn list_overdue(
        &self,
        before: Timestamp,
        limit: usize,
    ) -> PortResult<Vec<OverdueWork>> {
        let due_at = DueRecord::ATTRIBUTES.due_at;
        let mut found = Vec::new();
        for shard in 0..table_keys::DUE_SHARDS {
            let shard = table_keys::due_work_partition(shard);
            let query = self
                .records
                .query_due(&shard, before)
                .limit(page_size(limit));
            let response = query.send().await.map_err(port_error)?;
            for item in response.items.unwrap_or_default() {
                match parse_overdue(&item)? {
                    Some(overdue) => found.push((read_text(&item, due_at)?.to_owned(), overdue)),
                    // One record that cannot be read must not stop the sweep of all others.
                    None => error!("the index of unfinished work has a key that is none of ours"),
                }
            }
        }

        found.sort_by(|a, b| a.0.cmp(&b.0));
        found.truncate(limit);
        Ok(found.into_iter().map(|(_, overdue)| overdue).collect())
    }
}

/// Returns the position after which the next page of a container's documents begins.
pub(super) fn next_position(last_key: Option<Item>) -> PortResult<Option<String>> {
    let position = ListingRecord::ATTRIBUTES.position;
    match last_key {
        Some(last) => Ok(Some(read_text(&last, position)?.to_owned())),
        None => Ok(None),
    }
}

/// Parses an item of the index of unfinished work. Returns `None` if its key is not one of ours.
fn parse_overdue(item: &Item) -> PortResult<Option<OverdueWork>> {
    let (pk, sk) = (read_partition_key(item)?, read_sort_key(item)?);
    if let Some((org, id)) = table_keys::parse_document(pk) {
        return Ok(Some(OverdueWork::Document(org, id)));
    }
    if let Some((org, id, purge)) = table_keys::parse_purge(pk, sk) {
        return Ok(Some(OverdueWork::Purge(org, id, purge)));
    }
    if let Some((org, id)) = table_keys::parse_task(pk) {
        return Ok(Some(OverdueWork::Task(org, id)));
    }
    Ok(None)
}
