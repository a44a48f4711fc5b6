//! Operations of callers on memories: writing new ones, and editing existing ones.

use bytes::Bytes;

use crate::Ctx;
use crate::describe::DocumentDescription;
use crate::find::read_document;
use crate::repeated::{Target, repeated};
use crate::revise::{DeclaredProperties, Identity, NewBody, build_revision};
use crate::sharing::check_reaches_all_tags;
use crate::submit::{Content, NewDocument};
use crate::{Committed, commit_changes};
use domain::container::{Container, DocumentChange};
use domain::document::{
    BodyForm, Document, DocumentStatus, Dreaming, IndexedRevision, StatementsRef, TaskType,
};
use domain::error::{Error, PortError, Result};
use domain::ids::ContainerId;
use domain::memory::{MemoryEdit, Statement, StatementSet, Trust};
use domain::pack::Pack;
use domain::provenance::Authorship;
use domain::tag::ContainerTag;
use domain::tenant::Tenant;
/// The largest number of edits in one commit. With the longest texts and metadata, their log record
/// stays below the 400 KB of an item.
const EDIT_BATCH_SIZE: usize = 8;
/// The extractor name of memories that a client has written.
pub const CLIENT_EXTRACTOR: &str = "client";

/// Returns the container of a tag that must exist.
///
/// # Errors
/// Returns [`Error::Forbidden`] for a tag out of reach, and [`Error::NotFound`] when nothing was
/// ever written to it.
pub async fn find_existing_container(
    ctx: &Ctx,
    tenant: &Tenant,
    tag: &ContainerTag,
) -> Result<Container> {
    tenant.check_access(tag)?;
    let Some(container) = ctx.containers.get(tenant, tag).await? else {
        return Err(Error::NotFound("Container tag"));
    };
    tenant.record_access(&container.ids);
    Ok(container)
}

/// Returns the container of an existing tag, for a change of its memories.
///
/// # Errors
/// Returns the errors of [`find_existing_container`], and [`Error::Conflict`] while the container
/// is merged.
pub async fn find_writable_container(
    ctx: &Ctx,
    tenant: &Tenant,
    tag: &ContainerTag,
) -> Result<Container> {
    let container = find_existing_container(ctx, tenant, tag).await?;
    container.check_writable()?;
    Ok(container)
}

/// Stores memories that a client wrote as a document of their own. The document is `done` at once:
/// it has the text of the memories, no chunks, and these statements. The same request by the same
/// key within two minutes returns the same document.
///
/// # Errors
/// Returns the errors of the ports.
pub async fn write_memories(
    ctx: &Ctx,
    tenant: &Tenant,
    container: &Container,
    statements: Vec<Statement>,
) -> Result<Document> {
    let text = statements
        .iter()
        .map(|statement| statement.text.as_str())
        .collect::<Vec<_>>()
        .join("\n");
    let bytes = StatementSet::new(statements.clone()).encode();

    let content = Content::Complete {
        bytes: bytes.clone().into(),
        form: BodyForm::Text,
    };
    let new = NewDocument {
        tags: vec![container.tag.clone()],
        ..NewDocument::new(content)
    };
    let body = NewBody::sent(Bytes::from(text.clone()), BodyForm::Text);
    let Target { location, old } = repeated(ctx, tenant, container, &new, &body).await?;
    if let Some(existing) = old {
        return Ok(existing);
    }

    let id = location.id.clone();
    let declared_properties = DeclaredProperties {
        description: DocumentDescription::default(),
        task_type: TaskType::Memory,
        dreaming: Dreaming::Instant,
        document_date: None,
        provenance: None,
    };
    let mut document = build_revision(
        ctx,
        tenant,
        Identity::new(container, location, None),
        &declared_properties,
        body,
        None,
    )
    .await?;
    let pack = Pack {
        v: Pack::VERSION,
        model: String::new(),
        chosen_model: None,
        text,
        chunks: Vec::new(),
    };
    let path = document.statements_path();
    let statements_ref = StatementsRef {
        statements: Some(ctx.blobs.put(tenant, &path, bytes.into()).await?),
        ..StatementsRef::new(&statements, CLIENT_EXTRACTOR, None)
    };
    document.status = DocumentStatus::Done;
    document.indexed = Some(IndexedRevision {
        revision: document.revision.clone(),
        pack: ctx
            .blobs
            .put(tenant, &document.pack_path(), pack.encode().into())
            .await?,
        body: document.body.blob.clone(),
        chunks: 0,
        kind: document.kind,
        title: None,
        statements_ref: Some(statements_ref),
        authorship: Some(Authorship::own_words(Trust::Client)),
        summary: None,
    });

    let change = DocumentChange::Create(Box::new(document.clone()));
    let committed = commit_changes(ctx, tenant, &document.container, &[change], None).await?;
    if committed == Committed::Done {
        return Ok(document);
    }

    // The same request came twice at once, and the other was first. The blobs of this one are not
    // needed.
    let unused: Vec<_> = document
        .indexed
        .iter()
        .flat_map(IndexedRevision::all_blobs)
        .cloned()
        .collect();
    ctx.blobs.delete(tenant, &unused).await.ok();

    match read_document(ctx, tenant, &id).await? {
        Some(existing) => Ok(existing),
        None => Err(PortError::Conflict.into()),
    }
}

/// Applies edits to memories of a container, in the order given. Applying them again changes
/// nothing.
///
/// # Errors
/// Returns [`Error::Forbidden`] if the container has tags out of reach, and the errors of the ports.
/// Some edits may have been applied then.
pub async fn apply_memory_edits(
    ctx: &Ctx,
    tenant: &Tenant,
    container: &ContainerId,
    edits: &[MemoryEdit],
) -> Result<()> {
    check_reaches_all_tags(ctx, tenant, [container]).await?;
    for batch in edits.chunks(EDIT_BATCH_SIZE) {
        let changes: Vec<DocumentChange> =
            batch.iter().cloned().map(DocumentChange::Edit).collect();
        // An edit concerns no document, so no document can be stale.
        let _ = commit_changes(ctx, tenant, container, &changes, None).await?;
    }
    Ok(())
}
