//! Decides when everything is scanned, and which cursors follow the scan.

use domain::Timestamp;
use domain::connection::{RunPhase, RunTrigger, SyncState};

use crate::limits::RECONCILE_DAYS;

/// The pending cursor of a feed of a provider that reports no changes.
pub(crate) const NO_CURSOR: &str = "";

/// Checks whether to begin a scan. A scan in progress suffices, unless the selection or the feeds
/// have changed since it began. A run that continues with waiting work, such as a file that failed,
/// does not scan. `selection` is the revision of the selection, or `None` if the whole account is
/// synchronized.
pub(crate) fn needs_scan(
    state: &SyncState,
    feeds: &[String],
    selection: Option<u64>,
    reports_changes: bool,
    now: Timestamp,
) -> bool {
    let is_reselected = selection.is_some_and(|revision| revision != state.selection);
    let has_other_feeds = feeds.len() != state.feeds.len()
        || feeds.iter().any(|feed| !state.feeds.contains_key(feed));
    let has_lost_cursor = state
        .feeds
        .values()
        .any(|feed| feed.cursor.is_none() && feed.pending.is_none());
    if is_reselected || has_other_feeds || (has_lost_cursor && reports_changes) {
        return true;
    }

    let is_due = state
        .reconciled_at
        .is_none_or(|at| at.plus_seconds(RECONCILE_DAYS * 86_400) <= now);
    // A user who requests a run wants to see what has changed.
    let is_requested = state
        .run
        .as_ref()
        .is_some_and(|run| run.trigger == RunTrigger::Manual);
    let is_wanted = state.must_scan || is_due || (is_requested && !reports_changes);

    is_wanted && state.scanning_since.is_none()
}

/// Prepares a scan: adopts the list of feeds, and returns those that have no pending cursor yet. A
/// cursor that was taken for an earlier scan is kept.
pub(crate) fn prepare_scan(state: &mut SyncState, feeds: &[String]) -> Vec<String> {
    state.feeds.retain(|feed, _| feeds.contains(feed));
    for feed in feeds {
        state.feeds.entry(feed.clone()).or_default();
    }

    state.must_scan = true;
    state.scanning_since = None;

    let mut waiting = Vec::new();
    for (name, feed) in &state.feeds {
        if feed.pending.is_none() {
            waiting.push(name.clone());
        }
    }
    waiting
}

/// Begins the scan after all its cursors are taken. The feeds report every change during the scan
/// after these cursors, so the scan may miss it.
pub(crate) fn begin_scan(state: &mut SyncState, selection: u64) {
    state.selection = selection;
    state.scanning_since = Some(state.step);
}

/// Checks whether a listing of the scan is in progress.
pub(crate) fn is_listing(state: &SyncState) -> bool {
    state.feeds.values().any(|feed| feed.pending.is_some())
}

/// Returns the phase that follows the list of feeds.
pub(crate) fn phase_after_feeds(
    state: &SyncState,
    is_selective: bool,
    reports_changes: bool,
) -> RunPhase {
    if is_selective {
        RunPhase::SelectedItems { next: 0 }
    } else {
        phase_after_selected_items(state, reports_changes)
    }
}

/// Returns the phase that follows the examination of the selected items.
pub(crate) fn phase_after_selected_items(state: &SyncState, reports_changes: bool) -> RunPhase {
    if is_listing(state) {
        RunPhase::Scan {
            feed: None,
            page: None,
        }
    } else if reports_changes {
        RunPhase::Changes { done: Vec::new() }
    } else {
        RunPhase::Walk
    }
}

/// Ends the walks when no folder is queued any more. After a scan, its cursors are adopted, and the
/// changes during the scan are read.
pub(crate) fn end_walks(state: &mut SyncState, reports_changes: bool) {
    let is_scanned = is_listing(state);
    for feed in state.feeds.values_mut() {
        if let Some(cursor) = feed.pending.take() {
            feed.cursor = Some(cursor);
        }
    }

    state.phase = Some(if is_scanned && reports_changes {
        RunPhase::Changes { done: Vec::new() }
    } else if state.scanning_since.is_some() {
        RunPhase::UnseenItems { after: None }
    } else {
        RunPhase::Refilter { after: None }
    });
}

/// Ends the scan after the items that it has not seen were examined.
pub(crate) fn end_scan(state: &mut SyncState, now: Timestamp) {
    state.scanning_since = None;
    state.must_scan = false;
    state.reconciled_at = Some(now);
    state.phase = Some(RunPhase::Refilter { after: None });
}
