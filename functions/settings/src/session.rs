//! The authenticated key, and sessions of administrators.

use axum::extract::State;
use domain::key::KeyKind;
use domain::{ContainerTag, KeyId, OrgId, Tenant, Timestamp};
use edge::{Admin, AnyKey, ApiResult, App, Auth, Json};
use openapi::{ErrorAnswer, Operation};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::json;
use service::{LOCAL_KEY, end_session, open_session};

use crate::keys::{DoneResponse, KEY_PATTERN, MAX_NAME_CHARS, PermissionShape};

/// The key of a request, and what it reaches.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SessionResponse {
    user: SessionUser,
    org: SessionOrganization,
    role: Role,
    access_type: AccessType,
    /// The container tags that the key reaches; null means all.
    #[schemars(length(min = 1))]
    container_tags: Option<Vec<TagAccess>>,
    scope: SessionScope,
}

/// The key, in place of a user.
#[derive(Debug, Serialize, JsonSchema)]
struct SessionUser {
    /// The id of the key, or `local` for the key of that name.
    #[schemars(with = "KeyId")]
    id: String,
    // compat: the command line of the TypeScript client prints this field.
    /// The name of the key again, because a key has no address.
    #[schemars(length(min = 1, max = MAX_NAME_CHARS))]
    email: String,
    /// The name of the key.
    #[schemars(length(min = 1, max = MAX_NAME_CHARS))]
    name: String,
}

/// The organization of the key.
#[derive(Debug, Serialize, JsonSchema)]
struct SessionOrganization {
    /// Its id.
    id: OrgId,
    /// The same.
    name: OrgId,
    /// The same.
    slug: OrgId,
}

/// The role of a key: administrators are owners, and others may write or only read.
#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Role {
    Owner,
    Editor,
    Viewer,
}

/// The reach of the key: every container tag, or some.
#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum AccessType {
    Full,
    Restricted,
}

/// The permission of the key in a container.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct TagAccess {
    /// The container tag.
    container_tag: ContainerTag,
    /// The permission of the key; `write` includes reading.
    permission: PermissionShape,
}

/// The limits of the key. Limits that it does not have are omitted.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct SessionScope {
    #[serde(rename = "type")]
    kind: ScopeType,
    /// The permission of the key; `write` includes reading.
    permission: PermissionShape,
    /// Its container tags.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1))]
    tags: Option<Vec<ContainerTag>>,
    /// Its container tag, if there is exactly one.
    #[serde(skip_serializing_if = "Option::is_none")]
    tag: Option<ContainerTag>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rate_limit: Option<SessionRateLimit>,
    /// The time from which it no longer works.
    #[serde(skip_serializing_if = "Option::is_none")]
    expires: Option<Timestamp>,
}

/// The kind of the scope: every container tag, or some.
#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum ScopeType {
    Full,
    Scoped,
}

/// The rate limit of the key.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct SessionRateLimit {
    /// The number of requests within the window.
    #[schemars(range(min = 1))]
    max: u32,
    /// The window in milliseconds.
    #[schemars(range(min = 1))]
    time_window: i64,
}

/// A new session.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SessionOpenedResponse {
    /// The key of the session. It is not shown again.
    #[schemars(regex(pattern = KEY_PATTERN))]
    token: String,
    /// The time at which the session ends.
    #[schemars(with = "Timestamp")]
    expires_at: Option<Timestamp>,
}

pub(crate) async fn show_session(Auth { tenant, .. }: Auth<AnyKey>) -> Json<SessionResponse> {
    let key = tenant.authenticated_key();
    let permission = if tenant.may_write() {
        PermissionShape::Write
    } else {
        PermissionShape::Read
    };
    let tags = tenant.allowed_tags();
    let org = tenant.org();
    let access = |tag: &ContainerTag| TagAccess {
        container_tag: tag.clone(),
        permission,
    };

    let (id, name) = match key {
        Some(key) => (key.id.as_str(), key.name.as_str()),
        None => (LOCAL_KEY, LOCAL_KEY),
    };

    Json(SessionResponse {
        user: SessionUser {
            id: id.to_owned(),
            email: name.to_owned(),
            name: name.to_owned(),
        },
        org: SessionOrganization {
            id: org.clone(),
            name: org.clone(),
            slug: org.clone(),
        },
        role: role_of(&tenant),
        access_type: if tags.is_some() {
            AccessType::Restricted
        } else {
            AccessType::Full
        },
        container_tags: tags.map(|tags| tags.iter().map(access).collect()),
        scope: scope_of(&tenant, permission),
    })
}

