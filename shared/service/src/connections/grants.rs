//! Grants: storing the permission that a user has given, and giving it up.

use std::collections::BTreeSet;

use tracing::warn;

use crate::ConflictRetry;
use crate::Ctx;
use crate::connections::change::{change_connection, request_at, send_sync_job};
use crate::connections::provider_tokens::forget_tokens;
use domain::connection::{
    Connection, ConnectionStatus, Grant, OAuthAppRef, OAuthTokens, RunTrigger, SyncScope,
};
use domain::error::{Error, Result};
use domain::ids::{ConnectionId, GrantId, Revision};
use domain::ports::{GrantedPermission, OAuthFlow};
use domain::tenant::Tenant;

/// Returns the id of the grant with which an account of the provider permits `app`.
pub(super) fn grant_id(
    connection: &Connection,
    app: &OAuthAppRef,
    permission: &GrantedPermission,
) -> GrantId {
    GrantId::derived(
        connection.provider.as_str(),
        app.client_id(),
        &permission.account.subject,
    )
}

/// Stores a permission for a connection as a grant. Other connections of the same account and app
/// also use it from now on. The tokens are sealed under a new name before the grant names it; the
/// tokens that they replace are deleted afterwards.
pub(super) async fn store_grant(
    ctx: &Ctx,
    tenant: &Tenant,
    connection: &Connection,
    app: &OAuthAppRef,
    permission: &GrantedPermission,
) -> Result<Grant> {
    let id = grant_id(connection, app, permission);
    let secret = format!("grant/{id}/{}", Revision::random());
    ctx.vault
        .put(tenant, &secret, &permission.tokens.to_secret())
        .await?;
    let mut retry = ConflictRetry::new(ctx.clock.as_ref());
    loop {
        let mut grant = Grant {
            id: id.clone(),
            provider: connection.provider,
            account: permission.account.clone(),
            app: app.clone(),
            connections: BTreeSet::from([connection.id.clone()]),
            secret: secret.clone(),
            refreshing_until: None,
            throttled_until: None,
            rev: 0,
        };
        let existing = ctx.connections.get_grant(tenant, &id).await?;
        if let Some(existing) = &existing {
            grant
                .connections
                .extend(existing.connections.iter().cloned());
            grant.throttled_until = existing.throttled_until;
            grant.rev = existing.rev + 1;
        }

        if ctx.connections.save_grant(tenant, &grant).await? {
            if let Some(existing) = existing
                && existing.secret != secret
            {
                forget_tokens(ctx, tenant, &existing.secret).await;
            }
            return Ok(grant);
        }

        if let Err(error) = retry.wait().await {
            forget_tokens(ctx, tenant, &secret).await;
            return Err(error.into());
        }
    }
}

/// Removes a connection from a grant. The last one revokes the grant at the provider, as far as the
/// provider answers.
pub(super) async fn leave_grant(
    ctx: &Ctx,
    oauth: &dyn OAuthFlow,
    tenant: &Tenant,
    id: &GrantId,
    connection: &ConnectionId,
) -> Result<()> {
    let mut retry = ConflictRetry::new(ctx.clock.as_ref());
    loop {
        let Some(mut grant) = ctx.connections.get_grant(tenant, id).await? else {
            return Ok(());
        };
        if !grant.connections.remove(connection) {
            return Ok(());
        }
        if grant.connections.is_empty() {
            // The record as it was read: the deletion fails if another connection has joined.
            grant.connections.insert(connection.clone());
            if ctx.connections.delete_grant(tenant, &grant).await? {
                let sealed = ctx.vault.get(tenant, &grant.secret).await?;
                if let Some(tokens) = sealed.as_ref().and_then(OAuthTokens::from_secret) {
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

        retry.wait().await?;
    }
}

/// Revokes a permission that nothing will use, unless that would also end a permission of the same
/// account and app that others may use: with the organization's own app that of other connections
/// of the organization, with the service's app that of any organization. The tokens were never
/// stored.
pub(super) async fn revoke_unused_permission(
    ctx: &Ctx,
    oauth: &dyn OAuthFlow,
    tenant: &Tenant,
    id: &GrantId,
    app: &OAuthAppRef,
    permission: &GrantedPermission,
) -> Result<()> {
    let is_own_app = matches!(app, OAuthAppRef::Organization { .. });
    if is_own_app && ctx.connections.get_grant(tenant, id).await?.is_none() {
        revoke(oauth, &permission.tokens).await;
    }
    Ok(())
}

async fn revoke(oauth: &dyn OAuthFlow, tokens: &OAuthTokens) {
    if let Err(error) = oauth.revoke_permission(tokens).await {
        warn!(
            error = &error as &dyn std::error::Error,
            "could not revoke a permission at its provider"
        );
    }
}

/// Reactivates the other connections of a renewed grant that had expired. A connection that no
/// longer exists is removed from the grant.
pub(super) async fn revive_others(
    ctx: &Ctx,
    oauth: &dyn OAuthFlow,
    tenant: &Tenant,
    grant: &Grant,
    except: &ConnectionId,
) -> Result<()> {
    let now = ctx.clock.now();
    for id in &grant.connections {
        if id == except {
            continue;
        }
        let mut is_revived = false;
        let revive = |connection: &mut Connection| {
            let uses_grant = connection.grant.as_ref() == Some(&grant.id);
            is_revived = uses_grant && connection.status == ConnectionStatus::Expired;
            if is_revived {
                resume_connection(connection);
                if connection.can_run() {
                    request_at(connection, RunTrigger::Cron, now);
                }
            }
            Ok(is_revived)
        };
        match change_connection(ctx, tenant, id, revive).await {
            Ok(_) => {}
            Err(Error::NotFound(_)) => {
                leave_grant(ctx, oauth, tenant, &grant.id, id).await?;
                continue;
            }
            Err(error) => return Err(error),
        }

        if is_revived {
            send_sync_job(ctx, tenant, id).await;
        }
    }

    Ok(())
}

/// Lets a connection that has permission continue where it was. The end of the former permission
/// says nothing about this one.
pub(super) fn resume_connection(connection: &mut Connection) {
    let needs_selection = connection.scope == SyncScope::Selected && connection.selection == 0;
    connection.status = if needs_selection {
        ConnectionStatus::AwaitingSelection
    } else {
        ConnectionStatus::Active
    };
    connection.problem = None;
    connection.expires_at = None;
}
