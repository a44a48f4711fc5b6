//! `POST /v3/settings/reset`: deletes the organization's containers and settings. Its keys stay.

use axum::extract::State;
use domain::Error;
use edge::{Admin, ApiResult, App, Auth, Json};
use serde::{Deserialize, Serialize};
use service::{ResetCounts, reset_organization};

/// The confirmation that is accepted in place of the organization's id.
const CONFIRMATION: &str = "RESET";

#[derive(Debug, Deserialize)]
pub(crate) struct ResetRequest {
    confirmation: Option<String>,
}

/// The answer of the API. Values for parts that this service does not have are 0 or false.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ResetAnswer {
    success: bool,
    deleted_connections: u64,
    /// The number of containers. Each counts as one batch.
    deleted_document_batches: u64,
    deleted_documents_approx: u64,
    deleted_memory_rows: u64,
    /// The number of container tags other than the default one.
    deleted_extra_spaces: u64,
    cleared_default_space_context: bool,
    cleared_brain_memory_registry: bool,
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
