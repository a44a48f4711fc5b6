//! Lists of large containers by their indexes. An index has the fields that filters and orders need of every
//! document that search serves. Only the records of the page and those of unfinished and failed documents are
//! read, and all records of new containers.

use std::collections::HashSet;
use std::iter::zip;
use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use futures::future::{try_join, try_join_all};
use futures::stream::{self, StreamExt, TryStreamExt};

use super::first_entries::FirstEntries;
use super::{
    DocumentPage, LIST_PART_SIZE, ListQuery, ListedFields, SortBy, SortKey, is_of_container,
};
use crate::Ctx;
use domain::container::{IndexHead, IndexedDocument};
use domain::document::{Document, DocumentStatus};
use domain::error::{PortError, Result};
use domain::ids::{ContainerId, DocumentId};
use domain::metadata::Metadata;
use domain::ports::{DocumentListing, PortResult};
use domain::tenant::Tenant;
use domain::time::Timestamp;
use tracing::warn;

/// The most containers of a list that reads indexes. Of more containers, most are small.
const MAX_CONTAINERS: usize = 16;
/// The number of containers that are read at the same time.
const PARALLEL_READS: usize = 4;
/// The most records of a container that are read beside its index, or in place of it: one part of a scan.
const MAX_RECORDS: usize = LIST_PART_SIZE;
/// The number of attempts to read a page while its documents change.
const ATTEMPTS: usize = 2;

/// Returns the time by which to sort a document that search serves, or `None` to leave it out.
pub type SortTime<'a> = dyn Fn(&IndexedDocument) -> Option<Timestamp> + Send + Sync + 'a;

/// Reads the documents that search serves from the index of a container.
#[async_trait]
pub trait ServedDocuments: Send + Sync {
    /// Returns the times and the ids of the documents to which `sort_time` gives a time, in any order. Returns
    /// `None` if the index does not have all documents that search should serve, or does not fit into memory.
    ///
    /// # Errors
    /// Those of the ports, and [`PortError::Corrupt`] if a part of the index cannot be read.
    async fn select(
        &self,
        ctx: &Ctx,
        tenant: &Tenant,
        container: &ContainerId,
        sort_time: &SortTime<'_>,
    ) -> PortResult<Option<Vec<SortKey>>>;

    /// Checks whether it costs less to read the index of the container with this head than all records.
    fn is_worthwhile(&self, head: &IndexHead) -> bool;
}

/// Reads the page of `query`, and counts the documents on all pages. Returns `None` if the containers are
/// small, if their indexes lack what the query needs, or if the page changes again and again.
///
/// # Errors
/// Returns the errors of the ports.
pub(super) async fn read_page(
    ctx: &Ctx,
    tenant: &Tenant,
    ids: &[ContainerId],
    query: &ListQuery,
    served: &dyn ServedDocuments,
) -> Result<Option<DocumentPage>> {
    if ids.len() > MAX_CONTAINERS || !query.can_use_indexes() {
        return Ok(None);
    }
    let mut reads = Vec::with_capacity(ids.len());
    for id in ids {
        reads.push(ctx.index.get_head(tenant, id));
    }
    let heads = try_join_all(reads).await?;
    if !heads.iter().any(|head| served.is_worthwhile(head)) {
        return Ok(None);
    }
    let containers: Vec<_> = zip(ids, &heads).collect();

    let reader = IndexReader {
        ctx,
        tenant,
        query,
        served,
    };
    for _ in 0..ATTEMPTS {
        match reader.read_page(&containers).await {
            Ok(ReadOutcome::Page(page)) => return Ok(Some(page)),
            Ok(ReadOutcome::Changed) => {}
            Ok(ReadOutcome::Unknown) => return Ok(None),
            Err(error) => return Err(error.into()),
        }
    }
    Ok(None)
}

impl ListQuery {
    /// Checks whether indexes have the fields that the filters need.
    fn can_use_indexes(&self) -> bool {
        self.name.is_none() && self.providers.is_none() && !self.admits_only_pending()
    }

