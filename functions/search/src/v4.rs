//! `POST /v4/search`: memories, chunks, or both.

use std::sync::Arc;
use std::time::Instant;

use axum::extract::State;
use domain::{ContainerId, ContainerTag, Error, Filter, Result, Tenant, Timestamp};
use edge::{
    ApiResult, Auth, Json, MAX_ENTRIES, ProviderNames, ReadContent, deserialize_bool,
    deserialize_count, deserialize_optional_object, parse_scope,
};
use openapi::{ErrorAnswer, Operation};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use service::ContainerScope;

use crate::SearchState;
use crate::engine::{SearchQuestion, elapsed_millis};
use crate::rank::ResultRow;
use crate::rows::{SearchResult, chunk_result, memory_result};
use crate::run::{Search, Sources};
use crate::summaries::load_summaries;

/// The number of results if the request does not set a limit. Part of the API.
pub(crate) const DEFAULT_LIMIT: usize = 10;
/// The most results. Part of the API.
pub(crate) const MAX_LIMIT: usize = 100;
/// The most characters of a question, more than any has. A whole document as a question would cost
/// as much as indexing it. Part of the API.
pub(crate) const MAX_QUESTION_CHARS: usize = 10_000;
/// The similarity below which a result is left out, if the request does not set a threshold. Part
/// of the API.
pub const DEFAULT_THRESHOLD: f32 = 0.6;

/// A question, and the memories and chunks to search.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(rename = "SearchMemoriesRequest", extend("required" = ["q"]))]
pub(crate) struct SearchRequest {
    /// A question or single terms.
    #[schemars(length(min = 1, max = MAX_QUESTION_CHARS))]
    q: String,
    /// A container tag, in addition to `containerTags`.
    #[schemars(with = "Option<ContainerTag>")]
    container_tag: Option<String>,
    /// Container tags. Without any, all that the key reaches.
    #[schemars(with = "Option<Vec<ContainerTag>>", length(max = MAX_ENTRIES))]
    container_tags: Option<Vec<String>>,
    /// The similarity below which a result is left out.
    #[schemars(range(min = 0, max = 1), extend("default" = 0.6))]
    threshold: Option<f32>,
    /// The most results.
    #[serde(deserialize_with = "deserialize_count")]
    #[schemars(schema_with = "edge::count_schema::<1, MAX_LIMIT>")]
    #[schemars(extend("default" = DEFAULT_LIMIT))]
    limit: Option<usize>,
    /// The kind of the results. `hybrid` finds memories and chunks on one scale.
    #[schemars(extend("default" = "memories"))]
    search_mode: Option<SearchMode>,
    /// Conditions on metadata.
    #[schemars(with = "Value", extend("$ref" = "#/components/schemas/Filters"))]
    filters: Option<Value>,
    /// The path of the documents, or a prefix of it if it ends with `/`.
    filepath: Option<String>,
    // compat: typed clients send `null` for what is not set.
    /// The additional parts of each result.
    #[serde(deserialize_with = "deserialize_optional_object")]
    include: Option<IncludedParts>,
    /// Orders the best 50 memories and the best 50 chunks by a second look at their texts, and
    /// returns the first of them: the share of the question's words that each has, and the
    /// similarity of its nearest line. A reranking model that the operator has chosen takes their
    /// place.
    #[serde(deserialize_with = "deserialize_bool")]
    #[schemars(schema_with = "edge::flexible_boolean_schema")]
    rerank: bool,
    /// Asks in up to three wordings (as sent, as the statement that would answer it, and its
    /// content words alone), and takes the best of each result. No model takes part.
    #[serde(deserialize_with = "deserialize_bool")]
    #[schemars(schema_with = "edge::flexible_boolean_schema")]
    rewrite_query: bool,
    /// Joins the memories about one subject into one result. Their sentences are not changed.
    #[serde(deserialize_with = "deserialize_bool")]
    #[schemars(schema_with = "edge::flexible_boolean_schema")]
    aggregate: bool,
    /// True for results with their sources and the parts of their score.
    #[serde(deserialize_with = "deserialize_bool")]
    #[schemars(schema_with = "edge::flexible_boolean_schema")]
    explain: bool,
    /// A time in the past to search: the memories that were known at that time and true at that
    /// time. What has been deleted or replaced by new content since is not found.
    as_of: Option<PointInTime>,
}

