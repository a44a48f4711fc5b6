//! Reads the changes since the cursors. A cursor advances in the commit that stores all effects of
//! its page.

use domain::ports::{ChangePage, ConnectorError, ItemChange, ProviderItem};

use crate::decide::changes::{self, ChangeEffect};
use crate::step_state::{StepState, TickError};

/// Reads a page of changes of the next feed. `done` are the feeds whose changes were read.
pub(crate) async fn read_changes(
    step: &mut StepState<'_>,
    done: Vec<String>,
) -> Result<(), TickError> {
    let mut feeds = step.state.feeds.iter();
    let Some((name, feed)) = feeds.find(|(name, _)| !done.contains(name)) else {
        step.state.phase = Some(changes::phase_after_changes(&step.state));
        return Ok(());
    };

    let name = name.clone();
    let Some(cursor) = feed.cursor.clone() else {
        return handle_lost_cursor(step, &name).await;
    };

    // All lookups for this page have to be newer than the page.
    step.clear_lookups();
    step.count_requests(1);
    let page = match step
        .connector
        .list_changes(&step.access, &name, &cursor)
        .await
    {
        Err(ConnectorError::CursorLost) => return handle_lost_cursor(step, &name).await,
        page => page?,
    };

    let ChangePage {
        changes,
        cursor,
        has_more,
        feeds_changed,
    } = page;
    apply_changes(step, &changes::latest_changes(changes)).await?;
    changes::advance_cursor(&mut step.state, name, cursor, has_more, feeds_changed, done);

    Ok(())
}

/// Handles a lost cursor: everything is scanned again, now or in the next run.
async fn handle_lost_cursor(step: &mut StepState<'_>, feed: &str) -> Result<(), TickError> {
    let is_second_loss = changes::record_lost_cursor(&mut step.state, feed);
    if is_second_loss {
        // The error discards what is not committed, and the next run would continue with the same
        // lost cursor.
        step.commit_tick().await?;
        return Err(TickError::Provider(ConnectorError::CursorLost));
    }

    Ok(())
}

async fn apply_changes(step: &mut StepState<'_>, changes: &[ItemChange]) -> Result<(), TickError> {
    load_for_changes(step, changes).await?;

    for change in changes {
        step.state.selected_items_changed |=
            changes::concerns_selection(&change.id, &step.selected_ids, &step.state.selected_items);
        match apply_change(step, change).await {
            // The record stays until the next scan, and the other changes continue.
            Err(TickError::Withheld) => {}
            applied => applied?,
        }
    }

    Ok(())
}

/// Loads and looks up everything that the changes of a page need, in few requests.
async fn load_for_changes(
    step: &mut StepState<'_>,
    changes: &[ItemChange],
) -> Result<(), TickError> {
    let mut items: Vec<ProviderItem> = Vec::new();
    let mut gone = Vec::new();
    let mut looked_up = Vec::new();
    for change in changes {
        match &change.item {
            Some(item) => {
                items.push(item.clone());
                looked_up.extend(item.parent.clone());
            }
            None => gone.push(change.id.clone()),
        }
    }

    step.load_for_items(&items).await?;
    step.load_records(&gone).await?;
    // An item that is gone from one feed may have moved to another one.
    looked_up.extend(gone);
    step.look_up_items(&looked_up).await
}

async fn apply_change(step: &mut StepState<'_>, change: &ItemChange) -> Result<(), TickError> {
    let item = match change.item.clone() {
        Some(item) => Some(item),
        None => step.look_up_item(&change.id).await?,
    };

    let is_in_scope = step.is_in_scope(item.as_ref()).await?;
    let is_selected = step.selected_ids.contains(&change.id);
    match (changes::decide_change(is_in_scope, is_selected), item) {
        (ChangeEffect::Record, Some(item)) => return record_present_item(step, &item).await,
        (ChangeEffect::Remove, _) => {
            step.remove_item(&change.id, false).await?;
            step.enqueue_removal_below(&change.id, false)?;
        }
        (ChangeEffect::Record, None) | (ChangeEffect::LeaveToSelection, _) => {}
    }

    step.enqueue_shortcuts_to(&change.id).await
}

/// Handles a change of an item in scope.
async fn record_present_item(
    step: &mut StepState<'_>,
    item: &ProviderItem,
) -> Result<(), TickError> {
    let stamp = step.step_number();
    if changes::needs_ancestors(step.selected_ids.contains(&item.id)) {
        for folder in step.unknown_folders_above(item).await? {
            let path = step.path_of_item(&folder).await?;
            step.record_item(&folder, path, stamp).await?;
            if changes::must_walk_ancestor(&folder, step.is_selective()) {
                step.walk_again(&folder).await?;
            }
        }
    }

    let path = step.path_of_item(item).await?;
    step.record_item(item, path, stamp).await?;
    if changes::must_walk_changed(item) {
        step.walk_again(item).await?;
    }

    Ok(())
}
