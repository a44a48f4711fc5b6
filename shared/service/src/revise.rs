//! Writing a new revision of a document: the common last part of accepting, updating, moving and
//! retrying it.

use bytes::Bytes;
use sha2::{Digest, Sha256};
use tracing::warn;

use crate::Ctx;
use crate::describe::DocumentDescription;
use crate::find::read_document;
use crate::place::Place;
use domain::blob::BlobRef;
use domain::connection::DocumentOrigin;
use domain::container::Container;
use domain::document::{
    BodyForm, Document, DocumentBody, DocumentStatus, DocumentType, Dreaming, TaskType, UPLOAD_NAME,
};
use domain::error::{PortError, Result};
use domain::ids::{ContainerId, CustomId, DocumentId, Revision};
use domain::job::JobMessage;
use domain::ports::CreationConditions;
use domain::provenance::Provenance;
use domain::tag::ContainerTag;
use domain::tenant::Tenant;
use domain::time::Timestamp;

/// The client's description of a content and its document.
#[derive(Debug, Clone)]
pub(crate) struct Said {
    pub(crate) description: DocumentDescription,
    pub(crate) task_type: TaskType,
    pub(crate) dreaming: Dreaming,
    /// The date of the content. `None` keeps the previous date.
    pub(crate) document_date: Option<Timestamp>,
    /// The source of the words of the content. `None` keeps the previous provenance.
    pub(crate) provenance: Option<Provenance>,
}

/// The source of the bytes of a new revision.
pub(crate) enum NewBody {
    /// The client has sent the bytes. Built by [`NewBody::sent`].
    Bytes {
        bytes: Bytes,
        form: BodyForm,
        hash: String,
    },
    /// The bytes are those of the previous revision.
    Unchanged(DocumentBody),
    /// The client uploads the bytes by a pre-signed form, until the given time.
    Awaited { form: BodyForm, until: Timestamp },
}

impl NewBody {
    /// Returns a body of bytes that the client has sent.
    pub(crate) fn sent(bytes: Bytes, form: BodyForm) -> Self {
        let hash = Self::hash(&bytes, &form);
        Self::Bytes { bytes, form, hash }
    }

    /// Returns the hash of bytes that are read as `form` says: SHA-256 over the form and the bytes,
    /// in hex.
    pub(crate) fn hash(bytes: &[u8], form: &BodyForm) -> String {
        let mut hasher = Sha256::new();
        hasher.update(serde_json::json!(form).to_string());
        hasher.update([0]);
        hasher.update(bytes);
        hex::encode(hasher.finalize())
    }

    /// Checks whether the document has these bytes. Bytes that are still awaited are unknown, and
    /// never match.
    pub(crate) fn is_of(&self, document: &Document) -> bool {
        match self {
            Self::Unchanged(body) => body.hash == document.body.hash,
            Self::Bytes { hash, .. } => *hash == document.body.hash,
            Self::Awaited { .. } => false,
        }
    }

    fn form(&self) -> &BodyForm {
        match self {
            Self::Unchanged(body) => &body.form,
            Self::Bytes { form, .. } | Self::Awaited { form, .. } => form,
        }
    }

    /// Returns the address to fetch, if the bytes are an address.
    fn url(&self, old: Option<&Document>) -> Option<String> {
        match self {
            Self::Unchanged(_) => old.and_then(|old| old.url.clone()),
            Self::Bytes {
                bytes,
                form: BodyForm::Url,
                ..
            } => Some(String::from_utf8_lossy(bytes).trim().to_owned()),
            Self::Bytes { .. } | Self::Awaited { .. } => None,
        }
    }

    /// Stores the bytes at `path`. Files become separate objects, so that they can be downloaded as
    /// files.
    async fn store(
        self,
        ctx: &Ctx,
        tenant: &Tenant,
        path: &str,
        now: Timestamp,
    ) -> Result<DocumentBody> {
        let sent_at = Some(now);
        Ok(match self {
            Self::Unchanged(body) => body,
            Self::Bytes { bytes, form, hash } => {
                let size = bytes.len() as u64;
                let blob = match form {
                    BodyForm::File { .. } => ctx.blobs.put_object(tenant, path, bytes).await?,
                    BodyForm::Text | BodyForm::Conversation | BodyForm::Url => {
                        ctx.blobs.put(tenant, path, bytes).await?
                    }
                };

                DocumentBody {
                    blob,
                    form,
                    hash,
                    size,
                    awaited_until: None,
                    sent_at,
                }
            }
            Self::Awaited { form, until } => {
                let blob = BlobRef::Object(path.to_owned());
                // A random hash equals nothing that is ever sent.
                let hash = Revision::random().to_string();
                DocumentBody {
                    blob,
                    form,
                    hash,
                    size: 0,
                    awaited_until: Some(until),
                    sent_at,
                }
            }
        })
    }
}

/// The document that a revision belongs to, and its place.
#[derive(Debug, Clone)]
pub(crate) struct Identity {
    pub(crate) id: DocumentId,
    pub(crate) custom_id: Option<CustomId>,
    pub(crate) tag: ContainerTag,
    pub(crate) container: ContainerId,
}

