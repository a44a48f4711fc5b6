//! `POST /v3/documents/documents` and `/by-ids`: documents with the memories that came from them.

use axum::extract::State;
use domain::usecase::{ListQuery, Naming, find_documents, list_documents};
use domain::{Document, Error};
use edge::{ApiResult, App, Auth, Json, Pagination, Read, count, scope};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::list::{Order, SortField, place};
use crate::wire::ListedDocument;

/// Documents a page, when the request does not say.
const DEFAULT_LIMIT: usize = 10;
/// The most ids of one request.
const MAX_IDS: usize = 200;

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct DocumentsRequest {
    container_tag: Option<String>,
    container_tags: Option<Vec<String>>,
    /// Connection providers that documents came from.
    sources: Option<Vec<String>>,
    #[serde(deserialize_with = "count")]
    limit: Option<usize>,
    #[serde(deserialize_with = "count")]
    page: Option<usize>,
    sort: Option<SortField>,
    order: Option<Order>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct ByIdsRequest {
    ids: Vec<String>,
    by: By,
    container_tags: Option<Vec<String>>,
}

#[derive(Debug, Default, Clone, Copy, Deserialize)]
#[serde(rename_all = "camelCase")]
enum By {
    #[default]
    Id,
    CustomId,
}

#[derive(Debug, Serialize)]
pub(crate) struct DocumentsResponse {
    documents: Vec<DocumentWithMemories>,
    pagination: Pagination,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct DocumentWithMemories {
    #[serde(flatten)]
    document: ListedDocument,
    /// No memory has been extracted from anything.
    memory_entries: [Value; 0],
}

impl DocumentWithMemories {
    fn new(document: &Document) -> Self {
        Self { document: ListedDocument::new(document, None), memory_entries: [] }
    }
}

pub(crate) async fn list(
    State(app): State<App>,
    Auth { tenant, .. }: Auth<Read>,
    Json(request): Json<DocumentsRequest>,
) -> ApiResult<Json<DocumentsResponse>> {
    let (page, limit) = place(request.page, request.limit, DEFAULT_LIMIT)?;
    let scope = scope(request.container_tag.as_deref(), request.container_tags.as_deref())?;
    let query = ListQuery {
        sort: request.sort.unwrap_or_default().into(),
        ascending: request.order == Some(Order::Asc),
        from_connection: request.sources.is_some_and(|sources| !sources.is_empty()),
        page,
        limit,
        ..ListQuery::all(scope)
    };
    let found = list_documents(&app.ctx, &tenant, &query).await?;
    let documents = found.documents.iter().map(DocumentWithMemories::new).collect();
    Ok(Json(DocumentsResponse { documents, pagination: Pagination::new(page, limit, found.total) }))
}

pub(crate) async fn by_ids(
    State(app): State<App>,
    Auth { tenant, .. }: Auth<Read>,
    Json(request): Json<ByIdsRequest>,
) -> ApiResult<Json<DocumentsResponse>> {
    if !(1..=MAX_IDS).contains(&request.ids.len()) {
        return Err(Error::invalid_field("ids", format!("1 to {MAX_IDS} ids")).into());
    }
    let scope = scope(None, request.container_tags.as_deref())?;
    let naming = match request.by {
        By::Id => Naming::Id,
        By::CustomId => Naming::CustomId,
    };
    let mut documents: Vec<Document> = Vec::new();
    for found in find_documents(&app.ctx, &tenant, &request.ids, naming, &scope).await? {
        match found {
            Ok(document) if documents.iter().any(|known| known.id == document.id) => {}
            Ok(document) => documents.push(document),
            // What is not there is left out, and so is what only a tag can tell apart.
            Err(Error::NotFound(_) | Error::Conflict(_)) => {}
            Err(error) => return Err(error.into()),
        }
    }
    let count = documents.len();
    let documents = documents.iter().map(DocumentWithMemories::new).collect();
    Ok(Json(DocumentsResponse { documents, pagination: Pagination::new(1, count.max(1), count) }))
}
