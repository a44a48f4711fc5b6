//! The sparse index `pending`: the documents of a container that are unfinished or failed.

use aws_sdk_dynamodb::operation::query::builders::QueryFluentBuilder;
use domain::ports::PortResult;
use domain::{ContainerId, DocumentId, DocumentStatus, PortError, Tenant};
use futures::stream::{self, StreamExt, TryStreamExt};

use super::DynamoDocuments;
use super::queries::{count_items, next_position, query_listing};
use crate::error::{condition_held, port_error};
use crate::layout::PENDING_INDEX;
use crate::records::documents::{
    DocumentAttributes, DocumentRecord, ListingAttributes, ListingRecord, PendingRecord,
};
use crate::records::{Item, KeyRecord, key_item, read_partition_key, string_value};
use crate::table::{Table, page_size};
use crate::table_keys;

/// The number of records that are updated at the same time.
const PARALLEL_UPDATES: usize = 16;
/// The most pages of a listing that are read before the first commit of a container. Each has 1 MB,
/// so together they have more documents than a container commits until it is compacted.
const MAX_CHECKED_PAGES: usize = 4;

/// Returns the query for the documents of a container that are missing from the index `pending`,
/// because they were accepted before the index existed.
fn query_missing(table: &Table, tenant: &Tenant, container: &ContainerId) -> QueryFluentBuilder {
    let pending = PendingRecord::ATTRIBUTES.pending;
    let status = DocumentRecord::ATTRIBUTES.status;
    query_listing(table, table_keys::listing_partition(tenant, container))
        .filter_expression(format!(
            "{status} <> :done AND attribute_not_exists({pending})"
        ))
        .projection_expression(KeyRecord::ATTRIBUTES.partition)
        .expression_attribute_values(":done", string_value(DocumentStatus::Done.as_str()))
}

/// Checks whether the index `pending` has all documents of a container that belong there. Returns
/// `false` as well for a container with too many documents to be checked.
pub(crate) async fn has_all_pending(
    table: &Table,
    tenant: &Tenant,
    container: &ContainerId,
) -> PortResult<bool> {
    let query = query_missing(table, tenant, container);
    let mut pages = query.into_paginator().send();
    for _ in 0..MAX_CHECKED_PAGES {
        let Some(page) = pages.next().await else {
            return Ok(true);
        };
        if page.map_err(port_error)?.count > 0 {
            return Ok(false);
        }
    }

    Ok(pages.next().await.is_none())
}

impl DynamoDocuments {
    fn query_pending(&self, tenant: &Tenant, container: &ContainerId) -> QueryFluentBuilder {
        let pending = PendingRecord::ATTRIBUTES.pending;
        let query = self.records.client.query().table_name(&self.records.name);
        query
            .index_name(PENDING_INDEX.name)
            .key_condition_expression(format!("{pending} = :pending"))
            .expression_attribute_values(
                ":pending",
                string_value(table_keys::pending_partition(tenant, container)),
            )
    }

    pub(super) async fn list_pending_ids(
        &self,
        tenant: &Tenant,
        container: &ContainerId,
        after: Option<&str>,
        limit: usize,
    ) -> PortResult<(Vec<DocumentId>, Option<String>)> {
        let pending = PendingRecord::ATTRIBUTES.pending;
        let position = ListingRecord::ATTRIBUTES.position;

        let query = self
            .query_pending(tenant, container)
            .limit(page_size(limit))
            .projection_expression(KeyRecord::ATTRIBUTES.partition);
        let query = match after {
            None => query,
            Some(after) => query
                .key_condition_expression(format!("{pending} = :pending AND {position} > :after"))
                .expression_attribute_values(":after", string_value(after)),
        };

        let response = query.send().await.map_err(port_error)?;
        let next = next_position(response.last_evaluated_key)?;
        let mut ids = Vec::new();
        for item in response.items.unwrap_or_default() {
            ids.push(read_document_id(&item)?);
        }

        Ok((ids, next))
    }

    pub(super) async fn count_unserved_documents(
        &self,
        tenant: &Tenant,
        container: &ContainerId,
    ) -> PortResult<usize> {
        let indexed = DocumentRecord::ATTRIBUTES.indexed;
        let query = self
            .query_pending(tenant, container)
            .filter_expression(format!("attribute_not_exists({indexed})"));
        count_items(query, usize::MAX, usize::MAX).await
    }

    pub(super) async fn add_missing_to_pending(
        &self,
        tenant: &Tenant,
        container: &ContainerId,
    ) -> PortResult<()> {
        let query = query_missing(&self.records, tenant, container);
        let mut pages = query.into_paginator().send();
        while let Some(page) = pages.next().await {
            let items = page.map_err(port_error)?.items.unwrap_or_default();
            let ids: PortResult<Vec<_>> = items.iter().map(read_document_id).collect();
            let updates = ids?
                .into_iter()
                .map(|id| async move { self.add_to_pending(tenant, container, &id).await });
            stream::iter(updates)
                .buffer_unordered(PARALLEL_UPDATES)
                .try_collect::<()>()
                .await?;
        }

        Ok(())
    }

    /// Adds a document to the index `pending`, unless it is done, superseded or gone by now.
    async fn add_to_pending(
        &self,
        tenant: &Tenant,
        container: &ContainerId,
        id: &DocumentId,
    ) -> PortResult<()> {
        let DocumentAttributes { status, .. } = DocumentRecord::ATTRIBUTES;
        let ListingAttributes { listing, .. } = ListingRecord::ATTRIBUTES;
        let pending = PendingRecord::ATTRIBUTES.pending;

        let update = self
            .records
            .client
            .update_item()
            .table_name(&self.records.name);
        let update = update
            .set_key(Some(key_item(&table_keys::document_key(tenant, id))))
            .update_expression(format!("SET {pending} = :pending"))
            .condition_expression(format!("{listing} = :listing AND {status} <> :done"));
        let update = update
            .expression_attribute_values(
                ":pending",
                string_value(table_keys::pending_partition(tenant, container)),
            )
            .expression_attribute_values(
                ":listing",
                string_value(table_keys::listing_partition(tenant, container)),
            )
            .expression_attribute_values(":done", string_value(DocumentStatus::Done.as_str()));

        condition_held(update.send().await)?;
        Ok(())
    }
}

/// Returns the id of the document with this key.
fn read_document_id(item: &Item) -> PortResult<DocumentId> {
    match table_keys::parse_document(read_partition_key(item)?) {
        Some((_, id)) => Ok(id),
        None => Err(PortError::Corrupt("the key of a pending document".into())),
    }
}
