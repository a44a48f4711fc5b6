//! Changing an existing document: its description, its content, its container or customId; and
//! retrying a failed one.

use bytes::Bytes;

use crate::Ctx;
use crate::damage::inspect_document;
use crate::describe::{DocumentDescription, describe};
use crate::find::{read_active_documents, read_document, visible_document};
use crate::place::{Place, place_of, primary_place};
use crate::revise::{
    DeclaredProperties, Identity, NewBody, build_revision, send_jobs, write_revision,
};
use crate::sharing::{check_reaches_all_tags, open_shared_container};
use crate::submit::{AcceptedDocument, NewDocument, empty_content_error};
use crate::{Committed, ConflictRetry, commit_changes};
use domain::container::{Container, DocumentChange};
use domain::document::{BodyForm, Document, DocumentStatus, ProcessingResult, TaskType};
use domain::error::{Error, Result};
use domain::ids::{CustomId, DocumentId};
use domain::job::JobMessage;
use domain::ports::{BlobContent, CreationConditions};
use domain::provenance::Provenance;
use domain::tag::ContainerTag;
use domain::tenant::Tenant;
use domain::time::Timestamp;
/// A change of a document. A field that is `None` stays as it is.
#[derive(Debug, Clone, Default)]
pub struct DocumentUpdate {
    /// The new content, as a whole.
    pub content: Option<(Bytes, BodyForm)>,
    /// The new metadata and path.
    pub description: DocumentDescription,
    /// The new customId.
    pub custom_id: Option<CustomId>,
    /// The new container tags, at least one.
    pub tags: Option<Vec<ContainerTag>>,
    /// The new task type: chunks only, or memories as well.
    pub task_type: Option<TaskType>,
    /// The new date of the content.
    pub document_date: Option<Timestamp>,
    /// The new source of the words of the content.
    pub provenance: Option<Provenance>,
}

/// Changes a document.
///
/// Metadata and path change in place, and nothing is processed again. Other content, another task
/// type or another date makes a new revision; search serves the old one until the new one is done.
/// Another container or customId is another identity: the document moves to a new id, which the
/// response names, and the old id is gone.
///
/// # Errors
/// Returns [`Error::Invalid`] for empty content without a path, [`Error::NotFound`] when the
/// document is deleted meanwhile, [`Error::Conflict`] when another document has the new identity,
/// and the errors of the ports.
pub async fn update_document(
    ctx: &Ctx,
    tenant: &Tenant,
    document: Document,
    update: DocumentUpdate,
) -> Result<AcceptedDocument> {
    if let Some((bytes, _)) = &update.content
        && bytes.trim_ascii().is_empty()
        && document.filepath.is_none()
    {
        return Err(empty_content_error());
    }

    let mut document = document;
    check_changeable(ctx, tenant, &document).await?;
    let mut retry = ConflictRetry::new(ctx.clock.as_ref());
    loop {
        let accepted = if update.moves(&document) {
            relocate(ctx, tenant, &document, &update).await?
        } else {
            change_in_place(ctx, tenant, &document, &update).await?
        };
        if let Some(accepted) = accepted {
            return Ok(accepted);
        }
        document = reread(ctx, tenant, &document.id).await?;

        retry.wait().await?;
    }
}

/// Changes a document that keeps its identity. Returns `None` when the document has changed since
/// it was read.
async fn change_in_place(
    ctx: &Ctx,
    tenant: &Tenant,
    document: &Document,
    update: &DocumentUpdate,
) -> Result<Option<AcceptedDocument>> {
    let body = update.body(document);
    // Sending the same content again repairs a document whose stored data is damaged.
    if update.needs_processing(document, &body)
        || (update.content.is_some() && inspect_document(ctx, tenant, document).await?.is_some())
    {
        return revise(ctx, tenant, document, update, body).await;
    }

    let described = describe(ctx, tenant, document.clone(), &update.description).await?;
    Ok(described.map(|document| AcceptedDocument {
        id: document.id,
        status: document.status,
    }))
}

