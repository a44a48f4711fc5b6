//! A container as plain values, which an export writes and an import reads again without loss.

mod copy;

use bytes::Bytes;

use crate::ConflictRetry;
use crate::Ctx;
use crate::find::read_document;
use domain::blob::BlobRef;
use domain::container::IndexedDocument;
use domain::document::{Document, IndexedRevision, StatementsRef};
use domain::error::{PortError, Result};
use domain::ids::{DocumentId, OrgId};
use domain::memory::StatementSet;
use domain::pack::Pack;
use domain::ports::{BlobContent, PortResult};
use domain::tenant::Tenant;

pub use copy::{
    BodyCopy, ContainerCopy, DocumentCopy, ServedCopy, SharedContainerCopy, StatementsCopy,
    copy_container,
};

/// The outcome of copying a document.
#[derive(Debug)]
pub enum CopyOutcome {
    /// The copy is complete.
    Copied(Box<DocumentCopy>),
    /// The document was deleted meanwhile.
    Deleted,
    /// The stored data of the document cannot be read.
    Damaged,
}

/// Copies a document with its bytes, its chunks and its statements.
///
/// # Errors
/// Returns the errors of the ports.
pub async fn copy_document(
    ctx: &Ctx,
    tenant: &Tenant,
    mut document: Document,
) -> Result<CopyOutcome> {
    let mut retry = ConflictRetry::new(ctx.clock.as_ref());
    loop {
        let blobs = blobs_of(&document);
        let stored = ctx.blobs.read(tenant, &blobs).await?;
        if stored.contains(&BlobContent::Damaged) {
            return Ok(CopyOutcome::Damaged);
        }

        let bytes = stored
            .into_iter()
            .map(BlobContent::into_intact_bytes)
            .collect();
        match copy(tenant, &document, bytes) {
            Ok(Some(copy)) => return Ok(CopyOutcome::Copied(Box::new(copy))),
            Ok(None) => {}
            Err(PortError::Corrupt(_)) => return Ok(CopyOutcome::Damaged),
            Err(error) => return Err(error.into()),
        }

        match read_document(ctx, tenant, &document.id).await? {
            Some(unchanged) if unchanged == document => return Ok(CopyOutcome::Damaged),
            // A later revision has replaced the bytes.
            Some(newer) => document = newer,
            None => return Ok(CopyOutcome::Deleted),
        }

        retry.wait().await?;
    }
}

/// Checks whether the id of a document is derived from its customId, as far as it has one.
fn has_derived_id(org: &OrgId, document: &Document) -> bool {
    let Some(custom_id) = &document.custom_id else {
        return true;
    };
    let derived = [
        DocumentId::of_custom_id(org, custom_id),
        DocumentId::second_of_custom_id(org, custom_id),
        DocumentId::in_container(org, &document.container, custom_id),
    ];
    derived.contains(&document.id)
}

/// Returns the body of a document and, if search serves it, its pack and its statements.
pub(crate) fn blobs_of(document: &Document) -> Vec<BlobRef> {
    let mut blobs = vec![document.body.blob.clone()];
    if let Some(indexed) = &document.indexed {
        blobs.push(indexed.pack.clone());
        blobs.extend(indexed.statements_blob().cloned());
    }

    blobs
}

/// Builds the copy of a document from the bytes of [`blobs_of`]. Returns `None` when required bytes
/// are missing.
fn copy(
    tenant: &Tenant,
    document: &Document,
    bytes: Vec<Option<Bytes>>,
) -> PortResult<Option<DocumentCopy>> {
    let mut bytes = bytes.into_iter();
    let body = bytes.next().flatten();
    if body.is_none() && document.body.awaited_until.is_none() {
        return Ok(None);
    }

    let served = match &document.indexed {
        None => None,
        Some(indexed) => {
            let copy = copy_served(
                document,
                indexed,
                bytes.next().flatten(),
                bytes.next().flatten(),
            )?;
            let Some(copy) = copy else { return Ok(None) };
            Some(copy)
        }
    };

    Ok(Some(DocumentCopy {
        id: document.id.clone(),
        keeps_id: !has_derived_id(tenant.org(), document),
        container_id: document.container.clone(),
        custom_id: document.custom_id.clone(),
        status: document.status,
        failure: document.failure.clone(),
        revision_number: document.revision_number,
        created_at: document.created_at,
        updated_at: document.updated_at,
        indexed_at: None,
        // A copy elsewhere is in step with no provider, but keeps the name that people know.
        kind: document.display_type(),
        title: document.display_title().map(str::to_owned),
        properties: document.properties.clone(),
        url: document.url.clone(),
        metadata: document.metadata.as_object().clone(),
        filepath: document.filepath.clone(),
        filter_by_metadata: document
            .filter_by_metadata
            .as_ref()
            .map(|filter| filter.as_object().clone()),
        task_type: document.task_type,
        dreaming: document.dreaming,
        document_date: document.document_date,
        provenance: document.provenance,
        body: body.map(|bytes| BodyCopy::new(document.body.form.clone(), &bytes)),
        served,
    }))
}

fn copy_served(
    document: &Document,
    indexed: &IndexedRevision,
    pack: Option<Bytes>,
    statements: Option<Bytes>,
) -> PortResult<Option<ServedCopy>> {
    let Some(pack) = pack else { return Ok(None) };
    if indexed.statements_blob().is_some() && statements.is_none() {
        return Ok(None);
    }

    let (kind, title) = match IndexedDocument::for_served_revision(document) {
        Some(shown) => (shown.kind, shown.title),
        None => (indexed.kind, None),
    };
    let statements = match statements {
        Some(statements) => StatementSet::decode(&statements)?.statements,
        None => Vec::new(),
    };
    let copy_statements = |statements_ref: &StatementsRef| StatementsCopy {
        extractor: statements_ref.extractor.clone(),
        fallback_reason: statements_ref.fallback_reason.clone(),
        statements,
    };

    Ok(Some(ServedCopy {
        is_current: document.is_newest_revision(&indexed.revision),
        kind,
        title,
        pack: Pack::decode(&pack)?,
        learned: indexed.statements_ref.as_ref().map(copy_statements),
        authorship: indexed.authorship.clone(),
        summary: indexed.summary.clone(),
    }))
}
