//! Reads the changes since the cursors. A cursor advances in the commit that stores all effects of
//! its page.

use std::collections::HashSet;

use domain::connection::RunPhase;
use domain::ports::{ChangePage, ConnectorError, ItemChange, ProviderItem};

use crate::scope::is_folder;
use crate::work::{StepState, TickError};

pub(crate) async fn read_changes(
    work: &mut StepState<'_>,
    mut done: Vec<String>,
) -> Result<(), TickError> {
    let next = work
        .state
        .feeds
        .iter()
        .find(|(name, _)| !done.contains(name));
    let Some((name, feed)) = next.map(|(name, feed)| (name.clone(), feed.clone())) else {
        return end_phase(work);
    };

    let Some(cursor) = feed.cursor else {
        return handle_lost_cursor(work, &name).await;
    };

    // All lookups for this page have to be newer than the page.
    work.clear_lookups();
    work.count_requests(1);
    let page = match work
        .connector
        .list_changes(&work.access, &name, &cursor)
        .await
    {
        Err(ConnectorError::CursorLost) => return handle_lost_cursor(work, &name).await,
        page => page?,
    };

    let ChangePage {
        changes,
        cursor,
        has_more: more,
        feeds_changed,
    } = page;

    apply_changes(work, &latest_changes(changes)).await?;
    if let Some(feed) = work.state.feeds.get_mut(&name) {
        feed.cursor = Some(cursor);
    }

    if !more {
        done.push(name);
    }

    work.state.phase = Some(if feeds_changed {
        RunPhase::Feeds
    } else {
        RunPhase::Changes { done }
    });

    Ok(())
}

/// Ends the phase. The selected items are examined again if one of them, or a folder above one, has
/// changed, because the changes of the items below do not show that.
fn end_phase(work: &mut StepState<'_>) -> Result<(), TickError> {
    work.state.phase = Some(if work.state.roots_changed && work.tools.flags.roots {
        RunPhase::Roots { next: 0 }
    } else {
        RunPhase::Walk
    });
    Ok(())
}

/// Handles a lost cursor: the changes are unknown, so everything is scanned again. If this happens
/// twice in a run, the provider does not behave as documented, and the scan is left to the next
/// run.
async fn handle_lost_cursor(work: &mut StepState<'_>, feed: &str) -> Result<(), TickError> {
    let again = work.state.scanning_since.is_some();
    if let Some(feed) = work.state.feeds.get_mut(feed) {
        feed.cursor = None;
    }

    work.state.must_scan = true;
    work.state.scanning_since = None;
    work.state.phase = Some(RunPhase::Feeds);
    if again {
        // The halt discards what is not committed, and the next run would continue with the same
        // lost cursor.
        work.commit_tick().await?;
        return Err(TickError::Provider(ConnectorError::CursorLost));
    }

    Ok(())
}

/// Keeps only the last change of each item.
fn latest_changes(changes: Vec<ItemChange>) -> Vec<ItemChange> {
    let mut seen = HashSet::new();
    let mut latest: Vec<ItemChange> = changes
        .into_iter()
        .rev()
        .filter(|change| seen.insert(change.id.clone()))
        .collect();
    latest.reverse();
    latest
}

async fn apply_changes(work: &mut StepState<'_>, changes: &[ItemChange]) -> Result<(), TickError> {
    let items: Vec<ProviderItem> = changes
        .iter()
        .filter_map(|change| change.item.clone())
        .collect();
    work.load_for_items(&items).await?;
    let parents: Vec<String> = items
        .iter()
        .filter_map(|item| item.parent.clone())
        .collect();
    let gone = changes.iter().filter(|change| change.item.is_none());
    let gone: Vec<String> = gone.map(|change| change.id.clone()).collect();
    work.load_nodes(&gone).await?;
    // An item that is gone from one feed may have moved to another one.
    work.look_up_items(&[parents, gone].concat()).await?;
    let above: HashSet<String> = work
        .state
        .roots
        .values()
        .flat_map(|root| root.chain.iter().cloned())
        .collect();
    for change in changes {
        work.state.roots_changed |=
            work.selected.contains(&change.id) || above.contains(&change.id);
        match apply_change(work, change).await {
            // The record stays until the next scan, and the other changes continue.
            Err(TickError::Withheld) => {}
            done => done?,
        }
    }

    Ok(())
}

async fn apply_change(work: &mut StepState<'_>, change: &ItemChange) -> Result<(), TickError> {
    let flags = work.tools.flags;
    if change.item.is_none() && !flags.remove_reported {
        return Ok(());
    }

    let item = match change.item.clone() {
        Some(item) => Some(item),
        None => work.look_up_item(&change.id).await?,
    };

    if work.is_in_scope(item.as_ref()).await? {
        return match item {
            Some(item) => record_present_item(work, &item).await,
            None => Ok(()),
        };
    }

    // Selected items are added and removed as a whole when the roots are examined.
    let guarded = flags.root_guard && work.selected.contains(&change.id);
    if !guarded && (flags.remove_unknown || work.current_node(&change.id).await?.is_some()) {
        work.remove_item(&change.id, false).await?;
        if flags.subtree {
            work.enqueue_removal_below(&change.id, false)?;
        }
    }

    work.enqueue_shortcuts_to(&change.id).await
}

/// Handles a change of an item in scope. A folder may have brought along everything below it
/// without any further change.
async fn record_present_item(
    work: &mut StepState<'_>,
    item: &ProviderItem,
) -> Result<(), TickError> {
    let flags = work.tools.flags;
    let stamp = work.step_number();
    if flags.ancestors && !work.selected.contains(&item.id) {
        for folder in work.unknown_folders_above(item).await? {
            let path = work.path_of_item(&folder).await?;
            work.record_item(&folder, path, stamp).await?;
            // A folder without a parent may be a whole account. If such a folder is new, its own
            // change follows.
            if work.is_selective() || folder.parent.is_some() {
                work.enqueue_walk(&folder.id, folder.drive.as_deref(), stamp, true)
                    .await?;
            }
        }
    }

    let known = work.current_node(&item.id).await?.is_some();
    let path = work.path_of_item(item).await?;
    work.record_item(item, path, stamp).await?;
    if is_folder(item) && flags.subtree && (!known || flags.walk_known_folders) {
        work.enqueue_walk(&item.id, item.drive.as_deref(), stamp, true)
            .await?;
    }

    Ok(())
}
