//! Accepting a document: its bytes are stored first, then its record, then the message is sent. A
//! crash in between does no harm: bytes without a record are invisible, and the sweep finds a
//! record without a message.

mod batch;
mod content;

use bytes::Bytes;
use sha2::{Digest, Sha256};

use crate::ConflictRetry;
use crate::Ctx;
use crate::damage::inspect_document;
use crate::describe::{DocumentDescription, describe};
use crate::find::read_present_tags;
use crate::jobs::send_jobs;
use crate::open::open_shared_container;
use crate::place::{DocumentLocation, LocatedDocument, LookupScope, locate_document};
use crate::repeated::{REPEAT_SECONDS, locate_repeated_request};
use crate::revise::{
    AcceptedDocument, DeclaredProperties, Identity, NewBody, build_revision, empty_content_error,
    write_revision,
};
use crate::sharing::check_reaches_all_tags;
use crate::update::{DocumentUpdate, check_changeable, relocate};
use domain::container::Container;
use domain::conversation::{self, ConversationTurn};
use domain::document::{BodyForm, Document, DocumentStatus, Dreaming, TaskType};
use domain::error::Result;
use domain::ids::CustomId;
use domain::job::JobMessage;
use domain::metadata::Metadata;
use domain::provenance::Provenance;
use domain::tag::ContainerTag;
use domain::tenant::Tenant;
use domain::time::Timestamp;

pub use batch::submit_documents;

/// A document as a client sends it.
#[derive(Debug, Clone)]
pub struct NewDocument {
    /// The container tags; none means the default one. The settings of the first one apply.
    pub tags: Vec<ContainerTag>,
    /// The client's own id of the document.
    pub custom_id: Option<CustomId>,
    /// The content.
    pub content: Content,
    /// The effect on the content that is stored under the customId.
    pub upsert: Upsert,
    /// The metadata; `None` keeps the present metadata.
    pub metadata: Option<Metadata>,
    /// The caller's path; `None` keeps the present path.
    pub filepath: Option<String>,
    /// The metadata that other documents must have for their memories to be considered together
    /// with this one's.
    pub filter_by_metadata: Option<Metadata>,
    /// The description of what the container is about. It is stored with the tag.
    pub entity_context: Option<String>,
    /// Selects chunks only, or memories as well. `None` keeps the present choice, which is memories for
    /// a new document.
    pub task_type: Option<TaskType>,
    /// The time at which the client wants memories to be formed. It is checked and has no effect.
    pub dreaming: Dreaming,
    /// The date of the content.
    pub document_date: Option<Timestamp>,
    /// The source of the words of the content. `None` keeps the present provenance, or otherwise
    /// leaves it to be determined from the content.
    pub provenance: Option<Provenance>,
    /// The request's `Idempotency-Key`.
    pub idempotency_key: Option<String>,
}

/// The effect of content on what is stored under its customId.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Upsert {
    /// It replaces the content of the document, in whatever container the document is. New turns of
    /// a transcript are added to it.
    #[default]
    Replace,
    /// It is added to the text of the document in this container. A text that is there already, as
    /// after a lost answer, is not added again.
    Append,
}

/// The content to process.
#[derive(Debug, Clone)]
pub enum Content {
    /// All bytes of a text, a page's address or a file.
    Complete {
        /// The bytes.
        bytes: Bytes,
        /// The form in which the bytes are read.
        form: BodyForm,
    },
    /// Turns that are added to those of the conversation.
    Turns(Vec<ConversationTurn>),
}

/// Accepts a document for processing.
///
/// A repetition (same customId and content, same idempotency key, or the same content within two
/// minutes) is one document, and the second response gives its present status. The same content
/// with other metadata or another path changes those in place. Concurrent contents of one customId
/// are accepted in some order, each completely; the last one stays.
///
/// # Errors
/// Returns [`Error::Invalid`] for empty content without a path; [`Error::Forbidden`] for a tag out of
/// reach; [`Error::Conflict`] when an idempotency key is sent with another content or its document is
/// gone, while the container is being merged, when several documents behind the tags have the
/// customId, or when text is to be appended to a file;
/// [`Error::TooLarge`] for a conversation that has grown too large; [`Error::RateLimited`] when the
/// organization has too many unfinished documents; and the errors of the ports.
pub async fn submit_document(
    ctx: &Ctx,
    tenant: &Tenant,
    new: NewDocument,
) -> Result<AcceptedDocument> {
    ctx.backlog.admit_documents(ctx, tenant, 1).await?;
    let acceptance = accept(ctx, tenant, new).await?;
    if let Some(document) = &acceptance.queued {
        send_jobs(ctx, &[JobMessage::process_document(tenant.org(), document)]).await;
    }
    Ok(acceptance.document)
}

/// An accepted document.
struct Acceptance {
    /// The response to the client.
    document: AcceptedDocument,
    /// The document of which processing is to be requested, or `None` if there is nothing to process or
    /// it was requested.
    queued: Option<Document>,
}

impl Acceptance {
    /// Returns the acceptance of a document of which no processing is to be requested.
    fn without_processing(document: AcceptedDocument) -> Self {
        Self {
            document,
            queued: None,
        }
    }
}

