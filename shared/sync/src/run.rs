//! The beginning and the end of a run, and its outcome in the record of the connection.

use domain::Timestamp;
use domain::connection::{
    Connection, ConnectionStatus, ErrorKind, Phase, Problem, Queue, Run, RunState, SyncState,
    Trigger,
};

use crate::keys::{self, Waiting};
use crate::limits::GRACE_SECONDS;
use crate::step::{self, Next};
use crate::work::{Halt, Work};

/// The longest delay of a queue message. A later time is only stored in the record of the
/// connection.
const LONGEST_SECONDS: i64 = 900;
/// The seconds until a removal that was held back is examined again.
const CONFIRM_SECONDS: i64 = 3600;
/// The seconds until files that wait for a model are tried again.
const RETRY_SECONDS: i64 = 900;

/// Takes the lease, and begins a run if none is in progress.
pub(crate) async fn begin(work: &mut Work<'_>) -> Result<(), Halt> {
    let now = work.now();
    let fresh = work.state.run.is_none();
    if fresh {
        let trigger = work.connection.requested.unwrap_or(Trigger::Cron);
        start(&mut work.state, trigger, now);
    }

    if let Some(run) = work.state.run.clone() {
        work.batch.record(run);
    }

    work.commit().await?;
    let run = work.state.run.clone();
    let id = work.connection.id.clone();
    let taken = step::change(work.tools, work.tenant, &id, |connection| {
        if !is_live(connection) {
            return false;
        }
        if fresh {
            connection.requested = None;
            connection.last_run.clone_from(&run);
        }
        step::watch_over(connection, now, 0);
        true
    });
    match taken.await? {
        Some(connection) if is_live(&connection) => work.connection = connection,
        // The connection is being deleted, which is the work of another step.
        _ => {
            work.release(None).await?;
            return Err(Halt::Fenced);
        }
    }

    Ok(())
}

fn start(state: &mut SyncState, trigger: Trigger, now: Timestamp) {
    state.runs += 1;
    state.judged = 0;
    state.phase = Some(Phase::Feeds);
    state.run = Some(Run::begin(state.runs, trigger, now));
}

/// Checks whether a connection is synchronized now, or would be once its problem is solved.
pub(crate) fn is_live(connection: &Connection) -> bool {
    use ConnectionStatus as S;
    matches!(connection.status, S::Active | S::Expired | S::Suspended)
}

/// Completes the run: records its outcome in the connection, and schedules the next run.
pub(crate) async fn end(work: &mut Work<'_>) -> Result<Next, Halt> {
    let now = work.now();
    let pause = pause(work).await?;
    let held = work.state.held_by_run == Some(work.run_number());
    let run = close(work, RunState::Completed, None);
    work.release(None).await?;

    let problem = held.then(|| problem_of(ErrorKind::RemovalHeld, HELD, now, None));
    let id = work.connection.id.clone();
    let saved = step::change(work.tools, work.tenant, &id, |connection| {
        if !is_live(connection) {
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
        _ if again => Next::Again,
        pause if pause <= LONGEST_SECONDS => Next::Later(pause),
        _ => Next::Idle,
    })
}

/// The message about a removal that was held back, shown to users.
pub(crate) const HELD: &str = "So many items are gone at once that their documents stay until a second look confirms \
    it; the next run looks again by itself.";

/// Ends the run in the state, which the next commit stores.
pub(crate) fn close(
    work: &mut Work<'_>,
    end: RunState,
    error: Option<(ErrorKind, String)>,
) -> Option<Run> {
    let now = work.now();
    let mut run = work.state.run.take()?;
    run.state = end;
    run.completed_at = Some(now);
    if work.state.held_by_run == Some(run.number) && error.is_none() {
        run.error = Some((ErrorKind::RemovalHeld, HELD.into()));
    }

    run.error = error.or(run.error);
    work.batch.record(run.clone());
    work.state.phase = None;

    Some(run)
}

/// Returns the problem to record. It keeps the time and the count of the previous problem if that
/// is of the same kind.
pub(crate) fn problem_of(
    kind: ErrorKind,
    message: &str,
    now: Timestamp,
    before: Option<&Problem>,
) -> Problem {
    let before = before.filter(|before| before.kind == kind);
    Problem {
        kind,
        message: message.to_owned(),
        since: before.map_or(now, |before| before.since),
        attempts: before.map_or(0, |before| before.attempts) + 1,
    }
}

/// Returns the seconds until the next run unless somebody requests one earlier. The pause is
/// shorter than the schedule's if documents or files are waiting.
async fn pause(work: &mut Work<'_>) -> Result<i64, Halt> {
    let mut pause = work.connection.provider.pause_seconds();
    let held = work.state.held_by_run.is_some();
    if !work.first(Queue::Leave, None, 1).await?.is_empty() {
        // Every waiting removal was recorded by now, so all of them are due after one grace period.
        pause = pause.min(if held {
            CONFIRM_SECONDS
        } else {
            GRACE_SECONDS + 5
        });
    }

    if let Some(seconds) = retry(work).await? {
        pause = pause.min(seconds);
    }

    let unjudged = work.state.judged >= crate::limits::JUDGEMENTS && !work.is_full();
    if unjudged && waits_anew(work).await? {
        pause = pause.min(RETRY_SECONDS);
    }

    Ok(pause)
}

/// Returns the seconds until a file that could not be fetched is worth another attempt, or `None`
/// if no such file has room within the document limit.
async fn retry(work: &Work<'_>) -> Result<Option<i64>, Halt> {
    let page = work
        .first(Queue::Fetch, Some("9"), work.tools.limits.rows)
        .await?;
    let waiting = page.iter().map(|entry| keys::read::<Waiting>(&entry.value));
    let with_room = waiting.filter(|waiting| !work.is_full() || !waiting.new);
    let now = work.now();
    let seconds = |waiting: Waiting| {
        waiting
            .from
            .map_or(RETRY_SECONDS, |from| now.seconds_until(from).max(1))
    };
    Ok(with_room.map(seconds).min())
}

async fn waits_anew(work: &Work<'_>) -> Result<bool, Halt> {
    let first = work.first(Queue::Fetch, None, 1).await?;
    Ok(first
        .first()
        .is_some_and(|entry| !entry.key.starts_with('9')))
}
