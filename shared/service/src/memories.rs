//! Operations of callers on memories: writing new ones, and editing existing ones.

use bytes::Bytes;

use crate::Ctx;
use crate::describe::DocumentDescription;
use crate::find::read_document;
use crate::orphans::delete_unused_blobs;
use crate::repeated::{Target, locate_repeated_request};
use crate::results::store_results;
use crate::revise::{DeclaredProperties, Identity, NewBody, build_revision};
use crate::sharing::check_reaches_all_tags;
use crate::submit::{Content, NewDocument};
use crate::{Committed, commit_changes};
use domain::container::{Container, DocumentChange};
use domain::document::{
    BodyForm, Document, DocumentStatus, Dreaming, IndexedRevision, StatementsRef, TaskType,
};
use domain::error::{PortError, Result};
use domain::ids::ContainerId;
use domain::memory::{MemoryEdit, Statement, StatementSet, Trust};
use domain::pack::Pack;
use domain::provenance::Authorship;
use domain::tenant::Tenant;

/// The largest number of edits in one commit. With the longest texts and metadata, their log record
/// stays below the 400 KB of an item.
const EDIT_BATCH_SIZE: usize = 8;
/// The extractor name of memories that a client has written.
pub const CLIENT_EXTRACTOR: &str = "client";

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

    // Only its digest is used: requests are equal if their statements are.
    let content = Content::Complete {
        bytes: bytes.clone().into(),
        form: BodyForm::Text,
    };
    let new = NewDocument {
        tags: vec![container.tag.clone()],
        ..NewDocument::new(content)
    };
    let body = NewBody::sent(Bytes::from(text.clone()), BodyForm::Text);
    let Target { location, old } =
        locate_repeated_request(ctx, tenant, container, &new, &body).await?;
    if let Some(existing) = old {
        return Ok(existing);
    }

    let identity = Identity::new(container, location, None);
    let document =
        build_memory_document(ctx, tenant, identity, text, body, &statements, bytes).await?;

    let change = DocumentChange::create(document.clone());
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
    delete_unused_blobs(ctx, tenant, &unused).await;

    match read_document(ctx, tenant, &document.id).await? {
        Some(existing) => Ok(existing),
        None => Err(PortError::Conflict.into()),
    }
}

/// Builds the record of a document that has these statements, `encoded` as they are stored, and is
/// done. Its bytes are stored; its record is not.
async fn build_memory_document(
    ctx: &Ctx,
    tenant: &Tenant,
    identity: Identity,
    text: String,
    body: NewBody,
    statements: &[Statement],
    encoded: Vec<u8>,
) -> Result<Document> {
    let declared_properties = DeclaredProperties {
        description: DocumentDescription::default(),
        task_type: Some(TaskType::Memory),
        dreaming: Dreaming::Instant,
        document_date: None,
        provenance: None,
    };
    let mut document =
        build_revision(ctx, tenant, identity, &declared_properties, body, None).await?;

    let pack = Pack {
        v: Pack::VERSION,
        model: String::new(),
        chosen_model: None,
        text,
        chunks: Vec::new(),
    };
    let pack = pack.encode().into();
    let stored = store_results(ctx, tenant, &document, pack, Some(encoded.into())).await?;
    let statements_ref = StatementsRef {
        statements: stored.statements,
        ..StatementsRef::new(statements, CLIENT_EXTRACTOR, None)
    };

    document.status = DocumentStatus::Done;
    document.indexed = Some(IndexedRevision {
        revision: document.revision.clone(),
        pack: stored.pack,
        body: document.body.blob.clone(),
        chunks: 0,
        kind: document.kind,
        title: None,
        statements_ref: Some(statements_ref),
        authorship: Some(Authorship::own_words(Trust::Client)),
        summary: None,
    });

    Ok(document)
}

/// Applies edits to memories of a container, in the order given. Applying them again changes
/// nothing.
///
/// # Errors
/// Returns [`domain::Error::Forbidden`] if the container has tags out of reach, and the errors of
/// the ports. Some edits may have been applied then.
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
