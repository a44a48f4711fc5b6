//! Deleting documents in any state, with immediate effect.

mod of_tags;

pub use of_tags::{TagsRemoval, remove_documents_of_tags};

use crate::ConflictRetry;
use crate::Ctx;
use crate::find::set_present_tags;
use crate::sharing::check_reaches_all_tags;
use crate::{Committed, commit_changes};
use domain::container::DocumentChange;
use domain::document::Document;
use domain::error::Result;
use domain::ids::ContainerId;
use domain::ports::MAX_CHANGES_PER_COMMIT;
use domain::tenant::Tenant;

/// Deletes documents. The records and index entries of up to twenty documents of a container are
/// deleted in one transaction. No search that starts after the response can find them, and no
/// worker can bring them back. Their blobs are deleted later, by purge records of the same
/// transactions.
///
/// Deleting a document that is already gone succeeds, because the caller found it a moment ago. A
/// document that has changed since it was read is read again, and stays if `should_remove` no
/// longer accepts it. After an error, some documents may be deleted, and the others are unchanged.
/// Returns how many were deleted.
///
/// # Errors
/// Returns [`domain::Error::Forbidden`] if a document has tags out of reach; nothing is deleted
/// then, unless a document was moved meanwhile. Returns the errors of the ports.
pub async fn remove_documents(
    ctx: &Ctx,
    tenant: &Tenant,
    documents: Vec<Document>,
    should_remove: impl Fn(&Document) -> bool,
) -> Result<usize> {
    let containers = documents.iter().map(|document| &document.container);
    check_reaches_all_tags(ctx, tenant, containers).await?;
    remove_reached_documents(ctx, tenant, documents, should_remove).await
}

/// Acts as [`remove_documents`], for documents of which the caller has checked that the key reaches
/// all tags.
async fn remove_reached_documents(
    ctx: &Ctx,
    tenant: &Tenant,
    mut documents: Vec<Document>,
    should_remove: impl Fn(&Document) -> bool,
) -> Result<usize> {
    let mut removed = 0;
    while !documents.is_empty() {
        let mut moved = Vec::new();
        for (container, batch) in batches(documents) {
            let batch = remove_batch(ctx, tenant, &container, batch, &should_remove, &mut moved);
            removed += batch.await?;
        }

        // What was moved out of the caller's reach is gone for the caller.
        documents = set_present_tags(ctx, tenant, moved).await?;
        documents.retain(|document| document.tags().any(|tag| tenant.can_access(tag)));
        let containers = documents.iter().map(|document| &document.container);
        check_reaches_all_tags(ctx, tenant, containers).await?;
    }
    Ok(removed)
}

/// Groups the documents, each once, into batches that one commit of their container can change.
pub(crate) fn batches(mut documents: Vec<Document>) -> Vec<(ContainerId, Vec<Document>)> {
    documents.sort_by(|a, b| (&a.container, &a.id).cmp(&(&b.container, &b.id)));
    documents.dedup_by(|a, b| a.id == b.id);
    let by_container = documents.chunk_by(|a, b| a.container == b.container);
    let batches = by_container.flat_map(|documents| documents.chunks(MAX_CHANGES_PER_COMMIT));
    batches
        .map(|batch| (batch[0].container.clone(), batch.to_vec()))
        .collect()
}

/// Removes documents of a container, and returns their number. Adds those to `moved` that are in another
/// container by now.
async fn remove_batch(
    ctx: &Ctx,
    tenant: &Tenant,
    container: &ContainerId,
    mut documents: Vec<Document>,
    should_remove: &impl Fn(&Document) -> bool,
    moved: &mut Vec<Document>,
) -> Result<usize> {
    let mut retry = ConflictRetry::new(ctx.clock.as_ref());
    loop {
        documents.retain(should_remove);
        if documents.is_empty() {
            return Ok(0);
        }

        let changes: Vec<DocumentChange> = documents
            .iter()
            .map(|document| DocumentChange::Remove(Box::new(document.clone())))
            .collect();
        if commit_changes(ctx, tenant, container, &changes, None).await? == Committed::Done {
            return Ok(changes.len());
        }

        retry.wait().await?;
        let ids: Vec<_> = documents
            .iter()
            .map(|document| document.id.clone())
            .collect();
        let found = ctx.documents.get(tenant, &ids).await?.into_iter().flatten();
        let elsewhere: Vec<Document>;
        (documents, elsewhere) = found.partition(|document| document.container == *container);
        moved.extend(elsewhere.into_iter().filter(should_remove));
    }
}
