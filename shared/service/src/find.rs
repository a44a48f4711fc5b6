//! Looking up the containers and documents that a caller names.

mod by_name;

use std::collections::{HashMap, HashSet};

use crate::Ctx;
use crate::damage::{is_lost, report_damage};
use crate::place::{Candidate, read_candidates};
use crate::sharing::find_shared_containers;
use domain::blob::BlobRef;
use domain::container::{Container, ContainerOwner};
use domain::document::{BodyForm, Document};
use domain::error::{Error, PortError, Result};
use domain::ids::{ContainerId, CustomId, DocumentId};
use domain::pack::Pack;
use domain::ports::BlobContent;
use domain::tag::ContainerTag;
use domain::tenant::Tenant;

pub use by_name::{DocumentNameKind, MAX_CONTAINERS_WITHOUT_TAG, find_document, find_documents};

/// The containers that a request is about.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ContainerScope {
    /// The tags that were named. Empty means every container that the key reaches.
    pub tags: Vec<ContainerTag>,
}

impl ContainerScope {
    /// Returns the tags that a request is limited to: those that it names, or those of the key. `None`
    /// means no limit.
    fn requested_tags<'a>(&'a self, tenant: &'a Tenant) -> Option<&'a [ContainerTag]> {
        if self.tags.is_empty() {
            tenant.allowed_tags()
        } else {
            Some(&self.tags)
        }
    }
}

/// Returns the existing containers in scope. A tag that nobody has written to is omitted.
///
/// # Errors
/// Returns [`Error::Forbidden`] for a named tag outside the key's containers.
pub async fn find_containers(
    ctx: &Ctx,
    tenant: &Tenant,
    scope: &ContainerScope,
) -> Result<Vec<Container>> {
    find_first_containers(ctx, tenant, scope, usize::MAX).await
}

/// Returns the existing containers in scope, or the first `limit` of all if neither the scope nor the key limits
/// the tags.
///
/// # Errors
/// Returns [`Error::Forbidden`] for a named tag outside the key's containers.
pub async fn find_first_containers(
    ctx: &Ctx,
    tenant: &Tenant,
    scope: &ContainerScope,
    limit: usize,
) -> Result<Vec<Container>> {
    for tag in &scope.tags {
        tenant.check_access(tag)?;
    }

    let found = match scope.requested_tags(tenant) {
        Some(tags) => {
            let mut found = Vec::new();
            for tag in tags {
                found.extend(ctx.containers.get(tenant, tag).await?);
            }
            found
        }
        None => ctx.containers.list_first(tenant, limit).await?,
    };

    let containers = deduplicate_physical_containers(found);
    for container in &containers {
        tenant.record_access(&container.ids);
    }
    Ok(containers)
}

/// Leaves each physical container in one container only: while containers are merged, a source and
/// its target both name it.
fn deduplicate_physical_containers(mut found: Vec<Container>) -> Vec<Container> {
    // Targets come first, so that they keep the physical containers.
    let is_source =
        |container: &Container| matches!(&container.merge, Some(merge) if merge.into.is_some());
    found.sort_by_key(is_source);

    let mut seen = HashSet::new();
    for container in &mut found {
        container.ids.retain(|id| seen.insert(id.clone()));
    }

    found.sort_by(|a, b| a.tag.cmp(&b.tag));
    found
}

/// Returns the container of a tag that must exist.
///
/// # Errors
/// Returns [`Error::Forbidden`] for a tag out of reach, and [`Error::NotFound`] when nothing was
/// ever written to it.
pub async fn find_existing_container(
    ctx: &Ctx,
    tenant: &Tenant,
    tag: &ContainerTag,
) -> Result<Container> {
    tenant.check_access(tag)?;
    let Some(container) = ctx.containers.get(tenant, tag).await? else {
        return Err(Error::NotFound("Container tag"));
    };
    tenant.record_access(&container.ids);
    Ok(container)
}

/// Returns the container of an existing tag, which may be changed now.
///
/// # Errors
/// Returns the errors of [`find_existing_container`], and [`Error::Conflict`] while the container
/// is merged.
pub async fn find_writable_container(
    ctx: &Ctx,
    tenant: &Tenant,
    tag: &ContainerTag,
) -> Result<Container> {
    let container = find_existing_container(ctx, tenant, tag).await?;
    container.check_writable()?;
    Ok(container)
}

