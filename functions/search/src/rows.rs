//! The rows of `/v4/search`: chunks and memories in the shape of the API.

use std::collections::HashSet;

use domain::memory::{EventPeriod, MemoryKind};
use domain::{
    Attribution, DocumentId, IndexedDocument, MemoryId, Metadata, Result, Timestamp, Trust,
};
use edge::{ProviderNames, TypeName};
use memory_model::{Ledger, Memory};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::engine::{FoundChunk, FoundMemory, load_document_chunks};
use crate::mask::{forgotten_spans, mask_text};
use crate::related::{RelatedContext, ShownMemories, related_context};
use crate::run::Sources;
use crate::summaries::summary_schema;
use crate::v4::{IncludedParts, non_empty_metadata};

/// A memory or a chunk that was found.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum SearchResult {
    Chunk(Box<ChunkSearchResult>),
    Memory(Box<MemorySearchResult>),
}

impl SearchResult {
    /// Returns the documents of the result that are shown.
    pub(crate) fn documents(&self) -> &[ResultDocument] {
        let documents = match self {
            Self::Chunk(row) => &row.documents,
            Self::Memory(row) => &row.documents,
        };
        documents.as_deref().unwrap_or_default()
    }

    /// Returns the documents of the result that are shown, to add to them.
    pub(crate) fn documents_mut(&mut self) -> &mut [ResultDocument] {
        let documents = match self {
            Self::Chunk(row) => &mut row.documents,
            Self::Memory(row) => &mut row.documents,
        };
        documents.as_deref_mut().unwrap_or_default()
    }
}

/// A chunk of a document that was found.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ChunkSearchResult {
    /// The id of the document and the position of the chunk.
    #[schemars(regex(pattern = "^[A-Za-z0-9]{22}-[0-9]+$"))]
    id: String,
    /// The text.
    chunk: String,
    /// The metadata of the document.
    #[schemars(with = "Option<Metadata>")]
    metadata: Option<Map<String, Value>>,
    /// The time of the last change of the document.
    updated_at: Timestamp,
    /// How well it answers the question.
    #[schemars(range(min = 0, max = 1))]
    similarity: f32,
    /// The trust in the text, which follows from its source. Absent for documents that were
    /// processed before trust was recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    trust: Option<Trust>,
    /// The place where it was read, unless it comes from the user.
    #[serde(skip_serializing_if = "Option::is_none")]
    origin: Option<Attribution>,
    /// The path of the document, if it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    filepath: Option<String>,
    /// The document, if the request asks for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    documents: Option<Vec<ResultDocument>>,
    // compat: clients of the mode `documents` read `chunks` of every result.
    /// The chunk itself, if the request searches documents or asks for chunks.
    #[serde(skip_serializing_if = "Option::is_none")]
    chunks: Option<Vec<SourceChunk>>,
    /// The place of the text and the parts of its score, if the request asks for them.
    #[serde(skip_serializing_if = "Option::is_none")]
    explain: Option<ChunkExplanation>,
}

/// The place of a chunk, and the parts of its score.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct ChunkExplanation {
    /// The id of the document.
    document_id: DocumentId,
    /// The position of the chunk in the document, from 0.
    position: u32,
    /// Its characters in the text of the document.
    span: Span,
    /// The headings above it, the outermost first.
    headings: Vec<String>,
    /// The parts of its score.
    scores: RowScores,
}

/// A memory that was found.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct MemorySearchResult {
    /// The id of the memory.
    id: MemoryId,
    /// The sentence. If the request aggregates, the sentences about one subject.
    memory: String,
    /// The metadata of the memory.
    #[schemars(with = "Option<Metadata>")]
    metadata: Option<Map<String, Value>>,
    /// The time of its last change.
    updated_at: Timestamp,
    /// How well it answers the question.
    #[schemars(range(min = 0, max = 1))]
    similarity: f32,
    /// The trust in the text, which follows from its source.
    trust: Trust,
    /// The place where it was read, unless it comes from the user.
    #[serde(skip_serializing_if = "Option::is_none")]
    origin: Option<Attribution>,
    /// The number of the version.
    #[schemars(range(min = 1))]
    version: u32,
    // compat: the Python client says that it is null for memories that were never replaced.
    /// The id of the first version; null if there is no other.
    root_memory_id: Option<MemoryId>,
    /// The path of its document, if it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    filepath: Option<String>,
    /// True if it is found only by requests that ask for forgotten memories.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("const" = true))]
    is_forgotten: Option<bool>,
    /// Its relations to other memories, if the request asks for them.
    #[serde(skip_serializing_if = "Option::is_none")]
    context: Option<RelatedContext>,
    /// Its documents, if the request asks for them.
    #[serde(skip_serializing_if = "Option::is_none")]
    documents: Option<Vec<ResultDocument>>,
    /// The chunks in which it was stated, if the request asks for them.
    #[serde(skip_serializing_if = "Option::is_none")]
    chunks: Option<Vec<SourceChunk>>,
    /// True if it joins several memories about one subject.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("const" = true))]
    is_aggregated: Option<bool>,
    /// Its sources, its history and the parts of its score, if the request asks for them.
    #[serde(skip_serializing_if = "Option::is_none")]
    explain: Option<MemoryExplanation>,
}

