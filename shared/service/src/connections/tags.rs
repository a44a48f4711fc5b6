//! Connections whose container tag is deleted or merged.

use crate::Ctx;
use crate::connections::change::{begin_deletion, change_connection, send_sync_job};
use domain::connection::Connection;
use domain::error::{Error, Result};
use domain::tag::ContainerTag;
use domain::tenant::Tenant;
use domain::time::Timestamp;

/// Ends the connections of a container that was deleted at `deleted_at`, or of all containers if
/// `tag` is `None`. Returns how many. Connections created later belong to a new container under the
/// tag. Calling it again ends those that are left.
///
/// # Errors
/// Returns the errors of the ports.
pub(crate) async fn end_connections(
    ctx: &Ctx,
    tenant: &Tenant,
    tag: Option<&ContainerTag>,
    deleted_at: Timestamp,
) -> Result<usize> {
    let (mut ended, now) = (0, ctx.clock.now());
    for connection in ctx.connections.list(tenant).await? {
        let is_affected =
            tag.is_none_or(|tag| connection.tag == *tag) && connection.created_at <= deleted_at;
        if is_affected && connection.status.is_visible() {
            let mut is_newly_ended = false;
            let end = |connection: &mut Connection| {
                is_newly_ended = begin_deletion(connection, false, now);
                Ok(is_newly_ended)
            };
            unless_gone(change_connection(ctx, tenant, &connection.id, end).await)?;

            if is_newly_ended {
                send_sync_job(ctx, tenant, &connection.id).await;
                ended += 1;
            }
        }
    }

    Ok(ended)
}

/// Moves the connections of tags that were merged into `target` to that tag.
///
/// # Errors
/// Returns the errors of the ports.
pub(crate) async fn move_connections(
    ctx: &Ctx,
    tenant: &Tenant,
    sources: &[&ContainerTag],
    target: &ContainerTag,
) -> Result<()> {
    for connection in ctx.connections.list(tenant).await? {
        if sources.contains(&&connection.tag) {
            let move_tag = |connection: &mut Connection| {
                let moved = sources.contains(&&connection.tag);
                connection.tag.clone_from(target);
                Ok(moved)
            };
            unless_gone(change_connection(ctx, tenant, &connection.id, move_tag).await)?;
        }
    }

    Ok(())
}

/// Ignores that a connection has been removed since it was listed.
fn unless_gone(changed: Result<Connection>) -> Result<()> {
    match changed {
        Ok(_) | Err(Error::NotFound(_)) => Ok(()),
        Err(error) => Err(error),
    }
}
