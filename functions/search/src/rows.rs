//! The rows of `/v4/search`: chunks and memories in the shape of the API.

use container_index::{IndexedChunks, IndexedMemories};
use domain::{Attribution, DocumentType, IndexedDocument, Result, Timestamp, Trust};
use memory_model::{Ledger, Memory, MemoryRelation};
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::engine::{FoundChunk, FoundMemory, load_document_chunks};
use crate::v4::{IncludedParts, non_empty_metadata};

/// One row of the answer.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(crate) enum SearchResult {
    Chunk(Box<ChunkSearchResult>),
    Memory(Box<MemorySearchResult>),
}

/// A chunk of a document.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ChunkSearchResult {
    id: String,
    chunk: String,
    metadata: Option<Map<String, Value>>,
    updated_at: Timestamp,
    similarity: f32,
    /// The trust in the text, which follows from its source. `None` for documents that were
    /// processed before trust was recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    trust: Option<Trust>,
    /// The place where it was read, unless it comes from the user.
    #[serde(skip_serializing_if = "Option::is_none")]
    origin: Option<Attribution>,
    #[serde(skip_serializing_if = "Option::is_none")]
    filepath: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    documents: Option<Vec<ResultDocument>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    explain: Option<ChunkExplanation>,
}

/// The place of a chunk, and the parts of its score.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct ChunkExplanation {
    document_id: String,
    position: u32,
    span: Span,
    headings: Vec<String>,
    scores: RowScores,
}

/// A memory. Several about one subject if the request aggregates.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct MemorySearchResult {
    id: String,
    memory: String,
    metadata: Option<Map<String, Value>>,
    updated_at: Timestamp,
    similarity: f32,
    /// The trust in the text, which follows from its source.
    trust: Trust,
    /// The place where it was read, unless it comes from the user.
    #[serde(skip_serializing_if = "Option::is_none")]
    origin: Option<Attribution>,
    version: u32,
    root_memory_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    filepath: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    is_forgotten: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    context: Option<RelatedContext>,
    #[serde(skip_serializing_if = "Option::is_none")]
    documents: Option<Vec<ResultDocument>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    chunks: Option<Vec<SourceChunk>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    is_aggregated: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    explain: Option<Value>,
    /// The subject of a memory.
    #[serde(skip)]
    subject: Option<String>,
}

/// A range of characters of a document's text.
#[derive(Debug, Serialize)]
struct Span {
    start: u32,
    end: u32,
}

/// The parts of the score of a row.
#[derive(Debug, Serialize)]
struct RowScores {
    lexical: f32,
    vector: f32,
    context: f32,
    fused: f32,
}

