//! Lists the change feeds, and decides whether a scan is required.

use domain::connection::Phase;

use crate::limits::RECONCILE_DAYS;
use crate::work::{Halt, Work};

/// The pending cursor of a feed that has no cursor before the scan.
const NONE_YET: &str = "";
/// The number of feeds whose cursors one tick takes.
const AT_A_TIME: usize = 10;

pub(crate) async fn tick(work: &mut Work<'_>) -> Result<(), Halt> {
    let feeds = work.connector.feeds(&work.access).await?;
    work.asked(1);
    if work.state.rules.is_empty() {
        work.state.rules.clone_from(&work.filter.digest);
    }

    if has_to_scan(work, &feeds) && !begin_scan(work, &feeds).await? {
        return Ok(());
    }

    work.state.phase = Some(if work.is_selective() {
        Phase::Roots { next: 0 }
    } else {
        after_roots(work)
    });

    Ok(())
}

/// Returns the phase that follows the examination of the selected items.
pub(crate) fn after_roots(work: &Work<'_>) -> Phase {
    if work.state.feeds.values().any(|feed| feed.pending.is_some()) {
        Phase::Scan {
            feed: None,
            page: None,
        }
    } else if work.connector.has_changes() {
        Phase::Changes { done: Vec::new() }
    } else {
        Phase::Walk
    }
}

/// Checks whether to begin a scan. A scan in progress suffices, unless the selection or the feeds
/// have changed since it began.
fn has_to_scan(work: &Work<'_>, feeds: &[String]) -> bool {
    let state = &work.state;
    let reselected = work.is_selective() && work.selection.rev != state.selection;
    let others = feeds.len() != state.feeds.len()
        || feeds.iter().any(|feed| !state.feeds.contains_key(feed));
    let lost = state
        .feeds
        .values()
        .any(|feed| feed.cursor.is_none() && feed.pending.is_none());
    if reselected || others || (lost && work.connector.has_changes()) {
        return true;
    }

    let due = state
        .reconciled_at
        .is_none_or(|at| at.plus_seconds(RECONCILE_DAYS * 86_400) <= work.now());
    let wanted = state.must_scan || due || !work.connector.has_changes();

    wanted && state.scanning_since.is_none()
}

/// Prepares a scan by taking the cursors. All later changes will be reported after these cursors,
/// so the scan may miss them. One tick takes only some of the cursors; returns whether all are
/// taken. A cursor that was taken for an earlier scan is kept.
async fn begin_scan(work: &mut Work<'_>, feeds: &[String]) -> Result<bool, Halt> {
    work.state.feeds.retain(|feed, _| feeds.contains(feed));
    for feed in feeds {
        work.state.feeds.entry(feed.clone()).or_default();
    }

    work.state.must_scan = true;
    work.state.scanning_since = None;
    let early = work.connector.has_changes() && work.tools.flags.token_before;
    let waiting = work
        .state
        .feeds
        .iter()
        .filter(|(_, feed)| feed.pending.is_none());
    let waiting: Vec<String> = waiting.map(|(name, _)| name.clone()).collect();
    for feed in waiting.iter().take(AT_A_TIME) {
        let cursor = if early {
            work.asked(1);
            work.connector.head(&work.access, feed).await?
        } else {
            NONE_YET.to_owned()
        };
        let known = work.state.feeds.entry(feed.clone()).or_default();
        known.pending = Some(cursor);
    }

    if waiting.len() > AT_A_TIME {
        return Ok(false);
    }

    work.state.selection = work.selection.rev;
    work.state.scanning_since = Some(work.stamp());

    Ok(true)
}

/// Replaces the cursors by the pending ones: the scan is recorded, and from now on only changes are
/// read.
pub(crate) async fn follow(work: &mut Work<'_>) -> Result<(), Halt> {
    let pending: Vec<(String, String)> = work
        .state
        .feeds
        .iter()
        .filter_map(|(name, feed)| Some((name.clone(), feed.pending.clone()?)))
        .collect();
    for (name, mut cursor) in pending {
        if work.connector.has_changes() && !work.tools.flags.token_before {
            cursor = work.connector.head(&work.access, &name).await?;
        }
        if let Some(feed) = work.state.feeds.get_mut(&name) {
            feed.pending = None;
            feed.cursor = Some(cursor);
        }
    }

    Ok(())
}
