//! `PATCH /ns/{namespace}/connectors/{id}` and `POST …/sync`: changes what a connector includes,
//! and synchronizes it.

use std::collections::HashSet;

use axum::extract::State;
use domain::connection::{Connection, ExcludedItem, SelectedItem};
use domain::{ConnectionId, ContainerTag, Error, Result, Tenant};
use edge::{
    ApiResult, App, Auth, Json, Path, WriteUnscoped, deserialize_count,
    deserialize_optional_object, parse_namespace, rename_fields,
};
use http::StatusCode;
use openapi::{ErrorAnswer, Operation, PathId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use service::{
    Ctx, change_document_limit, find_connection_of, request_import, resolve_selected_items,
    save_selection,
};

use super::one::show_single_connector;
use super::shape::ConnectorShape;
use super::{CONNECTOR, GROUP, NAMESPACE, NO_CONNECTOR, connector_example};
use crate::ConnectionsState;
use crate::address::BaseUrl;
use crate::create::{MAX_DOCUMENT_LIMIT, NO_PROVIDER};
use crate::manage::skip_reason;
use crate::resources::{EMPTY_SELECTION, MAX_SELECTED_ITEMS, NOT_READY};
use crate::wire::running_run;

/// The changes to a connector.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(rename = "UpdateConnectorRequest")]
pub(crate) struct UpdateRequest {
    /// What is included, in place of the former selection.
    #[serde(deserialize_with = "deserialize_optional_object")]
    selection: Option<SentSelection>,
    /// The most documents. If there are more documents already, they stay, and none is added.
    #[serde(deserialize_with = "deserialize_count")]
    #[schemars(schema_with = "edge::count_schema::<1, MAX_DOCUMENT_LIMIT>")]
    document_limit: Option<usize>,
}

/// The ids of the items to include, by kind: files or folders, at least one. A folder includes
/// everything below it, also in future.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(inline)]
struct SentSelection {
    /// The ids of files.
    #[schemars(length(max = MAX_SELECTED_ITEMS), inner(length(min = 1)))]
    files: Option<Vec<String>>,
    /// The ids of folders.
    #[schemars(length(max = MAX_SELECTED_ITEMS), inner(length(min = 1)))]
    folders: Option<Vec<String>>,
    /// Of no provider that is supported.
    #[schemars(length(max = 0))]
    repos: Option<Vec<String>>,
    /// Of no provider that is supported.
    #[schemars(length(max = 0))]
    labels: Option<Vec<String>>,
}

pub(crate) async fn update_connector(
    State(state): State<ConnectionsState>,
    Auth { tenant, .. }: Auth<WriteUnscoped>,
    Path((namespace, id)): Path<(String, String)>,
    base: BaseUrl,
    Json(request): Json<UpdateRequest>,
) -> ApiResult<Json<ConnectorShape>> {
    let ctx = &state.app.ctx;
    let tag = parse_namespace(&namespace)?;
    if request.selection.is_none() && request.document_limit.is_none() {
        return Err(Error::invalid("send `selection`, `documentLimit` or both").into());
    }

    let mut connection = find_connection_of(ctx, &tenant, &tag, &id).await?;
    // Everything that can be refused comes before the first change.
    let items = match request.selection {
        Some(selection) => Some(selection.resolve(&state, &tenant, &connection).await?),
        None => None,
    };
    if let Some(limit) = request.document_limit {
        connection = change_document_limit(ctx, &tenant, &connection, limit).await?;
    }
    if let Some(items) = items {
        let excluded = remaining_exclusions(ctx, &tenant, &connection, &items).await?;
        connection = save_selection(ctx, &tenant, &connection, items, excluded)
            .await
            .map_err(in_these_names)?;
    }

    let shape = show_single_connector(&state, &tenant, &base, connection).await?;
    Ok(Json(shape))
}

/// Returns what the user left out in the picker, without the items that are now selected. These
/// requests cannot name what is left out.
async fn remaining_exclusions(
    ctx: &Ctx,
    tenant: &Tenant,
    connection: &Connection,
    items: &[SelectedItem],
) -> Result<Vec<ExcludedItem>> {
    let selected: HashSet<&str> = items.iter().map(|item| item.id.as_str()).collect();
    let selection = ctx.sync.get_selection(tenant, &connection.id).await?;

    let mut excluded = selection.excluded;
    excluded.retain(|item| !selected.contains(item.id.as_str()));
    Ok(excluded)
}

impl SentSelection {
    /// Looks up the items.
    ///
    /// # Errors
    /// [`Error::Invalid`] about `selection`, and those of [`resolve_selected_items`].
    async fn resolve(
        self,
        state: &ConnectionsState,
        tenant: &Tenant,
        connection: &Connection,
    ) -> Result<Vec<SelectedItem>> {
        let others = [self.repos, self.labels];
        if others.iter().flatten().any(|ids| !ids.is_empty()) {
            let rule = "this provider has files and folders";
            return Err(Error::invalid_field("selection", rule));
        }

        let mut ids = self.files.unwrap_or_default();
        let file_count = ids.len();
        ids.extend(self.folders.unwrap_or_default());
        if ids.is_empty() {
            return Err(Error::invalid_field("selection", EMPTY_SELECTION));
        }

        let connector = state.connector_of(connection.provider)?;
        let ctx = &state.app.ctx;
        let items = resolve_selected_items(ctx, connector, tenant, connection, "resources", ids)
            .await
            .map_err(in_these_names)?;
        check_kinds(&items, file_count)?;
        Ok(items)
    }
}

/// Checks that the first items are files, and the others folders. A folder that is taken for a file
/// would include everything below it.
fn check_kinds(items: &[SelectedItem], file_count: usize) -> Result<()> {
    for (position, item) in items.iter().enumerate() {
        if item.folder == (position < file_count) {
            let kind = if item.folder { "folder" } else { "file" };
            let rule = format!("the item {} is a {kind}", item.id);
            return Err(Error::invalid_field("selection", rule));
        }
    }
    Ok(())
}

/// Names the fields of an error as these requests do.
fn in_these_names(error: Error) -> Error {
    rename_fields(error, &[("resources", "selection")])
}

/// A run that was requested.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "ConnectorSyncStarted")]
pub(crate) struct SyncResponse {
    /// The id of the connector.
    id: ConnectionId,
    /// Always `queued`.
    #[schemars(extend("const" = "queued"))]
    status: &'static str,
}

/// Requests a run, unless one is in progress.
pub(crate) async fn sync_connector(
    State(app): State<App>,
    Auth { tenant, .. }: Auth<WriteUnscoped>,
    Path((namespace, id)): Path<(String, String)>,
) -> ApiResult<(StatusCode, Json<SyncResponse>)> {
    let ctx = &app.ctx;
    let tag = parse_namespace(&namespace)?;
    let connection = find_connection_of(ctx, &tenant, &tag, &id).await?;
    let state = ctx.sync.get_state(&tenant, &connection.id).await?;
    if running_run(&state).is_some() {
        return Err(Error::Conflict("the connector is being synchronized".into()).into());
    }

    let outcome = request_import(ctx, &tenant, &connection).await?;
    if let Some(reason) = skip_reason(outcome) {
        return Err(Error::Conflict(format!("nothing to synchronize: {reason}")).into());
    }

    let response = SyncResponse {
        id: connection.id,
        status: "queued",
    };
    Ok((StatusCode::ACCEPTED, Json(response)))
}

/// Describes the operations of this module.
pub(super) fn operations() -> Vec<Operation> {
    const PATH: &str = "/ns/{namespace}/connectors/{id}";
    vec![
        Operation::patch(PATH, "update_connector")
            .group(GROUP)
            .summary("Change what a connector includes.")
            .description(
                "A new selection replaces the former one. What the user left out in the picker \
                 stays left out with everything below it, unless it is selected now. Items that are \
                 no longer selected lose their documents.",
            )
            .path_parameter::<ContainerTag>("namespace", NAMESPACE)
            .path_parameter::<PathId>("id", CONNECTOR)
            .body::<UpdateRequest>(json!({
                "selection": {"folders": ["1aBcPlans"]},
                "documentLimit": 2000,
            }))
            .answer::<ConnectorShape>("The connector.", connector_example())
            .error(ErrorAnswer::Invalid, "")
            .error(ErrorAnswer::NotFound, NO_CONNECTOR)
            .error(ErrorAnswer::Conflict, NOT_READY)
            .error(ErrorAnswer::Unsupported, NO_PROVIDER),
        Operation::post("/ns/{namespace}/connectors/{id}/sync", "sync_connector")
            .group(GROUP)
            .summary("Synchronize a connector now.")
            .description("Answered at once. The run begins a moment later.")
            .path_parameter::<ContainerTag>("namespace", NAMESPACE)
            .path_parameter::<PathId>("id", CONNECTOR)
            .answer_with::<SyncResponse>(
                202,
                "A run was requested.",
                json!({"id": "c7VhPq2mZt9bXw4KsYdRu1", "status": "queued"}),
            )
            .error(ErrorAnswer::Invalid, "The namespace is malformed.")
            .error(ErrorAnswer::NotFound, NO_CONNECTOR)
            .error(
                ErrorAnswer::Conflict,
                "The connector is being synchronized, or it has no permission or no selection.",
            ),
    ]
}
