//! Finding connections for callers who may see them, and changing their records.

use tracing::warn;

use super::create::is_abandoned;
use crate::ConflictRetry;
use crate::Ctx;
use crate::find::ContainerScope;
use crate::jobs::send_jobs;
use domain::connection::{
    CONNECT_LINK_SECONDS, Connection, ConnectionStatus, Provider, RunTrigger,
};
use domain::error::{Error, Result};
use domain::ids::ConnectionId;
use domain::job::{Job, JobMessage, message_delay};
use domain::ports::{Clock, Connections};
use domain::tag::ContainerTag;
use domain::tenant::Tenant;
use domain::time::Timestamp;

/// Returns the connection, if the caller reaches its container.
///
/// # Errors
/// Returns [`Error::NotFound`] and the errors of the ports.
pub async fn find_connection(ctx: &Ctx, tenant: &Tenant, id: &str) -> Result<Connection> {
    let connection = find_any(ctx, tenant, id).await?;
    if connection.status.is_visible() {
        Ok(connection)
    } else {
        Err(connection_not_found())
    }
}

/// Returns the connection, if its documents belong to the container `tag`.
///
/// # Errors
/// Returns [`Error::Forbidden`] for a tag out of reach, and the errors of [`find_connection`].
pub async fn find_connection_of(
    ctx: &Ctx,
    tenant: &Tenant,
    tag: &ContainerTag,
    id: &str,
) -> Result<Connection> {
    tenant.check_access(tag)?;
    let connection = find_connection(ctx, tenant, id).await?;
    if connection.tag == *tag {
        Ok(connection)
    } else {
        Err(connection_not_found())
    }
}

/// Acts as [`find_connection`], but also finds a connection that is being deleted.
pub(super) async fn find_any(ctx: &Ctx, tenant: &Tenant, id: &str) -> Result<Connection> {
    let id = ConnectionId::parse(id).ok_or_else(connection_not_found)?;
    let connection = match ctx.connections.get(tenant, &id).await? {
        Some(connection) if tenant.can_access(&connection.tag) => connection,
        _ => return Err(connection_not_found()),
    };
    record_container(ctx, tenant, &connection.tag).await?;
    Ok(connection)
}

/// Returns the connections in `scope`, oldest first, of one provider or of all. An attempt whose user
/// never came is left out once its link has expired.
///
/// # Errors
/// Returns [`Error::Forbidden`] for a named tag out of reach, and the errors of the ports.
pub async fn find_connections(
    ctx: &Ctx,
    tenant: &Tenant,
    provider: Option<Provider>,
    scope: &ContainerScope,
) -> Result<Vec<Connection>> {
    let mut found = find_all(ctx, tenant, provider, scope).await?;
    let now = ctx.clock.now();
    found.retain(|connection| {
        connection.status.is_visible() && !is_abandoned(connection, CONNECT_LINK_SECONDS, now)
    });
    Ok(found)
}

/// Acts as [`find_connections`], but also finds connections that are being deleted.
pub(super) async fn find_all(
    ctx: &Ctx,
    tenant: &Tenant,
    provider: Option<Provider>,
    scope: &ContainerScope,
) -> Result<Vec<Connection>> {
    for tag in &scope.tags {
        tenant.check_access(tag)?;
        record_container(ctx, tenant, tag).await?;
    }

    let mut found = ctx.connections.list(tenant).await?;
    found.retain(|connection| {
        let has_scope_tag = scope.tags.is_empty() || scope.tags.contains(&connection.tag);
        let has_provider = provider.is_none_or(|provider| provider == connection.provider);
        has_scope_tag && has_provider && tenant.can_access(&connection.tag)
    });

    Ok(found)
}

/// Records for the request log which container a request came to. The caller has checked the access
/// to its tag.
async fn record_container(ctx: &Ctx, tenant: &Tenant, tag: &ContainerTag) -> Result<()> {
    if let Some(container) = ctx.containers.get(tenant, tag).await? {
        tenant.record_access(&container.ids);
    }
    Ok(())
}

/// Returns the error for a connection that does not exist for the caller.
pub(super) fn connection_not_found() -> Error {
    Error::NotFound("Connection")
}

