//! `GET /v3/documents/processing`: lists unfinished documents.

use axum::extract::State;
use domain::{Document, DocumentStatus, Timestamp};
use edge::{
    ApiResult, App, Auth, Json, Pagination, Query, ReadContent, deserialize_count, parse_scope,
};
use serde::{Deserialize, Serialize};
use service::ListQuery;

use crate::list::page_and_limit;
use crate::wire::ListedDocument;

/// The time in seconds without a change after which a document counts as stuck: 4 hours. Part of
/// the API.
const STUCK_SECONDS: i64 = 4 * 3600;
/// The number of documents on a page if the request does not set a limit.
const DEFAULT_LIMIT: usize = 100;

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ProcessingQuery {
    /// Container tags, separated by commas.
    container_tags: Option<String>,
    #[serde(default)]
    view: ProcessingView,
    #[serde(default, deserialize_with = "deserialize_count")]
    page: Option<usize>,
    #[serde(default, deserialize_with = "deserialize_count")]
    limit: Option<usize>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum ProcessingView {
    /// Unfinished, and changed within four hours.
    #[default]
    Active,
    /// Unfinished.
    Pending,
    /// Unfinished or failed.
    All,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ProcessingResponse {
    documents: Vec<ProcessingDocument>,
    total_count: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    pagination: Option<Pagination>,
}

#[derive(Debug, Serialize)]
struct ProcessingDocument {
    #[serde(flatten)]
    document: ListedDocument,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    stuck: bool,
}

pub(crate) async fn list_processing(
    State(app): State<App>,
    Auth { tenant, .. }: Auth<ReadContent>,
    Query(query): Query<ProcessingQuery>,
) -> ApiResult<Json<ProcessingResponse>> {
    let (page, limit) = page_and_limit(query.page, query.limit, DEFAULT_LIMIT)?;
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

    let list_query = ListQuery {
        statuses,
        ..ListQuery::all_documents(parse_scope(None, tags.as_deref())?)
    };

    let mut found = service::list_documents(&app.ctx, &tenant, &list_query)
        .await?
        .documents;
    let stuck_before = app.ctx.clock.now().plus_seconds(-STUCK_SECONDS);
    if query.view == ProcessingView::Active {
        found.retain(|document| !is_stuck(document, stuck_before));
    }

    let total = found.len();
    let first = (page - 1).saturating_mul(limit);
    let mut documents = Vec::new();
    for document in found.iter().skip(first).take(limit) {
        documents.push(ProcessingDocument {
            document: ListedDocument::new(document, None),
            stuck: is_stuck(document, stuck_before),
        });
    }

    let pagination =
        (query.view == ProcessingView::All).then(|| Pagination::new(page, limit, total));
    Ok(Json(ProcessingResponse {
        documents,
        total_count: total,
        pagination,
    }))
}

fn is_stuck(document: &Document, before: Timestamp) -> bool {
    !document.status.is_final() && document.updated_at < before
}
