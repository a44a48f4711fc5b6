//! What follows when a provider, or the service, does not do what was asked. Nothing of it removes a document.

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
/// Failures in a row that a run outlives.
const MAX_ATTEMPTS: u32 = 8;
/// From which failure in a row on users are told.
const SHOWN_FROM: u32 = 3;
/// How long to slow down where the provider does not say, and at the most.
const SLOW_SECONDS: i64 = 30;
const SLOWEST_SECONDS: i64 = HOUR;
/// How often that is doubled, and how many of these failures in a row are counted: the provider does answer.
const SLOWER: u32 = 6;
/// When permission that was lost is tried again: perhaps it was given back without us.
const PROBES: [i64; 3] = [HOUR, 6 * HOUR, DAY];
/// Pauses of a queue are at most so long.
const LONGEST_SECONDS: i64 = 900;

/// Writes down why the step could not go on, and says when to come again.
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

/// A fault of ours is told to whoever asked for the step, who tries again. After the last attempt the run is given up.
async fn ours(work: &mut Work<'_>, error: Error) -> Result<Next> {
    work.state.attempts += 1;
    if work.state.attempts < MAX_ATTEMPTS || work.connection.status == ConnectionStatus::Deleting {
        // So that the message need not wait for the lease to end.
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
        // Outside a listing that could begin anew, a page that is lost is as good as a failure.
        E::PageLost | E::Item(_) => unavailable(work, &message).await,
        // For the second time in a run.
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
        // Another permission was given while this one was in use.
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

/// The account is left alone by all its connections.
async fn slow_down(work: &Work<'_>, seconds: i64) -> Result<(), Halt> {
    let connections = work.tools.desk.connections();
    let Some(id) = &work.connection.grant else {
        return Ok(());
    };

    // Whoever is first may write: the others asked a moment ago as well, or only waited for this. If each put off the
    // end by what is left of it, rounded up, many connections would keep each other waiting.
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

/// A run that has gone on for an hour, and is slowed down more than once in a row, says why it takes so long.
async fn say_so(work: &Work<'_>) -> Result<(), Halt> {
    let now = work.now();
    let began = work.state.run.as_ref().map_or(now, |run| run.started_at);
    if work.state.attempts < 2 || began.plus_seconds(HOUR) > now {
        return Ok(());
    }
    show(work, ErrorKind::RateLimited, SLOWED).await
}

/// Shows what is wrong though the run goes on.
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

/// A tick has come to its end: the provider answers again.
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

/// The name of the tokens that the connection's permission has now.
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

/// The run goes on in so many seconds; until then the lease is nobody's.
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

/// The run is given up. The next one begins in `after` seconds, or as probes of a lost permission do.
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
            // What was asked for since the run began has not been tried.
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
