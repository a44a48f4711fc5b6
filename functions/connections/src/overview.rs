//! Read access to connections, their documents, their runs and their items.

use axum::extract::State;
use domain::connection::{Connection, ConnectionStatus, Provider, Run};
use domain::{ContainerTag, Error, Result, Tenant};
use edge::{
    ApiResult, App, Auth, Json, MAX_ENTRIES, Path, Query, ReadUnscoped, deserialize_count,
    parse_scope,
};
use futures::stream::{self, StreamExt, TryStreamExt};
use openapi::{ErrorAnswer, Operation, PathId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use service::Ctx;
use service::{count_left_out_items, find_connection, find_connections};

use crate::create::{CONNECTION, NO_CONNECTION, NO_PROVIDER, PROVIDER, named_scope};
use crate::wire::{
    ConnectionShape, ItemShape, RunShape, SyncedDocument, parse_provider, running_run,
};

/// The number of states that are read at the same time.
pub(crate) const PARALLEL_STATES: usize = 16;
/// The number of runs and items of an answer if the request does not set a limit.
const DEFAULT_RUNS: usize = 20;
const DEFAULT_ITEMS: usize = 50;
/// The most runs or items of an answer.
const MAX_LISTED: usize = 100;

/// The containers and the provider of connections.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(rename = "ConnectionScope")]
pub(crate) struct ListRequest {
    /// A container tag, in addition to `containerTags`.
    #[schemars(with = "Option<ContainerTag>")]
    container_tag: Option<String>,
    /// Container tags. Without any, all that the key reaches.
    #[schemars(with = "Option<Vec<ContainerTag>>", length(max = MAX_ENTRIES))]
    container_tags: Option<Vec<String>>,
    /// The provider. A route with the provider in its path ignores it.
    provider: Option<String>,
}

pub(crate) async fn list_connections(
    State(app): State<App>,
    Auth { tenant, .. }: Auth<ReadUnscoped>,
    Json(request): Json<ListRequest>,
) -> ApiResult<Json<Vec<ConnectionShape>>> {
    let scope = parse_scope(
        request.container_tag.as_deref(),
        request.container_tags.as_deref(),
    )?;
    let provider = match request.provider.as_deref().map(Provider::parse) {
        None => None,
        Some(Some(provider)) => Some(provider),
        // compat: the client asks for all providers of the hosted service in turn.
        Some(None) => return Ok(Json(Vec::new())),
    };
    let connections = find_connections(&app.ctx, &tenant, provider, &scope).await?;
    let (ctx, tenant, names) = (&app.ctx, &tenant, app.provider_names);
    let show = |connection: Connection| async move {
        let state = ctx.sync.get_state(tenant, &connection.id).await?;
        Ok::<_, Error>(ConnectionShape::new(names, connection, &state, None))
    };

    Ok(Json(
        stream::iter(connections.into_iter().map(show))
            .buffered(PARALLEL_STATES)
            .try_collect()
            .await?,
    ))
}

pub(crate) async fn get_connection(
    State(app): State<App>,
    Auth { tenant, .. }: Auth<ReadUnscoped>,
    Path(id): Path<String>,
) -> ApiResult<Json<ConnectionShape>> {
    let connection = find_connection(&app.ctx, &tenant, &id).await?;
    Ok(Json(show_connection(&app, &tenant, connection).await?))
}

/// Returns a connection for an answer of its own.
pub(crate) async fn show_connection(
    app: &App,
    tenant: &Tenant,
    connection: Connection,
) -> Result<ConnectionShape> {
    let ctx = &app.ctx;
    let state = ctx.sync.get_state(tenant, &connection.id).await?;
    let left_out_count = count_left_out_items(ctx, tenant, &connection, &state).await?;
    Ok(ConnectionShape::new(
        app.provider_names,
        connection,
        &state,
        Some(left_out_count),
    ))
}

/// Finds the newest connection to a provider in some containers. An attempt for which no permission
/// was given yet comes after all others.
pub(crate) async fn find_by_tag(
    State(app): State<App>,
    Auth { tenant, .. }: Auth<ReadUnscoped>,
    Path(name): Path<String>,
    Json(request): Json<ListRequest>,
) -> ApiResult<Json<ConnectionShape>> {
    let provider = parse_provider(&name, app.provider_names)?;
    let scope = named_scope(&tenant, request.container_tags().as_deref())?;
    let mut connections = find_connections(&app.ctx, &tenant, Some(provider), &scope).await?;
    // The order of equal ones stays: oldest first.
    connections.sort_by_key(|connection| connection.status != ConnectionStatus::PendingOauth);
    let newest = connections.pop();
    let connection = newest.ok_or(Error::NotFound("Connection"))?;
    Ok(Json(show_connection(&app, &tenant, connection).await?))
}

impl ListRequest {
    fn container_tags(&self) -> Option<Vec<String>> {
        let tags = self
            .container_tag
            .iter()
            .chain(self.container_tags.iter().flatten());
        Some(tags.cloned().collect())
    }
}

pub(crate) async fn list_documents(
    State(app): State<App>,
    Auth { tenant, .. }: Auth<ReadUnscoped>,
    Path(name): Path<String>,
    Json(request): Json<ListRequest>,
) -> ApiResult<Json<Vec<SyncedDocument>>> {
    let provider = parse_provider(&name, app.provider_names)?;
    let scope = parse_scope(None, request.container_tags().as_deref())?;
    let documents = service::list_synced_documents(&app.ctx, &tenant, provider, scope).await?;
    let shape = |document| SyncedDocument::new(app.provider_names, document);
    Ok(Json(documents.into_iter().map(shape).collect()))
}

/// The runs to list.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
pub(crate) struct RunsQuery {
    /// The most runs. The default is 20.
    #[serde(deserialize_with = "deserialize_count")]
    #[schemars(schema_with = "edge::count_schema::<1, MAX_LISTED>")]
    limit: Option<usize>,
}

pub(crate) async fn list_runs(
    State(app): State<App>,
    Auth { tenant, .. }: Auth<ReadUnscoped>,
    Path(id): Path<String>,
    Query(query): Query<RunsQuery>,
) -> ApiResult<Json<Vec<RunShape>>> {
    let limit = check_list_limit(query.limit, DEFAULT_RUNS)?;
    let connection = find_connection(&app.ctx, &tenant, &id).await?;
    let runs = newest_runs(&app.ctx, &tenant, &connection, limit).await?;
    Ok(Json(
        runs.into_iter()
            .map(|run| RunShape::new(&connection.id, run))
            .collect(),
    ))
}

/// Returns the newest runs of a connection, at most `limit`. One that is not completed comes first.
///
/// # Errors
/// Those of the port.
pub(crate) async fn newest_runs(
    ctx: &Ctx,
    tenant: &Tenant,
    connection: &Connection,
    limit: usize,
) -> Result<Vec<Run>> {
    let mut runs = ctx.sync.list_runs(tenant, &connection.id, limit).await?;
    let state = ctx.sync.get_state(tenant, &connection.id).await?;
    if let Some(current_run) = running_run(&state) {
        runs.retain(|run| run.number != current_run.number);
        runs.insert(0, current_run.clone());
        runs.truncate(limit);
    }
    Ok(runs)
}

/// Checks the number of runs or items that a request asks for.
fn check_list_limit(requested: Option<usize>, default: usize) -> Result<usize> {
    let limit = requested.unwrap_or(default);
    if !(1..=MAX_LISTED).contains(&limit) {
        return Err(Error::invalid_field("limit", format!("1 to {MAX_LISTED}")));
    }
    Ok(limit)
}

/// The items to list.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
pub(crate) struct ItemsQuery {
    /// The state of the items.
    #[schemars(extend("enum" = ITEM_STATES))]
    state: Option<String>,
    /// The most items. The default is 50.
    #[serde(deserialize_with = "deserialize_count")]
    #[schemars(schema_with = "edge::count_schema::<1, MAX_LISTED>")]
    limit: Option<usize>,
    /// The value of `next` in the last page.
    #[schemars(length(min = 1))]
    after: Option<String>,
}

/// A page of items, which may be short or empty while there are more.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Items")]
pub(crate) struct ItemsResponse {
    /// The items.
    items: Vec<ItemShape>,
    /// The value to send as `after` for the next page.
    next: Option<String>,
}

/// The states that a request may ask for.
const ITEM_STATES: [&str; 5] = ["pending", "filed", "skipped", "failed", "folder"];

pub(crate) async fn list_items(
    State(app): State<App>,
    Auth { tenant, .. }: Auth<ReadUnscoped>,
    Path(id): Path<String>,
    Query(query): Query<ItemsQuery>,
) -> ApiResult<Json<ItemsResponse>> {
    let limit = check_list_limit(query.limit, DEFAULT_ITEMS)?;
    if query
        .state
        .as_deref()
        .is_some_and(|state| !ITEM_STATES.contains(&state))
    {
        return Err(
            Error::invalid_field("state", format!("one of {}", ITEM_STATES.join(", "))).into(),
        );
    }

    let connection = find_connection(&app.ctx, &tenant, &id).await?;
    let (nodes, next) = service::list_items(
        &app.ctx,
        &tenant,
        &connection,
        query.state.as_deref(),
        query.after,
        limit,
    )
    .await?;

    Ok(Json(ItemsResponse {
        items: nodes.into_iter().map(ItemShape::from).collect(),
        next,
    }))
}

/// Returns an example of a connection.
pub(crate) fn connection_example() -> Value {
    json!({
        "id": "c7VhPq2mZt9bXw4KsYdRu1",
        "provider": "cloud-drive",
        "status": "active",
        "email": "mara@example.com",
        "createdAt": "2026-03-01T09:30:00.000Z",
        "updatedAt": "2026-03-01T09:31:20.000Z",
        "documentLimit": 2000,
        "documentCount": 118,
        "metadata": {"team": "ringers"},
        "containerTags": ["user_42"],
        "nextSyncAt": "2026-03-01T10:31:20.000Z",
    })
}

/// Describes the operations of this module.
pub(crate) fn operations() -> Vec<Operation> {
    let containers = json!({"containerTags": ["user_42"]});
    vec![
        Operation::post("/v3/connections/list", "list_connections")
            .group("Connections")
            .summary("List connections, oldest first.")
            .description("A provider whose connections are not supported has none.")
            .optional_body::<ListRequest>(containers.clone())
            .answer::<Vec<ConnectionShape>>("The connections.", json!([connection_example()]))
            .error(ErrorAnswer::Invalid, ""),
        Operation::get("/v3/connections/{id}", "get_connection")
            .group("Connections")
            .summary("Get a connection.")
            .description("Its status, its newest run, and what a person has to do.")
            .path_parameter::<PathId>("id", CONNECTION)
            .answer::<ConnectionShape>("The connection.", connection_example())
            .error(ErrorAnswer::Invalid, "")
            .error(ErrorAnswer::NotFound, NO_CONNECTION),
        Operation::post("/v3/connections/{id}/connection", "find_connection")
            .group("Connections")
            .summary("Get the newest connection of a provider to a container.")
            .description(
                "A connection for which no permission was given yet comes after all others. A key \
                 that reaches all containers has to name one.",
            )
            .path_parameter::<PathId>("id", PROVIDER)
            .body::<ListRequest>(containers.clone())
            .answer::<ConnectionShape>("The connection.", connection_example())
            .error(ErrorAnswer::Invalid, "")
            .error(ErrorAnswer::NotFound, NO_CONNECTION)
            .error(ErrorAnswer::Unsupported, NO_PROVIDER),
        Operation::post("/v3/connections/{id}/documents", "list_connected_documents")
            .group("Connections")
            .summary("List the documents that came from a provider, newest first.")
            .description(
                "At most the newest 1,000. `POST /v3/documents/list` lists all of them, page by \
                 page.",
            )
            .path_parameter::<PathId>("id", PROVIDER)
            .optional_body::<ListRequest>(containers)
            .answer::<Vec<SyncedDocument>>(
                "The documents.",
                json!([
                    {
                        "id": "acxV5LHMEsG2hMSNb4umbn",
                        "createdAt": "2026-03-01T09:31:05.000Z",
                        "updatedAt": "2026-03-01T09:31:06.120Z",
                        "status": "done",
                        "title": "Survey of the north bank",
                        "summary": null,
                        "type": "cloud_doc",
                    },
                ]),
            )
            .error(ErrorAnswer::Invalid, "")
            .error(ErrorAnswer::Unsupported, NO_PROVIDER),
        Operation::get("/v3/connections/{id}/sync-runs", "list_sync_runs")
            .group("Connections")
            .summary("List the runs of a connection, newest first.")
            .description("A run that is not completed comes first.")
            .path_parameter::<PathId>("id", CONNECTION)
            .query::<RunsQuery>()
            .answer::<Vec<RunShape>>(
                "The runs.",
                json!([
                    {
                        "id": "c7VhPq2mZt9bXw4KsYdRu1:7",
                        "connectionId": "c7VhPq2mZt9bXw4KsYdRu1",
                        "status": "completed",
                        "triggerType": "cron",
                        "startedAt": "2026-03-01T09:31:00.000Z",
                        "completedAt": "2026-03-01T09:31:20.000Z",
                        "itemsProcessed": 12,
                        "itemsFailed": 0,
                        "itemsSkipped": 3,
                        "itemsRemoved": 1,
                        "errorCode": null,
                        "error": null,
                    },
                ]),
            )
            .error(ErrorAnswer::Invalid, "")
            .error(ErrorAnswer::NotFound, NO_CONNECTION),
        Operation::get("/v3/connections/{id}/items", "list_items")
            .group("Connections")
            .summary("List the items of a connection, and why some are left out.")
            .description("A page may be short or empty while there are more.")
            .path_parameter::<PathId>("id", CONNECTION)
            .query::<ItemsQuery>()
            .answer::<ItemsResponse>(
                "A page of items.",
                json!({
                    "items": [
                        {
                            "id": "1aBcSurvey",
                            "name": "Survey.pdf",
                            "path": "/My Drive/Plans/Survey.pdf",
                            "state": "skipped",
                            "reason": "excluded",
                            "documentId": null,
                            "mimeType": "application/pdf",
                            "size": 48213,
                            "modifiedAt": "2026-02-20T16:02:00.000Z",
                            "url": "https://drive.example.com/file/1aBcSurvey",
                        },
                    ],
                    "next": null,
                }),
            )
            .error(ErrorAnswer::Invalid, "")
            .error(ErrorAnswer::NotFound, NO_CONNECTION),
    ]
}
