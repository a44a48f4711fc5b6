//! From what a caller names to the records behind it.

use futures::stream::{self, StreamExt};

use crate::blob::BlobRef;
use crate::container::Container;
use crate::ctx::Ctx;
use crate::document::{BodyForm, Document};
use crate::error::{Error, PortError, Result};
use crate::ids::{CustomId, DocumentId};
use crate::pack::Pack;
use crate::tag::ContainerTag;
use crate::tenant::Tenant;

/// The containers a request is about.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Scope {
    /// The tags that were named; empty means every container that the key reaches.
    pub tags: Vec<ContainerTag>,
}

/// The containers in scope that exist. A tag that nobody has written to is simply empty.
///
/// # Errors
/// [`Error::Forbidden`] for a named tag outside the key's containers.
pub async fn containers(ctx: &Ctx, tenant: &Tenant, scope: &Scope) -> Result<Vec<Container>> {
    for tag in &scope.tags {
        tenant.check_reach(tag)?;
    }
    let named = match (scope.tags.as_slice(), tenant.confined_to()) {
        ([], None) => return Ok(ctx.containers.list(tenant).await?),
        ([], Some(tags)) => tags,
        (tags, _) => tags,
    };
    let mut found = Vec::new();
    for tag in named {
        found.extend(ctx.containers.get(tenant, tag).await?);
    }
    found.dedup_by(|a, b| a.tag == b.tag);
    Ok(found)
}

/// What a caller calls a document by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Naming {
    /// Its id, or else its customId.
    #[default]
    Either,
    /// Its id.
    Id,
    /// Its customId.
    CustomId,
}

/// The document with this id or customId, in the containers that `scope` names.
///
/// # Errors
/// [`Error::NotFound`]; [`Error::Conflict`] when the customId exists in several containers and `scope` names none.
pub async fn find_document(ctx: &Ctx, tenant: &Tenant, name: &str, scope: &Scope) -> Result<Document> {
    find_named(ctx, tenant, name, Naming::Either, scope, None).await
}

/// How many documents are looked for at the same time.
const PARALLEL: usize = 16;

/// The documents with these names, each with its own result, in the order given.
///
/// # Errors
/// [`Error::Forbidden`] for a named tag out of reach, and those of the ports.
pub async fn find_documents(
    ctx: &Ctx,
    tenant: &Tenant,
    names: &[String],
    naming: Naming,
    scope: &Scope,
) -> Result<Vec<Result<Document>>> {
    // Listed once for all names.
    let known = if naming == Naming::Id { Vec::new() } else { containers(ctx, tenant, scope).await? };
    let known = known.as_slice();
    let find = |name: &String| {
        let name = name.clone();
        async move { find_named(ctx, tenant, &name, naming, scope, Some(known)).await }
    };
    Ok(stream::iter(names.iter().map(find)).buffered(PARALLEL).collect().await)
}

async fn find_named(
    ctx: &Ctx,
    tenant: &Tenant,
    name: &str,
    naming: Naming,
    scope: &Scope,
    known: Option<&[Container]>,
) -> Result<Document> {
    for tag in &scope.tags {
        tenant.check_reach(tag)?;
    }
    if naming != Naming::CustomId
        && let Some(id) = DocumentId::parse(name)
        && let Some(document) = read_document(ctx, tenant, &id).await?
        && tenant.reaches(&document.tag)
        && (scope.tags.is_empty() || scope.tags.contains(&document.tag))
    {
        return Ok(document);
    }
    if naming == Naming::Id {
        return Err(Error::NotFound("Document"));
    }
    let custom_id = CustomId::parse_conversation(name).map_err(|_| Error::NotFound("Document"))?;
    match known {
        Some(known) => find_by_custom_id(ctx, tenant, &custom_id, known).await,
        None => find_by_custom_id(ctx, tenant, &custom_id, &containers(ctx, tenant, scope).await?).await,
    }
}

async fn find_by_custom_id(
    ctx: &Ctx,
    tenant: &Tenant,
    custom_id: &CustomId,
    containers: &[Container],
) -> Result<Document> {
    let mut ids = Vec::new();
    for container in containers {
        ids.extend(container.ids.iter().map(|id| DocumentId::derived(tenant.org(), id, custom_id)));
    }
    let mut found = Vec::new();
    for batch in ids.chunks(100) {
        found.extend(ctx.documents.get(tenant, batch).await?.into_iter().flatten());
    }
    if found.len() > 1 {
        let tags: Vec<&str> = found.iter().map(|document| document.tag.as_str()).collect();
        let message =
            format!("several containers have this customId ({}); add containerTag", tags.join(", "));
        return Err(Error::Conflict(message));
    }
    found.pop().ok_or(Error::NotFound("Document"))
}

/// The record with this id, whether the tenant's key reaches it or not.
pub(crate) async fn read_document(ctx: &Ctx, tenant: &Tenant, id: &DocumentId) -> Result<Option<Document>> {
    Ok(ctx.documents.get(tenant, std::slice::from_ref(id)).await?.pop().flatten())
}

/// The document's canonical text: of the newest revision when that is processed, else what was sent as text or address.
///
/// # Errors
/// Those of the ports.
pub async fn read_text(ctx: &Ctx, tenant: &Tenant, document: &Document) -> Result<Option<String>> {
    if let Some(pack) = newest_pack(document) {
        return Ok(Some(read_pack(ctx, tenant, pack).await?.text));
    }
    if document.body.form != BodyForm::Text {
        return Ok(document.url.clone());
    }
    let bytes = ctx.blobs.get(tenant, std::slice::from_ref(&document.body.blob)).await?.pop().flatten();
    Ok(bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()))
}

/// What processing made of the newest revision that is processed; `None` before that.
///
/// # Errors
/// Those of the ports.
pub async fn read_chunks(ctx: &Ctx, tenant: &Tenant, document: &Document) -> Result<Option<Pack>> {
    match document.indexed.as_ref() {
        Some(indexed) => Ok(Some(read_pack(ctx, tenant, &indexed.pack).await?)),
        None => Ok(None),
    }
}

fn newest_pack(document: &Document) -> Option<&BlobRef> {
    let extracted = document.extracted.as_ref().filter(|new| document.is_current(&new.revision));
    let indexed = document.indexed.as_ref().filter(|old| document.is_current(&old.revision));
    extracted.map(|new| &new.pack).or(indexed.map(|old| &old.pack))
}

async fn read_pack(ctx: &Ctx, tenant: &Tenant, blob: &BlobRef) -> Result<Pack> {
    let bytes = ctx.blobs.get(tenant, std::slice::from_ref(blob)).await?.pop().flatten();
    // A delete or a replacement between the two reads takes the pack away; asking again shows the new state.
    let bytes = bytes.ok_or_else(|| PortError::Unavailable("the pack is being replaced".into()))?;
    Ok(Pack::decode(&bytes)?)
}
