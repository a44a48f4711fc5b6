//! The steps of a run: a step takes the lease, executes tick after tick, and releases the lease.

use std::collections::HashSet;

use domain::connection::{ConnectionStatus, RunPhase};
use domain::ports::{Connector, ConnectorError};
use domain::{ConnectionId, Result, Tenant};
use tokio::time::{Instant, timeout_at};
use tracing::warn;

use crate::context::{NextStep, StepContext};
use crate::decide::schedule;
use crate::item_filter::ItemFilter;
use crate::phases;
use crate::recovery;
use crate::run;
use crate::step_state::{StepState, TickError, TickFlow};

/// Continues the synchronization of a connection by one step.
pub(crate) async fn execute_step(
    context: &StepContext<'_>,
    tenant: &Tenant,
    id: &ConnectionId,
) -> Result<NextStep> {
    let Some(connection) = context.service.connections().get(tenant, id).await? else {
        return Ok(NextStep::Idle);
    };

    let Some(connector) = context.connectors.for_provider(connection.provider) else {
        warn!(connection.id = %id, "the provider of a connection is not reached from here");
        return Ok(NextStep::Idle);
    };

    let state = context.service.sync().get_state(tenant, id).await?;
    let now = context.service.clock().now();
    if state.leased_until.is_some_and(|until| until > now) {
        return Ok(NextStep::Idle);
    }

    if !schedule::has_work(&connection, &state, now) {
        return Ok(NextStep::Idle);
    }

    let mut step = StepState::new(context, tenant, connection, connector, state);
    match execute_ticks(&mut step).await {
        Ok(next) => Ok(next),
        Err(TickError::Fenced) => Ok(NextStep::Idle),
        Err(error) => recovery::handle_error(&mut step, error).await,
    }
}

/// Takes the lease and executes ticks until the time of the step is used up.
async fn execute_ticks(step: &mut StepState<'_>) -> Result<NextStep, TickError> {
    let lasts_until = step.step_deadline();
    if step.connection.status == ConnectionStatus::Deleting {
        step.state.phase = Some(RunPhase::Delete);
        phases::deletion::record_deletion_start(step);
        step.commit_tick().await?;
    } else {
        run::begin_run(step).await?;
        wait_until(lasts_until, load_context(step)).await?;
    }

    let until = step.now().plus_seconds(step.context.limits.seconds);
    loop {
        let flow = match wait_until(lasts_until, execute_tick(step)).await {
            // An access token can become invalid before its stated end although the permission
            // still exists.
            Err(TickError::Provider(ConnectorError::Reauth(_))) if !step.has_renewed_access => {
                wait_until(lasts_until, renew_access_token(step)).await?;
                continue;
            }
            flow => flow?,
        };
        if flow == TickFlow::Ended {
            return Ok(if step.connection.status == ConnectionStatus::Deleting {
                NextStep::Idle
            } else {
                run::complete_run(step).await?
            });
        }
        recovery::clear_failures(step).await?;
        if step.now() >= until || step.handled_items >= step.context.limits.items {
            step.release_lease(None).await?;
            return Ok(NextStep::Again);
        }
        step.commit_tick().await?;
    }
}

/// Waits for a part of a step until a deadline. A part that takes longer is dropped, which leaves
/// no more behind than a crash would.
async fn wait_until<T>(
    until: Instant,
    part: impl Future<Output = Result<T, TickError>>,
) -> Result<T, TickError> {
    match timeout_at(until, part).await {
        Ok(done) => done,
        Err(_) => Err(TickError::Provider(ConnectorError::Unavailable(
            "it took too long".into(),
        ))),
    }
}

/// Loads the settings, the selection and the access token, which a run needs before its first tick.
async fn load_context(step: &mut StepState<'_>) -> Result<(), TickError> {
    let (service, tenant) = (step.context.service, step.tenant);
    let settings = service.settings(tenant).await?;
    step.selection = service
        .sync()
        .get_selection(tenant, &step.connection.id)
        .await?;
    step.filter = ItemFilter::of(&settings, step.context.judge.is_configured())
        .without(&step.selection.excluded);
    step.selected_ids = step
        .selection
        .items
        .iter()
        .map(|item| item.id.clone())
        .collect::<HashSet<_>>();
    let connector: &dyn Connector = step.connector;
    step.tokens_name = recovery::tokens_name_of(step).await?;
    step.access = service
        .access_for(connector, tenant, &step.connection)
        .await?;
    // A new selection restarts the run at its first phase, whatever phase it was in.
    if step.is_selective() && step.selection.rev != step.state.selection {
        step.state.phase = Some(RunPhase::Feeds);
    }

    Ok(())
}

/// Requests a new access token. If the provider refuses one, the permission has ended.
async fn renew_access_token(step: &mut StepState<'_>) -> Result<(), TickError> {
    step.has_renewed_access = true;
    step.restart_tick();
    let (service, connector) = (step.context.service, step.connector);
    step.access = service
        .renew_access(connector, step.tenant, &step.connection)
        .await?;
    step.tokens_name = recovery::tokens_name_of(step).await?;
    Ok(())
}

async fn execute_tick(step: &mut StepState<'_>) -> Result<TickFlow, TickError> {
    let phase = step.state.phase.clone().unwrap_or(RunPhase::Feeds);
    if phase != RunPhase::Delete
        && step.has_removals_below
        && phases::removals::remove_below(step).await?
    {
        return Ok(TickFlow::On);
    }

    match phase {
        RunPhase::Feeds => phases::feeds::update_feeds(step).await?,
        RunPhase::SelectedItems { next } => {
            phases::selected_items::examine_selected_items(step, next).await?
        }
        RunPhase::Scan { feed, page } => phases::scan::scan_feed(step, feed, page).await?,
        RunPhase::Walk => phases::walk::walk_folders(step).await?,
        RunPhase::Changes { done } => phases::changes::read_changes(step, done).await?,
        RunPhase::UnseenItems { after } => {
            phases::unseen_items::examine_unseen_items(step, after).await?
        }
        RunPhase::Refilter { after } => phases::refilter::refilter_items(step, after).await?,
        RunPhase::Fetch => phases::fetch::fetch_files(step).await?,
        RunPhase::Remove => phases::removals::remove_documents(step).await?,
        RunPhase::Watch => return phases::watch::watch_feeds(step).await,
        RunPhase::Delete => return phases::deletion::delete_records(step).await,
    }

    Ok(TickFlow::On)
}
