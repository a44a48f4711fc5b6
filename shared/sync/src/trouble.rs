//! The reactions to errors of the provider and of the service. None of them removes a document.

use domain::connection::{ConnectionStatus, ErrorKind, Problem, RunState, Trigger};
use domain::ports::ConnectorError;
use domain::{Connection, Error, Result, Timestamp};
use tracing::{error, warn};

use crate::run::{close, is_live, problem_of};
use crate::step::{self, Next};
use crate::work::{Halt, Work};

const MINUTE: i64 = 60;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;
/// The number of consecutive failures after which a run is abandoned.
const MAX_ATTEMPTS: u32 = 8;
/// The number of consecutive failures from which users see the problem.
const SHOWN_FROM: u32 = 3;
/// The shortest and the longest pause when the provider asks to slow down without naming a time.
const SLOW_SECONDS: i64 = 30;
const SLOWEST_SECONDS: i64 = HOUR;
/// The number of times that this pause is doubled. It also caps the count of these failures,
/// because the provider does answer.
const SLOWER: u32 = 6;
/// The pauses before a lost permission is tried again. The user may have restored it at the
/// provider.
const PROBES: [i64; 3] = [HOUR, 6 * HOUR, DAY];
/// The longest delay of a queue message.
const LONGEST_SECONDS: i64 = 900;

/// Records why the step could not continue, and returns when to try again.
pub(crate) async fn meet(work: &mut Work<'_>, halt: Halt) -> Result<Next> {
    work.revert();
    let met = match halt {
        Halt::Fenced => return Ok(Next::Idle),
        Halt::Ours(error) => return ours(work, error).await,
        Halt::Pause(seconds) => pause(work, seconds.clamp(1, SLOWEST_SECONDS)).await,
        Halt::Provider(_) if work.connection.status == ConnectionStatus::Deleting => {
            pause(work, MINUTE).await
        }
        Halt::Withheld => unavailable(work, WITHHELD).await,
        Halt::Provider(error) => provider(work, error).await,
    };

    match met {
        Ok(next) => Ok(next),
        Err(Halt::Fenced) => Ok(Next::Idle),
        Err(Halt::Ours(error)) => Err(error),
        Err(_) => Err(Error::internal("a connection could not be put aside")),
    }
}

/// Handles an error of the service. It is returned to the sender of the message, which tries again.
/// After the last attempt, the run is abandoned.
async fn ours(work: &mut Work<'_>, error: Error) -> Result<Next> {
    work.state.attempts += 1;
    if work.state.attempts < MAX_ATTEMPTS || work.connection.status == ConnectionStatus::Deleting {
        // The next message then need not wait for the end of the lease.
        work.release(None).await.ok();
        return Err(error);
    }

    work.state.attempts = 0;
    error!(connection.id = %work.connection.id, error = &error as &dyn std::error::Error, "a run was given up");

    match fail(work, ErrorKind::Internal, OURS, Some(30 * MINUTE), None).await {
        Ok(next) => Ok(next),
        Err(Halt::Fenced) => Ok(Next::Idle),
        Err(_) => Err(error),
    }
}