/// The relations of a memory to others.
#[derive(Debug, Default, Serialize)]
struct RelatedContext {
    /// The memories that it replaces, extends or follows from. Older versions come with the nearest
    /// first.
    parents: Vec<RelatedMemory>,
    /// The memories that replace or extend it, or follow from it.
    children: Vec<RelatedMemory>,
    /// The memories that contradict it.
    related: Vec<RelatedMemory>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct RelatedMemory {
    relation: &'static str,
    /// The version relative to the result: -1 is the version before it.
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<i64>,
    memory: String,
    metadata: Option<Map<String, Value>>,
    updated_at: Timestamp,
    /// The trust in the memory, which follows from its source.
    trust: Trust,
    /// The place where it was read, unless it comes from the user.
    #[serde(skip_serializing_if = "Option::is_none")]
    origin: Option<Attribution>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct ResultDocument {
    id: String,
    title: Option<String>,
    r#type: DocumentType,
    metadata: Option<Map<String, Value>>,
    /// Requested by `include.summaries`. Always `null`, because no summaries are made.
    #[serde(skip_serializing_if = "Option::is_none")]
    summary: Option<Value>,
    created_at: Timestamp,
    updated_at: Timestamp,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct SourceChunk {
    content: String,
    position: u32,
    document_id: String,
}

/// Returns the row of a found chunk with the parts that the request includes.
pub(crate) fn chunk_result(
    found: FoundChunk,
    include: &IncludedParts,
    explain: bool,
) -> SearchResult {
    let FoundChunk { hit, document } = found;
    let headings = hit.headings.split('\n').filter(|text| !text.is_empty());
    let explain = explain.then(|| ChunkExplanation {
        document_id: document.id.to_string(),
        position: hit.position,
        span: Span {
            start: hit.start,
            end: hit.end,
        },
        headings: headings.map(str::to_owned).collect(),
        scores: row_scores(&hit.scores),
    });
    let documents = include
        .documents
        .then(|| vec![result_document(&document, include)]);
    let (trust, origin) = match document.authorship {
        Some(authorship) => (Some(authorship.trust), authorship.attribution),
        None => (None, None),
    };

    SearchResult::Chunk(Box::new(ChunkSearchResult {
        id: format!("{}-{}", document.id, hit.position),
        chunk: hit.text,
        metadata: non_empty_metadata(document.metadata),
        updated_at: Timestamp::from_millis(document.updated_at),
        similarity: hit.similarity,
        trust,
        origin,
        filepath: document.filepath,
        documents,
        explain,
    }))
}

fn row_scores(scores: &search_engine::HitScores) -> RowScores {
    RowScores {
        lexical: scores.lexical,
        vector: scores.vector,
        context: scores.context,
        fused: scores.fused,
    }
}

fn result_document(document: &IndexedDocument, include: &IncludedParts) -> ResultDocument {
    ResultDocument {
        id: document.id.to_string(),
        title: document.title.clone(),
        r#type: document.kind,
        metadata: non_empty_metadata(document.metadata.clone()),
        summary: include.summaries.then_some(Value::Null),
        created_at: Timestamp::from_millis(document.created_at),
        updated_at: Timestamp::from_millis(document.updated_at),
    }
}

/// Returns the row of a found memory with the parts that the request includes. If chunks are
/// requested, `chunks` has those of the same containers.
///
/// # Errors
/// [`PortError::Corrupt`] if the chunks of its documents cannot be read.
pub(crate) fn memory_result(
    found: FoundMemory,
    memories: &[IndexedMemories],
    chunks: &[IndexedChunks],
    include: &IncludedParts,
    explain: bool,
    now: Timestamp,
) -> Result<SearchResult> {
    let FoundMemory { hit, memory } = found;
    let ledger = memories[hit.container].ledger();
    let documents = ledger.documents_of(&memory);
    let filepath = documents
        .iter()
        .find_map(|document| document.filepath.clone());
    let mut shown_documents = None;
    if include.documents || include.summaries {
        let shapes = documents
            .iter()
            .map(|document| result_document(document, include));
        shown_documents = Some(shapes.collect());
    }
    let chunks = if include.chunks {
        Some(source_chunks(&memory, chunks)?)
    } else {
        None
    };

    Ok(SearchResult::Memory(Box::new(MemorySearchResult {
        id: memory.id.to_string(),
        memory: memory.text.clone(),
        metadata: non_empty_metadata(memory.metadata.clone()),
        updated_at: memory.updated_at,
        similarity: hit.similarity,
        trust: memory.trust,
        origin: memory.attribution.clone(),
        version: memory.version,
        root_memory_id: memory.first_version.to_string(),
        filepath,
        is_forgotten: memory.is_forgotten(now).then_some(true),
        context: include
            .related_memories
            .then(|| related_context(ledger, &memory)),
        documents: shown_documents,
        chunks,
        is_aggregated: None,
        explain: explain.then(|| explain_memory(ledger, &memory, &hit.scores)),
        subject: match &memory.topic_answer {
            Some(topic) => Some(topic.subject.clone()),
            None => memory.speaker.clone(),
        },
    })))
}

fn related_context(ledger: &Ledger, memory: &Memory) -> RelatedContext {
    let related = |other: &Memory, relation, version| RelatedMemory {
        relation,
        version,
        memory: other.text.clone(),
        metadata: non_empty_metadata(other.metadata.clone()),
        updated_at: other.updated_at,
        trust: other.trust,
        origin: other.attribution.clone(),
    };

    let mut context = RelatedContext::default();
    for other in ledger.memory_history(memory).into_iter().rev() {
        if other.id == memory.id {
            continue;
        }
        let distance = i64::from(other.version) - i64::from(memory.version);
        let side = if distance < 0 {
            &mut context.parents
        } else {
            &mut context.children
        };
        side.push(related(
            other,
            MemoryRelation::Updates.as_str(),
            Some(distance),
        ));
    }

    for (relations, side) in [
        (&memory.relations, &mut context.parents),
        (&memory.reverse_relations, &mut context.children),
    ] {
        for (id, relation) in relations {
            if *relation != MemoryRelation::Updates
                && let Some(other) = ledger.get(id)
            {
                side.push(related(other, relation.as_str(), None));
            }
        }
    }

    for id in &memory.contradicts {
        if let Some(other) = ledger.get(id) {
            context.related.push(related(other, "contradicts", None));
        }
    }

    context
}

/// Returns the chunks in which a memory was stated.
fn source_chunks(memory: &Memory, chunks: &[IndexedChunks]) -> Result<Vec<SourceChunk>> {
    /// The most sources of a memory that are examined.
    const MAX_SOURCES: usize = 20;
    let mut found = Vec::new();
    for source in memory.sources.iter().take(MAX_SOURCES) {
        for chunks in chunks {
            for chunk in load_document_chunks(&chunks.index, source.document.as_str())? {
                let overlaps =
                    (chunk.start as usize) < source.end && source.start < chunk.end as usize;
                if overlaps {
                    found.push(SourceChunk {
                        content: chunk.text,
                        position: chunk.position,
                        document_id: source.document.to_string(),
                    });
                }
            }
        }
    }

    found.dedup_by(|a, b| (&a.document_id, a.position) == (&b.document_id, b.position));
    Ok(found)
}

/// Returns the origin and history of a memory, with the source of each of its words.
fn explain_memory(ledger: &Ledger, memory: &Memory, scores: &search_engine::HitScores) -> Value {
    let sources: Vec<Value> = memory
        .sources
        .iter()
        .map(|source| {
            json!({"documentId": source.document, "span": {"start": source.start, "end": source.end}})
        })
        .collect();

    let history: Vec<Value> = ledger
        .memory_history(memory)
        .into_iter()
        .map(|version| {
            json!({
                "id": version.id,
                "memory": version.text,
                "version": version.version,
                "validFrom": version.said_at,
                "validUntil": version.superseded_at,
            })
        })
        .collect();

    json!({
        "scores": row_scores(scores),
        "sources": sources,
        "kind": memory.kind,
        "confidence": memory.confidence,
        "trust": memory.trust,
        "speaker": memory.speaker,
        "isInference": memory.is_inference,
        "validFrom": memory.said_at,
        "validUntil": memory.superseded_at,
        "event": memory.event,
        "history": history,
        "contradicts": memory.contradicts,
    })
}

/// Joins the memories about one subject into one row, at the position of the best of them. Their
/// sentences are not changed.
pub(crate) fn aggregate_by_subject(results: Vec<SearchResult>) -> Vec<SearchResult> {
    let mut rows: Vec<SearchResult> = Vec::new();
    for result in results {
        let SearchResult::Memory(memory) = result else {
            rows.push(result);
            continue;
        };

        let same_subject = rows.iter_mut().find_map(|row| match row {
            SearchResult::Memory(row) if row.is_about_same(&memory) => Some(row),
            _ => None,
        });
        match same_subject {
            Some(row) => {
                row.memory.push(' ');
                row.memory.push_str(&memory.memory);
                row.is_aggregated = Some(true);
            }
            None => rows.push(SearchResult::Memory(memory)),
        }
    }

    rows
}

impl MemorySearchResult {
    /// Checks whether both are about one subject and from one source. Statements of others are not
    /// mixed with those of the user.
    fn is_about_same(&self, other: &Self) -> bool {
        self.subject.is_some() && self.subject == other.subject && self.origin == other.origin
    }
}
