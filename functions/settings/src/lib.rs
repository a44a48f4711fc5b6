//! What an organization sets for itself: `/v3/settings`.

use axum::Router;
use axum::extract::State;
use axum::routing::get;
use domain::settings::Bucket;
use domain::usecase::change_settings;
use domain::{Error, Result, Settings};
use edge::{ApiResult, App, Auth, Json, Read, Write};
use serde::Serialize;
use serde_json::{Map, Value, json};

/// The routes of this function.
pub fn router(app: App) -> Router {
    Router::new().route("/v3/settings", get(get_settings).patch(update_settings)).with_state(app)
}

/// The settings as the contract shows them.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct WireSettings {
    /// In characters; -1 leaves it to the service.
    chunk_size: i64,
    /// `null` leaves them to the service.
    profile_buckets: Option<Vec<Bucket>>,
}

impl From<&Settings> for WireSettings {
    fn from(settings: &Settings) -> Self {
        Self {
            chunk_size: settings.chunk_size.map_or(-1, i64::from),
            profile_buckets: settings.profile_buckets.clone(),
        }
    }
}

async fn get_settings(
    State(app): State<App>,
    Auth { tenant, .. }: Auth<Read>,
) -> ApiResult<Json<WireSettings>> {
    Ok(Json((&app.ctx.settings.get(&tenant).await?).into()))
}

async fn update_settings(
    State(app): State<App>,
    Auth { tenant, .. }: Auth<Write>,
    Json(sent): Json<Map<String, Value>>,
) -> ApiResult<Json<Map<String, Value>>> {
    if tenant.confined_to().is_some() {
        return Err(Error::Forbidden(
            "settings are the whole organization's; this key reaches some containers".into(),
        )
        .into());
    }
    let settings = change_settings(&app.ctx, &tenant, |settings| apply(settings, &sent)).await?;
    let all = serde_json::to_value(WireSettings::from(&settings))
        .map_err(|_| Error::internal("settings serialize"))?;
    let updated: Map<String, Value> =
        sent.keys().filter_map(|name| Some((name.clone(), all.get(name)?.clone()))).collect();
    let mut answer = updated.clone();
    answer.insert("orgId".into(), json!(tenant.org()));
    answer.insert("orgSlug".into(), json!(tenant.org()));
    answer.insert("updated".into(), updated.into());
    Ok(Json(answer))
}

fn apply(settings: &mut Settings, sent: &Map<String, Value>) -> Result<()> {
    for (name, value) in sent {
        match name.as_str() {
            "chunkSize" => {
                let size = if value.is_null() { Some(-1) } else { value.as_i64() };
                settings.set_chunk_size(size.ok_or_else(|| Error::invalid_field(name, "a whole number"))?)?;
            }
            "profileBuckets" => settings.profile_buckets = buckets(name, value)?,
            _ => {
                let rule = "not a setting of this service; there are chunkSize and profileBuckets";
                return Err(Error::invalid_field(name, rule));
            }
        }
    }
    Ok(())
}

fn buckets(name: &str, value: &Value) -> Result<Option<Vec<Bucket>>> {
    let buckets: Option<Vec<Bucket>> = serde_json::from_value(value.clone())
        .map_err(|error| Error::invalid_field(name, format!("an array of {{key, description}}: {error}")))?;
    Bucket::check_all(name, buckets.as_deref().unwrap_or_default())?;
    Ok(buckets)
}
