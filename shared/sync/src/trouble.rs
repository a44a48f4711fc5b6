//! The reactions to errors of the provider and of the service. None of them removes a document.

use domain::connection::{
    ConnectionErrorKind, ConnectionProblem, ConnectionStatus, RunState, RunTrigger,
};
use domain::job::MAX_DELAY_SECONDS;
use domain::ports::ConnectorError;
use domain::{Connection, Error, Result, Timestamp};
use tracing::{error, warn};

use crate::run::{close_run, is_synchronized, new_problem};
use crate::step::{self, NextStep};
use crate::work::{StepState, TickError};

const MINUTE: i64 = 60;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;
/// The number of consecutive failures after which a run is abandoned.
const MAX_ATTEMPTS: u32 = 8;
/// The number of consecutive failures from which users see the problem.
const SHOWN_AFTER_FAILURES: u32 = 3;
/// The shortest and the longest pause when the provider asks to slow down without naming a time.
const SLOW_SECONDS: i64 = 30;
const SLOWEST_SECONDS: i64 = HOUR;
/// The number of times that this pause is doubled. It also caps the count of these failures,
/// because the provider does answer.
const MAX_DOUBLINGS: u32 = 6;
/// The pauses before a lost permission is tried again. The user may have restored it at the
/// provider.
const PERMISSION_PROBE_SECONDS: [i64; 3] = [HOUR, 6 * HOUR, DAY];

/// Records why the step could not continue, and returns when to try again.
pub(crate) async fn handle_halt(work: &mut StepState<'_>, halt: TickError) -> Result<NextStep> {
    work.revert_tick();
    let met = match halt {
        TickError::Fenced => return Ok(NextStep::Idle),
        TickError::Ours(error) => return handle_service_error(work, error).await,
        TickError::Pause(seconds) => pause_run(work, seconds.clamp(1, SLOWEST_SECONDS)).await,
        TickError::Provider(_) if work.connection.status == ConnectionStatus::Deleting => {
            pause_run(work, MINUTE).await
        }
        TickError::Withheld => handle_unavailable(work, WITHHELD_MESSAGE).await,
        TickError::Provider(error) => handle_provider_error(work, error).await,
    };

    match met {
        Ok(next) => Ok(next),
        Err(TickError::Fenced) => Ok(NextStep::Idle),
        Err(TickError::Ours(error)) => Err(error),
        Err(_) => Err(Error::internal("a connection could not be put aside")),
    }
}

/// Handles an error of the service. It is returned to the sender of the message, which tries again.
/// After the last attempt, the run is abandoned.
async fn handle_service_error(work: &mut StepState<'_>, error: Error) -> Result<NextStep> {
    work.state.attempts += 1;
    if work.state.attempts < MAX_ATTEMPTS || work.connection.status == ConnectionStatus::Deleting {
        // The next message then need not wait for the end of the lease.
        work.release_lease(None).await.ok();
        return Err(error);
    }

    work.state.attempts = 0;
    error!(connection.id = %work.connection.id, error = &error as &dyn std::error::Error, "a run was given up");

    match abandon_run(
        work,
        ConnectionErrorKind::Internal,
        SERVICE_ERROR_MESSAGE,
        Some(30 * MINUTE),
        None,
    )
    .await
    {
        Ok(next) => Ok(next),
        Err(TickError::Fenced) => Ok(NextStep::Idle),
        Err(_) => Err(error),
    }
}

