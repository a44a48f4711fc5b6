//! `DELETE /v3/container-tags/{tag}`, and the progress of a deletion.

use axum::extract::State;
use container_index::count_memories;
use domain::task::{PurgePhase, PurgeReport, TaskWork};
use domain::{Container, ContainerTag, Error, Result, Task, TaskId, TaskState, Tenant, Timestamp};
use edge::{Admin, ApiResult, App, Auth, Json, Path, Query, deserialize_bool};
use openapi::{ErrorAnswer, Operation, PathId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use service::{
    EXACT_COUNT_LIMIT, QUICK_COUNT_LIMIT, SignedErasureReport, count_documents, delete_container,
    find_writable_container, read_heads, sign_erasure_report,
};

use crate::TagsState;

/// The options of a deletion, in the query string or in the body. A misspelled `dryRun` is refused,
/// because it must not delete.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
#[schemars(rename = "DeleteTagRequest")]
pub(crate) struct DeleteRequest {
    /// Reports what would be deleted and deletes nothing.
    #[serde(deserialize_with = "deserialize_bool")]
    #[schemars(schema_with = "edge::flexible_boolean_schema")]
    dry_run: bool,
}

/// The outcome of a deletion.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "TagDeleted")]
pub(crate) struct DeleteResponse {
    /// Always true.
    #[schemars(extend("const" = true))]
    success: bool,
    /// The container tag.
    #[schemars(with = "ContainerTag")]
    container_tag: String,
    /// The number of its documents.
    deleted_documents_count: u64,
    /// The number of its memories.
    deleted_memories_count: u64,
    /// The id for requests about the progress of the removal; null if nothing was deleted.
    deletion_id: Option<TaskId>,
    /// True if nothing was deleted.
    dry_run: bool,
}

/// Deletes a container. Nothing of it is visible after the answer, and its storage is freed in the
/// background.
pub(crate) async fn delete_container_tag(
    State(state): State<TagsState>,
    Auth { tenant, .. }: Auth<Admin>,
    Path(tag): Path<String>,
    Query(query): Query<DeleteRequest>,
    Json(request): Json<DeleteRequest>,
) -> ApiResult<Json<DeleteResponse>> {
    let ctx = &state.app.ctx;
    let container = find_writable_container(ctx, &tenant, &ContainerTag::parse(&tag)?).await?;
    let dry_run = query.dry_run || request.dry_run;
    let (documents, memories, deletion_id) = if dry_run {
        let counts = count_content(&state, &tenant, &container, EXACT_COUNT_LIMIT).await;
        (counts.0?, counts.1?, None)
    } else {
        let deleted = delete_with_content(&state, &tenant, &container).await?;
        (deleted.documents, deleted.memories, Some(deleted.task))
    };

    Ok(Json(DeleteResponse {
        success: true,
        container_tag: container.tag.to_string(),
        deleted_documents_count: documents,
        deleted_memories_count: memories,
        deletion_id,
        dry_run,
    }))
}

/// A deletion that has begun.
pub(crate) struct BegunDeletion {
    /// The number of documents.
    pub(crate) documents: u64,
    /// The number of memories.
    pub(crate) memories: u64,
    /// The task that removes what is stored.
    task: TaskId,
}

/// Deletes a container, and counts its contents before. A container that cannot be counted can
/// still be deleted. The report of the deletion counts its contents.
///
/// # Errors
/// Those of [`delete_container`].
pub(crate) async fn delete_with_content(
    state: &TagsState,
    tenant: &Tenant,
    container: &Container,
) -> Result<BegunDeletion> {
    let (documents, memories) = count_content(state, tenant, container, QUICK_COUNT_LIMIT).await;
    let task = delete_container(&state.app.ctx, tenant, container).await?;
    Ok(BegunDeletion {
        documents: documents.unwrap_or_default(),
        memories: memories.unwrap_or_default(),
        task: task.id,
    })
}

/// Counts the documents and the memories of a container.
async fn count_content(
    state: &TagsState,
    tenant: &Tenant,
    container: &Container,
    limit: usize,
) -> (Result<u64>, Result<u64>) {
    let ctx = &state.app.ctx;
    let documents = count_documents(ctx, tenant, container, limit).await;
    let memories = async {
        let heads = read_heads(ctx, tenant, container).await?;
        let (cache, exact_limit) = (&state.ledgers, limit as u64);
        Ok(count_memories(ctx, tenant, cache, container, &heads, exact_limit).await?)
    };
    (documents, memories.await)
}

/// The progress of a deletion.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Deletion")]
pub(crate) struct DeletionResponse {
    /// Its id.
    id: TaskId,
    /// The container tag.
    #[schemars(with = "ContainerTag")]
    container_tag: String,
    /// The state of the deletion.
    status: DeletionStatus,
    /// The counts of what has been removed.
    report: PurgeReport,
    /// The time of the deletion.
    deleted_at: Timestamp,
    /// The time of the last change.
    updated_at: Timestamp,
    /// The time at which nothing was left.
    completed_at: Option<Timestamp>,
    /// The reason why the last step failed. The step is repeated unless the deletion is `failed`.
    error: Option<String>,
}

/// The state of a deletion.
#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum DeletionStatus {
    /// The contents are being removed.
    Running,
    /// A second pass looks for data that requests under way at the time of the deletion may have
    /// left.
    Verifying,
    /// Nothing is left.
    Completed,
    /// The deletion was given up, and `error` gives the reason.
    Failed,
}

