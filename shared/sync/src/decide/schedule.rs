//! Decides when runs begin and end, and when the next one is due.

use domain::Timestamp;
use domain::connection::{
    Connection, ConnectionErrorKind, ConnectionStatus, Run, RunPhase, RunState, RunTrigger,
    SyncScope, SyncState,
};

use crate::limits::{GRACE_SECONDS, MESSAGE_LOST_SECONDS};

/// The message about a removal that was held back, shown to users.
pub(crate) const REMOVAL_HELD_MESSAGE: &str = "Many items disappeared at once. Their documents \
    stay until the next run, which starts by itself, confirms that the items are gone.";
/// The message about a filter prompt that nothing can decide by, shown to users.
pub(crate) const MODEL_REQUIRED_MESSAGE: &str = "The organization's filter prompt needs a \
    model, and this service has none. Configure a model or remove the filter prompt. Until then, \
    files wait.";
/// The seconds until a removal that was held back is examined again.
const REMOVAL_CONFIRM_SECONDS: i64 = 3600;
/// The seconds until files that wait for a model are tried again.
pub(crate) const MODEL_RETRY_SECONDS: i64 = 900;
/// The seconds added to the grace period, so that it is over when the run begins.
const GRACE_MARGIN_SECONDS: i64 = 5;

/// Checks whether a step has anything to do for a connection.
pub(crate) fn has_work(connection: &Connection, state: &SyncState, now: Timestamp) -> bool {
    let is_due = connection.next_run_at.is_some_and(|at| at <= now);
    let has_items = connection.scope == SyncScope::Full || connection.selection > 0;

    match connection.status {
        ConnectionStatus::Deleting => true,
        _ if is_synchronized(connection) => has_items && (is_due || state.run.is_some()),
        _ => false,
    }
}

/// Makes a connection due after `pause` seconds and a margin of [`MESSAGE_LOST_SECONDS`], so that a
/// run in progress continues even if its message is lost.
pub(crate) fn schedule_recovery(connection: &mut Connection, now: Timestamp, pause: i64) {
    connection.next_run_at = Some(now.plus_seconds(pause + MESSAGE_LOST_SECONDS));
}

/// Checks whether a connection is synchronized now, or would be once its problem is solved.
pub(crate) fn is_synchronized(connection: &Connection) -> bool {
    use ConnectionStatus as S;
    matches!(connection.status, S::Active | S::Expired | S::Suspended)
}

/// Begins a run.
pub(crate) fn start_run(state: &mut SyncState, trigger: RunTrigger, now: Timestamp) {
    state.runs += 1;
    state.judged = 0;
    state.phase = Some(RunPhase::Feeds);
    state.run = Some(Run::start(state.runs, trigger, now));
}

/// Ends the run in the state, and returns it with its outcome.
pub(crate) fn close_run(
    state: &mut SyncState,
    end: RunState,
    error: Option<(ConnectionErrorKind, String)>,
    now: Timestamp,
) -> Option<Run> {
    let mut run = state.run.take()?;
    run.state = end;
    run.completed_at = Some(now);
    if error.is_some() {
        run.error = error;
    } else if state.held_by_run == Some(run.number) {
        run.error = Some((
            ConnectionErrorKind::RemovalHeld,
            REMOVAL_HELD_MESSAGE.into(),
        ));
    }

    state.phase = None;
    Some(run)
}

/// The work that waits at the end of a run.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct WaitingWork {
    /// `true` if documents wait to be removed. All of them are due after one grace period.
    pub(crate) has_removals: bool,
    /// `true` if removals are held back.
    pub(crate) is_held_back: bool,
    /// The seconds until a file that failed is tried again.
    pub(crate) seconds_until_retry: Option<i64>,
    /// `true` if files wait until the model may be asked again.
    pub(crate) has_unanswered_questions: bool,
}

/// Returns the seconds until the next run: the interval of the provider, or less if work waits.
pub(crate) fn seconds_until_next_run(interval: i64, waiting: WaitingWork) -> i64 {
    let mut seconds = interval;
    if waiting.has_removals {
        seconds = seconds.min(if waiting.is_held_back {
            REMOVAL_CONFIRM_SECONDS
        } else {
            GRACE_SECONDS + GRACE_MARGIN_SECONDS
        });
    }
    if let Some(retry) = waiting.seconds_until_retry {
        seconds = seconds.min(retry);
    }
    if waiting.has_unanswered_questions {
        seconds = seconds.min(MODEL_RETRY_SECONDS);
    }

    seconds
}

/// Returns the seconds until the run that was requested during `run`, or `None` if none was
/// requested. A run that a notification requests keeps its distance from `run`. Providers send a
/// notification for each change, and runs would otherwise follow one another without a pause.
pub(crate) fn seconds_until_requested_run(
    requested: Option<RunTrigger>,
    run: Option<&Run>,
    now: Timestamp,
) -> Option<i64> {
    match (requested?, run) {
        (RunTrigger::Event, Some(run)) => Some(now.seconds_until(run.next_event_run_at())),
        _ => Some(0),
    }
}
