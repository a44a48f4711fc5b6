//! The memories that come from documents.

use std::collections::HashMap;

use container_index::{IndexedMemories, partial_segments, read_until_fetched};
use domain::{ContainerId, Document, Result, TaskType, Tenant};
use futures::stream::{self, StreamExt, TryStreamExt};
use memory_model::Ledger;

use crate::DocumentsState;

/// The number of containers that are opened at the same time.
const PARALLEL_READS: usize = 8;

/// Calls `read` for each document that shows memories, with the ledger of its container, and returns the
/// results, `None` for other documents. Each container is opened once. `read` may be called again if a
/// part of the ledger has to be fetched first.
///
/// # Errors
/// Those of the ports.
pub(crate) async fn read_memories<T>(
    state: &DocumentsState,
    tenant: &Tenant,
    documents: &[Document],
    read: impl Fn(&Document, &Ledger) -> T,
) -> Result<Vec<Option<T>>> {
    let ctx = &state.app.ctx;
    let mut positions: HashMap<&ContainerId, usize> = HashMap::new();
    let mut openings = Vec::new();
    for document in documents {
        let container = &document.container;
        if shows_memories(document) && !positions.contains_key(container) {
            positions.insert(container, openings.len());
            openings.push(state.ledgers.open(ctx, tenant, container));
        }
    }
    let opened: Vec<IndexedMemories<()>> = stream::iter(openings)
        .buffered(PARALLEL_READS)
        .try_collect()
        .await?;

    let read_one = |document: &Document| {
        let position = positions.get(&document.container)?;
        shows_memories(document).then(|| read(document, opened[*position].ledger()))
    };
    let partial = partial_segments(&opened);
    let read_all = || documents.iter().map(read_one).collect();
    Ok(read_until_fetched(ctx, tenant, &partial, read_all).await?)
}

/// Checks whether search serves statements of the document. A document that is processed into
/// chunks only shows no memories, even if it had some before.
fn shows_memories(document: &Document) -> bool {
    let Some(indexed) = &document.indexed else {
        return false;
    };
    indexed.statements_blob().is_some() && document.task_type == TaskType::Memory
}