    /// Checks whether the order or a filter is about the last changes of documents.
    fn asks_about_changes(&self) -> bool {
        self.sort == SortBy::UpdatedAt || self.changed_since.is_some()
    }

    /// Checks whether a document that search serves, and that is neither unfinished nor failed, passes the
    /// filters. `changed_at` is the time of its last change, if that is known.
    fn admits_served(&self, document: &IndexedDocument, changed_at: Option<Timestamp>) -> bool {
        let fields = ListedFields {
            status: DocumentStatus::Done,
            kind: document.kind,
            filepath: document.filepath.as_deref(),
            changed_at,
        };
        let metadata = || Metadata::from_stored(document.metadata.clone());
        let filter = self.filter.as_ref();
        self.admits_fields(&fields) && filter.is_none_or(|filter| filter.matches(&metadata()))
    }
}

/// The outcome of reading a page from indexes.
enum ReadOutcome {
    Page(DocumentPage),
    /// A document of the page has changed meanwhile.
    Changed,
    /// The indexes lack what the query needs.
    Unknown,
}

/// Reads lists from the indexes of containers.
struct IndexReader<'a> {
    ctx: &'a Ctx,
    tenant: &'a Tenant,
    query: &'a ListQuery,
    served: &'a dyn ServedDocuments,
}

/// A document that may be on the page.
enum PageDocument {
    /// It is known from the index. Its record is read if it is on the page.
    Served(SortKey),
    /// Its record was read.
    Read(Box<Document>),
}

/// The documents of a container that pass the filters.
struct Candidates {
    /// Those that search serves, without those that are unfinished or failed.
    served: Vec<SortKey>,
    /// Those whose records were read.
    records: Vec<Document>,
}

