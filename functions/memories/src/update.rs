//! `PATCH /v4/memories`: adds a new version of a memory.

use std::sync::Arc;

use axum::extract::State;
use domain::{
    ContainerTag, Error, MemoryEdit, MemoryId, Metadata, Patch, PortError, Result, Statement,
    Tenant, Timestamp,
};
use edge::{ApiResult, Auth, Json, MAX_ENTRIES, WriteContent, deserialize_optional_object};
use memory_model::{Memory, statement_from_client, topic_id_of};
use openapi::{ErrorAnswer, Operation};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use service::apply_memory_edits;

use crate::MemoriesState;
use crate::container_memories::{ContainerMemories, LocatedMemory};
use crate::fields::{
    MAX_REASON_CHARS, MemoryTarget, TemporalContext, check_content, check_reason,
    parse_forget_after, resolve_container_tag,
};

/// The time in seconds within which the same correction counts as a client's retry.
const REPEAT_SECONDS: i64 = 120;

/// The fields of the new version. Absent fields are taken from the version before, and `null`
/// clears a field.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(rename = "UpdateMemoryRequest", extend("required" = ["newContent"]))]
pub(crate) struct UpdateRequest {
    /// The container tag.
    #[schemars(with = "Option<ContainerTag>")]
    container_tag: Option<String>,
    /// The older form of `containerTag`, with one tag.
    #[schemars(with = "Option<Vec<ContainerTag>>", length(max = MAX_ENTRIES), extend("deprecated" = true))]
    container_tags: Option<Vec<String>>,
    /// The id of the latest version.
    id: Option<String>,
    /// The exact text of the latest version.
    content: Option<String>,
    /// The text of the memory.
    #[schemars(length(min = 1, max = 10000))]
    new_content: String,
    /// The caller's own keys; null removes them.
    #[schemars(with = "Option<Metadata>")]
    metadata: Patch<Map<String, Value>>,
    /// The day or the time from which it counts as forgotten; null means never.
    #[schemars(with = "Option<String>")]
    forget_after: Patch<String>,
    /// The reason for forgetting it.
    #[schemars(with = "Option<String>", length(max = MAX_REASON_CHARS))]
    forget_reason: Patch<String>,
    /// The time of the statement, and the time of the event that it describes.
    #[serde(deserialize_with = "deserialize_optional_object")]
    temporal_context: Option<TemporalContext>,
}

/// The new version.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "UpdateMemoryResponse")]
pub(crate) struct UpdateResponse {
    /// Its id.
    id: MemoryId,
    /// The text of the memory.
    memory: String,
    /// The number of the version, from 1.
    #[schemars(range(min = 1))]
    version: u32,
    /// The version before it; null if an inference was corrected.
    parent_memory_id: Option<MemoryId>,
    /// The id of the first version.
    root_memory_id: MemoryId,
    /// The time of creation.
    created_at: Timestamp,
    /// The time from which it counts as forgotten; null means never.
    forget_after: Option<Timestamp>,
    /// The reason for forgetting it.
    #[schemars(length(max = MAX_REASON_CHARS))]
    forget_reason: Option<String>,
    /// The caller's own keys.
    #[schemars(with = "Option<Metadata>")]
    metadata: Option<Map<String, Value>>,
}

pub(crate) async fn update_memory(
    State(state): State<MemoriesState>,
    Auth { tenant, .. }: Auth<WriteContent>,
    Json(request): Json<UpdateRequest>,
) -> ApiResult<Json<UpdateResponse>> {
    let ctx = &state.app.ctx;
    let tag = resolve_container_tag(
        &tenant,
        request.container_tag.as_deref(),
        request.container_tags.as_deref(),
    )?;
    let target = MemoryTarget::new(request.id.as_deref(), request.content.as_deref())?;
    let correction = request.parse_correction(ctx.clock.now())?;
    let container_memories = ContainerMemories::open_to_write(&state, &tenant, &tag).await?;
    let now = container_memories.now;
    let mut named = container_memories
        .find_named(ctx, &tenant, &state.ledgers, target)
        .await?;
    if let MemoryTarget::Content(content) = target {
        // A repeated request names a content that the first one has replaced, unless both texts are equal.
        let is_gone = named.iter().all(|found| found.memory.is_forgotten(now));
        if is_gone || content == correction.text {
            let corrected =
                find_just_corrected(&state, &tenant, &container_memories, content, &correction);
            let corrected = corrected.await?;
            if !corrected.is_empty() {
                named = corrected;
            }
        }
    }
    let old = container_memories.choose_remembered(named)?;
    let read_versions = || {
        let repeated = next_version(&old).filter(|new| correction.has_just_made(new, &old, now));
        let newest = newest_version(&old);
        let version = correction.build_version(&old);
        (repeated, newest, version)
    };
    let (repeated, newest, version) = container_memories.read(ctx, &tenant, read_versions).await?;
    if !old.memory.is_latest {
        let repeated = repeated.ok_or_else(|| replaced_error(&old.memory, newest.as_deref()))?;
        return Ok(Json(UpdateResponse::new(&repeated)));
    }

    let expected = (version.text.clone(), version.said_at);
    apply_memory_edits(
        ctx,
        &tenant,
        old.container,
        &correction_edits(&old.memory, version, now),
    )
    .await?;

    let updated_memories = ContainerMemories::open_container(&state, &tenant, &tag).await?;
    let is_expected = |memory: &Arc<Memory>| {
        memory.sources.is_empty() && (&memory.text, memory.said_at) == (&expected.0, expected.1)
    };
    let find_corrected = || {
        let corrected = updated_memories.memories_of_topic(&old.memory.topic);
        let corrected = corrected.filter(is_expected);
        corrected.max_by_key(|memory| memory.version)
    };
    let corrected = updated_memories.read(ctx, &tenant, find_corrected).await?;
    let corrected = corrected.ok_or(PortError::Conflict)?;

    Ok(Json(UpdateResponse::new(&corrected)))
}

