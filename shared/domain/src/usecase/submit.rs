//! Accepting a document: bytes first, then the record, then the message. A crash between any two leaves nothing wrong:
//! bytes without a record are invisible, and a record without a message is found by the sweeper.

use bytes::Bytes;
use sha2::{Digest, Sha256};
use tracing::warn;

use crate::container::Container;
use crate::ctx::Ctx;
use crate::document::{Body, BodyForm, Document, DocumentType, Status, TaskType};
use crate::error::{Error, PortError, Result};
use crate::ids::{ContainerId, CustomId, DocumentId, Revision};
use crate::job::{Envelope, Job};
use crate::metadata::Metadata;
use crate::ports::Repeat;
use crate::tag::ContainerTag;
use crate::tenant::Tenant;
use crate::time::Timestamp;

/// The same content from the same key within this time is a client's retry. Contract: 2 minutes.
const REPEAT_SECONDS: i64 = 120;
/// How long an `Idempotency-Key` is honoured. Contract: 24 hours.
const IDEMPOTENCY_SECONDS: i64 = 24 * 3600;
/// How often an upsert is tried against concurrent upserts of the same document.
const UPSERT_ATTEMPTS: usize = 12;

/// What a client sends.
#[derive(Debug, Clone)]
pub struct NewDocument {
    /// The container; the default one when absent.
    pub tag: Option<ContainerTag>,
    /// The caller's own identifier; the same one again replaces the content.
    pub custom_id: Option<CustomId>,
    /// The content.
    pub content: Content,
    /// Metadata; absent keeps what an earlier content had.
    pub metadata: Option<Metadata>,
    /// The caller's path.
    pub filepath: Option<String>,
    /// A title that wins over one found in the content.
    pub title: Option<String>,
    /// Chunks only, or memories as well.
    pub task_type: TaskType,
    /// When the content is from.
    pub document_date: Option<Timestamp>,
    /// The request's `Idempotency-Key`.
    pub idempotency_key: Option<String>,
}

/// Bytes and how to read them.
#[derive(Debug, Clone)]
pub struct Content {
    /// The bytes.
    pub bytes: Bytes,
    /// How to read them.
    pub form: BodyForm,
}

/// The answer to an accepted document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Accepted {
    /// The document.
    pub id: DocumentId,
    /// Where it stands: `queued`, or the present state of an unchanged one.
    pub status: Status,
}

/// Accepts a document for processing.
///
/// Sent twice (same customId and content, same idempotency key, or the same content within two minutes) it is one
/// document, and the second answer tells the present state. Concurrent contents of one customId are accepted in some
/// order, each fully; the last one stays.
///
/// # Errors
/// [`Error::Invalid`] for empty content, [`Error::Forbidden`], [`Error::Conflict`] when an idempotency key comes with
/// another content, and those of the ports.
pub async fn submit(ctx: &Ctx, tenant: &Tenant, new: NewDocument) -> Result<Accepted> {
    if new.content.bytes.iter().all(u8::is_ascii_whitespace) {
        return Err(Error::invalid_field("content", "there is nothing in it"));
    }
    let tag = tenant.writable_tag(new.tag.clone())?;
    let container = container_of(ctx, tenant, &tag).await?;
    let (id, mut known_new) = identify(ctx, tenant, container.primary(), &tag, &new).await?;
    for _ in 0..UPSERT_ATTEMPTS {
        let old = if std::mem::take(&mut known_new) {
            None
        } else {
            ctx.documents.get(tenant, std::slice::from_ref(&id)).await?.pop().flatten()
        };
        let hash = digest(&new, old.as_ref());
        if let Some(old) = old.as_ref().filter(|old| old.body.hash == hash && old.status != Status::Failed) {
            return Ok(Accepted { id, status: old.status });
        }
        let document = compose(ctx, tenant, &new, &container, &tag, id.clone(), hash, old.as_ref()).await?;
        let garbage = old.as_ref().map(Document::unserved).unwrap_or_default();
        let expected = old.as_ref().map(|old| &old.revision);
        match ctx.documents.accept(tenant, &document, expected, &garbage).await {
            Ok(()) => {
                announce(ctx, tenant, &document).await;
                return Ok(Accepted { id, status: Status::Queued });
            }
            Err(PortError::Conflict) => {
                // Another content was first; ours is put on top of it. Our bytes get a new path with the new revision.
                let orphan = [document.body.blob.clone()];
                ctx.blobs.delete(tenant, &orphan).await.ok();
            }
            Err(error) => return Err(error.into()),
        }
    }
    Err(PortError::Conflict.into())
}