fn role_of(tenant: &Tenant) -> Role {
    match (tenant.may_administer(), tenant.may_write()) {
        (true, _) => Role::Owner,
        (false, true) => Role::Editor,
        (false, false) => Role::Viewer,
    }
}

/// Returns the limits of the key.
fn scope_of(tenant: &Tenant, permission: PermissionShape) -> SessionScope {
    let tags = tenant.allowed_tags();
    let is_scoped = tenant.key_kind() == KeyKind::Scoped || tags.is_some();
    let single_tag = match tags {
        Some([tag]) => Some(tag.clone()),
        _ => None,
    };

    let key = tenant.authenticated_key();
    let rate = key.and_then(|key| key.rate);

    SessionScope {
        kind: if is_scoped {
            ScopeType::Scoped
        } else {
            ScopeType::Full
        },
        permission,
        tags: tags.map(<[ContainerTag]>::to_vec),
        tag: single_tag,
        rate_limit: rate.map(|rate| SessionRateLimit {
            max: rate.max,
            time_window: rate.window_ms,
        }),
        expires: key.and_then(|key| key.expires_at),
    }
}

pub(crate) async fn open_admin_session(
    State(app): State<App>,
    Auth { tenant, .. }: Auth<Admin>,
) -> ApiResult<Json<SessionOpenedResponse>> {
    let session = open_session(&app.ctx, &tenant).await?;
    Ok(Json(SessionOpenedResponse {
        token: session.key_text,
        expires_at: session.record.expires_at,
    }))
}

pub(crate) async fn end_admin_session(
    State(app): State<App>,
    Auth { tenant, .. }: Auth<AnyKey>,
) -> ApiResult<Json<DoneResponse>> {
    end_session(&app.ctx, &tenant).await?;
    if let Some(id) = tenant.key_id() {
        app.authenticator.invalidate_key(id);
    }
    Ok(Json(DoneResponse { success: true }))
}

/// Describes the operations of this module.
pub(crate) fn operations() -> Vec<Operation> {
    vec![
        Operation::get("/v3/session", "get_session")
            .group("Keys")
            .summary("Show the authenticated key and what it reaches.")
            .description("Use it to check a key, its permissions and its limits.")
            .answer::<SessionResponse>(
                "The key, and what it reaches.",
                json!({
                    "user": {"id": "8hZc1KReVt", "email": "notes of the web app", "name": "notes of the web app"},
                    "org": {"id": "acme", "name": "acme", "slug": "acme"},
                    "role": "editor",
                    "accessType": "restricted",
                    "containerTags": [{"containerTag": "user_42", "permission": "write"}],
                    "scope": {
                        "type": "scoped",
                        "permission": "write",
                        "tags": ["user_42"],
                        "tag": "user_42",
                    },
                }),
            )
            .without(ErrorAnswer::Forbidden),
        Operation::post("/v3/session", "open_session")
            .group("Keys")
            .summary("Open a session of an administrator.")
            .description(
                "The token is used like an API key and expires after 15 minutes. A session cannot \
                 open another one.",
            )
            .answer::<SessionOpenedResponse>(
                "The new session.",
                json!({
                    "token": "rk_8hZc1KReVt_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
                    "expiresAt": "2026-03-01T21:30:00.000Z",
                }),
            ),
        Operation::delete("/v3/session", "end_session")
            .group("Keys")
            .summary("End the session of the request.")
            .description(
                "The token of the session stops working. Keys other than sessions are refused.",
            )
            .answer::<DoneResponse>("The session has ended.", json!({"success": true}))
            .without(ErrorAnswer::Forbidden)
            .error(ErrorAnswer::Invalid, ""),
    ]
}
