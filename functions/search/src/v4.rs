//! `POST /v4/search`: memories, chunks, or both.

use std::time::Instant;

use axum::extract::State;
use container_index::{IndexedChunks, IndexedMemories};
use domain::{ContainerId, Error, Filter, Result, Tenant, Timestamp};
use edge::{
    ApiResult, Auth, Json, ReadContent, deserialize_bool, deserialize_count,
    deserialize_optional_object, parse_scope,
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use service::{ContainerScope, explain_emptiness, join_reasons};

use crate::SearchState;
use crate::engine::{
    SearchQuestion, elapsed_millis, explain_threshold, find_chunks, find_memories,
    find_physical_containers, open_chunks, open_memories,
};
use crate::rank::{ResultRow, merge_answers, mix_rows, query_wordings, rerank_rows};
use crate::rows::{SearchResult, aggregate_by_subject, chunk_result, memory_result};

/// The number of results if the request does not set a limit. Part of the API.
const DEFAULT_LIMIT: usize = 10;
/// The most results. Part of the API.
const MAX_LIMIT: usize = 100;
/// The similarity below which a result is left out, if the request does not set a threshold. Part
/// of the API.
pub const DEFAULT_THRESHOLD: f32 = 0.6;

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct SearchRequest {
    q: String,
    container_tag: Option<String>,
    container_tags: Option<Vec<String>>,
    threshold: Option<f32>,
    #[serde(deserialize_with = "deserialize_count")]
    limit: Option<usize>,
    search_mode: Option<SearchMode>,
    filters: Option<Value>,
    filepath: Option<String>,
    /// compat: typed clients send `null` for what is not set.
    #[serde(deserialize_with = "deserialize_optional_object")]
    include: Option<IncludedParts>,
    #[serde(deserialize_with = "deserialize_bool")]
    rerank: bool,
    #[serde(deserialize_with = "deserialize_bool")]
    rewrite_query: bool,
    #[serde(deserialize_with = "deserialize_bool")]
    aggregate: bool,
    #[serde(deserialize_with = "deserialize_bool")]
    explain: bool,
    as_of: Option<PointInTime>,
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

/// The optional parts of the results.
#[derive(Debug, Default, Clone, Copy, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct IncludedParts {
    #[serde(deserialize_with = "deserialize_bool")]
    pub(crate) documents: bool,
    #[serde(deserialize_with = "deserialize_bool")]
    pub(crate) summaries: bool,
    #[serde(deserialize_with = "deserialize_bool")]
    pub(crate) related_memories: bool,
    #[serde(deserialize_with = "deserialize_bool")]
    pub(crate) forgotten_memories: bool,
    #[serde(deserialize_with = "deserialize_bool")]
    pub(crate) chunks: bool,
}

impl SearchRequest {
    fn included_parts(&self) -> IncludedParts {
        self.include.unwrap_or_default()
    }
}

/// The past to search, by system time (`believed`), by valid time (`true`), or by both.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(untagged)]
enum PointInTime {
    /// The same time for both.
    Single(Timestamp),
    /// A time for each. An absent one means now.
    Separate {
        #[serde(default)]
        believed: Option<Timestamp>,
        #[serde(default)]
        r#true: Option<Timestamp>,
    },
}

#[derive(Debug, Serialize)]
pub(crate) struct SearchResponse {
    results: Vec<SearchResult>,
    /// The duration in milliseconds.
    timing: u64,
    total: usize,
    /// The reason why there are no results, and what to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<String>,
}

pub(crate) async fn search_memories(
    State(state): State<SearchState>,
    Auth { tenant, .. }: Auth<ReadContent>,
    Json(request): Json<SearchRequest>,
) -> ApiResult<Json<SearchResponse>> {
    let scope = parse_scope(
        request.container_tag.as_deref(),
        request.container_tags.as_deref(),
    )?;
    Ok(Json(search(&state, &tenant, &scope, &request).await?))
}

/// Searches for the present memories that answer the question of a profile request.
///
/// # Errors
/// [`Error::Invalid`] for a blank question, and those of the ports.
pub(crate) async fn search_for_profile(
    state: &SearchState,
    tenant: &Tenant,
    q: &str,
    scope: &ContainerScope,
    threshold: Option<f32>,
    filters: Option<Value>,
) -> Result<SearchResponse> {
    let request = SearchRequest {
        q: q.to_owned(),
        threshold,
        filters,
        ..SearchRequest::default()
    };

    search(state, tenant, scope, &request).await
}

async fn search(
    state: &SearchState,
    tenant: &Tenant,
    scope: &ContainerScope,
    request: &SearchRequest,
) -> Result<SearchResponse> {
    let begun = Instant::now();
    let search = Search::from_request(request, state.app.ctx.clock.now())?;
    let ids = find_physical_containers(&state.app.ctx, tenant, scope).await?;
    let sources = search.open_sources(state, tenant, &ids).await?;

    let mut rows = search.find_rows(&sources)?;
    if request.rerank {
        rerank_rows(&request.q, &mut rows);
    }
    rows.retain(|row| row.similarity() >= search.threshold);

    let mut results = Vec::with_capacity(rows.len());
    for row in rows {
        results.push(search.build_result(row, &sources)?);
    }
    if request.aggregate {
        results = aggregate_by_subject(results);
    }

    let hint = match results.is_empty() {
        true => {
            search
                .explain_empty_results(state, tenant, scope, &ids, &sources)
                .await?
        }
        false => None,
    };
    Ok(SearchResponse {
        total: results.len(),
        results,
        timing: elapsed_millis(begun),
        hint,
    })
}

/// A checked request.
#[derive(Clone)]
struct Search<'a> {
    request: &'a SearchRequest,
    mode: SearchMode,
    question: SearchQuestion<'a>,
    threshold: f32,
    /// The present time.
    now: Timestamp,
    /// The system time to search, if it is in the past.
    recorded_until: Option<Timestamp>,
}

