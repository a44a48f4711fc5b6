//! Places: the document with a customId, or the place for a new one. Every attempt at a write
//! determines the place again, and the write takes effect only while it holds
//! ([`CreationConditions`]). One customId is therefore one document, whatever else is sent, deleted
//! or merged meanwhile.
//!
//! A document with a customId has the id that is derived from it in the organization, or a second
//! one while a document of a deleted container still has the first. If another document has that id,
//! it has the one that is derived in its container, as all documents had in earlier versions. A
//! document that got its customId later has kept its id, and a reference under the derived id leads
//! to it.

use crate::Ctx;
use crate::find::{read_document, read_present_tags};
use domain::container::Container;
use domain::document::Document;
use domain::error::{Error, Result};
use domain::ids::{ContainerId, CustomId, DocumentId};
use domain::ports::{AlternativeId, CreationConditions, CustomIdReference, DocumentEntry};
use domain::tag::ContainerTag;
use domain::tenant::Tenant;

/// The number of records that are read together.
const BATCH_SIZE: usize = 1_000;
/// The most ids whose state a write can require. A transaction has at most 100 items, of which a move
/// needs five: the head, the log record, the document, a reference, and a purge record.
const MAX_ALTERNATIVES: usize = 95;
/// The number of ids that are derived from a customId in the organization.
const ORGANIZATION_IDS: usize = 2;

/// The container and id of an existing or future document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DocumentLocation {
    pub(crate) container: ContainerId,
    pub(crate) id: DocumentId,
    /// The condition under which a document may be created here.
    pub(crate) creation_conditions: CreationConditions,
}

/// The containers in which the document with a customId is looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LookupScope<'a> {
    /// In all containers that the key reaches: what is sent replaces the document.
    Organization,
    /// In the container alone: what is sent is added to what is there.
    Container,
    /// Behind several tags: a document is found that has all of them, or only some of them and no
    /// others. A document that shares one tag with these and has another one is a different one.
    Tags(&'a [ContainerTag]),
}

impl<'a> LookupScope<'a> {
    /// Returns `otherwise`, unless there are several tags.
    pub(crate) fn of_tags(tags: &'a [ContainerTag], otherwise: Self) -> Self {
        if tags.len() > 1 {
            Self::Tags(tags)
        } else {
            otherwise
        }
    }
}

/// The document with a customId, or the place for a new one.
#[derive(Debug)]
pub(crate) struct LocatedDocument {
    pub(crate) location: DocumentLocation,
    /// The document that exists there.
    pub(crate) document: Option<Document>,
    /// The documents with this customId in the container that a merge has superseded.
    pub(crate) superseded: Vec<DocumentId>,
}

/// Returns the document with this customId, or the place for a new one in the container. If several
/// documents have the customId, those in the container come first, and then the newest.
///
/// # Errors
/// Returns [`Error::Invalid`] for a new one if its tags have too many containers, and the errors of
/// the ports.
pub(crate) async fn locate_document(
    ctx: &Ctx,
    tenant: &Tenant,
    container: &Container,
    custom_id: &CustomId,
    scope: LookupScope<'_>,
) -> Result<LocatedDocument> {
    let candidates = read_candidates(ctx, tenant, &container.ids, custom_id).await?;
    let active = active_documents(ctx, tenant, container, custom_id, scope, &candidates).await?;
    let newest = active
        .into_iter()
        .max_by_key(|document| (is_in(document, container), document.content_order()));

    let location = match &newest {
        Some(document) => DocumentLocation {
            container: document.container.clone(),
            id: document.id.clone(),
            creation_conditions: CreationConditions::default(),
        },
        None => {
            let (id, creation_conditions) =
                find_free_location(ctx, tenant, &candidates, custom_id).await?;
            DocumentLocation {
                container: container.primary_id().clone(),
                id,
                creation_conditions,
            }
        }
    };
    Ok(LocatedDocument {
        location,
        document: newest,
        superseded: superseded_documents(container, custom_id, &candidates),
    })
}

