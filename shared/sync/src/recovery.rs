//! Applies the reactions to errors of the provider and of the service, which
//! [`crate::decide::failures`] decides.

use domain::connection::{ConnectionErrorKind, ConnectionStatus, RunState, RunTrigger};
use domain::job::MAX_DELAY_SECONDS;
use domain::ports::ConnectorError;
use domain::{Connection, Error, Result};
use tracing::{error, warn};

use crate::context::NextStep;
use crate::decide::failures::{
    self, Failure, MAX_ATTEMPTS, MAX_PAUSE_SECONDS, MINUTE, Reaction, SHOWN_AFTER_FAILURES,
    new_problem,
};
use crate::decide::schedule::{is_synchronized, schedule_recovery};
use crate::run::close_run;
use crate::step_state::{StepState, TickError};

const WITHHELD_MESSAGE: &str = "The provider does not show an item that the synchronization needs.";

/// Records why the step could not continue, and returns when to try again.
pub(crate) async fn handle_error(step: &mut StepState<'_>, error: TickError) -> Result<NextStep> {
    step.revert_tick();
    let is_deleting = step.connection.status == ConnectionStatus::Deleting;
    let next = match error {
        TickError::Fenced => return Ok(NextStep::Idle),
        TickError::Ours(error) => return handle_service_error(step, error).await,
        TickError::Pause(seconds) => pause_run(step, seconds.clamp(1, MAX_PAUSE_SECONDS)).await,
        TickError::Provider(_) if is_deleting => pause_run(step, MINUTE).await,
        TickError::Withheld => {
            let attempts = &mut step.state.attempts;
            let reaction = failures::react_to_unavailability(WITHHELD_MESSAGE, attempts);
            apply_reaction(step, reaction).await
        }
        TickError::Provider(error) => handle_provider_error(step, error).await,
    };

    match next {
        Ok(next) => Ok(next),
        Err(TickError::Fenced) => Ok(NextStep::Idle),
        Err(TickError::Ours(error)) => Err(error),
        Err(_) => Err(Error::internal("a connection could not be put aside")),
    }
}

/// Handles an error of the service. It is returned to the sender of the message, which tries again.
/// After the last attempt, the run is abandoned.
async fn handle_service_error(step: &mut StepState<'_>, error: Error) -> Result<NextStep> {
    step.state.attempts += 1;
    if step.state.attempts < MAX_ATTEMPTS || step.connection.status == ConnectionStatus::Deleting {
        // The next message then need not wait for the end of the lease.
        step.release_lease(None).await.ok();
        return Err(error);
    }

    step.state.attempts = 0;
    error!(connection.id = %step.connection.id, error = &error as &dyn std::error::Error, "a run was abandoned");

    match abandon_run(step, Failure::of_service()).await {
        Ok(next) => Ok(next),
        Err(TickError::Fenced) => Ok(NextStep::Idle),
        Err(_) => Err(error),
    }
}

async fn handle_provider_error(
    step: &mut StepState<'_>,
    error: ConnectorError,
) -> Result<NextStep, TickError> {
    let id = &step.connection.id;
    match &error {
        ConnectorError::Unavailable(source) => {
            warn!(connection.id = %id, error = source.as_ref() as &dyn std::error::Error, "a provider failed");
        }
        ConnectorError::Fault(message) => {
            error!(connection.id = %id, fault = message, "a provider gave an unexpected answer");
        }
        // The user gave a new permission while this step was using the old one.
        ConnectorError::Reauth(_) if tokens_name_of(step).await? != step.tokens_name => {
            return pause_run(step, 1).await;
        }
        _ => {}
    }

    let now = step.now();
    let run_started_at = step.state.run.as_ref().map_or(now, |run| run.started_at);
    let attempts = &mut step.state.attempts;
    let reaction = failures::react_to_provider(&error, attempts, run_started_at, now);
    apply_reaction(step, reaction).await
}

