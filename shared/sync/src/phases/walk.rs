//! Handles the queued folders: lists their children, or removes the records below them.

use domain::connection::{FolderWalk, ItemRecord, RunPhase, SyncQueue};
use domain::ports::{ConnectorError, ItemPage};

use crate::phases::feeds::adopt_pending_cursors;
use crate::queue::{self, FolderKey};
use crate::scope::is_folder;
use crate::work::{StepState, TickError};

/// The most pages of known children that one tick examines.
const PAGES_PER_TICK: usize = 10;

pub(crate) async fn walk_folders(work: &mut StepState<'_>) -> Result<(), TickError> {
    let waiting = work
        .first_entries(SyncQueue::Walk, None, work.tools.limits.folders)
        .await?;
    if waiting.is_empty() {
        return end_phase(work).await;
    }

    for entry in waiting {
        if work.batch.len() > work.tools.limits.writes || work.is_late() {
            break;
        }

        // An entry that this tick has replaced is handled in a later tick.
        let touched = work.batch.touched_entry(SyncQueue::Walk, &entry.key);
        if touched.is_some() {
            continue;
        }
        // Removals come first, and `remove_below` has found none.
        let FolderKey::Walk(folder) = FolderKey::parse(&entry.key)? else {
            break;
        };

        let walk = queue::parse_value(&entry)?;
        match visit_folder(work, &folder, walk, &entry.key).await {
            // The records of the items in the folder stay.
            Err(TickError::Withheld) => replace_walk(work, &entry.key, None)?,
            visited => visited?,
        }
    }

    Ok(())
}

/// Ends the phase when the queue is empty. The changes during the scan follow, or the phases after
/// all changes.
async fn end_phase(work: &mut StepState<'_>) -> Result<(), TickError> {
    let scanned = work.state.feeds.values().any(|feed| feed.pending.is_some());
    if scanned {
        adopt_pending_cursors(work).await?;
    }
    work.state.phase = Some(if scanned && work.connector.reports_changes() {
        RunPhase::Changes { done: Vec::new() }
    } else if work.state.scanning_since.is_some() {
        RunPhase::Sweep { after: None }
    } else {
        RunPhase::Refilter { after: None }
    });
    Ok(())
}

/// Continues with a folder: lists its children, or examines those that the listing has not shown.
async fn visit_folder(
    work: &mut StepState<'_>,
    folder: &str,
    mut entry: FolderWalk,
    key: &str,
) -> Result<(), TickError> {
    let item = work.look_up_item(folder).await?;
    if !work.is_in_scope(item.as_ref()).await? {
        // The folder has gone since it was enqueued.
        replace_walk(work, key, None)?;
        if !work.selected.contains(folder) {
            work.remove_item(folder, false).await?;
        }
        work.enqueue_removal_below(folder, false)?;
        return Ok(());
    }

    if entry.since == 0 {
        entry.since = work.step_number();
    }

    if !entry.listed && !list_folder(work, folder, &mut entry).await? {
        return replace_walk(work, key, Some(&entry));
    }

    let done = examine_unseen(work, folder, &mut entry).await?;
    replace_walk(work, key, (!done).then_some(&entry))
}

/// Stores how far the work on a folder has come, or removes its entry if that is `None`.
fn replace_walk(
    work: &mut StepState<'_>,
    key: &str,
    rest: Option<&FolderWalk>,
) -> Result<(), TickError> {
    let value = rest.map(queue::to_value).transpose()?;
    work.batch
        .replace_entry(SyncQueue::Walk, key.to_owned(), value);
    Ok(())
}

/// Records a page of a folder's listing, and returns whether it was the last one.
async fn list_folder(
    work: &mut StepState<'_>,
    folder: &str,
    entry: &mut FolderWalk,
) -> Result<bool, TickError> {
    work.count_requests(1);
    let (page, drive) = (entry.page.clone(), entry.drive.clone());
    let listed = work
        .connector
        .list_children(&work.access, folder, drive.as_deref(), page.as_deref())
        .await;
    let listed: ItemPage = match listed {
        Err(ConnectorError::PageLost) if page.is_some() => {
            entry.page = None;
            return Ok(false);
        }
        // Nothing is concluded from this: the known children are examined one by one.
        Err(ConnectorError::Item(_)) => ItemPage::default(),
        listed => listed?,
    };

    let items: Vec<_> = listed
        .items
        .into_iter()
        .filter(|item| !item.is_trashed)
        .collect();
    work.load_for_items(&items).await?;
    let stamp = work.step_number();
    for item in &items {
        let known = work.current_node(&item.id).await?;
        let path = work.path_of_item(item).await?;
        let walked = known
            .as_ref()
            .is_some_and(|known| known.seen >= entry.stamp && known.folder);
        let moved = known.as_ref().is_some_and(|known| known.path != path);
        work.record_item(item, path, stamp).await?;
        if is_folder(item) && (!walked || moved) {
            let stamp = if moved && walked { stamp } else { entry.stamp };
            work.enqueue_walk(&item.id, item.drive.as_deref(), stamp, false)
                .await?;
        }
    }

    entry.page = listed.next;
    entry.listed = entry.page.is_none();

    Ok(entry.listed)
}

