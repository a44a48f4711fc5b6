//! Examines the selected items and the folders above them, whose changes are not reported for the
//! items below them.

use domain::connection::{RunPhase, SelectedItem};

use crate::decide::{scans, selection};
use crate::step_state::{StepState, TickError};

/// The number of selected items in one tick. Each is examined with all folders above it.
const ITEMS_PER_TICK: usize = 25;

/// Examines selected items from the index `next` on.
pub(crate) async fn examine_selected_items(
    step: &mut StepState<'_>,
    next: usize,
) -> Result<(), TickError> {
    if next == 0 {
        step.clear_lookups();
        step.state.selected_items_changed = false;
        if !remove_deselected(step).await? {
            return Ok(());
        }
    }

    let items = step.selection.items.iter().skip(next).take(ITEMS_PER_TICK);
    let items: Vec<SelectedItem> = items.cloned().collect();
    let ids: Vec<String> = items.iter().map(|item| item.id.clone()).collect();
    step.look_up_items(&ids).await?;
    step.load_records(&ids).await?;
    for item in &items {
        match examine_selected_item(step, &item.id).await {
            // The records stay as they were: all lookups of an item precede its first write.
            Err(TickError::Withheld) => {}
            examined => examined?,
        }
    }

    let next = next + items.len();
    step.state.phase = Some(if next < step.selection.items.len() {
        RunPhase::SelectedItems { next }
    } else {
        scans::phase_after_selected_items(&step.state, step.connector.reports_changes())
    });

    Ok(())
}

/// Removes items that are no longer selected, immediately, unless another selected item contains
/// them. One tick takes some of them; returns whether these are all.
async fn remove_deselected(step: &mut StepState<'_>) -> Result<bool, TickError> {
    let is_selected = |id: &str| step.selected_ids.contains(id);
    let deselected = selection::deselected_items(&step.state, is_selected, ITEMS_PER_TICK + 1);
    let now = &deselected[..deselected.len().min(ITEMS_PER_TICK)];
    step.look_up_items(now).await?;
    step.load_records(now).await?;

    for id in now {
        match remove_deselected_item(step, id).await {
            // The next scan, which the new selection causes, examines the item again, because it does not see it.
            Err(TickError::Withheld) => {}
            removed => removed?,
        }
        step.state.selected_items.remove(id);
    }

    Ok(deselected.len() == now.len())
}

async fn remove_deselected_item(step: &mut StepState<'_>, id: &str) -> Result<(), TickError> {
    let item = step.look_up_item(id).await?;
    if !step.is_in_scope(item.as_ref()).await? {
        step.remove_item(id, true).await?;
        step.enqueue_removal_below(id, true)?;
    }
    Ok(())
}

/// Examines a selected item. An item that is gone is removed with everything below it, also if it
/// has no record.
async fn examine_selected_item(step: &mut StepState<'_>, id: &str) -> Result<(), TickError> {
    let item = step.look_up_item(id).await?;
    let Some(item) = item.filter(|item| !item.is_trashed) else {
        step.remove_item(id, false).await?;
        step.enqueue_removal_below(id, false)?;
        let state = selection::state_of_gone_item(step.state.selected_items.get(id));
        step.state.selected_items.insert(id.to_owned(), state);
        return Ok(());
    };

    let record = step.current_record(id).await?;
    let (chain, above) = step.folders_above(&item).await?;
    let known = step.state.selected_items.get(id);
    let decision =
        selection::decide_selected_item(&step.state, known, &item, record.as_ref(), chain, above);

    step.state
        .selected_items
        .insert(id.to_owned(), decision.state);
    let path = step.path_of_item(&item).await?;
    step.record_item(&item, path, decision.seen).await?;
    if let Some(walk) = decision.walk {
        step.enqueue_walk(id, item.drive.as_deref(), walk).await?;
    }

    Ok(())
}