/// Changes the record of a connection by `change`, which returns whether there is anything to
/// write. It runs again when another writer was first.
///
/// # Errors
/// Returns [`Error::NotFound`], the errors of `change` and those of the ports.
pub async fn change_connection(
    ctx: &Ctx,
    tenant: &Tenant,
    id: &ConnectionId,
    change: impl FnMut(&mut Connection) -> Result<bool> + Send,
) -> Result<Connection> {
    let (connections, clock) = (ctx.connections.as_ref(), ctx.clock.as_ref());
    update_connection(connections, clock, tenant, id, change)
        .await?
        .ok_or_else(connection_not_found)
}

/// Acts as [`change_connection`], but on single ports. Returns the record, or `None` if the
/// connection no longer exists.
///
/// # Errors
/// Returns the errors of `change` and those of the ports.
pub async fn update_connection(
    connections: &dyn Connections,
    clock: &dyn Clock,
    tenant: &Tenant,
    id: &ConnectionId,
    mut change: impl FnMut(&mut Connection) -> Result<bool> + Send,
) -> Result<Option<Connection>> {
    let mut retry = ConflictRetry::new(clock);
    loop {
        let Some(mut connection) = connections.get(tenant, id).await? else {
            return Ok(None);
        };
        if !change(&mut connection)? {
            return Ok(Some(connection));
        }

        connection.rev += 1;
        connection.updated_at = clock.now();
        if connections.save(tenant, &connection).await? {
            return Ok(Some(connection));
        }

        retry.wait().await?;
    }
}

/// Acts as [`change_connection`]. If something has changed and the connection may run, it then runs
/// at once.
pub(super) async fn change_and_run(
    ctx: &Ctx,
    tenant: &Tenant,
    id: &ConnectionId,
    mut change: impl FnMut(&mut Connection) -> Result<bool> + Send,
) -> Result<Connection> {
    let now = ctx.clock.now();
    let changed = change_connection(ctx, tenant, id, |connection| {
        let is_changed = change(connection)?;
        if is_changed && connection.can_run() {
            request_at(connection, RunTrigger::Manual, now);
        }
        Ok(is_changed)
    })
    .await?;

    if changed.can_run() {
        send_sync_job(ctx, tenant, &changed.id).await;
    }

    Ok(changed)
}

/// Sends the message that a connection has work to do. The sweep sends a lost message again.
pub(super) async fn send_sync_job(ctx: &Ctx, tenant: &Tenant, id: &ConnectionId) {
    send_jobs(ctx, &[sync_message(tenant, id)]).await;
}

/// Acts as [`send_sync_job`], after `seconds` or the longest delay of a message.
pub(super) async fn send_sync_job_later(
    ctx: &Ctx,
    tenant: &Tenant,
    id: &ConnectionId,
    seconds: i64,
) {
    let delay = message_delay(seconds);
    if let Err(error) = ctx
        .jobs
        .send_delayed(&sync_message(tenant, id), delay)
        .await
    {
        warn!(connection.id = %id, error = &error as &dyn std::error::Error, "left a run to the sweep");
    }
}

/// Builds the message that a connection has work to do.
fn sync_message(tenant: &Tenant, id: &ConnectionId) -> JobMessage {
    let job = Job::SyncV1 {
        connection: id.clone(),
    };
    JobMessage::new(tenant.org(), job)
}

/// Requests a run, unless the same run or one for a user is requested already and due by then.
/// Returns whether there is anything to write. A request by a user keeps its trigger until its run
/// begins, because that run also retries files that wait after a failure.
pub(super) fn request_at(connection: &mut Connection, trigger: RunTrigger, at: Timestamp) -> bool {
    let trigger = match connection.requested {
        Some(RunTrigger::Manual) => RunTrigger::Manual,
        _ => trigger,
    };

    let is_due = connection.next_run_at.is_some_and(|next| next <= at);
    if is_due && connection.requested == Some(trigger) {
        return false;
    }

    connection.request_run(trigger, at);
    true
}

/// Begins the deletion of a connection if it has not begun: from now on the connection is hidden,
/// and its next step cleans up. If deletion has begun, the remaining documents can be deleted with
/// the connection, but no longer be kept. Returns whether there is anything to write.
pub(super) fn begin_deletion(
    connection: &mut Connection,
    with_documents: bool,
    now: Timestamp,
) -> bool {
    let was_visible = connection.status.is_visible();
    if was_visible {
        connection.status = ConnectionStatus::Deleting;
        connection.delete_documents = with_documents;
        connection.requested = None;
        connection.next_run_at = Some(now);
    }
    let adds_document_deletion = connection.status == ConnectionStatus::Deleting
        && with_documents
        && !std::mem::replace(&mut connection.delete_documents, true);
    was_visible || adds_document_deletion
}
