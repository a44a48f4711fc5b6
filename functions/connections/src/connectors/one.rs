//! `GET` and `DELETE /ns/{namespace}/connectors/{id}`: returns or deletes a connector.

use axum::extract::State;
use domain::connection::Connection;
use domain::{ConnectionId, ContainerTag, Error, Result, Tenant};
use edge::{
    Admin, ApiResult, App, Auth, IncludeQuery, Json, NoFields, Path, Query, ReadUnscoped,
    RequiredPermission, WriteUnscoped, deserialize_bool, parse_namespace,
};
use openapi::{ErrorAnswer, Operation, PathId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use service::{delete_connection_of, find_connection_of, reconnect_connection};

use super::shape::{
    ConnectorShape, LinkShape, SyncShape, is_pending, is_selectable, show_connector,
};
use super::{CONNECTOR, GROUP, NAMESPACE, NO_CONNECTOR, connector_example};
use crate::ConnectionsState;
use crate::address::{BaseUrl, check_permitted_redirect};
use crate::create::MAX_URL_CHARS;
use crate::overview::newest_runs;
use crate::resources::picker_link;

/// The number of runs that are included.
const INCLUDED_RUNS: usize = 10;

/// The parts that are included in the answer.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "describes what `IncludeQuery` reads")]
struct IncludedParts {
    /// `syncs` for the newest runs, `picker` for a link to the picker, or both with a comma between
    /// them. The link needs an administrator's key.
    include: Option<String>,
}

/// The way back from the picker.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct PickerQuery {
    /// The address to which the user's browser is sent after the picker. The default is that of the
    /// connector.
    #[schemars(length(max = MAX_URL_CHARS))]
    return_url: Option<String>,
}

pub(crate) async fn get_connector(
    State(state): State<ConnectionsState>,
    Auth { tenant, .. }: Auth<ReadUnscoped>,
    Path((namespace, id)): Path<(String, String)>,
    include: IncludeQuery,
    Query(query): Query<PickerQuery>,
    base: BaseUrl,
) -> ApiResult<Json<ConnectorShape>> {
    let ctx = &state.app.ctx;
    let includes_picker = include.contains("picker");
    if includes_picker {
        Admin::check(&tenant)?;
    }

    let return_url = check_permitted_redirect(ctx, &tenant, "returnUrl", query.return_url).await?;
    let tag = parse_namespace(&namespace)?;
    let connection = find_connection_of(ctx, &tenant, &tag, &id).await?;
    let mut shape = show_single_connector(&state, &tenant, &base, connection.clone()).await?;

    if include.contains("syncs") {
        let mut syncs = Vec::new();
        for run in newest_runs(ctx, &tenant, &connection, INCLUDED_RUNS).await? {
            syncs.push(SyncShape::new(&connection.id, run));
        }
        shape.syncs = Some(syncs);
    }
    if includes_picker {
        shape.picker = link_to_picker(&state, &tenant, &base, &connection, return_url).await?;
    }

    Ok(Json(shape))
}

/// Returns a connection for an answer of its own. While it waits for permission, a key that may
/// create connections gets a link with which the user gives it.
pub(super) async fn show_single_connector(
    state: &ConnectionsState,
    tenant: &Tenant,
    base: &BaseUrl,
    connection: Connection,
) -> Result<ConnectorShape> {
    let authorization = link_to_consent(state, tenant, base, &connection).await?;
    let mut shape = show_connector(state, tenant, connection).await?;
    shape.authorization = authorization;
    Ok(shape)
}

async fn link_to_consent(
    state: &ConnectionsState,
    tenant: &Tenant,
    base: &BaseUrl,
    connection: &Connection,
) -> Result<Option<LinkShape>> {
    if !is_pending(connection) || WriteUnscoped::check(tenant).is_err() {
        return Ok(None);
    }

    let connector = state.connector_of(connection.provider)?;
    match reconnect_connection(&state.app.ctx, connector, tenant, connection, None).await {
        Ok(created) => Ok(created.link.map(|link| LinkShape::of_consent(base, &link))),
        // Nobody can give permission while no OAuth app is configured.
        Err(Error::Invalid { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Makes a link to the picker, if there is anything to select.
async fn link_to_picker(
    state: &ConnectionsState,
    tenant: &Tenant,
    base: &BaseUrl,
    connection: &Connection,
    return_url: Option<String>,
) -> Result<Option<LinkShape>> {
    if is_pending(connection) || !is_selectable(state, connection) {
        return Ok(None);
    }

    let ctx = &state.app.ctx;
    let (url, expires_at) = picker_link(ctx, base, tenant, connection, return_url).await?;
    Ok(Some(LinkShape { url, expires_at }))
}

/// The options of a deletion. A misspelled `deleteDocuments` is refused, because it must not
/// delete the documents.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub(crate) struct DeleteQuery {
    /// False to keep the documents.
    #[serde(deserialize_with = "deserialize_bool")]
    #[schemars(extend("default" = true))]
    delete_documents: bool,
}

impl Default for DeleteQuery {
    fn default() -> Self {
        Self {
            delete_documents: true,
        }
    }
}

/// A connector that was deleted.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "ConnectorDeleted")]
pub(crate) struct DeleteResponse {
    /// Its id.
    id: ConnectionId,
    /// Always true.
    #[schemars(extend("const" = true))]
    deleted: bool,
}

pub(crate) async fn delete_connector(
    State(app): State<App>,
    Auth { tenant, .. }: Auth<WriteUnscoped>,
    Path((namespace, id)): Path<(String, String)>,
    Query(query): Query<DeleteQuery>,
    Json(NoFields {}): Json<NoFields>,
) -> ApiResult<Json<DeleteResponse>> {
    let tag = parse_namespace(&namespace)?;
    let with_documents = query.delete_documents;
    let deleted = delete_connection_of(&app.ctx, &tenant, &tag, &id, with_documents).await?;
    Ok(Json(DeleteResponse {
        id: deleted.id,
        deleted: true,
    }))
}

/// Describes the operations of this module.
pub(super) fn operations() -> Vec<Operation> {
    const PATH: &str = "/ns/{namespace}/connectors/{id}";
    vec![
        Operation::get(PATH, "get_connector")
            .group(GROUP)
            .summary("Get a connector.")
            .description("Its status, its newest run, and what is included.")
            .path_parameter::<ContainerTag>("namespace", NAMESPACE)
            .path_parameter::<PathId>("id", CONNECTOR)
            .query::<IncludedParts>()
            .query::<PickerQuery>()
            .answer::<ConnectorShape>("The connector.", connector_example())
            .error(ErrorAnswer::Invalid, "")
            .error(ErrorAnswer::NotFound, NO_CONNECTOR),
        Operation::delete(PATH, "delete_connector")
            .group(GROUP)
            .summary("Delete a connector, and its documents unless the request keeps them.")
            .description("The permission is revoked once no other connector uses it.")
            .path_parameter::<ContainerTag>("namespace", NAMESPACE)
            .path_parameter::<PathId>("id", CONNECTOR)
            .query::<DeleteQuery>()
            .answer::<DeleteResponse>(
                "The connector was deleted.",
                json!({"id": "c7VhPq2mZt9bXw4KsYdRu1", "deleted": true}),
            )
            .error(ErrorAnswer::Invalid, "There is another parameter.")
            .error(ErrorAnswer::NotFound, NO_CONNECTOR),
    ]
}