impl Identity {
    /// Returns the identity of a document at a place behind a tag.
    pub(crate) fn new(container: &Container, location: Place, custom_id: Option<CustomId>) -> Self {
        Self {
            id: location.id,
            custom_id,
            tag: container.tag.clone(),
            container: location.container,
        }
    }

    /// Returns the identity of a document that keeps its identity and place.
    pub(crate) fn of(document: &Document) -> Self {
        Self {
            id: document.id.clone(),
            custom_id: document.custom_id.clone(),
            tag: document.tag.clone(),
            container: document.container.clone(),
        }
    }
}

/// Builds the next revision of the document `old`, or the first one. Its bytes are stored; its
/// record is not.
pub(crate) async fn compose(
    ctx: &Ctx,
    tenant: &Tenant,
    Identity {
        id,
        custom_id,
        tag,
        container,
    }: Identity,
    declared_properties: &Said,
    body: NewBody,
    old: Option<&Document>,
) -> Result<Document> {
    let revision = Revision::random();
    let (kind, url) = (DocumentType::guess_from_form(body.form()), body.url(old));

    // A file's name is the title until the content yields a better one.
    let name = match body.form() {
        BodyForm::File { name, .. } => name.clone(),
        BodyForm::Text | BodyForm::Conversation | BodyForm::Url => None,
    };

    let origin = old.and_then(|old| old.origin.clone());
    let origin = if matches!(body, NewBody::Unchanged(_)) {
        origin
    } else {
        origin.map(DocumentOrigin::without_content_version)
    };

    let blob_name = if matches!(body, NewBody::Awaited { .. }) {
        UPLOAD_NAME
    } else {
        "body"
    };

    let now = ctx.clock.now();
    let body = body
        .store(
            ctx,
            tenant,
            &format!("{container}/{id}/{revision}/{blob_name}"),
            now,
        )
        .await?;

    let mut document = Document {
        id,
        container,
        tag,
        custom_id,
        revision,
        revision_number: old.map_or(0, |old| old.revision_number) + 1,
        status: DocumentStatus::Queued,
        failure: None,
        attempts: 0,
        lease_until: Timestamp::from_millis(0),
        body,
        extracted: None,
        indexed: old.and_then(|old| old.indexed.clone()),
        kind,
        title: old.and_then(|old| old.title.clone()).or(name),
        properties: old.map(|old| old.properties.clone()).unwrap_or_default(),
        url,
        metadata: old.map(|old| old.metadata.clone()).unwrap_or_default(),
        filepath: old.and_then(|old| old.filepath.clone()),
        edit_count: old.map_or(0, |old| old.edit_count),
        filter_by_metadata: old.and_then(|old| old.filter_by_metadata.clone()),
        task_type: declared_properties.task_type,
        dreaming: declared_properties.dreaming,
        origin,
        superseded_by: None,
        document_date: declared_properties
            .document_date
            .or(old.and_then(|old| old.document_date)),
        provenance: declared_properties
            .provenance
            .or(old.and_then(|old| old.provenance)),
        created_at: old.map_or(now, |old| old.created_at),
        updated_at: now,
    };

    declared_properties.description.apply(&mut document);
    Ok(document)
}

/// Writes the record of a new revision in place of `old`, or a first one on condition of
/// `creation_conditions`. Returns `false` when another writer was first; the new bytes are deleted
/// then.
pub(crate) async fn record(
    ctx: &Ctx,
    tenant: &Tenant,
    document: &Document,
    old: Option<&Document>,
    creation_conditions: &CreationConditions,
) -> Result<bool> {
    let written = match old {
        None => {
            ctx.documents
                .create(tenant, document, creation_conditions)
                .await
        }
        Some(old) => {
            let mut unused_blobs = old.unserved_blobs();
            unused_blobs.retain(|blob| !document.uses_blob(blob));
            ctx.documents
                .accept_revision(tenant, document, Some(&old.revision), &unused_blobs)
                .await
        }
    };

    match written {
        Ok(()) => Ok(true),
        Err(PortError::Conflict) => {
            // Our write may have taken effect, and a later revision may use the bytes.
            let blob = &document.body.blob;
            let current = read_document(ctx, tenant, &document.id).await?;
            let indexed = current.as_ref().and_then(|now| now.indexed.as_ref());
            let is_used = current.as_ref().is_some_and(|now| now.uses_blob(blob))
                || indexed.is_some_and(|old| old.body == *blob);
            if !is_used {
                ctx.blobs
                    .delete(tenant, std::slice::from_ref(blob))
                    .await
                    .ok();
            }
            Ok(false)
        }
        Err(error) => Err(error.into()),
    }
}

/// Sends messages about records that are written. A message that cannot be sent delays its document
/// by a minute, but does not lose it.
pub(crate) async fn announce(ctx: &Ctx, messages: &[JobMessage]) {
    if messages.is_empty() {
        return;
    }
    if let Err(error) = ctx.jobs.send(messages).await {
        // The records are durable and overdue in a minute; the sweep sends the messages then.
        let count = messages.len();
        warn!(
            count,
            error = &error as &dyn std::error::Error,
            "left {count} messages to the sweeper"
        );
    }
}
