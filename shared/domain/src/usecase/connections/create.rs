//! Making connections, and links by which their users give permission.

use super::access::{Apps, oauth_client};
use super::change::{change_connection, note_container, wake};
use super::tickets::{TicketFor, TicketKind, issue_ticket};
use crate::connection::{
    Connection, ConnectionStatus, LINK_SECONDS, MAX_CONNECTIONS, MAX_DOCUMENTS, Provider,
    SyncScope, Trigger,
};
use crate::ctx::Ctx;
use crate::error::{Error, PortError, Result};
use crate::metadata::Metadata;
use crate::ports::Connector;
use crate::tag::ContainerTag;
use crate::tenant::Tenant;
use crate::time::Timestamp;
use crate::vault::Secret;

/// A connection whose user never came is given up after so many seconds, when others are made.
const ABANDONED_SECONDS: i64 = 24 * 3600;
/// So many of them at a time, so that no request waits for long.
const ABANDONED_AT_ONCE: usize = 20;

/// What a caller wants to connect.
#[derive(Debug, Clone)]
pub struct NewConnection {
    /// Who to.
    pub provider: Provider,
    /// The container that documents go to; the key's own or the default one when none was named.
    pub tag: Option<ContainerTag>,
    /// Where the user's browser goes in the end; checked already.
    pub redirect_url: Option<String>,
    /// The most documents.
    pub document_limit: Option<usize>,
    /// What the caller says about it.
    pub metadata: Metadata,
}

/// A connection that was made.
#[derive(Debug)]
pub struct Created {
    /// Its record.
    pub connection: Connection,
    /// What the link carries by which its user gives permission; none where there is nothing to permit.
    pub link: Option<Secret>,
}

/// Makes a connection. One that needs no permission is active at once.
///
/// # Errors
/// [`Error::Invalid`] naming the field, or what has to be configured; [`Error::Conflict`] when the organization has as
/// many as it may, or while the container is merged; and those of the ports.
pub async fn create_connection(
    ctx: &Ctx,
    connector: &dyn Connector,
    tenant: &Tenant,
    new: NewConnection,
) -> Result<Created> {
    let now = ctx.clock.now();
    let mut connection = planned(tenant, &new, now)?;
    connector.check(&new.metadata).map_err(Error::invalid)?;
    check_container(ctx, tenant, &connection.tag).await?;
    if connector.oauth().is_some() {
        check_app(ctx, connector, tenant).await?;
    } else {
        connection.scope = SyncScope::Full;
        connection.status = ConnectionStatus::Active;
        connection.request(Trigger::Manual, now);
    }

    make_room(ctx, tenant, now).await?;
    if !ctx.connections.save(tenant, &connection).await? {
        return Err(PortError::Conflict.into());
    }

    if connection.may_run() {
        wake(ctx, tenant, &connection.id).await;
        return Ok(Created {
            connection,
            link: None,
        });
    }

    let link = Some(link(ctx, tenant, &connection).await?);
    Ok(Created { connection, link })
}

/// The record, as far as it follows from the request alone.
fn planned(tenant: &Tenant, new: &NewConnection, now: Timestamp) -> Result<Connection> {
    let mut connection = Connection::new(new.provider, tenant.writable_tag(new.tag.clone())?, now);
    connection.scope = scope_of(&new.metadata)?;
    if let Some(limit) = new.document_limit {
        connection.document_limit = checked_limit(limit)?;
    }
    connection.metadata = new.metadata.clone();
    connection.redirect_url.clone_from(&new.redirect_url);
    Ok(connection)
}

/// How much is taken, from `metadata.syncScope`.
fn scope_of(metadata: &Metadata) -> Result<SyncScope> {
    match metadata.get("syncScope").map(|scope| scope.as_str()) {
        None | Some(Some("selected")) => Ok(SyncScope::Selected),
        Some(Some("full")) => Ok(SyncScope::Full),
        Some(_) => Err(Error::invalid_field(
            "metadata.syncScope",
            "selected or full",
        )),
    }
}

/// A limit of documents.
///
/// # Errors
/// [`Error::Invalid`] naming the field.
pub(super) fn checked_limit(limit: usize) -> Result<u32> {
    let limit = u32::try_from(limit)
        .ok()
        .filter(|limit| (1..=MAX_DOCUMENTS).contains(limit));
    limit.ok_or_else(|| Error::invalid_field("documentLimit", format!("1 to {MAX_DOCUMENTS}")))
}

