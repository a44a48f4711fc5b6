//! Finding and repairing what cannot be read of a container.

use std::collections::BTreeSet;

use domain::ports::PortResult;
use domain::usecase::heal_document;
use domain::{ContainerId, Ctx, DocumentId, Result, Tenant};

use crate::chunks::Chunks;
use crate::compact::rewrite;
use crate::memories::Memories;
use crate::view::{Loaded, View, served_documents};

/// Looks after a container that a reader could not read whole: documents whose blobs cannot be read are made again or end
/// as `failed`, and segments are written anew that cannot be read or hold what was taken away. `suspects` are documents that readers found beside.
///
/// # Errors
/// Those of the ports; it may be done again.
pub async fn mend(
    ctx: &Ctx,
    tenant: &Tenant,
    id: &ContainerId,
    suspects: &[DocumentId],
) -> Result<()> {
    let head = ctx.index.head(tenant, id).await?;
    let holds_removed = head.removed.is_some();
    let mut chunks = Loaded::<Chunks>::read(ctx, tenant, id, head.clone()).await?;
    let mut memories = Loaded::<Memories<()>>::read(ctx, tenant, id, head).await?;
    let mut suspects: BTreeSet<DocumentId> = suspects.iter().cloned().collect();
    suspects.extend(chunks.view.take_unreadable());
    suspects.extend(memories.view.take_unreadable());
    for document in &suspects {
        heal_document(ctx, tenant, document).await?;
    }

    let is_broken = chunks.recovered || memories.recovered;
    // Views hold much of a large container, and writing it anew reads them again.
    drop((chunks, memories));
    if is_broken || holds_removed {
        rewrite(ctx, tenant, id).await?;
    }

    Ok(())
}

/// What is wrong with the index of a container.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Verdict {
    /// Segments that hold chunks cannot be read.
    pub chunks_unreadable: bool,
    /// Files of memories cannot be read.
    pub memories_unreadable: bool,
    /// Documents that search should serve and does not, although their own blobs can be read.
    pub missing: BTreeSet<DocumentId>,
    /// Documents that search serves and should not.
    pub foreign: BTreeSet<DocumentId>,
}

impl Verdict {
    /// Whether nothing is wrong.
    pub fn is_clean(&self) -> bool {
        *self == Self::default()
    }
}

/// Compares the index of a container with the records of its documents. A container that changes meanwhile may be found
/// fault with: ask again.
///
/// # Errors
/// Those of the ports.
pub async fn verify(ctx: &Ctx, tenant: &Tenant, id: &ContainerId) -> PortResult<Verdict> {
    let head = ctx.index.head(tenant, id).await?;
    let mut chunks = Loaded::<Chunks>::read(ctx, tenant, id, head.clone()).await?;
    let mut memories = Loaded::<Memories<()>>::read(ctx, tenant, id, head).await?;
    let mut unreadable = chunks.view.take_unreadable();
    unreadable.extend(memories.view.take_unreadable());

    let documents = served_documents(ctx, tenant, id).await?;
    let expected: BTreeSet<DocumentId> = documents
        .iter()
        .filter(|document| {
            document
                .indexed
                .as_ref()
                .is_some_and(|served| served.chunks > 0)
        })
        .map(|document| document.id.clone())
        .collect();
    let known: BTreeSet<DocumentId> = documents.into_iter().map(|document| document.id).collect();
    let told = memories
        .view
        .ledger()
        .all_told()
        .map(|told| told.document.id.clone());
    let held = chunks
        .view
        .index
        .documents()
        .filter_map(|held| DocumentId::parse(held.id));
    let held: BTreeSet<DocumentId> = held.collect();
    let foreign = held
        .iter()
        .cloned()
        .chain(told)
        .filter(|document| !known.contains(document))
        .collect();
    let missing = expected
        .into_iter()
        .filter(|document| !held.contains(document));

    Ok(Verdict {
        chunks_unreadable: chunks.recovered,
        memories_unreadable: memories.recovered,
        missing: missing
            .filter(|document| !unreadable.contains(document))
            .collect(),
        foreign,
    })
}
