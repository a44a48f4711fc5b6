//! A step: taking the lease, tick after tick, and giving the lease back.

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

/// When a connection wants to be moved on again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// At once.
    Again,
    /// In so many seconds.
    Later(i64),
    /// Not before something happens, or its next run is due.
    Idle,
}

/// What steps work with.
pub(crate) struct Tools<'a> {
    pub(crate) desk: &'a dyn Desk,
    pub(crate) connectors: &'a Connectors,
    pub(crate) judge: &'a dyn Judge,
    pub(crate) notifications: Option<&'a str>,
    pub(crate) limits: Limits,
    pub(crate) flags: Flags,
}

/// Moves a connection on.
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

/// Takes the lease and works until the time is over.
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
            // An access token may end before its time; the permission may still be there.
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

/// Gives a part of a step up that takes too long: what it has done is no more than what a crash would leave behind.
async fn within<T>(until: Instant, part: impl Future<Output = Result<T, Halt>>) -> Result<T, Halt> {
    match timeout_at(until, part).await {
        Ok(done) => done,
        Err(_) => Err(Halt::Provider(ConnectorError::Unavailable(
            "it took too long".into(),
        ))),
    }
}

/// What a run needs before its first tick.
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
    // Whatever a run was at: a new selection begins with what it leads to.
    if work.is_selective() && work.selection.rev != work.state.selection {
        work.state.phase = Some(Phase::Feeds);
    }

    Ok(())
}

/// Has the access token made anew. If there is none any more, the permission is gone.
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

/// Changes a connection's record; `change` says whether there is anything to write. `None` when it is gone.
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

/// A lost message of a run that goes on is noticed after a while.
pub(crate) fn watch_over(connection: &mut Connection, now: domain::Timestamp, pause: i64) {
    connection.next_run_at = Some(now.plus_seconds(pause + LOST_SECONDS));
}

/// Until when a worker that holds a lease may begin something that no commit can take back.
pub(crate) fn last_moment(state: &SyncState, now: domain::Timestamp) -> domain::Timestamp {
    state
        .leased_until
        .unwrap_or(now.plus_seconds(LEASE_SECONDS))
        .plus_seconds(-LEASE_SECONDS / 9)
}

/// Whether that is still to come.
pub(crate) fn in_time(state: &SyncState, now: domain::Timestamp) -> bool {
    now < last_moment(state, now)
}
