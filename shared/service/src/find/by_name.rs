//! Looking up documents by the names that callers use.

use futures::stream::{self, StreamExt};

use super::{
    ContainerScope, find_first_containers, restrict_to_visible_tags, select_active,
    visible_document,
};
use crate::Ctx;
use crate::place::{read_candidates, read_candidates_of_each};
use crate::sharing::VisibleTags;
use domain::container::Container;
use domain::document::Document;
use domain::error::{Error, Result};
use domain::ids::{CustomId, DocumentId};
use domain::tenant::Tenant;

/// The most containers that a request without a container tag looks into. Part of the API.
pub const MAX_CONTAINERS_WITHOUT_TAG: usize = 1_000;
/// The number of documents that are looked up in parallel.
const PARALLEL_READS: usize = 16;

/// The kind of name by which a caller refers to a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DocumentNameKind {
    /// The id, or otherwise the customId.
    #[default]
    Either,
    /// The id.
    Id,
    /// The customId.
    CustomId,
}

impl DocumentNameKind {
    /// Returns the customId that a name of this kind can be.
    fn custom_id(self, name: &str) -> Option<CustomId> {
        if self == Self::Id {
            return None;
        }
        CustomId::parse_conversation_id(name).ok()
    }
}

/// Returns the document with this id or customId in the containers of `scope`.
///
/// # Errors
/// Returns [`Error::NotFound`], and if `scope` names no container, [`Error::Conflict`] when the
/// customId exists in several, and [`Error::Invalid`] when there are too many to look into.
pub async fn find_document(
    ctx: &Ctx,
    tenant: &Tenant,
    name: &str,
    scope: &ContainerScope,
) -> Result<Document> {
    let names = [name.to_owned()];
    let mut found = find_documents(ctx, tenant, &names, DocumentNameKind::Either, scope).await?;
    found.pop().unwrap_or(Err(Error::NotFound("Document")))
}

/// Returns the documents with these names, each with its own result, in the order given. Without a
/// tag, a customId that leads nowhere in the organization is looked for in each container, if there
/// are at most [`MAX_CONTAINERS_WITHOUT_TAG`].
///
/// # Errors
/// Returns [`Error::Forbidden`] for a named tag out of reach, and the errors of the ports. The result
/// of a name is [`Error::NotFound`], [`Error::Conflict`] when the customId exists in several
/// containers, or [`Error::Invalid`] when there are too many containers to look into.
pub async fn find_documents(
    ctx: &Ctx,
    tenant: &Tenant,
    names: &[String],
    name_kind: DocumentNameKind,
    scope: &ContainerScope,
) -> Result<Vec<Result<Document>>> {
    for tag in &scope.tags {
        tenant.check_access(tag)?;
    }

    let find = |name: &String| {
        let name = name.clone();
        async move { find_by_derived_id(ctx, tenant, &name, name_kind, scope).await }
    };
    let found: Vec<Result<Option<Document>>> = stream::iter(names.iter().map(find))
        .buffered(PARALLEL_READS)
        .collect()
        .await;

    let mut results = Vec::with_capacity(names.len());
    let mut missing: Vec<(usize, CustomId)> = Vec::new();
    for (position, (name, found)) in names.iter().zip(found).enumerate() {
        if let Ok(None) = found
            && let Some(custom_id) = name_kind.custom_id(name)
        {
            missing.push((position, custom_id));
        }
        results.push(found.and_then(|document| document.ok_or(Error::NotFound("Document"))));
    }
    if missing.is_empty() {
        return Ok(results);
    }

    // Containers are listed once for all names.
    let Some(containers) = find_searchable_containers(ctx, tenant, scope).await? else {
        for (position, custom_id) in missing {
            if name_kind == DocumentNameKind::CustomId
                || DocumentId::parse(custom_id.as_str()).is_none()
            {
                results[position] = Err(too_many_containers_error());
            }
        }
        return Ok(results);
    };
    let (positions, custom_ids): (Vec<usize>, Vec<CustomId>) = missing.into_iter().unzip();
    let found = find_by_custom_ids(ctx, tenant, &custom_ids, &containers).await?;
    for (position, result) in positions.into_iter().zip(found) {
        results[position] = result;
    }
    Ok(results)
}

/// Returns the document with this id, or with the id that is derived from this customId in the
/// organization.
async fn find_by_derived_id(
    ctx: &Ctx,
    tenant: &Tenant,
    name: &str,
    name_kind: DocumentNameKind,
    scope: &ContainerScope,
) -> Result<Option<Document>> {
    if name_kind != DocumentNameKind::CustomId
        && let Some(id) = DocumentId::parse(name)
        && let Some(document) = visible_document(ctx, tenant, &id).await?
        && let Some(document) = restrict_to_visible_tags(ctx, tenant, document, scope).await?
    {
        return Ok(Some(document));
    }

    match name_kind.custom_id(name) {
        Some(custom_id) => find_in_organization(ctx, tenant, &custom_id, scope).await,
        None => Ok(None),
    }
}

