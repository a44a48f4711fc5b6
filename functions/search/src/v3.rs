//! `POST /v3/search`: chunks, grouped by document.

use std::sync::Arc;
use std::time::Instant;

use axum::extract::State;
use container_index::{IndexedChunks, partial_segments, read_until_fetched};
use domain::{
    Attribution, ContainerId, ContainerTag, Document, DocumentId, Filter, IndexedDocument,
    Metadata, Result, Tenant, Timestamp, Trust,
};
use edge::{
    ApiResult, Auth, Json, MAX_ENTRIES, ProviderNames, ReadContent, TypeName, deserialize_bool,
    deserialize_count, parse_scope,
};
use openapi::{ErrorAnswer, Operation};
use schemars::JsonSchema;
use search_engine::{ChunkInput, SearchProgress};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use service::{
    ContainerScope, explain_empty_result, find_document, join_reasons, read_document_texts,
};

use crate::SearchState;
use crate::boosts::{Boosts, may_have_assistant};
use crate::engine::{
    FoundChunk, SearchQuestion, elapsed_millis, explain_threshold, find_chunks,
    find_physical_containers, load_document_chunks, open_chunks,
};
use crate::rank::{Candidates, ResultRow, merge_answers, query_wordings};
use crate::rerank::{RERANK_CANDIDATES, rerank};
use crate::summaries::{is_within, summary_schema};
use crate::v4::{
    MAX_LIMIT, MAX_QUESTION_CHARS, check_limit, check_question, check_threshold, non_empty_metadata,
};

/// The number of documents if the request does not set a limit. Part of the API.
const DEFAULT_LIMIT: usize = 10;
/// The number of chunks that are examined for each document of the answer, so that a document with
/// many hits does not crowd out the others.
const CHUNKS_PER_DOCUMENT: usize = 8;

/// A question, and the documents to search.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(rename = "SearchDocumentsRequest", extend("required" = ["q"]))]
pub(crate) struct DocumentSearchRequest {
    /// A question or single terms.
    #[schemars(length(min = 1, max = MAX_QUESTION_CHARS))]
    q: String,
    /// A container tag, in addition to `containerTags`.
    #[schemars(with = "Option<ContainerTag>")]
    container_tag: Option<String>,
    /// Container tags. Without any, all that the key reaches.
    #[schemars(with = "Option<Vec<ContainerTag>>", length(max = MAX_ENTRIES))]
    container_tags: Option<Vec<String>>,
    /// The id or customId of the only document to search.
    doc_id: Option<String>,
    /// The similarity below which a chunk is left out.
    #[schemars(range(min = 0, max = 1), extend("default" = 0))]
    chunk_threshold: Option<f32>,
    /// Conditions on metadata.
    #[schemars(with = "Value", extend("$ref" = "#/components/schemas/Filters"))]
    filters: Option<Value>,
    /// The path of the documents, or a prefix of it if it ends with `/`.
    filepath: Option<String>,
    /// True for documents with their whole text.
    #[serde(deserialize_with = "deserialize_bool")]
    #[schemars(schema_with = "edge::flexible_boolean_schema")]
    include_full_docs: bool,
    /// True for documents with their summaries.
    #[serde(deserialize_with = "deserialize_bool")]
    #[schemars(schema_with = "edge::flexible_boolean_schema")]
    include_summary: bool,
    /// The most documents.
    #[serde(deserialize_with = "deserialize_count")]
    #[schemars(schema_with = "edge::count_schema::<1, MAX_LIMIT>")]
    #[schemars(extend("default" = DEFAULT_LIMIT))]
    limit: Option<usize>,
    /// False to get the chunks before and after each hit as well.
    #[schemars(extend("default" = true))]
    only_matching_chunks: Option<bool>,
    /// Orders the best chunks, at least 50, by a second look at their texts, or by the reranking model
    /// that the operator has chosen.
    #[serde(deserialize_with = "deserialize_bool")]
    #[schemars(schema_with = "edge::flexible_boolean_schema")]
    rerank: bool,
    /// Asks in up to three wordings and takes the best of each chunk. No model takes part.
    #[serde(deserialize_with = "deserialize_bool")]
    #[schemars(schema_with = "edge::flexible_boolean_schema")]
    rewrite_query: bool,
}

