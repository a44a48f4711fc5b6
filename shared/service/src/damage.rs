//! Stored bytes that can no longer be read: finding them, and recreating them where possible.
//!
//! The results of processing a document (its pack and statements) are recreated from its body. A
//! body is what the client sent: once it is lost, only the client can send it again. Damage never
//! affects more than its own document.

use bytes::Bytes;
use tracing::{error, warn};

use crate::Ctx;
use crate::export::blobs_of;
use crate::find::{read_document, visible_document};
use crate::memories::CLIENT_EXTRACTOR;
use crate::update::{check_changeable, process_again};
use domain::blob::BlobRef;
use domain::conversation::{self, ConversationTurn};
use domain::document::{Document, DocumentStatus, FailureCode, ProcessingFailure};
use domain::error::{Error, Result};
use domain::ids::{ContainerId, DocumentId};
use domain::job::{Job, JobMessage};
use domain::memory::StatementSet;
use domain::pack::Pack;
use domain::ports::BlobContent;
use domain::tenant::Tenant;

/// The largest number of documents that one message names.
const REPORT_BATCH_SIZE: usize = 500;

/// The parts of a document's stored bytes that cannot be read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DocumentDamage {
    /// The bytes that the client sent.
    pub body: bool,
    /// The pack: text, chunks and vectors that search serves.
    pub pack: bool,
    /// The statements.
    pub statements: bool,
}

/// The outcome of [`repair_document`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RepairOutcome {
    /// Nothing is damaged, the damage is already recorded, or the document is being processed.
    Nothing,
    /// The document is processed again.
    Queued,
    /// The document cannot be recreated from what is stored, and is `failed`.
    Failed,
    /// Search serves the document as before; only its body is lost.
    BodyLost,
}

/// Reads everything that is stored of a document and returns the damage, or `None` if all of it can
/// be read. A document that changes meanwhile counts as intact.
///
/// # Errors
/// Returns the errors of the ports.
pub async fn inspect_document(
    ctx: &Ctx,
    tenant: &Tenant,
    document: &Document,
) -> Result<Option<DocumentDamage>> {
    let blobs = blobs_of(document);
    let mut stored = ctx.blobs.read(tenant, &blobs).await?.into_iter();

    let (body, pack, statements) = (stored.next(), stored.next(), stored.next());
    let is_awaited =
        document.body.awaited_until.is_some() && document.status != DocumentStatus::Done;
    let damage = DocumentDamage {
        body: !is_awaited && is_damaged(body, |_| true),
        pack: is_damaged(pack, |bytes| Pack::decode(bytes).is_ok()),
        statements: is_damaged(statements, |bytes| StatementSet::decode(bytes).is_ok()),
    };

    if damage == DocumentDamage::default() {
        return Ok(None);
    }

    let Some(current) = read_document(ctx, tenant, &document.id).await? else {
        return Ok(None);
    };
    let is_unchanged = current.revision == document.revision && current.indexed == document.indexed;

    Ok(is_unchanged.then_some(damage))
}

/// Checks whether a blob that the document has cannot be read.
fn is_damaged(stored: Option<BlobContent>, can_decode: impl Fn(&[u8]) -> bool) -> bool {
    match stored {
        Some(BlobContent::Intact(bytes)) => !can_decode(&bytes),
        Some(BlobContent::Missing | BlobContent::Damaged) => true,
        None => false,
    }
}

/// Checks whether a missing blob is lost rather than just replaced: it is lost if the document
/// still names it.
pub(crate) async fn is_lost(
    ctx: &Ctx,
    tenant: &Tenant,
    document: &Document,
    blob: &BlobRef,
) -> Result<bool> {
    let Some(current) = read_document(ctx, tenant, &document.id).await? else {
        return Ok(false);
    };
    if current.revision != document.revision {
        return Ok(false);
    }

    let is_served = match &current.indexed {
        Some(indexed) => indexed.all_blobs().any(|other| other == blob),
        None => false,
    };
    Ok(is_served || current.uses_blob(blob))
}

/// Returns the stored turns of a conversation. If they cannot be read, returns an empty list, so
/// that the conversation starts over with what is sent. Returns `None` if they are just being
/// replaced.
pub(crate) async fn read_turns(
    ctx: &Ctx,
    tenant: &Tenant,
    document: &Document,
) -> Result<Option<Vec<ConversationTurn>>> {
    let turns = match read_stored_body(ctx, tenant, document).await? {
        StoredBody::Intact(bytes) => conversation::parse_turns(&bytes).ok(),
        StoredBody::Lost => None,
        StoredBody::BeingReplaced => return Ok(None),
    };

    if turns.is_none() {
        let id = &document.id;
        warn!(document.id = %id, "the stored turns of {id} cannot be read; it begins anew with what is sent");
    }

    Ok(Some(turns.unwrap_or_default()))
}

