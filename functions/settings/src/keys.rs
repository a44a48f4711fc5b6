//! API keys: `/v3/auth`. A secret is shown only once, in the answer to its creation.

use axum::extract::State;
use domain::key::{ApiKey, KeyKind, Permission, SCOPED_ENDPOINTS};
use domain::{ContainerTag, Error, KeyId, Result, Timestamp};
use edge::{Admin, ApiResult, App, Auth, Json, MAX_ENTRIES, Path, parse_single_tag};
use openapi::{ErrorAnswer, Operation, PathId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use service::{
    AgentKeySpec, ScopedKeySpec, create_agent_key, create_scoped_key, delete_key, list_keys,
    set_key_enabled, toggle_key,
};

/// The form of a key: its prefix, its id and its secret.
pub(crate) const KEY_PATTERN: &str = "^rk_[A-Za-z0-9]{1,32}_[A-Za-z0-9]{40}$";
/// The most characters of a key's name.
pub(crate) const MAX_NAME_CHARS: usize = 100;

/// The scope and the limits of a new key.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "CreateScopedKeyRequest", extend("anyOf" = scope_alternatives()))]
pub(crate) struct ScopedKeyRequest {
    /// The container tag.
    #[schemars(with = "Option<ContainerTag>")]
    container_tag: Option<String>,
    /// The older form of `containerTag`, with one tag.
    #[schemars(with = "Option<Vec<ContainerTag>>", length(max = MAX_ENTRIES), extend("deprecated" = true))]
    container_tags: Option<Vec<String>>,
    /// A name for display. The default is `scoped_` and the tag.
    #[schemars(length(min = 1, max = MAX_NAME_CHARS))]
    name: Option<String>,
    /// The number of days after which it no longer works. Without it, the key never expires.
    #[schemars(range(min = 1, max = 365))]
    #[serde(default, deserialize_with = "edge::deserialize_whole_number")]
    expires_in_days: Option<i64>,
    /// The number of requests allowed within the window.
    #[schemars(range(min = 1, max = 10_000), extend("default" = 500))]
    #[serde(default, deserialize_with = "edge::deserialize_whole_number")]
    rate_limit_max: Option<i64>,
    /// The window in milliseconds.
    #[schemars(range(min = 1, max = 3_600_000), extend("default" = 60_000))]
    #[serde(default, deserialize_with = "edge::deserialize_whole_number")]
    rate_limit_time_window: Option<i64>,
}

/// The permissions of a new key.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "CreateAgentKeyRequest")]
pub(crate) struct AgentKeyRequest {
    /// Its name.
    #[schemars(length(min = 1, max = MAX_NAME_CHARS))]
    name: String,
    /// The permission of the key; `write` includes reading.
    permission: PermissionShape,
    /// The container tags that the key reaches. Without them, it reaches all.
    #[schemars(with = "Option<Vec<ContainerTag>>", length(min = 1, max = MAX_ENTRIES))]
    container_tags: Option<Vec<String>>,
    /// The number of days after which it no longer works. Without it, the key never expires.
    #[schemars(range(min = 1, max = 365))]
    #[serde(default, deserialize_with = "edge::deserialize_whole_number")]
    expires_in_days: Option<i64>,
}

/// The desired state of a key.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "ToggleKeyRequest")]
pub(crate) struct ToggleRequest {
    /// The desired state. Without it, the state is toggled. Only a request with the desired state
    /// is safe to repeat.
    enabled: Option<bool>,
}

/// The permission of a key; `write` includes reading.
#[derive(Debug, Clone, Copy, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "Permission")]
pub(crate) enum PermissionShape {
    Read,
    Write,
}

/// The keys of an organization.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct KeysResponse {
    /// The keys, the oldest first.
    keys: Vec<KeyShape>,
}

/// A new key for one container tag.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ScopedKeyResponse {
    /// The key. It is not shown again.
    #[schemars(regex(pattern = KEY_PATTERN))]
    key: String,
    /// The id of the key.
    id: KeyId,
    /// Its name.
    #[schemars(length(min = 1, max = MAX_NAME_CHARS))]
    name: String,
    /// The container tag that it reaches.
    container_tag: ContainerTag,
    /// The time from which it no longer works; null if it never ends.
    expires_at: Option<Timestamp>,
    /// The paths that it may use, with everything below them.
    #[schemars(length(min = 1), inner(regex(pattern = "^/v[34]/")))]
    allowed_endpoints: &'static [&'static str],
}

