//! The items of a namespace in the shape of the API.

use domain::{IndexedDocument, MemoryId, Metadata, Timestamp};
use memory_model::{Memory, MemoryRelation};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

use super::public_id;
use crate::fields::Pagination;
use crate::provider_names::{ProviderNames, TypeName};

/// The time of creation of an item.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
pub struct CreatedAt {
    /// The time of creation.
    pub created_at: Timestamp,
}

/// The times of an item.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
pub struct TimesOfItem {
    /// The time of creation.
    pub created_at: Timestamp,
    /// The time of the last change.
    pub updated_at: Timestamp,
}

/// A memory.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NamespaceMemory {
    /// Its id.
    pub id: MemoryId,
    /// The text of the memory.
    pub memory: String,
    /// The caller's own keys.
    pub metadata: Map<String, Value>,
    /// True if it is lasting: a trait rather than an episode.
    pub is_static: bool,
    /// True if it was inferred from other memories and has not been approved.
    pub is_inference: bool,
    /// True unless another version has replaced it.
    pub is_latest: bool,
    /// True if it is forgotten, or its time is over.
    pub is_forgotten: bool,
    /// The number of the version, from 1.
    #[schemars(range(min = 1))]
    pub version: u32,
    /// Its times.
    pub system: TimesOfItem,
}

impl NamespaceMemory {
    /// Returns the memory as it is at `now`.
    pub fn new(memory: &Memory, now: Timestamp) -> Self {
        Self {
            id: memory.id.clone(),
            memory: memory.text.clone(),
            metadata: memory.metadata.clone(),
            is_static: memory.is_static,
            is_inference: memory.is_inference,
            is_latest: memory.is_latest,
            is_forgotten: memory.is_forgotten(now),
            version: memory.version,
            system: TimesOfItem {
                created_at: memory.created_at,
                updated_at: memory.updated_at,
            },
        }
    }
}

/// A document that states a memory, or that has a chunk.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "NamespaceSourceDocument")]
pub struct SourceDocument {
    /// The caller's own id, or else that of the document.
    id: String,
    /// Its title.
    title: Option<String>,
    /// The type of its content.
    r#type: TypeName,
    /// The caller's own keys.
    #[schemars(with = "Metadata")]
    metadata: Map<String, Value>,
    /// Its times.
    system: TimesOfItem,
}

impl SourceDocument {
    /// Returns the document as the index has it.
    pub fn new(document: &IndexedDocument, names: ProviderNames) -> Self {
        Self {
            id: public_id(&document.id, document.custom_id.as_ref()),
            title: document.title.clone(),
            r#type: names.of_type(document.kind),
            metadata: document.metadata.clone(),
            system: TimesOfItem {
                created_at: Timestamp::from_millis(document.created_at),
                updated_at: Timestamp::from_millis(document.updated_at),
            },
        }
    }
}

/// The memories that are related to a memory.
#[derive(Debug, Default, Serialize, JsonSchema)]
#[schemars(rename = "NamespaceRelatedMemories")]
pub struct RelatedMemories {
    /// The earlier versions, the nearest first.
    pub parents: Vec<RelatedMemory>,
    /// The later versions, the nearest first.
    pub children: Vec<RelatedMemory>,
    /// The memories that it extends or follows from, and those that extend or follow from it.
    pub siblings: Vec<RelatedMemory>,
}

/// A memory that is related to another.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "NamespaceRelatedMemory")]
pub struct RelatedMemory {
    /// Its id.
    id: MemoryId,
    /// The relation between the two memories.
    #[schemars(extend("enum" = ["updates", "extends", "derives"]))]
    relation: &'static str,
    /// The version relative to the memory: -1 is the version before it.
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<i64>,
    /// The text of the memory.
    memory: String,
    /// The caller's own keys.
    #[schemars(with = "Metadata")]
    metadata: Map<String, Value>,
    /// The time of its last change.
    system: UpdatedAt,
    /// The first document that states it, if the request includes it.
    #[serde(skip_serializing_if = "Option::is_none")]
    document: Option<SourceDocument>,
}

impl RelatedMemory {
    /// Returns a memory that is related to another, with the first document that states it, if that
    /// is shown. `version` is its distance if it is another version.
    pub fn new(
        memory: &Memory,
        relation: MemoryRelation,
        version: Option<i64>,
        document: Option<SourceDocument>,
    ) -> Self {
        Self {
            id: memory.id.clone(),
            relation: relation.as_str(),
            version,
            memory: memory.text.clone(),
            metadata: memory.metadata.clone(),
            system: UpdatedAt {
                updated_at: memory.updated_at,
            },
            document,
        }
    }
}

/// The time of the last change of an item.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
struct UpdatedAt {
    /// The time of the last change.
    updated_at: Timestamp,
}

/// A part of the text of a document.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NamespaceChunk {
    /// The id of the document and the position of the chunk.
    #[schemars(regex(pattern = "^[A-Za-z0-9]{22}-[0-9]+$"))]
    pub id: String,
    /// The position among the chunks of the document, from 0.
    pub position: usize,
    /// Its text.
    pub content: String,
    /// Always `text`.
    #[schemars(extend("const" = "text"))]
    pub r#type: &'static str,
    /// The place in the text of the document: `start`, `end` and `headings`.
    pub metadata: Map<String, Value>,
    /// Its time of creation.
    pub system: CreatedAt,
}

impl NamespaceChunk {
    /// Returns the metadata of a chunk: its place in the text of the document.
    pub fn place(start: usize, end: usize, headings: &[String]) -> Map<String, Value> {
        let place = [
            ("start", Value::from(start)),
            ("end", Value::from(end)),
            ("headings", Value::from(headings)),
        ];
        let named = place.map(|(name, value)| (name.to_owned(), value));
        named.into_iter().collect()
    }
}

/// A list that is always empty.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(inline)]
pub enum NoItem {}

/// A page of one kind of items. The lists of the other kinds are empty.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
pub struct ItemPage<D, C, M> {
    /// The documents.
    pub documents: Vec<D>,
    /// The chunks.
    pub chunks: Vec<C>,
    /// The memories.
    pub memories: Vec<M>,
    /// The position of the page.
    pub pagination: Pagination,
}
