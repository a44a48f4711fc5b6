//! `GET` and `PATCH /organization`: what memories are made with in every namespace.

use axum::extract::State;
use domain::settings::{MAX_WORKSPACE_PROMPT, SettingsChange};
use domain::{Patch, Result, Settings, Tenant};
use edge::{Admin, ApiResult, App, Auth, Json, ReadOrganization, rename_fields};
use openapi::{ErrorAnswer, Operation};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use service::update_settings;

/// The changes to the organization.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(rename = "UpdateOrganizationRequest")]
pub(crate) struct UpdateRequest {
    /// A description of the organization's work. Null or a blank one clears it.
    #[schemars(with = "Option<String>", length(max = MAX_WORKSPACE_PROMPT))]
    organizational_context: Patch<String>,
}

/// An organization.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Organization {
    /// A description of the organization's work, for a model that finds memories. It is the setting
    /// `workspacePrompt`.
    #[schemars(length(max = MAX_WORKSPACE_PROMPT))]
    organizational_context: Option<String>,
    /// The number of namespaces, which are container tags.
    namespace_count: usize,
}

impl Organization {
    async fn new(app: &App, tenant: &Tenant, settings: Settings) -> Result<Self> {
        let mut containers = app.ctx.containers.list(tenant).await?;
        containers.retain(|container| tenant.can_access(&container.tag));
        Ok(Self {
            organizational_context: settings.workspace_prompt,
            namespace_count: containers.len(),
        })
    }
}

pub(crate) async fn get_organization(
    State(app): State<App>,
    Auth { tenant, .. }: Auth<ReadOrganization>,
) -> ApiResult<Json<Organization>> {
    let settings = app.ctx.settings.get(&tenant).await?;
    Ok(Json(Organization::new(&app, &tenant, settings).await?))
}

pub(crate) async fn update_organization(
    State(app): State<App>,
    Auth { tenant, .. }: Auth<Admin>,
    Json(request): Json<UpdateRequest>,
) -> ApiResult<Json<Organization>> {
    let change = SettingsChange {
        workspace_prompt: request.organizational_context,
        ..SettingsChange::default()
    };
    let settings = update_settings(&app.ctx, &tenant, &change)
        .await
        .map_err(|error| rename_fields(error, &[("workspacePrompt", "organizationalContext")]))?;
    Ok(Json(Organization::new(&app, &tenant, settings).await?))
}

/// Describes the operations of this module.
pub(crate) fn operations() -> Vec<Operation> {
    let example = || -> Value {
        json!({
            "organizationalContext": "A station that rings birds along the river.",
            "namespaceCount": 3,
        })
    };

    vec![
        Operation::get("/organization", "get_organization")
            .group("Namespaces")
            .summary("Get the context of the organization.")
            .description("And the number of its namespaces.")
            .answer::<Organization>("The organization.", example()),
        Operation::patch("/organization", "update_organization")
            .group("Namespaces")
            .summary("Change the context of the organization.")
            .description("It guides the extraction of memories and is never a source of facts.")
            .optional_body::<UpdateRequest>(json!({
                "organizationalContext": "A station that rings birds along the river.",
            }))
            .answer::<Organization>("The organization after the change.", example())
            .error(ErrorAnswer::Invalid, ""),
    ]
}
