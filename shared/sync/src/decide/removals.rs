//! Decides when the documents of items that are gone are removed: after a grace period, and many at
//! once only after each item was examined a second time.

use domain::Timestamp;
use domain::connection::{PendingRemoval, RunPhase, SyncState};

use crate::limits::{GRACE_SECONDS, MAX_REMOVALS, MAX_REMOVALS_PERCENT, MIN_HELD_REMOVALS};

/// Decides whether the removals of a run are held back because they are too many. `count` is the
/// number of waiting removals that no user has asked for, `documents` the number of all documents.
pub(crate) fn must_hold_back(count: usize, documents: u64) -> bool {
    let removals = u64::try_from(count).unwrap_or(u64::MAX);
    let exceeds_share = removals >= MIN_HELD_REMOVALS
        && removals.saturating_mul(100) > documents.saturating_mul(MAX_REMOVALS_PERCENT);

    count > MAX_REMOVALS || exceeds_share
}

/// The treatment of the waiting removals in a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RemovalMode {
    /// Documents are removed when their grace period is over.
    Normal,
    /// This run holds removals back: only documents of deselected items are removed.
    HoldBack,
    /// Each item is examined again, because an earlier run has held removals back, or because
    /// nothing else would report that an item is back.
    Confirm,
}

/// Returns the treatment of the waiting removals in the current run.
pub(crate) fn removal_mode(state: &SyncState, reports_changes: bool) -> RemovalMode {
    let run = state.run.as_ref().map_or(0, |run| run.number);
    match state.held_by_run {
        None if reports_changes => RemovalMode::Normal,
        None => RemovalMode::Confirm,
        Some(held) if held == run => RemovalMode::HoldBack,
        Some(_) => RemovalMode::Confirm,
    }
}

/// The decision about a waiting removal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RemovalDecision {
    /// The document stays for now.
    Wait,
    /// The document is removed if a new lookup shows that the item is gone.
    LookUp,
    /// The document is removed.
    Remove,
}

/// Decides about a waiting removal. `run_started_at` is the beginning of the run.
pub(crate) fn decide_removal(
    removal: &PendingRemoval,
    mode: RemovalMode,
    run_started_at: Timestamp,
    now: Timestamp,
) -> RemovalDecision {
    if removal.deselected {
        return RemovalDecision::Remove;
    }

    let is_due = removal.since.plus_seconds(GRACE_SECONDS) <= now;
    match mode {
        RemovalMode::Normal if is_due => RemovalDecision::Remove,
        // A removal of this run was not seen by the run that held back the others.
        RemovalMode::Confirm if is_due && removal.since < run_started_at => RemovalDecision::LookUp,
        _ => RemovalDecision::Wait,
    }
}

/// Checks whether a removal that still waits at the end of a run needs another run soon. Where the
/// provider reports no changes, the next scheduled run suffices if this one has looked up the item
/// and the provider did not say that it is gone. `run_started_at` is the beginning of the run.
pub(crate) fn needs_another_run(
    removal: &PendingRemoval,
    reports_changes: bool,
    run_started_at: Timestamp,
) -> bool {
    reports_changes || removal.since.plus_seconds(GRACE_SECONDS) > run_started_at
}

/// Ends the removal of documents. `has_waiting_files` says whether new files wait for room within
/// the document limit, which the removals may have made.
pub(crate) fn end_removals(state: &mut SyncState, has_waiting_files: bool, is_full: bool) {
    // This run has confirmed what an earlier one held back.
    let run = state.run.as_ref().map_or(0, |run| run.number);
    if state.held_by_run.is_some_and(|held| held != run) {
        state.held_by_run = None;
    }

    let has_removed = state.run.as_ref().is_some_and(|run| run.removed > 0);
    let has_room = has_removed && has_waiting_files && state.limited.is_some() && !is_full;
    state.phase = Some(if has_room {
        RunPhase::Fetch
    } else {
        RunPhase::Watch
    });
}
