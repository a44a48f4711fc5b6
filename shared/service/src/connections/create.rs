//! Creating connections, and links by which their users give permission.

use super::change::{change_connection, send_sync_job};
use super::provider_tokens::{AppChoice, find_oauth_client};
use super::tickets::{TicketKind, TicketValue, issue_ticket};
use crate::Ctx;
use domain::connection::{
    CONNECT_LINK_SECONDS, Connection, ConnectionStatus, MAX_CONNECTIONS_PER_ORGANIZATION,
    MAX_DOCUMENTS_PER_CONNECTION, Provider, RunTrigger, SyncScope,
};
use domain::error::{Error, PortError, Result};
use domain::metadata::Metadata;
use domain::ports::Connector;
use domain::tag::ContainerTag;
use domain::tenant::Tenant;
use domain::time::Timestamp;
use domain::vault::Secret;

/// A connection whose user has not come for this many seconds is given up when another is created.
const ABANDONED_SECONDS: i64 = 24 * 3600;
/// The number of connections that one request gives up, so that no request waits for long.
const MAX_ABANDONED_DELETIONS: usize = 20;

/// A request for a new connection.
#[derive(Debug, Clone)]
pub struct NewConnection {
    /// The provider.
    pub provider: Provider,
    /// The container tag of the documents; `None` means the key's own tag or the default one.
    pub tag: Option<ContainerTag>,
    /// The address to which the user's browser is redirected at the end. It is already checked.
    pub redirect_url: Option<String>,
    /// The largest number of documents.
    pub document_limit: Option<usize>,
    /// The caller's metadata.
    pub metadata: Metadata,
}

/// The result of creating or reconnecting a connection.
#[derive(Debug)]
pub struct CreatedConnection {
    /// The record of the connection.
    pub connection: Connection,
    /// The link by which the user gives permission; `None` for a connection that needs no
    /// permission.
    pub link: Option<ConsentLink>,
}

/// A link by which the user of a connection gives permission.
#[derive(Debug)]
pub struct ConsentLink {
    /// The ticket in the link.
    pub ticket: Secret,
    /// The time at which the link ends.
    pub expires_at: Timestamp,
}

/// Creates a connection. A connection that needs no permission is active at once.
///
/// # Errors
/// Returns [`Error::Invalid`] naming the field, or what has to be configured, [`Error::Conflict`]
/// when the organization has as many connections as it may or while the container is merged, and
/// the errors of the ports.
pub async fn create_connection(
    ctx: &Ctx,
    connector: &dyn Connector,
    tenant: &Tenant,
    new: NewConnection,
) -> Result<CreatedConnection> {
    let now = ctx.clock.now();
    let mut connection = build_connection(tenant, &new, now)?;
    connector
        .check_metadata(&new.metadata)
        .map_err(Error::invalid)?;
    check_container(ctx, tenant, &connection.tag).await?;

    if connector.oauth_flow().is_some() {
        check_app(ctx, connector, tenant).await?;
    } else {
        connection.scope = SyncScope::Full;
        connection.status = ConnectionStatus::Active;
        connection.request_run(RunTrigger::Manual, now);
    }

    make_room(ctx, tenant, now).await?;
    if !ctx.connections.save(tenant, &connection).await? {
        return Err(PortError::Conflict.into());
    }

    if connection.can_run() {
        send_sync_job(ctx, tenant, &connection.id).await;
        return Ok(CreatedConnection {
            connection,
            link: None,
        });
    }

    let link = Some(issue_consent_link(ctx, tenant, &connection).await?);
    Ok(CreatedConnection { connection, link })
}

/// Builds the record, as far as it follows from the request alone.
fn build_connection(tenant: &Tenant, new: &NewConnection, now: Timestamp) -> Result<Connection> {
    let mut connection = Connection::new(new.provider, tenant.writable_tag(new.tag.clone())?, now);
    connection.scope = scope_of(&new.metadata)?;
    if let Some(limit) = new.document_limit {
        connection.document_limit = checked_limit(limit)?;
    }
    connection.metadata = new.metadata.clone();
    connection.redirect_url.clone_from(&new.redirect_url);
    Ok(connection)
}

/// Reads the scope from `metadata.syncScope`.
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

