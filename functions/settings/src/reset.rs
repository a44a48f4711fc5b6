//! `POST /v3/settings/reset`: deletes the organization's containers and settings. Its keys stay.

use axum::extract::State;
use domain::Error;
use edge::{Admin, ApiResult, App, Auth, Json};
use openapi::{ErrorAnswer, Operation};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use service::{ResetCounts, reset_organization};

/// The confirmation that is accepted in place of the organization's id.
const CONFIRMATION: &str = "RESET";

/// A confirmation that everything is to be deleted.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "ResetSettingsRequest")]
pub(crate) struct ResetRequest {
    /// `RESET`, or the id of the organization.
    #[schemars(with = "String", length(min = 1))]
    confirmation: Option<String>,
}

/// The answer of the API. Values for parts that this service does not have are 0 or false.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "SettingsResetResponse")]
pub(crate) struct ResetAnswer {
    /// Always true.
    #[schemars(extend("const" = true))]
    success: bool,
    /// The number of connections.
    deleted_connections: u64,
    /// The number of containers. Each counts as one batch.
    deleted_document_batches: u64,
    /// The number of documents.
    deleted_documents_approx: u64,
    /// The number of memories at the last count.
    deleted_memory_rows: u64,
    /// The number of container tags other than the default one.
    deleted_extra_spaces: u64,
    /// True if the default container tag existed.
    cleared_default_space_context: bool,
    /// Always false.
    #[schemars(extend("const" = false))]
    cleared_brain_memory_registry: bool,
    /// Always true.
    #[schemars(extend("const" = true))]
    settings_reset: bool,
}

impl From<ResetCounts> for ResetAnswer {
    fn from(reset: ResetCounts) -> Self {
        Self {
            success: true,
            deleted_connections: reset.connections,
            deleted_document_batches: reset.tags,
            deleted_documents_approx: reset.documents,
            deleted_memory_rows: reset.memories,
            deleted_extra_spaces: reset.tags - u64::from(reset.default_tag),
            cleared_default_space_context: reset.default_tag,
            cleared_brain_memory_registry: false,
            settings_reset: true,
        }
    }
}

pub(crate) async fn reset_settings(
    State(app): State<App>,
    Auth { tenant, .. }: Auth<Admin>,
    Json(request): Json<ResetRequest>,
) -> ApiResult<Json<ResetAnswer>> {
    let accepted = [CONFIRMATION, tenant.org().as_str()];
    if !request
        .confirmation
        .is_some_and(|text| accepted.contains(&text.as_str()))
    {
        let rule =
            format!("this deletes everything; send \"{CONFIRMATION}\" or the organization's id");
        return Err(Error::invalid_field("confirmation", rule).into());
    }

    Ok(Json(reset_organization(&app.ctx, &tenant).await?.into()))
}

/// Describes the operations of this module.
pub(crate) fn operations() -> Vec<Operation> {
    vec![
        Operation::post("/v3/settings/reset", "reset_settings")
            .group("Settings")
            .summary("Delete every container tag and reset all settings.")
            .description(
                "API keys stay. It is refused while container tags are being merged. It is safe \
                 to repeat if the answer was lost.",
            )
            .body::<ResetRequest>(json!({"confirmation": "RESET"}))
            .answer::<ResetAnswer>(
                "The counts of what was deleted.",
                json!({
                    "success": true,
                    "deletedConnections": 1,
                    "deletedDocumentBatches": 3,
                    "deletedDocumentsApprox": 31,
                    "deletedMemoryRows": 88,
                    "deletedExtraSpaces": 2,
                    "clearedDefaultSpaceContext": true,
                    "clearedBrainMemoryRegistry": false,
                    "settingsReset": true,
                }),
            )
            .error(
                ErrorAnswer::Invalid,
                "The confirmation is missing or wrong.",
            )
            .error(
                ErrorAnswer::Conflict,
                "A container is being merged. Send the request again after the merge.",
            ),
    ]
}
