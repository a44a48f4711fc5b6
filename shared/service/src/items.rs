//! Documents made from the items of a connection.
//!
//! Several connections may need the same document; each records that by a claim. A claim is written
//! before its document, and a claim is released by reading the document before the claims. Taking
//! over a document as it is counts as an edit of it. A removal that has not seen the new claim
//! therefore finds the document changed, and looks at the claims again.
//!
//! A merge that supersedes a document copies its claims to the document that stays. A connection
//! that needed the superseded document needs the other one as long as its claim on the first
//! exists: filing the item ends only that claim, and giving up the claim ends both.

use bytes::Bytes;
use sha2::{Digest, Sha256};

use crate::ConflictRetry;
use crate::Ctx;
use crate::describe::{DocumentDescription, write_description};
use crate::find::read_document;
use crate::jobs::queue_processing;
use crate::open::open_container;
use crate::place::{LocatedDocument, LookupScope, locate_document};
use crate::remove::remove_documents;
use crate::revise::{
    AcceptedDocument, DeclaredProperties, Identity, NewBody, build_revision, empty_content_error,
    write_revision,
};
use domain::connection::{DocumentClaim, DocumentOrigin, Provider};
use domain::document::{BodyForm, Document, DocumentStatus, Dreaming, TaskType};
use domain::error::{Error, Result};
use domain::ids::{CustomId, DocumentId};
use domain::ports::CreationConditions;
use domain::tag::ContainerTag;
use domain::tenant::Tenant;

/// The most merges that are followed from a superseded document to the one that superseded it.
const MAX_MERGES: usize = 50;

/// The description of the document that is made from an item.
#[derive(Debug, Clone)]
pub struct ItemDocument {
    /// The tag of the connection's container.
    pub tag: ContainerTag,
    /// The customId, which [`item_custom_id`] computes.
    pub custom_id: CustomId,
    /// The origin of the document: the item at its provider.
    pub origin: DocumentOrigin,
    /// The address at which people view the item.
    pub url: Option<String>,
    /// The path of the item at the provider.
    pub filepath: String,
    /// The claim of the connection on the document.
    pub claim: DocumentClaim,
}

/// Returns the customId of an item's document: the name of the provider and the id of the item, or
/// a digest of that id if it does not fit a customId.
pub fn item_custom_id(provider: Provider, item: &str) -> CustomId {
    let name = |item: &str| CustomId::parse(&format!("{}:{item}", provider.as_str()));
    let digest = || format!("sha256:{}", hex::encode(Sha256::digest(item)));
    name(item)
        .or_else(|_| name(&digest()))
        .expect("hex digits may stand in a customId")
}

/// Returns the id of an item's document, whether or not the document exists. Returns `None` before
/// the container exists.
///
/// # Errors
/// Returns the errors of the ports.
pub async fn item_document_id(
    ctx: &Ctx,
    tenant: &Tenant,
    tag: &ContainerTag,
    custom_id: &CustomId,
) -> Result<Option<DocumentId>> {
    match ctx.containers.get(tenant, tag).await? {
        Some(container) => {
            let found =
                locate_document(ctx, tenant, &container, custom_id, LookupScope::Container).await?;
            Ok(Some(found.location.id))
        }
        None => Ok(None),
    }
}

/// Files an item with its content and claims its document. The result is a new document, a new
/// revision, or only a new description if the document already has that content. The caller's
/// settings of the document (metadata, task type) are kept.
///
/// # Errors
/// Returns [`Error::Invalid`] for empty content, [`Error::Conflict`] while the container is being
/// merged, [`Error::RateLimited`] when the organization has too many unfinished documents, and the
/// errors of the ports.
pub async fn file_item(
    ctx: &Ctx,
    tenant: &Tenant,
    item: ItemDocument,
    bytes: Bytes,
    form: BodyForm,
) -> Result<AcceptedDocument> {
    if bytes.trim_ascii().is_empty() {
        return Err(empty_content_error());
    }

    ctx.backlog.admit_documents(ctx, tenant, 1).await?;
    let mut retry = ConflictRetry::new(ctx.clock.as_ref());
    loop {
        let lookup = look_up_document(ctx, tenant, &item).await?;
        lookup.claim(ctx, tenant, &item.claim).await?;
        let body = NewBody::sent(bytes.clone(), form.clone());
        let accepted = match &lookup.old {
            Some(old) if body.is_of(old) && old.status != DocumentStatus::Failed => {
                adopt(ctx, tenant, &item, old, lookup.is_claimed).await?
            }
            _ => revise(ctx, tenant, &item, &lookup, body).await?,
        };
        if let Some(accepted) = accepted {
            lookup.leave_superseded(ctx, tenant, &item.claim).await?;
            return Ok(accepted);
        }

        retry.wait().await?;
    }
}

