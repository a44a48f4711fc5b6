//! `GET /v3/container-tags/list`: lists container tags.

use axum::extract::State;
use container_index::count_memories;
use domain::{Container, ContainerId, ContainerTag, Result, TaskId, Tenant, Timestamp};
use edge::{ApiResult, App, Auth, Json, ReadUnscoped};
use futures::future::try_join;
use futures::stream::{self, StreamExt, TryStreamExt};
use openapi::Operation;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::json;
use service::{EXACT_COUNT_LIMIT, measure_container, read_heads};

use crate::TagsState;

/// The number of containers that are measured at the same time.
pub(crate) const PARALLEL_CONTAINERS: usize = 16;
/// The prefix of the tags of the clients' projects. Part of the API.
const PROJECT_PREFIX: &str = "sm_project_";

/// A container in the list.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ListedTag {
    /// The id of the physical container for new documents.
    #[schemars(with = "ContainerId")]
    id: String,
    /// The given name, or else the tag itself.
    name: String,
    /// The container tag.
    #[schemars(with = "ContainerTag")]
    container_tag: String,
    /// Always null.
    #[schemars(with = "()")]
    description: Option<String>,
    /// The time of creation.
    created_at: Timestamp,
    /// The time of the last change.
    updated_at: Timestamp,
    /// Always false.
    #[schemars(extend("const" = false))]
    is_experimental: bool,
    /// Always `private`: only the organization sees it.
    #[schemars(extend("const" = "private"))]
    visibility: &'static str,
    /// True if the tag has the prefix of the clients' projects.
    is_nova: bool,
    #[serde(flatten)]
    counts: TagCounts,
    /// Its role in a merge that is running.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("enum" = ["source", "target"]))]
    merge_status: Option<&'static str>,
    /// The id of the merge that it takes part in.
    #[serde(skip_serializing_if = "Option::is_none")]
    merge_id: Option<TaskId>,
    /// The container tag that it is merged into.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<ContainerTag>")]
    merge_target_tag: Option<String>,
}

/// The amount of content under a container tag, and the time of its last use.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
pub(crate) struct TagCounts {
    /// The number of its documents.
    pub(crate) document_count: u64,
    /// The number of its memories.
    pub(crate) memory_count: u64,
    /// The time of the last change of the container or a document in it.
    last_activity_at: Option<Timestamp>,
}

/// Returns the containers that the key reaches, by tag.
pub(crate) async fn list_container_tags(
    State(state): State<TagsState>,
    Auth { tenant, .. }: Auth<ReadUnscoped>,
) -> ApiResult<Json<Vec<ListedTag>>> {
    let containers = list_reachable(&state.app, &tenant).await?;
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

/// Returns the containers that the key reaches, by tag. A container that is being merged is among
/// them.
///
/// # Errors
/// Those of the port.
pub(crate) async fn list_reachable(app: &App, tenant: &Tenant) -> Result<Vec<Container>> {
    let mut containers = app.ctx.containers.list(tenant).await?;
    containers.retain(|container| tenant.can_access(&container.tag));
    containers.sort_by(|a, b| a.tag.cmp(&b.tag));
    Ok(containers)
}

impl TagCounts {
    /// Counts the content of a container.
    ///
    /// # Errors
    /// Those of the ports.
    pub(crate) async fn of(
        state: &TagsState,
        tenant: &Tenant,
        container: &Container,
    ) -> Result<Self> {
        let ctx = &state.app.ctx;
        let heads = read_heads(ctx, tenant, container).await?;
        let memories = async {
            let (cache, exact_limit) = (&state.ledgers, EXACT_COUNT_LIMIT as u64);
            let counted = count_memories(ctx, tenant, cache, container, &heads, exact_limit);
            Ok(counted.await?)
        };
        let size = measure_container(ctx, tenant, container, &heads, EXACT_COUNT_LIMIT);
        let (size, memories) = try_join(size, memories).await?;

        Ok(Self {
            document_count: size.documents,
            memory_count: memories,
            last_activity_at: Some(size.last_activity),
        })
    }
}

async fn describe_tag(
    state: &TagsState,
    tenant: &Tenant,
    container: Container,
) -> Result<ListedTag> {
    let counts = TagCounts::of(state, tenant, &container).await?;
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
        counts,
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

/// Describes the operations of this module.
pub(crate) fn operations() -> Vec<Operation> {
    vec![
        Operation::get("/v3/container-tags/list", "list_container_tags")
            .group("Container Tags")
            .summary("List the container tags that the key reaches.")
            .description(
                "Sorted by tag. The memories of a container with more than 1000 documents are \
                 counted when it is compacted.",
            )
            .answer::<Vec<ListedTag>>(
                "The container tags.",
                json!([
                    {
                        "id": "5Hd1p8aGkT9mYwqZrLcXv2",
                        "name": "user_42",
                        "containerTag": "user_42",
                        "description": null,
                        "createdAt": "2026-03-01T09:30:00.000Z",
                        "updatedAt": "2026-03-02T10:00:00.000Z",
                        "isExperimental": false,
                        "visibility": "private",
                        "isNova": false,
                        "documentCount": 12,
                        "memoryCount": 31,
                        "lastActivityAt": "2026-03-05T08:12:40.000Z",
                    },
                ]),
            ),
    ]
}
