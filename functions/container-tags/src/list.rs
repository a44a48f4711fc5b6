//! `GET /v3/container-tags/list`: lists container tags.

use axum::extract::State;
use container_index::count_memories;
use domain::{Container, Result, TaskId, Tenant, Timestamp};
use edge::{ApiResult, Auth, Json, ReadSurroundings};
use futures::stream::{self, StreamExt, TryStreamExt};
use serde::Serialize;
use service::{EXACT_COUNT_LIMIT, measure_container};

use crate::TagsState;

/// The number of containers that are measured at the same time.
const PARALLEL_CONTAINERS: usize = 16;
/// The prefix of the tags of the clients' projects. Part of the API.
const PROJECT_PREFIX: &str = "sm_project_";

/// A container in the list.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ListedTag {
    /// The id of the physical container for new documents.
    id: String,
    /// The given name, or else the tag itself.
    name: String,
    container_tag: String,
    description: Option<String>,
    created_at: Timestamp,
    updated_at: Timestamp,
    is_experimental: bool,
    visibility: &'static str,
    is_nova: bool,
    document_count: u64,
    memory_count: u64,
    last_activity_at: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    merge_status: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    merge_id: Option<TaskId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    merge_target_tag: Option<String>,
}

/// Returns the containers that the key reaches, by tag.
pub(crate) async fn list_container_tags(
    State(state): State<TagsState>,
    Auth { tenant, .. }: Auth<ReadSurroundings>,
) -> ApiResult<Json<Vec<ListedTag>>> {
    let mut containers = state
        .app
        .ctx
        .containers
        .list(&tenant)
        .await
        .map_err(domain::Error::from)?;
    containers.retain(|container| tenant.can_access(&container.tag));
    containers.sort_by(|a, b| a.tag.cmp(&b.tag));
    let descriptions = stream::iter(
        containers
            .into_iter()
            .map(|container| describe_tag(&state, &tenant, container)),
    );

    Ok(Json(
        descriptions
            .buffered(PARALLEL_CONTAINERS)
            .try_collect()
            .await?,
    ))
}

async fn describe_tag(
    state: &TagsState,
    tenant: &Tenant,
    container: Container,
) -> Result<ListedTag> {
    let ctx = &state.app.ctx;
    let size = measure_container(ctx, tenant, &container).await?;
    let memories = count_memories(
        ctx,
        tenant,
        &state.ledgers,
        &container,
        EXACT_COUNT_LIMIT as u64,
    )
    .await?;
    let merge = container.merge.as_ref();
    let target = merge.and_then(|merge| merge.into.as_ref());

    Ok(ListedTag {
        id: container.primary_id().to_string(),
        name: container
            .name
            .clone()
            .unwrap_or_else(|| container.tag.to_string()),
        container_tag: container.tag.to_string(),
        description: None,
        created_at: container.created_at,
        updated_at: container.updated_at,
        is_experimental: false,
        visibility: "private",
        is_nova: container.tag.as_str().starts_with(PROJECT_PREFIX),
        document_count: size.documents,
        memory_count: memories,
        last_activity_at: Some(size.last_activity),
        merge_status: merge.map(|merge| {
            if merge.into.is_some() {
                "source"
            } else {
                "target"
            }
        }),
        merge_id: merge.map(|merge| merge.task.clone()),
        merge_target_tag: target.map(ToString::to_string),
    })
}
