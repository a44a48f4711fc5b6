//! `DELETE /v4/memories`: forgets one memory, or those of a document or of a part of it.

use std::collections::BTreeMap;

use axum::extract::State;
use domain::{
    ContainerId, ContainerTag, Document, Error, MemoryEdit, MemoryId, Result, Tenant, Timestamp,
    TopicId,
};
use edge::{ApiResult, Auth, Json, MAX_ENTRIES, WriteContent};
use openapi::{ErrorAnswer, Operation};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use service::{
    ContainerScope, DocumentNameKind, apply_memory_edits, find_documents, read_served_pack,
};

use crate::MemoriesState;
use crate::container_memories::{ContainerMemories, LocatedMemory};
use crate::fields::{MAX_REASON_CHARS, MemoryTarget, check_reason, resolve_container_tag};

/// The memory to forget, by an id or by its content.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(rename = "ForgetMemoryRequest")]
pub(crate) struct ForgetRequest {
    /// The container tag.
    #[schemars(with = "Option<ContainerTag>")]
    container_tag: Option<String>,
    /// The older form of `containerTag`, with one tag.
    #[schemars(with = "Option<Vec<ContainerTag>>", length(max = MAX_ENTRIES), extend("deprecated" = true))]
    container_tags: Option<Vec<String>>,
    /// The id of a memory, of a document, or of a chunk.
    id: Option<String>,
    /// The exact text of the latest version.
    content: Option<String>,
    /// The reason for forgetting it.
    #[schemars(length(max = MAX_REASON_CHARS))]
    reason: Option<String>,
}

/// The memories that were forgotten.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ForgetMemoryResponse")]
pub(crate) struct ForgetResponse {
    /// The id in the request, or that of the memory with the content.
    id: String,
    /// Always true.
    #[schemars(extend("const" = true))]
    forgotten: bool,
    /// The memories that no search finds any more.
    #[schemars(length(min = 1))]
    forgotten_memories: Vec<MemoryId>,
    /// The kind of the object that the id names.
    kind: TargetKind,
}

/// The kind of the named object.
#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum TargetKind {
    Memory,
    Document,
    Chunk,
}

/// A memory that is to be forgotten.
pub(crate) struct MemoryToForget {
    container: ContainerId,
    pub(crate) memory: MemoryId,
    topic: TopicId,
    /// The time of the forgetting. It is not before the last statement of the memory, because any
    /// later statement makes a new memory.
    at: Timestamp,
}

impl MemoryToForget {
    pub(crate) fn new(located: &LocatedMemory<'_>, now: Timestamp) -> Self {
        Self {
            container: located.container.clone(),
            memory: located.memory.id.clone(),
            topic: located.memory.topic.clone(),
            at: now.max(located.last_said()),
        }
    }
}

pub(crate) async fn forget_memory(
    State(state): State<MemoriesState>,
    Auth { tenant, .. }: Auth<WriteContent>,
    Json(request): Json<ForgetRequest>,
) -> ApiResult<Json<ForgetResponse>> {
    let tag = resolve_container_tag(
        &tenant,
        request.container_tag.as_deref(),
        request.container_tags.as_deref(),
    )?;
    let target = MemoryTarget::new(request.id.as_deref(), request.content.as_deref())?;
    let reason = check_reason("reason", request.reason.clone())?;
    let container_memories = ContainerMemories::open_to_write(&state, &tenant, &tag).await?;
    let found = memories_of_target(&state, &tenant, &container_memories, target).await;
    let (kind, to_forget) = match (target, found) {
        (MemoryTarget::Id(id), Err(Error::NotFound(_))) => {
            memories_of_source(&state, &tenant, &tag, &container_memories, id).await?
        }
        (_, found) => (TargetKind::Memory, found?),
    };

    forget_memories(&state, &tenant, &to_forget, reason.as_deref()).await?;
    let forgotten_memories: Vec<MemoryId> = to_forget
        .into_iter()
        .map(|to_forget| to_forget.memory)
        .collect();
    let id = request
        .id
        .unwrap_or_else(|| forgotten_memories[0].to_string());

    Ok(Json(ForgetResponse {
        id,
        forgotten: true,
        forgotten_memories,
        kind,
    }))
}

/// Forgets memories.
pub(crate) async fn forget_memories(
    state: &MemoriesState,
    tenant: &Tenant,
    to_forget: &[MemoryToForget],
    reason: Option<&str>,
) -> Result<()> {
    let mut by_container: BTreeMap<&ContainerId, Vec<MemoryEdit>> = BTreeMap::new();
    for MemoryToForget {
        container,
        memory,
        topic,
        at,
    } in to_forget
    {
        let reason = reason.map(str::to_owned);
        let edit = MemoryEdit::Forget {
            memory: memory.clone(),
            topic: Some(topic.clone()),
            reason,
            at: *at,
        };
        by_container.entry(container).or_default().push(edit);
    }

    for (container, edits) in by_container {
        apply_memory_edits(&state.app.ctx, tenant, container, &edits).await?;
    }

    Ok(())
}

