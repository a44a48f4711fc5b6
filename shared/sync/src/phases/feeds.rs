//! Lists the change feeds, and decides whether a scan is required.

use domain::connection::RunPhase;

use crate::limits::RECONCILE_DAYS;
use crate::work::{StepState, TickError};

/// The pending cursor of a feed that has no cursor before the scan.
const NO_CURSOR: &str = "";
/// The number of feeds whose cursors one tick takes.
const FEEDS_PER_TICK: usize = 10;

pub(crate) async fn update_feeds(work: &mut StepState<'_>) -> Result<(), TickError> {
    let feeds = work.connector.list_feeds(&work.access).await?;
    work.count_requests(1);
    if work.state.rules.is_empty() {
        work.state.rules.clone_from(&work.filter.digest);
    }

    if needs_scan(work, &feeds) && !begin_scan(work, &feeds).await? {
        return Ok(());
    }

    work.state.phase = Some(if work.is_selective() {
        RunPhase::Roots { next: 0 }
    } else {
        phase_after_roots(work)
    });

    Ok(())
}

/// Returns the phase that follows the examination of the selected items.
pub(crate) fn phase_after_roots(work: &StepState<'_>) -> RunPhase {
    if work.state.feeds.values().any(|feed| feed.pending.is_some()) {
        RunPhase::Scan {
            feed: None,
            page: None,
        }
    } else if work.connector.reports_changes() {
        RunPhase::Changes { done: Vec::new() }
    } else {
        RunPhase::Walk
    }
}

/// Checks whether to begin a scan. A scan in progress suffices, unless the selection or the feeds
/// have changed since it began.
fn needs_scan(work: &StepState<'_>, feeds: &[String]) -> bool {
    let state = &work.state;
    let reselected = work.is_selective() && work.selection.rev != state.selection;
    let others = feeds.len() != state.feeds.len()
        || feeds.iter().any(|feed| !state.feeds.contains_key(feed));
    let lost = state
        .feeds
        .values()
        .any(|feed| feed.cursor.is_none() && feed.pending.is_none());
    if reselected || others || (lost && work.connector.reports_changes()) {
        return true;
    }

    let due = state
        .reconciled_at
        .is_none_or(|at| at.plus_seconds(RECONCILE_DAYS * 86_400) <= work.now());
    let wanted = state.must_scan || due || !work.connector.reports_changes();

    wanted && state.scanning_since.is_none()
}

/// Prepares a scan by taking the cursors. All later changes will be reported after these cursors,
/// so the scan may miss them. One tick takes only some of the cursors; returns whether all are
/// taken. A cursor that was taken for an earlier scan is kept.
async fn begin_scan(work: &mut StepState<'_>, feeds: &[String]) -> Result<bool, TickError> {
    work.state.feeds.retain(|feed, _| feeds.contains(feed));
    for feed in feeds {
        work.state.feeds.entry(feed.clone()).or_default();
    }

    work.state.must_scan = true;
    work.state.scanning_since = None;
    let early = work.connector.reports_changes() && work.tools.flags.token_before;
    let waiting = work
        .state
        .feeds
        .iter()
        .filter(|(_, feed)| feed.pending.is_none());
    let waiting: Vec<String> = waiting.map(|(name, _)| name.clone()).collect();
    for feed in waiting.iter().take(FEEDS_PER_TICK) {
        let cursor = if early {
            work.count_requests(1);
            work.connector.current_cursor(&work.access, feed).await?
        } else {
            NO_CURSOR.to_owned()
        };
        let known = work.state.feeds.entry(feed.clone()).or_default();
        known.pending = Some(cursor);
    }

    if waiting.len() > FEEDS_PER_TICK {
        return Ok(false);
    }

    work.state.selection = work.selection.rev;
    work.state.scanning_since = Some(work.step_number());

    Ok(true)
}

/// Replaces the cursors by the pending ones: the scan is recorded, and from now on only changes are
/// read.
pub(crate) async fn adopt_pending_cursors(work: &mut StepState<'_>) -> Result<(), TickError> {
    let pending: Vec<(String, String)> = work
        .state
        .feeds
        .iter()
        .filter_map(|(name, feed)| Some((name.clone(), feed.pending.clone()?)))
        .collect();
    for (name, mut cursor) in pending {
        if work.connector.reports_changes() && !work.tools.flags.token_before {
            cursor = work.connector.current_cursor(&work.access, &name).await?;
        }
        if let Some(feed) = work.state.feeds.get_mut(&name) {
            feed.pending = None;
            feed.cursor = Some(cursor);
        }
    }

    Ok(())
}