/// Returns the reference that leads from the customId of `document` to it once it is in
/// `container`, which has these tags, unless its id does; and the other ids that a document with the
/// customId could have.
///
/// # Errors
/// Returns [`Error::Conflict`] if another document has the customId, [`Error::Invalid`] if the tags
/// have too many containers, and the errors of the ports.
pub(crate) async fn find_reference(
    ctx: &Ctx,
    tenant: &Tenant,
    container: &Container,
    tags: &[ContainerTag],
    custom_id: &CustomId,
    document: &Document,
) -> Result<(Option<CustomIdReference>, Vec<AlternativeId>)> {
    let candidates = read_candidates(ctx, tenant, &container.ids, custom_id).await?;
    let scope = LookupScope::of_tags(tags, LookupScope::Organization);
    let active = active_documents(ctx, tenant, container, custom_id, scope, &candidates).await?;
    if let Some(other) = active.iter().find(|other| other.id != document.id) {
        return Err(Error::Conflict(format!(
            "the document {} has this customId too; delete it, or give it another",
            other.id
        )));
    }

    // The ids in further containers of the tag lead to the document only as long as the tag has
    // these containers.
    let leads_here = |candidate: &&Candidate| match &candidate.entry {
        Some(DocumentEntry::Reference(target)) => *target == document.id,
        _ => candidate.id == document.id,
    };
    let known = candidates
        .iter()
        .take(ORGANIZATION_IDS + 1)
        .find(leads_here);
    let (id, reference) = match known {
        Some(candidate) => (candidate.id.clone(), None),
        None => {
            let (id, conditions) = find_free_location(ctx, tenant, &candidates, custom_id).await?;
            let reference = CustomIdReference {
                id: id.clone(),
                replaces: conditions.replaces,
            };
            (id, Some(reference))
        }
    };

    let mut alternatives = alternatives_to(&id, &candidates)?;
    alternatives.retain(|alternative| alternative.id != document.id);
    Ok((reference, alternatives))
}

fn is_in(document: &Document, container: &Container) -> bool {
    container.ids.contains(&document.container)
}

/// Returns the documents with the customId that no merge has superseded, as far as `scope` says.
/// Outside the container, these are documents of which the key reaches all tags.
async fn active_documents(
    ctx: &Ctx,
    tenant: &Tenant,
    container: &Container,
    custom_id: &CustomId,
    scope: LookupScope<'_>,
    candidates: &[Candidate],
) -> Result<Vec<Document>> {
    let mut active = Vec::new();
    for document in candidates.iter().filter_map(Candidate::document) {
        if document.custom_id.as_ref() != Some(custom_id) || document.superseded_by.is_some() {
            continue;
        }
        match scope {
            LookupScope::Tags(tags) if is_in(document, container) => {
                if is_meant_by(ctx, tenant, document, tags).await? {
                    active.push(document.clone());
                }
            }
            _ if is_in(document, container) => active.push(document.clone()),
            LookupScope::Organization => active.extend(reached(ctx, tenant, document).await?),
            LookupScope::Container | LookupScope::Tags(_) => {}
        }
    }

    Ok(active)
}

fn superseded_documents(
    container: &Container,
    custom_id: &CustomId,
    candidates: &[Candidate],
) -> Vec<DocumentId> {
    let documents = candidates.iter().filter_map(Candidate::document);
    let superseded = documents.filter(|document| {
        document.custom_id.as_ref() == Some(custom_id)
            && document.superseded_by.is_some()
            && is_in(document, container)
    });
    superseded.map(|document| document.id.clone()).collect()
}

/// An id that the document with a customId could have.
pub(crate) struct Candidate {
    id: DocumentId,
    entry: Option<DocumentEntry>,
    /// The document that the reference leads to.
    referenced: Option<Document>,
}

impl Candidate {
    /// Returns the document that is found with the id.
    pub(crate) fn document(&self) -> Option<&Document> {
        match &self.entry {
            Some(DocumentEntry::Document(document)) => Some(document),
            Some(DocumentEntry::Reference(_)) => self.referenced.as_ref(),
            None => None,
        }
    }

    /// Returns the id as it was found, for the condition that it still is.
    fn as_found(&self) -> AlternativeId {
        let document = match &self.entry {
            Some(DocumentEntry::Document(document)) => Some(document.as_ref()),
            Some(DocumentEntry::Reference(_)) | None => None,
        };
        AlternativeId::found(self.id.clone(), document)
    }

