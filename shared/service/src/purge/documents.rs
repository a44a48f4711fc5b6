//! Purging the records of documents, and their small blobs.

use crate::Ctx;
use crate::orphans::named_blobs;
use crate::purge::{count_existing, inline};
use crate::tasks::Next;
use domain::document::Document;
use domain::error::Result;
use domain::ids::{ContainerId, DocumentId};
use domain::ports::{ClaimOutcome, DocumentListing};
use domain::task::{ContainerPurge, PendingErasure, PurgePhase, PurgeReport};
use domain::tenant::Tenant;

/// The number of documents that one step removes.
const PAGE_SIZE: usize = 100;
/// The number of seconds to wait for a worker's lease to end.
const BUSY_SECONDS: i64 = 60;
/// The number of seconds that the purge leases a document for: long enough to remove a page of
/// documents, so that no worker takes one meanwhile.
const LEASE_SECONDS: i64 = 120;

/// Plans which documents to remove next. A document that a worker has leased is waited for, because
/// what the worker stores must be found.
pub(super) async fn plan(
    ctx: &Ctx,
    tenant: &Tenant,
    purge: &mut ContainerPurge,
    container: &ContainerId,
) -> Result<Next> {
    let listing = if purge.phase == PurgePhase::Superseded {
        DocumentListing::Superseded
    } else {
        DocumentListing::OldestFirst
    };
    let (page, next) = ctx
        .documents
        .list_page(
            tenant,
            container,
            listing,
            purge.cursor.as_deref(),
            PAGE_SIZE,
        )
        .await?;
    let ids: Vec<DocumentId> = page.into_iter().map(|document| document.id).collect();
    let (mut claimed, mut is_busy) = (Vec::new(), false);
    for document in ctx.documents.get(tenant, &ids).await?.into_iter().flatten() {
        match claim_for_purge(ctx, tenant, document, container).await? {
            Some(document) => claimed.push(document),
            None => is_busy = true,
        }
    }

    let documents: Vec<DocumentId> = claimed.iter().map(|document| document.id.clone()).collect();
    let report = count_contents(ctx, tenant, &claimed).await?;
    purge.pending = PendingErasure {
        documents,
        report,
        ..PendingErasure::default()
    };

    if is_busy {
        // The same page comes again, without the documents that are removed by then.
        return Ok(if claimed.is_empty() {
            Next::Later(BUSY_SECONDS)
        } else {
            Next::Again
        });
    }

    if next.is_none() {
        purge.phase = if listing == DocumentListing::Superseded {
            PurgePhase::Index
        } else {
            PurgePhase::Superseded
        };
    }

    purge.cursor = next;
    Ok(Next::Again)
}

/// Takes a document away from the workers. Returns `None` while one of them has it.
async fn claim_for_purge(
    ctx: &Ctx,
    tenant: &Tenant,
    document: Document,
    container: &ContainerId,
) -> Result<Option<Document>> {
    if document.container != *container {
        return Ok(None);
    }
    if document.status.is_final() {
        return Ok(Some(document));
    }

    let (now, id, revision) = (ctx.clock.now(), &document.id, &document.revision);
    match ctx
        .documents
        .claim_revision(tenant, id, revision, now, now.plus_seconds(LEASE_SECONDS))
        .await?
    {
        ClaimOutcome::Claimed(claimed) => Ok(Some(*claimed)),
        // The document is being processed, has just become final, or is gone. The next pass reads it again.
        ClaimOutcome::Busy | ClaimOutcome::Outdated => Ok(None),
    }
}

/// Counts what these documents contain.
async fn count_contents(ctx: &Ctx, tenant: &Tenant, documents: &[Document]) -> Result<PurgeReport> {
    let mut report = PurgeReport {
        documents: documents.len() as u64,
        ..PurgeReport::default()
    };

    let mut candidates = Vec::new();
    for document in documents {
        let referenced = inline(named_blobs(document));
        for blob in inline(&document.unserved_blobs()) {
            if !referenced.contains(&blob) {
                candidates.push(blob);
            }
        }

        report.inline_blobs += referenced.len() as u64;
        if !document.is_served() {
            continue;
        }
        if let Some(indexed) = &document.indexed {
            report.chunks += u64::from(indexed.chunks);
            if let Some(statements_ref) = &indexed.statements_ref {
                report.statements += u64::from(statements_ref.count);
            }
        }
    }

    report.inline_blobs += count_existing(ctx, tenant, &candidates).await?;
    Ok(report)
}

/// Removes documents of a container. Their blobs are removed first, so that a crash leaves the records
/// that name them. When the step is repeated, another container may have a document with such an id, which
/// stays.
pub(super) async fn remove(
    ctx: &Ctx,
    tenant: &Tenant,
    container: &ContainerId,
    ids: &[DocumentId],
) -> Result<()> {
    let (mut blobs, mut found) = (Vec::new(), Vec::new());
    for document in ctx.documents.get(tenant, ids).await?.into_iter().flatten() {
        if document.container == *container {
            blobs.extend(named_blobs(&document).cloned());
            blobs.extend(document.unserved_blobs());
            found.push(document.id);
        }
    }
    let blobs = inline(&blobs);
    if !blobs.is_empty() {
        ctx.blobs.delete(tenant, &blobs).await?;
    }
    Ok(ctx
        .documents
        .erase_records(tenant, container, &found)
        .await?)
}
