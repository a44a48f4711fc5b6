//! What callers do with connections: import, limit, end.

use super::change::{
    begin_end, change_and_run, change_connection, find_all, find_any, missing, request_at, wake,
};
use super::create::checked_limit;
use crate::connection::{Connection, ConnectionStatus, Provider, Trigger};
use crate::ctx::Ctx;
use crate::error::Result;
use crate::tenant::Tenant;
use crate::usecase::find::Scope;

/// What became of a wish to import.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Import {
    /// A run begins, or one more after the one under way.
    Requested,
    /// Its user has not given permission yet.
    NoPermission,
    /// Nothing is selected yet.
    NoSelection,
    /// Its permission has ended.
    Expired,
}

/// Asks for a run of a connection.
///
/// # Errors
/// [`crate::Error::NotFound`] and those of the ports.
pub async fn import_now(ctx: &Ctx, tenant: &Tenant, connection: &Connection) -> Result<Import> {
    let mut import = Import::Requested;
    let now = ctx.clock.now();
    let change = |connection: &mut Connection| {
        import = match connection.status {
            // What a person has put right outside is found out by a run.
            ConnectionStatus::Active | ConnectionStatus::Suspended => Import::Requested,
            ConnectionStatus::PendingOauth => Import::NoPermission,
            ConnectionStatus::AwaitingSelection => Import::NoSelection,
            ConnectionStatus::Expired => Import::Expired,
            ConnectionStatus::Deleting => return Err(missing()),
        };
        Ok(import == Import::Requested && request_at(connection, Trigger::Manual, now))
    };

    change_connection(ctx, tenant, &connection.id, change).await?;
    if import == Import::Requested {
        wake(ctx, tenant, &connection.id).await;
    }

    Ok(import)
}

/// Changes how many documents a connection may have.
///
/// # Errors
/// [`crate::Error::Invalid`] naming the field, [`crate::Error::NotFound`] and those of the ports.
pub async fn limit_documents(
    ctx: &Ctx,
    tenant: &Tenant,
    connection: &Connection,
    limit: usize,
) -> Result<Connection> {
    let limit = checked_limit(limit)?;
    change_and_run(ctx, tenant, &connection.id, |connection| {
        if !connection.status.is_visible() {
            return Err(missing());
        }
        let changes = connection.document_limit != limit;
        connection.document_limit = limit;
        Ok(changes)
    })
    .await
}

/// Ends a connection: from the answer on nothing of it syncs; what it takes up goes in the background. While it goes, the
/// same again is answered alike, and what is left of its documents can be asked to go as well.
///
/// # Errors
/// [`crate::Error::NotFound`] and those of the ports.
pub async fn delete_connection(
    ctx: &Ctx,
    tenant: &Tenant,
    id: &str,
    with_documents: bool,
) -> Result<Connection> {
    let connection = find_any(ctx, tenant, id).await?;
    end(ctx, tenant, &connection, with_documents).await
}

/// Ends all connections to a provider in the containers of `scope`; where there are none, those that are going already.
///
/// # Errors
/// [`crate::Error::NotFound`], [`crate::Error::Forbidden`] for a named tag out of reach, and those of the ports.
pub async fn delete_connections(
    ctx: &Ctx,
    tenant: &Tenant,
    provider: Provider,
    scope: &Scope,
    with_documents: bool,
) -> Result<Vec<Connection>> {
    let all = find_all(ctx, tenant, Some(provider), scope).await?;
    let (present, gone): (Vec<_>, Vec<_>) = all
        .into_iter()
        .partition(|connection| connection.status.is_visible());
    let mut ended = if present.is_empty() { gone } else { present };
    for connection in &mut ended {
        *connection = end(ctx, tenant, connection, with_documents).await?;
    }

    if ended.is_empty() {
        Err(missing())
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
    let begin = |connection: &mut Connection| Ok(begin_end(connection, with_documents, now));
    let ended = change_connection(ctx, tenant, &connection.id, begin).await?;
    if ended.status == ConnectionStatus::Deleting {
        wake(ctx, tenant, &ended.id).await;
    }
    Ok(ended)
}
