//! Decides what becomes of the selected items.

use domain::connection::{ItemRecord, SelectedItemState, SyncState};
use domain::ports::ProviderItem;

use crate::decide::scans::is_listing;
use crate::decide::walks::NewWalk;
use crate::item_paths::is_folder;

/// The writes that follow from a selected item that exists.
#[derive(Debug, PartialEq)]
pub(crate) struct SelectedItemDecision {
    /// The state of the selected item.
    pub(crate) state: SelectedItemState,
    /// The number to store as [`ItemRecord::seen`]. A walk skips a folder that was found since the
    /// walk began, because it has reached that folder already. The examination reaches nothing below
    /// the item, so it changes the number only if it begins a walk through the item.
    pub(crate) seen: u64,
    /// The walk through it, if it is new, has reappeared or was moved, or if a scan is in progress.
    pub(crate) walk: Option<NewWalk>,
}

/// Decides about a selected item that exists. `known` is its state so far, `chain` are the folders
/// above it, and `above` is their path.
pub(crate) fn decide_selected_item(
    sync: &SyncState,
    known: Option<&SelectedItemState>,
    item: &ProviderItem,
    record: Option<&ItemRecord>,
    chain: Vec<String>,
    above: String,
) -> SelectedItemDecision {
    let (was_active, was_above) = match known {
        Some(known) => (known.active, known.above.as_str()),
        None => (false, ""),
    };
    let is_moved = above != was_above || record.is_some_and(|record| record.name != item.name);
    let is_scanning = is_listing(sync);
    let is_walked = is_scanning || is_moved || !was_active || record.is_none();

    let seen = match record {
        Some(record) if !is_walked => record.seen,
        _ => sync.step,
    };
    let stamp = match sync.scanning_since {
        Some(since) if is_scanning => since,
        _ => sync.step,
    };
    let walk = NewWalk {
        stamp,
        restarts_listing: !is_scanning,
    };

    SelectedItemDecision {
        state: SelectedItemState {
            active: true,
            above,
            chain,
        },
        seen,
        walk: (is_walked && is_folder(item)).then_some(walk),
    }
}

/// Returns the state of a selected item that is gone. Its path stays, to recognize the item when it
/// reappears.
pub(crate) fn state_of_gone_item(known: Option<&SelectedItemState>) -> SelectedItemState {
    SelectedItemState {
        active: false,
        ..known.cloned().unwrap_or_default()
    }
}

/// Returns the items that are no longer selected, at most `limit`.
pub(crate) fn deselected_items(
    sync: &SyncState,
    is_selected: impl Fn(&str) -> bool,
    limit: usize,
) -> Vec<String> {
    let mut deselected = Vec::new();
    for id in sync.selected_items.keys() {
        if deselected.len() == limit {
            break;
        }
        if !is_selected(id) {
            deselected.push(id.clone());
        }
    }
    deselected
}