async fn handle_provider_error(
    work: &mut StepState<'_>,
    error: ConnectorError,
) -> Result<NextStep, TickError> {
    use ConnectorError as E;
    let message = error.to_string();

    match error {
        E::Throttled { retry_after } => {
            let said = retry_after.and_then(|seconds| i64::try_from(seconds).ok());
            let twice_as_long = SLOW_SECONDS << work.state.attempts.min(MAX_DOUBLINGS);
            let seconds = said.unwrap_or(twice_as_long).clamp(1, SLOWEST_SECONDS);
            work.state.attempts = (work.state.attempts + 1).min(MAX_DOUBLINGS);
            throttle_grant(work, seconds).await?;
            show_slow_run(work).await?;
            pause_run(work, seconds).await
        }
        E::Unavailable(source) => {
            let id = &work.connection.id;
            warn!(connection.id = %id, error = source.as_ref() as &dyn std::error::Error, "a provider failed");
            handle_unavailable(work, &message).await
        }
        // A listing can start again after a lost page, but elsewhere a lost page is a failure.
        E::PageLost | E::Item(_) => handle_unavailable(work, &message).await,
        // The cursor was lost for the second time in this run.
        E::CursorLost => {
            abandon_run(
                work,
                ConnectionErrorKind::ProviderUnavailable,
                &message,
                Some(30 * MINUTE),
                None,
            )
            .await
        }
        E::QuotaExceeded => {
            abandon_run(
                work,
                ConnectionErrorKind::QuotaExceeded,
                QUOTA_MESSAGE,
                Some(DAY),
                None,
            )
            .await
        }
        // The user gave a new permission while this step was using the old one.
        E::Reauth(_) if tokens_name_of(work).await? != work.tokens_name => pause_run(work, 1).await,
        E::Reauth(_) => {
            let status = Some(ConnectionStatus::Expired);
            abandon_run(
                work,
                ConnectionErrorKind::ReauthRequired,
                REAUTH_MESSAGE,
                None,
                status,
            )
            .await
        }
        E::App(said) => {
            let status = Some(ConnectionStatus::Suspended);
            abandon_run(
                work,
                ConnectionErrorKind::AppMisconfigured,
                &said,
                Some(DAY),
                status,
            )
            .await
        }
        E::Policy(said) => {
            let status = Some(ConnectionStatus::Suspended);
            abandon_run(
                work,
                ConnectionErrorKind::AdminPolicy,
                &said,
                Some(DAY),
                status,
            )
            .await
        }
        E::Fault(said) => {
            error!(connection.id = %work.connection.id, fault = said, "a provider is not what it was");
            abandon_run(
                work,
                ConnectionErrorKind::Internal,
                FAULT_MESSAGE,
                Some(30 * MINUTE),
                None,
            )
            .await
        }
    }
}

const SERVICE_ERROR_MESSAGE: &str =
    "Something is wrong with this service; it is tried again in half an hour.";
const WITHHELD_MESSAGE: &str = "The provider does not show an item that the synchronization needs.";
const SLOWED_MESSAGE: &str =
    "The provider asks to slow down, and synchronization goes on as it allows.";
const QUOTA_MESSAGE: &str = "A quota of the provider is used up; synchronization goes on tomorrow.";
const REAUTH_MESSAGE: &str =
    "The permission has ended: connect the account again. Documents stay as they are.";
const FAULT_MESSAGE: &str =
    "The provider gave an answer that could not be read; it is tried again in half an hour.";

