//! The settings of an organization (`/v3/settings`, `/organization`), its keys (`/v3/auth`) and
//! sessions (`/v3/session`), the description of the API (`/v3/openapi`, `/docs`), and the console
//! (`/`).

mod console;
mod console_session;
mod description;
mod docs;
mod keys;
mod organization;
mod page;
mod reset;
mod schemas;
mod session;
mod suggest;
mod wire;

use axum::extract::State;
use axum::routing::{delete, get, post, put};
use axum::{Extension, Router};
use domain::Patch;
use edge::{Admin, ApiResult, App, Auth, Json, ProviderNames, ReadOrganization};
use openapi::{ErrorAnswer, Operation};
use serde_json::{Map, Value, json};
use service::update_settings;
use tower_http::compression::CompressionLayer;

use crate::schemas::{SettingsChangeShape, SettingsShape, UpdatedSettingsShape};

/// The hint beside a filter prompt that nothing can decide by.
const NO_MODEL_HINT: &str = "filterPrompt needs a model, and the service has none: set \
    RECOLLECT_MODEL_URL and RECOLLECT_MEMORY_MODEL. Until then, the files of connections wait as \
    pending_filter.";

/// `true` if the service has a model that decides by a filter prompt.
#[derive(Debug, Clone, Copy)]
struct HasModel(bool);

/// Returns the routes of this function. `has_model` is `true` if the service has a model that
/// decides by a filter prompt.
pub fn router(app: App, has_model: bool) -> Router {
    Router::new()
        .route("/v3/settings", get(get_settings).patch(change_settings))
        .route("/v3/settings/reset", post(reset::reset_settings))
        .route(
            "/v3/settings/suggest-buckets",
            post(suggest::suggest_buckets),
        )
        .route(
            "/organization",
            get(organization::get_organization).patch(organization::update_organization),
        )
        .route("/v3/auth/keys", get(keys::list_api_keys))
        .route("/v3/auth/keys/{id}", delete(keys::delete_api_key))
        .route("/v3/auth/keys/{id}/toggle", put(keys::toggle_api_key))
        .route("/v3/auth/agent-key", post(keys::create_agent_api_key))
        .route("/v3/auth/scoped-key", post(keys::create_scoped_api_key))
        // compat: the command-line client revokes keys of every kind here.
        .route("/v3/auth/scoped-key/{id}", delete(keys::delete_api_key))
        .route(
            "/v3/session",
            get(session::show_session)
                .post(session::open_admin_session)
                .delete(session::end_admin_session),
        )
        .route("/v3/openapi", get(description::show_openapi))
        .route("/v4/openapi", get(description::show_openapi))
        .route("/docs", get(docs::show_page))
        .route("/docs/app.js", get(docs::show_script))
        .route("/docs/app.css", get(docs::show_style))
        .route(
            "/console/session",
            post(console_session::open_console_session)
                .delete(console_session::end_console_session),
        )
        .route("/", get(console::show_page).layer(CompressionLayer::new()))
        .route(
            "/console/{*path}",
            get(console::show_asset).layer(CompressionLayer::new()),
        )
        .layer(Extension(HasModel(has_model)))
        .with_state(app)
}

/// Describes the operations of this function.
pub fn operations() -> Vec<Operation> {
    [
        settings_operations(),
        organization::operations(),
        keys::operations(),
        reset::operations(),
        session::operations(),
        suggest::operations(),
    ]
    .concat()
}

async fn get_settings(
    State(app): State<App>,
    Auth { tenant, .. }: Auth<ReadOrganization>,
) -> ApiResult<Json<Map<String, Value>>> {
    let settings = app.ctx.settings.get(&tenant).await?;
    Ok(Json(wire::show_settings(&settings, app.provider_names)))
}

async fn change_settings(
    State(app): State<App>,
    Auth { tenant, .. }: Auth<Admin>,
    Extension(HasModel(has_model)): Extension<HasModel>,
    Json(fields): Json<Map<String, Value>>,
) -> ApiResult<Json<Map<String, Value>>> {
    let (names, change) = wire::parse_change(&fields)?;
    let settings = update_settings(&app.ctx, &tenant, &change).await?;
    let shown_settings = wire::show_settings(&settings, app.provider_names);
    let updated: Map<String, Value> = names
        .into_iter()
        .filter_map(|name| {
            shown_settings
                .get(&name)
                .cloned()
                .map(|value| (name, value))
        })
        .collect();
    let mut response = updated.clone();
    response.insert("orgId".into(), json!(tenant.org()));
    response.insert("orgSlug".into(), json!(tenant.org()));
    response.insert("updated".into(), updated.into());
    let ignored = wire::ignored_rules(&fields);
    if !ignored.is_empty() {
        response.insert("ignored".into(), json!(ignored));
    }
    if matches!(change.filter_prompt, Patch::Set(_)) && !has_model {
        response.insert("hint".into(), json!(NO_MODEL_HINT));
    }

    Ok(Json(response))
}

/// Describes the operations of this module.
fn settings_operations() -> Vec<Operation> {
    let change = json!({
        "chunkSize": 800,
        "profileBuckets": [{"key": "food", "description": "Meals, diets and drinks."}],
        "shouldLLMFilter": true,
        "filterPrompt": "Keep notes about birds.",
    });
    let mut shown = wire::show_settings(&domain::Settings::default(), ProviderNames::Cloud);
    shown.insert("chunkSize".into(), json!(800));

    vec![
        Operation::get("/v3/settings", "get_settings")
            .group("Settings")
            .summary("Get the settings of the organization.")
            .description("Secrets are not read back.")
            .answer::<SettingsShape>("All settings.", shown.into()),
        Operation::patch("/v3/settings", "update_settings")
            .group("Settings")
            .summary("Change settings of the organization.")
            .description("All of them or, after an error, none. Secrets are not read back.")
            .optional_body::<SettingsChangeShape>(change)
            .answer::<UpdatedSettingsShape>(
                "The settings that were sent, as they are now.",
                json!({
                    "chunkSize": 800,
                    "orgId": "acme",
                    "orgSlug": "acme",
                    "updated": {"chunkSize": 800},
                }),
            )
            .error(ErrorAnswer::Invalid, ""),
    ]
}