/// The data to search: of every physical container in scope.
struct Sources {
    memories: Vec<IndexedMemories>,
    chunks: Vec<IndexedChunks>,
}

impl<'a> Search<'a> {
    /// Checks the fields of a request.
    ///
    /// # Errors
    /// [`Error::Invalid`] that names the first invalid field.
    fn from_request(request: &'a SearchRequest, now: Timestamp) -> Result<Self> {
        let threshold =
            check_threshold(request.threshold.unwrap_or(DEFAULT_THRESHOLD), "threshold")?;
        let (recorded_until, valid_at) = match request.as_of {
            Some(point) => point.recorded_and_valid(),
            None => (None, None),
        };
        let question = SearchQuestion {
            text: check_question(&request.q)?,
            filter: Filter::parse_optional(request.filters.as_ref())?,
            filepath: request.filepath.clone(),
            only_document: None,
            limit: check_limit(request.limit, DEFAULT_LIMIT)?,
            now: valid_at.unwrap_or(now),
            include_forgotten: request.included_parts().forgotten_memories,
        };

        Ok(Self {
            request,
            mode: request.search_mode.unwrap_or_default(),
            question,
            threshold,
            now,
            recorded_until,
        })
    }

    /// Opens the data that the search and its results need, as of the requested time.
    async fn open_sources(
        &self,
        state: &SearchState,
        tenant: &Tenant,
        ids: &[ContainerId],
    ) -> Result<Sources> {
        let mut memories = match self.mode {
            SearchMode::Memories | SearchMode::Hybrid => open_memories(state, tenant, ids).await?,
            SearchMode::Documents => Vec::new(),
        };
        if self.request.as_of.is_some() {
            let recorded_until = self.recorded_until.unwrap_or(self.now);
            for memories in &mut memories {
                *memories = memories.as_of(recorded_until, self.question.now);
            }
        }

        let chunks = match self.mode {
            SearchMode::Memories if !self.request.included_parts().chunks => Vec::new(),
            _ => open_chunks(state, tenant, ids).await?,
        };

        Ok(Sources { memories, chunks })
    }

    /// Searches by the question, or by several wordings of it if the request asks for that.
    fn find_rows(&self, sources: &Sources) -> Result<Vec<ResultRow>> {
        if !self.request.rewrite_query {
            return self.find_rows_of(&self.question, sources);
        }

        let mut answers = Vec::new();
        for text in &query_wordings(self.question.text) {
            let question = SearchQuestion {
                text,
                ..self.question.clone()
            };
            answers.push(self.find_rows_of(&question, sources)?);
        }

        Ok(merge_answers(answers, self.question.limit))
    }

