//! `POST /v3/documents/list`.

use axum::extract::State;
use domain::usecase::{self, ListQuery, Sort, read_text};
use domain::{Error, Filter, Result, Status};
use edge::{ApiResult, App, Auth, Json, Pagination, Read, count, flexible_bool, scope};
use futures::future::try_join_all;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::wire::ListedDocument;

/// Documents a page, when the request does not say.
const DEFAULT_LIMIT: usize = 10;
/// The most documents a page. Contract.
const MAX_LIMIT: usize = 1100;

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct ListRequest {
    container_tag: Option<String>,
    container_tags: Option<Vec<String>>,
    filters: Option<Value>,
    #[serde(deserialize_with = "flexible_bool")]
    include_content: bool,
    #[serde(deserialize_with = "count")]
    limit: Option<usize>,
    #[serde(deserialize_with = "count")]
    page: Option<usize>,
    sort: Option<SortField>,
    order: Option<Order>,
    filepath: Option<String>,
    /// The connection provider that documents came from.
    source: Option<String>,
    status: Option<Statuses>,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "camelCase")]
enum SortField {
    CreatedAt,
    UpdatedAt,
}

#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
enum Order {
    Asc,
    Desc,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Statuses {
    One(Status),
    Many(Vec<Status>),
}

#[derive(Debug, Serialize)]
pub(crate) struct ListResponse {
    /// compat: this is what the contract calls the array of documents.
    memories: Vec<ListedDocument>,
    pagination: Pagination,
}

pub(crate) async fn list_documents(
    State(app): State<App>,
    Auth { tenant, .. }: Auth<Read>,
    Json(request): Json<ListRequest>,
) -> ApiResult<Json<ListResponse>> {
    let include_content = request.include_content;
    let from_connection = request.source.is_some();
    let query = request.into_query()?;
    let mut page = usecase::list_documents(&app.ctx, &tenant, &query).await?;
    if from_connection {
        // No document has come from a connection.
        page = usecase::Page { documents: Vec::new(), total: 0 };
    }
    let texts = if include_content {
        try_join_all(page.documents.iter().map(|document| read_text(&app.ctx, &tenant, document))).await?
    } else {
        vec![None; page.documents.len()]
    };
    let memories =
        page.documents.iter().zip(texts).map(|(document, text)| ListedDocument::new(document, text));
    let pagination = Pagination::new(query.page, query.limit, page.total);
    Ok(Json(ListResponse { memories: memories.collect(), pagination }))
}

/// Checks the place of a page.
pub(crate) fn place(
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

impl ListRequest {
    fn into_query(self) -> Result<ListQuery> {
        let (page, limit) = place(self.page, self.limit, DEFAULT_LIMIT)?;
        Ok(ListQuery {
            scope: scope(self.container_tag.as_deref(), self.container_tags.as_deref())?,
            filter: self
                .filters
                .filter(|value| !value.is_null())
                .map(|value| Filter::parse(&value))
                .transpose()?,
            filepath: self.filepath,
            statuses: match self.status {
                None => Vec::new(),
                Some(Statuses::One(status)) => vec![status],
                Some(Statuses::Many(statuses)) => statuses,
            },
            sort: match self.sort {
                Some(SortField::UpdatedAt) => Sort::UpdatedAt,
                Some(SortField::CreatedAt) | None => Sort::CreatedAt,
            },
            ascending: self.order == Some(Order::Asc),
            page,
            limit,
        })
    }
}