/// Processes a document again that has failed or whose stored data is damaged.
///
/// # Errors
/// Returns [`Error::Conflict`] if the document is neither, [`Error::NotFound`] when it is deleted
/// meanwhile, and the errors of the ports.
pub async fn retry_document(
    ctx: &Ctx,
    tenant: &Tenant,
    mut document: Document,
) -> Result<AcceptedDocument> {
    check_changeable(ctx, tenant, &document).await?;
    let mut retry = ConflictRetry::new(ctx.clock.as_ref());
    loop {
        let is_done = document.status == DocumentStatus::Done;
        let is_broken = document.status == DocumentStatus::Failed
            || (is_done && inspect_document(ctx, tenant, &document).await?.is_some());
        if !is_broken {
            let status = document.status.as_str();
            return Err(Error::Conflict(format!(
                "only a failed document is tried again; this one is {status}"
            )));
        }

        if let Some(accepted) = process_again(ctx, tenant, &document).await? {
            return Ok(accepted);
        }
        document = reread(ctx, tenant, &document.id).await?;

        retry.wait().await?;
    }
}

/// Writes a new revision of the same bytes. Returns `None` when the document has changed since it
/// was read.
pub(crate) async fn process_again(
    ctx: &Ctx,
    tenant: &Tenant,
    document: &Document,
) -> Result<Option<AcceptedDocument>> {
    let unchanged = DocumentUpdate::default();
    revise(ctx, tenant, document, &unchanged, unchanged.body(document)).await
}

/// Checks that a document may be changed. A superseded document is kept as it was, and nothing is
/// written to a container that is being merged.
pub(crate) async fn check_changeable(
    ctx: &Ctx,
    tenant: &Tenant,
    document: &Document,
) -> Result<()> {
    if let Some(newer) = &document.superseded_by {
        return Err(Error::Conflict(format!(
            "a merge has superseded this document; change {newer}, which has its customId"
        )));
    }

    check_reaches_all_tags(ctx, tenant, [&document.container]).await?;
    for tag in document.tags() {
        if let Some(container) = ctx.containers.get(tenant, tag).await? {
            container.check_writable()?;
        }
    }

    Ok(())
}

/// Reads the document as it is now, under its present tag: its own tag may have been merged into
/// another.
async fn reread(ctx: &Ctx, tenant: &Tenant, id: &DocumentId) -> Result<Document> {
    let Some(document) = visible_document(ctx, tenant, id).await? else {
        return Err(Error::NotFound("Document"));
    };
    check_changeable(ctx, tenant, &document).await?;
    Ok(document)
}

/// Writes a new revision in place of the one that was read. Returns `None` when another writer was
/// first.
async fn revise(
    ctx: &Ctx,
    tenant: &Tenant,
    document: &Document,
    update: &DocumentUpdate,
    body: NewBody,
) -> Result<Option<AcceptedDocument>> {
    let identity = Identity::of(document);
    let next = build_revision(
        ctx,
        tenant,
        identity,
        &update.declared_properties(document),
        body,
        Some(document),
    )
    .await?;
    if !write_revision(
        ctx,
        tenant,
        &next,
        Some(document),
        &CreationConditions::default(),
    )
    .await?
    {
        return Ok(None);
    }

    send_jobs(ctx, &[JobMessage::process_document(tenant.org(), &next)]).await;
    Ok(Some(AcceptedDocument {
        id: next.id,
        status: DocumentStatus::Queued,
    }))
}

/// Creates the document under its new identity and removes the old one, in one transaction. The
/// transaction takes effect only while the old document is as it was read and nothing else has the
/// new identity. Returns `None` when it did not take effect.
pub(crate) async fn relocate(
    ctx: &Ctx,
    tenant: &Tenant,
    from: &Document,
    update: &DocumentUpdate,
) -> Result<Option<AcceptedDocument>> {
    let (to, alternative_ids) = relocated(ctx, tenant, from, update).await?;
    if move_over(ctx, tenant, from, &to, alternative_ids).await? {
        send_jobs(ctx, &[JobMessage::process_document(tenant.org(), &to)]).await;
        return Ok(Some(AcceptedDocument {
            id: to.id,
            status: DocumentStatus::Queued,
        }));
    }

    ctx.blobs.delete(tenant, &to.unserved_blobs()).await.ok();
    Ok(None)
}

