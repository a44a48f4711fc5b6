//! `POST /ns/{namespace}/search`: memories, chunks, or both.

use std::sync::Arc;
use std::time::Instant;

use axum::extract::State;
use domain::{ContainerTag, Filter, Result, Timestamp};
use edge::{
    ApiResult, Auth, Json, Path, ReadContent, deserialize_bool, deserialize_count,
    deserialize_optional_object, namespace_scope,
};
use openapi::{ErrorAnswer, Operation};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::results::SearchResult;
use super::{GROUP, NAMESPACE};
use crate::SearchState;
use crate::engine::{SearchQuestion, elapsed_millis};
use crate::run::Search;
use crate::v4::{
    self, DEFAULT_LIMIT, MAX_LIMIT, MAX_QUESTION_CHARS, check_limit, check_question,
    check_threshold,
};

/// The similarity below which a result is left out, if the request does not set a threshold. Part
/// of the API, and lower than that of the other form.
const DEFAULT_THRESHOLD: f32 = 0.3;

/// A question about a namespace.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(rename = "SearchNamespaceRequest", extend("required" = ["query"]))]
pub(crate) struct SearchRequest {
    /// A question or single terms.
    #[schemars(length(min = 1, max = MAX_QUESTION_CHARS))]
    query: String,
    /// Conditions on metadata.
    #[schemars(with = "Value", extend("$ref" = "#/components/schemas/FilterExpression"))]
    filter: Option<Value>,
    /// The kind of the results.
    #[schemars(extend("default" = "hybrid"))]
    search_mode: Option<SearchMode>,
    /// The most results.
    #[serde(deserialize_with = "deserialize_count")]
    #[schemars(schema_with = "edge::count_schema::<1, MAX_LIMIT>")]
    #[schemars(extend("default" = DEFAULT_LIMIT))]
    limit: Option<usize>,
    // compat: typed clients send `null` for what is not set.
    /// The additional parts of each result.
    #[serde(deserialize_with = "deserialize_optional_object")]
    include: Option<IncludedParts>,
    /// The similarity below which a result is left out.
    #[schemars(range(min = 0, max = 1), extend("default" = 0.3))]
    threshold: Option<f32>,
    /// The order of the results, and whether memories are joined.
    #[schemars(extend("default" = "none"))]
    rerank: Option<Rerank>,
    /// Asks in up to three wordings (as sent, as the statement that would answer it, and its
    /// content words alone), and takes the best of each result. No model takes part.
    #[serde(deserialize_with = "deserialize_bool")]
    #[schemars(schema_with = "edge::flexible_boolean_schema")]
    rewrite_query: bool,
}

/// The kind of the results.
#[derive(Debug, Default, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
enum SearchMode {
    /// Memories and chunks on one scale.
    #[default]
    Hybrid,
    /// Extracted memories only.
    Memories,
    /// Chunks only.
    Chunks,
}

/// What happens to the results after the search.
#[derive(Debug, Default, Clone, Copy, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
enum Rerank {
    /// Nothing.
    #[default]
    None,
    /// The best 50 memories and the best 50 chunks are ordered by a second look at their texts, and
    /// the first of them are returned. A reranking model that the operator has chosen does it
    /// instead, if there is one.
    Order,
    /// They are ordered as with `order`, and the memories about one subject are joined into one
    /// result. Their sentences are not changed.
    Aggregate,
}

/// The additional parts of the results.
#[derive(Debug, Default, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(inline)]
pub(super) struct IncludedParts {
    /// The document of the result.
    #[serde(deserialize_with = "deserialize_bool")]
    #[schemars(schema_with = "edge::flexible_boolean_schema")]
    pub(super) documents: bool,
    /// The other versions of a memory, and the memories that it extends or follows from, or that
    /// extend or follow from it.
    #[serde(deserialize_with = "deserialize_bool")]
    #[schemars(schema_with = "edge::flexible_boolean_schema")]
    pub(super) related: bool,
    /// Memories that were forgotten or have expired, as results and among their related memories.
    #[serde(deserialize_with = "deserialize_bool")]
    #[schemars(schema_with = "edge::flexible_boolean_schema")]
    pub(super) forgotten: bool,
}

/// The results of a search in a namespace.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "SearchNamespaceResponse")]
pub(crate) struct SearchResponse {
    /// The results, the most similar first.
    #[schemars(length(max = MAX_LIMIT))]
    results: Vec<SearchResult>,
    /// The duration in milliseconds.
    search_time: u64,
    /// The reason why there are no results, and what to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<String>,
}

