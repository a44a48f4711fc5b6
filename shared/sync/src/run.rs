//! The beginning and the end of a run, and its outcome in the record of the connection.

use domain::Timestamp;
use domain::connection::{
    Connection, ConnectionErrorKind, ConnectionProblem, ConnectionStatus, Run, RunPhase, RunState,
    RunTrigger, SyncQueue, SyncState,
};
use domain::job::MAX_DELAY_SECONDS;

use crate::limits::GRACE_SECONDS;
use crate::queue::{self, FetchEntry};
use crate::step::{self, NextStep};
use crate::work::{StepState, TickError};

/// The seconds until a removal that was held back is examined again.
const REMOVAL_CONFIRM_SECONDS: i64 = 3600;
/// The seconds until files that wait for a model are tried again.
const MODEL_RETRY_SECONDS: i64 = 900;

/// Takes the lease, and begins a run if none is in progress.
pub(crate) async fn begin_run(work: &mut StepState<'_>) -> Result<(), TickError> {
    let now = work.now();
    let fresh = work.state.run.is_none();
    if fresh {
        let trigger = work.connection.requested.unwrap_or(RunTrigger::Cron);
        start_run(&mut work.state, trigger, now);
    }

    if let Some(run) = work.state.run.clone() {
        work.batch.set_run(run);
    }

    work.commit_tick().await?;
    let run = work.state.run.clone();
    let id = work.connection.id.clone();
    let taken = step::update_connection(work.tools, work.tenant, &id, |connection| {
        if !is_synchronized(connection) {
            return false;
        }
        if fresh {
            connection.requested = None;
            connection.last_run.clone_from(&run);
        }
        step::schedule_recovery(connection, now, 0);
        true
    });
    match taken.await? {
        Some(connection) if is_synchronized(&connection) => work.connection = connection,
        // The connection is being deleted, which is the work of another step.
        _ => {
            work.release_lease(None).await?;
            return Err(TickError::Fenced);
        }
    }

    Ok(())
}

fn start_run(state: &mut SyncState, trigger: RunTrigger, now: Timestamp) {
    state.runs += 1;
    state.judged = 0;
    state.phase = Some(RunPhase::Feeds);
    state.run = Some(Run::start(state.runs, trigger, now));
}

/// Checks whether a connection is synchronized now, or would be once its problem is solved.
pub(crate) fn is_synchronized(connection: &Connection) -> bool {
    use ConnectionStatus as S;
    matches!(connection.status, S::Active | S::Expired | S::Suspended)
}

/// Completes the run: records its outcome in the connection, and schedules the next run.
pub(crate) async fn complete_run(work: &mut StepState<'_>) -> Result<NextStep, TickError> {
    let now = work.now();
    let pause = seconds_until_next_run(work).await?;
    let held = work.state.held_by_run == Some(work.run_number());
    let run = close_run(work, RunState::Completed, None);
    work.release_lease(None).await?;

    let problem = held.then(|| {
        new_problem(
            ConnectionErrorKind::RemovalHeld,
            REMOVAL_HELD_MESSAGE,
            now,
            None,
        )
    });
    let id = work.connection.id.clone();
    let saved = step::update_connection(work.tools, work.tenant, &id, |connection| {
        if !is_synchronized(connection) {
            return false;
        }
        connection.status = ConnectionStatus::Active;
        connection.problem.clone_from(&problem);
        connection.last_run.clone_from(&run);
        let at = if connection.requested.is_some() {
            now
        } else {
            now.plus_seconds(pause)
        };
        connection.next_run_at = Some(at);
        true
    });
    let again = saved
        .await?
        .is_some_and(|connection| connection.requested.is_some());

    Ok(match pause {
        _ if again => NextStep::Again,
        // A later time is only stored in the record of the connection.
        pause if pause <= i64::from(MAX_DELAY_SECONDS) => NextStep::Later(pause),
        _ => NextStep::Idle,
    })
}

/// The message about a removal that was held back, shown to users.
pub(crate) const REMOVAL_HELD_MESSAGE: &str = "So many items are gone at once that their documents stay until a second look confirms \
    it; the next run looks again by itself.";

/// Ends the run in the state, which the next commit stores.
pub(crate) fn close_run(
    work: &mut StepState<'_>,
    end: RunState,
    error: Option<(ConnectionErrorKind, String)>,
) -> Option<Run> {
    let now = work.now();
    let mut run = work.state.run.take()?;
    run.state = end;
    run.completed_at = Some(now);
    if work.state.held_by_run == Some(run.number) && error.is_none() {
        run.error = Some((
            ConnectionErrorKind::RemovalHeld,
            REMOVAL_HELD_MESSAGE.into(),
        ));
    }

    run.error = error.or(run.error);
    work.batch.set_run(run.clone());
    work.state.phase = None;

    Some(run)
}

/// Returns the problem to record. It keeps the time and the count of the previous problem if that
/// is of the same kind.
pub(crate) fn new_problem(
    kind: ConnectionErrorKind,
    message: &str,
    now: Timestamp,
    before: Option<&ConnectionProblem>,
) -> ConnectionProblem {
    let before = before.filter(|before| before.kind == kind);
    ConnectionProblem {
        kind,
        message: message.to_owned(),
        since: before.map_or(now, |before| before.since),
        attempts: before.map_or(0, |before| before.attempts) + 1,
    }
}

/// Returns the seconds until the next run unless somebody requests one earlier. The pause is
/// shorter than the schedule's if documents or files are waiting.
async fn seconds_until_next_run(work: &mut StepState<'_>) -> Result<i64, TickError> {
    let mut pause = work.connection.provider.run_interval_seconds();
    let held = work.state.held_by_run.is_some();
    if !work
        .first_entries(SyncQueue::Leave, None, 1)
        .await?
        .is_empty()
    {
        // Every waiting removal was recorded by now, so all of them are due after one grace period.
        pause = pause.min(if held {
            REMOVAL_CONFIRM_SECONDS
        } else {
            GRACE_SECONDS + 5
        });
    }

    if let Some(seconds) = seconds_until_retry(work).await? {
        pause = pause.min(seconds);
    }

    let unjudged = work.state.judged >= crate::limits::MAX_MODEL_QUESTIONS && !work.is_full();
    if unjudged && has_waiting_files(work).await? {
        pause = pause.min(MODEL_RETRY_SECONDS);
    }

    Ok(pause)
}

/// Returns the seconds until a file that could not be fetched is worth another attempt, or `None`
/// if no such file has room within the document limit.
async fn seconds_until_retry(work: &StepState<'_>) -> Result<Option<i64>, TickError> {
    let rows = work.tools.limits.rows;
    let page = work
        .first_entries(SyncQueue::Fetch, Some(queue::RETRIES_START), rows)
        .await?;

    let now = work.now();
    let mut soonest: Option<i64> = None;
    for entry in page {
        let waiting: FetchEntry = queue::parse_value(&entry)?;
        if waiting.new && work.is_full() {
            continue;
        }
        let seconds = waiting
            .from
            .map_or(MODEL_RETRY_SECONDS, |from| now.seconds_until(from).max(1));
        soonest = Some(soonest.map_or(seconds, |least| least.min(seconds)));
    }

    Ok(soonest)
}

async fn has_waiting_files(work: &StepState<'_>) -> Result<bool, TickError> {
    let first = work.first_entries(SyncQueue::Fetch, None, 1).await?;
    Ok(first
        .first()
        .is_some_and(|entry| !entry.key.starts_with(queue::RETRIES_START)))
}