/// Returns the memory with an id, or every memory with this text, so that no other memory keeps
/// saying the same.
async fn memories_of_target(
    state: &MemoriesState,
    tenant: &Tenant,
    container_memories: &ContainerMemories,
    target: MemoryTarget<'_>,
) -> Result<Vec<MemoryToForget>> {
    let (ctx, now) = (&state.app.ctx, container_memories.now);
    let named = container_memories
        .find_named(ctx, tenant, &state.ledgers, target)
        .await?;
    let first = container_memories.choose_remembered(named.clone())?;
    let targeted = match target {
        MemoryTarget::Id(_) => vec![first],
        MemoryTarget::Content(_) => {
            let live = named.into_iter();
            live.filter(|located| located.memory.is_live(now)).collect()
        }
    };
    let read = || {
        let to_forget = targeted.iter();
        to_forget
            .map(|located| MemoryToForget::new(located, now))
            .collect()
    };
    container_memories.read(ctx, tenant, read).await
}

/// Returns the memories that a document or a chunk supports and that readers can find.
async fn memories_of_source(
    state: &MemoriesState,
    tenant: &Tenant,
    tag: &ContainerTag,
    container_memories: &ContainerMemories,
    id: &str,
) -> Result<(TargetKind, Vec<MemoryToForget>)> {
    let (name, position) = match id.rsplit_once('-') {
        Some((name, position)) => (
            name,
            Some(position.parse().map_err(|_| Error::NotFound("Memory"))?),
        ),
        None => (id, None),
    };

    let document = find_container_document(state, tenant, tag, name).await?;
    let span = match position {
        Some(position) => Some(chunk_span(state, tenant, &document, position).await?),
        None => None,
    };

    let now = container_memories.now;
    let find = || {
        let stated = container_memories.memories_stated_within(&document, span);
        let live = stated.iter().filter(|located| located.memory.is_live(now));
        let to_forget = live.map(|located| MemoryToForget::new(located, now));
        let to_forget: Vec<MemoryToForget> = to_forget.collect();
        (stated.len(), to_forget)
    };
    let ctx = &state.app.ctx;
    let (stated, to_forget) = container_memories.read(ctx, tenant, find).await?;
    let (kind, missing_name, source_name) = match span {
        None => (
            TargetKind::Document,
            "A memory of this document",
            "document",
        ),
        Some(_) => (TargetKind::Chunk, "A memory of this chunk", "chunk"),
    };

    if stated == 0 {
        return Err(Error::NotFound(missing_name));
    }

    if to_forget.is_empty() {
        return Err(Error::Conflict(format!(
            "every memory of this {source_name} is already forgotten or replaced"
        )));
    }

    Ok((kind, to_forget))
}

/// Returns the document of this container with this id.
async fn find_container_document(
    state: &MemoriesState,
    tenant: &Tenant,
    tag: &ContainerTag,
    id: &str,
) -> Result<Document> {
    let scope = ContainerScope {
        tags: vec![tag.clone()],
    };

    let mut found = find_documents(
        &state.app.ctx,
        tenant,
        &[id.to_owned()],
        DocumentNameKind::Id,
        &scope,
    )
    .await?;
    match found.pop() {
        Some(Ok(document)) => Ok(document),
        Some(Err(Error::NotFound(_))) | None => Err(Error::NotFound("Memory")),
        Some(Err(error)) => Err(error),
    }
}

/// Returns the range of characters of the document that a chunk covers.
async fn chunk_span(
    state: &MemoriesState,
    tenant: &Tenant,
    document: &Document,
    position: usize,
) -> Result<(usize, usize)> {
    let pack = read_served_pack(&state.app.ctx, tenant, document).await?;
    let chunk = pack.as_ref().and_then(|pack| pack.chunks.get(position));
    chunk
        .map(|chunk| (chunk.start, chunk.end))
        .ok_or(Error::NotFound("Memory"))
}

/// Describes the operations of this module.
pub(crate) fn operations() -> Vec<Operation> {
    vec![
        Operation::delete("/v4/memories", "forget_memory")
            .group("Content Management")
            .summary("Forget a memory, or every memory of a document or a chunk.")
            .description(
                "No search that starts after the answer finds it, and processing its documents \
                 again does not bring it back. What is said again later is a new memory.",
            )
            .body::<ForgetRequest>(json!({
                "containerTag": "user_42",
                "content": "Mara counts the herons every spring and every autumn.",
                "reason": "She has moved away.",
            }))
            .answer::<ForgetResponse>(
                "The memories that were forgotten.",
                json!({
                    "id": "acxV5LHMEsG2hMSNb4umbn",
                    "forgotten": true,
                    "forgottenMemories": ["acxV5LHMEsG2hMSNb4umbn"],
                    "kind": "memory",
                }),
            )
            .error(ErrorAnswer::Invalid, "")
            .error(
                ErrorAnswer::NotFound,
                "There is no such container tag, memory, document or chunk.",
            )
            .error(
                ErrorAnswer::Conflict,
                "The memory is already forgotten, or the container is being merged.",
            ),
    ]
}