    /// Returns the id to which a reference leads, as it was found.
    fn target_as_found(&self) -> Option<AlternativeId> {
        match &self.entry {
            Some(DocumentEntry::Reference(target)) => {
                let document = self.referenced.as_ref();
                Some(AlternativeId::found(target.clone(), document))
            }
            Some(DocumentEntry::Document(_)) | None => None,
        }
    }

    /// Returns the outdated reference that a new document would replace, or nothing if there is
    /// nothing to replace. Returns `None` if the id is taken.
    fn replaceable(&self, custom_id: &CustomId) -> Option<Option<DocumentId>> {
        match &self.entry {
            None => Some(None),
            Some(DocumentEntry::Document(_)) => None,
            Some(DocumentEntry::Reference(target)) => {
                let named = self
                    .referenced
                    .as_ref()
                    .and_then(|found| found.custom_id.as_ref());
                (named != Some(custom_id)).then(|| Some(target.clone()))
            }
        }
    }
}

/// Reads what is stored under the ids that the document with a customId in these containers could
/// have, in the order of [`candidate_ids`].
///
/// # Errors
/// Returns the errors of the ports.
pub(crate) async fn read_candidates(
    ctx: &Ctx,
    tenant: &Tenant,
    containers: &[ContainerId],
    custom_id: &CustomId,
) -> Result<Vec<Candidate>> {
    let ids = candidate_ids(tenant, containers, custom_id);
    read_ids(ctx, tenant, ids).await
}

/// Reads what is stored under the ids that the documents with these customIds could have. Returns,
/// for each of them in order, the ids under which something is stored.
///
/// # Errors
/// Returns the errors of the ports.
pub(crate) async fn read_candidates_of_each(
    ctx: &Ctx,
    tenant: &Tenant,
    containers: &[ContainerId],
    custom_ids: &[CustomId],
) -> Result<Vec<Vec<Candidate>>> {
    let mut ids = Vec::new();
    for (index, custom_id) in custom_ids.iter().enumerate() {
        let candidate_ids = candidate_ids(tenant, containers, custom_id);
        ids.extend(candidate_ids.into_iter().map(|id| (index, id)));
    }

    let mut found: Vec<Vec<Candidate>> = custom_ids.iter().map(|_| Vec::new()).collect();
    for batch in ids.chunks(BATCH_SIZE) {
        let batch_ids = batch.iter().map(|(_, id)| id.clone()).collect();
        let candidates = read_ids(ctx, tenant, batch_ids).await?;
        for ((index, _), candidate) in batch.iter().zip(candidates) {
            if candidate.entry.is_some() {
                found[*index].push(candidate);
            }
        }
    }
    Ok(found)
}

/// Returns the ids that the document with a customId in these containers could have: first the two
/// in the organization, then those in the containers.
fn candidate_ids(
    tenant: &Tenant,
    containers: &[ContainerId],
    custom_id: &CustomId,
) -> Vec<DocumentId> {
    let org = tenant.org();
    let mut ids = vec![
        DocumentId::of_custom_id(org, custom_id),
        DocumentId::second_of_custom_id(org, custom_id),
    ];
    for container in containers {
        ids.push(DocumentId::in_container(org, container, custom_id));
    }
    ids
}

/// Reads what is stored under these ids, in their order.
async fn read_ids(ctx: &Ctx, tenant: &Tenant, ids: Vec<DocumentId>) -> Result<Vec<Candidate>> {
    let entries = ctx.documents.find(tenant, &ids).await?;

    let mut candidates = Vec::with_capacity(ids.len());
    for (id, entry) in ids.into_iter().zip(entries) {
        let referenced = match &entry {
            Some(DocumentEntry::Reference(target)) => read_document(ctx, tenant, target).await?,
            _ => None,
        };
        candidates.push(Candidate {
            id,
            entry,
            referenced,
        });
    }

    Ok(candidates)
}

