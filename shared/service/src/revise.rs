//! Writing a new revision of a document: the common last part of accepting, updating, moving and
//! retrying it.

use std::collections::BTreeMap;

use bytes::Bytes;
use sha2::{Digest, Sha256};

use crate::Ctx;
use crate::describe::DocumentDescription;
use crate::find::read_document;
use crate::orphans::delete_unused_blobs;
use crate::place::DocumentLocation;
use domain::blob::BlobRef;
use domain::container::Container;
use domain::document::{
    BodyForm, Document, DocumentBody, DocumentStatus, DocumentType, Dreaming, TaskType, UPLOAD_NAME,
};
use domain::error::{Error, PortError, Result};
use domain::ids::{ContainerId, CustomId, DocumentId, Revision};
use domain::metadata::Metadata;
use domain::ports::CreationConditions;
use domain::provenance::Provenance;
use domain::tag::ContainerTag;
use domain::tenant::Tenant;
use domain::time::Timestamp;

/// The client's description of a content and its document.
#[derive(Debug, Clone)]
pub(crate) struct DeclaredProperties {
    pub(crate) description: DocumentDescription,
    /// Selects chunks only, or memories as well. `None` keeps the previous choice.
    pub(crate) task_type: Option<TaskType>,
    pub(crate) dreaming: Dreaming,
    /// The date of the content. `None` keeps the previous date.
    pub(crate) document_date: Option<Timestamp>,
    /// The source of the words of the content. `None` keeps the previous provenance.
    pub(crate) provenance: Option<Provenance>,
}

/// The response to an accepted document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AcceptedDocument {
    /// The id of the document.
    pub id: DocumentId,
    /// The status: `queued`, or the present status of an unchanged document.
    pub status: DocumentStatus,
}

impl From<&Document> for AcceptedDocument {
    /// Returns the response to a document that is accepted as it is.
    fn from(document: &Document) -> Self {
        Self {
            id: document.id.clone(),
            status: document.status,
        }
    }
}

/// The source of the bytes of a new revision.
pub(crate) enum NewBody {
    /// The client has sent the bytes. Built by [`NewBody::sent`].
    Bytes {
        bytes: Bytes,
        form: BodyForm,
        hash: String,
    },
    /// The client has sent the bytes, and they are stored. Built by [`store_texts`].
    Stored(DocumentBody),
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
            Self::Stored(body) | Self::Unchanged(body) => body.hash == document.body.hash,
            Self::Bytes { hash, .. } => *hash == document.body.hash,
            Self::Awaited { .. } => false,
        }
    }

    fn form(&self) -> &BodyForm {
        match self {
            Self::Stored(body) | Self::Unchanged(body) => &body.form,
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
            Self::Bytes { .. } | Self::Stored(_) | Self::Awaited { .. } => None,
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
        Ok(match self {
            Self::Stored(body) | Self::Unchanged(body) => body,
            Self::Bytes { bytes, form, hash } => {
                let size = bytes.len();
                let blob = match form {
                    BodyForm::File { .. } => ctx.blobs.put_object(tenant, path, bytes).await?,
                    BodyForm::Text | BodyForm::Conversation | BodyForm::Url => {
                        ctx.blobs.put(tenant, path, bytes).await?
                    }
                };
                sent_body(blob, form, hash, size, now)
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
                    sent_at: Some(now),
                }
            }
        })
    }
}

/// Stores the bytes of texts that are about to become revisions at these locations. Texts share requests.
/// If that fails, each is stored with its revision.
pub(crate) async fn store_texts(
    ctx: &Ctx,
    tenant: &Tenant,
    bodies: Vec<(&DocumentLocation, &mut NewBody)>,
) {
    let (mut texts, mut blobs) = (Vec::new(), Vec::new());
    for (DocumentLocation { container, id, .. }, body) in bodies {
        if let NewBody::Bytes {
            bytes,
            form: BodyForm::Text | BodyForm::Conversation,
            ..
        } = body
        {
            let path = format!("{container}/{id}/{}/body", Revision::random());
            blobs.push((path, bytes.clone()));
            texts.push(body);
        }
    }

    let now = ctx.clock.now();
    let paths: Vec<String> = blobs.iter().map(|(path, _)| path.clone()).collect();
    let Ok(refs) = ctx.blobs.put_all(tenant, blobs).await else {
        // Some may have been stored, in either place.
        let places = paths.into_iter();
        let unused: Vec<BlobRef> = places
            .flat_map(|path| [BlobRef::Inline(path.clone()), BlobRef::Object(path)])
            .collect();
        return delete_unused_blobs(ctx, tenant, &unused).await;
    };
    for (body, blob) in texts.into_iter().zip(refs) {
        if let NewBody::Bytes { bytes, form, hash } = body {
            let (form, hash) = (form.clone(), std::mem::take(hash));
            *body = NewBody::Stored(sent_body(blob, form, hash, bytes.len(), now));
        }
    }
}