async fn provider(work: &mut Work<'_>, error: ConnectorError) -> Result<Next, Halt> {
    use ConnectorError as E;
    let message = error.to_string();

    match error {
        E::Throttled { retry_after } => {
            let said = retry_after.and_then(|seconds| i64::try_from(seconds).ok());
            let twice_as_long = SLOW_SECONDS << work.state.attempts.min(SLOWER);
            let seconds = said.unwrap_or(twice_as_long).clamp(1, SLOWEST_SECONDS);
            work.state.attempts = (work.state.attempts + 1).min(SLOWER);
            slow_down(work, seconds).await?;
            say_so(work).await?;
            pause(work, seconds).await
        }
        E::Unavailable(source) => {
            let id = &work.connection.id;
            warn!(connection.id = %id, error = source.as_ref() as &dyn std::error::Error, "a provider failed");
            unavailable(work, &message).await
        }
        // A listing can start again after a lost page, but elsewhere a lost page is a failure.
        E::PageLost | E::Item(_) => unavailable(work, &message).await,
        // The cursor was lost for the second time in this run.
        E::CursorLost => {
            fail(
                work,
                ErrorKind::ProviderUnavailable,
                &message,
                Some(30 * MINUTE),
                None,
            )
            .await
        }
        E::QuotaExceeded => fail(work, ErrorKind::QuotaExceeded, QUOTA, Some(DAY), None).await,
        // The user gave a new permission while this step was using the old one.
        E::Reauth(_) if secret_of(work).await? != work.secret => pause(work, 1).await,
        E::Reauth(_) => {
            let status = Some(ConnectionStatus::Expired);
            fail(work, ErrorKind::ReauthRequired, REAUTH, None, status).await
        }
        E::App(said) => {
            let status = Some(ConnectionStatus::Suspended);
            fail(work, ErrorKind::AppMisconfigured, &said, Some(DAY), status).await
        }
        E::Policy(said) => {
            let status = Some(ConnectionStatus::Suspended);
            fail(work, ErrorKind::AdminPolicy, &said, Some(DAY), status).await
        }
        E::Fault(said) => {
            error!(connection.id = %work.connection.id, fault = said, "a provider is not what it was");
            fail(work, ErrorKind::Internal, FAULT, Some(30 * MINUTE), None).await
        }
    }
}

const OURS: &str = "Something is wrong with this service; it is tried again in half an hour.";
const WITHHELD: &str = "The provider does not show an item that the synchronization needs.";
const SLOWED: &str = "The provider asks to slow down, and synchronization goes on as it allows.";
const QUOTA: &str = "A quota of the provider is used up; synchronization goes on tomorrow.";
const REAUTH: &str =
    "The permission has ended: connect the account again. Documents stay as they are.";
const FAULT: &str =
    "The provider gave an answer that could not be read; it is tried again in half an hour.";

/// Makes all connections of the account pause.
async fn slow_down(work: &Work<'_>, seconds: i64) -> Result<(), Halt> {
    let connections = work.tools.desk.connections();
    let Some(id) = &work.connection.grant else {
        return Ok(());
    };

    // Only the first connection writes the end of the pause: the others sent their requests a
    // moment ago, or were waiting for the same end. If each of them extended the pause by what is
    // left of it, rounded up, many connections would keep each other waiting.
    if let Some(mut grant) = connections.grant(work.tenant, id).await? {
        let now = work.now();
        let until = now.plus_seconds(seconds);
        if grant.throttled_until.is_none_or(|known| known <= now) {
            grant.throttled_until = Some(until);
            grant.rev += 1;
            connections.save_grant(work.tenant, &grant).await?;
        }
    }

    Ok(())
}

/// Shows that the run is slow. Does so only if it has lasted for an hour and was slowed down more
/// than once in a row.
async fn say_so(work: &Work<'_>) -> Result<(), Halt> {
    let now = work.now();
    let began = work.state.run.as_ref().map_or(now, |run| run.started_at);
    if work.state.attempts < 2 || began.plus_seconds(HOUR) > now {
        return Ok(());
    }
    show(work, ErrorKind::RateLimited, SLOWED).await
}

/// Shows a problem in the connection while the run continues.
async fn show(work: &Work<'_>, kind: ErrorKind, message: &str) -> Result<(), Halt> {
    let now = work.now();
    step::change(work.tools, work.tenant, &work.connection.id, |connection| {
        let known = connection.problem.as_ref();
        let is_new = is_live(connection) && known.is_none_or(|known| known.kind != kind);
        if is_new {
            connection.problem = Some(problem_of(kind, message, now, known));
        }
        is_new
    })
    .await?;
    Ok(())
}

