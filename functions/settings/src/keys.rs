//! API keys: `/v3/auth`. A secret is shown only once, in the answer to its creation.

use axum::extract::State;
use domain::key::{ApiKey, KeyKind, Permission, SCOPED_ENDPOINTS};
use domain::{ContainerTag, Error, KeyId, Result, Timestamp};
use edge::{Admin, ApiResult, App, Auth, Json, Path, parse_single_tag};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use service::{
    AgentKeySpec, ScopedKeySpec, create_agent_key, create_scoped_key, delete_key, list_keys,
    set_key_enabled, toggle_key,
};

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ScopedKeyRequest {
    container_tag: Option<String>,
    container_tags: Option<Vec<String>>,
    name: Option<String>,
    expires_in_days: Option<i64>,
    rate_limit_max: Option<i64>,
    rate_limit_time_window: Option<i64>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct AgentKeyRequest {
    name: String,
    permission: PermissionShape,
    container_tags: Option<Vec<String>>,
    expires_in_days: Option<i64>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct ToggleRequest {
    /// The desired state. Without it, the state is toggled. Only a request with the desired state
    /// is safe to repeat.
    enabled: Option<bool>,
}

#[derive(Debug, Clone, Copy, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
enum PermissionShape {
    Read,
    Write,
}

/// A key in a list.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct KeyShape {
    id: KeyId,
    name: String,
    /// The first characters of the key.
    start: String,
    kind: KeyKind,
    permission: PermissionShape,
    container_tags: Option<Vec<ContainerTag>>,
    /// The container tag, if there is exactly one.
    container_tag: Option<ContainerTag>,
    created_at: Timestamp,
    expires_at: Option<Timestamp>,
    enabled: bool,
    rate_limit_max: Option<u32>,
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
) -> ApiResult<Json<Value>> {
    let keys = list_keys(&app.ctx, &tenant).await?;
    let keys: Vec<KeyShape> = keys.into_iter().map(KeyShape::from).collect();
    Ok(Json(json!({"keys": keys})))
}

pub(crate) async fn create_scoped_api_key(
    State(app): State<App>,
    Auth { tenant, .. }: Auth<Admin>,
    Json(request): Json<ScopedKeyRequest>,
) -> ApiResult<Json<Value>> {
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
    Ok(Json(json!({
        "key": key.key_text,
        "id": key.record.id,
        "name": key.record.name,
        "containerTag": tag,
        "expiresAt": key.record.expires_at,
        "allowedEndpoints": SCOPED_ENDPOINTS,
    })))
}

pub(crate) async fn create_agent_api_key(
    State(app): State<App>,
    Auth { tenant, .. }: Auth<Admin>,
    Json(request): Json<AgentKeyRequest>,
) -> ApiResult<Json<Value>> {
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
    Ok(Json(json!({
        "id": key.record.id,
        "key": key.key_text,
        "name": key.record.name,
        "permission": PermissionShape::from(key.record.permission),
        "containerTags": key.record.tags,
        "expiresAt": key.record.expires_at,
    })))
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
) -> ApiResult<Json<Value>> {
    let id = parse_key_id(&id)?;
    let enabled = match request.enabled {
        Some(enabled) => set_key_enabled(&app.ctx, &tenant, &id, enabled)
            .await
            .map(|()| enabled)?,
        None => toggle_key(&app.ctx, &tenant, &id).await?,
    };

    app.authenticator.invalidate_key(&id);
    Ok(Json(json!({"enabled": enabled})))
}

pub(crate) async fn delete_api_key(
    State(app): State<App>,
    Auth { tenant, .. }: Auth<Admin>,
    Path(id): Path<String>,
) -> ApiResult<Json<Value>> {
    let id = parse_key_id(&id)?;
    delete_key(&app.ctx, &tenant, &id).await?;
    app.authenticator.invalidate_key(&id);
    Ok(Json(json!({"success": true})))
}

fn parse_key_id(text: &str) -> Result<KeyId> {
    KeyId::parse(text).ok_or(Error::NotFound("Key"))
}
