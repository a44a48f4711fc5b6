//! `POST /v3/container-tags/merge`, and the progress of a merge.

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use domain::task::{ContainerMerge, MergePhase, TaskWork};
use domain::{ContainerTag, Error, Result, Task, TaskId, TaskState, Timestamp};
use edge::{Admin, ApiResult, App, Auth, Json, MAX_ENTRIES, Path, check_length, deserialize_bool};
use http::StatusCode;
use serde::{Deserialize, Serialize};
use service::{MergeOverlap, MergePlan, merge_containers, plan_merge, preview_merge};

use crate::delete::find_task;

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct MergeRequest {
    container_tags: Vec<String>,
    target_container_tag: String,
    #[serde(deserialize_with = "deserialize_bool")]
    dry_run: bool,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct MergeResponse {
    success: bool,
    status: MergePhase,
    merge_id: TaskId,
    target_tag: String,
    source_tags: Vec<String>,
}

/// The expected effects of a merge.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct PreviewResponse {
    success: bool,
    dry_run: bool,
    target_tag: String,
    source_tags: Vec<String>,
    sources: Vec<SourcePreview>,
}

/// The expected effects of a merge on one source.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct SourcePreview {
    container_tag: String,
    /// The number of its documents.
    documents: u64,
    /// The number of documents whose customId occurs in another of the containers.
    equal_custom_ids: u64,
    /// The number of those that are older, and would no longer be shown.
    superseded: u64,
    /// The number of documents that would be shown under the target.
    kept: u64,
}

impl From<MergeOverlap> for SourcePreview {
    fn from(overlap: MergeOverlap) -> Self {
        Self {
            container_tag: overlap.tag.to_string(),
            documents: overlap.documents,
            equal_custom_ids: overlap.equal_custom_ids,
            superseded: overlap.superseded,
            kept: overlap.documents - overlap.superseded,
        }
    }
}

pub(crate) async fn merge_container_tags(
    State(app): State<App>,
    Auth { tenant, .. }: Auth<Admin>,
    Json(request): Json<MergeRequest>,
) -> ApiResult<Response> {
    check_length("containerTags", &request.container_tags, MAX_ENTRIES)?;
    let (tags, target) = request.parse_tags()?;
    if request.dry_run {
        let MergePlan { target, sources } = plan_merge(&app.ctx, &tenant, &tags, &target).await?;
        let overlaps = preview_merge(&app.ctx, &tenant, &target, &sources).await?;
        let preview = PreviewResponse {
            success: true,
            dry_run: true,
            target_tag: target.tag.to_string(),
            source_tags: sources
                .iter()
                .map(|source| source.tag.to_string())
                .collect(),
            sources: overlaps.into_iter().map(SourcePreview::from).collect(),
        };
        return Ok(Json(preview).into_response());
    }

    let Task { id, work, .. } = merge_containers(&app.ctx, &tenant, &tags, &target).await?;
    let TaskWork::Merge(merge) = work else {
        return Err(Error::internal("a merge is a merge").into());
    };

    let response = MergeResponse {
        success: true,
        status: merge.phase,
        merge_id: id,
        target_tag: merge.target.to_string(),
        source_tags: source_tags(&merge),
    };

    Ok((StatusCode::ACCEPTED, Json(response)).into_response())
}

impl MergeRequest {
    /// Returns the source tags and the target.
    fn parse_tags(&self) -> Result<(Vec<ContainerTag>, ContainerTag)> {
        if self.target_container_tag.is_empty() {
            return Err(Error::invalid_field(
                "targetContainerTag",
                "name the tag that takes the others",
            ));
        }

        let target = ContainerTag::parse(&self.target_container_tag)
            .map_err(|error| Error::invalid_field("targetContainerTag", error.to_string()))?;
        let tags = self
            .container_tags
            .iter()
            .map(|tag| ContainerTag::parse(tag));

        Ok((tags.collect::<Result<_>>()?, target))
    }
}

fn source_tags(merge: &ContainerMerge) -> Vec<String> {
    merge
        .sources
        .iter()
        .map(|(tag, _)| tag.to_string())
        .collect()
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct MergeStatus {
    id: TaskId,
    status: MergePhase,
    source_tags: Vec<String>,
    target_tag: String,
    /// Absent once the merge has ended.
    progress: Option<MergeProgress>,
    last_error: Option<String>,
    created_at: Timestamp,
    updated_at: Timestamp,
}

/// compat: the names are those of a service that copies rows. This service copies nothing, and
/// counts the documents that it has examined as rows.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct MergeProgress {
    phase: MergePhase,
    current_source_tag: Option<String>,
    current_kind: Option<&'static str>,
    copied_rows: u64,
    completed_source_tags: Vec<String>,
    in_flight_items: u64,
    attempt: u32,
}

impl MergeProgress {
    fn new(merge: &ContainerMerge, attempts: u32) -> Self {
        let is_copying = merge.phase == MergePhase::CopyingVectors;
        let completed = match merge.phase {
            MergePhase::Queued | MergePhase::WaitingForIngest => 0,
            MergePhase::CopyingVectors => merge.source,
            _ => merge.sources.len(),
        };

        let mut tags = source_tags(merge);
        let current = tags.split_off(completed.min(tags.len())).into_iter().next();

        Self {
            phase: merge.phase,
            current_source_tag: current.filter(|_| is_copying),
            current_kind: is_copying.then_some("chunk"),
            copied_rows: merge.looked_at,
            completed_source_tags: tags,
            in_flight_items: merge.in_flight,
            attempt: attempts + 1,
        }
    }
}

pub(crate) async fn get_merge(
    State(app): State<App>,
    Auth { tenant, .. }: Auth<Admin>,
    Path(id): Path<String>,
) -> ApiResult<Json<MergeStatus>> {
    let Some(Task {
        id,
        work: TaskWork::Merge(merge),
        state,
        attempts,
        error,
        created_at,
        updated_at,
        ..
    }) = find_task(&app, &tenant, &id).await?
    else {
        return Err(Error::NotFound("Merge").into());
    };

    let progress = (state == TaskState::Running).then(|| MergeProgress::new(&merge, attempts));
    Ok(Json(MergeStatus {
        id,
        status: merge.phase,
        source_tags: source_tags(&merge),
        target_tag: merge.target.to_string(),
        progress,
        last_error: error,
        created_at,
        updated_at,
    }))
}