/// The sources of a memory, its history and the parts of its score.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct MemoryExplanation {
    /// The parts of its score.
    scores: RowScores,
    /// The places where it was stated. There are none if a caller has edited it.
    sources: Vec<StatedSource>,
    /// Its kind.
    kind: MemoryKind,
    /// How certain it is.
    #[schemars(range(min = 0, max = 1))]
    confidence: f32,
    /// The trust in it, which follows from its source.
    trust: Trust,
    /// The person who said it; null if nobody is named.
    speaker: Option<String>,
    /// True if it was inferred from other memories and nobody has approved it.
    is_inference: bool,
    /// The time from which it is true.
    valid_from: Timestamp,
    /// The time at which the next version was said.
    valid_until: Option<Timestamp>,
    /// The time of the event that it describes.
    event: Option<EventPeriod>,
    /// All versions, the oldest first.
    history: Vec<MemoryHistoryEntry>,
    /// The ids of present memories that contradict it.
    contradicts: Vec<MemoryId>,
}

/// A place in a document where a memory was stated.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct StatedSource {
    /// The id of the document.
    document_id: DocumentId,
    /// The characters of its text.
    span: Span,
}

/// A version of a memory.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct MemoryHistoryEntry {
    /// Its id.
    id: MemoryId,
    /// The sentence.
    memory: String,
    /// Its number.
    #[schemars(range(min = 1))]
    version: u32,
    /// The time from which it was true.
    valid_from: Timestamp,
    /// The time at which the next version was said.
    valid_until: Option<Timestamp>,
}

/// A range of characters of a document's text.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "TextSpan")]
struct Span {
    /// The first character.
    start: u64,
    /// The character after the last one.
    end: u64,
}

/// The parts of a score, each on a scale of its own.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Scores")]
struct RowScores {
    /// The score of the words.
    lexical: f32,
    /// The score of the meaning.
    vector: f32,
    /// The score of title and headings.
    context: f32,
    /// The score of all of them.
    fused: f32,
}

/// The document of a result.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ResultDocument {
    /// Its id.
    pub(crate) id: DocumentId,
    /// Its title.
    title: Option<String>,
    /// The type of its content.
    r#type: TypeName,
    /// Its metadata.
    #[schemars(with = "Option<Metadata>")]
    metadata: Option<Map<String, Value>>,
    /// Its summary, if the request asks for it. Null if it has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "summary_schema")]
    pub(crate) summary: Option<Option<String>>,
    /// The time of creation.
    created_at: Timestamp,
    /// The time of the last change.
    updated_at: Timestamp,
}

/// A chunk in which a memory was stated.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct SourceChunk {
    /// The text.
    content: String,
    /// Its position in the document, from 0.
    position: u32,
    /// The id of the document.
    document_id: DocumentId,
    // compat: the TypeScript client declares a score for each chunk.
    /// How well it answers the question, if it was found itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 1))]
    score: Option<f32>,
}

