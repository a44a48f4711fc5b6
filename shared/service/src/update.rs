//! Changing an existing document: its description, its content, its tags or customId; and retrying a
//! failed one.

mod relocate;
mod vectors;

pub use vectors::{find_served_document, replace_vectors};

use bytes::Bytes;

use crate::ConflictRetry;
use crate::Ctx;
use crate::damage::inspect_document;
use crate::describe::{DocumentDescription, describe};
use crate::find::visible_document;
use crate::jobs::queue_processing;
use crate::revise::{
    AcceptedDocument, DeclaredProperties, Identity, NewBody, build_revision, empty_content_error,
    write_revision,
};
use crate::sharing::check_reaches_all_tags;
use domain::document::{BodyForm, Document, DocumentStatus, TaskType};
use domain::error::{Error, Result};
use domain::ids::{CustomId, DocumentId};
use domain::patch::Patch;
use domain::ports::CreationConditions;
use domain::provenance::Provenance;
use domain::tag::ContainerTag;
use domain::tenant::Tenant;
use domain::time::Timestamp;

pub(crate) use relocate::relocate;

/// A change of a document. Fields that are `None` stay as they are.
#[derive(Debug, Clone, Default)]
pub struct DocumentUpdate {
    /// The new content, as a whole.
    pub content: Option<(Bytes, BodyForm)>,
    /// The new metadata, path and filter by metadata. Its fields that are [`Patch::Keep`] stay as they
    /// are.
    ///
    /// [`Patch::Keep`]: domain::patch::Patch::Keep
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
/// type, date or provenance makes a new revision; search serves the old one until the new one is
/// done.
/// Other container tags or another customId move the document, which keeps its id.
///
/// # Errors
/// Returns [`Error::Invalid`] for empty content without a path, [`Error::NotFound`] if the document
/// was deleted in the meantime, [`Error::Conflict`] when another document has the new customId,
/// and the errors of the ports.
pub async fn update_document(
    ctx: &Ctx,
    tenant: &Tenant,
    document: Document,
    update: DocumentUpdate,
) -> Result<AcceptedDocument> {
    if let Some((bytes, _)) = &update.content
        && bytes.trim_ascii().is_empty()
        && !update.leaves_path(&document)
    {
        return Err(empty_content_error());
    }

    let mut document = document;
    check_changeable(ctx, tenant, &document).await?;
    let mut retry = ConflictRetry::new(ctx.clock.as_ref());
    loop {
        let accepted = if update.relocates(&document) {
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

/// Changes a document that keeps its tags and customId. Returns `None` when the document has
/// changed since it was read.
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
    Ok(described.as_ref().map(Into::into))
}

/// Processes a document again that has failed or whose stored data is damaged.
///
/// # Errors
/// Returns [`Error::Conflict`] if the document is neither, [`Error::NotFound`] if it was deleted in
/// the meantime, and the errors of the ports.
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
                "only a failed or damaged document can be retried; this one is {status}"
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

    Ok(Some(queue_processing(ctx, tenant, &next).await))
}

impl DocumentUpdate {
    /// Checks whether the document has a path after the change.
    fn leaves_path(&self, document: &Document) -> bool {
        match &self.description.filepath {
            Patch::Set(_) => true,
            Patch::Clear => false,
            Patch::Keep => document.filepath.is_some(),
        }
    }

    /// Checks whether the document gets other tags or another customId.
    fn relocates(&self, document: &Document) -> bool {
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
            task_type: self.task_type,
            dreaming: document.dreaming,
            document_date: self.document_date,
            provenance: self.provenance,
        }
    }
}