/// Returns a document with the tags that the caller sees of it: its present tags, or a tag that is
/// being merged into one of them. Returns `None` if the caller sees none that the scope names.
async fn restrict_to_visible_tags(
    ctx: &Ctx,
    tenant: &Tenant,
    mut document: Document,
    scope: &ContainerScope,
) -> Result<Option<Document>> {
    let Some(requested_tags) = scope.requested_tags(tenant) else {
        return Ok(Some(document));
    };

    let is_requested = |tag: &ContainerTag| requested_tags.contains(tag);
    if document.tags().any(is_requested) {
        let mut tags: Vec<ContainerTag> = document.tags().cloned().collect();
        tags.retain(|tag| tenant.can_access(tag));
        document.set_tags(&tags);
        return Ok(Some(document));
    }

    let mut is_merging = false;
    for tag in document.tags() {
        if let Some(container) = ctx.containers.get(tenant, tag).await? {
            is_merging |= container.merge.is_some();
        }
    }
    if !is_merging {
        return Ok(None);
    }

    for tag in requested_tags {
        if let Some(source) = ctx.containers.get(tenant, tag).await?
            && source.ids.contains(&document.container)
        {
            document.set_tags(std::slice::from_ref(tag));
            return Ok(Some(document));
        }
    }

    Ok(None)
}

/// Adds to these documents all others with the same customIds behind their tags. While containers
/// are merged there may be several, and a caller who names one means the customId. A superseded
/// document is returned alone.
///
/// # Errors
/// Returns the errors of the ports.
pub async fn add_documents_with_same_custom_ids(
    ctx: &Ctx,
    tenant: &Tenant,
    mut documents: Vec<Document>,
) -> Result<Vec<Document>> {
    let mut containers: HashMap<ContainerTag, Vec<ContainerId>> = HashMap::new();
    let mut others = Vec::new();
    for document in &documents {
        let Some(custom_id) = &document.custom_id else {
            continue;
        };
        if document.superseded_by.is_some() {
            continue;
        }

        if !containers.contains_key(&document.tag) {
            let container = ctx.containers.get(tenant, &document.tag).await?;
            let ids = match container {
                Some(container) => merged_containers(ctx, tenant, container).await?,
                None => Vec::new(),
            };
            containers.insert(document.tag.clone(), ids);
        }
        if let Some(ids) = containers.get(&document.tag)
            && ids.len() > 1
            && ids.contains(&document.container)
        {
            others.extend(read_active_documents(ctx, tenant, ids, custom_id).await?);
        }
    }

    for other in others {
        if documents.iter().all(|document| document.id != other.id) {
            documents.push(other);
        }
    }
    Ok(documents)
}

/// Returns the physical containers behind a tag in which the same customId means the same document. Documents
/// in shared containers are different documents, unless a merge is under way.
async fn merged_containers(
    ctx: &Ctx,
    tenant: &Tenant,
    container: Container,
) -> Result<Vec<ContainerId>> {
    if container.merge.is_some() {
        return Ok(container.ids);
    }
    let shared = find_shared_containers(ctx, tenant, std::slice::from_ref(&container)).await?;
    let mut ids = container.ids;
    ids.retain(|id| shared.iter().all(|shared| shared.id != *id));
    Ok(ids)
}

/// Returns the documents with a customId in these containers that no merge has superseded.
pub(crate) async fn read_active_documents(
    ctx: &Ctx,
    tenant: &Tenant,
    containers: &[ContainerId],
    custom_id: &CustomId,
) -> Result<Vec<Document>> {
    let candidates = read_candidates(ctx, tenant, containers, custom_id).await?;
    Ok(select_active(&candidates, containers, custom_id))
}

/// Returns the documents of candidates that have the customId, are in these containers, and that no
/// merge has superseded.
fn select_active(
    candidates: &[Candidate],
    containers: &[ContainerId],
    custom_id: &CustomId,
) -> Vec<Document> {
    let mut active: Vec<Document> = Vec::new();
    for document in candidates.iter().filter_map(Candidate::document) {
        let is_active = document.custom_id.as_ref() == Some(custom_id)
            && document.superseded_by.is_none()
            && containers.contains(&document.container);
        if is_active && active.iter().all(|known| known.id != document.id) {
            active.push(document.clone());
        }
    }

    active
}

/// Returns the record with this id under its present tags, or `None` if they were deleted.
pub(crate) async fn visible_document(
    ctx: &Ctx,
    tenant: &Tenant,
    id: &DocumentId,
) -> Result<Option<Document>> {
    let Some(mut document) = read_document(ctx, tenant, id).await? else {
        return Ok(None);
    };

    let Some(tags) = read_present_tags(ctx, tenant, &document).await? else {
        return Ok(None);
    };

    document.set_tags(&tags);
    tenant.record_access([&document.container]);

    Ok(Some(document))
}

/// Returns the tags that a document has now, or `None` if they were deleted. The tag in the
/// document's record may belong to another container by now.
///
/// # Errors
/// Returns the errors of the ports.
pub async fn read_present_tags(
    ctx: &Ctx,
    tenant: &Tenant,
    document: &Document,
) -> Result<Option<Vec<ContainerTag>>> {
    let owner = ctx
        .containers
        .get_owner(tenant, &document.container)
        .await?;
    Ok(present_tags(document, &owner))
}

