//! The lines of an export.

use std::collections::BTreeMap;

use domain::memory::{EventPeriod, ReviewDecision};
use domain::{
    ContainerId, DocumentId, MemoryEdit, MemoryId, MemoryKind, Settings, Timestamp, Trust,
};
use memory_model::Memory;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use service::{ContainerCopy, DocumentCopy};

/// The `type` of the first line.
pub(super) const HEADER_TYPE: &str = "recollect-export";
/// The current version of the format.
pub(super) const VERSION: u32 = 1;

/// A line for writing.
#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub(super) enum ExportLine<'a> {
    RecollectExport(Header),
    Container(&'a ContainerCopy),
    Settings(&'a Settings),
    Document(&'a DocumentCopy),
    Action(EditLine),
    Memory(MemoryLine<'a>),
    End(EndLine),
}

/// The first line.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Header {
    pub(super) version: u32,
    pub(super) container_tag: String,
    pub(super) exported_at: Timestamp,
}

/// A caller's edit of a memory.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct EditLine {
    pub(super) container_id: ContainerId,
    pub(super) action: MemoryEdit,
}

/// The last line. A file without it is incomplete.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct EndLine {
    pub(super) documents: usize,
    pub(super) actions: usize,
    pub(super) memories: usize,
}

/// The `type` of any line.
#[derive(Debug, Deserialize)]
pub(super) struct LineType {
    pub(super) r#type: String,
}

/// A memory, for readers that do not compute it.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct MemoryLine<'a> {
    id: &'a MemoryId,
    memory: &'a str,
    kind: MemoryKind,
    version: u32,
    is_latest: bool,
    is_static: bool,
    is_inference: bool,
    is_forgotten: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    forgotten_at: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    forget_after: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    forget_reason: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    review: Option<ReviewDecision>,
    #[serde(skip_serializing_if = "Option::is_none")]
    parent_memory_id: Option<&'a MemoryId>,
    root_memory_id: &'a MemoryId,
    memory_relations: BTreeMap<&'a MemoryId, &'static str>,
    contradicts: &'a [MemoryId],
    sources: Vec<SourceLine<'a>>,
    confidence: f32,
    trust: Trust,
    #[serde(skip_serializing_if = "Option::is_none")]
    speaker: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    event: Option<EventPeriod>,
    said_at: Timestamp,
    #[serde(skip_serializing_if = "Option::is_none")]
    superseded_at: Option<Timestamp>,
    created_at: Timestamp,
    updated_at: Timestamp,
    #[serde(skip_serializing_if = "Map::is_empty")]
    metadata: &'a Map<String, Value>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct SourceLine<'a> {
    document_id: &'a DocumentId,
    start: usize,
    end: usize,
}

impl<'a> MemoryLine<'a> {
    /// Returns the memory as it is recorded. A memory that has expired is marked as forgotten only
    /// by `forgetAfter`.
    pub(super) fn new(memory: &'a Memory) -> Self {
        let forgotten = memory.forgotten.as_ref();
        let forget_reason = match forgotten {
            Some(forgotten) => forgotten.reason.as_deref(),
            None => memory.forget_reason.as_deref(),
        };

        let to_source_line = |source: &'a memory_model::SupportingSpan| SourceLine {
            document_id: &source.document,
            start: source.start,
            end: source.end,
        };

        Self {
            id: &memory.id,
            memory: &memory.text,
            kind: memory.kind,
            version: memory.version,
            is_latest: memory.is_latest,
            is_static: memory.is_static,
            is_inference: memory.is_inference,
            is_forgotten: forgotten.is_some(),
            forgotten_at: forgotten.map(|forgotten| forgotten.at),
            forget_after: memory.forget_after,
            forget_reason,
            review: memory.review,
            parent_memory_id: memory.parent.as_ref(),
            root_memory_id: &memory.first_version,
            memory_relations: memory
                .relations
                .iter()
                .map(|(id, relation)| (id, relation.as_str()))
                .collect(),
            contradicts: &memory.contradicts,
            sources: memory.sources.iter().map(to_source_line).collect(),
            confidence: memory.confidence,
            trust: memory.trust,
            speaker: memory.speaker.as_deref(),
            event: memory.event,
            said_at: memory.said_at,
            superseded_at: memory.replaced_at,
            created_at: memory.created_at,
            updated_at: memory.updated_at,
            metadata: &memory.metadata,
        }
    }
}