/// Builds the document under its new identity, and returns it with the other ids that a document of
/// that identity could have. The bytes of the document are stored, because they are stored by
/// container.
async fn relocated(
    ctx: &Ctx,
    tenant: &Tenant,
    from: &Document,
    update: &DocumentUpdate,
) -> Result<(Document, Vec<DocumentId>)> {
    let tags = match &update.tags {
        Some(tags) => tags.clone(),
        None => from.tags().cloned().collect(),
    };
    let container = open_shared_container(ctx, tenant, &tags, None).await?;
    let custom_id = update.custom_id.clone().or_else(|| from.custom_id.clone());
    let location = match &custom_id {
        Some(custom_id) => new_place(ctx, tenant, &container, custom_id, from).await?,
        None => {
            let (id, container) = (
                from.id.derive_moved(container.primary_id()),
                container.primary_id().clone(),
            );
            Place {
                id,
                container,
                creation_conditions: CreationConditions::default(),
            }
        }
    };

    if read_document(ctx, tenant, &location.id).await?.is_some() {
        let conflict_message = match &custom_id {
            Some(_) => "another document has this customId in this container",
            None => "this document was moved there before; that one is still there",
        };
        return Err(Error::Conflict(conflict_message.into()));
    }

    let (bytes, form) = match &update.content {
        Some(content) => content.clone(),
        None => {
            let stored = ctx
                .blobs
                .read(tenant, std::slice::from_ref(&from.body.blob))
                .await?
                .pop();
            let bytes = match stored.unwrap_or(BlobContent::Missing) {
                BlobContent::Intact(bytes) => bytes,
                BlobContent::Missing => {
                    let message = "the content of this document has not arrived, or is changing";
                    return Err(Error::Conflict(message.into()));
                }
                BlobContent::Damaged => {
                    let message = "the stored content of this document cannot be read; send it with the change";
                    return Err(Error::Conflict(message.into()));
                }
            };
            (bytes, from.body.form.clone())
        }
    };

    let alternative_ids = location.creation_conditions.alternative_ids.clone();
    let (identity, body) = (
        Identity::new(&container, location, custom_id),
        NewBody::sent(bytes, form),
    );

    let mut to = build_revision(
        ctx,
        tenant,
        identity,
        &update.declared_properties(from),
        body,
        Some(from),
    )
    .await?;
    to.indexed = None;
    let has_same_properties = to.task_type == from.task_type
        && to.document_date == from.document_date
        && to.provenance == from.provenance;

    if update.content.is_none() && from.status == DocumentStatus::Done && has_same_properties {
        take_over(ctx, tenant, from, &container, &mut to).await?;
    }

    Ok((to, alternative_ids))
}

/// Returns the place of the moved document with this customId: that of another document, if there is
/// one behind the tags, or else a free one.
///
/// # Errors
/// Returns [`Error::Conflict`] if there are several documents behind the tags, and the errors of the
/// ports.
async fn new_place(
    ctx: &Ctx,
    tenant: &Tenant,
    container: &Container,
    custom_id: &CustomId,
    from: &Document,
) -> Result<Place> {
    let location = place_of(ctx, tenant, container, custom_id).await?;
    if location.id != from.id {
        return Ok(location);
    }

    // The document is in another of the physical containers behind the tags.
    let location = primary_place(tenant, container, custom_id, &from.id);
    let alternative_ids = &location.creation_conditions.alternative_ids;
    let others = read_active_documents(ctx, tenant, alternative_ids).await?;
    if others.is_empty() {
        return Ok(location);
    }
    Err(Error::Conflict(
        "these container tags have several documents with this customId; delete all but one".into(),
    ))
}