/// The documents that were found.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct DocumentSearchResponse {
    /// The documents, the one with the best chunk first.
    #[schemars(length(max = MAX_LIMIT))]
    results: Vec<DocumentResult>,
    /// The duration in milliseconds.
    timing: u64,
    /// The number of documents.
    total: usize,
    /// The reason why there are no results, and what to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<String>,
}

/// A document with the chunks that were found in it.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "DocumentSearchResult")]
struct DocumentResult {
    /// Its id.
    document_id: DocumentId,
    /// Its title.
    title: Option<String>,
    /// The type of its content.
    r#type: TypeName,
    /// The score of its best chunk.
    #[schemars(range(min = 0, max = 1))]
    score: f32,
    /// Its metadata.
    #[schemars(with = "Option<Metadata>")]
    metadata: Option<Map<String, Value>>,
    /// The time of creation.
    created_at: Timestamp,
    /// The time of the last change.
    updated_at: Timestamp,
    /// The trust in the content. Absent for documents that were processed before trust was
    /// recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    trust: Option<Trust>,
    /// The place where the content was read, unless it comes from the user.
    #[serde(skip_serializing_if = "Option::is_none")]
    origin: Option<Attribution>,
    /// The chunks that were found, the best first, or in the order of the text if neighbours are
    /// among them.
    #[schemars(length(min = 1))]
    chunks: Vec<ChunkResult>,
    /// Its summary, if the request asks for it. Null if it has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "summary_schema")]
    summary: Option<Option<String>>,
    /// Its whole text, if the request asks for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    content: Option<String>,
}

/// A chunk of a document.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "FoundChunk")]
struct ChunkResult {
    /// The text.
    content: String,
    /// True if it was found itself, false for the neighbour of a chunk that was.
    is_relevant: bool,
    /// Its position in the document, from 0.
    position: u32,
    /// How well it answers the question.
    #[schemars(range(min = 0, max = 1))]
    score: f32,
}

/// The hits of one document.
#[derive(Clone)]
struct DocumentGroup {
    document: IndexedDocument,
    container: usize,
    /// The hits, the best first, then their neighbours.
    chunks: Vec<ChunkResult>,
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
    let mut question = SearchQuestion {
        text: check_question(&request.q, "q")?,
        models: Arc::default(),
        filter: Filter::parse_optional(request.filters.as_ref())?,
        filepath: request.filepath.clone(),
        only_document: only_document.as_ref().map(|document| document.id.as_str()),
        limit: limit * CHUNKS_PER_DOCUMENT,
        now: state.app.ctx.clock.now(),
        recorded_until: None,
        include_forgotten: false,
    };

    let ids = find_physical_containers(&state.app.ctx, &tenant, &scope).await?;
    let indexed_chunks = open_chunks(&state, &tenant, &ids).await?;
    question.models = state
        .questions
        .embed_question(
            &state.app.ctx,
            &tenant,
            &ids,
            &indexed_chunks,
            question.text,
        )
        .await;
    let found = find_document_chunks(&state, &tenant, &indexed_chunks, &question, &request).await?;
    let mut groups = group_by_document(&found, threshold, limit);
    if request.only_matching_chunks == Some(false) {
        let partial = partial_segments(&indexed_chunks);
        let read = || add_all_neighbours(&indexed_chunks, groups.clone());
        groups = read_until_fetched(&state.app.ctx, &tenant, &partial, read).await??;
    }
    let mut results = Vec::with_capacity(groups.len());
    for group in groups {
        results.push(document_result(group, state.app.provider_names));
    }

