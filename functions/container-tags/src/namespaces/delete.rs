//! `DELETE /ns/{namespace}`: deletes a namespace, or moves its content to another one.

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use domain::{ContainerTag, Error, Result, TaskId};
use edge::{Admin, ApiResult, Auth, Json, NoFields, Path, Query, parse_namespace, rename_fields};
use http::StatusCode;
use openapi::{ErrorAnswer, Operation};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use service::find_writable_container;

use super::{GROUP, NAMESPACE};
use crate::TagsState;
use crate::delete::delete_with_content;
use crate::merge::begin_merge;

/// The options of a deletion. A misspelled `moveTo` is refused, because it must not delete.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub(crate) struct DeleteQuery {
    /// The namespace that takes the content. It must exist. Without it, the content is deleted.
    #[schemars(with = "Option<ContainerTag>")]
    move_to: Option<String>,
}

/// A namespace that was deleted.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "NamespaceDeleted")]
pub(crate) struct DeleteResponse {
    /// Always `deleted`.
    #[schemars(extend("const" = "deleted"))]
    status: &'static str,
    /// The namespace.
    #[schemars(with = "ContainerTag")]
    namespace: String,
    /// The number of its documents.
    deleted_documents_count: u64,
    /// The number of its memories.
    deleted_memories_count: u64,
}

/// A namespace whose content is being moved.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "NamespaceMoveQueued")]
pub(crate) struct MoveResponse {
    /// Always `queued`.
    #[schemars(extend("const" = "queued"))]
    status: &'static str,
    /// The id of the merge, whose progress `GET /v3/container-tags/merge/{mergeId}` returns.
    operation_id: TaskId,
    /// The namespace that ends.
    #[schemars(with = "ContainerTag")]
    namespace: String,
    /// The namespace that takes its content.
    #[schemars(with = "ContainerTag")]
    move_to: String,
}

pub(crate) async fn delete_namespace(
    State(state): State<TagsState>,
    Auth { tenant, .. }: Auth<Admin>,
    Path(namespace): Path<String>,
    Query(query): Query<DeleteQuery>,
    Json(NoFields {}): Json<NoFields>,
) -> ApiResult<Response> {
    let tag = parse_namespace(&namespace)?;
    if let Some(move_to) = query.move_to {
        let target = parse_target(&move_to, &tag)?;
        let sources = std::slice::from_ref(&tag);
        let (id, _) = begin_merge(&state.app, &tenant, sources, &target).await?;
        let response = MoveResponse {
            status: "queued",
            operation_id: id,
            namespace: tag.to_string(),
            move_to: target.to_string(),
        };
        return Ok((StatusCode::ACCEPTED, Json(response)).into_response());
    }

    let container = find_writable_container(&state.app.ctx, &tenant, &tag).await?;
    let deleted = delete_with_content(&state, &tenant, &container).await?;
    let response = DeleteResponse {
        status: "deleted",
        namespace: tag.to_string(),
        deleted_documents_count: deleted.documents,
        deleted_memories_count: deleted.memories,
    };
    Ok(Json(response).into_response())
}

/// Parses the namespace that takes the content of `source`.
fn parse_target(text: &str, source: &ContainerTag) -> Result<ContainerTag> {
    let target = ContainerTag::parse(text)
        .map_err(|error| rename_fields(error, &[("containerTag", "moveTo")]))?;
    if target == *source {
        return Err(Error::invalid_field("moveTo", "another namespace"));
    }
    Ok(target)
}

/// Describes the operations of this module.
pub(super) fn operations() -> Vec<Operation> {
    vec![
        Operation::delete("/ns/{namespace}", "delete_namespace")
            .group(GROUP)
            .summary("Delete a namespace with everything in it, or move its content.")
            .description(
                "After the answer to a deletion, nothing of it is visible, and the name can be \
                 used again at once. After the answer to a move, readers of the target find \
                 everything; the namespace disappears when the move is completed, and until then \
                 writes to both are refused. It needs an administrator's key.",
            )
            .path_parameter::<ContainerTag>("namespace", NAMESPACE)
            .query::<DeleteQuery>()
            .answer::<DeleteResponse>(
                "The namespace was deleted.",
                json!({
                    "status": "deleted",
                    "namespace": "user_42",
                    "deletedDocumentsCount": 12,
                    "deletedMemoriesCount": 31,
                }),
            )
            .answer_with::<MoveResponse>(
                202,
                "The move has started.",
                json!({
                    "status": "queued",
                    "operationId": "9Rk6z3CwPd7uHvLgXaFj4e",
                    "namespace": "user_42_old",
                    "moveTo": "user_42",
                }),
            )
            .error(
                ErrorAnswer::Invalid,
                "A namespace is malformed, the target is the namespace itself, or there is another \
                 parameter.",
            )
            .error(
                ErrorAnswer::NotFound,
                "No document is in the namespace, or in the target, yet.",
            )
            .error(
                ErrorAnswer::Conflict,
                "One of the namespaces is being merged. Send the request again after the merge.",
            ),
    ]
}
