//! `POST /v3/documents/list`: lists documents.

use axum::extract::State;
use domain::connection::Provider;
use domain::{Document, DocumentStatus, Error, Filter, Result, Tenant};
use edge::{
    ApiResult, App, Auth, Json, MAX_ENTRIES, Order, Pagination, ReadContent, SortField,
    deserialize_bool, deserialize_count, parse_scope,
};
use futures::stream::{self, StreamExt, TryStreamExt};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;
use service::Ctx;
use service::{ListQuery, read_document_text};

use crate::wire::ListedDocument;

/// The number of texts that are read at the same time.
const PARALLEL_READS: usize = 16;
/// The number of documents on a page if the request does not set a limit.
pub(crate) const DEFAULT_LIMIT: usize = 10;
/// The most documents on a page. Part of the API.
const MAX_LIMIT: usize = 1100;

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct ListRequest {
    container_tag: Option<String>,
    container_tags: Option<Vec<String>>,
    filters: Option<Value>,
    #[serde(deserialize_with = "deserialize_bool")]
    include_content: bool,
    #[serde(deserialize_with = "deserialize_count")]
    limit: Option<usize>,
    #[serde(deserialize_with = "deserialize_count")]
    page: Option<usize>,
    sort: Option<SortField>,
    order: Option<Order>,
    filepath: Option<String>,
    /// The provider from which the documents came.
    source: Option<String>,
    #[serde(deserialize_with = "deserialize_statuses")]
    status: Vec<DocumentStatus>,
}

/// Deserializes one status or several.
fn deserialize_statuses<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Vec<DocumentStatus>, D::Error> {
    let parse_status = |value: &Value| {
        let status = value.as_str().and_then(DocumentStatus::parse);
        let names = "queued, extracting, chunking, embedding, indexing, done or failed";
        status.ok_or_else(|| {
            serde::de::Error::custom(format!("expected {names}, or an array of these"))
        })
    };

    match Value::deserialize(deserializer)? {
        Value::Null => Ok(Vec::new()),
        Value::Array(values) if values.len() > MAX_ENTRIES => Err(serde::de::Error::custom(
            format!("expected at most {MAX_ENTRIES} states"),
        )),
        Value::Array(values) => values.iter().map(parse_status).collect(),
        one => Ok(vec![parse_status(&one)?]),
    }
}

#[derive(Debug, Serialize)]
pub(crate) struct ListResponse {
    /// compat: the name of the array of documents in the API.
    memories: Vec<ListedDocument>,
    pagination: Pagination,
}

pub(crate) async fn list_documents(
    State(app): State<App>,
    Auth { tenant, .. }: Auth<ReadContent>,
    Json(request): Json<ListRequest>,
) -> ApiResult<Json<ListResponse>> {
    let include_content = request.include_content;
    let query = request.into_query()?;
    let page = service::list_documents(&app.ctx, &tenant, &query).await?;
    let texts = if include_content {
        read_listed_texts(&app.ctx, &tenant, &page.documents).await?
    } else {
        vec![None; page.documents.len()]
    };

    let mut memories = Vec::with_capacity(page.documents.len());
    for (document, text) in page.documents.iter().zip(texts) {
        memories.push(ListedDocument::new(document, text));
    }
    let pagination = Pagination::new(query.page, query.limit, page.total);

    Ok(Json(ListResponse {
        memories,
        pagination,
    }))
}

/// Returns the texts of listed documents, in their order.
async fn read_listed_texts(
    ctx: &Ctx,
    tenant: &Tenant,
    documents: &[Document],
) -> Result<Vec<Option<String>>> {
    let mut reads = Vec::with_capacity(documents.len());
    for document in documents {
        reads.push(read_listed_text(ctx, tenant, document));
    }

    stream::iter(reads)
        .buffered(PARALLEL_READS)
        .try_collect()
        .await
}

/// Returns the text of a listed document, or `None` while it is being replaced.
async fn read_listed_text(
    ctx: &Ctx,
    tenant: &Tenant,
    document: &Document,
) -> Result<Option<String>> {
    match read_document_text(ctx, tenant, document).await {
        Err(Error::Unavailable(_)) => Ok(None),
        text => text,
    }
}

/// Checks the number and the size of a page.
pub(crate) fn page_and_limit(
    page: Option<usize>,
    limit: Option<usize>,
    default_limit: usize,
) -> Result<(usize, usize)> {
    let (page, limit) = (page.unwrap_or(1), limit.unwrap_or(default_limit));
    if page == 0 {
        return Err(Error::invalid_field("page", "1 or more"));
    }
    if !(1..=MAX_LIMIT).contains(&limit) {
        return Err(Error::invalid_field("limit", format!("1 to {MAX_LIMIT}")));
    }
    Ok((page, limit))
}

/// Returns the names that are those of providers. No document comes from any other.
pub(crate) fn parse_providers(names: &[String]) -> Vec<Provider> {
    names
        .iter()
        .filter_map(|name| Provider::parse(name))
        .collect()
}

impl ListRequest {
    fn into_query(self) -> Result<ListQuery> {
        let (page, limit) = page_and_limit(self.page, self.limit, DEFAULT_LIMIT)?;
        Ok(ListQuery {
            scope: parse_scope(
                self.container_tag.as_deref(),
                self.container_tags.as_deref(),
            )?,
            filter: Filter::parse_optional(self.filters.as_ref())?,
            filepath: self.filepath,
            statuses: self.status,
            sort: self.sort.unwrap_or_default().into(),
            providers: self.source.map(|source| parse_providers(&[source])),
            ascending: self.order == Some(Order::Asc),
            page,
            limit,
        })
    }
}
