//! `GET` and `PATCH /v3/container-tags/{tag}`: returns or changes one container tag.

use axum::extract::State;
use domain::{Container, ContainerChange, ContainerTag, Patch, ProfileBucket, Timestamp};
use edge::{ApiResult, App, Auth, Json, Path, ReadSurroundings, WriteSurroundings};
use serde::{Deserialize, Serialize};
use service::{change_container, find_existing_container};

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct UpdateRequest {
    name: Patch<String>,
    entity_context: Patch<String>,
    profile_buckets: Patch<Vec<ProfileBucket>>,
    memory_filesystem_paths: Patch<Vec<String>>,
}

/// A container tag in an answer of its own.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct TagResponse {
    container_tag: String,
    name: Option<String>,
    entity_context: Option<String>,
    memory_filesystem_paths: Option<Vec<String>>,
    /// The container's own buckets, without those of the organization.
    profile_buckets: Vec<ProfileBucket>,
    /// Absent in the answer to a change.
    #[serde(skip_serializing_if = "Option::is_none")]
    created_at: Option<Timestamp>,
    updated_at: Timestamp,
}

impl From<Container> for TagResponse {
    fn from(container: Container) -> Self {
        Self {
            container_tag: container.tag.as_str().to_owned(),
            name: container.name,
            entity_context: container.entity_context,
            memory_filesystem_paths: container.memory_paths,
            profile_buckets: container.profile_buckets,
            created_at: Some(container.created_at),
            updated_at: container.updated_at,
        }
    }
}

pub(crate) async fn get_container_tag(
    State(app): State<App>,
    Auth { tenant, .. }: Auth<ReadSurroundings>,
    Path(tag): Path<String>,
) -> ApiResult<Json<TagResponse>> {
    let container = find_existing_container(&app.ctx, &tenant, &ContainerTag::parse(&tag)?).await?;
    Ok(Json(container.into()))
}

/// Changes a container tag, and creates it if it does not exist.
pub(crate) async fn update_container_tag(
    State(app): State<App>,
    Auth { tenant, .. }: Auth<WriteSurroundings>,
    Path(tag): Path<String>,
    Json(request): Json<UpdateRequest>,
) -> ApiResult<Json<TagResponse>> {
    // Blank guidance counts as none.
    let entity_context = match request.entity_context {
        Patch::Set(context) if context.trim().is_empty() => Patch::Clear,
        context => context,
    };

    let change = ContainerChange {
        name: request.name,
        entity_context,
        profile_buckets: request.profile_buckets,
        memory_paths: request.memory_filesystem_paths,
    };

    let container =
        change_container(&app.ctx, &tenant, &ContainerTag::parse(&tag)?, &change).await?;
    Ok(Json(TagResponse {
        created_at: None,
        ..container.into()
    }))
}
