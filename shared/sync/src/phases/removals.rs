//! Removes documents whose items are gone. They are removed after a grace period, and many at once
//! only after a second examination.

use domain::DocumentId;
use domain::connection::{
    DocumentIntent, FolderWalk, NEW_FILES_END, NEW_FILES_START, PendingRemoval, SyncQueue,
    SyncQueueEntry,
};
use domain::ports::{PortResult, ProviderItem};
use service::item_custom_id;

use crate::decide::removals::{self, RemovalDecision, RemovalMode};
use crate::decide::walks;
use crate::item_paths::is_folder;
use crate::limits::MAX_REMOVALS;
use crate::phases::walk::{known_children, replace_walk};
use crate::queue::{self, FolderKey};
use crate::step_state::{StepState, TickError};

/// The most pages of waiting removals that one tick examines.
const PAGES_PER_TICK: usize = 10;
/// The most items that one tick examines again.
const LOOKUPS_PER_TICK: usize = 100;

/// Holds back the removals of this run if they are too many. Then only documents of deselected
/// items are removed.
pub(crate) async fn hold_back_removals(step: &mut StepState<'_>) -> Result<(), TickError> {
    if step.state.held_by_run.is_some() {
        return Ok(());
    }

    let (mut count, mut after) = (0, None);
    loop {
        let page = step
            .first_entries(
                SyncQueue::Remove,
                after.as_deref(),
                step.context.limits.rows,
            )
            .await?;
        for entry in &page {
            count += usize::from(!parse_removal(entry)?.deselected);
        }
        after = page.last().map(|entry| entry.key.clone());
        if after.is_none() || count > MAX_REMOVALS {
            break;
        }
    }

    if removals::must_hold_back(count, step.state.documents) {
        step.state.held_by_run = Some(step.run_number());
    }

    Ok(())
}

/// Removes the records below the first folder that waits for this, and returns whether there was
/// one.
pub(crate) async fn remove_below(step: &mut StepState<'_>) -> Result<bool, TickError> {
    let first = step.first_entries(SyncQueue::Walk, None, 1).await?;
    let Some(waiting) = first.first() else {
        step.has_removals_below = false;
        return Ok(false);
    };
    let FolderKey::RemoveBelow(folder) = FolderKey::parse(&waiting.key)? else {
        step.has_removals_below = false;
        return Ok(false);
    };

    let mut entry: FolderWalk = queue::parse_value(waiting)?;
    let mut done = false;
    while !done && step.writes.len() <= step.context.limits.writes {
        let rows = step.context.limits.rows;
        let (known, next) = known_children(step, &folder, entry.page.as_deref(), rows).await?;
        for child in walks::children_to_remove(known, &folder, &step.selected_ids) {
            step.remove_item(&child.id, entry.deselected).await?;
            if child.folder {
                step.enqueue_removal_below(&child.id, entry.deselected)?;
            }
        }
        done = next.is_none();
        entry.page = next;
    }

    replace_walk(step, &waiting.key, (!done).then_some(&entry))?;
    Ok(true)
}

pub(crate) async fn remove_documents(step: &mut StepState<'_>) -> Result<(), TickError> {
    let releasing = std::mem::take(&mut step.state.releasing);
    let keys: Vec<String> = releasing
        .iter()
        .map(|intent| intent.claiming_item.clone())
        .collect();
    step.load_queue_entries(SyncQueue::Remove, keys.clone())
        .await?;
    step.load_records(&keys).await?;
    for intent in &releasing {
        if !step.is_before_deadline() {
            step.state.releasing.push(intent.clone());
            continue;
        }
        release_or_remove_document(step, intent).await?;
    }

    let (next, more) = choose_removals(step).await?;
    step.state.releasing.extend(next);
    if step.state.releasing.is_empty() && !more {
        end_phase(step).await?;
    }

    Ok(())
}

/// Removes a document, or only this connection's claim if other claims remain.
async fn release_or_remove_document(
    step: &mut StepState<'_>,
    intent: &DocumentIntent,
) -> Result<(), TickError> {
    let Some(removal) = step.pending_removal(&intent.claiming_item).await? else {
        // The item has reappeared after the removal began. Whatever the removal did stays, and the
        // document is made again.
        return settle_intent(step, intent).await;
    };

    let record = step.current_record(&intent.claiming_item).await?;
    // A crash may have left this entry although the item has reappeared.
    let current_document = record
        .and_then(|record| record.filed)
        .map(|synced| synced.document);
    if let Some(removed) = removal.record.filed.map(|synced| synced.document)
        && current_document.as_ref() != Some(&removed)
    {
        let claim = step.claim_of(&intent.claiming_item);
        let is_deleted = step
            .context
            .service
            .release_document(step.tenant, &removed, &claim)
            .await?;
        step.state.documents = step.state.documents.saturating_sub(1);
        step.update_run(|run| {
            run.processed += 1;
            run.removed += u64::from(is_deleted);
        });
    }

    step.writes
        .dequeue(SyncQueue::Remove, intent.claiming_item.clone());
    Ok(())
}

