//! Decides what the changes that a feed reports mean.

use std::collections::{BTreeMap, HashSet};

use domain::connection::{RunPhase, SelectedItemState, SyncState};
use domain::ports::{ItemChange, ProviderItem};

use crate::item_paths::is_folder;

/// The effect of a reported change on the records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ChangeEffect {
    /// The item is recorded in its current state.
    Record,
    /// The item and everything below it are removed, whether they have records or not: a change may
    /// be reported before the item was ever listed.
    Remove,
    /// Nothing. Selected items are added and removed as a whole when the selection is examined.
    LeaveToSelection,
}

/// Decides the effect of a change of an item. An item that a feed reports as gone may be in scope:
/// it may have moved to another feed.
pub(crate) fn decide_change(is_in_scope: bool, is_selected: bool) -> ChangeEffect {
    match (is_in_scope, is_selected) {
        (true, _) => ChangeEffect::Record,
        (false, true) => ChangeEffect::LeaveToSelection,
        (false, false) => ChangeEffect::Remove,
    }
}

/// Checks whether to walk through an item that has changed. A folder that moves brings along
/// everything below it, and the feed reports no change of those items. This is also true of a folder
/// that had a record before.
pub(crate) fn must_walk_changed(item: &ProviderItem) -> bool {
    is_folder(item)
}

/// Checks whether to record the folders above a changed item that have no records. A selected item
/// needs none of them.
pub(crate) fn needs_ancestors(is_selected: bool) -> bool {
    !is_selected
}

/// Checks whether to walk through a folder that was recorded because it is above a changed item. A
/// folder without a parent may be a whole account; if such a folder is new, its own change follows.
pub(crate) fn must_walk_ancestor(folder: &ProviderItem, is_selective: bool) -> bool {
    is_selective || folder.parent.is_some()
}

/// Checks whether a change concerns a selected item or a folder above one.
pub(crate) fn concerns_selection(
    id: &str,
    selected: &HashSet<String>,
    states: &BTreeMap<String, SelectedItemState>,
) -> bool {
    selected.contains(id)
        || states
            .values()
            .any(|state| state.chain.iter().any(|above| above == id))
}

/// Keeps only the last change of each item.
pub(crate) fn latest_changes(changes: Vec<ItemChange>) -> Vec<ItemChange> {
    let mut seen = HashSet::new();
    let mut latest = Vec::with_capacity(changes.len());
    for change in changes.into_iter().rev() {
        if seen.insert(change.id.clone()) {
            latest.push(change);
        }
    }

    latest.reverse();
    latest
}

/// Stores the cursor after a page of changes, and moves to the phase that follows. `done` are the
/// feeds whose changes were read before.
pub(crate) fn advance_cursor(
    state: &mut SyncState,
    feed: String,
    cursor: String,
    has_more: bool,
    feeds_changed: bool,
    mut done: Vec<String>,
) {
    if let Some(feed) = state.feeds.get_mut(&feed) {
        feed.cursor = Some(cursor);
    }
    if !has_more {
        done.push(feed);
    }

    state.phase = Some(if feeds_changed {
        RunPhase::Feeds
    } else {
        RunPhase::Changes { done }
    });
}

/// Returns the phase after all changes. The selected items are examined again if one of them, or a
/// folder above one, has changed. The scope and the paths of everything below them depend on that,
/// and the feed reports no change of the items below.
pub(crate) fn phase_after_changes(state: &SyncState) -> RunPhase {
    if state.selected_items_changed {
        RunPhase::SelectedItems { next: 0 }
    } else {
        RunPhase::Walk
    }
}

/// Records that the cursor of a feed is lost: the changes are unknown, so everything is scanned
/// again. Returns whether this happened twice in the run. Then the provider does not behave as
/// documented, and the scan is left to the next run.
pub(crate) fn record_lost_cursor(state: &mut SyncState, feed: &str) -> bool {
    let is_second_loss = state.scanning_since.is_some();
    if let Some(feed) = state.feeds.get_mut(feed) {
        feed.cursor = None;
    }

    state.must_scan = true;
    state.scanning_since = None;
    state.phase = Some(RunPhase::Feeds);

    is_second_loss
}