/// Copies the results of processing to a moved document: a page may be gone by now, and a model
/// costs money.
async fn take_over(
    ctx: &Ctx,
    tenant: &Tenant,
    from: &Document,
    container: &Container,
    to: &mut Document,
) -> Result<()> {
    let Some(indexed) = &from.indexed else {
        return Ok(());
    };
    if !from.is_newest_revision(&indexed.revision) {
        return Ok(());
    }

    // The document is processed like a new one if the pack is just being removed or cannot be read.
    let mut blobs = vec![indexed.pack.clone()];
    blobs.extend(indexed.statements_blob().cloned());
    let mut bytes = ctx
        .blobs
        .read(tenant, &blobs)
        .await?
        .into_iter()
        .map(BlobContent::into_intact_bytes);
    let Some(pack) = bytes.next().flatten() else {
        return Ok(());
    };

    let makes_memories =
        to.task_type == TaskType::Memory && container.makes_memories_from(to.filepath.as_deref());
    if makes_memories && indexed.statements_ref.is_none() {
        // The document was in a folder that yields no memories, and now it is in one that does.
        return Ok(());
    }

    let mut statements_ref = if makes_memories {
        indexed.statements_ref.clone()
    } else {
        None
    };
    if let Some(statements_ref) = &mut statements_ref
        && statements_ref.statements.is_some()
    {
        let Some(statements) = bytes.next().flatten() else {
            return Ok(());
        };
        statements_ref.statements = Some(
            ctx.blobs
                .put(tenant, &to.statements_path(), statements)
                .await?,
        );
    }

    let pack = ctx.blobs.put(tenant, &to.pack_path(), pack).await?;
    (to.kind, to.title) = (indexed.kind, indexed.title.clone());
    let (revision, authorship) = (to.revision.clone(), indexed.authorship.clone());
    to.extracted = Some(ProcessingResult {
        revision,
        pack,
        chunks: indexed.chunks,
        statements_ref,
        authorship,
    });

    Ok(())
}

/// Commits the move. Returns `false` when a document has changed since it was read.
async fn move_over(
    ctx: &Ctx,
    tenant: &Tenant,
    from: &Document,
    to: &Document,
    alternative_ids: Vec<DocumentId>,
) -> Result<bool> {
    let change = [DocumentChange::Move {
        from: Box::new(from.clone()),
        to: Box::new(to.clone()),
        alternative_ids,
    }];

    let committed = commit_changes(ctx, tenant, &from.container, &change, None).await?;
    Ok(committed == Committed::Done)
}

impl DocumentUpdate {
    /// Returns the change of a document to the one that is sent, with these bytes.
    pub(crate) fn replacement(new: &NewDocument, bytes: Bytes) -> Self {
        let properties = new.declared_properties();
        Self {
            content: Some((bytes, new.content.form())),
            description: properties.description,
            custom_id: None,
            tags: Some(new.tags.clone()),
            task_type: Some(properties.task_type),
            document_date: properties.document_date,
            provenance: properties.provenance,
        }
    }

    /// Checks whether the document gets another identity.
    fn moves(&self, document: &Document) -> bool {
        let is_other_tag = self
            .tags
            .as_ref()
            .is_some_and(|tags| !tags.iter().eq(document.tags()));
        let is_other_custom_id = self.custom_id.is_some() && self.custom_id != document.custom_id;
        is_other_tag || is_other_custom_id
    }

    /// Checks whether the document's chunks, or the statements in them, may change.
    fn needs_processing(&self, document: &Document, body: &NewBody) -> bool {
        let content_changed = match &self.content {
            Some((_, form)) => {
                *form == BodyForm::Url
                    || !body.is_of(document)
                    || document.status == DocumentStatus::Failed
            }
            None => false,
        };
        let task_changed = self
            .task_type
            .is_some_and(|task| task != document.task_type);
        let date_changed =
            self.document_date.is_some() && self.document_date != document.document_date;
        let provenance_changed =
            self.provenance.is_some() && self.provenance != document.provenance;
        content_changed || task_changed || date_changed || provenance_changed
    }

    fn body(&self, document: &Document) -> NewBody {
        match &self.content {
            Some((bytes, form)) => NewBody::sent(bytes.clone(), form.clone()),
            None => NewBody::Unchanged(document.body.clone()),
        }
    }

    fn declared_properties(&self, document: &Document) -> DeclaredProperties {
        DeclaredProperties {
            description: self.description.clone(),
            task_type: self.task_type.unwrap_or(document.task_type),
            dreaming: document.dreaming,
            document_date: self.document_date,
            provenance: self.provenance,
        }
    }
}
