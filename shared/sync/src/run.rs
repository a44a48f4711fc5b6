//! The beginning and the end of a run, and its outcome in the record of the connection.

use domain::connection::{
    ConnectionErrorKind, ConnectionStatus, PendingRemoval, Run, RunState, RunTrigger, SyncQueue,
};
use domain::job::MAX_DELAY_SECONDS;

use crate::context::NextStep;
use crate::decide::failures::new_problem;
use crate::decide::removals::needs_another_run;
use crate::decide::schedule::{
    self, MODEL_REQUIRED_MESSAGE, MODEL_RETRY_SECONDS, REMOVAL_HELD_MESSAGE, WaitingWork,
    is_synchronized,
};
use crate::limits::MAX_MODEL_QUESTIONS;
use crate::queue::{self, FetchEntry};
use crate::step_state::{StepState, TickError};

/// Takes the lease, and begins a run if none is in progress.
pub(crate) async fn begin_run(step: &mut StepState<'_>) -> Result<(), TickError> {
    let now = step.now();
    let is_new = step.state.run.is_none();
    if is_new {
        let trigger = step.connection.requested.unwrap_or(RunTrigger::Cron);
        schedule::start_run(&mut step.state, trigger, now);
    }

    let run = step.state.run.clone();
    if let Some(run) = &run {
        step.writes.set_run(run.clone());
    }
    step.commit_tick().await?;

    let connection = step
        .update_connection(|connection| {
            if !is_synchronized(connection) {
                return false;
            }
            if is_new {
                connection.requested = None;
                connection.last_run.clone_from(&run);
            }
            schedule::schedule_recovery(connection, now, 0);
            true
        })
        .await?;
    match connection {
        Some(connection) if is_synchronized(&connection) => step.connection = connection,
        // The connection is being deleted, which is the work of another step.
        _ => {
            step.release_lease(None).await?;
            return Err(TickError::Fenced);
        }
    }

    Ok(())
}

/// Completes the run: records its outcome in the connection, and schedules the next run.
pub(crate) async fn complete_run(step: &mut StepState<'_>) -> Result<NextStep, TickError> {
    let now = step.now();
    let pause = seconds_until_next_run(step).await?;
    let problem = match completed_run_problem(step) {
        Some((kind, message)) => {
            let known = step.connection.problem.as_ref();
            Some(new_problem(kind, message, now, known))
        }
        None => None,
    };

    let run = close_run(step, RunState::Completed, None);
    step.release_lease(None).await?;

    let mut seconds = pause;
    step.update_connection(|connection| {
        if !is_synchronized(connection) {
            return false;
        }
        connection.status = ConnectionStatus::Active;
        connection.problem.clone_from(&problem);
        // The permission was found to have ended, and works again.
        connection.expires_at.take_if(|at| *at <= now);
        connection.last_run.clone_from(&run);
        let requested =
            schedule::seconds_until_requested_run(connection.requested, run.as_ref(), now);
        seconds = requested.map_or(pause, |requested| requested.min(pause));
        connection.next_run_at = Some(now.plus_seconds(seconds));
        true
    })
    .await?;

    Ok(if seconds == 0 {
        NextStep::Again
    } else if seconds <= i64::from(MAX_DELAY_SECONDS) {
        NextStep::Later(seconds)
    } else {
        // A later time is only stored in the record of the connection.
        NextStep::Idle
    })
}

/// Returns the problem that a completed run leaves to a person.
fn completed_run_problem(step: &StepState<'_>) -> Option<(ConnectionErrorKind, &'static str)> {
    if step.state.held_by_run == Some(step.run_number()) {
        return Some((ConnectionErrorKind::RemovalHeld, REMOVAL_HELD_MESSAGE));
    }

    let needs_model = step.filter.prompt.is_some() && !step.filter.has_model;
    needs_model.then_some((ConnectionErrorKind::ModelRequired, MODEL_REQUIRED_MESSAGE))
}

/// Ends the run in the state, which the next commit stores.
pub(crate) fn close_run(
    step: &mut StepState<'_>,
    end: RunState,
    error: Option<(ConnectionErrorKind, String)>,
) -> Option<Run> {
    let now = step.now();
    let run = schedule::close_run(&mut step.state, end, error, now)?;
    step.writes.set_run(run.clone());
    Some(run)
}

/// Returns the seconds until the next run unless somebody requests one earlier.
async fn seconds_until_next_run(step: &StepState<'_>) -> Result<i64, TickError> {
    let has_asked_enough = step.state.judged >= MAX_MODEL_QUESTIONS && !step.is_full();
    let waiting = WaitingWork {
        has_removals: has_removals_soon(step).await?,
        is_held_back: step.state.held_by_run.is_some(),
        seconds_until_retry: seconds_until_retry(step).await?,
        has_unanswered_questions: has_asked_enough && has_waiting_files(step).await?,
    };

    let interval = step.connection.provider.run_interval_seconds();
    Ok(schedule::seconds_until_next_run(interval, waiting))
}

/// Checks whether the documents to be removed need another run soon: some of them wait, or the item
/// of one is back, and a scan has to find what came back with it.
async fn has_removals_soon(step: &StepState<'_>) -> Result<bool, TickError> {
    let reports_changes = step.connector.reports_changes();
    if step.state.must_scan && !reports_changes {
        return Ok(true);
    }

    let rows = step.context.limits.rows;
    let page = step.first_entries(SyncQueue::Remove, None, rows).await?;
    if step.state.held_by_run.is_some() {
        return Ok(!page.is_empty());
    }

    let now = step.now();
    let run_started_at = step.state.run.as_ref().map_or(now, |run| run.started_at);
    for entry in page {
        let removal: PendingRemoval = queue::parse_value(&entry)?;
        if needs_another_run(&removal, reports_changes, run_started_at) {
            return Ok(true);
        }
    }

    Ok(false)
}

/// Returns the seconds until a file that could not be fetched is worth another attempt, or `None`
/// if no such file has room within the document limit.
async fn seconds_until_retry(step: &StepState<'_>) -> Result<Option<i64>, TickError> {
    let rows = step.context.limits.rows;
    let page = step
        .first_entries(SyncQueue::Fetch, Some(queue::RETRIES_START), rows)
        .await?;

    let now = step.now();
    let mut soonest: Option<i64> = None;
    for entry in page {
        let waiting: FetchEntry = queue::parse_value(&entry)?;
        if waiting.new && step.is_full() {
            continue;
        }
        let seconds = match waiting.from {
            Some(from) => now.seconds_until(from).max(1),
            None => MODEL_RETRY_SECONDS,
        };
        soonest = Some(match soonest {
            Some(earlier) => earlier.min(seconds),
            None => seconds,
        });
    }

    Ok(soonest)
}

async fn has_waiting_files(step: &StepState<'_>) -> Result<bool, TickError> {
    let first = step.first_entries(SyncQueue::Fetch, None, 1).await?;
    let first = first.first();
    Ok(first.is_some_and(|entry| !entry.key.starts_with(queue::RETRIES_START)))
}
