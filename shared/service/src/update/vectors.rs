//! Replacement of the vectors of a document.

use domain::document::{Document, DocumentStatus, ProcessingResult};
use domain::error::Result;
use domain::ids::DocumentId;
use domain::job::JobMessage;
use domain::pack::Pack;
use domain::ports::CreationConditions;
use domain::tenant::Tenant;

use super::{DocumentUpdate, check_changeable};
use crate::Ctx;
use crate::find::visible_document;
use crate::jobs::send_jobs;
use crate::results::store_results;
use crate::revise::{Identity, build_revision, write_revision};

/// Returns a document whose newest content search serves, or `None` if it is being processed, has
/// failed, was superseded or is gone.
///
/// # Errors
/// Those of the ports.
pub async fn find_served_document(
    ctx: &Ctx,
    tenant: &Tenant,
    id: &DocumentId,
) -> Result<Option<Document>> {
    let found = visible_document(ctx, tenant, id).await?;
    Ok(found.filter(|document| {
        let is_served = match &document.indexed {
            Some(indexed) => document.is_newest_revision(&indexed.revision),
            None => false,
        };
        is_served && document.status == DocumentStatus::Done && document.superseded_by.is_none()
    }))
}

/// Stores a pack with other vectors in place of the one that search serves, as a new revision of
/// the same bytes. Only its commit remains to be done, so the content is not read again and no
/// memory changes. Search serves the old vectors until then.
///
/// `document` comes from [`find_served_document`]. Returns `false` if another writer was first;
/// whoever processes its content embeds it.
///
/// # Errors
/// Those of the ports, and a conflict while the container is being merged.
pub async fn replace_vectors(
    ctx: &Ctx,
    tenant: &Tenant,
    document: &Document,
    pack: &Pack,
) -> Result<bool> {
    let Some(indexed) = &document.indexed else {
        return Ok(false);
    };
    check_changeable(ctx, tenant, document).await?;

    let unchanged = DocumentUpdate::default();
    let mut next = build_revision(
        ctx,
        tenant,
        Identity::of(document),
        &unchanged.declared_properties(document),
        unchanged.body(document),
        Some(document),
    )
    .await?;

    let mut statements_ref = indexed.statements_ref.clone();
    let blob = statements_ref
        .as_ref()
        .and_then(|found| found.statements.as_ref());
    let statements = match blob {
        Some(blob) => {
            let stored = ctx.blobs.read_one(tenant, blob).await?;
            // Statements that cannot be read are for maintenance to repair.
            let Some(statements) = stored.into_intact_bytes() else {
                return Ok(false);
            };
            Some(statements)
        }
        None => None,
    };

    let stored = store_results(ctx, tenant, &next, pack.encode().into(), statements).await?;
    if let Some(statements_ref) = &mut statements_ref {
        statements_ref.statements = stored.statements;
    }
    (next.kind, next.title) = (indexed.kind, indexed.title.clone());
    next.extracted = Some(ProcessingResult {
        revision: next.revision.clone(),
        pack: stored.pack,
        chunks: indexed.chunks,
        statements_ref,
        authorship: indexed.authorship.clone(),
        summary: indexed.summary.clone(),
    });

    let conditions = CreationConditions::default();
    if !write_revision(ctx, tenant, &next, Some(document), &conditions).await? {
        return Ok(false);
    }
    send_jobs(ctx, &[JobMessage::process_document(tenant.org(), &next)]).await;
    Ok(true)
}
