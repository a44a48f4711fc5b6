//! `DELETE /v4/memories`: forgets one memory, or those of a document or of a part of it.

use std::collections::BTreeMap;

use axum::extract::State;
use domain::usecase::{
    ContainerScope, DocumentNameKind, apply_memory_edits, find_documents, read_served_pack,
};
use domain::{
    ContainerId, ContainerTag, Document, DocumentId, Error, MemoryEdit, MemoryId, Result, Tenant,
    Timestamp,
};
use edge::{ApiResult, Auth, Json, WriteContent};
use memory::Memory;
use serde::{Deserialize, Serialize};

use crate::MemoriesState;
use crate::fields::{MemoryTarget, check_reason, resolve_container_tag};
use crate::room::{ContainerMemories, LocatedMemory};

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct ForgetRequest {
    container_tag: Option<String>,
    container_tags: Option<Vec<String>>,
    id: Option<String>,
    content: Option<String>,
    reason: Option<String>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ForgetResponse {
    id: String,
    forgotten: bool,
    forgotten_memories: Vec<MemoryId>,
    kind: TargetKind,
}

/// The kind of the named object.
#[derive(Debug, Clone, Copy, Serialize)]
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
    /// The time of the forgetting. It is not before the last statement of the memory, because any
    /// later statement makes a new memory.
    at: Timestamp,
}

impl MemoryToForget {
    pub(crate) fn new(held: LocatedMemory<'_>, now: Timestamp) -> Self {
        let memory = held.memory.id.clone();
        Self {
            container: held.container.clone(),
            memory,
            at: now.max(held.last_said()),
        }
    }
}

pub(crate) async fn forget_memory(
    State(service): State<MemoriesState>,
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
    let room = ContainerMemories::open_to_write(&service, &tenant, &tag).await?;
    let (kind, doomed) = match target {
        MemoryTarget::Id(id) if room.get_memory(id).is_none() => {
            memories_of_source(&service, &tenant, &tag, &room, id).await?
        }
        target => (TargetKind::Memory, memories_of_target(&room, target)?),
    };

    forget_memories(&service, &tenant, &doomed, reason.as_deref()).await?;
    let forgotten_memories: Vec<MemoryId> =
        doomed.into_iter().map(|doomed| doomed.memory).collect();
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
    service: &MemoriesState,
    tenant: &Tenant,
    doomed: &[MemoryToForget],
    reason: Option<&str>,
) -> Result<()> {
    let mut by_container: BTreeMap<&ContainerId, Vec<MemoryEdit>> = BTreeMap::new();
    for MemoryToForget {
        container,
        memory,
        at,
    } in doomed
    {
        let reason = reason.map(str::to_owned);
        let action = MemoryEdit::Forget {
            memory: memory.clone(),
            reason,
            at: *at,
        };
        by_container.entry(container).or_default().push(action);
    }

    for (container, actions) in by_container {
        apply_memory_edits(&service.app.ctx, tenant, container, &actions).await?;
    }

    Ok(())
}

/// Returns the memory with an id, or every memory with this text, so that no other memory keeps
/// saying the same.
fn memories_of_target(
    room: &ContainerMemories,
    target: MemoryTarget<'_>,
) -> Result<Vec<MemoryToForget>> {
    let first = room.find_target(target)?.memory;
    let is_meant = |memory: &Memory| match target {
        MemoryTarget::Id(_) => memory.id == first.id,
        MemoryTarget::Content(text) => memory.text == text && memory.is_live(room.now),
    };
    let meant = room.all_memories().filter(|held| is_meant(held.memory));
    Ok(meant
        .map(|held| MemoryToForget::new(held, room.now))
        .collect())
}

/// Returns the memories that a document or a chunk supports and that readers can find.
async fn memories_of_source(
    service: &MemoriesState,
    tenant: &Tenant,
    tag: &ContainerTag,
    room: &ContainerMemories,
    id: &str,
) -> Result<(TargetKind, Vec<MemoryToForget>)> {
    let (name, position) = match id.rsplit_once('-') {
        Some((name, position)) => (
            name,
            Some(position.parse().map_err(|_| Error::NotFound("Memory"))?),
        ),
        None => (id, None),
    };

    let document = find_container_document(service, tenant, tag, name).await?;
    let span = match position {
        Some(position) => Some(chunk_span(service, tenant, &document, position).await?),
        None => None,
    };

    let mut stated = room.memories_of_document(&document);
    stated.retain(|held| is_stated_within(held.memory, &document.id, span));
    let live = stated.iter().filter(|held| held.memory.is_live(room.now));
    let doomed: Vec<MemoryToForget> = live
        .map(|held| MemoryToForget::new(*held, room.now))
        .collect();
    let (kind, nothing, done) = match span {
        None => (
            TargetKind::Document,
            "A memory of this document",
            "document",
        ),
        Some(_) => (TargetKind::Chunk, "A memory of this chunk", "chunk"),
    };

    if stated.is_empty() {
        return Err(Error::NotFound(nothing));
    }

    if doomed.is_empty() {
        return Err(Error::Conflict(format!(
            "every memory of this {done} is already forgotten or replaced"
        )));
    }

    Ok((kind, doomed))
}

/// Returns the document of this container with this id.
async fn find_container_document(
    service: &MemoriesState,
    tenant: &Tenant,
    tag: &ContainerTag,
    id: &str,
) -> Result<Document> {
    let scope = ContainerScope {
        tags: vec![tag.clone()],
    };

    let mut found = find_documents(
        &service.app.ctx,
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
    service: &MemoriesState,
    tenant: &Tenant,
    document: &Document,
    position: usize,
) -> Result<(usize, usize)> {
    let pack = read_served_pack(&service.app.ctx, tenant, document).await?;
    let chunk = pack.as_ref().and_then(|pack| pack.chunks.get(position));
    chunk
        .map(|chunk| (chunk.start, chunk.end))
        .ok_or(Error::NotFound("Memory"))
}

/// Checks whether the document states the memory within the span.
fn is_stated_within(memory: &Memory, document: &DocumentId, span: Option<(usize, usize)>) -> bool {
    span.is_none_or(|(start, end)| {
        let here = memory
            .sources
            .iter()
            .filter(|source| source.document == *document);
        here.into_iter()
            .any(|source| start <= source.start && source.end <= end)
    })
}