impl IndexReader<'_> {
    async fn read_page(
        &self,
        containers: &[(&ContainerId, &IndexHead)],
    ) -> PortResult<ReadOutcome> {
        let query = self.query;
        let skipped = query.skipped();
        let end = skipped.saturating_add(query.limit);
        let mut first = FirstEntries::new(end, query.ascending);
        let mut total = 0;
        let mut searches = Vec::with_capacity(containers.len());
        for (id, head) in containers {
            searches.push(self.find_candidates(id, head));
        }
        let mut searches = stream::iter(searches).buffer_unordered(PARALLEL_READS);
        while let Some(candidates) = searches.try_next().await? {
            let Some(candidates) = candidates else {
                return Ok(ReadOutcome::Unknown);
            };
            total += candidates.served.len() + candidates.records.len();
            for key in candidates.served {
                first.offer(key.clone(), PageDocument::Served(key));
            }
            for document in candidates.records {
                let key = query.sort_key(&document);
                first.offer(key, PageDocument::Read(Box::new(document)));
            }
        }

        let page = first.into_entries().into_iter().skip(skipped).collect();
        let documents = self.read_records(containers, page).await?;
        Ok(match documents {
            Some(documents) => ReadOutcome::Page(DocumentPage { documents, total }),
            None => ReadOutcome::Changed,
        })
    }

    /// Finds the documents of a container. Returns `None` if its index lacks what the query needs, or if too many
    /// documents are unfinished or failed.
    async fn find_candidates(
        &self,
        id: &ContainerId,
        head: &IndexHead,
    ) -> PortResult<Option<Candidates>> {
        let (ctx, tenant) = (self.ctx, self.tenant);
        if !head.pending_listed {
            return self.read_all_records(id).await;
        }

        // The list of pending documents is read first. Some of them may be done by the time the index is read, so
        // all are left out of what the index has, and each counts once.
        let documents = &ctx.documents;
        let (pending_ids, next) = documents
            .list_pending(tenant, id, None, MAX_RECORDS)
            .await?;
        if next.is_some() {
            return Ok(None);
        }
        let served = self.select_served(id, &pending_ids);
        let records = documents.get(tenant, &pending_ids);
        let (served, records) = try_join(served, records).await?;
        let Some(served) = served else {
            return Ok(None);
        };
        let pending = records.into_iter().flatten();
        let pending = pending.filter(|document| self.is_listed(id, document));
        Ok(Some(Candidates {
            served,
            records: pending.collect(),
        }))
    }

    /// Reads the records of a container of which not all pending documents are listed: a new one, or one of an
    /// earlier version. Returns `None` if it has too many.
    async fn read_all_records(&self, id: &ContainerId) -> PortResult<Option<Candidates>> {
        let mut records = Vec::new();
        let mut after: Option<String> = None;
        loop {
            let (tenant, order) = (self.tenant, DocumentListing::OldestFirst);
            let documents = &self.ctx.documents;
            let page = documents.list_page(tenant, id, order, after.as_deref(), MAX_RECORDS);
            let (part, next) = page.await?;
            records.extend(part);
            if next.is_none() {
                break;
            }
            if records.len() >= MAX_RECORDS {
                return Ok(None);
            }
            after = next;
        }
        records.retain(|document| self.is_listed(id, document));
        Ok(Some(Candidates {
            served: Vec::new(),
            records,
        }))
    }

    /// Checks whether a document of a container is listed.
    fn is_listed(&self, id: &ContainerId, document: &Document) -> bool {
        is_of_container(document, id) && self.query.admits(document)
    }

    /// Finds the documents that search serves, but for the pending ones. Returns `None` if the index lacks what
    /// the query needs.
    async fn select_served(
        &self,
        id: &ContainerId,
        pending: &[DocumentId],
    ) -> PortResult<Option<Vec<SortKey>>> {
        let query = self.query;
        let pending: HashSet<&DocumentId> = pending.iter().collect();
        let lacks_times = AtomicBool::new(false);
        let sort_time = |document: &IndexedDocument| {
            if pending.contains(&document.id) {
                return None;
            }
            let changed_at = document.changed_at.map(Timestamp::from_millis);
            if changed_at.is_none() && query.asks_about_changes() {
                lacks_times.store(true, Ordering::Relaxed);
            }
            let time = match query.sort {
                SortBy::CreatedAt => Some(Timestamp::from_millis(document.created_at)),
                SortBy::UpdatedAt => changed_at,
            };
            time.filter(|_| query.admits_served(document, changed_at))
        };
        let selected = self.served.select(self.ctx, self.tenant, id, &sort_time);
        let selected = match selected.await {
            Err(error @ PortError::Corrupt(_)) => {
                warn!(%error, "a list reads all records, because an index cannot be read: {error}");
                None
            }
            selected => selected?,
        };
        Ok(selected.filter(|_| !lacks_times.load(Ordering::Relaxed)))
    }

    /// Reads the records of a page that are missing. Returns `None` if one is not as its index says.
    async fn read_records(
        &self,
        containers: &[(&ContainerId, &IndexHead)],
        page: Vec<PageDocument>,
    ) -> PortResult<Option<Vec<Document>>> {
        let missing = page.iter().filter_map(|document| match document {
            PageDocument::Served((_, id)) => Some(id.clone()),
            PageDocument::Read(_) => None,
        });
        let missing: Vec<DocumentId> = missing.collect();
        let records = self.ctx.documents.get(self.tenant, &missing).await?;
        let mut records = records.into_iter();

        let mut documents = Vec::with_capacity(page.len());
        for document in page {
            let key = match document {
                PageDocument::Read(document) => {
                    documents.push(*document);
                    continue;
                }
                PageDocument::Served(key) => key,
            };
            match records.next().flatten() {
                Some(record) if self.matches_index(containers, &key, &record) => {
                    documents.push(record)
                }
                _ => return Ok(None),
            }
        }
        Ok(Some(documents))
    }

    /// Checks whether a record has the values that the index has.
    fn matches_index(
        &self,
        containers: &[(&ContainerId, &IndexHead)],
        key: &SortKey,
        record: &Document,
    ) -> bool {
        let mut containers = containers.iter();
        self.query.sort_key(record) == *key && containers.any(|(id, _)| self.is_listed(id, record))
    }
}