pub(crate) async fn get_deletion(
    State(app): State<App>,
    Auth { tenant, .. }: Auth<Admin>,
    Path(id): Path<String>,
) -> ApiResult<Json<DeletionResponse>> {
    let missing = Error::NotFound("Deletion");
    let Some(Task {
        id,
        work: TaskWork::Purge(purge),
        state,
        error,
        updated_at,
        ..
    }) = find_task(&app, &tenant, &id).await?
    else {
        return Err(missing.into());
    };

    let status = match state {
        TaskState::Running if purge.verifying || purge.phase == PurgePhase::Waiting => {
            DeletionStatus::Verifying
        }
        TaskState::Running => DeletionStatus::Running,
        TaskState::Completed => DeletionStatus::Completed,
        TaskState::Failed => DeletionStatus::Failed,
    };

    Ok(Json(DeletionResponse {
        id,
        container_tag: purge.tag.to_string(),
        status,
        report: purge.report,
        deleted_at: purge.deleted_at,
        updated_at,
        completed_at: (state == TaskState::Completed).then_some(updated_at),
        error,
    }))
}

pub(crate) async fn get_erasure_report(
    State(app): State<App>,
    Auth { tenant, .. }: Auth<Admin>,
    Path(id): Path<String>,
) -> ApiResult<Json<SignedErasureReport>> {
    let Some(deletion) = find_task(&app, &tenant, &id).await? else {
        return Err(Error::NotFound("Deletion").into());
    };
    let signed = sign_erasure_report(&app.ctx, &tenant, deletion).await?;
    Ok(Json(signed))
}

/// Returns the organization's task with this id.
pub(crate) async fn find_task(app: &App, tenant: &Tenant, id: &str) -> Result<Option<Task>> {
    match TaskId::parse(id) {
        Some(id) => Ok(app.ctx.tasks.get(tenant, &id).await?),
        None => Ok(None),
    }
}

