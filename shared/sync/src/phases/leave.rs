//! Removes documents whose items are gone. They are removed after a grace period, and many at once
//! only after a second examination.

use domain::connection::{
    DocumentClaim, DocumentIntent, PendingRemoval, RunPhase, SyncQueue, SyncQueueEntry,
};
use domain::ports::{PortResult, ProviderItem};
use domain::{DocumentId, Timestamp};
use service::item_custom_id;

use crate::limits::{GRACE_SECONDS, MAX_REMOVALS, MAX_REMOVALS_PERCENT, MIN_HELD_REMOVALS};
use crate::queue;
use crate::scope::is_folder;
use crate::step::is_before_deadline;
use crate::work::{StepState, TickError};

/// The most pages of waiting removals that one tick examines.
const PAGES_PER_TICK: usize = 10;
/// The most items that one tick examines again.
const LOOKUPS_PER_TICK: usize = 100;

/// Holds back the removals of this run if they are too many. Then only documents of deselected
/// items are removed.
pub(crate) async fn hold_back_removals(work: &mut StepState<'_>) -> Result<(), TickError> {
    if work.state.held_by_run.is_some() {
        return Ok(());
    }

    let (mut count, mut after) = (0, None);
    loop {
        let page = work
            .first_entries(SyncQueue::Leave, after.as_deref(), work.tools.limits.rows)
            .await?;
        for entry in &page {
            count += usize::from(!parse_leaving(entry)?.deselected);
        }
        after = page.last().map(|entry| entry.key.clone());
        if after.is_none() || count > MAX_REMOVALS {
            break;
        }
    }

    let few = u64::try_from(count).unwrap_or(u64::MAX);
    let share = few >= MIN_HELD_REMOVALS && few * 100 > work.state.documents * MAX_REMOVALS_PERCENT;
    if count > MAX_REMOVALS || share {
        work.state.held_by_run = Some(work.run_number());
    }

    Ok(())
}

pub(crate) async fn remove_documents(work: &mut StepState<'_>) -> Result<(), TickError> {
    let releasing = std::mem::take(&mut work.state.releasing);
    let keys: Vec<String> = releasing.iter().map(|intent| intent.item.clone()).collect();
    work.load_queue_entries(SyncQueue::Leave, keys.clone())
        .await?;
    work.load_nodes(&keys).await?;
    for intent in &releasing {
        if !is_before_deadline(&work.state, work.now()) {
            work.state.releasing.push(intent.clone());
            continue;
        }
        release_document(work, intent).await?;
    }

    let (next, more) = choose_removals(work).await?;
    work.state.releasing.extend(next);
    if work.state.releasing.is_empty() && !more {
        end_phase(work).await?;
    }

    Ok(())
}

/// Removes a document, or only this connection's claim if other claims remain.
async fn release_document(
    work: &mut StepState<'_>,
    intent: &DocumentIntent,
) -> Result<(), TickError> {
    let Some(leaving) = work.leaving_entry(&intent.item).await? else {
        // The item has reappeared after the removal began. Whatever the removal did stays, and the
        // document is made again.
        return settle_intent(work, intent).await;
    };

    let node = work.current_node(&intent.item).await?;
    // A crash may have left this entry although the item has reappeared.
    let stays = node.and_then(|node| node.filed).map(|filed| filed.document);
    if let Some(filed) = leaving
        .node
        .filed
        .as_ref()
        .filter(|filed| stays.as_ref() != Some(&filed.document))
    {
        let claim = DocumentClaim {
            connection: work.connection.id.clone(),
            item: intent.item.clone(),
        };
        let removed = work
            .tools
            .desk
            .release_document(work.tenant, &filed.document, &claim)
            .await?;
        work.state.documents = work.state.documents.saturating_sub(1);
        work.update_run(|run| {
            run.processed += 1;
            run.removed += u64::from(removed);
        });
    }

    work.batch.dequeue(SyncQueue::Leave, intent.item.clone());
    Ok(())
}

/// Gives up a document that may have been made or partly removed, unless the item's record refers
/// to it.
pub(crate) async fn settle_intent(
    work: &mut StepState<'_>,
    intent: &DocumentIntent,
) -> Result<(), TickError> {
    let custom_id = item_custom_id(work.connection.provider, &intent.of);
    let desk = work.tools.desk;
    let Some(document) = desk
        .document_id_of(work.tenant, &work.connection.tag, &custom_id)
        .await?
    else {
        return Ok(());
    };

    let node = work.current_node(&intent.item).await?;
    let filed = node
        .and_then(|node| node.filed)
        .is_some_and(|filed| filed.document == document);
    let leaving = work
        .leaving_entry(&intent.item)
        .await?
        .and_then(|leaving| leaving.node.filed);
    if !filed && leaving.is_none_or(|filed| filed.document != document) {
        release_stray_claim(work, &document, &intent.item).await?;
    }

    Ok(())
}

