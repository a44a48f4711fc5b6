//! Lists by creation without filters. Every container has its documents in this order, so a page is
//! the merge of the containers, read as far as the page.

use std::collections::{BTreeMap, VecDeque};

use futures::future::try_join;
use futures::stream::{self, StreamExt, TryStreamExt};

use super::{DocumentPage, ListQuery, SortKey};
use crate::Ctx;
use crate::counts::count_listed;
use domain::document::Document;
use domain::error::Result;
use domain::ids::ContainerId;
use domain::ports::DocumentListing;
use domain::tenant::Tenant;

/// The number of containers that are read at the same time.
const PARALLEL_READS: usize = 16;
/// The most documents that are read of a container at a time.
const MAX_READ: usize = 500;
/// The number of documents that are read at first of all containers together, if the page does not
/// need more.
const FIRST_READ: usize = 2_000;
/// The most containers that are counted while their first documents are read. Of more containers,
/// only those are counted that have more documents than that, because most have few.
const COUNTED_AT_ONCE: usize = 4;

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
    let skipped = query.skipped();
    let end = skipped.saturating_add(query.limit);
    let size = first_read_size(end, ids.len());
    let listing = if query.ascending {
        DocumentListing::OldestFirst
    } else {
        DocumentListing::NewestFirst
    };

    let mut openings = Vec::with_capacity(ids.len());
    for id in ids {
        let reader = ContainerReader::new(ctx, tenant, id, listing, size);
        openings.push(open_and_count(reader, ids.len() <= COUNTED_AT_ONCE));
    }
    let opened: Vec<(ContainerReader<'_>, usize)> = stream::iter(openings)
        .buffered(PARALLEL_READS)
        .try_collect()
        .await?;
    let counted: usize = opened.iter().map(|(_, count)| count).sum();

    let readers = opened.into_iter().map(|(reader, _)| reader).collect();
    let mut merge = Merge::new(readers, query);
    let (mut documents, mut read) = (Vec::new(), 0);
    while read < end
        && let Some(document) = merge.next().await?
    {
        if read >= skipped {
            documents.push(document);
        }
        read += 1;
    }

    // A commit between the reads of the count makes it too low or too high. Clients that walk through
    // the pages stop at the total, so a document behind this page must be part of it.
    let total = match read < end {
        true => read,
        false if counted > end => counted,
        false => end + usize::from(merge.next().await?.is_some()),
    };
    Ok(DocumentPage { documents, total })
}

/// Returns how many documents of each container are read at first for the first `end` of all: no
/// more than those, and together about twice as many.
fn first_read_size(end: usize, containers: usize) -> usize {
    let together = end.saturating_mul(2).max(FIRST_READ);
    let share = together / containers.max(1);
    share.min(end).clamp(1, MAX_READ)
}

/// Reads the first documents of a container and counts all of them.
async fn open_and_count(
    mut reader: ContainerReader<'_>,
    is_counted_at_once: bool,
) -> Result<(ContainerReader<'_>, usize)> {
    let (ctx, tenant, id) = (reader.ctx, reader.tenant, reader.id);
    if is_counted_at_once {
        let (_, count) = try_join(reader.fill(), count_listed(ctx, tenant, id)).await?;
        return Ok((reader, count));
    }

    reader.fill().await?;
    let count = if reader.is_at_end {
        reader.documents.len()
    } else {
        count_listed(ctx, tenant, id).await?
    };
    Ok((reader, count))
}

/// The documents of one container in their order, read in parts.
struct ContainerReader<'a> {
    ctx: &'a Ctx,
    tenant: &'a Tenant,
    id: &'a ContainerId,
    listing: DocumentListing,
    /// The size of the next part.
    size: usize,
    /// The documents that are read and not taken.
    documents: VecDeque<Document>,
    /// The position after which the next part begins.
    after: Option<String>,
    is_at_end: bool,
}

impl<'a> ContainerReader<'a> {
    fn new(
        ctx: &'a Ctx,
        tenant: &'a Tenant,
        id: &'a ContainerId,
        listing: DocumentListing,
        size: usize,
    ) -> Self {
        Self {
            ctx,
            tenant,
            id,
            listing,
            size,
            documents: VecDeque::new(),
            after: None,
            is_at_end: false,
        }
    }

    /// Reads the next part if all documents are taken. Each part is twice as large as the one
    /// before.
    async fn fill(&mut self) -> Result<()> {
        while self.documents.is_empty() && !self.is_at_end {
            let after = self.after.as_deref();
            let (page, next) = self
                .ctx
                .documents
                .list_page(self.tenant, self.id, self.listing, after, self.size)
                .await?;

            self.documents = page.into();
            self.is_at_end = next.is_none();
            self.after = next;
            self.size = self.size.saturating_mul(2).min(MAX_READ);
        }

        Ok(())
    }
}

/// The documents of several containers in one order.
struct Merge<'a> {
    readers: Vec<ContainerReader<'a>>,
    query: &'a ListQuery,
    /// The first document that is left of each reader: its key and the index of the reader.
    heads: BTreeMap<(SortKey, usize), Document>,
    /// The reader of the document that was returned last. It has no head until the next document is
    /// asked for, because the page may need no more of it.
    taken: Option<usize>,
}

impl<'a> Merge<'a> {
    /// Returns the merge of readers that have read their first documents.
    fn new(readers: Vec<ContainerReader<'a>>, query: &'a ListQuery) -> Self {
        let mut merge = Self {
            readers,
            query,
            heads: BTreeMap::new(),
            taken: None,
        };
        for index in 0..merge.readers.len() {
            merge.advance(index);
        }
        merge
    }

    /// Takes the next document of a reader among the heads, if the reader has one.
    fn advance(&mut self, index: usize) {
        if let Some(document) = self.readers[index].documents.pop_front() {
            let key = (self.query.sort_key(&document), index);
            self.heads.insert(key, document);
        }
    }

    /// Returns the next document, or `None` after the last one.
    async fn next(&mut self) -> Result<Option<Document>> {
        if let Some(index) = self.taken.take() {
            self.readers[index].fill().await?;
            self.advance(index);
        }

        let head = if self.query.ascending {
            self.heads.pop_first()
        } else {
            self.heads.pop_last()
        };
        let Some(((_, index), document)) = head else {
            return Ok(None);
        };

        self.taken = Some(index);
        Ok(Some(document))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_read_is_near_what_the_page_needs() {
        for (end, containers, size) in [
            (10, 1, 10),
            (60, 1, 60),
            (5_000, 1, MAX_READ),
            (10, 1_000, 2),
            (1_100, 1_000, 2),
            (10, 100_000, 1),
            (usize::MAX, 3, MAX_READ),
            (10, 0, 10),
        ] {
            assert_eq!(
                first_read_size(end, containers),
                size,
                "{end} of {containers} containers"
            );
        }
    }
}
