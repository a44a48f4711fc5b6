//! The results of a search in a namespace.

use domain::{IndexedDocument, Metadata, Timestamp};
use edge::{ProviderNames, RelatedMemories, RelatedMemory, SourceDocument, TimesOfItem};
use memory_model::{Ledger, Memory, MemoryRelation};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

use super::search::IncludedParts;
use crate::engine::{FoundChunk, FoundMemory};
use crate::rank::ResultRow;
use crate::related::{ShownMemories, linked_memories, other_versions};
use crate::run::Sources;

/// A memory or a chunk that was found.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "NamespaceSearchResult")]
#[schemars(extend("oneOf" = [{"required": ["memory"]}, {"required": ["chunk"]}]))]
pub(crate) struct SearchResult {
    /// The id of the memory, or that of the document and the position of the chunk.
    id: String,
    /// The sentence of the memory. With `aggregate`, the sentences about one subject.
    #[serde(skip_serializing_if = "Option::is_none")]
    memory: Option<String>,
    /// The text of the chunk.
    #[serde(skip_serializing_if = "Option::is_none")]
    chunk: Option<String>,
    /// The metadata of the memory, or that of the document of the chunk.
    #[schemars(with = "Metadata")]
    metadata: Map<String, Value>,
    /// How well it answers the question.
    #[schemars(range(min = 0, max = 1))]
    similarity: f32,
    /// False for a memory that was forgotten or has expired.
    is_latest: bool,
    /// True for a memory that was inferred from other memories and that nobody has approved.
    is_inference: bool,
    /// The times of the memory, or those of the document of the chunk.
    system: TimesOfItem,
    /// The additional parts, if the request asks for any.
    #[serde(skip_serializing_if = "Option::is_none")]
    included: Option<IncludedResultParts>,
}

/// The additional parts of a result.
#[derive(Debug, Default, Serialize, JsonSchema)]
#[schemars(inline)]
struct IncludedResultParts {
    /// The memories that are related to the memory.
    #[serde(skip_serializing_if = "Option::is_none")]
    related: Option<RelatedMemories>,
    /// The document of the chunk, or the first one that states the memory. Absent for a memory that
    /// a caller has edited.
    #[serde(skip_serializing_if = "Option::is_none")]
    document: Option<SourceDocument>,
}

impl SearchResult {
    /// Returns a row in the shape of the API, with the parts that the request includes. `sources`
    /// has what was searched.
    pub(super) fn new(
        row: ResultRow,
        sources: &Sources,
        names: ProviderNames,
        include: IncludedParts,
        now: Timestamp,
    ) -> Self {
        match row {
            ResultRow::Chunk(found) => Self::of_chunk(*found, names, include),
            ResultRow::Memory(found) => {
                let ledger = sources.memories[found.hit.container].ledger();
                Self::of_memory(*found, ledger, names, include, now)
            }
        }
    }

    fn of_chunk(found: FoundChunk, names: ProviderNames, include: IncludedParts) -> Self {
        let FoundChunk { hit, document } = found;
        let included = include.has_any().then(|| IncludedResultParts {
            related: None,
            document: include
                .documents
                .then(|| SourceDocument::new(&document, names)),
        });

        Self {
            id: document.id.chunk_id(hit.position as usize),
            memory: None,
            chunk: Some(hit.text),
            similarity: hit.similarity,
            is_latest: true,
            is_inference: false,
            system: times_of(&document),
            metadata: document.metadata,
            included,
        }
    }

    fn of_memory(
        found: FoundMemory,
        ledger: &Ledger,
        names: ProviderNames,
        include: IncludedParts,
        now: Timestamp,
    ) -> Self {
        let FoundMemory { hit, memory, .. } = found;
        let shown = ShownMemories {
            now,
            includes_forgotten: include.forgotten,
        };
        let included = include.has_any().then(|| {
            let documents = ledger.documents_of(&memory);
            let document = documents.first().filter(|_| include.documents);
            IncludedResultParts {
                related: include
                    .related
                    .then(|| related_memories(ledger, &memory, shown)),
                document: document.map(|document| SourceDocument::new(document, names)),
            }
        });

        Self {
            id: memory.id.to_string(),
            chunk: None,
            similarity: hit.similarity,
            is_latest: memory.is_live(now),
            is_inference: memory.is_inference,
            system: TimesOfItem {
                created_at: memory.created_at,
                updated_at: memory.updated_at,
            },
            memory: Some(memory.text),
            metadata: memory.metadata,
            included,
        }
    }
}

impl IncludedParts {
    /// Checks whether the results have additional parts.
    fn has_any(self) -> bool {
        self.documents || self.related
    }
}

/// Returns the memories that are related to `memory` and that are shown.
fn related_memories(ledger: &Ledger, memory: &Memory, shown: ShownMemories) -> RelatedMemories {
    let mut related = RelatedMemories::default();
    for (other, distance) in other_versions(ledger, memory, shown) {
        let shape = RelatedMemory::new(&other, MemoryRelation::Updates, Some(distance), None);
        if distance < 0 {
            related.parents.push(shape);
        } else {
            // The newest version comes first.
            related.children.insert(0, shape);
        }
    }

    for relations in [&memory.relations, &memory.reverse_relations] {
        for (other, relation) in linked_memories(ledger, relations, shown) {
            related
                .siblings
                .push(RelatedMemory::new(&other, relation, None, None));
        }
    }

    related
}

fn times_of(document: &IndexedDocument) -> TimesOfItem {
    TimesOfItem {
        created_at: Timestamp::from_millis(document.created_at),
        updated_at: Timestamp::from_millis(document.updated_at),
    }
}
