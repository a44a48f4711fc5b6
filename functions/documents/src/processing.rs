//! `GET /v3/documents/processing`: lists unfinished documents.

use axum::extract::State;
use domain::{Document, DocumentStatus, Timestamp};
use edge::{
    ApiResult, App, Auth, Json, Pagination, Query, ReadContent, deserialize_count, page_and_limit,
    parse_scope,
};
use openapi::{ErrorAnswer, Operation};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use service::ListQuery;

use crate::list::MAX_LIMIT;
use crate::wire::{DocumentRecord, record_example};

/// The time in seconds without a change after which a document counts as stuck: 4 hours. Part of
/// the API.
const STUCK_SECONDS: i64 = 4 * 3600;
/// The number of documents on a page if the request does not set a limit.
const DEFAULT_LIMIT: usize = 100;

/// The documents to list, and the page.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ProcessingQuery {
    /// Container tags, separated by commas, at most 100.
    container_tags: Option<String>,
    /// The selection of documents.
    #[serde(default)]
    #[schemars(extend("default" = "active"))]
    view: ProcessingView,
    /// The number of the page, from 1.
    #[serde(default, deserialize_with = "deserialize_count")]
    #[schemars(schema_with = "edge::page_schema")]
    #[schemars(extend("default" = 1))]
    page: Option<usize>,
    /// The number of documents on a page.
    #[serde(default, deserialize_with = "deserialize_count")]
    #[schemars(schema_with = "edge::count_schema::<1, MAX_LIMIT>")]
    #[schemars(extend("default" = DEFAULT_LIMIT))]
    limit: Option<usize>,
}

/// A selection of unfinished documents.
#[derive(Debug, Clone, Copy, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
enum ProcessingView {
    /// Unfinished, and changed within four hours.
    #[default]
    Active,
    /// Unfinished.
    Pending,
    /// Unfinished or failed.
    All,
}

/// A page of unfinished documents.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ProcessingResponse {
    /// The documents, the newest first.
    documents: Vec<ProcessingDocument>,
    /// The number of documents on all pages.
    total_count: usize,
    /// The position of the page, in the view `all`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pagination: Option<Pagination>,
}

/// An unfinished document.
#[derive(Debug, Serialize, JsonSchema)]
struct ProcessingDocument {
    #[serde(flatten)]
    document: DocumentRecord,
    /// Present if it is unfinished and has not changed for four hours.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    #[schemars(extend("const" = true))]
    stuck: bool,
}

pub(crate) async fn list_processing(
    State(app): State<App>,
    Auth { tenant, .. }: Auth<ReadContent>,
    Query(query): Query<ProcessingQuery>,
) -> ApiResult<Json<ProcessingResponse>> {
    let (page, limit) = page_and_limit(query.page, query.limit, DEFAULT_LIMIT, MAX_LIMIT)?;
    let tags: Option<Vec<String>> = query
        .container_tags
        .as_deref()
        .map(|text| text.split(',').map(|tag| tag.trim().to_owned()).collect());
    let mut statuses = vec![
        DocumentStatus::Queued,
        DocumentStatus::Extracting,
        DocumentStatus::Chunking,
        DocumentStatus::Embedding,
        DocumentStatus::Indexing,
    ];
    if query.view == ProcessingView::All {
        statuses.push(DocumentStatus::Failed);
    }

    let stuck_before = app.ctx.clock.now().plus_seconds(-STUCK_SECONDS);
    let list_query = ListQuery {
        statuses: Some(statuses),
        changed_since: (query.view == ProcessingView::Active).then_some(stuck_before),
        page,
        limit,
        ..ListQuery::all_documents(parse_scope(None, tags.as_deref())?)
    };

    let found = service::list_documents(&app.ctx, &tenant, &list_query, None).await?;
    let mut documents = Vec::with_capacity(found.documents.len());
    for document in &found.documents {
        documents.push(ProcessingDocument {
            document: DocumentRecord::new(app.provider_names, document),
            stuck: is_stuck(document, stuck_before),
        });
    }

    let pagination =
        (query.view == ProcessingView::All).then(|| Pagination::new(page, limit, found.total));
    Ok(Json(ProcessingResponse {
        documents,
        total_count: found.total,
        pagination,
    }))
}

fn is_stuck(document: &Document, before: Timestamp) -> bool {
    !document.status.is_final() && document.updated_at < before
}

/// Describes the operations of this module.
pub(crate) fn operations() -> Vec<Operation> {
    let mut document = record_example();
    document["status"] = "embedding".into();

    vec![
        Operation::get("/v3/documents/processing", "list_processing")
            .group("Documents")
            .summary("List the documents that are still on their way.")
            .description(
                "The view says which: those that are unfinished, those that are `stuck` because \
                 nothing has changed for four hours, and those that have failed.",
            )
            .query::<ProcessingQuery>()
            .answer::<ProcessingResponse>(
                "The documents that are still on their way, the newest first.",
                json!({"documents": [document], "totalCount": 1}),
            )
            .error(ErrorAnswer::Invalid, ""),
    ]
}