/// Returns the memories that had this content until this very correction gave them a new version a moment ago. A
/// corrected inference is not among them, because the new memory has no version before it.
async fn find_just_corrected<'a>(
    state: &MemoriesState,
    tenant: &Tenant,
    container_memories: &'a ContainerMemories,
    content: &str,
    correction: &MemoryCorrection,
) -> Result<Vec<LocatedMemory<'a>>> {
    let ctx = &state.app.ctx;
    let versions = container_memories
        .find_by_content(ctx, tenant, &state.ledgers, &correction.text)
        .await?;
    let read_corrected = || {
        let corrected = versions.iter().filter_map(|new| {
            let old = container_memories.get_memory(new.memory.parent.as_ref()?.as_str())?;
            let is_meant = old.memory.text == content
                && correction.has_just_made(&new.memory, &old, container_memories.now);
            is_meant.then_some(old)
        });
        corrected.collect()
    };
    container_memories.read(ctx, tenant, read_corrected).await
}

/// The checked fields of a correction.
struct MemoryCorrection {
    text: String,
    metadata: Patch<Metadata>,
    forget_after: Patch<Timestamp>,
    forget_reason: Patch<String>,
    context: TemporalContext,
    now: Timestamp,
}

impl UpdateRequest {
    fn parse_correction(&self, now: Timestamp) -> Result<MemoryCorrection> {
        let forget_reason = self
            .forget_reason
            .clone()
            .try_map(|text| check_reason("forgetReason", Some(text)))?;
        let correction = MemoryCorrection {
            text: check_content("newContent", &self.new_content)?,
            metadata: self.metadata.clone().try_map(Metadata::parse)?,
            forget_after: self
                .forget_after
                .clone()
                .try_map(|text| parse_forget_after(&text, now))?,
            forget_reason: match forget_reason {
                Patch::Keep => Patch::Keep,
                Patch::Clear | Patch::Set(None) => Patch::Clear,
                Patch::Set(Some(text)) => Patch::Set(text),
            },
            context: self.temporal_context.clone().unwrap_or_default(),
            now,
        };

        // Refuse a wrong date before anything is looked up.
        correction
            .context
            .parse_said_at()
            .and_then(|_| correction.context.parse_event())?;
        Ok(correction)
    }
}

impl MemoryCorrection {
    /// Returns the version that replaces the memory.
    fn build_version(&self, old: &LocatedMemory<'_>) -> Statement {
        let memory = &old.memory;
        let said_at = self
            .context
            .parse_said_at()
            .ok()
            .flatten()
            .unwrap_or(self.now);
        // Versions are ordered by their times.
        let new = statement_from_client(self.text.clone(), said_at.max(old.last_said()));
        let topic = new.topic.as_ref().filter(|_| has_topic_of(old, &new));
        let mut expiry = (memory.forget_after, memory.forget_reason.clone());
        self.forget_after.apply(&mut expiry.0);
        self.forget_reason.apply(&mut expiry.1);
        let mut metadata = Some(Metadata::from_stored(memory.metadata.clone()));
        self.metadata.apply(&mut metadata);

        Statement {
            kind: if topic.is_some() {
                new.kind
            } else {
                memory.kind
            },
            topic: topic.cloned(),
            is_static: memory.is_static,
            event: self.context.parse_event().ok().flatten().or(memory.event),
            forget_after: expiry.0,
            forget_reason: expiry.1,
            metadata: metadata.unwrap_or_default().as_object().clone(),
            ..new
        }
    }

