//! Deleting the documents of container tags, a part at a time.

use crate::Ctx;
use crate::find::{ContainerScope, find_containers};
use crate::list::path_matches;
use crate::remove::remove_reached_documents;
use crate::sharing::check_reaches_all_tags;
use domain::document::Document;
use domain::error::{Error, Result};
use domain::ids::{ContainerId, DocumentId};
use domain::ports::DocumentListing;
use domain::tenant::Tenant;
use domain::time::Timestamp;

/// The number of documents that are read at a time.
const PART_SIZE: usize = 200;
/// The most bytes of a cursor, far more than any has.
const MAX_CURSOR_BYTES: usize = 256;
/// The listings that together have all documents of a container.
const LISTINGS: [DocumentListing; 2] = [DocumentListing::OldestFirst, DocumentListing::Superseded];

/// The outcome of [`remove_documents_of_tags`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TagsRemoval {
    /// The number of documents that were deleted.
    pub deleted: usize,
    /// The cursor with which the deletion continues, if time ran out and documents may be left.
    pub cursor: Option<String>,
}

/// Deletes the documents in scope, like [`super::remove_documents`]. With a `filepath`, deletes those with
/// this path, or below it if it ends with `/`. Documents that a merge has superseded are included.
/// Reads one part, and no further one after `end`. Another call with the returned cursor continues;
/// without the cursor, it begins again.
///
/// # Errors
/// Returns [`Error::Invalid`] for a malformed cursor. Returns [`Error::Forbidden`] for a named tag out of
/// reach, or if one of the documents has tags out of reach; nothing is deleted then. Returns the errors of
/// the ports.
pub async fn remove_documents_of_tags(
    ctx: &Ctx,
    tenant: &Tenant,
    scope: &ContainerScope,
    filepath: Option<&str>,
    cursor: Option<&str>,
    end: Timestamp,
) -> Result<TagsRemoval> {
    let containers = find_containers(ctx, tenant, scope).await?;
    let ids = containers.into_iter().flat_map(|container| container.ids);
    let mut ids: Vec<ContainerId> = ids.collect();
    // A merge between two calls must not change the order.
    ids.sort();
    let mut documents = TagDocuments {
        ctx,
        tenant,
        filepath,
        containers: ids,
        position: Position::default(),
    };
    if let Some(cursor) = cursor {
        documents.go_to(cursor)?;
    }
    documents.check_reach().await?;

    let mut deleted = 0;
    loop {
        let Some(part) = documents.read_part().await? else {
            return Ok(TagsRemoval {
                deleted,
                cursor: None,
            });
        };
        // A document that was just moved to another tag stays.
        let containers = &documents.containers;
        let is_included = |document: &Document| {
            containers.contains(&document.container) && includes(filepath, document)
        };
        deleted += remove_reached_documents(ctx, tenant, part, is_included).await?;
        if ctx.clock.now() >= end {
            let cursor = documents.cursor();
            return Ok(TagsRemoval { deleted, cursor });
        }
    }
}

fn includes(filepath: Option<&str>, document: &Document) -> bool {
    filepath.is_none_or(|path| path_matches(path, document.filepath.as_deref()))
}

/// The documents to delete, which are read part by part.
struct TagDocuments<'a> {
    ctx: &'a Ctx,
    tenant: &'a Tenant,
    filepath: Option<&'a str>,
    containers: Vec<ContainerId>,
    position: Position,
}

/// A position in the listings of some containers.
#[derive(Default)]
struct Position {
    /// The index of the container.
    container: usize,
    /// The index of the listing in [`LISTINGS`].
    listing: usize,
    /// The position in the listing, as its port returned it.
    after: Option<String>,
}

impl TagDocuments<'_> {
    /// Refuses documents that have tags out of reach.
    async fn check_reach(&self) -> Result<()> {
        let reached = check_reaches_all_tags(self.ctx, self.tenant, &self.containers).await;
        if !matches!(reached, Err(Error::Forbidden(_))) {
            return reached;
        }

        // Containers without such documents do not matter.
        for container in &self.containers {
            let reach = check_reaches_all_tags(self.ctx, self.tenant, [container]).await;
            let Err(Error::Forbidden(reason)) = reach else {
                reach?;
                continue;
            };
            let mut documents = TagDocuments {
                containers: vec![container.clone()],
                position: Position::default(),
                ..*self
            };
            while let Some(part) = documents.read_part().await? {
                if !part.is_empty() {
                    return Err(Error::Forbidden(reason));
                }
            }
        }

        Ok(())
    }

    /// Returns the cursor of the position, or `None` at the end.
    fn cursor(&self) -> Option<String> {
        let Position {
            container,
            listing,
            after,
        } = &self.position;
        let container = self.containers.get(*container)?;
        let after = after.as_deref().unwrap_or_default();
        Some(format!("{container}:{listing}:{after}"))
    }

    /// Goes to the position of a cursor. If its container is no longer among these, begins again.
    ///
    /// # Errors
    /// [`Error::Invalid`] if the cursor is malformed.
    fn go_to(&mut self, cursor: &str) -> Result<()> {
        let mut parts = cursor.splitn(3, ':');
        let container = parts.next().and_then(ContainerId::parse);
        let listing = parts.next().and_then(|listing| listing.parse().ok());
        let (Some(container), Some(listing), Some(after)) = (container, listing, parts.next())
        else {
            return Err(invalid_cursor());
        };
        if listing >= LISTINGS.len() || cursor.len() > MAX_CURSOR_BYTES {
            return Err(invalid_cursor());
        }

        if let Some(container) = self.containers.iter().position(|id| *id == container) {
            self.position = Position {
                container,
                listing,
                after: (!after.is_empty()).then(|| after.to_owned()),
            };
        }
        Ok(())
    }

    /// Returns the documents of the next part, or `None` if no part is left. The listing may be
    /// slightly outdated, and a document that was just moved out of the path must stay, so with a
    /// path the records themselves are read.
    async fn read_part(&mut self) -> Result<Option<Vec<Document>>> {
        let (ctx, tenant, filepath) = (self.ctx, self.tenant, self.filepath);
        let position = &mut self.position;
        let Some(container) = self.containers.get(position.container) else {
            return Ok(None);
        };
        let (listing, after) = (LISTINGS[position.listing], position.after.as_deref());
        let page = ctx
            .documents
            .list_page(tenant, container, listing, after, PART_SIZE);
        let (mut documents, next) = page.await?;

        documents.retain(|document| includes(filepath, document));
        if filepath.is_some() && !documents.is_empty() {
            let ids: Vec<DocumentId> = documents.into_iter().map(|document| document.id).collect();
            let found = ctx.documents.get(tenant, &ids).await?;
            documents = found.into_iter().flatten().collect();
            documents.retain(|document| {
                document.container == *container && includes(filepath, document)
            });
        }

        if next.is_none() {
            position.listing = (position.listing + 1) % LISTINGS.len();
            position.container += usize::from(position.listing == 0);
        }
        position.after = next;
        Ok(Some(documents))
    }
}

fn invalid_cursor() -> Error {
    Error::invalid_field("cursor", "the cursor of the last answer")
}