/// Files an item without its content and claims its document, if the document has the content with
/// the same [`DocumentOrigin::content_version`]. Returns `None` when the content has to be fetched.
///
/// # Errors
/// Returns [`Error::Conflict`] while the container is being merged, and the errors of the ports.
pub async fn refile_item(
    ctx: &Ctx,
    tenant: &Tenant,
    item: &ItemDocument,
) -> Result<Option<DocumentId>> {
    let mut retry = ConflictRetry::new(ctx.clock.as_ref());
    loop {
        let lookup = look_up_document(ctx, tenant, item).await?;
        let Some(old) = &lookup.old else {
            return Ok(None);
        };
        if !lookup.has_content_of(old, item) {
            return Ok(None);
        }

        lookup.claim(ctx, tenant, &item.claim).await?;
        if let Some(accepted) = adopt(ctx, tenant, item, old, lookup.is_claimed).await? {
            lookup.leave_superseded(ctx, tenant, &item.claim).await?;
            return Ok(Some(accepted.id));
        }

        if !lookup.is_claimed {
            // The document may be gone, and our claim must not keep another document alive.
            ctx.connections
                .release_claim(tenant, &old.id, &item.claim)
                .await?;
        }

        retry.wait().await?;
    }
}

/// Releases a claim, including the copies of it that merges have put on the documents that
/// superseded this one. Returns the document that the claim was on in the end.
///
/// # Errors
/// Returns the errors of the ports. The claim may have been released then; calling it again
/// resumes.
pub async fn release_claim(
    ctx: &Ctx,
    tenant: &Tenant,
    document: &DocumentId,
    claim: &DocumentClaim,
) -> Result<DocumentId> {
    let (mut last, mut superseded_ids) = (document.clone(), Vec::new());
    for _ in 0..MAX_MERGES {
        let Some(current) = read_document(ctx, tenant, &last).await? else {
            break;
        };
        let Some(winner) = current.superseded_by else {
            break;
        };
        if !ctx
            .connections
            .list_claims(tenant, &last)
            .await?
            .contains(claim)
        {
            break;
        }
        superseded_ids.push(std::mem::replace(&mut last, winner));
    }

    // The last one comes first: after a crash, the others still lead to it.
    for document in [&last].into_iter().chain(superseded_ids.iter().rev()) {
        ctx.connections
            .release_claim(tenant, document, claim)
            .await?;
    }

    Ok(last)
}

/// Releases a claim as [`release_claim`] does, and removes the document with its last claim.
/// Returns whether it was removed. A document that is no longer made from an item stays.
///
/// # Errors
/// Returns the errors of the ports. The claim may have been released then; calling it again
/// resumes.
pub async fn release_item(
    ctx: &Ctx,
    tenant: &Tenant,
    document: &DocumentId,
    claim: &DocumentClaim,
) -> Result<bool> {
    let document = &release_claim(ctx, tenant, document, claim).await?;
    let mut retry = ConflictRetry::new(ctx.clock.as_ref());
    loop {
        // The document is read before the claims: a claim that is not seen here comes with an edit
        // that was not read either.
        let Some(current) = read_document(ctx, tenant, document).await? else {
            return Ok(false);
        };
        if current.origin.is_none() || current.superseded_by.is_some() {
            return Ok(false);
        }
        if !ctx
            .connections
            .list_claims(tenant, document)
            .await?
            .is_empty()
        {
            return Ok(false);
        }

        let (revision, changes) = (current.revision.clone(), current.description_changes);
        let is_unchanged = |current: &Document| {
            current.revision == revision && current.description_changes == changes
        };
        if remove_documents(ctx, tenant, vec![current], is_unchanged).await? > 0 {
            return Ok(true);
        }

        retry.wait().await?;
    }
}

/// The present state of an item's document.
struct ItemLookup {
    identity: Identity,
    /// The condition under which the document may be created.
    creation_conditions: CreationConditions,
    old: Option<Document>,
    /// `true` if the connection had claimed the document before it was read.
    is_claimed: bool,
    /// The documents that a merge has superseded by this one.
    superseded: Vec<DocumentId>,
}

/// Looks up the document of an item. A container is deleted after its connections have ended, and
/// the connection is read after the container. So a step that was under way neither brings the
/// container back nor files into a later one of the same tag.
async fn look_up_document(ctx: &Ctx, tenant: &Tenant, item: &ItemDocument) -> Result<ItemLookup> {
    if ctx.containers.get(tenant, &item.tag).await?.is_none() {
        check_wanted(ctx, tenant, item).await?;
    }

    let container = open_container(ctx, tenant, Some(item.tag.clone()), None).await?;
    check_wanted(ctx, tenant, item).await?;
    let LocatedDocument {
        location,
        document: old,
        superseded,
    } = locate_document(
        ctx,
        tenant,
        &container,
        &item.custom_id,
        LookupScope::Container,
    )
    .await?;
    let is_claimed = ctx
        .connections
        .list_claims(tenant, &location.id)
        .await?
        .contains(&item.claim);
    let creation_conditions = location.creation_conditions.clone();
    let identity = Identity::new(&container, location, Some(item.custom_id.clone()));

    Ok(ItemLookup {
        identity,
        creation_conditions,
        old,
        is_claimed,
        superseded,
    })
}

