//! `/v3/container-tags/{tag}/inferred`: lists the inferences from memories, and reviews them.

use std::cmp::Reverse;

use axum::extract::State;
use domain::memory::ReviewDecision;
use domain::{ContainerTag, Error, MemoryEdit, MemoryId, PortError, Timestamp};
use edge::{ApiResult, Auth, Json, Path, ReadSurroundings, WriteSurroundings, review_status};
use memory_model::Memory;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use service::apply_memory_edits;

use crate::MemoriesState;
use crate::container_memories::ContainerMemories;

/// The most inferences of an answer. Part of the API.
const MAX_LISTED: usize = 50;

#[derive(Debug, Serialize)]
pub(crate) struct InferredResponse {
    memories: Vec<InferredMemory>,
    total: usize,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct InferredMemory {
    id: MemoryId,
    memory: String,
    parent_count: usize,
    created_at: Timestamp,
    updated_at: Timestamp,
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
    State(service): State<MemoriesState>,
    Auth { tenant, .. }: Auth<ReadSurroundings>,
    Path(tag): Path<String>,
) -> ApiResult<Json<InferredResponse>> {
    let container_memories =
        ContainerMemories::open_container(&service, &tenant, &ContainerTag::parse(&tag)?).await?;
    let pending = container_memories
        .all_memories()
        .map(|located| located.memory);
    let pending =
        pending.filter(|memory| memory.is_inference && memory.is_live(container_memories.now));
    let mut memories: Vec<InferredMemory> = pending.map(InferredMemory::new).collect();
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

#[derive(Debug, Deserialize)]
pub(crate) struct ReviewRequest {
    action: ReviewDecision,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ReviewResponse {
    id: MemoryId,
    is_inference: bool,
    is_forgotten: bool,
    review_status: Option<&'static str>,
}

pub(crate) async fn review_inferred(
    State(service): State<MemoriesState>,
    Auth { tenant, .. }: Auth<WriteSurroundings>,
    Path((tag, id)): Path<(String, String)>,
    Json(request): Json<ReviewRequest>,
) -> ApiResult<Json<ReviewResponse>> {
    let tag = ContainerTag::parse(&tag)?;
    let container_memories = ContainerMemories::open_to_write(&service, &tenant, &tag).await?;
    let located = container_memories
        .get_memory(&id)
        .ok_or(Error::NotFound("Memory"))?;
    check_reviewable(located.memory, container_memories.now)?;
    let memory = located.memory.id.clone();
    let edit = MemoryEdit::Review {
        memory,
        review: request.action,
        at: container_memories.now,
    };

    apply_memory_edits(&service.app.ctx, &tenant, located.container, &[edit]).await?;
    let container_memories = ContainerMemories::open_container(&service, &tenant, &tag).await?;
    // Its sources have just been deleted.
    let memory = container_memories
        .get_memory(&id)
        .ok_or(PortError::Conflict)?
        .memory;

    Ok(Json(ReviewResponse {
        id: memory.id.clone(),
        is_inference: memory.is_inference,
        is_forgotten: memory.is_forgotten(container_memories.now),
        review_status: review_status(memory),
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
