//! The steps of a run: a step takes the lease, executes tick after tick, and releases the lease.

use std::collections::HashSet;

use domain::connection::{ConnectionStatus, RunPhase, SyncScope, SyncState};
use domain::ports::{Connector, ConnectorError, Connectors};
use domain::{Connection, ConnectionId, Result, Tenant};
use tokio::time::{Instant, timeout_at};
use tracing::warn;

use crate::desk::SyncService;
use crate::judge::ItemJudge;
use crate::limits::{LEASE_SECONDS, MESSAGE_LOST_SECONDS, StepLimits, SyncRules};
use crate::phases;
use crate::rules::ItemFilter;
use crate::run;
use crate::trouble;
use crate::work::{StepState, TickError, TickFlow};

/// The time at which a connection is to be continued.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NextStep {
    /// Immediately.
    Again,
    /// After this number of seconds.
    Later(i64),
    /// Not before an event occurs or the next run is due.
    Idle,
}

/// The dependencies and limits of a step.
pub(crate) struct StepContext<'a> {
    pub(crate) desk: &'a dyn SyncService,
    pub(crate) connectors: &'a Connectors,
    pub(crate) judge: &'a dyn ItemJudge,
    pub(crate) notifications: Option<&'a str>,
    pub(crate) limits: StepLimits,
    pub(crate) flags: SyncRules,
}

/// Continues the synchronization of a connection by one step.
pub(crate) async fn execute_step(
    tools: &StepContext<'_>,
    tenant: &Tenant,
    id: &ConnectionId,
) -> Result<NextStep> {
    let Some(connection) = tools.desk.connections().get(tenant, id).await? else {
        return Ok(NextStep::Idle);
    };

    let Some(connector) = tools.connectors.for_provider(connection.provider) else {
        warn!(connection.id = %id, "the provider of a connection is not reached from here");
        return Ok(NextStep::Idle);
    };

    let state = tools.desk.sync().get_state(tenant, id).await?;
    let now = tools.desk.clock().now();
    if state.leased_until.is_some_and(|until| until > now) {
        return Ok(NextStep::Idle);
    }

    let is_due = connection.next_run_at.is_some_and(|at| at <= now);
    let goes_on = match connection.status {
        ConnectionStatus::Deleting => true,
        ConnectionStatus::Active | ConnectionStatus::Expired | ConnectionStatus::Suspended => {
            let chosen = connection.scope == SyncScope::Full || connection.selection > 0;
            chosen && (is_due || state.run.is_some())
        }
        _ => false,
    };
    if !goes_on {
        return Ok(NextStep::Idle);
    }

    let mut work = StepState::new(tools, tenant, connection, connector, state);
    match execute_ticks(&mut work).await {
        Ok(next) => Ok(next),
        Err(TickError::Fenced) => Ok(NextStep::Idle),
        Err(halt) => trouble::handle_halt(&mut work, halt).await,
    }
}

