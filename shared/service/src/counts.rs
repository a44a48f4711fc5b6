//! The size of a container.

use futures::future::{try_join, try_join_all};

use crate::Ctx;
use domain::container::{Container, IndexHead, LogEntry, LogRecord};
use domain::document::Document;
use domain::error::Result;
use domain::ids::ContainerId;
use domain::memory::MemoryEdit;
use domain::ports::{DocumentListing, PortResult};
use domain::tenant::Tenant;
use domain::time::Timestamp;

/// The number of documents of a physical container up to which they are counted one by one.
pub const EXACT_COUNT_LIMIT: usize = 1_000;
/// The same where the answer must not wait for a count.
pub const QUICK_COUNT_LIMIT: usize = 100;
/// A number of documents that no container reaches.
const UNLIMITED: usize = 1 << 30;

/// Returns the number of documents of a container tag. It is exact while each of its physical
/// containers has at most `exact_limit` documents; otherwise it is the number of documents that
/// search serves, which are those that are processed.
///
/// # Errors
/// Returns the errors of the ports.
pub async fn count_documents(
    ctx: &Ctx,
    tenant: &Tenant,
    container: &Container,
    exact_limit: usize,
) -> Result<u64> {
    let mut documents = 0;
    for id in &container.ids {
        let exact_count = ctx.documents.count(tenant, id, exact_limit).await?;
        documents += match exact_count {
            Some(count) => count as u64,
            None => match ctx.index.get_head(tenant, id).await?.document_count {
                Some(count) => count,
                None => count_one_by_one(ctx, tenant, id).await? as u64,
            },
        };
    }

    Ok(documents)
}

/// Returns the exact number of documents of a physical container, without superseded ones.
///
/// Each document is either served by search, and then counted by the head of the index, or pending:
/// unfinished or failed. If not all pending documents are listed as such, the documents are counted
/// one by one.
///
/// # Errors
/// Returns the errors of the ports.
pub(crate) async fn count_listed(ctx: &Ctx, tenant: &Tenant, id: &ContainerId) -> Result<usize> {
    let (head, unserved) = try_join(
        ctx.index.get_head(tenant, id),
        ctx.documents.count_unserved(tenant, id),
    )
    .await?;
    add_served(ctx, tenant, id, &head, unserved).await
}

/// Returns the number of `unserved` documents with those that search serves.
async fn add_served(
    ctx: &Ctx,
    tenant: &Tenant,
    id: &ContainerId,
    head: &IndexHead,
    unserved: usize,
) -> Result<usize> {
    match head.document_count {
        Some(served) if head.pending_listed => {
            Ok(usize::try_from(served).unwrap_or(UNLIMITED) + unserved)
        }
        _ => count_one_by_one(ctx, tenant, id).await,
    }
}

async fn count_one_by_one(ctx: &Ctx, tenant: &Tenant, id: &ContainerId) -> Result<usize> {
    let count = ctx.documents.count(tenant, id, UNLIMITED).await?;
    Ok(count.unwrap_or(UNLIMITED))
}

/// Returns the heads of the indexes of a container tag, one for each physical container.
///
/// # Errors
/// Returns the errors of the port.
pub async fn read_heads(
    ctx: &Ctx,
    tenant: &Tenant,
    container: &Container,
) -> PortResult<Vec<IndexHead>> {
    let ids = container.ids.iter();
    try_join_all(ids.map(|id| ctx.index.get_head(tenant, id))).await
}

/// The size of a container in a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ContainerSize {
    /// The exact number of documents.
    pub documents: u64,
    /// The time of the last change of the tag or of one of its documents. For a container too large
    /// to be read through, the time of the last addition to its index.
    pub last_activity: Timestamp,
}

/// Returns the size of a container with these heads ([`read_heads`]) and the time of its last use. The
/// documents of a physical container are read if these are at most `read_limit`.
///
/// # Errors
/// Returns the errors of the ports.
pub async fn measure_container(
    ctx: &Ctx,
    tenant: &Tenant,
    container: &Container,
    heads: &[IndexHead],
    read_limit: usize,
) -> Result<ContainerSize> {
    let mut size = ContainerSize {
        documents: 0,
        last_activity: container.updated_at,
    };

    for (id, head) in container.ids.iter().zip(heads) {
        let served = head.document_count;
        let read = match served.is_some_and(|served| served > read_limit as u64) {
            true => None,
            false => read_list(ctx, tenant, id, read_limit).await?,
        };
        let newest = match read {
            Some(documents) => {
                size.documents += documents.len() as u64;
                documents.iter().map(|document| document.updated_at).max()
            }
            None => {
                let unserved = ctx.documents.count_unserved(tenant, id).await?;
                size.documents += add_served(ctx, tenant, id, head, unserved).await? as u64;
                last_commit(ctx, tenant, id, head).await?
            }
        };
        if let Some(newest) = newest {
            size.last_activity = newest.max(size.last_activity);
        }
    }

    Ok(size)
}

/// Returns the documents of a physical container, or `None` if it has more than `limit`.
async fn read_list(
    ctx: &Ctx,
    tenant: &Tenant,
    id: &ContainerId,
    limit: usize,
) -> Result<Option<Vec<Document>>> {
    let documents = &ctx.documents;
    let page = documents.list_page(tenant, id, DocumentListing::OldestFirst, None, limit);
    let (documents, next) = page.await?;
    Ok(next.is_none().then_some(documents))
}

/// Returns the time of the last commit to the index, as far as its newest record tells.
async fn last_commit(
    ctx: &Ctx,
    tenant: &Tenant,
    id: &ContainerId,
    head: &IndexHead,
) -> Result<Option<Timestamp>> {
    let records = ctx
        .index
        .read_log(tenant, id, head.seq.saturating_sub(1))
        .await?;
    let entries = records.iter().flat_map(|LogRecord { entries, .. }| entries);
    let times = entries.filter_map(|entry| match entry {
        LogEntry::Put { document, .. } => Some(Timestamp::from_millis(document.updated_at)),
        LogEntry::Edit {
            edit: MemoryEdit::Forget { at, .. } | MemoryEdit::Review { at, .. },
        } => Some(*at),
        LogEntry::Edit {
            edit: MemoryEdit::Update { version, .. },
        } => Some(version.said_at),
        LogEntry::Remove { .. } => None,
    });

    Ok(times.max())
}
