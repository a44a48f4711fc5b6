//! Lists the change feeds, and begins a scan if one is required.

use crate::decide::scans::{self, NO_CURSOR};
use crate::step_state::{StepState, TickError};

/// The number of feeds whose cursors one tick takes.
const FEEDS_PER_TICK: usize = 10;

/// Lists the feeds, and takes the cursors that precede a scan if one is required.
pub(crate) async fn update_feeds(step: &mut StepState<'_>) -> Result<(), TickError> {
    let feeds = step.connector.list_feeds(&step.access).await?;
    step.count_requests(1);
    if step.state.rules.is_empty() {
        step.state.rules.clone_from(&step.filter.digest);
    }

    let (selection, now) = (step.selection_revision(), step.now());
    let reports_changes = step.connector.reports_changes();
    if scans::needs_scan(&step.state, &feeds, selection, reports_changes, now) {
        let has_all_cursors = take_cursors(step, &feeds).await?;
        if !has_all_cursors {
            return Ok(());
        }
        scans::begin_scan(&mut step.state, step.selection.rev);
    }

    let is_selective = step.is_selective();
    let phase = scans::phase_after_feeds(&step.state, is_selective, reports_changes);
    step.state.phase = Some(phase);

    Ok(())
}

/// Takes the cursors that the scan precedes. One tick takes only some of them; returns whether all
/// are taken.
async fn take_cursors(step: &mut StepState<'_>, feeds: &[String]) -> Result<bool, TickError> {
    let waiting = scans::prepare_scan(&mut step.state, feeds);
    for feed in waiting.iter().take(FEEDS_PER_TICK) {
        let cursor = if step.connector.reports_changes() {
            step.count_requests(1);
            step.connector.current_cursor(&step.access, feed).await?
        } else {
            NO_CURSOR.to_owned()
        };
        step.state.feeds.entry(feed.clone()).or_default().pending = Some(cursor);
    }

    Ok(waiting.len() <= FEEDS_PER_TICK)
}
