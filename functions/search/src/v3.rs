//! `POST /v3/search`: chunks, grouped by document.

use std::collections::BTreeMap;
use std::time::Instant;

use axum::extract::State;
use container_index::IndexedChunks;
use domain::{
    Attribution, ContainerId, DocumentType, Filter, IndexedDocument, Result, Tenant, Timestamp,
    Trust,
};
use edge::{ApiResult, Auth, Json, ReadContent, deserialize_bool, deserialize_count, parse_scope};
use search_engine::ContainerIndex;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use service::{ContainerScope, explain_emptiness, find_document, join_reasons, read_document_text};

use crate::SearchState;
use crate::engine::{
    FoundChunk, SearchQuestion, elapsed_millis, explain_threshold, find_chunks,
    find_physical_containers, load_document_chunks, open_chunks,
};
use crate::rank::{ResultRow, merge_answers, query_wordings, rerank_rows};
use crate::v4::{check_limit, check_question, check_threshold, non_empty_metadata};

/// The number of documents if the request does not set a limit. Part of the API.
const DEFAULT_LIMIT: usize = 10;
/// The number of chunks that are examined for each document of the answer, so that a document with
/// many hits does not crowd out the others.
const CHUNKS_PER_DOCUMENT: usize = 8;

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct DocumentSearchRequest {
    q: String,
    container_tag: Option<String>,
    container_tags: Option<Vec<String>>,
    doc_id: Option<String>,
    chunk_threshold: Option<f32>,
    filters: Option<Value>,
    filepath: Option<String>,
    #[serde(deserialize_with = "deserialize_bool")]
    include_full_docs: bool,
    #[serde(deserialize_with = "deserialize_bool")]
    include_summary: bool,
    #[serde(deserialize_with = "deserialize_count")]
    limit: Option<usize>,
    only_matching_chunks: Option<bool>,
    #[serde(deserialize_with = "deserialize_bool")]
    rerank: bool,
    #[serde(deserialize_with = "deserialize_bool")]
    rewrite_query: bool,
}

#[derive(Debug, Serialize)]
pub(crate) struct DocumentSearchResponse {
    results: Vec<DocumentResult>,
    /// The duration in milliseconds.
    timing: u64,
    total: usize,
    /// The reason why there are no results, and what to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<String>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct DocumentResult {
    document_id: String,
    title: Option<String>,
    r#type: DocumentType,
    score: f32,
    metadata: Option<Map<String, Value>>,
    created_at: Timestamp,
    updated_at: Timestamp,
    /// The trust in the content. `None` for documents that were processed before trust was
    /// recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    trust: Option<Trust>,
    /// The place where the content was read, unless it comes from the user.
    #[serde(skip_serializing_if = "Option::is_none")]
    origin: Option<Attribution>,
    chunks: Vec<ChunkResult>,
    /// Requested by `includeSummary`. Always `null`, because no summaries are made.
    #[serde(skip_serializing_if = "Option::is_none")]
    summary: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    content: Option<String>,
}

#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
struct ChunkResult {
    content: String,
    is_relevant: bool,
    position: u32,
    score: f32,
}

/// The hits of one document.
struct DocumentGroup {
    document: IndexedDocument,
    container: usize,
    chunks: BTreeMap<u32, ChunkResult>,
}

pub(crate) async fn search_documents(
    State(state): State<SearchState>,
    Auth { tenant, .. }: Auth<ReadContent>,
    Json(request): Json<DocumentSearchRequest>,
) -> ApiResult<Json<DocumentSearchResponse>> {
    let started = Instant::now();
    let mut scope = parse_scope(
        request.container_tag.as_deref(),
        request.container_tags.as_deref(),
    )?;
    let only_document = match &request.doc_id {
        Some(id) => Some(find_document(&state.app.ctx, &tenant, id, &scope).await?),
        None => None,
    };

    if let Some(document) = &only_document {
        scope.tags = vec![document.tag.clone()];
    }

    let threshold = check_threshold(request.chunk_threshold.unwrap_or(0.0), "chunkThreshold")?;
    let limit = check_limit(request.limit, DEFAULT_LIMIT)?;
    let question = SearchQuestion {
        text: check_question(&request.q)?,
        filter: Filter::parse_optional(request.filters.as_ref())?,
        filepath: request.filepath.clone(),
        only_document: only_document.as_ref().map(|document| document.id.as_str()),
        limit: limit * CHUNKS_PER_DOCUMENT,
        now: state.app.ctx.clock.now(),
        include_forgotten: false,
    };

    let ids = find_physical_containers(&state.app.ctx, &tenant, &scope).await?;
    let indexed_chunks = open_chunks(&state, &tenant, &ids).await?;
    let found = find_document_chunks(&indexed_chunks, &question, &request)?;
    let mut results = Vec::new();
    for mut group in group_by_document(&found, threshold, limit) {
        if request.only_matching_chunks == Some(false) {
            add_neighbours(&indexed_chunks[group.container].index, &mut group)?;
        }
        let mut result = document_result(group);
        if request.include_summary {
            result.summary = Some(Value::Null);
        }
        results.push(result);
    }

    if request.include_full_docs {
        add_full_texts(&state, &tenant, &mut results).await?;
    }

    let hint = match results.is_empty() {
        true => explain_empty_results(&state, &tenant, &scope, &ids, &found, threshold).await?,
        false => None,
    };
    Ok(Json(DocumentSearchResponse {
        total: results.len(),
        results,
        timing: elapsed_millis(started),
        hint,
    }))
}