/// Returns the row of a found chunk with the parts that the request includes.
pub(crate) fn chunk_result(
    found: FoundChunk,
    names: ProviderNames,
    include: &IncludedParts,
    explain: bool,
) -> SearchResult {
    let FoundChunk { hit, document } = found;
    let headings = hit.headings.split('\n').filter(|text| !text.is_empty());
    let explain = explain.then(|| ChunkExplanation {
        document_id: document.id.clone(),
        position: hit.position,
        span: Span {
            start: u64::from(hit.start),
            end: u64::from(hit.end),
        },
        headings: headings.map(str::to_owned).collect(),
        scores: row_scores(&hit.scores),
    });
    let documents = include
        .shows_documents()
        .then(|| vec![result_document(&document, names, include)]);
    let chunks = include.chunks.then(|| {
        vec![SourceChunk {
            content: hit.text.clone(),
            position: hit.position,
            document_id: document.id.clone(),
            score: Some(hit.similarity),
        }]
    });
    let (trust, origin) = match document.authorship {
        Some(authorship) => (Some(authorship.trust), authorship.attribution),
        None => (None, None),
    };

    SearchResult::Chunk(Box::new(ChunkSearchResult {
        id: document.id.chunk_id(hit.position as usize),
        chunk: hit.text,
        metadata: non_empty_metadata(document.metadata),
        updated_at: Timestamp::from_millis(document.updated_at),
        similarity: hit.similarity,
        trust,
        origin,
        filepath: document.filepath,
        documents,
        chunks,
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

fn result_document(
    document: &IndexedDocument,
    names: ProviderNames,
    include: &IncludedParts,
) -> ResultDocument {
    ResultDocument {
        id: document.id.clone(),
        title: document.title.clone(),
        r#type: names.of_type(document.kind),
        metadata: non_empty_metadata(document.metadata.clone()),
        summary: include.summaries.then_some(None),
        created_at: Timestamp::from_millis(document.created_at),
        updated_at: Timestamp::from_millis(document.updated_at),
    }
}

/// Returns the row of a found memory with the parts that the request includes. If chunks are
/// requested, `sources` has those of the same containers.
///
/// # Errors
/// [`PortError::Corrupt`] if the chunks of its documents cannot be read.
pub(crate) fn memory_result(
    found: FoundMemory,
    sources: &Sources,
    names: ProviderNames,
    include: &IncludedParts,
    explain: bool,
    now: Timestamp,
) -> Result<SearchResult> {
    let FoundMemory {
        hit,
        memory,
        is_aggregated,
    } = found;
    let ledger = sources.memories[hit.container].ledger();
    let filepath = ledger.filepath_of(&memory);
    let shown = ShownMemories {
        now,
        includes_forgotten: include.forgotten_memories,
    };
    let mut shown_documents = None;
    if include.shows_documents() {
        let documents = ledger.documents_of(&memory);
        let shapes = documents
            .iter()
            .map(|document| result_document(document, names, include));
        shown_documents = Some(shapes.collect());
    }
    let chunks = if include.chunks {
        Some(source_chunks(&memory, sources)?)
    } else {
        None
    };

    Ok(SearchResult::Memory(Box::new(MemorySearchResult {
        id: memory.id.clone(),
        memory: memory.text.clone(),
        metadata: non_empty_metadata(memory.metadata.clone()),
        updated_at: memory.updated_at,
        similarity: hit.similarity,
        trust: memory.trust,
        origin: memory.attribution.clone(),
        version: memory.version,
        root_memory_id: (memory.first_version != memory.id).then(|| memory.first_version.clone()),
        filepath,
        is_forgotten: memory.is_forgotten(now).then_some(true),
        context: include
            .related_memories
            .then(|| related_context(ledger, &memory, shown)),
        documents: shown_documents,
        chunks,
        is_aggregated: is_aggregated.then_some(true),
        explain: explain.then(|| explain_memory(ledger, &memory, shown, &hit.scores)),
    })))
}

/// Returns the chunks in which a memory was stated.
fn source_chunks(memory: &Memory, sources: &Sources) -> Result<Vec<SourceChunk>> {
    /// The most sources of a memory that are examined.
    const MAX_SOURCES: usize = 20;
    let (mut found, mut seen) = (Vec::new(), HashSet::new());
    for source in memory.sources.iter().take(MAX_SOURCES) {
        let forgotten = forgotten_spans(&sources.memories, &source.document);
        for chunks in &sources.chunks {
            for chunk in load_document_chunks(&chunks.index, source.document.as_str())? {
                let overlaps =
                    (chunk.start as usize) < source.end && source.start < chunk.end as usize;
                if overlaps && seen.insert((&source.document, chunk.position)) {
                    found.push(SourceChunk {
                        content: mask_text(&chunk.text, chunk.start as usize, &forgotten),
                        position: chunk.position,
                        document_id: source.document.clone(),
                        score: None,
                    });
                }
            }
        }
    }

    Ok(found)
}

/// Returns the sources of a memory and the versions of its history that are shown, with the parts of
/// its score.
fn explain_memory(
    ledger: &Ledger,
    memory: &Memory,
    shown: ShownMemories,
    scores: &search_engine::HitScores,
) -> MemoryExplanation {
    let mut sources = Vec::with_capacity(memory.sources.len());
    for source in &memory.sources {
        sources.push(StatedSource {
            document_id: source.document.clone(),
            span: Span {
                start: source.start as u64,
                end: source.end as u64,
            },
        });
    }

    let mut history = Vec::new();
    for version in ledger.memory_history(memory) {
        if version.id != memory.id && !shown.shows(&version) {
            continue;
        }
        history.push(MemoryHistoryEntry {
            id: version.id.clone(),
            memory: version.text.clone(),
            version: version.version,
            valid_from: version.said_at,
            valid_until: version.replaced_at,
        });
    }

    MemoryExplanation {
        scores: row_scores(scores),
        sources,
        kind: memory.kind,
        confidence: memory.confidence,
        trust: memory.trust,
        speaker: memory.speaker.clone(),
        is_inference: memory.is_inference,
        valid_from: memory.said_at,
        valid_until: memory.replaced_at,
        event: memory.event,
        history,
        contradicts: ledger.present_contradictions(memory, shown.now),
    }
}
