//! `GET /connectors` and `GET /ns/{namespace}/connectors`: lists connectors.

use axum::extract::State;
use domain::connection::Provider;
use domain::{ContainerTag, Result, Tenant};
use edge::{
    ApiResult, Auth, Json, Pagination, Path, Query, ReadUnscoped, deserialize_count,
    namespace_scope, page_and_limit, take_page,
};
use futures::stream::{self, StreamExt, TryStreamExt};
use openapi::{ErrorAnswer, Operation};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use service::{ContainerScope, find_connections};

use super::shape::{ConnectorShape, is_pending, show_connector};
use super::{GROUP, NAMESPACE, connector_example};
use crate::ConnectionsState;
use crate::overview::PARALLEL_STATES;

/// The number of connectors on a page if the request does not set a limit.
const DEFAULT_LIMIT: usize = 20;
/// The most connectors on a page.
const MAX_LIMIT: usize = 100;

/// The connectors to list, and the page.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
pub(crate) struct ListQuery {
    /// The provider, such as `google-drive` or `web-crawler`.
    provider: Option<String>,
    /// The number of the page, from 1.
    #[serde(deserialize_with = "deserialize_count")]
    #[schemars(schema_with = "edge::page_schema")]
    #[schemars(extend("default" = 1))]
    page: Option<usize>,
    /// The number of connectors on a page.
    #[serde(deserialize_with = "deserialize_count")]
    #[schemars(schema_with = "edge::count_schema::<1, MAX_LIMIT>")]
    #[schemars(extend("default" = DEFAULT_LIMIT))]
    limit: Option<usize>,
}

/// A page of connectors.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "ConnectorList")]
pub(crate) struct ListResponse {
    /// The connectors, the oldest first.
    connectors: Vec<ConnectorShape>,
    /// The position of the page.
    pagination: Pagination,
}

pub(crate) async fn list_connectors(
    State(state): State<ConnectionsState>,
    Auth { tenant, .. }: Auth<ReadUnscoped>,
    Query(query): Query<ListQuery>,
) -> ApiResult<Json<ListResponse>> {
    let page = read_page(&state, &tenant, &ContainerScope::default(), query).await?;
    Ok(Json(page))
}

pub(crate) async fn list_namespace_connectors(
    State(state): State<ConnectionsState>,
    Auth { tenant, .. }: Auth<ReadUnscoped>,
    Path(namespace): Path<String>,
    Query(query): Query<ListQuery>,
) -> ApiResult<Json<ListResponse>> {
    let scope = namespace_scope(&namespace)?;
    Ok(Json(read_page(&state, &tenant, &scope, query).await?))
}

/// Returns a page of the connectors in `scope`. Those that wait for permission are not listed, and
/// a provider that is not supported has none.
async fn read_page(
    state: &ConnectionsState,
    tenant: &Tenant,
    scope: &ContainerScope,
    query: ListQuery,
) -> Result<ListResponse> {
    let (page, limit) = page_and_limit(query.page, query.limit, DEFAULT_LIMIT, MAX_LIMIT)?;
    let mut connections = find_connections(&state.app.ctx, tenant, None, scope).await?;
    connections.retain(|connection| !is_pending(connection));
    if let Some(name) = query.provider {
        let provider = Provider::parse(&name);
        connections.retain(|connection| provider == Some(connection.provider));
    }

    let pagination = Pagination::new(page, limit, connections.len());
    let shapes = take_page(connections, page, limit)
        .into_iter()
        .map(|connection| show_connector(state, tenant, connection));
    let connectors = stream::iter(shapes)
        .buffered(PARALLEL_STATES)
        .try_collect()
        .await?;

    Ok(ListResponse {
        connectors,
        pagination,
    })
}

/// Describes the operations of this module.
pub(super) fn operations() -> Vec<Operation> {
    const DESCRIPTION: &str = "Those that wait for the permission of their users are not listed. A \
        provider whose connections are not supported has none.";
    let example = || -> Value {
        json!({
            "connectors": [connector_example()],
            "pagination": {"currentPage": 1, "limit": 20, "totalItems": 1, "totalPages": 1},
        })
    };

    vec![
        Operation::get("/connectors", "list_connectors")
            .group(GROUP)
            .summary("List the connectors of all namespaces that the key reaches, oldest first.")
            .description(DESCRIPTION)
            .query::<ListQuery>()
            .answer::<ListResponse>("A page of connectors.", example())
            .error(ErrorAnswer::Invalid, ""),
        Operation::get("/ns/{namespace}/connectors", "list_namespace_connectors")
            .group(GROUP)
            .summary("List the connectors of a namespace, oldest first.")
            .description(DESCRIPTION)
            .path_parameter::<ContainerTag>("namespace", NAMESPACE)
            .query::<ListQuery>()
            .answer::<ListResponse>("A page of connectors.", example())
            .error(ErrorAnswer::Invalid, ""),
    ]
}
