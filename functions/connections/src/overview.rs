//! Read access to connections, their documents, their runs and their items.

use axum::extract::State;
use domain::connection::{Connection, ConnectionStatus, Provider, RunState};
use domain::{Error, Result, Tenant};
use edge::{
    ApiResult, App, Auth, Json, Path, Query, ReadSurroundings, deserialize_count, parse_scope,
};
use futures::stream::{self, StreamExt, TryStreamExt};
use serde::{Deserialize, Serialize};
use service::Ctx;
use service::{count_left_out_items, find_connection, find_connections};

use crate::create::named_scope;
use crate::wire::{ConnectionShape, ItemShape, RunShape, SyncedDocument, parse_provider};

/// The number of states that are read at the same time.
const PARALLEL_STATES: usize = 16;
/// The number of runs and items of an answer if the request does not set a limit.
const DEFAULT_RUNS: usize = 20;
const DEFAULT_ITEMS: usize = 50;
/// The most runs or items of an answer.
const MAX_LISTED: usize = 100;

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct ListRequest {
    container_tag: Option<String>,
    container_tags: Option<Vec<String>>,
    provider: Option<String>,
}

pub(crate) async fn list_connections(
    State(app): State<App>,
    Auth { tenant, .. }: Auth<ReadSurroundings>,
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
    let (ctx, tenant) = (&app.ctx, &tenant);
    let show = |connection: Connection| async move {
        let state = ctx.sync.get_state(tenant, &connection.id).await?;
        Ok::<_, Error>(ConnectionShape::new(connection, &state, None))
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
    Auth { tenant, .. }: Auth<ReadSurroundings>,
    Path(id): Path<String>,
) -> ApiResult<Json<ConnectionShape>> {
    let connection = find_connection(&app.ctx, &tenant, &id).await?;
    Ok(Json(show_connection(&app.ctx, &tenant, connection).await?))
}

/// Returns a connection for an answer of its own.
pub(crate) async fn show_connection(
    ctx: &Ctx,
    tenant: &Tenant,
    connection: Connection,
) -> Result<ConnectionShape> {
    let state = ctx.sync.get_state(tenant, &connection.id).await?;
    let left_out_count = count_left_out_items(ctx, tenant, &connection, &state).await?;
    Ok(ConnectionShape::new(
        connection,
        &state,
        Some(left_out_count),
    ))
}

/// Finds the newest connection to a provider in some containers. An attempt for which no permission
/// was given yet comes after all others.
pub(crate) async fn find_by_tag(
    State(app): State<App>,
    Auth { tenant, .. }: Auth<ReadSurroundings>,
    Path(name): Path<String>,
    Json(request): Json<ListRequest>,
) -> ApiResult<Json<ConnectionShape>> {
    let provider = parse_provider(&name)?;
    let scope = named_scope(&tenant, request.container_tags().as_deref())?;
    let mut connections = find_connections(&app.ctx, &tenant, Some(provider), &scope).await?;
    // The order of equal ones stays: oldest first.
    connections.sort_by_key(|connection| connection.status != ConnectionStatus::PendingOauth);
    let newest = connections.pop();
    let connection = newest.ok_or(Error::NotFound("Connection"))?;
    Ok(Json(show_connection(&app.ctx, &tenant, connection).await?))
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
    Auth { tenant, .. }: Auth<ReadSurroundings>,
    Path(name): Path<String>,
    Json(request): Json<ListRequest>,
) -> ApiResult<Json<Vec<SyncedDocument>>> {
    let provider = parse_provider(&name)?;
    let scope = parse_scope(None, request.container_tags().as_deref())?;
    let documents = service::list_synced_documents(&app.ctx, &tenant, provider, scope).await?;
    Ok(Json(
        documents.into_iter().map(SyncedDocument::from).collect(),
    ))
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct RunsQuery {
    #[serde(deserialize_with = "deserialize_count")]
    limit: Option<usize>,
}

pub(crate) async fn list_runs(
    State(app): State<App>,
    Auth { tenant, .. }: Auth<ReadSurroundings>,
    Path(id): Path<String>,
    Query(query): Query<RunsQuery>,
) -> ApiResult<Json<Vec<RunShape>>> {
    let limit = check_list_limit(query.limit, DEFAULT_RUNS)?;
    let connection = find_connection(&app.ctx, &tenant, &id).await?;
    let mut runs = app
        .ctx
        .sync
        .list_runs(&tenant, &connection.id, limit)
        .await?;
    let state = app.ctx.sync.get_state(&tenant, &connection.id).await?;
    if let Some(current_run) = state.run.filter(|run| run.state == RunState::Running) {
        runs.retain(|run| run.number != current_run.number);
        runs.insert(0, current_run);
        runs.truncate(limit);
    }

    Ok(Json(
        runs.into_iter()
            .map(|run| RunShape::new(&connection.id, run))
            .collect(),
    ))
}

/// Checks the number of runs or items that a request asks for.
fn check_list_limit(requested: Option<usize>, default: usize) -> Result<usize> {
    let limit = requested.unwrap_or(default);
    if !(1..=MAX_LISTED).contains(&limit) {
        return Err(Error::invalid_field("limit", format!("1 to {MAX_LISTED}")));
    }
    Ok(limit)
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct ItemsQuery {
    state: Option<String>,
    #[serde(deserialize_with = "deserialize_count")]
    limit: Option<usize>,
    after: Option<String>,
}

#[derive(Debug, Serialize)]
pub(crate) struct ItemsResponse {
    items: Vec<ItemShape>,
    /// The value to send as `after` for the next page.
    next: Option<String>,
}

/// The states that a request may ask for.
const ITEM_STATES: [&str; 5] = ["pending", "filed", "skipped", "failed", "folder"];

pub(crate) async fn list_items(
    State(app): State<App>,
    Auth { tenant, .. }: Auth<ReadSurroundings>,
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
