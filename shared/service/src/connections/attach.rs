//! Attaching a permission that was given to its connection.

use super::change::{change_and_run, change_connection, connection_not_found};
use super::failure::{ConsentFailure, ConsentRefusal};
use super::grants::{
    grant_id, leave_grant, resume_connection, revive_others, revoke_unused_permission, store_grant,
};
use super::tickets::ConsentQuestion;
use crate::Ctx;
use domain::connection::{Connection, Grant, SyncScope};
use domain::error::{Error, Result};
use domain::ports::{GrantedPermission, OAuthFlow};
use domain::tenant::Tenant;

/// Stores the permission as a grant and reactivates the connection.
///
/// # Errors
/// Returns [`ConsentFailure::Refused`] for a permission of another account, and the errors of the
/// ports.
pub(super) async fn attach_permission(
    ctx: &Ctx,
    oauth: &dyn OAuthFlow,
    tenant: &Tenant,
    connection: &Connection,
    question: &ConsentQuestion,
    permission: GrantedPermission,
) -> std::result::Result<Connection, ConsentFailure> {
    let id = grant_id(connection, &question.app, &permission);
    if is_other_account(connection, &permission) {
        revoke_unused_permission(ctx, oauth, tenant, &id, &question.app, &permission).await?;
        let message = "This connection belongs to another account. Open the link again and choose the account that it \
                       was made with, or make a new connection.";
        return Err(ConsentFailure::Refused(ConsentRefusal {
            kind: None,
            message: message.into(),
        }));
    }

    if connection.grant.is_none() {
        // Once the connection names the grant, deleting the connection also revokes it.
        let set_grant = |connection: &mut Connection| {
            connection.grant = Some(id.clone());
            Ok(connection.status.is_visible())
        };
        change_connection(ctx, tenant, &connection.id, set_grant).await?;
    }

    let grant = store_grant(ctx, tenant, connection, &question.app, &permission).await?;
    let changed = activate(ctx, tenant, connection, &grant, &permission).await;
    let changed = match changed {
        Err(Error::NotFound(what)) => {
            leave_grant(ctx, oauth, tenant, &grant.id, &connection.id).await?;
            return Err(Error::NotFound(what).into());
        }
        changed => changed?,
    };

    if let Some(old) = &connection.grant
        && *old != grant.id
    {
        leave_grant(ctx, oauth, tenant, old, &connection.id).await?;
    }

    revive_others(ctx, oauth, tenant, &grant, &connection.id).await?;
    Ok(changed)
}

/// Checks whether items of another account have already been taken.
fn is_other_account(connection: &Connection, permission: &GrantedPermission) -> bool {
    let is_other = match &connection.account {
        Some(account) => account.subject != permission.account.subject,
        None => false,
    };
    let has_begun = connection.scope == SyncScope::Full || connection.selection > 0;
    is_other && has_begun
}

async fn activate(
    ctx: &Ctx,
    tenant: &Tenant,
    connection: &Connection,
    grant: &Grant,
    permission: &GrantedPermission,
) -> Result<Connection> {
    change_and_run(ctx, tenant, &connection.id, |connection| {
        if !connection.status.is_visible() {
            return Err(connection_not_found());
        }
        connection.grant = Some(grant.id.clone());
        connection.account = Some(permission.account.clone());
        resume_connection(connection);
        connection.expires_at = permission.tokens.refresh_until;
        Ok(true)
    })
    .await
}
