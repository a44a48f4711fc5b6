//! Listing documents: exact filters, order and totals.

mod by_creation;
mod by_index;
mod first_entries;
mod full_scan;

use std::collections::HashMap;

use crate::Ctx;
use crate::find::{ContainerScope, find_containers};
use crate::sharing::VisibleTags;
use domain::connection::Provider;
use domain::document::{Document, DocumentStatus, DocumentType};
use domain::error::Result;
use domain::filter::Filter;
use domain::ids::{ContainerId, DocumentId};
use domain::tenant::Tenant;
use domain::time::Timestamp;

pub use by_index::{ServedDocuments, SortTime};

/// The number of documents whose records are read at a time.
pub const LIST_PART_SIZE: usize = 500;
/// The most documents before a page that are read in the order of the list to find the page.
const MAX_READ_BEFORE: usize = LIST_PART_SIZE;

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
    /// Only documents of these types; `None` means all, and an empty list none.
    pub types: Option<Vec<DocumentType>>,
    /// Only documents whose name contains this text, whatever its case; `None` means all documents.
    pub name: Option<String>,
    /// Only documents from these providers; `None` means all documents.
    pub providers: Option<Vec<Provider>>,
    /// Only documents that have changed at this time or later; `None` means all documents.
    pub changed_since: Option<Timestamp>,
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
            types: None,
            name: None,
            providers: None,
            sort: SortBy::CreatedAt,
            ascending: false,
            changed_since: None,
            page: 1,
            limit: usize::MAX,
        }
    }

    /// Checks whether a document passes the filters.
    fn admits(&self, document: &Document) -> bool {
        if let Some(filter) = &self.filter
            && !filter.matches(&document.metadata)
        {
            return false;
        }
        if !self.admits_fields(&ListedFields {
            status: document.status,
            kind: document.display_type(),
            filepath: document.filepath.as_deref(),
            changed_at: Some(document.updated_at),
        }) {
            return false;
        }
        if let Some(wanted) = &self.name
            && !name_contains(document, wanted)
        {
            return false;
        }

        match (&self.providers, &document.origin) {
            (Some(wanted), Some(origin)) => wanted.contains(&origin.provider),
            (Some(_), None) => false,
            (None, _) => true,
        }
    }

    /// Checks whether these fields of a document pass the filters.
    fn admits_fields(&self, fields: &ListedFields<'_>) -> bool {
        let (statuses, types) = (self.statuses.as_ref(), self.types.as_ref());
        let (filepath, since) = (self.filepath.as_ref(), self.changed_since);
        statuses.is_none_or(|statuses| statuses.contains(&fields.status))
            && types.is_none_or(|types| types.contains(&fields.kind))
            && filepath.is_none_or(|path| path_matches(path, fields.filepath))
            && since.is_none_or(|since| fields.changed_at >= Some(since))
    }

    /// Checks whether there are no filters.
    fn admits_everything(&self) -> bool {
        self.filter.is_none()
            && self.filepath.is_none()
            && self.statuses.is_none()
            && self.types.is_none()
            && self.name.is_none()
            && self.providers.is_none()
            && self.changed_since.is_none()
    }

    /// Checks whether no document can pass the filters.
    fn admits_nothing(&self) -> bool {
        self.providers.as_ref().is_some_and(Vec::is_empty)
            || self.statuses.as_ref().is_some_and(Vec::is_empty)
            || self.types.as_ref().is_some_and(Vec::is_empty)
    }

    /// Checks whether only unfinished and failed documents can pass the filters.
    fn admits_only_pending(&self) -> bool {
        match &self.statuses {
            Some(statuses) => !statuses.contains(&DocumentStatus::Done),
            None => false,
        }
    }

    fn is_by_creation(&self) -> bool {
        self.sort == SortBy::CreatedAt
    }

    /// Returns the number of documents on the pages before this one.
    fn skipped(&self) -> usize {
        self.page.saturating_sub(1).saturating_mul(self.limit)
    }

    /// Returns the key by which documents are sorted.
    fn sort_key(&self, document: &Document) -> SortKey {
        let time = match self.sort {
            SortBy::CreatedAt => document.created_at,
            SortBy::UpdatedAt => document.updated_at,
        };
        (time, document.id.clone())
    }
}

/// Fields of a document that records and indexes have.
struct ListedFields<'a> {
    status: DocumentStatus,
    kind: DocumentType,
    filepath: Option<&'a str>,
    /// The time of the last change, if it is known.
    changed_at: Option<Timestamp>,
}

/// The time by which a list is sorted, and the id that decides between documents with equal times.
pub type SortKey = (Timestamp, DocumentId);

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
/// A list by creation without filters reads documents in order up to its page, if the page begins within the first
/// 500 documents. Other lists use the indexes of large containers, if `served` is given and the indexes have the
/// fields that the query needs. All others read every document, or those that are unfinished or failed if they are
/// lists of such documents, and keep one page.
///
/// # Errors
/// Returns [`domain::Error::Forbidden`] for a tag out of reach, and the errors of the ports.
pub async fn list_documents(
    ctx: &Ctx,
    tenant: &Tenant,
    query: &ListQuery,
    served: Option<&dyn ServedDocuments>,
) -> Result<DocumentPage> {
    let containers = find_containers(ctx, tenant, &query.scope).await?;
    if query.admits_nothing() {
        return Ok(DocumentPage {
            documents: Vec::new(),
            total: 0,
        });
    }

    let visible_tags = VisibleTags::read(ctx, tenant, &containers).await?;
    let mut tags_by_container = HashMap::new();
    for container in &containers {
        for id in &container.ids {
            tags_by_container.insert(id.clone(), &container.tag);
        }
    }
    let ids: Vec<ContainerId> = tags_by_container.keys().cloned().collect();

    let mut page = read_page(ctx, tenant, &ids, query, served).await?;
    for document in &mut page.documents {
        if let Some(tag) = tags_by_container.get(&document.container) {
            visible_tags.set_tags(document, tag);
        }
    }

    Ok(page)
}

async fn read_page(
    ctx: &Ctx,
    tenant: &Tenant,
    ids: &[ContainerId],
    query: &ListQuery,
    served: Option<&dyn ServedDocuments>,
) -> Result<DocumentPage> {
    let reads_in_order = query.is_by_creation() && query.admits_everything();
    let is_near = query.skipped() <= MAX_READ_BEFORE;
    if let Some(served) = served.filter(|_| !reads_in_order || !is_near)
        && let Some(page) = by_index::read_page(ctx, tenant, ids, query, served).await?
    {
        return Ok(page);
    }
    match reads_in_order {
        true => by_creation::read_page(ctx, tenant, ids, query).await,
        false => full_scan::read_page(ctx, tenant, ids, query).await,
    }
}

/// Checks whether a record is that of a document of the container, and no merge has superseded it.
fn is_of_container(document: &Document, id: &ContainerId) -> bool {
    document.container == *id && document.superseded_by.is_none()
}

/// Checks whether the name of a document contains `wanted`, whatever the case of either.
fn name_contains(document: &Document, wanted: &str) -> bool {
    let wanted = wanted.to_lowercase();
    document
        .name()
        .is_some_and(|name| name.to_lowercase().contains(&wanted))
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
