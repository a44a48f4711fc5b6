//! `POST /v4/search`.

use std::time::Instant;

use axum::extract::State;
use domain::{DocumentType, Error, Filter, Result, Timestamp};
use edge::{ApiResult, Auth, Json, Read, count, flexible_bool, scope};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::Recall;
use crate::engine::{Answer, Found, Question, ask};

/// Results, when the request does not say. Contract.
const DEFAULT_LIMIT: usize = 10;
/// The most results. Contract.
const MAX_LIMIT: usize = 100;
/// Similarity below which a result is left out, when the request does not say. Contract.
const DEFAULT_THRESHOLD: f32 = 0.6;

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct SearchRequest {
    q: String,
    container_tag: Option<String>,
    container_tags: Option<Vec<String>>,
    threshold: Option<f32>,
    #[serde(deserialize_with = "count")]
    limit: Option<usize>,
    search_mode: Option<SearchMode>,
    filters: Option<Value>,
    filepath: Option<String>,
    include: Include,
    #[serde(deserialize_with = "flexible_bool")]
    explain: bool,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum SearchMode {
    /// Extracted memories only.
    #[default]
    Memories,
    /// Memories and chunks on one scale.
    Hybrid,
    /// Chunks only.
    Documents,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Include {
    documents: bool,
}

#[derive(Debug, Serialize)]
pub(crate) struct SearchResponse {
    results: Vec<SearchResult>,
    /// Milliseconds.
    timing: u64,
    total: usize,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct SearchResult {
    id: String,
    chunk: String,
    metadata: Option<Map<String, Value>>,
    updated_at: Timestamp,
    similarity: f32,
    #[serde(skip_serializing_if = "Option::is_none")]
    filepath: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    documents: Option<[ResultDocument; 1]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    explain: Option<Value>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct ResultDocument {
    id: String,
    title: Option<String>,
    r#type: DocumentType,
    metadata: Option<Map<String, Value>>,
    created_at: Timestamp,
    updated_at: Timestamp,
}

pub(crate) async fn search(
    State(recall): State<Recall>,
    Auth { tenant, .. }: Auth<Read>,
    Json(request): Json<SearchRequest>,
) -> ApiResult<Json<SearchResponse>> {
    let begun = Instant::now();
    let threshold = threshold(request.threshold.unwrap_or(DEFAULT_THRESHOLD), "threshold")?;
    let question = Question {
        text: text(&request.q)?,
        scope: scope(request.container_tag.as_deref(), request.container_tags.as_deref())?,
        filter: request.filters.as_ref().filter(|value| !value.is_null()).map(Filter::parse).transpose()?,
        filepath: request.filepath.clone(),
        only_document: None,
        limit: limit(request.limit, DEFAULT_LIMIT)?,
    };
    let answer = match request.search_mode.unwrap_or_default() {
        SearchMode::Hybrid | SearchMode::Documents => ask(&recall, &tenant, &question).await?,
        // No memory has been extracted from anything, so a search of memories alone finds none.
        SearchMode::Memories => {
            question.scope.tags.iter().try_for_each(|tag| tenant.check_reach(tag))?;
            Answer { found: Vec::new(), indexes: Vec::new() }
        }
    };
    let good = answer.found.into_iter().filter(|found| found.hit.similarity >= threshold);
    let results: Vec<_> = good.map(|found| result(found, &request)).collect();
    let timing = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
    Ok(Json(SearchResponse { total: results.len(), results, timing }))
}

/// The question, checked.
pub(crate) fn text(q: &str) -> Result<&str> {
    /// More words than any question has; a whole document as a question would cost as much as indexing it.
    const MAX_CHARS: usize = 10_000;
    if q.trim().is_empty() {
        return Err(Error::invalid_field("q", "the question is empty"));
    }
    if q.chars().count() > MAX_CHARS {
        return Err(Error::invalid_field("q", format!("at most {MAX_CHARS} characters")));
    }
    Ok(q)
}

/// A number of results, checked.
pub(crate) fn limit(limit: Option<usize>, default: usize) -> Result<usize> {
    let limit = limit.unwrap_or(default);
    if (1..=MAX_LIMIT).contains(&limit) {
        Ok(limit)
    } else {
        Err(Error::invalid_field("limit", format!("1 to {MAX_LIMIT}")))
    }
}

/// A threshold, checked.
pub(crate) fn threshold(value: f32, field: &str) -> Result<f32> {
    if (0.0..=1.0).contains(&value) {
        Ok(value)
    } else {
        Err(Error::invalid_field(field, "a number from 0 to 1"))
    }
}

/// `null` where there is no metadata.
pub(crate) fn some_metadata(metadata: Map<String, Value>) -> Option<Map<String, Value>> {
    (!metadata.is_empty()).then_some(metadata)
}

fn result(found: Found, request: &SearchRequest) -> SearchResult {
    let Found { hit, document } = found;
    let time = Timestamp::from_millis;
    let explain = request.explain.then(|| {
        json!({
            "documentId": document.id,
            "position": hit.position,
            "span": {"start": hit.start, "end": hit.end},
            "headings": hit.headings.split('\n').filter(|text| !text.is_empty()).collect::<Vec<_>>(),
            "scores": {
                "lexical": hit.scores.lexical,
                "vector": hit.scores.vector,
                "context": hit.scores.context,
                "fused": hit.scores.fused,
            },
        })
    });
    let documents = request.include.documents.then(|| {
        [ResultDocument {
            id: document.id.to_string(),
            title: document.title.clone(),
            r#type: document.kind,
            metadata: some_metadata(document.metadata.clone()),
            created_at: time(document.created_at),
            updated_at: time(document.updated_at),
        }]
    });
    SearchResult {
        id: format!("{}-{}", document.id, hit.position),
        chunk: hit.text,
        metadata: some_metadata(document.metadata),
        updated_at: time(document.updated_at),
        similarity: hit.similarity,
        filepath: document.filepath,
        documents,
        explain,
    }
}