    if request.include_full_docs || request.include_summary {
        add_document_parts(&state, &tenant, &ids, &request, &mut results).await?;
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
    let mut reasons = explain_empty_result(&state.app.ctx, tenant, scope, ids).await?;
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
/// asks for. A reranker sees more of them than are examined.
async fn find_document_chunks(
    state: &SearchState,
    tenant: &Tenant,
    indexed_chunks: &[IndexedChunks],
    question: &SearchQuestion<'_>,
    request: &DocumentSearchRequest,
) -> Result<Vec<FoundChunk>> {
    let wordings = match request.rewrite_query {
        true => query_wordings(question.text),
        false => vec![question.text.to_owned()],
    };
    let limit = match request.rerank {
        true => question.limit.max(RERANK_CANDIDATES),
        false => question.limit,
    };

    let boosts = Boosts::new(question.text, question.now);
    let partial = partial_segments(indexed_chunks);
    let mut answers = Vec::new();
    for text in &wordings {
        let question = SearchQuestion {
            text,
            limit: boosts.candidate_limit(limit),
            ..question.clone()
        };
        let mut progress = SearchProgress::default();
        let read = || find_chunk_rows(indexed_chunks, &question, &mut progress);
        let mut rows = read_until_fetched(&state.app.ctx, tenant, &partial, read).await??;
        boosts.apply(&mut rows, limit);
        answers.push(rows);
    }

    let mut candidates = Candidates {
        chunks: merge_answers(answers, limit),
        memories: Vec::new(),
    };
    if request.rerank {
        rerank(&*state.reranker, question.text, &mut candidates).await;
        candidates.chunks.truncate(question.limit);
    }

    let mut chunks = Vec::with_capacity(candidates.chunks.len());
    for row in candidates.chunks {
        if let ResultRow::Chunk(found) = row {
            chunks.push(*found);
        }
    }

    Ok(chunks)
}

fn find_chunk_rows(
    indexed_chunks: &[IndexedChunks],
    question: &SearchQuestion<'_>,
    progress: &mut SearchProgress,
) -> Result<Vec<ResultRow>> {
    let found = find_chunks(indexed_chunks, question, &may_have_assistant, progress)?;
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
                    chunks: Vec::new(),
                });
                groups.len() - 1
            }
            None => continue,
        };

        groups[group_index].chunks.push(ChunkResult {
            content: found.hit.text.clone(),
            is_relevant: true,
            position: found.hit.position,
            score: found.hit.similarity,
        });
    }

    groups
}

/// Adds the chunks before and after each hit, marked as not relevant themselves.
fn add_all_neighbours(
    indexed_chunks: &[IndexedChunks],
    mut groups: Vec<DocumentGroup>,
) -> Result<Vec<DocumentGroup>> {
    // All documents are read before one fails, so that what all lack is fetched at once.
    let mut documents = Vec::with_capacity(groups.len());
    for group in &groups {
        let index = &indexed_chunks[group.container].index;
        documents.push(load_document_chunks(index, group.document.id.as_str()));
    }
    for (group, chunks) in groups.iter_mut().zip(documents) {
        add_neighbours(chunks?, group);
    }
    Ok(groups)
}

/// Adds those of the chunks of its document to a group that are before or after a hit.
fn add_neighbours(chunks: Vec<ChunkInput>, group: &mut DocumentGroup) {
    let hit_positions: Vec<u32> = group.chunks.iter().map(|hit| hit.position).collect();
    for chunk in chunks {
        let is_adjacent = hit_positions
            .iter()
            .any(|hit| hit.abs_diff(chunk.position) == 1);
        if is_adjacent && !hit_positions.contains(&chunk.position) {
            group.chunks.push(ChunkResult {
                content: chunk.text,
                is_relevant: false,
                position: chunk.position,
                score: 0.0,
            });
        }
    }
}