/// Returns the containers in scope. Returns `None` if neither the scope nor the key limits the tags,
/// and there are more than [`MAX_CONTAINERS_WITHOUT_TAG`] physical containers.
async fn find_searchable_containers(
    ctx: &Ctx,
    tenant: &Tenant,
    scope: &ContainerScope,
) -> Result<Option<Vec<Container>>> {
    let limit = MAX_CONTAINERS_WITHOUT_TAG + 1;
    let containers = find_first_containers(ctx, tenant, scope, limit).await?;
    if scope.requested_tags(tenant).is_some() {
        return Ok(Some(containers));
    }

    let id_count: usize = containers.iter().map(|container| container.ids.len()).sum();
    let is_cut = containers.len() == limit || id_count > MAX_CONTAINERS_WITHOUT_TAG;
    Ok((!is_cut).then_some(containers))
}

fn too_many_containers_error() -> Error {
    Error::invalid(format!(
        "there are more than {MAX_CONTAINERS_WITHOUT_TAG} containers, the most in which a customId is \
         looked for; add containerTag"
    ))
}

/// Returns the document that has an id of the customId in the organization, or to which a reference
/// there leads.
async fn find_in_organization(
    ctx: &Ctx,
    tenant: &Tenant,
    custom_id: &CustomId,
    scope: &ContainerScope,
) -> Result<Option<Document>> {
    for candidate in read_candidates(ctx, tenant, &[], custom_id).await? {
        let Some(document) = candidate.document() else {
            continue;
        };
        if document.custom_id.as_ref() != Some(custom_id) || document.superseded_by.is_some() {
            continue;
        }

        let Some(document) = visible_document(ctx, tenant, &document.id).await? else {
            continue;
        };
        let Some(document) = restrict_to_visible_tags(ctx, tenant, document, scope).await? else {
            continue;
        };

        // In containers that are being merged, another document with the customId may be newer.
        let container = ctx.containers.get(tenant, &document.tag).await?;
        let Some(container) = container.filter(|container| container.merge.is_some()) else {
            return Ok(Some(document));
        };
        let custom_ids = std::slice::from_ref(custom_id);
        let mut found = find_by_custom_ids(ctx, tenant, custom_ids, &[container]).await?;
        return found.pop().transpose();
    }

    Ok(None)
}

/// Returns, for each of the customIds, the document that has its id in one of the containers.
async fn find_by_custom_ids(
    ctx: &Ctx,
    tenant: &Tenant,
    custom_ids: &[CustomId],
    containers: &[Container],
) -> Result<Vec<Result<Document>>> {
    let mut container_ids = Vec::new();
    for container in containers {
        container_ids.extend_from_slice(&container.ids);
    }
    let candidates = read_candidates_of_each(ctx, tenant, &container_ids, custom_ids).await?;

    let mut found = Vec::with_capacity(custom_ids.len());
    for (custom_id, candidates) in custom_ids.iter().zip(&candidates) {
        found.push(select_active(candidates, &container_ids, custom_id));
    }
    let visible_tags = if found.iter().all(Vec::is_empty) {
        VisibleTags::default()
    } else {
        VisibleTags::read(ctx, tenant, containers).await?
    };

    let select = |documents| select_newest(documents, containers, &visible_tags);
    Ok(found.into_iter().map(select).collect())
}

/// Returns the one of the documents with a customId that the caller means, with its visible tags.
fn select_newest(
    mut documents: Vec<Document>,
    containers: &[Container],
    visible_tags: &VisibleTags,
) -> Result<Document> {
    for document in &mut documents {
        let owner = containers
            .iter()
            .find(|container| container.ids.contains(&document.container));
        if let Some(owner) = owner {
            visible_tags.set_tags(document, &owner.tag);
        }
    }

    // Of the documents that a merge has yet to examine, the newest is the one that it will keep.
    documents.sort_by_key(|document| {
        (
            document.tag.clone(),
            std::cmp::Reverse(document.content_order()),
        )
    });
    documents.dedup_by(|older, newer| older.tag == newer.tag);
    if documents.len() > 1 {
        let tags: Vec<&str> = documents
            .iter()
            .map(|document| document.tag.as_str())
            .collect();
        let message = format!(
            "several containers have this customId ({}); add containerTag",
            tags.join(", ")
        );
        return Err(Error::Conflict(message));
    }

    documents.pop().ok_or(Error::NotFound("Document"))
}
