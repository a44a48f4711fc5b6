//! Memories in the shape of the API.

use std::collections::BTreeMap;

use domain::memory::ReviewDecision;
use domain::{
    Attribution, ContainerId, DocumentId, MemoryId, MemoryKind, Metadata, OrgId, Timestamp, Trust,
};
use memory_model::{Ledger, Memory};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

/// One version of a memory, as in a document or in the history of a memory.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MemoryVersion {
    /// Its id.
    id: MemoryId,
    /// The text of the memory.
    memory: String,
    /// The number of the version, from 1.
    #[schemars(range(min = 1))]
    version: u32,
    /// True unless another version has replaced it.
    is_latest: bool,
    /// True if it is forgotten, or its time is over.
    is_forgotten: bool,
    /// True if it is lasting: a trait rather than an episode.
    is_static: bool,
    /// True if it was inferred from other memories and has not been approved.
    is_inference: bool,
    /// The time of creation.
    created_at: Timestamp,
    /// The time of the last change.
    updated_at: Timestamp,
    /// The number of documents that state it.
    source_count: usize,
    /// The version before it; null if there is none.
    parent_memory_id: Option<MemoryId>,
    /// The id of the first version.
    root_memory_id: MemoryId,
    /// The caller's own keys.
    #[schemars(with = "Option<Metadata>")]
    metadata: Option<Map<String, Value>>,
    /// The trust in the memory, which follows from its source.
    trust: Trust,
    /// The place where it was read, unless it comes from the user.
    #[serde(skip_serializing_if = "Option::is_none")]
    origin: Option<Attribution>,
}

impl MemoryVersion {
    /// Returns the version as it is at `now`.
    pub fn new(memory: &Memory, now: Timestamp) -> Self {
        Self {
            id: memory.id.clone(),
            memory: memory.text.clone(),
            version: memory.version,
            is_latest: memory.is_latest,
            is_forgotten: memory.is_forgotten(now),
            is_static: memory.is_static,
            is_inference: memory.is_inference,
            created_at: memory.created_at,
            updated_at: memory.updated_at,
            source_count: memory.source_count(),
            parent_memory_id: memory.parent.clone(),
            root_memory_id: memory.first_version.clone(),
            metadata: non_empty_metadata(&memory.metadata),
            trust: memory.trust,
            origin: memory.attribution.clone(),
        }
    }
}

/// A memory with all its properties, sources and older versions.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MemoryEntry {
    #[serde(flatten)]
    version: MemoryVersion,
    /// The id of the container.
    space_id: ContainerId,
    /// The organization.
    org_id: OrgId,
    /// The time from which it counts as forgotten; null means never.
    forget_after: Option<Timestamp>,
    /// The reason why it is or will be forgotten.
    #[schemars(length(max = 1000))]
    forget_reason: Option<String>,
    /// The time of the statement, and the time of the event that it describes.
    temporal_context: TemporalContext,
    /// What it does to other memories, by their ids.
    #[schemars(
        with = "BTreeMap<String, String>",
        extend(
            "propertyNames" = {"pattern": "^[A-Za-z0-9]{22}$"},
            "additionalProperties" = {"type": "string", "enum": ["updates", "extends", "derives"]},
        )
    )]
    memory_relations: BTreeMap<MemoryId, &'static str>,
    /// Older versions, the newest first.
    history: Vec<MemoryVersion>,
    /// The documents that state it; none for a correction.
    document_ids: Vec<DocumentId>,
    /// The kind of the statement.
    kind: MemoryKind,
    /// The certainty of the statement.
    #[schemars(range(min = 0, max = 1))]
    confidence: f32,
    /// The person who said it; null if that is unknown.
    speaker: Option<String>,
    /// The period of the event that it describes; null if it describes none.
    event_date: Option<EventDate>,
    /// The sentences that it comes from.
    sources: Vec<SourceSpan>,
    /// Present memories that contradict it.
    contradicts: Vec<MemoryId>,
    /// A caller's decision about the inference; null if there is none.
    #[schemars(extend("enum" = ["approved", "declined", null]))]
    review_status: Option<&'static str>,
}

/// The time of the statement, and the time of the event that it describes.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct TemporalContext {
    /// The time of the statement.
    document_date: Timestamp,
    /// The first and the last moment of the event, or the only one.
    #[schemars(length(max = 2))]
    event_date: Vec<Timestamp>,
}

/// The period of the event that a memory describes.
#[derive(Debug, Serialize, JsonSchema)]
struct EventDate {
    /// The first moment.
    start: Timestamp,
    /// The last moment.
    end: Timestamp,
}

/// A range of characters in the text of a document.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct SourceSpan {
    /// The id of the document.
    document_id: DocumentId,
    /// The first character.
    start: usize,
    /// The character after the last one.
    end: usize,
}

impl MemoryEntry {
    /// Returns the memory as it is at `now`, from the ledger of the container `container`.
    pub fn new(
        ledger: &Ledger,
        memory: &Memory,
        container: &ContainerId,
        org: &OrgId,
        now: Timestamp,
    ) -> Self {
        let mut history = Vec::new();
        for other in ledger.memory_history(memory).into_iter().rev() {
            if other.version < memory.version {
                history.push(MemoryVersion::new(&other, now));
            }
        }

        let relations = memory
            .relations
            .iter()
            .map(|(id, relation)| (id.clone(), relation.as_str()));

        Self {
            version: MemoryVersion::new(memory, now),
            space_id: container.clone(),
            org_id: org.clone(),
            forget_after: memory.forget_after,
            forget_reason: forget_reason(memory),
            temporal_context: TemporalContext {
                document_date: memory.said_at,
                event_date: event_dates(memory),
            },
            memory_relations: relations.collect(),
            history,
            document_ids: ledger
                .documents_of(memory)
                .iter()
                .map(|document| document.id.clone())
                .collect(),
            kind: memory.kind,
            confidence: memory.confidence,
            speaker: memory.speaker.clone(),
            event_date: memory.event.map(|event| EventDate {
                start: event.from,
                end: event.to,
            }),
            sources: source_spans(memory),
            contradicts: ledger.present_contradictions(memory, now),
            review_status: review_status(memory),
        }
    }
}

/// Returns a caller's decision about an inferred memory.
pub fn review_status(memory: &Memory) -> Option<&'static str> {
    match memory.review? {
        ReviewDecision::Approve => Some("approved"),
        ReviewDecision::Decline => Some("declined"),
        ReviewDecision::Undo => None,
    }
}

/// Returns the reason why the memory is or will be forgotten.
fn forget_reason(memory: &Memory) -> Option<String> {
    match &memory.forgotten {
        Some(forgotten) if forgotten.reason.is_some() => forgotten.reason.clone(),
        _ => memory.forget_reason.clone(),
    }
}

/// Returns the first and the last moment of the event, or the only one.
fn event_dates(memory: &Memory) -> Vec<Timestamp> {
    match memory.event {
        None => Vec::new(),
        Some(event) if event.from == event.to => vec![event.from],
        Some(event) => vec![event.from, event.to],
    }
}

fn source_spans(memory: &Memory) -> Vec<SourceSpan> {
    let source = |support: &memory_model::SupportingSpan| SourceSpan {
        document_id: support.document.clone(),
        start: support.start,
        end: support.end,
    };
    memory.sources.iter().map(source).collect()
}

/// Returns the metadata, or `None` (`null` in the answer) if there is none.
fn non_empty_metadata(metadata: &Map<String, Value>) -> Option<Map<String, Value>> {
    (!metadata.is_empty()).then(|| metadata.clone())
}
