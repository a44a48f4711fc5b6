//! `GET` and `PATCH /v3/container-tags/{tag}`: returns or changes one container tag.

use axum::extract::State;
use domain::container::MAX_ENTITY_CONTEXT;
use domain::{Container, ContainerChange, ContainerTag, Patch, ProfileBucket, Timestamp};
use edge::{ApiResult, App, Auth, Json, Path, ReadUnscoped, WriteUnscoped};
use openapi::{ErrorAnswer, Operation};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use service::{change_container, find_existing_container};

use crate::TagsState;
use crate::list::TagCounts;

/// The changes to a container tag.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(rename = "UpdateTagRequest")]
pub(crate) struct UpdateRequest {
    /// A name for display.
    #[schemars(with = "Option<String>", length(min = 1, max = 100))]
    name: Patch<String>,
    /// A description of the content. It guides the extraction of memories and is never a source of
    /// facts.
    #[schemars(with = "Option<String>", length(max = MAX_ENTITY_CONTEXT))]
    entity_context: Patch<String>,
    /// Buckets in addition to those of the organization. They replace the container's own.
    #[schemars(with = "Option<Vec<ProfileBucket>>", length(max = 50))]
    profile_buckets: Patch<Vec<ProfileBucket>>,
    /// Folders and files. Documents with a filepath outside them are searchable, but no memories
    /// are made from them; null means all. It applies to documents that are processed from now on.
    #[schemars(
        with = "Option<Vec<String>>",
        length(max = 100),
        inner(length(min = 1))
    )]
    memory_filesystem_paths: Patch<Vec<String>>,
}

/// A container tag.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Tag")]
pub(crate) struct TagResponse {
    #[serde(flatten)]
    current: UpdatedTag,
    // compat: the command line of the TypeScript client prints this field.
    /// The same as `entityContext`.
    context: Option<String>,
    #[serde(flatten)]
    counts: TagCounts,
    /// The time of creation.
    created_at: Timestamp,
}

/// A container tag after a change.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct UpdatedTag {
    /// The container tag.
    #[schemars(with = "ContainerTag")]
    container_tag: String,
    /// A name for display.
    name: Option<String>,
    /// A description of the content.
    entity_context: Option<String>,
    /// The folders and files from which memories are made; null means all.
    memory_filesystem_paths: Option<Vec<String>>,
    /// The container's own buckets, without those of the organization.
    profile_buckets: Vec<ProfileBucket>,
    /// The time of the last change.
    updated_at: Timestamp,
}

impl From<Container> for UpdatedTag {
    fn from(container: Container) -> Self {
        Self {
            container_tag: container.tag.as_str().to_owned(),
            name: container.name,
            entity_context: container.entity_context,
            memory_filesystem_paths: container.memory_paths,
            profile_buckets: container.profile_buckets,
            updated_at: container.updated_at,
        }
    }
}

pub(crate) async fn get_container_tag(
    State(state): State<TagsState>,
    Auth { tenant, .. }: Auth<ReadUnscoped>,
    Path(tag): Path<String>,
) -> ApiResult<Json<TagResponse>> {
    let tag = ContainerTag::parse(&tag)?;
    let container = find_existing_container(&state.app.ctx, &tenant, &tag).await?;
    Ok(Json(TagResponse {
        context: container.entity_context.clone(),
        counts: TagCounts::of(&state, &tenant, &container).await?,
        created_at: container.created_at,
        current: container.into(),
    }))
}

/// Changes a container tag, and creates it if it does not exist.
pub(crate) async fn update_container_tag(
    State(app): State<App>,
    Auth { tenant, .. }: Auth<WriteUnscoped>,
    Path(tag): Path<String>,
    Json(request): Json<UpdateRequest>,
) -> ApiResult<Json<UpdatedTag>> {
    let change = ContainerChange {
        name: request.name,
        entity_context: clear_blank(request.entity_context),
        profile_buckets: request.profile_buckets,
        memory_paths: request.memory_filesystem_paths,
    };

    let container =
        change_container(&app.ctx, &tenant, &ContainerTag::parse(&tag)?, &change).await?;
    Ok(Json(container.into()))
}

/// Returns a change of guidance, in which blank guidance counts as none.
pub(crate) fn clear_blank(context: Patch<String>) -> Patch<String> {
    match context {
        Patch::Set(context) if context.trim().is_empty() => Patch::Clear,
        context => context,
    }
}

/// Describes the operations of this module.
pub(crate) fn operations() -> Vec<Operation> {
    vec![
        Operation::get("/v3/container-tags/{tag}", "get_container_tag")
            .group("Container Tags")
            .summary("Get a container tag.")
            .description(
                "Its name, its description, its buckets, the paths from which memories are made, \
                 and the amount of its content.",
            )
            .path_parameter::<ContainerTag>("tag", "A container tag.")
            .answer::<TagResponse>(
                "The container tag.",
                json!({
                    "containerTag": "user_42",
                    "name": null,
                    "entityContext": "Notes of somebody who watches birds.",
                    "memoryFilesystemPaths": null,
                    "profileBuckets": [],
                    "context": "Notes of somebody who watches birds.",
                    "documentCount": 12,
                    "memoryCount": 31,
                    "lastActivityAt": "2026-03-05T08:12:40.000Z",
                    "createdAt": "2026-03-01T09:30:00.000Z",
                    "updatedAt": "2026-03-02T10:00:00.000Z",
                }),
            )
            .error(ErrorAnswer::Invalid, "The container tag is malformed.")
            .error(
                ErrorAnswer::NotFound,
                "No document has this container tag yet, or it was deleted.",
            ),
        Operation::patch("/v3/container-tags/{tag}", "update_container_tag")
            .group("Container Tags")
            .summary("Change a container tag.")
            .description(
                "A tag that does not exist is created. Absent fields stay as they are, and null \
                 clears a field.",
            )
            .path_parameter::<ContainerTag>("tag", "A container tag.")
            .optional_body::<UpdateRequest>(json!({
                "name": "Mara's notebook",
                "entityContext": "Notes of somebody who watches birds.",
                "profileBuckets": [{"key": "birds", "description": "Birds, nests and feathers."}],
                "memoryFilesystemPaths": ["/diary/"],
            }))
            .answer::<UpdatedTag>(
                "The container tag after the change.",
                json!({
                    "containerTag": "user_42",
                    "name": "Mara's notebook",
                    "entityContext": "Notes of somebody who watches birds.",
                    "memoryFilesystemPaths": ["/diary/"],
                    "profileBuckets": [
                        {"key": "birds", "description": "Birds, nests and feathers."},
                    ],
                    "updatedAt": "2026-03-02T10:00:00.000Z",
                }),
            )
            .error(ErrorAnswer::Invalid, "")
            .error(
                ErrorAnswer::Conflict,
                "The container is being merged. Send the change again after the merge.",
            ),
    ]
}
