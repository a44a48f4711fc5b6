//! Finding and repairing unreadable parts of a container's index.

use std::collections::BTreeSet;

use domain::ports::PortResult;
use domain::{ContainerId, DocumentId, Result, Tenant};
use service::Ctx;
use service::{RepairOutcome, repair_document};
use tracing::warn;

use crate::chunks::IndexedChunks;
use crate::compact::{CompactionOutcome, CompactionSettings};
use crate::memories::{IndexedMemories, are_edits_readable};
use crate::rewrite::rewrite_index;
use crate::segments::SegmentReading;
use crate::view::{ContainerState, ContainerView, Loaded, read_views, served_documents};

/// Repairs a container that a reader could not read completely. Documents whose blobs cannot be
/// read are processed again or become `failed`. Segments are rewritten if they cannot be read or
/// hold documents that were removed. `suspects` are further documents that readers could not read.
///
/// # Errors
/// Returns the errors of the ports. It is safe to repeat.
pub async fn repair_index(
    ctx: &Ctx,
    tenant: &Tenant,
    id: &ContainerId,
    suspects: &[DocumentId],
    settings: CompactionSettings,
) -> Result<CompactionOutcome> {
    let state = ContainerState::read_all(ctx, tenant, id).await?;
    let has_removed_data = state.head.last_removal.is_some();
    if suspects.is_empty() && has_removed_data {
        // Parts that cannot be read are found while everything is written anew.
        return Ok(rewrite_index(ctx, tenant, id, settings).await?);
    }

    // These need not wait for a large container to be read.
    let mut were_damaged = suspects.is_empty();
    for document in suspects {
        let outcome = repair_document(ctx, tenant, document).await?;
        were_damaged |= outcome != RepairOutcome::Nothing;
    }
    // A reader may name a document that was replaced while it was read.
    if !were_damaged {
        return Ok(CompactionOutcome::Done);
    }

    let segments = state.head.segments.clone();
    let (mut chunks, mut memories) = read_from_store(ctx, tenant, id, state).await?;
    let mut unreadable = chunks.view.take_unreadable();
    unreadable.extend(memories.view.take_unreadable());
    for document in &unreadable {
        if !suspects.contains(document) {
            repair_document(ctx, tenant, document).await?;
        }
    }

    let is_broken = chunks.is_recovered
        || memories.is_recovered
        || !are_edits_readable(ctx, tenant, &segments).await?;
    // Views hold much of a large container in memory, and rewriting reads them again.
    drop((chunks, memories));
    match is_broken || has_removed_data {
        true => Ok(rewrite_index(ctx, tenant, id, settings).await?),
        false => Ok(CompactionOutcome::Done),
    }
}

/// Repairs documents that a compaction could not read.
pub(crate) async fn repair_documents(ctx: &Ctx, tenant: &Tenant, documents: &[DocumentId]) {
    for document in documents {
        if let Err(error) = repair_document(ctx, tenant, document).await {
            warn!(document.id = %document, error = &error as &dyn std::error::Error,
                "could not repair {document}; `recollect check` finds it");
        }
    }
}

/// The faults of a container's index.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct IndexFaults {
    /// `true` if a segment of chunks cannot be read.
    pub chunks_unreadable: bool,
    /// `true` if a memory index or a file of edits cannot be read.
    pub memories_unreadable: bool,
    /// The documents that search should serve but does not, although their own blobs can be read.
    pub missing: BTreeSet<DocumentId>,
    /// The documents that search serves but should not.
    pub unexpected: BTreeSet<DocumentId>,
}

impl IndexFaults {
    /// Checks whether there is no fault.
    pub fn is_clean(&self) -> bool {
        *self == Self::default()
    }
}

/// Compares the index of a container with the records of its documents. If the container changes
/// meanwhile, the result may contain false faults; verify again then.
///
/// # Errors
/// Returns the errors of the ports.
pub async fn verify_index(ctx: &Ctx, tenant: &Tenant, id: &ContainerId) -> PortResult<IndexFaults> {
    let state = ContainerState::read_all(ctx, tenant, id).await?;
    let segments = state.head.segments.clone();
    let (mut chunks, mut memories) = read_from_store(ctx, tenant, id, state).await?;
    let mut unreadable = chunks.view.take_unreadable();
    unreadable.extend(memories.view.take_unreadable());

    let documents = served_documents(ctx, tenant, id).await?;
    let mut indexed_ids: BTreeSet<DocumentId> = BTreeSet::new();
    for id in chunks.view.index.ids_with("") {
        indexed_ids.extend(DocumentId::parse(&id));
    }

    let mut document_ids: BTreeSet<DocumentId> = BTreeSet::new();
    let mut missing: BTreeSet<DocumentId> = BTreeSet::new();
    for document in documents {
        if let Some(served) = &document.indexed
            && served.chunks > 0
            && !indexed_ids.contains(&document.id)
            && !unreadable.contains(&document.id)
        {
            missing.insert(document.id.clone());
        }
        document_ids.insert(document.id);
    }

    let mut unexpected = indexed_ids;
    for held in memories.view.ledger().all_document_statements() {
        unexpected.insert(held.document.id.clone());
    }
    unexpected.retain(|document| !document_ids.contains(document));

    Ok(IndexFaults {
        chunks_unreadable: chunks.is_recovered,
        memories_unreadable: memories.is_recovered
            || !are_edits_readable(ctx, tenant, &segments).await?,
        missing,
        unexpected,
    })
}

/// Reads both views, and every byte of their segments from the store.
async fn read_from_store(
    ctx: &Ctx,
    tenant: &Tenant,
    id: &ContainerId,
    state: ContainerState,
) -> PortResult<(Loaded<IndexedChunks>, Loaded<IndexedMemories<()>>)> {
    read_views(ctx, tenant, id, state, SegmentReading::Whole).await
}
