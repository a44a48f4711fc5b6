//! Handles the queued folders: lists their children, or removes the records below them.

use domain::connection::{FolderWalk, ItemRecord, SyncQueue};
use domain::ports::{ConnectorError, ItemPage};

use crate::decide::scans;
use crate::decide::walks;
use crate::queue::{self, FolderKey};
use crate::step_state::{StepState, TickError};

/// The most pages of known children that one tick examines.
const PAGES_PER_TICK: usize = 10;

pub(crate) async fn walk_folders(step: &mut StepState<'_>) -> Result<(), TickError> {
    let waiting = step
        .first_entries(SyncQueue::Walk, None, step.context.limits.folders)
        .await?;
    if waiting.is_empty() {
        scans::end_walks(&mut step.state, step.connector.reports_changes());
        return Ok(());
    }

    for entry in waiting {
        if step.writes.len() > step.context.limits.writes || step.is_late() {
            break;
        }

        // An entry that this tick has replaced is handled in a later tick.
        let touched = step.writes.touched_entry(SyncQueue::Walk, &entry.key);
        if touched.is_some() {
            continue;
        }
        // Removals come first, and `removals::remove_below` has found none.
        let FolderKey::Walk(folder) = FolderKey::parse(&entry.key)? else {
            break;
        };

        let walk = queue::parse_value(&entry)?;
        match visit_folder(step, &folder, walk, &entry.key).await {
            // The records of the items in the folder stay.
            Err(TickError::Withheld) => replace_walk(step, &entry.key, None)?,
            visited => visited?,
        }
    }

    Ok(())
}

/// Continues with a folder: lists its children, or examines those that the listing has not shown.
async fn visit_folder(
    step: &mut StepState<'_>,
    folder: &str,
    mut entry: FolderWalk,
    key: &str,
) -> Result<(), TickError> {
    let item = step.look_up_item(folder).await?;
    if !step.is_in_scope(item.as_ref()).await? {
        // The folder has gone since it was enqueued.
        replace_walk(step, key, None)?;
        if !step.selected_ids.contains(folder) {
            step.remove_item(folder, false).await?;
        }
        step.enqueue_removal_below(folder, false)?;
        return Ok(());
    }

    if entry.since == 0 {
        entry.since = step.step_number();
    }

    if !entry.listed && !list_folder(step, folder, &mut entry).await? {
        return replace_walk(step, key, Some(&entry));
    }

    let done = examine_unseen(step, folder, &mut entry).await?;
    replace_walk(step, key, (!done).then_some(&entry))
}

/// Stores how far the work on a folder has come, or removes its entry if that is `None`.
pub(super) fn replace_walk(
    step: &mut StepState<'_>,
    key: &str,
    rest: Option<&FolderWalk>,
) -> Result<(), TickError> {
    let value = rest.map(queue::to_value).transpose()?;
    step.writes
        .replace_entry(SyncQueue::Walk, key.to_owned(), value);
    Ok(())
}

/// Records a page of a folder's listing, and returns whether it was the last one.
async fn list_folder(
    step: &mut StepState<'_>,
    folder: &str,
    entry: &mut FolderWalk,
) -> Result<bool, TickError> {
    step.count_requests(1);
    let (page, drive) = (entry.page.clone(), entry.drive.clone());
    let listed = step
        .connector
        .list_children(&step.access, folder, drive.as_deref(), page.as_deref())
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

    let mut items = listed.items;
    items.retain(|item| !item.is_trashed);
    step.load_for_items(&items).await?;
    let stamp = step.step_number();
    for item in &items {
        let known = step.current_record(&item.id).await?;
        let path = step.path_of_item(item).await?;
        let walk = walks::decide_listed(item, &path, known.as_ref(), entry.stamp, stamp);
        step.record_item(item, path, stamp).await?;
        if let Some(walk) = walk {
            step.enqueue_walk(&item.id, item.drive.as_deref(), walk)
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
    step: &mut StepState<'_>,
    folder: &str,
    entry: &mut FolderWalk,
) -> Result<bool, TickError> {
    for _ in 0..PAGES_PER_TICK {
        let rows = step.lookup_page_size();
        let (known, next) = known_children(step, folder, entry.page.as_deref(), rows).await?;
        let mut unseen = Vec::new();
        for child in known {
            // An earlier part of this tick may have changed it.
            if let Some(record) = step.current_record(&child.id).await?
                && walks::is_unseen(&record, folder, entry.since)
            {
                unseen.push(record);
            }
        }
        verify_items(step, &unseen).await?;
        entry.page = next;
        if entry.page.is_none() {
            return Ok(true);
        }
        if step.is_late() {
            break;
        }
    }

    Ok(false)
}

/// Looks up records one by one: updates those in scope, and removes the others. A record that the
/// provider does not show, for whatever reason, stays as it is.
pub(crate) async fn verify_items(
    step: &mut StepState<'_>,
    records: &[ItemRecord],
) -> Result<(), TickError> {
    let ids: Vec<String> = records.iter().map(|record| record.id.clone()).collect();
    step.look_up_items(&ids).await?;
    for record in records {
        if step.selected_ids.contains(&record.id) {
            continue;
        }
        // All lookups of a record precede its first write.
        match verify_item(step, record).await {
            Err(TickError::Withheld) => {}
            checked => checked?,
        }
    }

    Ok(())
}

async fn verify_item(step: &mut StepState<'_>, record: &ItemRecord) -> Result<(), TickError> {
    let item = step.look_up_item(&record.id).await?;
    let is_in_scope = step.is_in_scope(item.as_ref()).await?;
    let Some(item) = item.filter(|_| is_in_scope) else {
        step.remove_item(&record.id, false).await?;
        return step.enqueue_removal_below(&record.id, false);
    };

    let path = step.path_of_item(&item).await?;
    let is_moved_folder = walks::is_moved_folder(record, &item, &path);
    step.record_item(&item, path, step.step_number()).await?;
    if is_moved_folder {
        step.walk_again(&item).await?;
    }

    Ok(())
}

pub(super) async fn known_children(
    step: &mut StepState<'_>,
    folder: &str,
    after: Option<&str>,
    rows: usize,
) -> Result<(Vec<ItemRecord>, Option<String>), TickError> {
    let (sync, id) = (step.context.service.sync(), &step.connection.id);
    let (known, next) = sync
        .list_children(step.tenant, id, folder, after, rows)
        .await?;
    step.add_known_records(&known);
    Ok((known, next))
}
