//! Permissions: taking one that a user has given, and giving one up.

use tracing::warn;

use crate::connection::{AppRef, Connection, ConnectionStatus, Grant, SyncScope, Tokens, Trigger};
use crate::ctx::Ctx;
use crate::error::{PortError, Result};
use crate::ids::{ConnectionId, GrantId, Revision};
use crate::ports::{OAuth, Permission};
use crate::tenant::Tenant;
use crate::usecase::connections::access::forget_tokens;
use crate::usecase::connections::change::{change_connection, request_at, wake};

/// How often a record is tried against concurrent changes.
const ATTEMPTS: usize = 12;

/// The permission's record that an account of `provider` gives to `app`.
pub(super) fn grant_id(connection: &Connection, app: &AppRef, permission: &Permission) -> GrantId {
    GrantId::derived(
        connection.provider.as_str(),
        app.client_id(),
        &permission.account.subject,
    )
}

/// Stores a permission for a connection. Others of the same account and app use it from now on as well. The tokens are
/// sealed under a name of their own before the record names it; those that they replace are deleted after.
pub(super) async fn store_grant(
    ctx: &Ctx,
    tenant: &Tenant,
    connection: &Connection,
    app: &AppRef,
    permission: &Permission,
) -> Result<Grant> {
    let id = grant_id(connection, app, permission);
    let secret = format!("grant/{id}/{}", Revision::random());
    ctx.vault
        .put(tenant, &secret, &permission.tokens.to_secret())
        .await?;
    for _ in 0..ATTEMPTS {
        let known = ctx.connections.grant(tenant, &id).await?;
        let old = known.as_ref().map(|grant| grant.secret.clone());
        let mut connections = known
            .as_ref()
            .map(|grant| grant.connections.clone())
            .unwrap_or_default();
        connections.insert(connection.id.clone());
        let grant = Grant {
            id: id.clone(),
            provider: connection.provider,
            account: permission.account.clone(),
            app: app.clone(),
            connections,
            secret: secret.clone(),
            refreshing_until: None,
            throttled_until: known.as_ref().and_then(|grant| grant.throttled_until),
            rev: known.as_ref().map_or(0, |grant| grant.rev + 1),
        };
        if ctx.connections.save_grant(tenant, &grant).await? {
            if let Some(old) = old.filter(|old| *old != secret) {
                forget_tokens(ctx, tenant, &old).await;
            }
            return Ok(grant);
        }
    }

    forget_tokens(ctx, tenant, &secret).await;
    Err(PortError::Conflict.into())
}

/// Takes a connection out of a permission; the last one ends it at the provider, as far as that answers.
pub(super) async fn leave_grant(
    ctx: &Ctx,
    oauth: &dyn OAuth,
    tenant: &Tenant,
    id: &GrantId,
    connection: &ConnectionId,
) -> Result<()> {
    for _ in 0..ATTEMPTS {
        let Some(mut grant) = ctx.connections.grant(tenant, id).await? else {
            return Ok(());
        };
        if !grant.connections.remove(connection) {
            return Ok(());
        }
        if grant.connections.is_empty() {
            // As it was read: nobody may have joined.
            grant.connections.insert(connection.clone());
            if ctx.connections.delete_grant(tenant, &grant).await? {
                let sealed = ctx.vault.get(tenant, &grant.secret).await?;
                if let Some(tokens) = sealed.as_ref().and_then(Tokens::of_secret) {
                    revoke(oauth, &tokens).await;
                }
                forget_tokens(ctx, tenant, &grant.secret).await;
                return Ok(());
            }
        } else {
            grant.rev += 1;
            if ctx.connections.save_grant(tenant, &grant).await? {
                return Ok(());
            }
        }
    }

    Err(PortError::Conflict.into())
}

/// Ends a permission that nothing will use, unless others may use one of the same account and app, which would end as well:
/// with the organization's own app those of the organization, with the service's those of any. Its tokens were never stored.
pub(super) async fn discard(
    ctx: &Ctx,
    oauth: &dyn OAuth,
    tenant: &Tenant,
    id: &GrantId,
    app: &AppRef,
    permission: &Permission,
) -> Result<()> {
    let is_own = matches!(app, AppRef::Organization { .. });
    if is_own && ctx.connections.grant(tenant, id).await?.is_none() {
        revoke(oauth, &permission.tokens).await;
    }
    Ok(())
}

async fn revoke(oauth: &dyn OAuth, tokens: &Tokens) {
    if let Err(error) = oauth.revoke(tokens).await {
        warn!(
            error = &error as &dyn std::error::Error,
            "a permission was not ended at its provider"
        );
    }
}

/// Connections that had lost the permission that was given anew go on as well.
pub(super) async fn revive_others(
    ctx: &Ctx,
    tenant: &Tenant,
    grant: &Grant,
    but: &ConnectionId,
) -> Result<()> {
    let now = ctx.clock.now();
    for id in grant.connections.iter().filter(|id| *id != but) {
        let mut revived = false;
        let revive = |connection: &mut Connection| {
            let is_of_it = connection.grant.as_ref() == Some(&grant.id);
            revived = is_of_it && connection.status == ConnectionStatus::Expired;
            if revived {
                permitted(connection);
                if connection.may_run() {
                    request_at(connection, Trigger::Cron, now);
                }
            }
            Ok(revived)
        };
        change_connection(ctx, tenant, id, revive).await?;
        if revived {
            wake(ctx, tenant, id).await;
        }
    }

    Ok(())
}

/// The connection has permission: it goes on where it was.
pub(super) fn permitted(connection: &mut Connection) {
    let selects = connection.scope == SyncScope::Selected && connection.selection == 0;
    connection.status = if selects {
        ConnectionStatus::AwaitingSelection
    } else {
        ConnectionStatus::Active
    };
    connection.problem = None;
}