/// Makes all connections of the account pause.
async fn throttle_grant(work: &StepState<'_>, seconds: i64) -> Result<(), TickError> {
    let connections = work.tools.desk.connections();
    let Some(id) = &work.connection.grant else {
        return Ok(());
    };

    // Only the first connection writes the end of the pause: the others sent their requests a
    // moment ago, or were waiting for the same end. If each of them extended the pause by what is
    // left of it, rounded up, many connections would keep each other waiting.
    if let Some(mut grant) = connections.get_grant(work.tenant, id).await? {
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
async fn show_slow_run(work: &StepState<'_>) -> Result<(), TickError> {
    let now = work.now();
    let began = work.state.run.as_ref().map_or(now, |run| run.started_at);
    if work.state.attempts < 2 || began.plus_seconds(HOUR) > now {
        return Ok(());
    }
    show_problem(work, ConnectionErrorKind::RateLimited, SLOWED_MESSAGE).await
}

/// Shows a problem in the connection while the run continues.
async fn show_problem(
    work: &StepState<'_>,
    kind: ConnectionErrorKind,
    message: &str,
) -> Result<(), TickError> {
    let now = work.now();
    step::update_connection(work.tools, work.tenant, &work.connection.id, |connection| {
        let known = connection.problem.as_ref();
        let is_new = is_synchronized(connection) && known.is_none_or(|known| known.kind != kind);
        if is_new {
            connection.problem = Some(new_problem(kind, message, now, known));
        }
        is_new
    })
    .await?;
    Ok(())
}

/// Resets the failure count after a tick has succeeded, and removes the problem that was shown.
pub(crate) async fn clear_failures(work: &mut StepState<'_>) -> Result<(), TickError> {
    if std::mem::take(&mut work.state.attempts) < SHOWN_AFTER_FAILURES {
        return Ok(());
    }
    let is_over = |connection: &mut Connection| {
        connection
            .problem
            .take_if(|known| known.kind == ConnectionErrorKind::ProviderUnavailable)
            .is_some()
    };
    step::update_connection(work.tools, work.tenant, &work.connection.id, is_over).await?;
    Ok(())
}

/// Returns the name of the current tokens of the connection's grant.
pub(crate) async fn tokens_name_of(work: &StepState<'_>) -> Result<Option<String>, TickError> {
    let Some(id) = &work.connection.grant else {
        return Ok(None);
    };
    let grant = work
        .tools
        .desk
        .connections()
        .get_grant(work.tenant, id)
        .await?;
    Ok(grant.map(|grant| grant.secret))
}

async fn handle_unavailable(
    work: &mut StepState<'_>,
    message: &str,
) -> Result<NextStep, TickError> {
    work.state.attempts += 1;
    if work.state.attempts >= MAX_ATTEMPTS {
        work.state.attempts = 0;
        return abandon_run(
            work,
            ConnectionErrorKind::ProviderUnavailable,
            message,
            Some(30 * MINUTE),
            None,
        )
        .await;
    }

    if work.state.attempts >= SHOWN_AFTER_FAILURES {
        show_problem(work, ConnectionErrorKind::ProviderUnavailable, message).await?;
    }

    let seconds = 1_i64 << work.state.attempts;
    pause_run(work, seconds).await
}

/// Interrupts the run for this number of seconds, during which nobody can take the lease.
async fn pause_run(work: &mut StepState<'_>, seconds: i64) -> Result<NextStep, TickError> {
    let now = work.now();
    work.release_lease(Some(now.plus_seconds(seconds))).await?;
    step::update_connection(
        work.tools,
        work.tenant,
        &work.connection.id.clone(),
        |connection| {
            step::schedule_recovery(connection, now, seconds);
            true
        },
    )
    .await?;

    Ok(if seconds <= i64::from(MAX_DELAY_SECONDS) {
        NextStep::Later(seconds)
    } else {
        NextStep::Idle
    })
}

/// Abandons the run. The next run begins after `after` seconds, or at the next of
/// [`PERMISSION_PROBE_SECONDS`] if that is `None`.
async fn abandon_run(
    work: &mut StepState<'_>,
    kind: ConnectionErrorKind,
    message: &str,
    after: Option<i64>,
    status: Option<ConnectionStatus>,
) -> Result<NextStep, TickError> {
    let now = work.now();
    let run = close_run(work, RunState::Failed, Some((kind, message.to_owned())));
    work.release_lease(None).await?;
    let failed = step::update_connection(
        work.tools,
        work.tenant,
        &work.connection.id.clone(),
        |connection| {
            if !is_synchronized(connection) {
                return false;
            }
            let problem = new_problem(kind, message, now, connection.problem.as_ref());
            // A request that came after the beginning of this run has not been tried yet.
            let asked = connection.requested == Some(RunTrigger::Manual);
            connection.next_run_at = if asked {
                Some(now)
            } else {
                next_attempt_at(&problem, after, now)
            };
            set_status(connection, status, now);
            connection.problem = Some(problem);
            connection.last_run.clone_from(&run);
            true
        },
    )
    .await?;
    let asked = failed.is_some_and(|connection| connection.requested == Some(RunTrigger::Manual));

    Ok(if asked {
        NextStep::Again
    } else {
        NextStep::Idle
    })
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

fn next_attempt_at(
    problem: &ConnectionProblem,
    after: Option<i64>,
    now: Timestamp,
) -> Option<Timestamp> {
    let probe = usize::try_from(problem.attempts.saturating_sub(1)).ok()?;
    let seconds = after.or_else(|| PERMISSION_PROBE_SECONDS.get(probe).copied())?;
    Some(now.plus_seconds(seconds))
}