/// Releases a document that may have been made or partly removed, unless the item's record refers
/// to it.
pub(crate) async fn settle_intent(
    step: &mut StepState<'_>,
    intent: &DocumentIntent,
) -> Result<(), TickError> {
    let custom_id = item_custom_id(step.connection.provider, &intent.source_item);
    let service = step.context.service;
    let Some(document) = service
        .document_id_of(step.tenant, &step.connection.tag, &custom_id)
        .await?
    else {
        return Ok(());
    };

    let record = step.current_record(&intent.claiming_item).await?;
    let is_current = record
        .and_then(|record| record.filed)
        .is_some_and(|synced| synced.document == document);
    let waits_for_removal = step
        .pending_removal(&intent.claiming_item)
        .await?
        .and_then(|removal| removal.record.filed)
        .is_some_and(|synced| synced.document == document);
    if !is_current && !waits_for_removal {
        release_stray_document(step, &document, &intent.claiming_item).await?;
    }

    Ok(())
}

/// Releases a document that is no longer the item's own. A document that this connection never
/// claimed is kept even without any claim: it may remain from a connection that was deleted without
/// its documents.
pub(crate) async fn release_stray_document(
    step: &StepState<'_>,
    document: &DocumentId,
    item: &str,
) -> Result<(), TickError> {
    let claim = step.claim_of(item);
    let service = step.context.service;
    if service.owns_document(step.tenant, document, &claim).await? {
        service
            .release_document(step.tenant, document, &claim)
            .await?;
    }

    Ok(())
}

/// Returns the next documents to remove, and whether more entries remain to be examined.
async fn choose_removals(
    step: &mut StepState<'_>,
) -> Result<(Vec<DocumentIntent>, bool), TickError> {
    let mode = removals::removal_mode(&step.state, step.connector.reports_changes());
    let mut chosen = Vec::new();
    let (pages, rows) = match mode {
        RemovalMode::Confirm => (1, step.lookup_page_size().min(LOOKUPS_PER_TICK)),
        _ => (PAGES_PER_TICK, step.context.limits.rows),
    };
    for _ in 0..pages {
        let page = step
            .first_entries(SyncQueue::Remove, step.removal_position.as_deref(), rows)
            .await?;
        if page.is_empty() {
            return Ok((chosen, false));
        }
        look_up_page(step, &page, mode).await?;

        for entry in page {
            if chosen.len() == step.context.limits.files {
                return Ok((chosen, true));
            }
            step.removal_position = Some(entry.key.clone());
            let touched = step.writes.touched_entry(SyncQueue::Remove, &entry.key);
            if touched.is_some() {
                continue;
            }
            let removal = parse_removal(&entry)?;
            let is_removed = match decide(step, &removal, mode) {
                RemovalDecision::Wait => false,
                RemovalDecision::LookUp => is_gone(step, &entry.key).await?,
                RemovalDecision::Remove => true,
            };
            if is_removed {
                chosen.push(DocumentIntent {
                    source_item: queue::source_item(&removal.record).to_owned(),
                    claiming_item: entry.key,
                });
            }
        }
    }

    Ok((chosen, true))
}

fn decide(step: &StepState<'_>, removal: &PendingRemoval, mode: RemovalMode) -> RemovalDecision {
    let now = step.now();
    let run_started_at = step.state.run.as_ref().map_or(now, |run| run.started_at);
    removals::decide_removal(removal, mode, run_started_at, now)
}

/// Looks up all items of a page that [`is_gone`] will ask for.
async fn look_up_page(
    step: &mut StepState<'_>,
    page: &[SyncQueueEntry],
    mode: RemovalMode,
) -> Result<(), TickError> {
    let mut ids = Vec::new();
    for entry in page {
        if decide(step, &parse_removal(entry)?, mode) == RemovalDecision::LookUp {
            ids.push(entry.key.clone());
        }
    }

    step.load_records(&ids).await?;
    step.look_up_items(&ids).await
}

fn parse_removal(entry: &SyncQueueEntry) -> PortResult<PendingRemoval> {
    queue::parse_value(entry)
}

/// Checks with a new lookup whether an item is gone. An item that the provider does not show does
/// not count as gone.
async fn is_gone(step: &mut StepState<'_>, id: &str) -> Result<bool, TickError> {
    match restore_if_present(step, id).await {
        Err(TickError::Withheld) => Ok(false),
        back => Ok(!back?),
    }
}

/// Looks up an item again. If it exists after all, its record is restored and it keeps its
/// document.
async fn restore_if_present(step: &mut StepState<'_>, id: &str) -> Result<bool, TickError> {
    let item: Option<ProviderItem> = step.look_up_item(id).await?;
    if step.current_record(id).await?.is_some() || !step.is_in_scope(item.as_ref()).await? {
        return Ok(false);
    }

    let Some(item) = item else {
        return Ok(false);
    };

    let path = step.path_of_item(&item).await?;
    step.record_item(&item, path, step.step_number()).await?;
    if is_folder(&item) {
        step.walk_again(&item).await?;
    }

    // The cause of this removal may have removed other items as well.
    step.state.must_scan = true;
    Ok(true)
}

/// Ends the phase.
async fn end_phase(step: &mut StepState<'_>) -> Result<(), TickError> {
    let waiting = step
        .first_entries(SyncQueue::Fetch, Some(NEW_FILES_START), 1)
        .await?;
    let waiting = waiting.first();
    let has_new_files = waiting.is_some_and(|entry| entry.key.as_str() < NEW_FILES_END);

    let is_full = step.is_full();
    removals::end_removals(&mut step.state, has_new_files, is_full);
    Ok(())
}