async fn check_wanted(ctx: &Ctx, tenant: &Tenant, item: &ItemDocument) -> Result<()> {
    if let Some(connection) = ctx.connections.get(tenant, &item.claim.connection).await?
        && connection.status.is_visible()
        && connection.tag == item.tag
    {
        return Ok(());
    }
    Err(Error::Conflict(
        "the connection is ended, or files into another container now".into(),
    ))
}

impl ItemLookup {
    async fn claim(&self, ctx: &Ctx, tenant: &Tenant, claim: &DocumentClaim) -> Result<()> {
        if !self.is_claimed {
            ctx.connections
                .claim_document(tenant, &self.identity.id, claim)
                .await?;
        }
        Ok(())
    }

    /// Releases the claims of the connection on superseded documents. The connection has claimed the
    /// document that stays.
    async fn leave_superseded(
        &self,
        ctx: &Ctx,
        tenant: &Tenant,
        claim: &DocumentClaim,
    ) -> Result<()> {
        for document in &self.superseded {
            ctx.connections
                .release_claim(tenant, document, claim)
                .await?;
        }
        Ok(())
    }

    /// Checks whether the document needs only a new description. A connection that is new to a
    /// failed document fetches it again.
    fn has_content_of(&self, old: &Document, item: &ItemDocument) -> bool {
        let Some(origin) = &old.origin else {
            return false;
        };
        let is_usable = self.is_claimed || old.status != DocumentStatus::Failed;
        is_usable && origin.has_same_content(&item.origin)
    }
}

/// Describes the document as the item does. If the claim may be new, the document is changed even if
/// nothing changes, so that a concurrent removal notices the claim. Returns `None` when the
/// document has changed since it was read.
async fn adopt(
    ctx: &Ctx,
    tenant: &Tenant,
    item: &ItemDocument,
    old: &Document,
    is_claimed: bool,
) -> Result<Option<AcceptedDocument>> {
    let accepted = || AcceptedDocument::from(old);

    let mut changed = old.clone();
    if item.describe(&mut changed) {
        changed.updated_at = ctx.clock.now();
    } else if is_claimed {
        return Ok(Some(accepted()));
    }

    changed.description_changes += 1;
    Ok(write_description(ctx, tenant, &changed)
        .await?
        .then(accepted))
}

/// Writes new content, or the first one. Returns `None` when another writer was first.
async fn revise(
    ctx: &Ctx,
    tenant: &Tenant,
    item: &ItemDocument,
    lookup: &ItemLookup,
    body: NewBody,
) -> Result<Option<AcceptedDocument>> {
    let old = lookup.old.as_ref();
    let (task_type, dreaming) = match old {
        Some(old) => (old.task_type, old.dreaming),
        None => (TaskType::default(), Dreaming::default()),
    };
    let declared_properties = DeclaredProperties {
        description: DocumentDescription::default(),
        task_type: Some(task_type),
        dreaming,
        document_date: None,
        provenance: None,
    };

    let mut document = build_revision(
        ctx,
        tenant,
        lookup.identity.clone(),
        &declared_properties,
        body,
        old,
    )
    .await?;
    item.describe(&mut document);
    if !write_revision(ctx, tenant, &document, old, &lookup.creation_conditions).await? {
        return Ok(None);
    }

    Ok(Some(queue_processing(ctx, tenant, &document).await))
}

impl ItemDocument {
    /// Describes the document as the item does. Returns whether that changed anything. Of several
    /// connections that need the document, the one that filed it last is named; that alone does not
    /// count as a change.
    fn describe(&self, document: &mut Document) -> bool {
        let filepath = Some(self.filepath.clone());
        let is_other_origin = match &document.origin {
            Some(origin) => {
                let comparable_origin = DocumentOrigin {
                    connection: origin.connection.clone(),
                    ..self.origin.clone()
                };
                comparable_origin != *origin
            }
            None => false,
        };

        let changed = is_other_origin || self.url != document.url || filepath != document.filepath;
        document.origin = Some(self.origin.clone());
        document.url.clone_from(&self.url);
        document.filepath = filepath;

        changed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_item_gives_its_document_a_custom_id_of_its_own() {
        let custom_id_of = |item: &str| item_custom_id(Provider::CloudDrive, item);
        assert_eq!(custom_id_of("1aB_c-9").as_str(), "cloud-drive:1aB_c-9");
        let odd = ["", "a/b", "ä", "a b", &"x".repeat(300)];
        let mut custom_ids: Vec<_> = odd
            .into_iter()
            .chain(["a", "b"])
            .map(custom_id_of)
            .collect();
        custom_ids.push(item_custom_id(Provider::WebCrawler, "a"));
        assert!(
            custom_ids
                .iter()
                .all(|id| CustomId::parse(id.as_str()).is_ok()),
            "{custom_ids:?}"
        );
        custom_ids.sort();
        custom_ids.dedup();
        assert_eq!(custom_ids.len(), 8);
    }
}