/// Resets the failure count after a tick has succeeded, and removes the problem that was shown.
pub(crate) async fn over(work: &mut Work<'_>) -> Result<(), Halt> {
    if std::mem::take(&mut work.state.attempts) < SHOWN_FROM {
        return Ok(());
    }
    let is_over = |connection: &mut Connection| {
        connection
            .problem
            .take_if(|known| known.kind == ErrorKind::ProviderUnavailable)
            .is_some()
    };
    step::change(work.tools, work.tenant, &work.connection.id, is_over).await?;
    Ok(())
}

/// Returns the name of the current tokens of the connection's grant.
pub(crate) async fn secret_of(work: &Work<'_>) -> Result<Option<String>, Halt> {
    let Some(id) = &work.connection.grant else {
        return Ok(None);
    };
    let grant = work.tools.desk.connections().grant(work.tenant, id).await?;
    Ok(grant.map(|grant| grant.secret))
}

async fn unavailable(work: &mut Work<'_>, message: &str) -> Result<Next, Halt> {
    work.state.attempts += 1;
    if work.state.attempts >= MAX_ATTEMPTS {
        work.state.attempts = 0;
        return fail(
            work,
            ErrorKind::ProviderUnavailable,
            message,
            Some(30 * MINUTE),
            None,
        )
        .await;
    }

    if work.state.attempts >= SHOWN_FROM {
        show(work, ErrorKind::ProviderUnavailable, message).await?;
    }

    let seconds = 1_i64 << work.state.attempts;
    pause(work, seconds).await
}

/// Interrupts the run for this number of seconds, during which nobody can take the lease.
async fn pause(work: &mut Work<'_>, seconds: i64) -> Result<Next, Halt> {
    let now = work.now();
    work.release(Some(now.plus_seconds(seconds))).await?;
    step::change(
        work.tools,
        work.tenant,
        &work.connection.id.clone(),
        |connection| {
            step::watch_over(connection, now, seconds);
            true
        },
    )
    .await?;

    Ok(if seconds <= LONGEST_SECONDS {
        Next::Later(seconds)
    } else {
        Next::Idle
    })
}

/// Abandons the run. The next run begins after `after` seconds, or at the next of [`PROBES`] if
/// that is `None`.
async fn fail(
    work: &mut Work<'_>,
    kind: ErrorKind,
    message: &str,
    after: Option<i64>,
    status: Option<ConnectionStatus>,
) -> Result<Next, Halt> {
    let now = work.now();
    let run = close(work, RunState::Failed, Some((kind, message.to_owned())));
    work.release(None).await?;
    let failed = step::change(
        work.tools,
        work.tenant,
        &work.connection.id.clone(),
        |connection| {
            if !is_live(connection) {
                return false;
            }
            let problem = problem_of(kind, message, now, connection.problem.as_ref());
            // A request that came after the beginning of this run has not been tried yet.
            let asked = connection.requested == Some(Trigger::Manual);
            connection.next_run_at = if asked {
                Some(now)
            } else {
                next_try(&problem, after, now)
            };
            set_status(connection, status, now);
            connection.problem = Some(problem);
            connection.last_run.clone_from(&run);
            true
        },
    )
    .await?;
    let asked = failed.is_some_and(|connection| connection.requested == Some(Trigger::Manual));

    Ok(if asked { Next::Again } else { Next::Idle })
}

fn set_status(connection: &mut Connection, status: Option<ConnectionStatus>, now: Timestamp) {
    let Some(status) = status else {
        return;
    };
    if status == ConnectionStatus::Expired && connection.status != status {
        connection.expires_at = Some(now);
    }
    connection.status = status;
}

fn next_try(problem: &Problem, after: Option<i64>, now: Timestamp) -> Option<Timestamp> {
    let probe = usize::try_from(problem.attempts.saturating_sub(1)).ok()?;
    let seconds = after.or_else(|| PROBES.get(probe).copied())?;
    Some(now.plus_seconds(seconds))
}
