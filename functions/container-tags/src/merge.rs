//! `POST /v3/container-tags/merge`, and the progress of a merge.

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use domain::task::{ContainerMerge, MergePhase, TaskWork};
use domain::{ContainerTag, Error, Result, Task, TaskId, TaskState, Tenant, Timestamp};
use edge::{Admin, ApiResult, App, Auth, Json, MAX_ENTRIES, Path, check_length, deserialize_bool};
use http::StatusCode;
use openapi::{ErrorAnswer, Operation, PathId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use service::{MergeOverlap, MergePlan, merge_containers, plan_merge, preview_merge};

use crate::delete::find_task;

/// The container tags to merge. A misspelled `dryRun` is refused, because it must not merge.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
#[schemars(rename = "MergeTagsRequest")]
#[schemars(extend("required" = ["containerTags", "targetContainerTag"]))]
pub(crate) struct MergeRequest {
    /// The container tags that are merged; the target may be among them.
    #[schemars(with = "Vec<ContainerTag>", length(min = 1, max = MAX_ENTRIES))]
    container_tags: Vec<String>,
    /// The container tag that takes the others. It must exist.
    #[schemars(with = "ContainerTag")]
    target_container_tag: String,
    /// Reports the expected effects and changes nothing.
    #[serde(deserialize_with = "deserialize_bool")]
    #[schemars(schema_with = "edge::flexible_boolean_schema")]
    dry_run: bool,
}

/// A merge that has started.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "MergeBegun")]
pub(crate) struct MergeResponse {
    /// Always true.
    #[schemars(extend("const" = true))]
    success: bool,
    /// The phase of the merge.
    status: MergePhase,
    /// The id of the merge.
    merge_id: TaskId,
    /// The container tag that takes the others.
    #[schemars(with = "ContainerTag")]
    target_tag: String,
    /// The container tags that end.
    #[schemars(with = "Vec<ContainerTag>")]
    source_tags: Vec<String>,
}

/// The expected effects of a merge.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "MergePreview")]
struct PreviewResponse {
    /// Always true.
    #[schemars(extend("const" = true))]
    success: bool,
    /// Always true: nothing has changed.
    #[schemars(extend("const" = true))]
    dry_run: bool,
    /// The container tag that takes the others.
    #[schemars(with = "ContainerTag")]
    target_tag: String,
    /// The container tags that would end.
    #[schemars(with = "Vec<ContainerTag>")]
    source_tags: Vec<String>,
    /// The expected effects on each source.
    sources: Vec<SourcePreview>,
}

/// The expected effects of a merge on one source.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "MergeSource")]
struct SourcePreview {
    /// The container tag.
    #[schemars(with = "ContainerTag")]
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

    let (id, merge) = begin_merge(&app, &tenant, &tags, &target).await?;
    let response = MergeResponse {
        success: true,
        status: merge.phase,
        merge_id: id,
        target_tag: merge.target.to_string(),
        source_tags: source_tags(&merge),
    };

    Ok((StatusCode::ACCEPTED, Json(response)).into_response())
}

/// Begins a merge, and returns its id with the merge as it begins.
///
/// # Errors
/// Those of [`merge_containers`].
pub(crate) async fn begin_merge(
    app: &App,
    tenant: &Tenant,
    tags: &[ContainerTag],
    target: &ContainerTag,
) -> Result<(TaskId, ContainerMerge)> {
    let Task { id, work, .. } = merge_containers(&app.ctx, tenant, tags, target).await?;
    match work {
        TaskWork::Merge(merge) => Ok((id, merge)),
        TaskWork::Purge(_) => Err(Error::internal("the task of a merge has other work")),
    }
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

/// The progress of a merge.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Merge")]
pub(crate) struct MergeStatus {
    /// Its id.
    id: TaskId,
    /// The phase of the merge.
    status: MergePhase,
    /// The container tags that end.
    #[schemars(with = "Vec<ContainerTag>")]
    source_tags: Vec<String>,
    /// The container tag that takes the others.
    #[schemars(with = "ContainerTag")]
    target_tag: String,
    /// The details of the phase; null once the merge has ended.
    progress: Option<MergeProgress>,
    /// The reason why the last step failed. The step is repeated unless the merge is `failed`.
    last_error: Option<String>,
    /// The time of creation.
    created_at: Timestamp,
    /// The time of the last change.
    updated_at: Timestamp,
}

/// The progress of a merge. Nothing is copied: rows are documents that have been examined.
//
// compat: the names are those of a service that copies rows.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct MergeProgress {
    /// The phase of the merge.
    phase: MergePhase,
    /// The source that is being examined.
    current_source_tag: Option<String>,
    /// The kind of rows that are being examined.
    #[schemars(extend("enum" = ["chunk", "memory", null]))]
    current_kind: Option<&'static str>,
    /// The number of documents examined in this pass.
    copied_rows: u64,
    /// The sources that have been examined.
    #[schemars(with = "Vec<ContainerTag>")]
    completed_source_tags: Vec<String>,
    /// The number of documents with an equal customId that are still being processed.
    in_flight_items: u64,
    /// The number of attempts at this step.
    #[schemars(range(min = 1))]
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

/// Describes the operations of this module.
pub(crate) fn operations() -> Vec<Operation> {
    vec![
        Operation::post("/v3/container-tags/merge", "merge_container_tags")
            .group("Container Tags")
            .summary("Merge container tags into one.")
            .description(
                "After the answer, readers of the target find everything. The sources disappear \
                 when the merge is completed; until then, writes to any of them are refused. Of \
                 documents with the same customId, the one with the newest content stays. The \
                 others are kept and can be read by their ids, but are neither listed nor found. \
                 It needs an administrator's key.",
            )
            .body::<MergeRequest>(json!({
                "containerTags": ["user_42_old", "user_42"],
                "targetContainerTag": "user_42",
            }))
            .answer::<PreviewResponse>(
                "The expected effects of the merge, for a dry run.",
                json!({
                    "success": true,
                    "dryRun": true,
                    "targetTag": "user_42",
                    "sourceTags": ["user_42_old"],
                    "sources": [
                        {
                            "containerTag": "user_42_old",
                            "documents": 7,
                            "equalCustomIds": 2,
                            "superseded": 1,
                            "kept": 6,
                        },
                    ],
                }),
            )
            .answer_with::<MergeResponse>(
                202,
                "The merge has started.",
                json!({
                    "success": true,
                    "status": "queued",
                    "mergeId": "9Rk6z3CwPd7uHvLgXaFj4e",
                    "targetTag": "user_42",
                    "sourceTags": ["user_42_old"],
                }),
            )
            .error(
                ErrorAnswer::Invalid,
                "A container tag is malformed, or there is nothing to merge.",
            )
            .error(
                ErrorAnswer::NotFound,
                "One of the container tags does not exist.",
            )
            .error(
                ErrorAnswer::Conflict,
                "One of the containers is being merged already. Wait until that merge has ended.",
            ),
        Operation::get("/v3/container-tags/merge/{mergeId}", "get_merge")
            .group("Container Tags")
            .summary("Get the progress of a merge.")
            .description(
                "A merge continues in the background until `status` is `completed` or `failed`.",
            )
            .path_parameter::<PathId>("mergeId", "The id of a merge.")
            .answer::<MergeStatus>(
                "The progress of the merge.",
                json!({
                    "id": "9Rk6z3CwPd7uHvLgXaFj4e",
                    "status": "copying_vectors",
                    "sourceTags": ["user_42_old"],
                    "targetTag": "user_42",
                    "progress": {
                        "phase": "copying_vectors",
                        "currentSourceTag": "user_42_old",
                        "currentKind": "chunk",
                        "copiedRows": 3,
                        "completedSourceTags": [],
                        "inFlightItems": 0,
                        "attempt": 1,
                    },
                    "lastError": null,
                    "createdAt": "2026-03-05T08:12:40.000Z",
                    "updatedAt": "2026-03-05T08:12:41.000Z",
                }),
            )
            .error(ErrorAnswer::NotFound, "There is no such merge."),
    ]
}