    /// Checks whether this very correction of `old` has just made `new`. If so, the client has
    /// repeated it because the answer was lost.
    fn has_just_made(&self, new: &Memory, old: &LocatedMemory<'_>, now: Timestamp) -> bool {
        let version = self.build_version(old);
        let is_same = (&new.text, &new.metadata, new.forget_after)
            == (&version.text, &version.metadata, version.forget_after);
        is_same
            && new.sources.is_empty()
            && new.is_live(now)
            && new.created_at.plus_seconds(REPEAT_SECONDS) > now
    }
}

/// Returns the version after this one.
fn next_version(old: &LocatedMemory<'_>) -> Option<Arc<Memory>> {
    let history = old.ledger.memory_history(&old.memory);
    history
        .into_iter()
        .find(|memory| memory.parent.as_ref() == Some(&old.memory.id))
}

/// Returns the newest version, or `None` if it is this one.
fn newest_version(old: &LocatedMemory<'_>) -> Option<Arc<Memory>> {
    let mut history = old.ledger.memory_history(&old.memory);
    history.pop().filter(|newest| newest.id != old.memory.id)
}

/// Returns the error of a memory that is not the latest version. Without a newer version, what it says has
/// ended.
fn replaced_error(memory: &Memory, newest: Option<&Memory>) -> Error {
    let old = &memory.id;
    Error::Conflict(match newest {
        Some(newest) => format!(
            "a newer version has taken the place of the memory {old}; change the memory {}",
            newest.id
        ),
        None => format!("what the memory {old} says has ended; write a new memory"),
    })
}

/// Checks whether a statement belongs to the topic of the memory.
fn has_topic_of(old: &LocatedMemory<'_>, statement: &Statement) -> bool {
    topic_id_of(old.container, statement) == old.memory.topic
}

/// Returns the edits that make the correction. An inference would be drawn again from its sources,
/// so it is forgotten as well.
fn correction_edits(old: &Memory, version: Statement, at: Timestamp) -> Vec<MemoryEdit> {
    let mut edits = vec![MemoryEdit::Update {
        memory: old.id.clone(),
        topic: old.topic.clone(),
        version: Box::new(version),
    }];
    if old.is_derived() {
        edits.push(MemoryEdit::Forget {
            memory: old.id.clone(),
            topic: Some(old.topic.clone()),
            reason: Some("corrected".to_owned()),
            at,
        });
    }
    edits
}

impl UpdateResponse {
    fn new(memory: &Memory) -> Self {
        Self {
            id: memory.id.clone(),
            memory: memory.text.clone(),
            version: memory.version,
            parent_memory_id: memory.parent.clone(),
            root_memory_id: memory.first_version.clone(),
            created_at: memory.created_at,
            forget_after: memory.forget_after,
            forget_reason: memory.forget_reason.clone(),
            metadata: (!memory.metadata.is_empty()).then(|| memory.metadata.clone()),
        }
    }
}

/// Describes the operations of this module.
pub(crate) fn operations() -> Vec<Operation> {
    vec![
        Operation::patch("/v4/memories", "update_memory")
            .group("Content Management")
            .summary("Replace a memory with a new version.")
            .description(
                "The old version stays in the history. The correction stays when the documents of \
                 the memory are processed again or deleted. The same correction within two \
                 minutes returns the version that it made.",
            )
            .body::<UpdateRequest>(json!({
                "containerTag": "user_42",
                "content": "Mara counts the herons every spring.",
                "newContent": "Mara counts the herons every spring and every autumn.",
            }))
            .answer::<UpdateResponse>(
                "The new version.",
                json!({
                    "id": "acxV5LHMEsG2hMSNb4umbn",
                    "memory": "Mara counts the herons every spring and every autumn.",
                    "version": 2,
                    "parentMemoryId": "5Hd1p8aGkT9mYwqZrLcXv2",
                    "rootMemoryId": "5Hd1p8aGkT9mYwqZrLcXv2",
                    "createdAt": "2026-03-01T09:30:00.000Z",
                    "forgetAfter": null,
                    "forgetReason": null,
                    "metadata": null,
                }),
            )
            .error(ErrorAnswer::Invalid, "")
            .error(
                ErrorAnswer::NotFound,
                "There is no such container tag or memory.",
            )
            .error(
                ErrorAnswer::Conflict,
                "The memory is forgotten, what it says has ended, or a newer version has replaced \
                 it. Change the version that the error names.",
            ),
    ]
}
