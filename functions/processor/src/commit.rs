//! Adds processed documents of one container to its index, in one transaction.

use domain::ports::CommitOutcome;
use domain::usecase::request_maintenance;
use domain::{
    ContainerId, Ctx, DocumentChange, DocumentId, DocumentStatus, PortError, Result, Revision,
    Tenant,
};

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
        let head = ctx.index.get_head(tenant, container).await?;
        let committed = ctx
            .index
            .commit(tenant, container, &head, &changes, ctx.clock.now())
            .await?;
        if let CommitOutcome::Done(purges) = committed {
            request_maintenance(ctx, tenant, container, &head, &changes, purges).await;
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
) -> Result<Vec<DocumentChange>> {
    let mut ids: Vec<DocumentId> = members.iter().map(|(id, _)| (*id).clone()).collect();
    ids.sort();
    ids.dedup();
    let documents = ctx.documents.get(tenant, &ids).await?;
    let wanted = documents.into_iter().flatten().filter(|document| {
        let asked = members
            .iter()
            .any(|(id, revision)| **id == document.id && document.is_newest_revision(revision));
        let ready = document
            .extracted
            .as_ref()
            .is_some_and(|new| document.is_newest_revision(&new.revision));
        asked
            && ready
            && document.status == DocumentStatus::Indexing
            && document.container == *container
    });

    Ok(wanted
        .map(|document| DocumentChange::Publish(Box::new(document)))
        .collect())
}