/// A new key of an agent.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct AgentKeyResponse {
    /// The id of the key.
    id: KeyId,
    /// The key. It is not shown again.
    #[schemars(regex(pattern = KEY_PATTERN))]
    key: String,
    /// Its name.
    #[schemars(length(min = 1, max = MAX_NAME_CHARS))]
    name: String,
    /// The permission of the key; `write` includes reading.
    permission: PermissionShape,
    /// The container tags that the key reaches; null means all.
    #[schemars(length(min = 1))]
    container_tags: Option<Vec<ContainerTag>>,
    /// The time from which it no longer works; null if it never ends.
    expires_at: Option<Timestamp>,
}

/// The state of a key after a change.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct KeyToggledResponse {
    /// True if the key works now.
    enabled: bool,
}

/// The answer to a request that only succeeds or fails.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct DoneResponse {
    /// Always true.
    #[schemars(extend("const" = true))]
    pub(crate) success: bool,
}

/// A key in a list.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Key")]
struct KeyShape {
    /// Its id.
    id: KeyId,
    /// Its name.
    #[schemars(length(min = 1, max = MAX_NAME_CHARS))]
    name: String,
    /// The first characters of the key.
    #[schemars(regex(pattern = r"^rk_[A-Za-z0-9]{1,32}$"))]
    start: String,
    // compat: the command line of the TypeScript client prints this field.
    /// The same as `start`.
    #[schemars(regex(pattern = r"^rk_[A-Za-z0-9]{1,32}$"))]
    key: String,
    /// A `full` key administers the organization, unless it is limited to container tags or to
    /// reading. An `agent` key does not. A `scoped` key reaches the content of one container tag.
    #[schemars(with = "String", extend("enum" = ["full", "agent", "scoped"]))]
    kind: KeyKind,
    /// The permission of the key; `write` includes reading.
    permission: PermissionShape,
    /// The container tags that the key reaches; null means all.
    #[schemars(length(min = 1))]
    container_tags: Option<Vec<ContainerTag>>,
    /// The container tag, if there is exactly one.
    container_tag: Option<ContainerTag>,
    /// The time of creation.
    created_at: Timestamp,
    /// The time from which it no longer works; null if it never ends.
    expires_at: Option<Timestamp>,
    /// True if the key works.
    enabled: bool,
    /// The number of requests allowed within the window; null means no limit.
    #[schemars(range(min = 1))]
    rate_limit_max: Option<u32>,
    /// The window in milliseconds.
    #[schemars(range(min = 1))]
    #[serde(default, deserialize_with = "edge::deserialize_whole_number")]
    rate_limit_time_window: Option<i64>,
}

impl From<Permission> for PermissionShape {
    fn from(permission: Permission) -> Self {
        match permission {
            Permission::Read => Self::Read,
            Permission::Write => Self::Write,
        }
    }
}

impl From<ApiKey> for KeyShape {
    fn from(key: ApiKey) -> Self {
        let single_tag = key.tags.as_deref().and_then(|tags| {
            if let [tag] = tags {
                Some(tag.clone())
            } else {
                None
            }
        });

        Self {
            start: format!("rk_{}", key.id),
            key: format!("rk_{}", key.id),
            id: key.id,
            name: key.name,
            kind: key.kind,
            permission: key.permission.into(),
            container_tag: single_tag,
            container_tags: key.tags,
            created_at: key.created_at,
            expires_at: key.expires_at,
            enabled: key.enabled,
            rate_limit_max: key.rate_limit.map(|rate| rate.max),
            rate_limit_time_window: key.rate_limit.map(|rate| rate.window_ms),
        }
    }
}

pub(crate) async fn list_api_keys(
    State(app): State<App>,
    Auth { tenant, .. }: Auth<Admin>,
) -> ApiResult<Json<KeysResponse>> {
    let keys = list_keys(&app.ctx, &tenant).await?;
    Ok(Json(KeysResponse {
        keys: keys.into_iter().map(KeyShape::from).collect(),
    }))
}