/// The next step of accepting a document.
enum NextStep {
    /// Nothing is left to do.
    Accepted(AcceptedDocument),
    /// A revision is to be written.
    Write(Box<PlannedRevision>),
    /// Another writer was first, and the document has to be found again.
    Repeat,
}

impl NextStep {
    /// Returns the step that writes a revision.
    fn write(location: DocumentLocation, body: NewBody, old: Option<Document>) -> Self {
        Self::Write(Box::new(PlannedRevision {
            location,
            body,
            old,
        }))
    }

    /// Returns the step after a document was changed in place, or after another writer was first.
    fn from_change(changed: Option<AcceptedDocument>) -> Self {
        match changed {
            Some(document) => Self::Accepted(document),
            None => Self::Repeat,
        }
    }
}

/// A revision that is to be written.
struct PlannedRevision {
    location: DocumentLocation,
    body: NewBody,
    /// The document that the revision replaces.
    old: Option<Document>,
}

/// Writes the record if anything has changed. The message is to be sent afterwards. Each attempt
/// finds the document again.
async fn accept(ctx: &Ctx, tenant: &Tenant, new: NewDocument) -> Result<Acceptance> {
    check_content(&new)?;
    let mut retry = ConflictRetry::new(ctx.clock.as_ref());
    loop {
        let container =
            open_shared_container(ctx, tenant, &new.tags, new.entity_context.as_deref()).await?;
        match plan(ctx, tenant, &container, &new).await? {
            NextStep::Accepted(document) => return Ok(Acceptance::without_processing(document)),
            NextStep::Write(planned) => {
                if let Some(accepted) = write(ctx, tenant, &container, &new, *planned).await? {
                    return Ok(accepted);
                }
            }
            NextStep::Repeat => {}
        }

        retry.wait().await?;
    }
}

fn check_content(new: &NewDocument) -> Result<()> {
    // compat: shells create an empty file before they write to it.
    if new.content.is_blank() && new.filepath.is_none() {
        return Err(empty_content_error());
    }
    Ok(())
}

/// Finds the document and decides what to do for it. New content is not stored yet. A document that only
/// changes its metadata or its place is changed here.
async fn plan(
    ctx: &Ctx,
    tenant: &Tenant,
    container: &Container,
    new: &NewDocument,
) -> Result<NextStep> {
    match &new.custom_id {
        Some(custom_id) => plan_upsert(ctx, tenant, container, custom_id, new).await,
        None => plan_addition(ctx, tenant, container, new).await,
    }
}

/// Plans a document without a customId.
async fn plan_addition(
    ctx: &Ctx,
    tenant: &Tenant,
    container: &Container,
    new: &NewDocument,
) -> Result<NextStep> {
    let Some(bytes) = new.apply_content(ctx, tenant, None).await? else {
        return Ok(NextStep::Repeat);
    };

    let body = NewBody::sent(bytes, new.content.form());
    let target = locate_repeated_request(ctx, tenant, container, new, &body).await?;
    // A repeated request returns the present status. Changes made to the document since are kept.
    if let Some(existing) = target.unchanged_document(&body) {
        return Ok(NextStep::Accepted(existing.into()));
    }

    Ok(NextStep::write(target.location, body, target.old))
}

/// Plans the creation or the replacement of the document with a customId.
async fn plan_upsert(
    ctx: &Ctx,
    tenant: &Tenant,
    container: &Container,
    custom_id: &CustomId,
    new: &NewDocument,
) -> Result<NextStep> {
    let scope = LookupScope::of_tags(&new.tags, new.lookup_scope());
    let LocatedDocument {
        location,
        document: old,
        ..
    } = locate_document(ctx, tenant, container, custom_id, scope).await?;
    match &old {
        Some(old) if container.ids.contains(&old.container) => {
            check_reaches_all_tags(ctx, tenant, [&old.container]).await?;
        }
        Some(old) => check_changeable(ctx, tenant, old).await?,
        None => {}
    }

    let Some(bytes) = new.apply_content(ctx, tenant, old.as_ref()).await? else {
        // Other content was first and has removed the bytes. The next read shows it.
        return Ok(NextStep::Repeat);
    };

    if let Some(old) = &old
        && !has_tags(ctx, tenant, old, container, &new.tags).await?
    {
        let update = new.replacement(bytes);
        let moved = relocate(ctx, tenant, old, &update).await?;
        return Ok(NextStep::from_change(moved));
    }

    let body = NewBody::sent(bytes, new.content.form());
    let declared_properties = new.declared_properties();
    if let Some(old) = &old
        && is_unchanged(old, &body, &declared_properties, ctx.clock.now())
        && inspect_document(ctx, tenant, old).await?.is_none()
    {
        let description = &declared_properties.description;
        let described = describe(ctx, tenant, old.clone(), description).await?;
        return Ok(NextStep::from_change(described.as_ref().map(Into::into)));
    }

    Ok(NextStep::write(location, body, old))
}