/// Checks a limit of documents.
///
/// # Errors
/// Returns [`Error::Invalid`] naming the field.
pub(super) fn checked_limit(limit: usize) -> Result<u32> {
    match u32::try_from(limit) {
        Ok(limit @ 1..=MAX_DOCUMENTS_PER_CONNECTION) => Ok(limit),
        _ => Err(Error::invalid_field(
            "documentLimit",
            format!("1 to {MAX_DOCUMENTS_PER_CONNECTION}"),
        )),
    }
}

/// Checks that the container accepts connections, and records for the request log that the request
/// came to it. A container that is being merged accepts none.
async fn check_container(ctx: &Ctx, tenant: &Tenant, tag: &ContainerTag) -> Result<()> {
    let Some(container) = ctx.containers.get(tenant, tag).await? else {
        return Ok(());
    };

    tenant.record_access(&container.ids);
    container.check_writable()
}

/// Checks that an OAuth app is configured, before any user is asked.
async fn check_app(ctx: &Ctx, connector: &dyn Connector, tenant: &Tenant) -> Result<()> {
    let Some(oauth) = connector.oauth_flow() else {
        return Ok(());
    };

    let settings = ctx.settings.get(tenant).await?;
    find_oauth_client(
        ctx,
        oauth,
        tenant,
        &settings,
        AppChoice::Configured(connector.provider()),
    )
    .await?;

    Ok(())
}

/// Refuses more connections than an organization may have, and gives up those whose users never
/// came.
async fn make_room(ctx: &Ctx, tenant: &Tenant, now: Timestamp) -> Result<()> {
    let connections = ctx.connections.list(tenant).await?;
    let (abandoned, remaining): (Vec<_>, Vec<_>) = connections
        .into_iter()
        .filter(|connection| connection.status.is_visible())
        .partition(|connection| is_abandoned(connection, ABANDONED_SECONDS, now));
    if remaining.len() >= MAX_CONNECTIONS_PER_ORGANIZATION {
        let message = format!(
            "an organization has at most {MAX_CONNECTIONS_PER_ORGANIZATION} connections; delete some first"
        );
        return Err(Error::Conflict(message));
    }

    for connection in abandoned.iter().take(MAX_ABANDONED_DELETIONS) {
        // A connection that its user has come back to meanwhile stays.
        ctx.connections.delete(tenant, connection).await?;
    }

    Ok(())
}

/// Checks whether the user of a new connection has not come for this number of seconds.
pub(super) fn is_abandoned(connection: &Connection, seconds: i64, now: Timestamp) -> bool {
    connection.status == ConnectionStatus::PendingOauth
        && connection.grant.is_none()
        && connection.updated_at.plus_seconds(seconds) < now
}

/// Creates a link by which the user of a connection gives permission again. `redirect_url` replaces
/// the address to which the browser is redirected at the end, if it is sent.
///
/// # Errors
/// Returns [`Error::Invalid`] when the connection needs no permission or no app is configured, and
/// the errors of the ports.
pub async fn reconnect_connection(
    ctx: &Ctx,
    connector: &dyn Connector,
    tenant: &Tenant,
    connection: &Connection,
    redirect_url: Option<String>,
) -> Result<CreatedConnection> {
    if connector.oauth_flow().is_none() {
        let name = connection.provider.as_str();
        return Err(Error::invalid(format!(
            "a connection to {name} needs no permission"
        )));
    }

    check_app(ctx, connector, tenant).await?;
    let changed = change_connection(ctx, tenant, &connection.id, |connection| {
        let is_changed = redirect_url.is_some() && connection.redirect_url != redirect_url;
        if is_changed {
            connection.redirect_url.clone_from(&redirect_url);
        }
        // The record of a pending connection is written in any case, so that the time until it is
        // given up starts over.
        Ok(is_changed || connection.status == ConnectionStatus::PendingOauth)
    })
    .await?;
    let link = Some(issue_consent_link(ctx, tenant, &changed).await?);

    Ok(CreatedConnection {
        connection: changed,
        link,
    })
}

/// Issues a link by which the user of a connection gives permission.
async fn issue_consent_link(
    ctx: &Ctx,
    tenant: &Tenant,
    connection: &Connection,
) -> Result<ConsentLink> {
    let expires_at = ctx.clock.now().plus_seconds(CONNECT_LINK_SECONDS);
    let value = TicketValue::new(tenant, &connection.id);
    let ticket = issue_ticket(ctx, TicketKind::Link, &value, expires_at).await?;
    Ok(ConsentLink { ticket, expires_at })
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