/// The kind of the results.
#[derive(Debug, Default, Clone, Copy, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub(crate) enum SearchMode {
    /// Extracted memories only.
    #[default]
    Memories,
    /// Memories and chunks on one scale.
    Hybrid,
    /// Chunks only.
    Documents,
}

/// The optional parts of the results.
#[derive(Debug, Default, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(inline)]
pub(crate) struct IncludedParts {
    /// The documents of the result.
    #[serde(deserialize_with = "deserialize_bool")]
    #[schemars(schema_with = "edge::flexible_boolean_schema")]
    pub(crate) documents: bool,
    /// The documents of the result with their summaries.
    #[serde(deserialize_with = "deserialize_bool")]
    #[schemars(schema_with = "edge::flexible_boolean_schema")]
    pub(crate) summaries: bool,
    /// The older versions of a memory, the memories that it extends or follows from, and those that
    /// contradict it.
    #[serde(deserialize_with = "deserialize_bool")]
    #[schemars(schema_with = "edge::flexible_boolean_schema")]
    pub(crate) related_memories: bool,
    /// Memories that were forgotten or have expired, as results and among their related memories.
    #[serde(deserialize_with = "deserialize_bool")]
    #[schemars(schema_with = "edge::flexible_boolean_schema")]
    pub(crate) forgotten_memories: bool,
    /// The chunks in which a memory was stated.
    #[serde(deserialize_with = "deserialize_bool")]
    #[schemars(schema_with = "edge::flexible_boolean_schema")]
    pub(crate) chunks: bool,
}

impl IncludedParts {
    /// Checks whether the results have their documents.
    pub(crate) fn shows_documents(&self) -> bool {
        self.documents || self.summaries
    }
}

impl SearchRequest {
    fn included_parts(&self) -> IncludedParts {
        let mut parts = self.include.unwrap_or_default();
        parts.chunks |= self.search_mode == Some(SearchMode::Documents);
        parts
    }

    /// Checks the fields of the request.
    ///
    /// # Errors
    /// [`Error::Invalid`] that names the first invalid field.
    fn parse_search(&self, now: Timestamp) -> Result<Search<'_>> {
        let threshold = check_threshold(self.threshold.unwrap_or(DEFAULT_THRESHOLD), "threshold")?;
        let (recorded_until, valid_at) = match self.as_of {
            Some(point) => point.recorded_and_valid(),
            None => (None, None),
        };
        let parts = self.included_parts();
        let question = SearchQuestion {
            text: check_question(&self.q, "q")?,
            models: Arc::default(),
            filter: Filter::parse_optional(self.filters.as_ref())?,
            filepath: self.filepath.clone(),
            only_document: None,
            limit: check_limit(self.limit, DEFAULT_LIMIT)?,
            now: valid_at.unwrap_or(now),
            recorded_until,
            include_forgotten: parts.forgotten_memories,
        };

        Ok(Search {
            mode: self.search_mode.unwrap_or_default(),
            question,
            threshold,
            now,
            is_about_past: self.as_of.is_some(),
            includes_chunks: parts.chunks,
            rewrites_query: self.rewrite_query,
            reranks: self.rerank,
            aggregates: self.aggregate,
        })
    }

    /// Returns a row in the shape of the API.
    fn build_result(
        &self,
        row: ResultRow,
        sources: &Sources,
        names: ProviderNames,
        now: Timestamp,
    ) -> Result<SearchResult> {
        let include = self.included_parts();
        match row {
            ResultRow::Chunk(found) => Ok(chunk_result(*found, names, &include, self.explain)),
            ResultRow::Memory(found) => {
                memory_result(*found, sources, names, &include, self.explain, now)
            }
        }
    }
}

