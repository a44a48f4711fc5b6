//! Operations of callers on connections: import, limit, delete.

use super::change::{
    begin_deletion, change_and_run, change_connection, connection_not_found, find_all, find_any,
    request_at, send_sync_job,
};
use super::create::checked_limit;
use crate::Ctx;
use crate::find::ContainerScope;
use domain::connection::{Connection, ConnectionStatus, Provider, RunTrigger};
use domain::error::Result;
use domain::tag::ContainerTag;
use domain::tenant::Tenant;

/// The outcome of a request to import.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ImportOutcome {
    /// A run begins, or another one follows the run under way.
    Requested,
    /// The user has not given permission yet.
    NoPermission,
    /// No item is selected yet.
    NoSelection,
    /// The permission has ended.
    Expired,
}

/// Requests a run of a connection.
///
/// # Errors
/// Returns [`domain::Error::NotFound`] and the errors of the ports.
pub async fn request_import(
    ctx: &Ctx,
    tenant: &Tenant,
    connection: &Connection,
) -> Result<ImportOutcome> {
    let mut outcome = ImportOutcome::Requested;
    let now = ctx.clock.now();
    let change = |connection: &mut Connection| {
        outcome = match connection.status {
            // Only a run finds out whether a person has corrected the cause outside.
            ConnectionStatus::Active | ConnectionStatus::Suspended => ImportOutcome::Requested,
            ConnectionStatus::PendingOauth => ImportOutcome::NoPermission,
            ConnectionStatus::AwaitingSelection => ImportOutcome::NoSelection,
            ConnectionStatus::Expired => ImportOutcome::Expired,
            ConnectionStatus::Deleting => return Err(connection_not_found()),
        };
        Ok(outcome == ImportOutcome::Requested && request_at(connection, RunTrigger::Manual, now))
    };

    change_connection(ctx, tenant, &connection.id, change).await?;
    if outcome == ImportOutcome::Requested {
        send_sync_job(ctx, tenant, &connection.id).await;
    }

    Ok(outcome)
}

/// Changes the number of documents that a connection may have.
///
/// # Errors
/// Returns [`domain::Error::Invalid`] naming the field, [`domain::Error::NotFound`] and the errors
/// of the ports.
pub async fn change_document_limit(
    ctx: &Ctx,
    tenant: &Tenant,
    connection: &Connection,
    limit: usize,
) -> Result<Connection> {
    let limit = checked_limit(limit)?;
    change_and_run(ctx, tenant, &connection.id, |connection| {
        if !connection.status.is_visible() {
            return Err(connection_not_found());
        }
        let is_changed = connection.document_limit != limit;
        connection.document_limit = limit;
        Ok(is_changed)
    })
    .await
}

/// Deletes a connection. Once this returns, the connection no longer synchronizes; its data is
/// removed in the background. Until that is done, another call returns the same, and may ask for
/// the remaining documents to be deleted as well.
///
/// # Errors
/// Returns [`domain::Error::NotFound`] and the errors of the ports.
pub async fn delete_connection(
    ctx: &Ctx,
    tenant: &Tenant,
    id: &str,
    with_documents: bool,
) -> Result<Connection> {
    let connection = find_any(ctx, tenant, id).await?;
    end(ctx, tenant, &connection, with_documents).await
}

/// Acts as [`delete_connection`], if the documents of the connection belong to the container `tag`.
///
/// # Errors
/// Returns [`domain::Error::Forbidden`] for a tag out of reach, and the errors of
/// [`delete_connection`].
pub async fn delete_connection_of(
    ctx: &Ctx,
    tenant: &Tenant,
    tag: &ContainerTag,
    id: &str,
    with_documents: bool,
) -> Result<Connection> {
    tenant.check_access(tag)?;
    let connection = find_any(ctx, tenant, id).await?;
    if connection.tag != *tag {
        return Err(connection_not_found());
    }
    end(ctx, tenant, &connection, with_documents).await
}

/// Deletes all connections to a provider in the containers of `scope`. If there are none, returns
/// those that are already being deleted.
///
/// # Errors
/// Returns [`domain::Error::NotFound`], [`domain::Error::Forbidden`] for a named tag out of reach,
/// and the errors of the ports.
pub async fn delete_connections(
    ctx: &Ctx,
    tenant: &Tenant,
    provider: Provider,
    scope: &ContainerScope,
    with_documents: bool,
) -> Result<Vec<Connection>> {
    let connections = find_all(ctx, tenant, Some(provider), scope).await?;
    let (visible, deleting): (Vec<_>, Vec<_>) = connections
        .into_iter()
        .partition(|connection| connection.status.is_visible());
    let mut ended = if visible.is_empty() {
        deleting
    } else {
        visible
    };
    for connection in &mut ended {
        *connection = end(ctx, tenant, connection, with_documents).await?;
    }

    if ended.is_empty() {
        Err(connection_not_found())
    } else {
        Ok(ended)
    }
}

async fn end(
    ctx: &Ctx,
    tenant: &Tenant,
    connection: &Connection,
    with_documents: bool,
) -> Result<Connection> {
    let now = ctx.clock.now();
    let begin = |connection: &mut Connection| Ok(begin_deletion(connection, with_documents, now));
    let ended = change_connection(ctx, tenant, &connection.id, begin).await?;
    if ended.status == ConnectionStatus::Deleting {
        send_sync_job(ctx, tenant, &ended.id).await;
    }
    Ok(ended)
}
