//! Moving a document to other container tags or another customId.

use super::DocumentUpdate;
use crate::Ctx;
use crate::damage::is_written_by_client;
use crate::jobs::queue_processing;
use crate::open::open_shared_container;
use crate::orphans::delete_unused_blobs;
use crate::place::find_reference;
use crate::results::store_results;
use crate::revise::{AcceptedDocument, Identity, NewBody, build_revision};
use crate::{Committed, commit_changes};
use bytes::Bytes;
use domain::container::{Container, DocumentChange};
use domain::document::{Document, DocumentStatus, ProcessingResult, TaskType};
use domain::error::{Error, Result};
use domain::memory::StatementSet;
use domain::ports::BlobContent;
use domain::tenant::Tenant;
use domain::time::Timestamp;

/// Gives the document another customId or other tags, in one transaction. It takes effect only while
/// the document is as it was read and no other has the customId. Returns `None` when it did not take
/// effect.
pub(crate) async fn relocate(
    ctx: &Ctx,
    tenant: &Tenant,
    from: &Document,
    update: &DocumentUpdate,
) -> Result<Option<AcceptedDocument>> {
    let (change, to) = build_move(ctx, tenant, from, update).await?;
    if commit_changes(ctx, tenant, &from.container, &[change], None).await? == Committed::Done {
        return Ok(Some(queue_processing(ctx, tenant, &to).await));
    }

    delete_unused_blobs(ctx, tenant, &to.unserved_blobs()).await;
    Ok(None)
}

/// Builds the record of the moved document. Its bytes are stored again, because they are stored by
/// container.
async fn build_move(
    ctx: &Ctx,
    tenant: &Tenant,
    from: &Document,
    update: &DocumentUpdate,
) -> Result<(DocumentChange, Document)> {
    let tags = match &update.tags {
        Some(tags) => tags.clone(),
        None => from.tags().cloned().collect(),
    };
    let container = open_shared_container(ctx, tenant, &tags, None).await?;
    let custom_id = update.custom_id.clone().or_else(|| from.custom_id.clone());
    let (reference, alternatives) = match &custom_id {
        Some(custom_id) => find_reference(ctx, tenant, &container, &tags, custom_id, from).await?,
        None => (None, Vec::new()),
    };

    let (bytes, form) = match &update.content {
        Some(content) => content.clone(),
        None => {
            let bytes = match ctx.blobs.read_one(tenant, &from.body.blob).await? {
                BlobContent::Intact(bytes) => bytes,
                BlobContent::Missing => {
                    let message = "the content of this document has not arrived, or is changing";
                    return Err(Error::Conflict(message.into()));
                }
                BlobContent::Damaged => {
                    let message = "the stored content of this document cannot be read; send it with the change";
                    return Err(Error::Conflict(message.into()));
                }
            };
            (bytes, from.body.form.clone())
        }
    };

    let identity = Identity {
        id: from.id.clone(),
        custom_id,
        tag: container.tag.clone(),
        container: container.primary_id().clone(),
    };
    let changes_provenance = update.provenance.is_some() && update.provenance != from.provenance;
    if is_written_by_client(from) && update.content.is_none() && changes_provenance {
        let message = "memories that a client wrote keep their provenance while they are moved; \
            move them first, and then change it by another request";
        return Err(Error::invalid(message));
    }

    let body = NewBody::sent(bytes, form);
    let mut to = build_revision(
        ctx,
        tenant,
        identity,
        &update.declared_properties(from),
        body,
        Some(from),
    )
    .await?;
    to.indexed = None;
    let has_same_properties = to.task_type == from.task_type
        && to.document_date == from.document_date
        && to.provenance == from.provenance;

    // Memories that a client wrote cannot be found in the text again.
    let is_unchanged = has_same_properties || is_written_by_client(from);
    if update.content.is_none() && from.status == DocumentStatus::Done && is_unchanged {
        take_over(ctx, tenant, from, &container, &mut to).await?;
    }

    let change = DocumentChange::Move {
        from: Box::new(from.clone()),
        to: Box::new(to.clone()),
        reference,
        alternatives,
    };
    Ok((change, to))
}

/// Copies the results of processing to a moved document: a page may be gone by now, and a model
/// costs money.
async fn take_over(
    ctx: &Ctx,
    tenant: &Tenant,
    from: &Document,
    container: &Container,
    to: &mut Document,
) -> Result<()> {
    let Some(indexed) = &from.indexed else {
        return Ok(());
    };
    if !from.is_newest_revision(&indexed.revision) {
        return Ok(());
    }

    // The document is processed like a new one if the pack is just being removed or cannot be read.
    let mut blobs = vec![indexed.pack.clone()];
    blobs.extend(indexed.statements_blob().cloned());
    let mut bytes = ctx
        .blobs
        .read(tenant, &blobs)
        .await?
        .into_iter()
        .map(BlobContent::into_intact_bytes);
    let Some(pack) = bytes.next().flatten() else {
        return Ok(());
    };

    let makes_memories =
        to.task_type == TaskType::Memory && container.makes_memories_from(to.filepath.as_deref());
    if makes_memories && indexed.statements_ref.is_none() {
        // The document was in a folder that yields no memories, and now it is in one that does.
        return Ok(());
    }

    let mut statements_ref = if makes_memories {
        indexed.statements_ref.clone()
    } else {
        None
    };
    let has_statements = statements_ref
        .as_ref()
        .is_some_and(|found| found.statements.is_some());
    let statements = match (has_statements, bytes.next().flatten()) {
        (false, _) => None,
        (true, Some(statements)) => match to.document_date {
            Some(date) if to.document_date != from.document_date => {
                Some(date_statements(&statements, date)?)
            }
            _ => Some(statements),
        },
        (true, None) => return Ok(()),
    };

    let stored = store_results(ctx, tenant, to, pack, statements).await?;
    if let Some(statements_ref) = &mut statements_ref {
        statements_ref.statements = stored.statements;
    }
    (to.kind, to.title) = (indexed.kind, indexed.title.clone());
    let (revision, authorship) = (to.revision.clone(), indexed.authorship.clone());
    to.extracted = Some(ProcessingResult {
        revision,
        pack: stored.pack,
        chunks: indexed.chunks,
        statements_ref,
        authorship,
        summary: indexed.summary.clone(),
    });

    Ok(())
}

/// Returns stored statements with the date of their document.
fn date_statements(stored: &[u8], date: Timestamp) -> Result<Bytes> {
    let mut set = StatementSet::decode(stored)?;
    for statement in &mut set.statements {
        statement.said_at = date;
    }
    Ok(set.encode().into())
}