/// Gives up an item's claim on a document that is no longer its own. A document that this
/// connection never claimed is kept even without any claim: it may remain from a connection that
/// was deleted without its documents.
pub(crate) async fn release_stray_claim(
    work: &StepState<'_>,
    document: &DocumentId,
    item: &str,
) -> Result<(), TickError> {
    let claim = DocumentClaim {
        connection: work.connection.id.clone(),
        item: item.to_owned(),
    };

    let desk = work.tools.desk;
    if desk.owns_document(work.tenant, document, &claim).await? {
        desk.release_document(work.tenant, document, &claim).await?;
    }

    Ok(())
}

/// Returns the next documents to remove, and whether more entries remain to be examined. Removals
/// that were held back are confirmed by examining each item again.
async fn choose_removals(
    work: &mut StepState<'_>,
) -> Result<(Vec<DocumentIntent>, bool), TickError> {
    let (now, number) = (work.now(), work.run_number());
    let held = work.state.held_by_run == Some(number);
    let confirms = work.state.held_by_run.is_some() && !held;
    let began = work.state.run.as_ref().map_or(now, |run| run.started_at);
    let mut chosen = Vec::new();
    for _ in 0..PAGES_PER_TICK {
        let rows = if confirms {
            work.lookup_page_size().min(LOOKUPS_PER_TICK)
        } else {
            work.tools.limits.rows
        };
        let page = work
            .first_entries(SyncQueue::Leave, work.leave_position.as_deref(), rows)
            .await?;
        if page.is_empty() {
            return Ok((chosen, false));
        }
        if confirms {
            look_up_page(work, &page, began).await?;
        }
        for entry in page {
            if chosen.len() == work.tools.limits.files {
                return Ok((chosen, true));
            }
            work.leave_position = Some(entry.key.clone());
            let leaving = parse_leaving(&entry)?;
            if work
                .batch
                .touched_entry(SyncQueue::Leave, &entry.key)
                .is_some()
            {
                continue;
            }
            let due = leaving.deselected || is_due(&leaving, now) && !held;
            let sure = leaving.deselected || !confirms || leaving.since < began;
            if due && sure && (leaving.deselected || !confirms || is_gone(work, &entry.key).await?)
            {
                let of = leaving.node.target.unwrap_or_else(|| entry.key.clone());
                chosen.push(DocumentIntent {
                    item: entry.key,
                    of,
                });
            }
        }
        if confirms {
            break;
        }
    }

    Ok((chosen, true))
}

/// Looks up all items of a page that [`is_gone`] will ask for.
async fn look_up_page(
    work: &mut StepState<'_>,
    page: &[SyncQueueEntry],
    began: Timestamp,
) -> Result<(), TickError> {
    let mut ids = Vec::new();
    for entry in page {
        let leaving = parse_leaving(entry)?;
        if !leaving.deselected && leaving.since < began {
            ids.push(entry.key.clone());
        }
    }

    work.load_nodes(&ids).await?;
    work.look_up_items(&ids).await
}

fn is_due(leaving: &PendingRemoval, now: Timestamp) -> bool {
    leaving.since.plus_seconds(GRACE_SECONDS) <= now
}

fn parse_leaving(entry: &SyncQueueEntry) -> PortResult<PendingRemoval> {
    queue::parse_value(entry)
}

/// Checks with a new lookup whether an item is gone. An item that the provider does not show does
/// not count as gone.
async fn is_gone(work: &mut StepState<'_>, id: &str) -> Result<bool, TickError> {
    match restore_if_present(work, id).await {
        Err(TickError::Withheld) => Ok(false),
        back => Ok(!back?),
    }
}

/// Looks up an item again. If it exists after all, its record is restored and it keeps its
/// document.
async fn restore_if_present(work: &mut StepState<'_>, id: &str) -> Result<bool, TickError> {
    let item: Option<ProviderItem> = work.look_up_item(id).await?;
    if work.current_node(id).await?.is_some() || !work.is_in_scope(item.as_ref()).await? {
        return Ok(false);
    }

    let Some(item) = item else {
        return Ok(false);
    };

    let (path, stamp) = (work.path_of_item(&item).await?, work.step_number());
    work.record_item(&item, path, stamp).await?;
    if is_folder(&item) {
        work.enqueue_walk(id, item.drive.as_deref(), stamp, true)
            .await?;
    }

    // The cause of this removal may have removed other items as well.
    work.state.must_scan = true;
    Ok(true)
}

/// Ends the phase. If documents were removed, there may be room for files that wait because of the
/// limit.
async fn end_phase(work: &mut StepState<'_>) -> Result<(), TickError> {
    let number = work.run_number();
    if work.state.held_by_run.is_some_and(|held| held < number) {
        work.state.held_by_run = None;
    }
    let removed = work.state.run.as_ref().is_some_and(|run| run.removed > 0);
    let waits = work
        .first_entries(SyncQueue::Fetch, Some(queue::NEW_FILES_START), 1)
        .await?;
    let waits = waits
        .first()
        .is_some_and(|entry| entry.key.as_str() < queue::NEW_FILES_END);
    let room = removed && waits && work.state.limited.is_some() && !work.is_full();
    work.state.phase = Some(if room {
        RunPhase::Fetch
    } else {
        RunPhase::Watch
    });
    Ok(())
}
