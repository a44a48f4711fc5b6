//! `/v3/container-tags/{tag}/inferred`: lists the inferences from memories, and reviews them.

use std::cmp::Reverse;

use axum::extract::State;
use domain::memory::ReviewDecision;
use domain::{ContainerTag, Error, MemoryEdit, MemoryId, Metadata, PortError, Timestamp};
use edge::{ApiResult, Auth, Json, Path, ReadUnscoped, WriteUnscoped, review_status};
use memory_model::Memory;
use openapi::{ErrorAnswer, Operation, PathId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use service::apply_memory_edits;

use crate::MemoriesState;
use crate::container_memories::ContainerMemories;

/// The most inferences of an answer. Part of the API.
const MAX_LISTED: usize = 50;

/// The inferences that wait for a review.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct InferredResponse {
    /// The memories.
    #[schemars(length(max = 50))]
    memories: Vec<InferredMemory>,
    /// The number of inferences.
    total: usize,
}

/// An inference.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct InferredMemory {
    /// Its id.
    id: MemoryId,
    /// The text of the memory.
    memory: String,
    /// The number of memories that it follows from.
    #[schemars(range(min = 1))]
    parent_count: usize,
    /// The time of creation.
    created_at: Timestamp,
    /// The time of the last change.
    updated_at: Timestamp,
    /// The caller's own keys.
    #[schemars(with = "Option<Metadata>")]
    metadata: Option<Map<String, Value>>,
}

impl InferredMemory {
    fn new(memory: &Memory) -> Self {
        Self {
            id: memory.id.clone(),
            memory: memory.text.clone(),
            parent_count: memory.relations.len(),
            created_at: memory.created_at,
            updated_at: memory.updated_at,
            metadata: (!memory.metadata.is_empty()).then(|| memory.metadata.clone()),
        }
    }
}

pub(crate) async fn list_inferred(
    State(state): State<MemoriesState>,
    Auth { tenant, .. }: Auth<ReadUnscoped>,
    Path(tag): Path<String>,
) -> ApiResult<Json<InferredResponse>> {
    let container_memories =
        ContainerMemories::open_container(&state, &tenant, &ContainerTag::parse(&tag)?).await?;
    let ctx = &state.app.ctx;
    let read_pending = || {
        let inferences = container_memories.inferences();
        let pending = inferences
            .filter(|memory| memory.is_inference && memory.is_live(container_memories.now));
        pending.map(|memory| InferredMemory::new(&memory)).collect()
    };
    let mut memories: Vec<InferredMemory> =
        container_memories.read(ctx, &tenant, read_pending).await?;
    memories.sort_by_cached_key(|inferred| {
        Reverse((
            inferred.parent_count,
            inferred.created_at,
            inferred.id.clone(),
        ))
    });
    let total = memories.len();
    memories.truncate(MAX_LISTED);
    Ok(Json(InferredResponse { memories, total }))
}

/// A decision about an inference.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "ReviewInferredRequest")]
pub(crate) struct ReviewRequest {
    /// The decision.
    action: ReviewDecision,
}

/// An inference after a decision.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ReviewInferredResponse")]
pub(crate) struct ReviewResponse {
    /// Its id.
    id: MemoryId,
    /// True if it has not been approved.
    is_inference: bool,
    /// True if it is forgotten.
    is_forgotten: bool,
    /// The decision about the inference; null if there is none.
    #[schemars(extend("enum" = ["approved", "declined", null]))]
    review_status: Option<&'static str>,
}

pub(crate) async fn review_inferred(
    State(state): State<MemoriesState>,
    Auth { tenant, .. }: Auth<WriteUnscoped>,
    Path((tag, id)): Path<(String, String)>,
    Json(request): Json<ReviewRequest>,
) -> ApiResult<Json<ReviewResponse>> {
    let tag = ContainerTag::parse(&tag)?;
    let container_memories = ContainerMemories::open_to_write(&state, &tenant, &tag).await?;
    let ctx = &state.app.ctx;
    let read = || container_memories.get_memory(&id);
    let located = container_memories.read(ctx, &tenant, read).await?;
    let located = located.ok_or(Error::NotFound("Memory"))?;
    check_reviewable(&located.memory, container_memories.now)?;
    let edit = MemoryEdit::Review {
        memory: located.memory.id.clone(),
        topic: Some(located.memory.topic.clone()),
        review: request.action,
        at: container_memories.now,
    };

    apply_memory_edits(ctx, &tenant, located.container, &[edit]).await?;
    let container_memories = ContainerMemories::open_container(&state, &tenant, &tag).await?;
    // Its sources have just been deleted.
    let read = || container_memories.get_memory(&id);
    let located = container_memories.read(ctx, &tenant, read).await?;
    let memory = located.ok_or(PortError::Conflict)?.memory;

    Ok(Json(ReviewResponse {
        id: memory.id.clone(),
        is_inference: memory.is_inference,
        is_forgotten: memory.is_forgotten(container_memories.now),
        review_status: review_status(&memory),
    }))
}

fn check_reviewable(memory: &Memory, now: Timestamp) -> domain::Result<()> {
    if !memory.is_derived() {
        return Err(Error::Conflict(
            "only what was concluded can be reviewed; this memory was stated".into(),
        ));
    }
    if memory.is_forgotten(now) && memory.review != Some(ReviewDecision::Decline) {
        return Err(Error::Conflict(
            "this memory was forgotten, which a review does not undo".into(),
        ));
    }
    Ok(())
}

/// Describes the operations of this module.
pub(crate) fn operations() -> Vec<Operation> {
    vec![
        Operation::get("/v3/container-tags/{tag}/inferred", "list_inferred")
            .group("Knowledge Graph")
            .summary("List inferences that have not been reviewed.")
            .description("The first 50, those that follow from the most memories first.")
            .path_parameter::<ContainerTag>("tag", "A container tag.")
            .answer::<InferredResponse>(
                "The inferences.",
                json!({
                    "memories": [
                        {
                            "id": "acxV5LHMEsG2hMSNb4umbn",
                            "memory": "Mara's sister lives in Bonn.",
                            "parentCount": 2,
                            "createdAt": "2026-03-01T09:30:00.000Z",
                            "updatedAt": "2026-03-01T09:30:00.000Z",
                            "metadata": null,
                        },
                    ],
                    "total": 1,
                }),
            )
            .error(ErrorAnswer::Invalid, "")
            .error(ErrorAnswer::NotFound, "There is no such container tag."),
        Operation::post(
            "/v3/container-tags/{tag}/inferred/{memoryId}/review",
            "review_inferred",
        )
        .group("Knowledge Graph")
        .summary("Approve or decline an inference, or undo the decision.")
        .description(
            "An approved inference counts like a statement. A declined one is forgotten and \
                 not drawn again.",
        )
        .path_parameter::<ContainerTag>("tag", "A container tag.")
        .path_parameter::<PathId>("memoryId", "The id of a memory.")
        .body::<ReviewRequest>(json!({"action": "approve"}))
        .answer::<ReviewResponse>(
            "The inference after the decision.",
            json!({
                "id": "acxV5LHMEsG2hMSNb4umbn",
                "isInference": false,
                "isForgotten": false,
                "reviewStatus": "approved",
            }),
        )
        .error(ErrorAnswer::Invalid, "")
        .error(
            ErrorAnswer::NotFound,
            "There is no such container tag or memory.",
        )
        .error(
            ErrorAnswer::Conflict,
            "The memory was stated rather than inferred, or it is forgotten, which a review \
                 does not undo.",
        ),
    ]
}
