//! Listing documents: exact filters, order and totals.

use crate::Ctx;
use crate::find::{ContainerScope, find_containers};
use crate::sharing::VisibleTags;
use domain::connection::Provider;
use domain::document::{Document, DocumentStatus};
use domain::error::Result;
use domain::filter::Filter;
use domain::tenant::Tenant;

/// The time by which a listing is ordered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SortBy {
    /// The time of the first acceptance.
    #[default]
    CreatedAt,
    /// The time of the last change.
    UpdatedAt,
}

/// The filters, order and page of a listing.
#[derive(Debug, Clone)]
pub struct ListQuery {
    /// The containers.
    pub scope: ContainerScope,
    /// A filter on metadata.
    pub filter: Option<Filter>,
    /// An exact path, or a prefix if it ends with `/`.
    pub filepath: Option<String>,
    /// Only documents in these states; `None` means all, and an empty list none.
    pub statuses: Option<Vec<DocumentStatus>>,
    /// Only documents from these providers; `None` means all documents.
    pub providers: Option<Vec<Provider>>,
    /// The time to order by.
    pub sort: SortBy,
    /// `true` if the oldest document comes first.
    pub ascending: bool,
    /// The page, counted from 1.
    pub page: usize,
    /// The number of documents on a page, at least 1.
    pub limit: usize,
}

impl ListQuery {
    /// Returns a query for all documents of `scope`, newest first.
    pub fn all_documents(scope: ContainerScope) -> Self {
        Self {
            scope,
            filter: None,
            filepath: None,
            statuses: None,
            providers: None,
            sort: SortBy::CreatedAt,
            ascending: false,
            page: 1,
            limit: usize::MAX,
        }
    }
}

/// A page of documents, with the number of documents on all pages.
#[derive(Debug, Clone, PartialEq)]
pub struct DocumentPage {
    /// The documents of this page.
    pub documents: Vec<Document>,
    /// The number of documents on all pages.
    pub total: usize,
}

/// Lists documents. Ties in the order are broken by id, so the pages of a list that does not change
/// are disjoint and complete.
///
/// # Errors
/// Returns [`domain::Error::Forbidden`] for a tag out of reach, and the errors of the ports.
pub async fn list_documents(ctx: &Ctx, tenant: &Tenant, query: &ListQuery) -> Result<DocumentPage> {
    let mut documents = Vec::new();
    let containers = find_containers(ctx, tenant, &query.scope).await?;
    if query.providers.as_ref().is_some_and(Vec::is_empty) {
        return Ok(DocumentPage {
            documents,
            total: 0,
        });
    }

    let visible_tags = VisibleTags::read(ctx, tenant, &containers).await?;
    for container in containers {
        for id in &container.ids {
            for mut document in ctx.documents.list(tenant, id).await? {
                visible_tags.set_tags(&mut document, &container.tag);
                documents.push(document);
            }
        }
    }

    documents.retain(|document| admits(query, document));
    documents.sort_by(|a, b| {
        let key = |d: &Document| match query.sort {
            SortBy::CreatedAt => d.created_at,
            SortBy::UpdatedAt => d.updated_at,
        };
        let order = key(a).cmp(&key(b)).then_with(|| a.id.cmp(&b.id));
        if query.ascending {
            order
        } else {
            order.reverse()
        }
    });

    let total = documents.len();
    let first = query.page.saturating_sub(1).saturating_mul(query.limit);
    let documents = documents
        .into_iter()
        .skip(first)
        .take(query.limit)
        .collect();

    Ok(DocumentPage { documents, total })
}

fn admits(query: &ListQuery, document: &Document) -> bool {
    if let Some(filter) = &query.filter
        && !filter.matches(&document.metadata)
    {
        return false;
    }
    if let Some(statuses) = &query.statuses
        && !statuses.contains(&document.status)
    {
        return false;
    }
    if let Some(wanted) = &query.filepath
        && !path_matches(wanted, document.filepath.as_deref())
    {
        return false;
    }

    match (&query.providers, &document.origin) {
        (Some(wanted), Some(origin)) => wanted.contains(&origin.provider),
        (Some(_), None) => false,
        (None, _) => true,
    }
}

/// Checks whether a document's path is `wanted`, or below it if `wanted` ends with `/`.
pub fn path_matches(wanted: &str, path: Option<&str>) -> bool {
    path.is_some_and(|path| {
        if wanted.ends_with('/') {
            path.starts_with(wanted)
        } else {
            path == wanted
        }
    })
}