pub(crate) async fn search_namespace(
    State(state): State<SearchState>,
    Auth { tenant, .. }: Auth<ReadContent>,
    Path(namespace): Path<String>,
    Json(request): Json<SearchRequest>,
) -> ApiResult<Json<SearchResponse>> {
    let begun = Instant::now();
    let scope = namespace_scope(&namespace)?;
    let search = request.parse_search(state.app.ctx.clock.now())?;
    let found = search.run(&state, &tenant, &scope).await?;

    let include = request.include.unwrap_or_default();
    let (names, now) = (state.app.provider_names, search.now);
    let build_results = || {
        let rows = found.rows.iter().cloned();
        rows.map(|row| SearchResult::new(row, &found.sources, names, include, now))
            .collect()
    };
    let ctx = &state.app.ctx;
    let results = found.sources.read(ctx, &tenant, build_results).await?;

    Ok(Json(SearchResponse {
        results,
        search_time: elapsed_millis(begun),
        hint: found.hint,
    }))
}

impl SearchRequest {
    /// Checks the fields of the request.
    fn parse_search(&self, now: Timestamp) -> Result<Search<'_>> {
        let threshold = check_threshold(self.threshold.unwrap_or(DEFAULT_THRESHOLD), "threshold")?;
        let include = self.include.unwrap_or_default();
        let rerank = self.rerank.unwrap_or_default();
        let question = SearchQuestion {
            text: check_question(&self.query, "query")?,
            models: Arc::default(),
            filter: Filter::parse_operators(self.filter.as_ref())?,
            filepath: None,
            only_document: None,
            limit: check_limit(self.limit, DEFAULT_LIMIT)?,
            now,
            recorded_until: None,
            include_forgotten: include.forgotten,
        };

        Ok(Search {
            mode: self.search_mode.unwrap_or_default().into(),
            question,
            threshold,
            now,
            is_about_past: false,
            includes_chunks: false,
            rewrites_query: self.rewrite_query,
            reranks: rerank != Rerank::None,
            aggregates: rerank == Rerank::Aggregate,
        })
    }
}

impl From<SearchMode> for v4::SearchMode {
    fn from(mode: SearchMode) -> Self {
        match mode {
            SearchMode::Hybrid => Self::Hybrid,
            SearchMode::Memories => Self::Memories,
            SearchMode::Chunks => Self::Documents,
        }
    }
}

/// Describes the operations of this module.
pub(super) fn operations() -> Vec<Operation> {
    vec![
        Operation::post("/ns/{namespace}/search", "search_namespace")
            .group(GROUP)
            .summary("Find memories, chunks, or both on one scale, the most similar first.")
            .description(
                "No model takes part in a search, except an embedding model and, for reranking, a \
                 reranking model that the operator has chosen. Without them it costs the same with \
                 every option. A \
                 memory that has expired, was forgotten or replaced is not a result; it is shown \
                 where the request asks for it. A namespace that does not exist has no results.",
            )
            .path_parameter::<ContainerTag>("namespace", NAMESPACE)
            .body::<SearchRequest>(json!({
                "query": "Where does the heron wait?",
                "filter": {"field": "source", "operator": "eq", "value": "diary"},
                "limit": 5,
                "include": {"documents": true},
            }))
            .answer::<SearchResponse>(
                "The results, the most similar first.",
                json!({
                    "results": [
                        {
                            "id": "acxV5LHMEsG2hMSNb4umbn-0",
                            "chunk": "The heron waits in the reeds of the north bank.",
                            "metadata": {"source": "diary"},
                            "similarity": 0.87,
                            "isLatest": true,
                            "isInference": false,
                            "system": {
                                "createdAt": "2026-03-01T09:30:00.000Z",
                                "updatedAt": "2026-03-01T09:30:02.120Z",
                            },
                            "included": {
                                "document": {
                                    "id": "note-17",
                                    "title": null,
                                    "type": "text",
                                    "metadata": {"source": "diary"},
                                    "system": {
                                        "createdAt": "2026-03-01T09:30:00.000Z",
                                        "updatedAt": "2026-03-01T09:30:02.120Z",
                                    },
                                },
                            },
                        },
                    ],
                    "searchTime": 12,
                }),
            )
            .error(ErrorAnswer::Invalid, ""),
    ]
}
