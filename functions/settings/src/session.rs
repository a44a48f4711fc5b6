//! The authenticated key, and sessions of administrators.

use axum::extract::State;
use domain::key::KeyKind;
use domain::{ContainerTag, Tenant};
use edge::{Admin, AnyKey, ApiResult, App, Auth, Json};
use serde_json::{Value, json};
use service::{end_session, open_session};

/// The name of the key `local`, which has no record.
const LOCAL_KEY_NAME: &str = "local";

pub(crate) async fn show_session(Auth { tenant, .. }: Auth<AnyKey>) -> Json<Value> {
    let key = tenant.authenticated_key();
    let permission = if tenant.may_write() { "write" } else { "read" };
    let tag = |tag: &ContainerTag| json!({"containerTag": tag, "permission": permission});
    let tags = tenant.allowed_tags();
    let org = tenant.org();

    Json(json!({
        "user": {
            "id": key.map_or(LOCAL_KEY_NAME, |key| key.id.as_str()),
            "email": null,
            "name": key.map_or(LOCAL_KEY_NAME, |key| key.name.as_str()),
        },
        "org": {"id": org, "name": org, "slug": org},
        "role": role_of(&tenant),
        "accessType": if tags.is_some() { "restricted" } else { "full" },
        "containerTags": tags.map(|tags| tags.iter().map(tag).collect::<Vec<_>>()),
        "scope": scope_of(&tenant, permission),
    }))
}

fn role_of(tenant: &Tenant) -> &'static str {
    match (tenant.may_administer(), tenant.may_write()) {
        (true, _) => "owner",
        (false, true) => "editor",
        (false, false) => "viewer",
    }
}

/// Returns the reach of the key. Limits that it does not have are omitted.
fn scope_of(tenant: &Tenant, permission: &str) -> Value {
    let is_scoped = tenant.key_kind() == KeyKind::Scoped || tenant.allowed_tags().is_some();
    let mut scope =
        json!({"type": if is_scoped { "scoped" } else { "full" }, "permission": permission});
    if let Some(tags) = tenant.allowed_tags() {
        scope["tags"] = json!(tags);
        if let [tag] = tags {
            scope["tag"] = json!(tag);
        }
    }

    let key = tenant.authenticated_key();
    if let Some(rate) = key.and_then(|key| key.rate) {
        scope["rateLimit"] = json!({"max": rate.max, "timeWindow": rate.window_ms});
    }

    if let Some(end) = key.and_then(|key| key.expires_at) {
        scope["expires"] = json!(end);
    }

    scope
}

pub(crate) async fn open_admin_session(
    State(app): State<App>,
    Auth { tenant, .. }: Auth<Admin>,
) -> ApiResult<Json<Value>> {
    let session = open_session(&app.ctx, &tenant).await?;
    Ok(Json(
        json!({"token": session.key_text, "expiresAt": session.record.expires_at}),
    ))
}

pub(crate) async fn end_admin_session(
    State(app): State<App>,
    Auth { tenant, .. }: Auth<AnyKey>,
) -> ApiResult<Json<Value>> {
    end_session(&app.ctx, &tenant).await?;
    if let Some(id) = tenant.key_id() {
        app.authenticator.invalidate_key(id);
    }
    Ok(Json(json!({"success": true})))
}
