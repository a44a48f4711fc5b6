//! `POST /v3/settings/reset`: the organization's containers and settings go; its keys stay.

use axum::extract::State;
use domain::Error;
use domain::usecase::{Reset, reset_organization};
use edge::{Admin, ApiResult, App, Auth, Json};
use serde::{Deserialize, Serialize};

/// What may be sent in place of the organization's id.
const CONFIRMATION: &str = "RESET";

#[derive(Debug, Deserialize)]
pub(crate) struct ResetRequest {
    confirmation: Option<String>,
}

/// The contract's answer. What this service does not have is 0 or false.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ResetAnswer {
    success: bool,
    deleted_connections: u64,
    /// A container is one.
    deleted_document_batches: u64,
    deleted_documents_approx: u64,
    deleted_memory_rows: u64,
    /// Container tags other than the default one.
    deleted_extra_spaces: u64,
    cleared_default_space_context: bool,
    cleared_brain_memory_registry: bool,
    settings_reset: bool,
}

impl From<Reset> for ResetAnswer {
    fn from(reset: Reset) -> Self {
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

pub(crate) async fn reset(
    State(app): State<App>,
    Auth { tenant, .. }: Auth<Admin>,
    Json(sent): Json<ResetRequest>,
) -> ApiResult<Json<ResetAnswer>> {
    let confirmed = [CONFIRMATION, tenant.org().as_str()];
    if !sent
        .confirmation
        .is_some_and(|sent| confirmed.contains(&sent.as_str()))
    {
        let rule =
            format!("this deletes everything; send \"{CONFIRMATION}\" or the organization's id");
        return Err(Error::invalid_field("confirmation", rule).into());
    }

    Ok(Json(reset_organization(&app.ctx, &tenant).await?.into()))
}
