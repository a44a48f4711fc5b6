//! Adds processed documents of one container to its index, in one transaction.

use domain::{ContainerId, Document, DocumentChange, DocumentId, DocumentStatus, Result, Tenant};
use service::Ctx;
use service::{Committed, ConflictRetry, commit_changes, try_commit_changes};

use crate::batch::DocumentRevision;

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
    members: &[DocumentRevision],
) -> Result<()> {
    let mut retry = ConflictRetry::new(ctx.clock.as_ref());
    loop {
        let changes = collect_changes(ctx, tenant, container, members).await?;
        if changes.is_empty() {
            return Ok(());
        }
        if commit_changes(ctx, tenant, container, &changes, None).await? == Committed::Done {
            count_done(&changes);
            return Ok(());
        }
        retry.wait().await?;
    }
}

/// The result of trying to commit without the queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DirectCommit {
    Done,
    /// Other commits of the container were first at each attempt.
    Conflict,
    /// One of the documents has changed since it was read.
    Stale,
}

/// Makes up to `attempts` attempts to commit documents whose results are stored but not recorded.
///
/// # Errors
/// Temporary errors, in which case nothing was committed.
pub(crate) async fn try_commit_documents(
    ctx: &Ctx,
    tenant: &Tenant,
    container: &ContainerId,
    documents: &[Document],
    attempts: usize,
) -> Result<DirectCommit> {
    let publish = |document: &Document| DocumentChange::Publish(Box::new(document.clone()));
    let changes: Vec<DocumentChange> = documents.iter().map(publish).collect();
    let mut retry = ConflictRetry::new(ctx.clock.as_ref());
    for attempt in 1..=attempts {
        match try_commit_changes(ctx, tenant, container, &changes, None).await? {
            Some(Committed::Done) => {
                count_done(&changes);
                return Ok(DirectCommit::Done);
            }
            Some(Committed::Stale(_)) => return Ok(DirectCommit::Stale),
            None if attempt < attempts => retry.wait().await?,
            None => {}
        }
    }
    Ok(DirectCommit::Conflict)
}

fn count_done(changes: &[DocumentChange]) {
    metrics::counter!("recollect_documents_total", "status" => "done")
        .increment(changes.len() as u64);
}

async fn collect_changes(
    ctx: &Ctx,
    tenant: &Tenant,
    container: &ContainerId,
    members: &[DocumentRevision],
) -> Result<Vec<DocumentChange>> {
    let mut ids: Vec<DocumentId> = members.iter().map(|(id, _)| id.clone()).collect();
    ids.sort();
    ids.dedup();
    let documents = ctx.documents.get(tenant, &ids).await?;
    let mut changes = Vec::new();
    for document in documents.into_iter().flatten() {
        let is_requested = members
            .iter()
            .any(|(id, revision)| *id == document.id && document.is_newest_revision(revision));
        if is_requested
            && is_extracted(&document)
            && document.status == DocumentStatus::Indexing
            && document.container == *container
        {
            changes.push(DocumentChange::Publish(Box::new(document)));
        }
    }

    Ok(changes)
}

/// Checks whether the newest revision of a document is processed.
pub(crate) fn is_extracted(document: &Document) -> bool {
    match &document.extracted {
        Some(result) => document.is_newest_revision(&result.revision),
        None => false,
    }
}
