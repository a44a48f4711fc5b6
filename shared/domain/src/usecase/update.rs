//! Changing a document that is there: its description, its content, its place; and trying a failed one again.

use bytes::Bytes;

use crate::container::Change;
use crate::ctx::Ctx;
use crate::document::{BodyForm, Document, Extracted, Status, TaskType};
use crate::error::{Error, PortError, Result};
use crate::ids::{CustomId, DocumentId};
use crate::ports::Committed;
use crate::tag::ContainerTag;
use crate::tenant::Tenant;
use crate::time::Timestamp;
use crate::usecase::describe::{Description, describe};
use crate::usecase::remove::after_commit;
use crate::usecase::revise::{NewBody, Said, announce, compose, message, record};
use crate::usecase::submit::{Accepted, open_container};

/// How often a change is tried against concurrent ones of the same document.
const ATTEMPTS: usize = 12;
/// How often a move is tried against other commits of the container.
const COMMIT_ATTEMPTS: usize = 50;

/// What is to change; what is absent stays.
#[derive(Debug, Clone, Default)]
pub struct Update {
    /// Another content, whole.
    pub content: Option<(Bytes, BodyForm)>,
    /// Metadata and path.
    pub description: Description,
    /// Another customId.
    pub custom_id: Option<CustomId>,
    /// Another container.
    pub tag: Option<ContainerTag>,
    /// Chunks only, or memories as well.
    pub task_type: Option<TaskType>,
    /// When the content is from.
    pub document_date: Option<Timestamp>,
}

/// Changes a document.
///
/// Metadata and path change in place and nothing is processed again. Other content, another task type or date is a new
/// revision; search serves the old one until it is done. Another container or customId is another identity: the document
/// moves to a new id, which the answer tells, and the old id is gone.
///
/// # Errors
/// [`Error::Invalid`] for empty content, [`Error::NotFound`] when it is deleted meanwhile, [`Error::Conflict`] when
/// another document has the new identity, and those of the ports.
pub async fn update_document(
    ctx: &Ctx,
    tenant: &Tenant,
    document: Document,
    update: Update,
) -> Result<Accepted> {
    if let Some((bytes, _)) = &update.content
        && bytes.iter().all(u8::is_ascii_whitespace)
    {
        return Err(Error::invalid_field("content", "there is nothing in it"));
    }
    let other_tag = update.tag.as_ref().is_some_and(|tag| *tag != document.tag);
    let other_custom_id = update.custom_id.is_some() && update.custom_id != document.custom_id;
    if other_tag || other_custom_id {
        return relocate(ctx, tenant, document, update).await;
    }
    let mut document = document;
    for _ in 0..ATTEMPTS {
        if !update.needs_processing(&document) {
            let described = describe(ctx, tenant, document, &update.description).await?;
            let described = described.ok_or(Error::NotFound("Document"))?;
            return Ok(Accepted { id: described.id, status: described.status });
        }
        if let Some(accepted) = revise(ctx, tenant, &document, &update).await? {
            return Ok(accepted);
        }
        document = reread(ctx, tenant, &document.id).await?;
    }
    Err(PortError::Conflict.into())
}

/// Processes a failed document again.
///
/// # Errors
/// [`Error::Conflict`] unless it is failed, [`Error::NotFound`] when it is deleted meanwhile, and those of the ports.
pub async fn retry_document(ctx: &Ctx, tenant: &Tenant, mut document: Document) -> Result<Accepted> {
    for _ in 0..ATTEMPTS {
        if document.status != Status::Failed {
            let status = document.status.as_str();
            return Err(Error::Conflict(format!(
                "only a failed document is tried again; this one is {status}"
            )));
        }
        if let Some(accepted) = revise(ctx, tenant, &document, &Update::default()).await? {
            return Ok(accepted);
        }
        document = reread(ctx, tenant, &document.id).await?;
    }
    Err(PortError::Conflict.into())
}

async fn reread(ctx: &Ctx, tenant: &Tenant, id: &DocumentId) -> Result<Document> {
    let document = ctx.documents.get(tenant, std::slice::from_ref(id)).await?.pop().flatten();
    document.ok_or(Error::NotFound("Document"))
}

/// Writes a new revision in place of the one that was read; `None` when somebody was first.
async fn revise(
    ctx: &Ctx,
    tenant: &Tenant,
    document: &Document,
    update: &Update,
) -> Result<Option<Accepted>> {
    // The container that it lies in, which another one may have become the primary of its tag beside.
    let container = ctx.containers.get(tenant, &document.tag).await?;
    let mut container = container.ok_or(Error::NotFound("Document"))?;
    container.ids = vec![document.container.clone()];
    let identity = (document.id.clone(), document.custom_id.clone());
    let body = update.body(document);
    let next =
        compose(ctx, tenant, &container, identity, &update.said(document), body, Some(document)).await?;
    if !record(ctx, tenant, &next, Some(document)).await? {
        return Ok(None);
    }
    announce(ctx, &[message(tenant, &next)]).await;
    Ok(Some(Accepted { id: next.id, status: Status::Queued }))
}

