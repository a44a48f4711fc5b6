//! `DELETE /v3/container-tags/{tag}`, and how far a deletion is.

use axum::extract::State;
use domain::task::{PurgePhase, PurgeReport, Work};
use domain::usecase::{
    COUNTED_AT_ONCE, COUNTED_EXACTLY, count_documents, delete_container, writable_container,
};
use domain::{ContainerTag, Error, Result, Task, TaskId, TaskState, Tenant, Timestamp};
use edge::{Admin, ApiResult, App, Auth, Json, Path, Query, flexible_bool};
use index::count_memories;
use serde::{Deserialize, Serialize};

use crate::Tags;

/// In the query string or in the body.
/// A misspelt `dryRun` must not delete.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub(crate) struct DeleteRequest {
    #[serde(deserialize_with = "flexible_bool")]
    dry_run: bool,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct DeleteResponse {
    success: bool,
    container_tag: String,
    deleted_documents_count: u64,
    deleted_memories_count: u64,
    /// Asks how far the removal is; none when nothing was deleted.
    deletion_id: Option<TaskId>,
    dry_run: bool,
}

/// From the answer on nothing of the container is there; what it takes up goes in the background.
pub(crate) async fn delete_container_tag(
    State(tags): State<Tags>,
    Auth { tenant, .. }: Auth<Admin>,
    Path(tag): Path<String>,
    Query(query): Query<DeleteRequest>,
    Json(request): Json<DeleteRequest>,
) -> ApiResult<Json<DeleteResponse>> {
    let ctx = &tags.app.ctx;
    let container = writable_container(ctx, &tenant, &ContainerTag::parse(&tag)?).await?;
    let dry_run = query.dry_run || request.dry_run;
    let exactly = if dry_run {
        COUNTED_EXACTLY
    } else {
        COUNTED_AT_ONCE
    };

    let documents = count_documents(ctx, &tenant, &container, exactly).await;
    let memories = count_memories(ctx, &tenant, &tags.ledgers, &container, exactly as u64).await;
    let (documents, memories, deletion_id) = match dry_run {
        true => (documents?, memories.map_err(Error::from)?, None),
        // What cannot be counted can be deleted all the same; the report counts it.
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

/// How far a deletion is.
#[derive(Debug, Clone, Copy, Serialize)]
#[serde(rename_all = "lowercase")]
enum DeletionStatus {
    /// What is there is being removed.
    Running,
    /// It is being looked whether requests that were under way at the deletion have left anything.
    Verifying,
    /// Nothing is left.
    Completed,
    /// It was given up, and `error` says why.
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
        work: Work::Purge(purge),
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

/// The organization's task with this id.
pub(crate) async fn find_task(app: &App, tenant: &Tenant, id: &str) -> Result<Option<Task>> {
    match TaskId::parse(id) {
        Some(id) => Ok(app.ctx.tasks.get(tenant, &id).await?),
        None => Ok(None),
    }
}