    fn find_rows_of(
        &self,
        question: &SearchQuestion<'_>,
        sources: &Sources,
    ) -> Result<Vec<ResultRow>> {
        let mut chunks = match self.mode {
            SearchMode::Memories => Vec::new(),
            SearchMode::Hybrid | SearchMode::Documents => find_chunks(&sources.chunks, question)?,
        };
        chunks.retain(|found| {
            let is_recorded = self
                .recorded_until
                .is_none_or(|time| found.document.created_at <= time.as_millis());
            is_recorded && found.hit.similarity >= self.threshold
        });

        let memories = find_memories(&sources.memories, question)?;
        Ok(mix_rows(chunks, memories, question.limit))
    }

    /// Returns the reason why there are no results, and what to do.
    async fn explain_empty_results(
        &self,
        state: &SearchState,
        tenant: &Tenant,
        scope: &ContainerScope,
        ids: &[ContainerId],
        sources: &Sources,
    ) -> Result<Option<String>> {
        let mut reasons = explain_emptiness(&state.app.ctx, tenant, scope, ids).await?;

        let without_threshold = Search {
            threshold: 0.0,
            ..self.clone()
        };
        let rows = without_threshold.find_rows(sources)?;
        let similarities = rows.iter().map(ResultRow::similarity);
        reasons.extend(explain_threshold(
            "result",
            similarities,
            "threshold",
            self.threshold,
        ));

        let has_memories = sources
            .memories
            .iter()
            .any(|memories| memories.ledger().memories().next().is_some());
        if self.mode == SearchMode::Memories && !has_memories && !sources.memories.is_empty() {
            reasons.push(
                "No memories were found in the documents. `searchMode`: `hybrid` searches their \
                 text as well."
                    .to_owned(),
            );
        }

        Ok(join_reasons(&reasons))
    }

    /// Returns a row in the shape of the API.
    fn build_result(&self, row: ResultRow, sources: &Sources) -> Result<SearchResult> {
        let (include, explain) = (&self.request.included_parts(), self.request.explain);
        match row {
            ResultRow::Chunk(found) => Ok(chunk_result(*found, include, explain)),
            ResultRow::Memory(found) => memory_result(
                *found,
                &sources.memories,
                &sources.chunks,
                include,
                explain,
                self.question.now,
            ),
        }
    }
}

impl PointInTime {
    /// Returns the system time and the valid time: the last moments at which a statement may have
    /// been recorded and said.
    fn recorded_and_valid(self) -> (Option<Timestamp>, Option<Timestamp>) {
        match self {
            Self::Single(time) => (Some(time), Some(time)),
            Self::Separate { believed, r#true } => (believed, r#true),
        }
    }
}

/// Checks the text of a question.
pub(crate) fn check_question(q: &str) -> Result<&str> {
    /// More than any question has. A whole document as a question would cost as much as indexing
    /// it.
    const MAX_CHARS: usize = 10_000;

    if q.trim().is_empty() {
        return Err(Error::invalid_field("q", "the question is empty"));
    }

    if q.chars().count() > MAX_CHARS {
        return Err(Error::invalid_field(
            "q",
            format!("at most {MAX_CHARS} characters"),
        ));
    }

    Ok(q)
}

/// Checks the number of results.
pub(crate) fn check_limit(limit: Option<usize>, default: usize) -> Result<usize> {
    let limit = limit.unwrap_or(default);
    if (1..=MAX_LIMIT).contains(&limit) {
        Ok(limit)
    } else {
        Err(Error::invalid_field("limit", format!("1 to {MAX_LIMIT}")))
    }
}

/// Checks a threshold.
pub(crate) fn check_threshold(value: f32, field: &str) -> Result<f32> {
    if (0.0..=1.0).contains(&value) {
        Ok(value)
    } else {
        Err(Error::invalid_field(field, "a number from 0 to 1"))
    }
}

/// Returns the metadata, or `None` (`null` in the answer) if there is none.
pub(crate) fn non_empty_metadata(metadata: Map<String, Value>) -> Option<Map<String, Value>> {
    (!metadata.is_empty()).then_some(metadata)
}