pub(crate) async fn create_scoped_api_key(
    State(app): State<App>,
    Auth { tenant, .. }: Auth<Admin>,
    Json(request): Json<ScopedKeyRequest>,
) -> ApiResult<Json<ScopedKeyResponse>> {
    let tag = parse_single_tag(
        request.container_tag.as_deref(),
        request.container_tags.as_deref(),
    )?
    .ok_or_else(|| {
        Error::invalid_field(
            "containerTag",
            "a scoped key is for one container tag; name it",
        )
    })?;

    let spec = ScopedKeySpec {
        tag: tag.clone(),
        name: request.name,
        expires_in_days: request.expires_in_days,
        rate_limit_max: request.rate_limit_max,
        rate_limit_time_window: request.rate_limit_time_window,
    };

    let key = create_scoped_key(&app.ctx, &tenant, spec).await?;
    Ok(Json(ScopedKeyResponse {
        key: key.key_text,
        id: key.record.id,
        name: key.record.name,
        container_tag: tag,
        expires_at: key.record.expires_at,
        allowed_endpoints: &SCOPED_ENDPOINTS,
    }))
}

pub(crate) async fn create_agent_api_key(
    State(app): State<App>,
    Auth { tenant, .. }: Auth<Admin>,
    Json(request): Json<AgentKeyRequest>,
) -> ApiResult<Json<AgentKeyResponse>> {
    let spec = AgentKeySpec {
        name: request.name,
        permission: match request.permission {
            PermissionShape::Read => Permission::Read,
            PermissionShape::Write => Permission::Write,
        },
        tags: request
            .container_tags
            .as_deref()
            .map(parse_tags)
            .transpose()?,
        expires_in_days: request.expires_in_days,
    };

    let key = create_agent_key(&app.ctx, &tenant, spec).await?;
    Ok(Json(AgentKeyResponse {
        id: key.record.id,
        key: key.key_text,
        name: key.record.name,
        permission: key.record.permission.into(),
        container_tags: key.record.tags,
        expires_at: key.record.expires_at,
    }))
}

/// Parses the tags, each once.
fn parse_tags(texts: &[String]) -> Result<Vec<ContainerTag>> {
    let mut tags = Vec::new();
    for text in texts {
        let tag = ContainerTag::parse(text)?;
        if !tags.contains(&tag) {
            tags.push(tag);
        }
    }
    Ok(tags)
}

pub(crate) async fn toggle_api_key(
    State(app): State<App>,
    Auth { tenant, .. }: Auth<Admin>,
    Path(id): Path<String>,
    Json(request): Json<ToggleRequest>,
) -> ApiResult<Json<KeyToggledResponse>> {
    let id = parse_key_id(&id)?;
    let enabled = match request.enabled {
        Some(enabled) => set_key_enabled(&app.ctx, &tenant, &id, enabled)
            .await
            .map(|()| enabled)?,
        None => toggle_key(&app.ctx, &tenant, &id).await?,
    };

    app.authenticator.invalidate_key(&id);
    Ok(Json(KeyToggledResponse { enabled }))
}

pub(crate) async fn delete_api_key(
    State(app): State<App>,
    Auth { tenant, .. }: Auth<Admin>,
    Path(id): Path<String>,
) -> ApiResult<Json<DoneResponse>> {
    let id = parse_key_id(&id)?;
    delete_key(&app.ctx, &tenant, &id).await?;
    app.authenticator.invalidate_key(&id);
    Ok(Json(DoneResponse { success: true }))
}

/// Returns the schema of the two ways to name a container tag, one of which has to be used.
fn scope_alternatives() -> Value {
    json!([
        {"required": ["containerTag"], "properties": {"containerTag": {"type": "string"}}},
        {
            "required": ["containerTags"],
            "properties": {"containerTags": {"type": "array", "minItems": 1, "maxItems": 100}}
        },
    ])
}

fn parse_key_id(text: &str) -> Result<KeyId> {
    KeyId::parse(text).ok_or(Error::NotFound("Key"))
}