/// Returns the reason why there are no results, and what to do.
async fn explain_empty_results(
    state: &SearchState,
    tenant: &Tenant,
    scope: &ContainerScope,
    ids: &[ContainerId],
    found: &[FoundChunk],
    threshold: f32,
) -> Result<Option<String>> {
    let mut reasons = explain_emptiness(&state.app.ctx, tenant, scope, ids).await?;
    let similarities = found.iter().map(|found| found.hit.similarity);
    reasons.extend(explain_threshold(
        "chunk",
        similarities,
        "chunkThreshold",
        threshold,
    ));
    Ok(join_reasons(&reasons))
}

/// Finds the chunks that answer the question, with the rewriting and reranking that the request
/// asks for.
fn find_document_chunks(
    indexed_chunks: &[IndexedChunks],
    question: &SearchQuestion<'_>,
    request: &DocumentSearchRequest,
) -> Result<Vec<FoundChunk>> {
    let mut rows = if request.rewrite_query {
        let mut answers = Vec::new();
        for text in &query_wordings(question.text) {
            let question = SearchQuestion {
                text,
                ..question.clone()
            };
            answers.push(find_chunk_rows(indexed_chunks, &question)?);
        }
        merge_answers(answers, question.limit)
    } else {
        find_chunk_rows(indexed_chunks, question)?
    };

    if request.rerank {
        rerank_rows(question.text, &mut rows);
    }

    let mut chunks = Vec::with_capacity(rows.len());
    for row in rows {
        if let ResultRow::Chunk(found) = row {
            chunks.push(*found);
        }
    }

    Ok(chunks)
}

fn find_chunk_rows(
    indexed_chunks: &[IndexedChunks],
    question: &SearchQuestion<'_>,
) -> Result<Vec<ResultRow>> {
    let found = find_chunks(indexed_chunks, question)?;
    let rows = found.into_iter().map(Box::new).map(ResultRow::Chunk);
    Ok(rows.collect())
}

/// Groups the hits by document. The documents are in the order of their best hits.
fn group_by_document(found: &[FoundChunk], threshold: f32, limit: usize) -> Vec<DocumentGroup> {
    let mut groups: Vec<DocumentGroup> = Vec::new();
    for found in found
        .iter()
        .filter(|found| found.hit.similarity >= threshold)
    {
        let existing = groups
            .iter()
            .position(|group| group.document.id == found.document.id);
        let group_index = match existing {
            Some(index) => index,
            None if groups.len() < limit => {
                groups.push(DocumentGroup {
                    document: found.document.clone(),
                    container: found.hit.container,
                    chunks: BTreeMap::new(),
                });
                groups.len() - 1
            }
            None => continue,
        };

        let (position, score) = (found.hit.position, found.hit.similarity);
        let chunk = ChunkResult {
            content: found.hit.text.clone(),
            is_relevant: true,
            position,
            score,
        };
        groups[group_index].chunks.insert(position, chunk);
    }

    groups
}

/// Adds the chunks before and after each hit, marked as not relevant themselves.
fn add_neighbours(index: &ContainerIndex, group: &mut DocumentGroup) -> Result<()> {
    let hit_positions: Vec<u32> = group.chunks.keys().copied().collect();
    for chunk in load_document_chunks(index, group.document.id.as_str())? {
        let is_adjacent = hit_positions
            .iter()
            .any(|hit| hit.abs_diff(chunk.position) == 1);
        if is_adjacent {
            let neighbour = ChunkResult {
                content: chunk.text,
                is_relevant: false,
                position: chunk.position,
                score: 0.0,
            };
            group.chunks.entry(chunk.position).or_insert(neighbour);
        }
    }

    Ok(())
}

fn document_result(group: DocumentGroup) -> DocumentResult {
    let document = group.document;
    let mut chunks: Vec<ChunkResult> = group.chunks.into_values().collect();
    let score = chunks.iter().map(|chunk| chunk.score).fold(0.0, f32::max);
    let has_neighbours = chunks.iter().any(|chunk| !chunk.is_relevant);
    if !has_neighbours {
        chunks.sort_by(|a, b| b.score.total_cmp(&a.score));
    }

    let (trust, origin) = match document.authorship {
        Some(authorship) => (Some(authorship.trust), authorship.attribution),
        None => (None, None),
    };

    DocumentResult {
        document_id: document.id.to_string(),
        title: document.title,
        r#type: document.kind,
        score,
        metadata: non_empty_metadata(document.metadata),
        created_at: Timestamp::from_millis(document.created_at),
        updated_at: Timestamp::from_millis(document.updated_at),
        trust,
        origin,
        chunks,
        summary: None,
        content: None,
    }
}

async fn add_full_texts(
    state: &SearchState,
    tenant: &Tenant,
    results: &mut [DocumentResult],
) -> Result<()> {
    let ctx = &state.app.ctx;
    let ids: Vec<_> = results
        .iter()
        .filter_map(|result| domain::DocumentId::parse(&result.document_id))
        .collect();
    let documents = ctx.documents.get(tenant, &ids).await?;

    for (result, document) in results.iter_mut().zip(documents) {
        if let Some(document) = document {
            result.content = read_document_text(ctx, tenant, &document).await?;
        }
    }

    Ok(())
}