/// Describes the operations of this module.
pub(crate) fn operations() -> Vec<Operation> {
    vec![
        Operation::delete("/v3/container-tags/{tag}", "delete_container_tag")
            .group("Container Tags")
            .summary("Delete a container with everything in it.")
            .description(
                "After the answer, nothing of it is visible, and the tag can be used again at \
                 once. Its storage is freed in the background; `deletionId` shows the progress. \
                 It needs an administrator's key.",
            )
            .path_parameter::<ContainerTag>("tag", "A container tag.")
            .query::<DeleteRequest>()
            .optional_body::<DeleteRequest>(json!({"dryRun": false}))
            .answer::<DeleteResponse>(
                "The outcome of the deletion.",
                json!({
                    "success": true,
                    "containerTag": "user_42",
                    "deletedDocumentsCount": 12,
                    "deletedMemoriesCount": 31,
                    "deletionId": "7Qm4x2BvNc8sJtKfWyEh3d",
                    "dryRun": false,
                }),
            )
            .error(ErrorAnswer::Invalid, "")
            .error(
                ErrorAnswer::NotFound,
                "No document has this container tag yet, or it was deleted.",
            )
            .error(
                ErrorAnswer::Conflict,
                "The container is being merged. Delete it after the merge.",
            ),
        Operation::get("/v3/container-tags/deletions/{deletionId}", "get_deletion")
            .group("Container Tags")
            .summary("Get the progress of the deletion of a container.")
            .description(
                "Nothing of the container is visible after the answer to its deletion. The report \
                 counts what has been removed from storage since. A second pass removes what \
                 requests that began before the deletion may have left.",
            )
            .path_parameter::<PathId>("deletionId", "The id of a deletion.")
            .answer::<DeletionResponse>(
                "The progress of the deletion.",
                json!({
                    "id": "7Qm4x2BvNc8sJtKfWyEh3d",
                    "containerTag": "user_42",
                    "status": "completed",
                    "report": counts_example(),
                    "deletedAt": "2026-03-05T08:12:40.000Z",
                    "updatedAt": "2026-03-05T08:13:02.000Z",
                    "completedAt": "2026-03-05T08:13:02.000Z",
                    "error": null,
                }),
            )
            .error(ErrorAnswer::NotFound, "There is no such deletion."),
        Operation::get(
            "/v3/container-tags/deletions/{deletionId}/report",
            "get_erasure_report",
        )
        .group("Container Tags")
        .summary("Get the signed report of a completed deletion.")
        .description(
            "The report says what was removed and when. Its signature proves that it was not \
             changed: `jws` is a JSON Web Signature by Ed25519, which libraries for JSON Web \
             Tokens verify with `publicKey`. All reports of the organization have the same key.",
        )
        .path_parameter::<PathId>("deletionId", "The id of a deletion.")
        .answer::<SignedErasureReport>("The report.", report_example())
        .error(ErrorAnswer::NotFound, "There is no such deletion.")
        .error(
            ErrorAnswer::Conflict,
            "The deletion is not completed yet. Get the report when its `status` is `completed`.",
        ),
    ]
}

fn counts_example() -> Value {
    json!({
        "documents": 12,
        "chunks": 40,
        "statements": 35,
        "inlineBlobs": 36,
        "objects": 2,
        "objectBytes": 81920,
        "indexRecords": 9,
        "segments": 1,
        "logContents": 14,
    })
}

fn report_example() -> Value {
    json!({
        "report": {
            "organization": "acme",
            "deletionId": "7Qm4x2BvNc8sJtKfWyEh3d",
            "containerTag": "user_42",
            "deletedAt": "2026-03-05T08:12:40.000Z",
            "completedAt": "2026-03-05T08:28:46.000Z",
            "removed": counts_example(),
            "stores": ["records", "objects", "requestLog"],
            "verification": "Each store was listed and emptied until it returned nothing of the \
                             container.",
            "notCovered": "Copies outside of these stores.",
        },
        "jws": "eyJhbGciOiJFZERTQSJ9.eyJkZWxldGlvbklkIjoiN1FtNHgyQnZOYzhzSnRLZld5RWgzZCJ9.c2ln",
        "publicKey": {
            "kty": "OKP",
            "crv": "Ed25519",
            "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo",
            "kid": "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k",
        },
    })
}
