//! The steps of a run: a step takes the lease, executes tick after tick, and releases the lease.

use std::collections::HashSet;

use domain::connection::{ConnectionStatus, Phase, SyncScope, SyncState};
use domain::ports::{Connector, ConnectorError, Connectors};
use domain::{Connection, ConnectionId, Error, Result, Tenant};
use tokio::time::{Instant, timeout_at};
use tracing::warn;

use crate::desk::Desk;
use crate::judge::Judge;
use crate::limits::{Flags, LEASE_SECONDS, LOST_SECONDS, Limits};
use crate::phases;
use crate::rules::Filter;
use crate::run;
use crate::trouble;
use crate::work::{Flow, Halt, Work};

/// The time at which a connection is to be continued.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// Immediately.
    Again,
    /// After this number of seconds.
    Later(i64),
    /// Not before an event occurs or the next run is due.
    Idle,
}

/// The dependencies and limits of a step.
pub(crate) struct Tools<'a> {
    pub(crate) desk: &'a dyn Desk,
    pub(crate) connectors: &'a Connectors,
    pub(crate) judge: &'a dyn Judge,
    pub(crate) notifications: Option<&'a str>,
    pub(crate) limits: Limits,
    pub(crate) flags: Flags,
}

/// Continues the synchronization of a connection by one step.
pub(crate) async fn step(tools: &Tools<'_>, tenant: &Tenant, id: &ConnectionId) -> Result<Next> {
    let Some(connection) = tools.desk.connections().get(tenant, id).await? else {
        return Ok(Next::Idle);
    };

    let Some(connector) = tools.connectors.of(connection.provider) else {
        warn!(connection.id = %id, "the provider of a connection is not reached from here");
        return Ok(Next::Idle);
    };

    let state = tools.desk.sync().state(tenant, id).await?;
    let now = tools.desk.now();
    if state.leased_until.is_some_and(|until| until > now) {
        return Ok(Next::Idle);
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
        return Ok(Next::Idle);
    }

    let mut work = Work::new(tools, tenant, connection, connector, state);
    match lead(&mut work).await {
        Ok(next) => Ok(next),
        Err(Halt::Fenced) => Ok(Next::Idle),
        Err(halt) => trouble::meet(&mut work, halt).await,
    }
}

/// Takes the lease and executes ticks until the time of the step is used up.
async fn lead(work: &mut Work<'_>) -> Result<Next, Halt> {
    let lasts_until = work.lasts_until();
    if work.connection.status == ConnectionStatus::Deleting {
        work.state.phase = Some(Phase::Forget);
        phases::forget::began(work);
        work.commit().await?;
    } else {
        run::begin(work).await?;
        within(lasts_until, enter(work)).await?;
    }

    let until = work.now().plus_seconds(work.tools.limits.seconds);
    loop {
        let flow = match within(lasts_until, tick(work)).await {
            // An access token can become invalid before its stated end although the permission
            // still exists.
            Err(Halt::Provider(ConnectorError::Reauth(_))) if !work.renewed => {
                within(lasts_until, renew(work)).await?;
                continue;
            }
            flow => flow?,
        };
        if flow == Flow::Ended {
            return Ok(if work.connection.status == ConnectionStatus::Deleting {
                Next::Idle
            } else {
                run::end(work).await?
            });
        }
        trouble::over(work).await?;
        if work.now() >= until || work.handled >= work.tools.limits.items {
            work.release(None).await?;
            return Ok(Next::Again);
        }
        work.commit().await?;
    }
}

/// Waits for a part of a step until a deadline. A part that takes longer is dropped, which leaves
/// no more behind than a crash would.
async fn within<T>(until: Instant, part: impl Future<Output = Result<T, Halt>>) -> Result<T, Halt> {
    match timeout_at(until, part).await {
        Ok(done) => done,
        Err(_) => Err(Halt::Provider(ConnectorError::Unavailable(
            "it took too long".into(),
        ))),
    }
}