/// Gives documents the tags that they have now. Leaves out those whose tags were deleted.
///
/// # Errors
/// Returns the errors of the ports.
pub async fn set_present_tags(
    ctx: &Ctx,
    tenant: &Tenant,
    documents: Vec<Document>,
) -> Result<Vec<Document>> {
    let mut containers: Vec<ContainerId> = documents
        .iter()
        .map(|document| document.container.clone())
        .collect();
    containers.sort();
    containers.dedup();
    let owners = ctx.containers.list_owners(tenant, &containers).await?;
    let owners: HashMap<ContainerId, ContainerOwner> = containers.into_iter().zip(owners).collect();

    let mut present = Vec::with_capacity(documents.len());
    for mut document in documents {
        if let Some(owner) = owners.get(&document.container)
            && let Some(tags) = present_tags(&document, owner)
        {
            document.set_tags(&tags);
            present.push(document);
        }
    }
    Ok(present)
}

/// Returns the tags of a document in a container with this owner, or `None` if they were deleted.
fn present_tags(document: &Document, owner: &ContainerOwner) -> Option<Vec<ContainerTag>> {
    match owner {
        ContainerOwner::Deleted => None,
        ContainerOwner::Tags(tags) => Some(tags.clone()),
        ContainerOwner::Original => Some(vec![document.tag.clone()]),
    }
}

/// Returns the record with this id, whether or not the tenant's key reaches it.
pub(crate) async fn read_document(
    ctx: &Ctx,
    tenant: &Tenant,
    id: &DocumentId,
) -> Result<Option<Document>> {
    Ok(ctx.documents.get_one(tenant, id).await?)
}

/// Returns the content of the newest revision as text: a text as it was sent, byte for byte, and the
/// extracted text of anything else once it is processed. Until then, returns the address of a page
/// and nothing for files and conversations.
///
/// # Errors
/// Returns the errors of the ports.
pub async fn read_document_text(
    ctx: &Ctx,
    tenant: &Tenant,
    document: &Document,
) -> Result<Option<String>> {
    if document.body.form == BodyForm::Text
        && let Some(text) = read_sent_text(ctx, tenant, document).await?
    {
        return Ok(Some(text));
    }

    // A text whose bytes are damaged may still have its extracted text.
    if let Some(pack) = newest_pack(document)
        && let Some(pack) = read_pack(ctx, tenant, document, pack).await?
    {
        return Ok(Some(pack.text));
    }

    Ok(match document.body.form {
        BodyForm::Url => document.url.clone(),
        BodyForm::Text | BodyForm::File { .. } | BodyForm::Conversation => None,
    })
}

async fn read_sent_text(ctx: &Ctx, tenant: &Tenant, document: &Document) -> Result<Option<String>> {
    match ctx.blobs.read_one(tenant, &document.body.blob).await? {
        BlobContent::Intact(bytes) => Ok(Some(String::from_utf8_lossy(&bytes).into_owned())),
        _ => Ok(None),
    }
}

/// Returns the pack of the newest processed revision, or `None` if there is none or it cannot be
/// read.
///
/// # Errors
/// Returns the errors of the ports.
pub async fn read_served_pack(
    ctx: &Ctx,
    tenant: &Tenant,
    document: &Document,
) -> Result<Option<Pack>> {
    match document.indexed.as_ref() {
        Some(indexed) => read_pack(ctx, tenant, document, &indexed.pack).await,
        None => Ok(None),
    }
}

fn newest_pack(document: &Document) -> Option<&BlobRef> {
    if let Some(extracted) = &document.extracted
        && document.is_newest_revision(&extracted.revision)
    {
        return Some(&extracted.pack);
    }
    if let Some(indexed) = &document.indexed
        && document.is_newest_revision(&indexed.revision)
    {
        return Some(&indexed.pack);
    }
    None
}

/// Reads a pack of the document. Reports a damaged pack to maintenance and returns `None`.
async fn read_pack(
    ctx: &Ctx,
    tenant: &Tenant,
    document: &Document,
    blob: &BlobRef,
) -> Result<Option<Pack>> {
    let pack = match ctx.blobs.read_one(tenant, blob).await? {
        BlobContent::Intact(bytes) => Pack::decode(&bytes).ok(),
        BlobContent::Damaged => None,
        BlobContent::Missing if !is_lost(ctx, tenant, document, blob).await? => {
            // A deletion or a replacement between the two reads removed the pack. The caller sees
            // the new state when it asks again.
            return Err(PortError::Unavailable("the pack is being replaced".into()).into());
        }
        BlobContent::Missing => None,
    };

    if pack.is_none() {
        report_damage(
            ctx,
            tenant,
            &document.container,
            std::slice::from_ref(&document.id),
        )
        .await;
    }

    Ok(pack)
}
