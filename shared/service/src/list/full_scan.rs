//! Lists with filters, and lists by the last change, for which no index can be used. All documents are read in
//! parts, and the page is selected among them.

use futures::future::try_join;
use futures::stream::{self, BoxStream, StreamExt, TryStreamExt};

use super::first_entries::FirstEntries;
use super::{DocumentPage, LIST_PART_SIZE, ListQuery, SortKey, is_of_container};
use crate::Ctx;
use domain::document::Document;
use domain::error::Result;
use domain::ids::{ContainerId, DocumentId};
use domain::ports::DocumentListing;
use domain::tenant::Tenant;

/// The number of containers that are read at the same time.
const PARALLEL_READS: usize = 8;
/// The most documents that are kept while all are read. A page that ends later in the list is found
/// by reading twice: first the keys of the documents before the page, then the page.
const MAX_KEPT: usize = 2_000;

/// Reads the page of `query`, and counts the documents on all pages.
///
/// # Errors
/// Returns the errors of the ports.
pub(super) async fn read_page(
    ctx: &Ctx,
    tenant: &Tenant,
    ids: &[ContainerId],
    query: &ListQuery,
) -> Result<DocumentPage> {
    let candidates = Candidates {
        ctx,
        tenant,
        ids,
        query,
    };
    let skipped = query.skipped();
    let end = skipped.saturating_add(query.limit);
    if skipped > 0 && end > MAX_KEPT {
        return read_far_page(&candidates, skipped).await;
    }

    let mut first = FirstEntries::new(end, query.ascending);
    let mut total = 0;
    let mut parts = candidates.read_parts();
    while let Some(part) = parts.try_next().await? {
        for document in part {
            total += 1;
            first.offer(query.sort_key(&document), document);
        }
    }

    let mut documents = first.into_entries();
    documents.drain(..skipped.min(documents.len()));
    Ok(DocumentPage { documents, total })
}

/// Reads a page that begins after `skipped` documents without keeping these.
async fn read_far_page(candidates: &Candidates<'_>, skipped: usize) -> Result<DocumentPage> {
    let query = candidates.query;
    let mut before = FirstEntries::new(skipped, query.ascending);
    let mut total = 0;
    let mut parts = candidates.read_parts();
    while let Some(part) = parts.try_next().await? {
        for document in part {
            total += 1;
            before.offer(query.sort_key(&document), ());
        }
    }

    let mut documents = Vec::new();
    if total > skipped
        && before.len() == skipped
        && let Some(last) = before.into_last_key()
    {
        documents = read_after(candidates, &last).await?;
    }
    Ok(DocumentPage { documents, total })
}

/// Reads the first documents that come after the key `last`.
async fn read_after(candidates: &Candidates<'_>, last: &SortKey) -> Result<Vec<Document>> {
    let query = candidates.query;
    let mut first = FirstEntries::new(query.limit, query.ascending);
    let mut parts = candidates.read_parts();
    while let Some(part) = parts.try_next().await? {
        for document in part {
            let key = query.sort_key(&document);
            let is_after = if query.ascending {
                key > *last
            } else {
                key < *last
            };
            if is_after {
                first.offer(key, document);
            }
        }
    }

    Ok(first.into_entries())
}

/// The documents of some containers that pass the filters of a query, in no particular order.
struct Candidates<'a> {
    ctx: &'a Ctx,
    tenant: &'a Tenant,
    ids: &'a [ContainerId],
    query: &'a ListQuery,
}

/// The part of a container that is read next.
enum NextPart {
    First,
    /// The part of the listing of all documents after a position.
    Listed(String),
    /// The part of the listing of unfinished and failed documents after a position.
    Pending(String),
    None,
}

impl Candidates<'_> {
    /// Returns the documents of all containers in parts.
    fn read_parts(&self) -> BoxStream<'_, Result<Vec<Document>>> {
        let mut containers = Vec::with_capacity(self.ids.len());
        for id in self.ids {
            let parts = stream::try_unfold(NextPart::First, move |next| self.read_part(id, next));
            containers.push(parts.boxed());
        }
        stream::iter(containers)
            .flatten_unordered(PARALLEL_READS)
            .boxed()
    }

    /// Reads a part of a container. Returns `None` after the last one.
    async fn read_part(
        &self,
        id: &ContainerId,
        next: NextPart,
    ) -> Result<Option<(Vec<Document>, NextPart)>> {
        let (mut documents, next) = match next {
            NextPart::First if self.query.admits_only_pending() => self.read_first(id).await?,
            NextPart::First => self.read_listed(id, None).await?,
            NextPart::Listed(after) => self.read_listed(id, Some(&after)).await?,
            NextPart::Pending(after) => {
                let documents = &self.ctx.documents;
                let (pending, next) = documents
                    .list_pending(self.tenant, id, Some(&after), LIST_PART_SIZE)
                    .await?;
                self.read_pending(id, &pending, next).await?
            }
            NextPart::None => return Ok(None),
        };

        documents.retain(|document| self.query.admits(document));
        Ok(Some((documents, next)))
    }

    /// Reads the first unfinished and failed documents, or if not all of them are listed as such,
    /// the first documents.
    async fn read_first(&self, id: &ContainerId) -> Result<(Vec<Document>, NextPart)> {
        let (head, (pending, next)) = try_join(
            self.ctx.index.get_head(self.tenant, id),
            self.ctx
                .documents
                .list_pending(self.tenant, id, None, LIST_PART_SIZE),
        )
        .await?;

        if head.pending_listed {
            self.read_pending(id, &pending, next).await
        } else {
            self.read_listed(id, None).await
        }
    }

    async fn read_listed(
        &self,
        id: &ContainerId,
        after: Option<&str>,
    ) -> Result<(Vec<Document>, NextPart)> {
        let documents = &self.ctx.documents;
        let (page, next) = documents
            .list_page(
                self.tenant,
                id,
                DocumentListing::OldestFirst,
                after,
                LIST_PART_SIZE,
            )
            .await?;
        Ok((page, next.map_or(NextPart::None, NextPart::Listed)))
    }

    /// Reads the records of documents that are listed as unfinished or failed. They may have changed
    /// since.
    async fn read_pending(
        &self,
        id: &ContainerId,
        pending: &[DocumentId],
        next: Option<String>,
    ) -> Result<(Vec<Document>, NextPart)> {
        let mut documents = Vec::new();
        if !pending.is_empty() {
            let found = self.ctx.documents.get(self.tenant, pending).await?;
            documents.extend(found.into_iter().flatten());
        }
        documents.retain(|document| is_of_container(document, id));

        Ok((documents, next.map_or(NextPart::None, NextPart::Pending)))
    }
}