/// Describes the operations of this module.
pub(crate) fn operations() -> Vec<Operation> {
    vec![
        Operation::get("/v3/auth/keys", "list_keys")
            .group("Keys")
            .summary("List the API keys of the organization.")
            .description("The oldest first, without secrets and without sessions.")
            .answer::<KeysResponse>(
                "The keys.",
                json!({
                    "keys": [
                        {
                            "id": "8hZc1KReVt",
                            "name": "notes of the web app",
                            "start": "rk_8hZc1KReVt",
                            "key": "rk_8hZc1KReVt",
                            "kind": "agent",
                            "permission": "write",
                            "containerTags": ["user_42"],
                            "containerTag": "user_42",
                            "createdAt": "2026-03-01T09:30:00.000Z",
                            "expiresAt": null,
                            "enabled": true,
                            "rateLimitMax": null,
                            "rateLimitTimeWindow": null,
                        },
                    ],
                }),
            ),
        Operation::post("/v3/auth/scoped-key", "create_scoped_key")
            .group("Keys")
            .summary("Create an API key for the content of one container tag.")
            .description("The answer is the only one that shows the key.")
            .body::<ScopedKeyRequest>(json!({
                "containerTag": "user_42",
                "name": "notes of the web app",
                "expiresInDays": 30,
            }))
            .answer::<ScopedKeyResponse>(
                "The new key.",
                json!({
                    "key": "rk_8hZc1KReVt_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
                    "id": "8hZc1KReVt",
                    "name": "scoped_user_42",
                    "containerTag": "user_42",
                    "expiresAt": null,
                    "allowedEndpoints": ["/v3/documents", "/v4/search"],
                }),
            )
            .error(ErrorAnswer::Invalid, ""),
        Operation::post("/v3/auth/agent-key", "create_agent_key")
            .group("Keys")
            .summary("Create an API key for an agent.")
            .description(
                "It reaches content and related data in some or all containers, without \
                 administration. The answer is the only one that shows the key.",
            )
            .body::<AgentKeyRequest>(json!({
                "name": "reader of notes",
                "permission": "read",
                "containerTags": ["user_42", "team_7"],
            }))
            .answer::<AgentKeyResponse>(
                "The new key.",
                json!({
                    "id": "8hZc1KReVt",
                    "key": "rk_8hZc1KReVt_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
                    "name": "agent",
                    "permission": "write",
                    "containerTags": null,
                    "expiresAt": null,
                }),
            )
            .error(ErrorAnswer::Invalid, ""),
        Operation::put("/v3/auth/keys/{id}/toggle", "toggle_key")
            .group("Keys")
            .summary("Disable an API key, or enable it again.")
            .description(
                "The change takes effect within 30 seconds. A key cannot disable itself. Send \
                 `enabled` to make the request safe to repeat.",
            )
            .path_parameter::<PathId>("id", "The id of an API key.")
            .optional_body::<ToggleRequest>(json!({"enabled": true}))
            .answer::<KeyToggledResponse>("The state of the key.", json!({"enabled": false}))
            .error(ErrorAnswer::Invalid, "")
            .error(ErrorAnswer::NotFound, "There is no such key.")
            .error(
                ErrorAnswer::Conflict,
                "A key cannot disable itself. Use another key.",
            ),
        Operation::delete("/v3/auth/keys/{id}", "delete_key")
            .group("Keys")
            .summary("Delete an API key.")
            .description("The key stops working within 30 seconds. A key cannot delete itself.")
            .path_parameter::<PathId>("id", "The id of an API key.")
            .answer::<DoneResponse>("The key is deleted.", json!({"success": true}))
            .error(ErrorAnswer::NotFound, "There is no such key.")
            .error(
                ErrorAnswer::Conflict,
                "A key cannot delete itself. Use another key.",
            ),
        Operation::delete("/v3/auth/scoped-key/{id}", "delete_scoped_key")
            .group("Keys")
            .summary("Delete an API key.")
            .description("The same as `DELETE /v3/auth/keys/{id}`: it deletes keys of every kind.")
            .path_parameter::<PathId>("id", "The id of an API key.")
            .answer::<DoneResponse>("The key is deleted.", json!({"success": true}))
            .error(ErrorAnswer::NotFound, "There is no such key.")
            .error(
                ErrorAnswer::Conflict,
                "A key cannot delete itself. Use another key.",
            ),
    ]
}