fn document_result(group: DocumentGroup, names: ProviderNames) -> DocumentResult {
    let DocumentGroup {
        document,
        mut chunks,
        ..
    } = group;
    let score = chunks.iter().map(|chunk| chunk.score).fold(0.0, f32::max);
    let has_neighbours = chunks.iter().any(|chunk| !chunk.is_relevant);
    if has_neighbours {
        chunks.sort_by_key(|chunk| chunk.position);
    }

    let (trust, origin) = match document.authorship {
        Some(authorship) => (Some(authorship.trust), authorship.attribution),
        None => (None, None),
    };

    DocumentResult {
        document_id: document.id,
        title: document.title,
        r#type: names.of_type(document.kind),
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

/// Adds the texts and the summaries that the request asks for, except for documents that have moved
/// elsewhere since the index was read. The records are read once for both.
///
/// # Errors
/// Those of [`read_document_texts`].
async fn add_document_parts(
    state: &SearchState,
    tenant: &Tenant,
    containers: &[ContainerId],
    request: &DocumentSearchRequest,
    results: &mut [DocumentResult],
) -> Result<()> {
    let ctx = &state.app.ctx;
    let mut ids = Vec::with_capacity(results.len());
    for result in results.iter() {
        ids.push(result.document_id.clone());
    }
    let documents = ctx.documents.get(tenant, &ids).await?;

    let (mut present_results, mut present_documents) = (Vec::new(), Vec::new());
    for (result, document) in results.iter_mut().zip(documents) {
        let document = document.filter(|document| is_within(document, containers));
        if request.include_summary {
            let summary = document.as_ref().and_then(Document::summary);
            result.summary = Some(summary.map(str::to_owned));
        }
        if let Some(document) = document {
            present_results.push(result);
            present_documents.push(document);
        }
    }

    if request.include_full_docs {
        let texts = read_document_texts(ctx, tenant, &present_documents).await?;
        for (result, text) in present_results.into_iter().zip(texts) {
            result.content = text;
        }
    }
    Ok(())
}

/// Describes the operations of this module.
pub(crate) fn operations() -> Vec<Operation> {
    vec![
        Operation::post("/v3/search", "search_documents")
            .group("Recall (Search)")
            .summary("Find chunks, grouped by document.")
            .description(
                "Fields of other services such as `documentThreshold` are accepted and have no \
                 effect.",
            )
            .body::<DocumentSearchRequest>(json!({
                "q": "Where does the heron wait?",
                "containerTag": "user_42",
                "onlyMatchingChunks": false,
            }))
            .answer::<DocumentSearchResponse>(
                "The documents, the one with the best chunk first.",
                json!({
                    "results": [
                        {
                            "documentId": "acxV5LHMEsG2hMSNb4umbn",
                            "title": null,
                            "type": "text",
                            "score": 0.87,
                            "metadata": {"source": "diary"},
                            "createdAt": "2026-03-01T09:30:00.000Z",
                            "updatedAt": "2026-03-01T09:30:02.120Z",
                            "chunks": [
                                {
                                    "content": "The heron waits in the reeds of the north bank.",
                                    "isRelevant": true,
                                    "position": 0,
                                    "score": 0.87,
                                },
                            ],
                        },
                    ],
                    "timing": 12,
                    "total": 1,
                }),
            )
            .error(ErrorAnswer::Invalid, "")
            .error(
                ErrorAnswer::NotFound,
                "There is no document with this id or customId.",
            )
            .error(
                ErrorAnswer::Conflict,
                "Several containers have a document with this customId. Name the container tag.",
            ),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rank::test_rows::chunk_row;

    /// Returns the chunk at a position of the document of all rows, with the similarity 0.5.
    fn found_chunk(position: u32) -> FoundChunk {
        let ResultRow::Chunk(mut found) = chunk_row("", "text", 0.5) else {
            unreachable!("a row of a chunk");
        };
        found.hit.position = position;
        *found
    }

    fn positions(group: DocumentGroup) -> Vec<u32> {
        let result = document_result(group, ProviderNames::default());
        result.chunks.iter().map(|chunk| chunk.position).collect()
    }

    #[test]
    fn chunks_keep_the_order_of_the_reranker() {
        let found = [4, 0, 2].map(found_chunk);
        let group = group_by_document(&found, 0.0, 1).remove(0);
        assert_eq!(positions(group), [4, 0, 2]);
    }
}