/// Checks whether a document is found under all tags that are sent.
async fn has_tags(
    ctx: &Ctx,
    tenant: &Tenant,
    document: &Document,
    container: &Container,
    tags: &[ContainerTag],
) -> Result<bool> {
    let is_behind_only_tag = tags.len() == 1 && container.ids.contains(&document.container);
    if tags.is_empty() || is_behind_only_tag || document.container == *container.primary_id() {
        return Ok(true);
    }
    let present_tags = read_present_tags(ctx, tenant, document).await?;
    Ok(present_tags.is_some_and(|present_tags| tags.iter().all(|tag| present_tags.contains(tag))))
}

/// Writes a planned revision. Returns `None` when another writer was first.
async fn write(
    ctx: &Ctx,
    tenant: &Tenant,
    container: &Container,
    new: &NewDocument,
    PlannedRevision {
        location,
        body,
        old,
    }: PlannedRevision,
) -> Result<Option<Acceptance>> {
    let (creation_conditions, old) = (location.creation_conditions.clone(), old.as_ref());
    let identity = match old {
        Some(old) if !container.ids.contains(&old.container) => Identity::of(old),
        _ => Identity::new(container, location, new.custom_id.clone()),
    };
    let document =
        build_revision(ctx, tenant, identity, &new.declared_properties(), body, old).await?;
    if !write_revision(ctx, tenant, &document, old, &creation_conditions).await? {
        return Ok(None);
    }

    Ok(Some(Acceptance {
        document: AcceptedDocument {
            id: document.id.clone(),
            status: DocumentStatus::Queued,
        },
        queued: Some(document),
    }))
}

/// Checks whether the document already has this content, processed without failure. A page may have
/// changed behind the same address, so an address counts as the same only while the request may be
/// a client's retry.
fn is_unchanged(
    old: &Document,
    body: &NewBody,
    declared_properties: &DeclaredProperties,
    now: Timestamp,
) -> bool {
    let may_be_retry = old.updated_at.plus_seconds(REPEAT_SECONDS) > now || !old.status.is_final();
    let date = match old.body.form {
        // Each turn has its own date.
        BodyForm::Conversation => None,
        BodyForm::Text | BodyForm::File { .. } | BodyForm::Url => declared_properties.document_date,
    };

    body.is_of(old)
        && old.status != DocumentStatus::Failed
        && (may_be_retry || old.body.form != BodyForm::Url)
        && declared_properties
            .task_type
            .is_none_or(|task_type| old.task_type == task_type)
        && date.is_none_or(|date| old.document_date == Some(date))
        && declared_properties
            .provenance
            .is_none_or(|provenance| old.provenance == Some(provenance))
}

impl NewDocument {
    /// Returns a new document with only its content.
    pub fn new(content: Content) -> Self {
        Self {
            tags: Vec::new(),
            custom_id: None,
            content,
            upsert: Upsert::default(),
            metadata: None,
            filepath: None,
            filter_by_metadata: None,
            entity_context: None,
            task_type: None,
            dreaming: Dreaming::default(),
            document_date: None,
            provenance: None,
            idempotency_key: None,
        }
    }

    /// Returns the properties that the client declared beside the content.
    pub(crate) fn declared_properties(&self) -> DeclaredProperties {
        DeclaredProperties {
            description: DocumentDescription {
                metadata: self.metadata.clone().into(),
                filepath: self.filepath.clone().into(),
                filter_by_metadata: self.filter_by_metadata.clone().into(),
            },
            task_type: self.task_type,
            dreaming: self.dreaming,
            document_date: self.document_date,
            provenance: self.provenance,
        }
    }

    /// Returns the change of a stored document to this one, with these bytes.
    fn replacement(&self, bytes: Bytes) -> DocumentUpdate {
        let properties = self.declared_properties();
        DocumentUpdate {
            content: Some((bytes, self.content.form())),
            description: properties.description,
            custom_id: None,
            tags: Some(self.tags.clone()),
            task_type: properties.task_type,
            document_date: properties.document_date,
            provenance: properties.provenance,
        }
    }

    /// Returns the SHA-256 of everything that was sent about a new document, in hex.
    pub(crate) fn digest(&self) -> String {
        let mut hasher = Sha256::new();
        let parts = serde_json::json!([
            self.content.form(),
            self.metadata,
            self.filepath,
            // Without a task type, the digest equals that of versions before it was optional.
            self.task_type.unwrap_or_default(),
            self.document_date,
            self.filter_by_metadata,
        ]);
        hasher.update(parts.to_string());
        // With one tag, the digest equals that of versions before there were several.
        if let [_, _, ..] = self.tags.as_slice() {
            hasher.update(serde_json::json!(self.tags).to_string());
        }
        // Without a provenance, the digest equals that of versions before this field.
        if let Some(provenance) = self.provenance {
            hasher.update(serde_json::json!(provenance).to_string());
        }

        hasher.update([0]);
        match &self.content {
            Content::Complete { bytes, .. } => hasher.update(bytes),
            Content::Turns(turns) => hasher.update(conversation::serialize_turns(turns)),
        }

        hex::encode(hasher.finalize())
    }
}