/// Loads the settings, the selection and the access token, which a run needs before its first tick.
async fn enter(work: &mut Work<'_>) -> Result<(), Halt> {
    let (desk, tenant) = (work.tools.desk, work.tenant);
    let settings = desk.settings(tenant).await?;
    work.filter = Filter::of(&settings, work.tools.judge.is_configured());
    work.selection = desk.sync().selection(tenant, &work.connection.id).await?;
    work.selected = work
        .selection
        .items
        .iter()
        .map(|item| item.id.clone())
        .collect::<HashSet<_>>();
    let connector: &dyn Connector = work.connector;
    work.secret = trouble::secret_of(work).await?;
    work.access = desk.access(connector, tenant, &work.connection).await?;
    // A new selection restarts the run at its first phase, whatever phase it was in.
    if work.is_selective() && work.selection.rev != work.state.selection {
        work.state.phase = Some(Phase::Feeds);
    }

    Ok(())
}

/// Requests a new access token. If the provider refuses one, the permission has ended.
async fn renew(work: &mut Work<'_>) -> Result<(), Halt> {
    work.renewed = true;
    work.start_over();
    let (desk, connector) = (work.tools.desk, work.connector);
    work.access = desk
        .renew_access(connector, work.tenant, &work.connection)
        .await?;
    work.secret = trouble::secret_of(work).await?;
    Ok(())
}

async fn tick(work: &mut Work<'_>) -> Result<Flow, Halt> {
    let phase = work.state.phase.clone().unwrap_or(Phase::Feeds);
    if phase != Phase::Forget && work.dropping && phases::walk::forget_below(work).await? {
        return Ok(Flow::On);
    }

    match phase {
        Phase::Feeds => phases::feeds::tick(work).await?,
        Phase::Roots { next } => phases::roots::tick(work, next).await?,
        Phase::Scan { feed, page } => phases::scan::tick(work, feed, page).await?,
        Phase::Walk => phases::walk::tick(work).await?,
        Phase::Changes { done } => phases::changes::tick(work, done).await?,
        Phase::Sweep { after } => phases::sweep::tick(work, after).await?,
        Phase::Refilter { after } => phases::refilter::tick(work, after).await?,
        Phase::Fetch => phases::fetch::tick(work).await?,
        Phase::Leave => phases::leave::tick(work).await?,
        Phase::Watch => return phases::watch::tick(work).await,
        Phase::Forget => return phases::forget::tick(work).await,
    }

    Ok(Flow::On)
}

/// Changes the record of a connection, and returns the record or `None` if it no longer exists.
/// `change` returns whether it changed anything, and may be called several times because of
/// concurrent changes.
pub(crate) async fn change(
    tools: &Tools<'_>,
    tenant: &Tenant,
    id: &ConnectionId,
    mut change: impl FnMut(&mut Connection) -> bool + Send,
) -> Result<Option<Connection>> {
    let connections = tools.desk.connections();
    for _ in 0..20 {
        let Some(mut connection) = connections.get(tenant, id).await? else {
            return Ok(None);
        };
        if !change(&mut connection) {
            return Ok(Some(connection));
        }
        connection.rev += 1;
        connection.updated_at = tools.desk.now();
        if connections.save(tenant, &connection).await? {
            return Ok(Some(connection));
        }
    }

    Err(Error::internal("a connection changed with every attempt"))
}

/// Makes a connection due after `pause` and a margin of [`LOST_SECONDS`], so that a run in progress
/// continues even if its message is lost.
pub(crate) fn watch_over(connection: &mut Connection, now: domain::Timestamp, pause: i64) {
    connection.next_run_at = Some(now.plus_seconds(pause + LOST_SECONDS));
}

/// Returns the time until which the holder of the lease may begin something that no commit can
/// undo.
pub(crate) fn last_moment(state: &SyncState, now: domain::Timestamp) -> domain::Timestamp {
    state
        .leased_until
        .unwrap_or(now.plus_seconds(LEASE_SECONDS))
        .plus_seconds(-LEASE_SECONDS / 9)
}

/// Checks whether the time of [`last_moment`] is still in the future.
pub(crate) fn in_time(state: &SyncState, now: domain::Timestamp) -> bool {
    now < last_moment(state, now)
}