/// Nothing can be connected to a container that is being merged.
async fn check_container(ctx: &Ctx, tenant: &Tenant, tag: &ContainerTag) -> Result<()> {
    note_container(ctx, tenant, tag).await?;
    match ctx.containers.get(tenant, tag).await? {
        Some(container) => container.check_writable(),
        None => Ok(()),
    }
}

/// Says what has to be configured before any user can be asked.
async fn check_app(ctx: &Ctx, connector: &dyn Connector, tenant: &Tenant) -> Result<()> {
    let Some(oauth) = connector.oauth() else {
        return Ok(());
    };

    let settings = ctx.settings.get(tenant).await?;
    oauth_client(
        ctx,
        oauth,
        tenant,
        &settings,
        Apps::Present(connector.provider()),
    )
    .await?;

    Ok(())
}

/// Refuses more connections than an organization may have, and gives up those whose users never came.
async fn make_room(ctx: &Ctx, tenant: &Tenant, now: Timestamp) -> Result<()> {
    let all = ctx.connections.list(tenant).await?;
    let (abandoned, kept): (Vec<_>, Vec<_>) = all
        .into_iter()
        .filter(|connection| connection.status.is_visible())
        .partition(|connection| is_abandoned(connection, now));
    if kept.len() >= MAX_CONNECTIONS {
        let message =
            format!("an organization has at most {MAX_CONNECTIONS} connections; delete some first");
        return Err(Error::Conflict(message));
    }

    for connection in abandoned.iter().take(ABANDONED_AT_ONCE) {
        // One that somebody has come back to meanwhile stays.
        ctx.connections.delete(tenant, connection).await?;
    }

    Ok(())
}

fn is_abandoned(connection: &Connection, now: Timestamp) -> bool {
    connection.status == ConnectionStatus::PendingOauth
        && connection.grant.is_none()
        && connection.updated_at.plus_seconds(ABANDONED_SECONDS) < now
}

/// A link by which the user of a connection gives permission again, and where the browser goes in the end, if that is to
/// change.
///
/// # Errors
/// [`Error::Invalid`] where there is nothing to permit or no app is configured, and those of the ports.
pub async fn reconnect(
    ctx: &Ctx,
    connector: &dyn Connector,
    tenant: &Tenant,
    connection: &Connection,
    redirect_url: Option<String>,
) -> Result<Created> {
    if connector.oauth().is_none() {
        let name = connection.provider.as_str();
        return Err(Error::invalid(format!(
            "a connection to {name} needs no permission"
        )));
    }

    check_app(ctx, connector, tenant).await?;
    let changed = change_connection(ctx, tenant, &connection.id, |connection| {
        let changes = redirect_url.is_some() && connection.redirect_url != redirect_url;
        if changes {
            connection.redirect_url.clone_from(&redirect_url);
        }
        // Written in any case while nobody came: from now on it is waited for anew.
        Ok(changes || connection.status == ConnectionStatus::PendingOauth)
    })
    .await?;
    let link = Some(link(ctx, tenant, &changed).await?);

    Ok(Created {
        connection: changed,
        link,
    })
}

async fn link(ctx: &Ctx, tenant: &Tenant, connection: &Connection) -> Result<Secret> {
    let until = ctx.clock.now().plus_seconds(LINK_SECONDS);
    issue_ticket(
        ctx,
        TicketKind::Link,
        &TicketFor::new(tenant, &connection.id),
        until,
    )
    .await
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_scope_is_one_of_two_words() {
        let scope = |value: serde_json::Value| {
            scope_of(&Metadata::from_stored(value.as_object().unwrap().clone())).ok()
        };
        assert_eq!(scope(json!({})), Some(SyncScope::Selected));
        assert_eq!(
            scope(json!({"syncScope": "selected"})),
            Some(SyncScope::Selected)
        );
        assert_eq!(scope(json!({"syncScope": "full"})), Some(SyncScope::Full));
        for bad in [json!("all"), json!("FULL"), json!(true), json!(["full"])] {
            assert_eq!(scope(json!({"syncScope": bad})), None, "{bad}");
        }
    }

    #[test]
    fn limits_are_those_of_the_contract() {
        assert_eq!(
            [1, 10_000].map(|limit| checked_limit(limit).unwrap()),
            [1, 10_000]
        );
        assert!(
            [0, 10_001, usize::MAX]
                .iter()
                .all(|limit| checked_limit(*limit).is_err())
        );
    }
}
