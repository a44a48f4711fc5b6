//! Deleting the documents of container tags, a part at a time.

use std::pin::pin;

use futures::stream::{self, Stream, StreamExt, TryStreamExt};

use crate::Ctx;
use crate::find::{ContainerScope, find_containers};
use crate::list::path_matches;
use crate::remove::remove_reached_documents;
use crate::sharing::check_reaches_all_tags;
use domain::container::Container;
use domain::document::Document;
use domain::error::{Error, Result};
use domain::ids::{ContainerId, DocumentId};
use domain::ports::DocumentListing;
use domain::tenant::Tenant;
use domain::time::Timestamp;

/// The number of documents that are read at a time.
const PART_SIZE: usize = 200;

/// The outcome of [`remove_documents_of_tags`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TagsRemoval {
    /// The number of documents that were deleted.
    pub deleted: usize,
    /// `true` if time ran out, and documents may be left.
    pub has_more: bool,
}

/// Deletes the documents in scope, like [`super::remove_documents`]. With a `filepath`, deletes those with
/// this path, or below it if it ends with `/`. Documents that a merge has superseded are included.
/// Reads no further documents after `end`. Call it again to delete what is left.
///
/// # Errors
/// Returns [`Error::Forbidden`] for a named tag out of reach, or if one of the documents has tags
/// out of reach; nothing is deleted then. Returns the errors of the ports.
pub async fn remove_documents_of_tags(
    ctx: &Ctx,
    tenant: &Tenant,
    scope: &ContainerScope,
    filepath: Option<&str>,
    end: Timestamp,
) -> Result<TagsRemoval> {
    let containers = find_containers(ctx, tenant, scope).await?;
    let tag_documents = TagDocuments {
        ctx,
        tenant,
        filepath,
    };
    let listings: Vec<_> = containers.iter().flat_map(listings_of).collect();
    tag_documents.check_reach(&listings).await?;

    let mut deleted = 0;
    let mut parts = pin!(tag_documents.read_parts(&listings));
    while ctx.clock.now() < end {
        let Some(documents) = parts.try_next().await? else {
            return Ok(TagsRemoval {
                deleted,
                has_more: false,
            });
        };
        let is_selected = |document: &Document| tag_documents.includes(document);
        deleted += remove_reached_documents(ctx, tenant, documents, is_selected).await?;
    }

    Ok(TagsRemoval {
        deleted,
        has_more: true,
    })
}

/// Returns the listings that together have all documents of a container.
fn listings_of(container: &Container) -> Vec<(&ContainerId, DocumentListing)> {
    let mut listings = Vec::new();
    for id in &container.ids {
        listings.push((id, DocumentListing::OldestFirst));
        // Only merged containers can have superseded documents.
        if container.ids.len() > 1 {
            listings.push((id, DocumentListing::Superseded));
        }
    }
    listings
}

/// The documents to delete.
struct TagDocuments<'a> {
    ctx: &'a Ctx,
    tenant: &'a Tenant,
    filepath: Option<&'a str>,
}

impl TagDocuments<'_> {
    fn includes(&self, document: &Document) -> bool {
        self.filepath
            .is_none_or(|path| path_matches(path, document.filepath.as_deref()))
    }

    /// Refuses documents that have tags out of reach.
    async fn check_reach(&self, listings: &[(&ContainerId, DocumentListing)]) -> Result<()> {
        let all = listings.iter().map(|(container, _)| *container);
        let reached = check_reaches_all_tags(self.ctx, self.tenant, all).await;
        if !matches!(reached, Err(Error::Forbidden(_))) {
            return reached;
        }

        // Containers without such documents do not matter.
        for listing in listings {
            let reach = check_reaches_all_tags(self.ctx, self.tenant, [listing.0]).await;
            let Err(Error::Forbidden(reason)) = reach else {
                reach?;
                continue;
            };
            let mut parts = pin!(self.read_parts(std::slice::from_ref(listing)));
            while let Some(documents) = parts.try_next().await? {
                if !documents.is_empty() {
                    return Err(Error::Forbidden(reason));
                }
            }
        }

        Ok(())
    }

    /// Returns the documents of some listings, in parts.
    fn read_parts<'b>(
        &'b self,
        listings: &'b [(&'b ContainerId, DocumentListing)],
    ) -> impl Stream<Item = Result<Vec<Document>>> + 'b {
        stream::iter(listings).flat_map(move |(container, listing)| {
            let start = Some(None);
            stream::try_unfold(start, move |position: Option<Option<String>>| async move {
                let Some(after) = position else {
                    return Ok(None);
                };
                let (documents, next) = self.read_part(container, *listing, after).await?;
                Ok(Some((documents, next.map(Some))))
            })
        })
    }

    /// Reads a part of a listing, and returns the position of the next one. The listing may be
    /// slightly outdated, and a document that was just moved out of the path must stay, so with a
    /// path the records themselves are read.
    async fn read_part(
        &self,
        container: &ContainerId,
        listing: DocumentListing,
        after: Option<String>,
    ) -> Result<(Vec<Document>, Option<String>)> {
        let (ctx, tenant) = (self.ctx, self.tenant);
        let page = ctx
            .documents
            .list_page(tenant, container, listing, after.as_deref(), PART_SIZE);
        let (mut documents, next) = page.await?;

        documents.retain(|document| self.includes(document));
        if self.filepath.is_some() && !documents.is_empty() {
            let ids: Vec<DocumentId> = documents.into_iter().map(|document| document.id).collect();
            let found = ctx.documents.get(tenant, &ids).await?;
            documents = found.into_iter().flatten().collect();
            documents.retain(|document| self.includes(document));
        }
        Ok((documents, next))
    }
}
