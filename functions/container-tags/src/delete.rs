//! `DELETE /v3/container-tags/{tag}`, and the progress of a deletion.

use axum::extract::State;
use container_index::count_memories;
use domain::task::{PurgePhase, PurgeReport, TaskWork};
use domain::{ContainerTag, Error, Result, Task, TaskId, TaskState, Tenant, Timestamp};
use edge::{Admin, ApiResult, App, Auth, Json, Path, Query, deserialize_bool};
use serde::{Deserialize, Serialize};
use service::{
    EXACT_COUNT_LIMIT, QUICK_COUNT_LIMIT, count_documents, delete_container,
    find_writable_container,
};

use crate::TagsState;

/// The options of a deletion, in the query string or in the body. A misspelled `dryRun` is refused,
/// because it must not delete.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub(crate) struct DeleteRequest {
    #[serde(deserialize_with = "deserialize_bool")]
    dry_run: bool,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct DeleteResponse {
    success: bool,
    container_tag: String,
    deleted_documents_count: u64,
    deleted_memories_count: u64,
    /// The id for requests about the progress of the removal. Absent if nothing was deleted.
    deletion_id: Option<TaskId>,
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
    let count_limit = if dry_run {
        EXACT_COUNT_LIMIT
    } else {
        QUICK_COUNT_LIMIT
    };

    let documents = count_documents(ctx, &tenant, &container, count_limit).await;
    let memories =
        count_memories(ctx, &tenant, &state.ledgers, &container, count_limit as u64).await;
    let (documents, memories, deletion_id) = match dry_run {
        true => (documents?, memories.map_err(Error::from)?, None),
        // A container that cannot be counted can still be deleted. The report counts its contents.
        false => {
            let task = delete_container(ctx, &tenant, &container).await?;
            (
                documents.unwrap_or_default(),
                memories.unwrap_or_default(),
                Some(task.id),
            )
        }
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

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct DeletionResponse {
    id: TaskId,
    container_tag: String,
    status: DeletionStatus,
    report: PurgeReport,
    deleted_at: Timestamp,
    updated_at: Timestamp,
    completed_at: Option<Timestamp>,
    error: Option<String>,
}

/// The state of a deletion.
#[derive(Debug, Clone, Copy, Serialize)]
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

/// Returns the organization's task with this id.
pub(crate) async fn find_task(app: &App, tenant: &Tenant, id: &str) -> Result<Option<Task>> {
    match TaskId::parse(id) {
        Some(id) => Ok(app.ctx.tasks.get(tenant, &id).await?),
        None => Ok(None),
    }
}
