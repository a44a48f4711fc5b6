//! Adds processed documents of one container to its index, in one transaction.

use domain::ports::Committed;
use domain::usecase::after_commit;
use domain::{Change, ContainerId, Ctx, DocumentId, PortError, Result, Revision, Status, Tenant};

/// The most attempts at a commit that competes with others. The queue delivers one batch of a
/// container at a time, so only deletions and duplicate messages compete.
const MAX_COMMIT_ATTEMPTS: usize = 20;

/// Commits the revisions among `members` that are processed and still wanted.
///
/// Safe to repeat: a committed document is no longer `indexing`, and the transaction succeeds only
/// while the log and every document are as they were read.
///
/// # Errors
/// Temporary errors, in which case nothing was committed.
pub(crate) async fn commit_documents(
    ctx: &Ctx,
    tenant: &Tenant,
    container: &ContainerId,
    members: &[(&DocumentId, &Revision)],
) -> Result<()> {
    for _ in 0..MAX_COMMIT_ATTEMPTS {
        let changes = collect_changes(ctx, tenant, container, members).await?;
        if changes.is_empty() {
            return Ok(());
        }
        let head = ctx.index.head(tenant, container).await?;
        let committed = ctx
            .index
            .commit(tenant, container, &head, &changes, ctx.clock.now())
            .await?;
        if let Committed::Done(purges) = committed {
            after_commit(ctx, tenant, container, &head, &changes, purges).await;
            return Ok(());
        }
    }

    Err(PortError::Conflict.into())
}

async fn collect_changes(
    ctx: &Ctx,
    tenant: &Tenant,
    container: &ContainerId,
    members: &[(&DocumentId, &Revision)],
) -> Result<Vec<Change>> {
    let mut ids: Vec<DocumentId> = members.iter().map(|(id, _)| (*id).clone()).collect();
    ids.sort();
    ids.dedup();
    let documents = ctx.documents.get(tenant, &ids).await?;
    let wanted = documents.into_iter().flatten().filter(|document| {
        let asked = members
            .iter()
            .any(|(id, revision)| **id == document.id && document.is_current(revision));
        let ready = document
            .extracted
            .as_ref()
            .is_some_and(|new| document.is_current(&new.revision));
        asked && ready && document.status == Status::Indexing && document.container == *container
    });

    Ok(wanted
        .map(|document| Change::Publish(Box::new(document)))
        .collect())
}
