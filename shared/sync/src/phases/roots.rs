//! Examines the selected items and the folders above them, whose changes are not reported for the
//! items below them.

use domain::connection::{RunPhase, SelectedItem, SelectedItemState};

use crate::phases::feeds::phase_after_roots;
use crate::scope::is_folder;
use crate::work::{StepState, TickError};

/// The number of selected items in one tick. Each is examined with all folders above it.
const ITEMS_PER_TICK: usize = 25;

pub(crate) async fn examine_roots(work: &mut StepState<'_>, next: usize) -> Result<(), TickError> {
    if !work.tools.flags.roots && work.state.scanning_since.is_none() {
        work.state.phase = Some(phase_after_roots(work));
        return Ok(());
    }

    if next == 0 {
        work.clear_lookups();
        work.state.roots_changed = false;
        if !remove_deselected(work).await? {
            return Ok(());
        }
    }

    let items: Vec<SelectedItem> = work
        .selection
        .items
        .iter()
        .skip(next)
        .take(ITEMS_PER_TICK)
        .cloned()
        .collect();
    let ids: Vec<String> = items.iter().map(|item| item.id.clone()).collect();
    work.look_up_items(&ids).await?;
    work.load_nodes(&ids).await?;
    for item in &items {
        match examine_root(work, &item.id).await {
            // The records stay as they were: all lookups of an item precede its first write.
            Err(TickError::Withheld) => {}
            checked => checked?,
        }
    }

    let next = next + items.len();
    work.state.phase = Some(if next < work.selection.items.len() {
        RunPhase::Roots { next }
    } else {
        phase_after_roots(work)
    });

    Ok(())
}

/// Removes items that are no longer selected, immediately, unless another selected item contains
/// them. One tick takes some of them; returns whether these are all.
async fn remove_deselected(work: &mut StepState<'_>) -> Result<bool, TickError> {
    let selected = &work.selected;
    let gone = work.state.roots.keys().filter(|id| !selected.contains(*id));
    let gone: Vec<String> = gone.take(ITEMS_PER_TICK + 1).cloned().collect();
    let now = &gone[..gone.len().min(ITEMS_PER_TICK)];
    work.look_up_items(now).await?;
    work.load_nodes(now).await?;
    for id in now {
        match remove_deselected_item(work, id).await {
            // The next scan, which the new selection causes, examines the item again in its sweep.
            Err(TickError::Withheld) => {}
            done => done?,
        }
        work.state.roots.remove(id);
    }

    Ok(gone.len() == now.len())
}

async fn remove_deselected_item(work: &mut StepState<'_>, id: &str) -> Result<(), TickError> {
    let item = work.look_up_item(id).await?;
    if !work.is_in_scope(item.as_ref()).await? {
        work.remove_item(id, true).await?;
        work.enqueue_removal_below(id, true)?;
    }
    Ok(())
}

/// Examines a selected item. An item that is new or has reappeared is walked. An item that is gone
/// is removed with everything below it.
async fn examine_root(work: &mut StepState<'_>, id: &str) -> Result<(), TickError> {
    let item = work.look_up_item(id).await?;
    let known = work.state.roots.get(id).cloned().unwrap_or_default();
    let row = work.current_node(id).await?;
    let Some(item) = item.filter(|item| !item.is_trashed) else {
        if known.active || row.is_some() || work.tools.flags.remove_unknown {
            work.remove_item(id, false).await?;
            work.enqueue_removal_below(id, false)?;
        }
        work.state.roots.insert(
            id.to_owned(),
            SelectedItemState {
                active: false,
                ..known
            },
        );
        return Ok(());
    };

    let (chain, above) = work.folders_above(&item).await?;
    let state = SelectedItemState {
        active: true,
        above,
        chain,
    };

    let moved = state.above != known.above || row.as_ref().is_some_and(|row| row.name != item.name);
    work.state.roots.insert(id.to_owned(), state);
    let path = work.path_of_item(&item).await?;
    let scanning = work.state.feeds.values().any(|feed| feed.pending.is_some());
    let walks = scanning || moved || !known.active || row.is_none();
    // `seen` means that a walk has reached the item, which this examination alone does not do.
    let seen = row
        .filter(|_| !walks)
        .map_or(work.step_number(), |row| row.seen);
    work.record_item(&item, path, seen).await?;
    if walks && is_folder(&item) {
        let stamp = work
            .state
            .scanning_since
            .filter(|_| scanning)
            .unwrap_or(work.step_number());
        work.enqueue_walk(id, item.drive.as_deref(), stamp, !scanning)
            .await?;
    }

    Ok(())
}