/// Returns the first id that no document has, with the conditions of a creation there.
async fn find_free_location(
    ctx: &Ctx,
    tenant: &Tenant,
    candidates: &[Candidate],
    custom_id: &CustomId,
) -> Result<(DocumentId, CreationConditions)> {
    // The document of a deleted container is about to be removed, and must not let the customId
    // become two documents.
    let is_second_usable = match candidates.first().and_then(|first| first.entry.as_ref()) {
        Some(DocumentEntry::Document(document)) => {
            read_present_tags(ctx, tenant, document).await?.is_none()
        }
        Some(DocumentEntry::Reference(_)) | None => false,
    };

    for (number, candidate) in candidates.iter().enumerate() {
        if number == 1 && !is_second_usable {
            continue;
        }
        let Some(replaces) = candidate.replaceable(custom_id) else {
            continue;
        };

        // Whoever creates the document takes the first free id. The others matter only if one of
        // them is taken, and may get the customId or become free.
        let alternatives = if candidates.iter().all(|candidate| candidate.entry.is_none()) {
            Vec::new()
        } else {
            alternatives_to(&candidate.id, candidates)?
        };
        let conditions = CreationConditions {
            alternatives,
            replaces,
            reference: None,
            request_key: None,
        };
        return Ok((candidate.id.clone(), conditions));
    }

    Err(Error::internal("every place of a customId is taken"))
}

/// Returns the ids where the document with a customId could be other than `id`, as they were found:
/// the other candidates, and the documents to which references lead.
///
/// # Errors
/// Returns [`Error::Invalid`] if there are more than a write can check.
fn alternatives_to(id: &DocumentId, candidates: &[Candidate]) -> Result<Vec<AlternativeId>> {
    let mut alternatives: Vec<AlternativeId> = Vec::new();
    for candidate in candidates {
        for found in [Some(candidate.as_found()), candidate.target_as_found()] {
            if let Some(found) = found
                && found.id != *id
                && alternatives.iter().all(|known| known.id != found.id)
            {
                alternatives.push(found);
            }
        }
    }

    if alternatives.len() > MAX_ALTERNATIVES {
        return Err(Error::invalid_field(
            "containerTags",
            format!(
                "together, these container tags are combined with others in {} ways, too many for a \
                 customId to be checked in each; use fewer of these tags, or no customId",
                candidates.len() - ORGANIZATION_IDS
            ),
        ));
    }
    Ok(alternatives)
}

/// Checks whether several tags mean this document: it has all of them, or only some of them.
async fn is_meant_by(
    ctx: &Ctx,
    tenant: &Tenant,
    document: &Document,
    tags: &[ContainerTag],
) -> Result<bool> {
    let Some(present) = read_present_tags(ctx, tenant, document).await? else {
        return Ok(false);
    };
    let has_all = tags.iter().all(|tag| present.contains(tag));
    let has_no_other = present.iter().all(|tag| tags.contains(tag));
    Ok(has_all || has_no_other)
}

/// Returns a document with its present tags, if the key reaches them all.
async fn reached(ctx: &Ctx, tenant: &Tenant, document: &Document) -> Result<Option<Document>> {
    let Some(tags) = read_present_tags(ctx, tenant, document).await? else {
        return Ok(None);
    };
    if !tags.iter().all(|tag| tenant.can_access(tag)) {
        return Ok(None);
    }

    let mut document = document.clone();
    document.set_tags(&tags);
    Ok(Some(document))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn candidates(count: usize) -> Vec<Candidate> {
        let absent = || Candidate {
            id: DocumentId::random(),
            entry: None,
            referenced: None,
        };
        std::iter::repeat_with(absent).take(count).collect()
    }

    #[test]
    fn more_ids_than_a_transaction_can_check_are_refused() {
        let most = candidates(MAX_ALTERNATIVES + 1);
        let alternatives = alternatives_to(&most[0].id, &most).unwrap();
        assert_eq!(alternatives.len(), MAX_ALTERNATIVES);

        let too_many = candidates(MAX_ALTERNATIVES + 2);
        let refused = alternatives_to(&too_many[0].id, &too_many).unwrap_err();
        let Error::Invalid { message, .. } = refused else {
            panic!("{refused:?}");
        };
        assert!(message.contains("use fewer of these tags"), "{message}");
    }
}