/// Examines known children that the listing has not shown, because a listing does not prove that an
/// item is gone. Returns whether all of them were examined.
async fn examine_unseen(
    work: &mut StepState<'_>,
    folder: &str,
    entry: &mut FolderWalk,
) -> Result<bool, TickError> {
    for _ in 0..PAGES_PER_TICK {
        let rows = work.lookup_page_size();
        let (known, next) = known_children(work, folder, entry.page.as_deref(), rows).await?;
        let mut unseen = Vec::new();
        for child in known {
            // An earlier part of this tick may have changed it.
            let now = work.current_node(&child.id).await?;
            unseen.extend(
                now.filter(|now| now.seen < entry.since && now.parent.as_deref() == Some(folder)),
            );
        }
        verify_nodes(work, &unseen).await?;
        entry.page = next;
        if entry.page.is_none() {
            return Ok(true);
        }
        if work.is_late() {
            break;
        }
    }

    Ok(false)
}

/// Looks up nodes one by one: updates those in scope, and removes the others. A node that the
/// provider does not show, for whatever reason, stays as it is.
pub(crate) async fn verify_nodes(
    work: &mut StepState<'_>,
    nodes: &[ItemRecord],
) -> Result<(), TickError> {
    let ids: Vec<String> = nodes.iter().map(|node| node.id.clone()).collect();
    work.look_up_items(&ids).await?;
    for node in nodes {
        if work.selected.contains(&node.id) {
            continue;
        }
        // All lookups of a node precede its first write.
        match verify_node(work, node).await {
            Err(TickError::Withheld) => {}
            checked => checked?,
        }
    }

    Ok(())
}

async fn verify_node(work: &mut StepState<'_>, node: &ItemRecord) -> Result<(), TickError> {
    let item = work.look_up_item(&node.id).await?;
    if !work.is_in_scope(item.as_ref()).await? {
        work.remove_item(&node.id, false).await?;
        work.enqueue_removal_below(&node.id, false)?;
    } else if let Some(item) = item {
        let (path, stamp) = (work.path_of_item(&item).await?, work.step_number());
        let moved = path != node.path || item.parent != node.parent;
        work.record_item(&item, path, stamp).await?;
        if is_folder(&item) && moved {
            work.enqueue_walk(&item.id, item.drive.as_deref(), stamp, true)
                .await?;
        }
    }

    Ok(())
}

async fn known_children(
    work: &mut StepState<'_>,
    folder: &str,
    after: Option<&str>,
    rows: usize,
) -> Result<(Vec<ItemRecord>, Option<String>), TickError> {
    let (sync, id) = (work.tools.desk.sync(), &work.connection.id);
    let (known, next) = sync
        .list_children(work.tenant, id, folder, after, rows)
        .await?;
    work.add_known_nodes(&known);
    Ok((known, next))
}

/// Removes the records below the first folder that waits for this, and returns whether there was
/// one.
pub(crate) async fn remove_below(work: &mut StepState<'_>) -> Result<bool, TickError> {
    let first = work.first_entries(SyncQueue::Walk, None, 1).await?;
    let Some(waiting) = first.first() else {
        work.has_pending_removals = false;
        return Ok(false);
    };
    let FolderKey::RemoveBelow(folder) = FolderKey::parse(&waiting.key)? else {
        work.has_pending_removals = false;
        return Ok(false);
    };

    let mut entry: FolderWalk = queue::parse_value(waiting)?;
    let mut done = false;
    while !done && work.batch.len() <= work.tools.limits.writes {
        let rows = work.tools.limits.rows;
        let (known, next) = known_children(work, &folder, entry.page.as_deref(), rows).await?;
        for child in known {
            let guarded = work.tools.flags.root_guard && work.selected.contains(&child.id);
            if guarded || child.parent.as_deref() != Some(&folder) {
                continue;
            }
            work.remove_item(&child.id, entry.deselected).await?;
            if child.folder {
                work.enqueue_removal_below(&child.id, entry.deselected)?;
            }
        }
        done = next.is_none();
        entry.page = next;
    }

    replace_walk(work, &waiting.key, (!done).then_some(&entry))?;
    Ok(true)
}