async fn container_of(ctx: &Ctx, tenant: &Tenant, tag: &ContainerTag) -> Result<Container> {
    if let Some(container) = ctx.containers.get(tenant, tag).await? {
        return Ok(container);
    }
    Ok(ctx.containers.create(tenant, tag, ContainerId::random(), ctx.clock.now()).await?)
}

/// Decides which document this request is about, and whether its id was made just now.
async fn identify(
    ctx: &Ctx,
    tenant: &Tenant,
    container: &ContainerId,
    tag: &ContainerTag,
    new: &NewDocument,
) -> Result<(DocumentId, bool)> {
    if let Some(custom_id) = &new.custom_id {
        return Ok((DocumentId::derived(tenant.org(), container, custom_id), false));
    }
    // The tag belongs to it: under one idempotency key the same content for another container is another request.
    let digest = format!("{tag}#{}", digest(new, None));
    let now = ctx.clock.now();
    let key = tenant.key().map_or("local", |key| key.as_str());
    let (name, seconds) = match &new.idempotency_key {
        Some(sent) => (format!("key#{key}#{}", hex(&Sha256::digest(sent))), IDEMPOTENCY_SECONDS),
        None => (format!("same#{key}#{container}#{digest}"), REPEAT_SECONDS),
    };
    let fresh = DocumentId::random();
    let mine = Repeat { document: fresh.clone(), digest: digest.clone() };
    let first = ctx.repeats.remember(tenant, &name, mine, now, now.plus_seconds(seconds)).await?;
    if first.digest != digest {
        return Err(Error::Conflict("this Idempotency-Key was used for another request".into()));
    }
    let is_fresh = first.document == fresh;
    Ok((first.document, is_fresh))
}

/// SHA-256 over everything that processing reads and listings show, in hex.
fn digest(new: &NewDocument, old: Option<&Document>) -> String {
    let metadata = new.metadata.as_ref().or(old.map(|old| &old.metadata));
    let filepath = new.filepath.as_ref().or(old.and_then(|old| old.filepath.as_ref()));
    let parts = serde_json::json!([
        new.content.form,
        metadata.filter(|metadata| !metadata.is_empty()),
        filepath,
        new.title,
        new.task_type,
        new.document_date,
    ]);
    let mut hasher = Sha256::new();
    hasher.update(parts.to_string());
    hasher.update([0]);
    hasher.update(&new.content.bytes);
    hex(&hasher.finalize())
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[expect(clippy::too_many_arguments, reason = "the parts of one record, named once")]
async fn compose(
    ctx: &Ctx,
    tenant: &Tenant,
    new: &NewDocument,
    container: &Container,
    tag: &ContainerTag,
    id: DocumentId,
    hash: String,
    old: Option<&Document>,
) -> Result<Document> {
    let revision = Revision::random();
    let path = format!("{}/{id}/{revision}/body", container.primary());
    let blob = ctx.blobs.put(tenant, &path, new.content.bytes.clone()).await?;
    let now = ctx.clock.now();
    let body = Body { blob, form: new.content.form.clone(), hash, size: new.content.bytes.len() as u64 };
    Ok(Document {
        id,
        container: container.primary().clone(),
        tag: tag.clone(),
        custom_id: new.custom_id.clone(),
        revision,
        revision_number: old.map_or(0, |old| old.revision_number) + 1,
        status: Status::Queued,
        failure: None,
        attempts: 0,
        lease_until: Timestamp::from_millis(0),
        body,
        extracted: None,
        indexed: old.and_then(|old| old.indexed.clone()),
        kind: DocumentType::Text,
        title: new.title.clone(),
        metadata: new.metadata.clone().or(old.map(|old| old.metadata.clone())).unwrap_or_default(),
        filepath: new.filepath.clone().or(old.and_then(|old| old.filepath.clone())),
        task_type: new.task_type,
        document_date: new.document_date,
        created_at: old.map_or(now, |old| old.created_at),
        updated_at: now,
    })
}

async fn announce(ctx: &Ctx, tenant: &Tenant, document: &Document) {
    let job = Job::ProcessV1 { document: document.id.clone(), revision: document.revision.clone() };
    let message = Envelope { org: tenant.org().clone(), job };
    if let Err(error) = ctx.jobs.send(&[message]).await {
        // The record is durable and overdue in a minute: the sweeper sends the message then.
        warn!(document.id = %document.id, error = &error as &dyn std::error::Error, "left a message to the sweeper");
    }
}