/// Returns the description of bytes that a client has sent, and that are stored.
fn sent_body(
    blob: BlobRef,
    form: BodyForm,
    hash: String,
    bytes: usize,
    now: Timestamp,
) -> DocumentBody {
    DocumentBody {
        blob,
        form,
        hash,
        size: bytes as u64,
        awaited_until: None,
        sent_at: Some(now),
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
    pub(crate) fn new(
        container: &Container,
        location: DocumentLocation,
        custom_id: Option<CustomId>,
    ) -> Self {
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
pub(crate) async fn build_revision(
    ctx: &Ctx,
    tenant: &Tenant,
    Identity {
        id,
        custom_id,
        tag,
        container,
    }: Identity,
    declared_properties: &DeclaredProperties,
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

    let has_new_content = !matches!(body, NewBody::Unchanged(_));
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

    let old_task_type = old.map(|old| old.task_type);
    let task_type = declared_properties
        .task_type
        .or(old_task_type)
        .unwrap_or_default();
    let mut document = Document {
        id,
        container,
        tag,
        further_tags: Vec::new(),
        custom_id,
        revision,
        revision_number: 1,
        status: DocumentStatus::Queued,
        failure: None,
        attempts: 0,
        lease_until: Timestamp::from_millis(0),
        body,
        extracted: None,
        indexed: None,
        kind,
        title: name,
        properties: BTreeMap::new(),
        url,
        metadata: Metadata::default(),
        filepath: None,
        description_changes: 0,
        filter_by_metadata: None,
        task_type,
        dreaming: declared_properties.dreaming,
        origin: None,
        superseded_by: None,
        document_date: declared_properties.document_date,
        provenance: declared_properties.provenance,
        created_at: now,
        updated_at: now,
    };

    if let Some(old) = old {
        inherit_fields(&mut document, old);
        if has_new_content && let Some(origin) = document.origin.take() {
            document.origin = Some(origin.without_content_version());
        }
    }

    declared_properties.description.apply(&mut document);
    Ok(document)
}

/// Takes over from the previous revision what the new one does not say.
fn inherit_fields(document: &mut Document, old: &Document) {
    document.revision_number = old.revision_number + 1;
    document.indexed.clone_from(&old.indexed);
    if old.title.is_some() {
        document.title.clone_from(&old.title);
    }

    document.properties.clone_from(&old.properties);
    document.metadata.clone_from(&old.metadata);
    document.filepath.clone_from(&old.filepath);
    document.description_changes = old.description_changes;
    document
        .filter_by_metadata
        .clone_from(&old.filter_by_metadata);
    document.origin.clone_from(&old.origin);
    document.document_date = document.document_date.or(old.document_date);
    document.provenance = document.provenance.or(old.provenance);
    document.created_at = old.created_at;
}

/// Writes the record of a new revision in place of `old`, or a first one on condition of
/// `creation_conditions`. Returns `false` when another writer was first; the new bytes are deleted
/// then.
pub(crate) async fn write_revision(
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
            if !is_blob_used(ctx, tenant, &document.id, blob).await? {
                delete_unused_blobs(ctx, tenant, std::slice::from_ref(blob)).await;
            }
            Ok(false)
        }
        Err(error) => Err(error.into()),
    }
}

/// Checks whether the record of a document, as it is now, names these bytes.
pub(crate) async fn is_blob_used(
    ctx: &Ctx,
    tenant: &Tenant,
    id: &DocumentId,
    blob: &BlobRef,
) -> Result<bool> {
    let Some(current) = read_document(ctx, tenant, id).await? else {
        return Ok(false);
    };
    let is_served = matches!(&current.indexed, Some(indexed) if indexed.body == *blob);
    Ok(is_served || current.uses_blob(blob))
}

/// Returns the error for content without text that is not a file with a path.
pub(crate) fn empty_content_error() -> Error {
    Error::invalid_field("content", "there is nothing in it")
}