/// Takes the lease and executes ticks until the time of the step is used up.
async fn execute_ticks(work: &mut StepState<'_>) -> Result<NextStep, TickError> {
    let lasts_until = work.step_deadline();
    if work.connection.status == ConnectionStatus::Deleting {
        work.state.phase = Some(RunPhase::Forget);
        phases::forget::record_deletion_start(work);
        work.commit_tick().await?;
    } else {
        run::begin_run(work).await?;
        wait_until(lasts_until, load_context(work)).await?;
    }

    let until = work.now().plus_seconds(work.tools.limits.seconds);
    loop {
        let flow = match wait_until(lasts_until, execute_tick(work)).await {
            // An access token can become invalid before its stated end although the permission
            // still exists.
            Err(TickError::Provider(ConnectorError::Reauth(_))) if !work.has_renewed_access => {
                wait_until(lasts_until, renew_access_token(work)).await?;
                continue;
            }
            flow => flow?,
        };
        if flow == TickFlow::Ended {
            return Ok(if work.connection.status == ConnectionStatus::Deleting {
                NextStep::Idle
            } else {
                run::complete_run(work).await?
            });
        }
        trouble::clear_failures(work).await?;
        if work.now() >= until || work.handled_items >= work.tools.limits.items {
            work.release_lease(None).await?;
            return Ok(NextStep::Again);
        }
        work.commit_tick().await?;
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
async fn load_context(work: &mut StepState<'_>) -> Result<(), TickError> {
    let (desk, tenant) = (work.tools.desk, work.tenant);
    let settings = desk.settings(tenant).await?;
    work.filter = ItemFilter::of(&settings, work.tools.judge.is_configured());
    work.selection = desk
        .sync()
        .get_selection(tenant, &work.connection.id)
        .await?;
    work.selected = work
        .selection
        .items
        .iter()
        .map(|item| item.id.clone())
        .collect::<HashSet<_>>();
    let connector: &dyn Connector = work.connector;
    work.tokens_name = trouble::tokens_name_of(work).await?;
    work.access = desk.access_for(connector, tenant, &work.connection).await?;
    // A new selection restarts the run at its first phase, whatever phase it was in.
    if work.is_selective() && work.selection.rev != work.state.selection {
        work.state.phase = Some(RunPhase::Feeds);
    }

    Ok(())
}

/// Requests a new access token. If the provider refuses one, the permission has ended.
async fn renew_access_token(work: &mut StepState<'_>) -> Result<(), TickError> {
    work.has_renewed_access = true;
    work.restart_tick();
    let (desk, connector) = (work.tools.desk, work.connector);
    work.access = desk
        .renew_access(connector, work.tenant, &work.connection)
        .await?;
    work.tokens_name = trouble::tokens_name_of(work).await?;
    Ok(())
}

async fn execute_tick(work: &mut StepState<'_>) -> Result<TickFlow, TickError> {
    let phase = work.state.phase.clone().unwrap_or(RunPhase::Feeds);
    if phase != RunPhase::Forget
        && work.has_pending_removals
        && phases::walk::remove_below(work).await?
    {
        return Ok(TickFlow::On);
    }

    match phase {
        RunPhase::Feeds => phases::feeds::update_feeds(work).await?,
        RunPhase::Roots { next } => phases::roots::examine_roots(work, next).await?,
        RunPhase::Scan { feed, page } => phases::scan::scan_feed(work, feed, page).await?,
        RunPhase::Walk => phases::walk::walk_folders(work).await?,
        RunPhase::Changes { done } => phases::changes::read_changes(work, done).await?,
        RunPhase::Sweep { after } => phases::sweep::sweep_nodes(work, after).await?,
        RunPhase::Refilter { after } => phases::refilter::refilter_nodes(work, after).await?,
        RunPhase::Fetch => phases::fetch::fetch_files(work).await?,
        RunPhase::Leave => phases::leave::remove_documents(work).await?,
        RunPhase::Watch => return phases::watch::watch_feeds(work).await,
        RunPhase::Forget => return phases::forget::delete_records(work).await,
    }

    Ok(TickFlow::On)
}

/// Changes the record of a connection, and returns the record or `None` if it no longer exists.
/// `change` returns whether it changed anything, and may be called several times because of
/// concurrent changes.
pub(crate) async fn update_connection(
    tools: &StepContext<'_>,
    tenant: &Tenant,
    id: &ConnectionId,
    mut change: impl FnMut(&mut Connection) -> bool + Send,
) -> Result<Option<Connection>> {
    let (connections, clock) = (tools.desk.connections(), tools.desk.clock());
    service::update_connection(connections, clock, tenant, id, |connection| {
        Ok(change(connection))
    })
    .await
}

/// Makes a connection due after `pause` and a margin of [`MESSAGE_LOST_SECONDS`], so that a run in
/// progress continues even if its message is lost.
pub(crate) fn schedule_recovery(connection: &mut Connection, now: domain::Timestamp, pause: i64) {
    connection.next_run_at = Some(now.plus_seconds(pause + MESSAGE_LOST_SECONDS));
}

/// Returns the time until which the holder of the lease may begin something that no commit can
/// undo.
pub(crate) fn irrevocable_deadline(state: &SyncState, now: domain::Timestamp) -> domain::Timestamp {
    state
        .leased_until
        .unwrap_or(now.plus_seconds(LEASE_SECONDS))
        .plus_seconds(-LEASE_SECONDS / 9)
}

/// Checks whether the time of [`irrevocable_deadline`] is still in the future.
pub(crate) fn is_before_deadline(state: &SyncState, now: domain::Timestamp) -> bool {
    now < irrevocable_deadline(state, now)
}