/// The past to search, by system time (`believed`), by valid time (`true`), or by both.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(inline)]
enum PointInTime {
    /// A date or a timestamp for both.
    Single(#[schemars(with = "String")] Timestamp),
    /// A time for each. An absent one means now.
    Separate {
        /// Nothing counts that was recorded later.
        #[serde(default)]
        #[schemars(with = "Option<String>")]
        believed: Option<Timestamp>,
        /// Nothing counts that was said later.
        #[serde(default)]
        #[schemars(with = "Option<String>")]
        r#true: Option<Timestamp>,
    },
}

/// The results of a search.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "MemorySearchResponse")]
pub(crate) struct SearchResponse {
    /// The results, the most similar first.
    #[schemars(length(max = MAX_LIMIT))]
    results: Vec<SearchResult>,
    /// The duration in milliseconds.
    timing: u64,
    /// The number of results.
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
    let search = request.parse_search(state.app.ctx.clock.now())?;
    let found = search.run(state, tenant, scope).await?;

    let (names, now) = (state.app.provider_names, search.question.now);
    let build_results = || {
        let rows = found.rows.iter().cloned();
        let results = rows.map(|row| request.build_result(row, &found.sources, names, now));
        // All are built before one fails, so that what all lack is fetched at once.
        results.collect::<Vec<Result<SearchResult>>>()
    };
    let ctx = &state.app.ctx;
    let results = found.sources.read(ctx, tenant, build_results).await?;
    let mut results = results.into_iter().collect::<Result<Vec<SearchResult>>>()?;
    if request.included_parts().summaries {
        add_summaries(state, tenant, &found.containers, &mut results).await?;
    }

    Ok(SearchResponse {
        total: results.len(),
        results,
        timing: elapsed_millis(begun),
        hint: found.hint,
    })
}

/// Adds the summaries to the documents of results.
async fn add_summaries(
    state: &SearchState,
    tenant: &Tenant,
    containers: &[ContainerId],
    results: &mut [SearchResult],
) -> Result<()> {
    let documents = results.iter().flat_map(SearchResult::documents);
    let ids = documents.map(|document| &document.id);
    let summaries = load_summaries(&state.app.ctx, tenant, containers, ids).await?;

    for document in results.iter_mut().flat_map(SearchResult::documents_mut) {
        document.summary = Some(summaries.get(&document.id).cloned());
    }

    Ok(())
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
pub(crate) fn check_question<'a>(text: &'a str, field: &str) -> Result<&'a str> {
    if text.trim().is_empty() {
        return Err(Error::invalid_field(field, "the question is empty"));
    }

    if text.chars().count() > MAX_QUESTION_CHARS {
        return Err(Error::invalid_field(
            field,
            format!("at most {MAX_QUESTION_CHARS} characters"),
        ));
    }

    Ok(text)
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

/// Describes the operations of this module.
pub(crate) fn operations() -> Vec<Operation> {
    vec![
        Operation::post("/v4/search", "search_memories")
            .group("Recall (Search)")
            .summary("Find memories, chunks, or both on one scale, the most similar first.")
            .description(
                "No model takes part in a search, except an embedding model and, with `rerank`, a \
                 reranking model that the operator has chosen. Without them it costs the same with \
                 every option. A \
                 memory that has expired, was forgotten or replaced is not a result; it is shown \
                 where the request asks for it.",
            )
            .body::<SearchRequest>(json!({
                "q": "Where does the heron wait?",
                "containerTag": "user_42",
                "searchMode": "hybrid",
                "limit": 5,
            }))
            .answer::<SearchResponse>(
                "The results, the most similar first.",
                json!({
                    "results": [
                        {
                            "id": "acxV5LHMEsG2hMSNb4umbn-0",
                            "chunk": "The heron waits in the reeds of the north bank.",
                            "metadata": {"source": "diary"},
                            "updatedAt": "2026-03-01T09:30:02.120Z",
                            "similarity": 0.87,
                        },
                    ],
                    "timing": 12,
                    "total": 1,
                }),
            )
            .error(ErrorAnswer::Invalid, ""),
    ]
}