/// Makes the document anew under its new identity and takes the old one away, in one transaction that holds only while
/// the old one is as it was read.
async fn relocate(ctx: &Ctx, tenant: &Tenant, mut from: Document, update: Update) -> Result<Accepted> {
    for _ in 0..ATTEMPTS {
        let to = relocated(ctx, tenant, &from, &update).await?;
        if move_over(ctx, tenant, &from, &to).await? {
            announce(ctx, &[message(tenant, &to)]).await;
            return Ok(Accepted { id: to.id, status: Status::Queued });
        }
        ctx.blobs.delete(tenant, &to.unserved()).await.ok();
        from = reread(ctx, tenant, &from.id).await?;
    }
    Err(PortError::Conflict.into())
}

/// The document under its new identity; its bytes are stored, for they lie under their container.
async fn relocated(ctx: &Ctx, tenant: &Tenant, from: &Document, update: &Update) -> Result<Document> {
    let tag = update.tag.clone().unwrap_or_else(|| from.tag.clone());
    let container = open_container(ctx, tenant, Some(tag), None).await?;
    let custom_id = update.custom_id.clone().or_else(|| from.custom_id.clone());
    let id = match &custom_id {
        Some(custom_id) => DocumentId::derived(tenant.org(), container.primary(), custom_id),
        None => from.id.moved_to(container.primary()),
    };
    if !ctx.documents.get(tenant, std::slice::from_ref(&id)).await?.iter().all(Option::is_none) {
        let taken = match &custom_id {
            Some(_) => "another document has this customId in this container",
            None => "this document was moved there before; that one is still there",
        };
        return Err(Error::Conflict(taken.into()));
    }
    let (bytes, form) = match &update.content {
        Some(content) => content.clone(),
        None => {
            let bytes = ctx.blobs.get(tenant, std::slice::from_ref(&from.body.blob)).await?.pop().flatten();
            let missing =
                || Error::Conflict("the content of this document has not arrived, or is changing".into());
            (bytes.ok_or_else(missing)?, from.body.form.clone())
        }
    };
    let body = NewBody::Bytes { bytes, form };
    let mut to =
        compose(ctx, tenant, &container, (id, custom_id), &update.said(from), body, Some(from)).await?;
    to.indexed = None;
    if update.content.is_none() && from.status == Status::Done {
        take_over(ctx, tenant, from, &mut to).await?;
    }
    Ok(to)
}

/// Gives a moved document what was made of its content: a page may be gone by now, and a model costs.
async fn take_over(ctx: &Ctx, tenant: &Tenant, from: &Document, to: &mut Document) -> Result<()> {
    let Some(served) = from.indexed.as_ref().filter(|served| from.is_current(&served.revision)) else {
        return Ok(());
    };
    // It is processed like a new one when the pack is just being taken away.
    if let Some(pack) = ctx.blobs.get(tenant, std::slice::from_ref(&served.pack)).await?.pop().flatten() {
        let pack = ctx.blobs.put(tenant, &to.pack_path(), pack).await?;
        (to.kind, to.title) = (served.kind, served.title.clone());
        to.extracted = Some(Extracted { revision: to.revision.clone(), pack, chunks: served.chunks });
    }
    Ok(())
}

/// Commits the move; `false` when a document has changed since it was read.
async fn move_over(ctx: &Ctx, tenant: &Tenant, from: &Document, to: &Document) -> Result<bool> {
    let change = [Change::Move { from: Box::new(from.clone()), to: Box::new(to.clone()) }];
    for _ in 0..COMMIT_ATTEMPTS {
        let head = ctx.index.head(tenant, &from.container).await?;
        match ctx.index.commit(tenant, &from.container, head.seq, &change, ctx.clock.now()).await? {
            Committed::Done(purges) => {
                after_commit(ctx, tenant, &from.container, &head, &change, purges).await;
                return Ok(true);
            }
            Committed::Stale(_) => return Ok(false),
            Committed::Moved => {}
        }
    }
    Err(PortError::Conflict.into())
}

impl Update {
    /// Whether the document's chunks, or what is made of them, may change.
    fn needs_processing(&self, document: &Document) -> bool {
        let content = self.content.as_ref().is_some_and(|(bytes, form)| {
            let body = NewBody::Bytes { bytes: bytes.clone(), form: form.clone() };
            *form == BodyForm::Url || body.hash() != document.body.hash || document.status == Status::Failed
        });
        let task = self.task_type.is_some_and(|task| task != document.task_type);
        let date = self.document_date.is_some() && self.document_date != document.document_date;
        content || task || date
    }

    fn body(&self, document: &Document) -> NewBody {
        match &self.content {
            Some((bytes, form)) => NewBody::Bytes { bytes: bytes.clone(), form: form.clone() },
            None => NewBody::Same(document.body.clone()),
        }
    }

    fn said(&self, document: &Document) -> Said {
        Said {
            description: self.description.clone(),
            task_type: self.task_type.unwrap_or(document.task_type),
            dreaming: document.dreaming,
            document_date: self.document_date,
        }
    }
}