/// The stored content of a document.
pub(crate) enum StoredBody {
    /// The bytes.
    Intact(Bytes),
    /// The bytes are damaged or missing.
    Lost,
    /// Another content is just replacing the bytes.
    BeingReplaced,
}

/// Reads the content of a document that other content will be added to.
pub(crate) async fn read_stored_body(
    ctx: &Ctx,
    tenant: &Tenant,
    document: &Document,
) -> Result<StoredBody> {
    let body = &document.body.blob;
    Ok(match ctx.blobs.read_one(tenant, body).await? {
        BlobContent::Intact(bytes) => StoredBody::Intact(bytes),
        BlobContent::Missing if !is_lost(ctx, tenant, document, body).await? => {
            StoredBody::BeingReplaced
        }
        BlobContent::Missing | BlobContent::Damaged => StoredBody::Lost,
    })
}

/// Asks maintenance to repair documents that could not be read, and the container's index. A lost
/// message only costs time, because readers report the same damage again.
pub async fn report_damage(
    ctx: &Ctx,
    tenant: &Tenant,
    container: &ContainerId,
    documents: &[DocumentId],
) {
    let batches: Vec<&[DocumentId]> = if documents.is_empty() {
        vec![&[]]
    } else {
        documents.chunks(REPORT_BATCH_SIZE).collect()
    };

    for batch in batches {
        let job = Job::RepairV1 {
            container: container.clone(),
            documents: batch.to_vec(),
        };
        let message = JobMessage::new(tenant.org(), job);
        if let Err(error) = ctx.jobs.send(&[message]).await {
            warn!(container.id = %container, error = &error as &dyn std::error::Error,
                "could not ask for the repair of {container}");
        }
    }
}

/// Repairs a document that could not be read. Its pack and statements are recreated from its body;
/// if the body is lost as well, the document becomes `failed` with `damaged`. Calling it again
/// changes nothing more, so each document is named in the log once.
///
/// # Errors
/// Returns the errors of the ports.
pub async fn repair_document(ctx: &Ctx, tenant: &Tenant, id: &DocumentId) -> Result<RepairOutcome> {
    let Some(document) = visible_document(ctx, tenant, id).await? else {
        return Ok(RepairOutcome::Nothing);
    };

    if document.status != DocumentStatus::Done || document.superseded_by.is_some() {
        return Ok(RepairOutcome::Nothing);
    }

    let Some(damage) = inspect_document(ctx, tenant, &document).await? else {
        return Ok(RepairOutcome::Nothing);
    };

    if !damage.pack && !damage.statements {
        error!(document.id = %id, "the content that was sent of document {id} cannot be read; search still serves it");
        return Ok(RepairOutcome::BodyLost);
    }

    let is_unrepairable = damage.body || (damage.statements && is_written_by_client(&document));
    if !is_unrepairable {
        return reprocess(ctx, tenant, &document).await;
    }

    let message =
        "The stored data of this document cannot be read; send its content again.".to_owned();
    let failure = ProcessingFailure {
        code: FailureCode::Damaged,
        message,
    };

    if !ctx
        .documents
        .fail_damaged(tenant, &document, &failure, ctx.clock.now())
        .await?
    {
        return Ok(RepairOutcome::Nothing);
    }

    error!(document.id = %id, "the stored data of document {id} cannot be read; marked it as failed");
    Ok(RepairOutcome::Failed)
}

/// Checks whether a client wrote the memories of a document. They are not in its text, so they
/// cannot be found there again.
pub(crate) fn is_written_by_client(document: &Document) -> bool {
    let Some(indexed) = &document.indexed else {
        return false;
    };
    matches!(&indexed.statements_ref, Some(statements_ref) if statements_ref.extractor == CLIENT_EXTRACTOR)
}

async fn reprocess(ctx: &Ctx, tenant: &Tenant, document: &Document) -> Result<RepairOutcome> {
    match check_changeable(ctx, tenant, document).await {
        Ok(()) => {}
        // A merge is under way. Whoever reads the container after it finds the damage again.
        Err(Error::Conflict(_)) => return Ok(RepairOutcome::Nothing),
        Err(error) => return Err(error),
    }
    if process_again(ctx, tenant, document).await?.is_none() {
        return Ok(RepairOutcome::Nothing);
    }
    let id = &document.id;
    error!(document.id = %id, "what was stored of document {id} cannot be read; it is processed again");
    Ok(RepairOutcome::Queued)
}