async fn apply_reaction(
    step: &mut StepState<'_>,
    reaction: Reaction,
) -> Result<NextStep, TickError> {
    match reaction {
        Reaction::Abandon(failure) => abandon_run(step, failure).await,
        Reaction::Pause {
            seconds,
            throttles_grant,
            shown,
        } => {
            if throttles_grant {
                throttle_grant(step, seconds).await?;
            }
            if let Some((kind, message)) = shown {
                show_problem(step, kind, &message).await?;
            }
            pause_run(step, seconds).await
        }
    }
}

/// Makes all connections of the account pause.
async fn throttle_grant(step: &StepState<'_>, seconds: i64) -> Result<(), TickError> {
    let connections = step.context.service.connections();
    let Some(id) = &step.connection.grant else {
        return Ok(());
    };
    let Some(mut grant) = connections.get_grant(step.tenant, id).await? else {
        return Ok(());
    };

    // Only the first connection writes the end of the pause: the others sent their requests a
    // moment ago, or were waiting for the same end. If each of them extended the pause by what is
    // left of it, rounded up, many connections would keep each other waiting.
    let now = step.now();
    if grant.throttled_until.is_none_or(|until| until <= now) {
        grant.throttled_until = Some(now.plus_seconds(seconds));
        grant.rev += 1;
        connections.save_grant(step.tenant, &grant).await?;
    }

    Ok(())
}

/// Shows a problem in the connection while the run continues.
async fn show_problem(
    step: &StepState<'_>,
    kind: ConnectionErrorKind,
    message: &str,
) -> Result<(), TickError> {
    let now = step.now();
    step.update_connection(|connection| {
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
pub(crate) async fn clear_failures(step: &mut StepState<'_>) -> Result<(), TickError> {
    if std::mem::take(&mut step.state.attempts) < SHOWN_AFTER_FAILURES {
        return Ok(());
    }

    let remove_problem = |connection: &mut Connection| {
        connection
            .problem
            .take_if(|known| known.kind == ConnectionErrorKind::ProviderUnavailable)
            .is_some()
    };
    step.update_connection(remove_problem).await?;
    Ok(())
}

/// Returns the name of the current tokens of the connection's grant.
pub(crate) async fn tokens_name_of(step: &StepState<'_>) -> Result<Option<String>, TickError> {
    let Some(id) = &step.connection.grant else {
        return Ok(None);
    };
    let connections = step.context.service.connections();
    let grant = connections.get_grant(step.tenant, id).await?;
    Ok(grant.map(|grant| grant.secret))
}

/// Interrupts the run for this number of seconds, during which nobody can take the lease.
async fn pause_run(step: &mut StepState<'_>, seconds: i64) -> Result<NextStep, TickError> {
    let now = step.now();
    step.release_lease(Some(now.plus_seconds(seconds))).await?;
    step.update_connection(|connection| {
        schedule_recovery(connection, now, seconds);
        true
    })
    .await?;

    Ok(if seconds <= i64::from(MAX_DELAY_SECONDS) {
        NextStep::Later(seconds)
    } else {
        NextStep::Idle
    })
}

/// Ends the run with an error, and schedules the next one.
async fn abandon_run(step: &mut StepState<'_>, failure: Failure) -> Result<NextStep, TickError> {
    let now = step.now();
    let error = (failure.kind, failure.message.clone());
    let run = close_run(step, RunState::Failed, Some(error));
    step.release_lease(None).await?;

    // A request that came after the beginning of this run has not been tried yet.
    let is_requested = |connection: &Connection| connection.requested == Some(RunTrigger::Manual);
    let connection = step
        .update_connection(|connection| {
            if !is_synchronized(connection) {
                return false;
            }
            let is_requested = is_requested(connection);
            failures::record_failure(connection, &failure, is_requested, now);
            connection.last_run.clone_from(&run);
            true
        })
        .await?;

    Ok(match connection {
        Some(connection) if is_requested(&connection) => NextStep::Again,
        _ => NextStep::Idle,
    })
}
