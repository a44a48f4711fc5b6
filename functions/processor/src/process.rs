//! Processes one revision: turns its bytes into a pack, and requests its commit.

use content::MAX_CHUNKS;
use domain::job::retry_pause;
use domain::ports::{BlobContent, ClaimOutcome, OVERDUE_AFTER_SECONDS};
use domain::{
    DeliveryOutcome, Document, DocumentId, DocumentStatus, FailureCode, Job, JobMessage, Pack,
    ProcessingFailure, Result, Revision, StatementSet, Tenant, Timestamp,
};
use service::Ctx;
use service::{protect_file, read_present_tags};
use tracing::info;

use crate::analysis::{
    ProcessingContext, ServedResults, analyze_text, commit_message, record_results, store_analyses,
};
use crate::batch::DocumentRevision;
use crate::commit::{commit_documents, is_extracted};
use crate::leases::HeldLeases;
use crate::prepare;
use crate::read::{ContentReaders, ReadError};
use crate::{MAX_ATTEMPTS, catch_panic, outcome_of};

/// The length in seconds of the lease on a document. It is longer than the 120 seconds after which
/// the worker's function is ended, so that a slow page and a slow parser are not started twice. A
/// call of the function `reader` that begins late may outlast it, and its answer is lost.
const LEASE_SECONDS: i64 = 150;
const _: () = assert!(
    sandbox::WALL_TIME.as_secs() < LEASE_SECONDS as u64,
    "a parser outlives its lease"
);
/// The number of seconds after which a document whose model has failed is embedded.
const EMBED_LATER_SECONDS: u32 = 300;
/// The length of text in characters above which the stages of processing are written. For shorter
/// texts they would last less than a few milliseconds, which nobody could see, and each write
/// costs.
const MIN_STAGED_CHARS: usize = 32 * 1024;

/// The time for which a new text is processed without a lease. The sweep sends it a few times until
/// then.
const UNLEASED_SECONDS: i64 = 600;

/// Processes one document. Returns the outcome of its message.
pub(crate) async fn process_alone(
    ctx: &Ctx,
    readers: &ContentReaders,
    leases: &HeldLeases,
    tenant: &Tenant,
    (id, revision): &DocumentRevision,
) -> DeliveryOutcome {
    // All stages are one large future, which the stack of a thread may have no room for.
    let work = Box::pin(process_revision(ctx, readers, leases, tenant, id, revision));
    outcome_of(catch_panic(work).await, "process a document")
}

/// Processes a revision, unless it is no longer wanted, leased by another worker, or already
/// processed.
///
/// A worker takes a lease, except for a short text. Reading that takes milliseconds and gives the same
/// results each time, so a lease would cost more than the work that it saves now and then.
///
/// # Errors
/// Temporary errors, after which the message is delivered again. A permanent failure ends the
/// document as `failed` and returns `Ok`.
async fn process_revision(
    ctx: &Ctx,
    readers: &ContentReaders,
    leases: &HeldLeases,
    tenant: &Tenant,
    id: &DocumentId,
    revision: &Revision,
) -> Result<()> {
    let Some(mut document) = begin_revision(ctx, readers, tenant, id, revision).await? else {
        return Ok(());
    };

    // While a document only waits for its file, every restart of a server counts as an attempt.
    let now = ctx.clock.now();
    let is_awaiting_upload = document.body.awaited_until.is_some_and(|until| until > now);
    if document.attempts > MAX_ATTEMPTS && !is_awaiting_upload {
        let message = format!("processing was begun {MAX_ATTEMPTS} times and never finished");
        return fail_document(
            ctx,
            tenant,
            &document,
            FailureCode::ProcessingFailed,
            message,
        )
        .await;
    }

    let Some(tags) = read_present_tags(ctx, tenant, &document).await? else {
        // The container was deleted, and the purge removes the document.
        return Ok(());
    };

    document.set_tags(&tags);
    let (attempts, lease_until) = (document.attempts, document.lease_until);
    let is_leased = attempts > 0;
    let held_lease = is_leased.then(|| leases.hold(tenant, &document));
    let result = run_stages(ctx, readers, tenant, document).await;
    if result.is_err() && is_leased {
        // The next delivery of the message may start at once instead of after the lease. If those fail
        // too, the sweep sends another message after the pause.
        let pause = retry_pause(attempts).max(LEASE_SECONDS);
        let retry_at = ctx.clock.now().plus_seconds(pause);
        ctx.documents
            .postpone_revision(tenant, id, revision, lease_until, retry_at)
            .await
            .ok();
    }
    drop(held_lease);

    result
}

/// Returns the document if this worker is to process the revision, with a lease unless it is a short
/// text.
async fn begin_revision(
    ctx: &Ctx,
    readers: &ContentReaders,
    tenant: &Tenant,
    id: &DocumentId,
    revision: &Revision,
) -> Result<Option<Document>> {
    if !readers.uses_models() {
        let found = ctx.documents.get_one(tenant, id).await?;
        let Some(document) = found.filter(|found| found.is_unfinished_revision(revision)) else {
            return Ok(None);
        };
        if is_new_short_text(&document, ctx.clock.now()) {
            return Ok(Some(document));
        }
    }

    let now = ctx.clock.now();
    let lease_until = now.plus_seconds(LEASE_SECONDS);
    let claim = ctx
        .documents
        .claim_revision(tenant, id, revision, now, lease_until)
        .await?;
    match claim {
        ClaimOutcome::Claimed(document) => Ok(Some(*document)),
        ClaimOutcome::Busy | ClaimOutcome::Outdated => Ok(None),
    }
}

/// Checks whether a document is a short text that is read for the first time.
///
/// A text that replaces another one reuses what is served of that. So it would give other results once
/// another worker has finished. A text that has waited for long may be one that ends its worker, so
/// its attempts have to be counted.
pub(crate) fn is_new_short_text(document: &Document, now: Timestamp) -> bool {
    document.is_short_text()
        && document.attempts == 0
        && document.indexed.is_none()
        && document.updated_at.plus_seconds(UNLEASED_SECONDS) > now
}

async fn run_stages(
    ctx: &Ctx,
    readers: &ContentReaders,
    tenant: &Tenant,
    mut document: Document,
) -> Result<()> {
    if is_extracted(&document) {
        if !ctx
            .documents
            .record_extracted(tenant, &document, ctx.clock.now())
            .await?
        {
            return Ok(());
        }
        // The document was processed before but its commit was lost, perhaps with a worker whose
        // unfinished message still blocks the container's queue. The commit is safe outside of its
        // queue, so do not wait for it.
        return commit_documents(
            ctx,
            tenant,
            &document.container,
            &[(document.id.clone(), document.revision.clone())],
        )
        .await;
    }

    let body = match ctx.blobs.read_one(tenant, &document.body.blob).await? {
        BlobContent::Intact(body) => body,
        BlobContent::Damaged => return fail_damaged(ctx, tenant, &document).await,
        BlobContent::Missing => return handle_missing_body(ctx, tenant, &document).await,
    };

    let Some(body) = protect_file(ctx, tenant, &mut document, body).await? else {
        return Ok(());
    };

    let reading = readers.read_body(&document, &body);
    let text = match spans::trace(spans::step_span("read content"), reading).await {
        Ok(text) => text,
        Err(ReadError::Failed(ProcessingFailure { code, message })) => {
            return fail_document(ctx, tenant, &document, code, message).await;
        }
        Err(ReadError::Unavailable(error)) => return Err(error.into()),
    };

    let context = ProcessingContext::read(ctx, tenant, &document.tag).await?;
    let shows_progress = text.text.chars().count() > MIN_STAGED_CHARS;
    if shows_progress && !advance_status(ctx, tenant, &document, DocumentStatus::Chunking).await? {
        return Ok(());
    }

    let chunks = prepare::cut_chunks(&text, &context.settings);
    if chunks.len() > MAX_CHUNKS {
        let message =
            format!("The document has more than {MAX_CHUNKS} chunks; set a larger chunkSize.");
        return fail_document(ctx, tenant, &document, FailureCode::ContentLimit, message).await;
    }

    if shows_progress && !advance_status(ctx, tenant, &document, DocumentStatus::Embedding).await? {
        return Ok(());
    }

    let served = load_served(ctx, tenant, &document).await?;
    let analysis = analyze_text(readers, &document, text, chunks, &context, &served).await;
    if analysis.is_too_large() {
        let message =
            "The chunks of the document take too much space; split the document.".to_owned();
        return fail_document(ctx, tenant, &document, FailureCode::ContentLimit, message).await;
    }

    let is_embedded = analysis.is_embedded;
    let mut stored = store_analyses(ctx, tenant, vec![(document, analysis)]).await?;
    let Some(document) = stored.pop() else {
        return Ok(());
    };
    if !record_results(ctx, tenant, &document).await? {
        return Ok(());
    }
    if !is_embedded {
        embed_later(ctx, tenant, &document).await?;
    }

    Ok(ctx.jobs.send(&[commit_message(tenant, &document)]).await?)
}

/// Asks maintenance to embed a document whose model has failed, when the document is committed.
async fn embed_later(ctx: &Ctx, tenant: &Tenant, document: &Document) -> Result<()> {
    let job = Job::EmbedV1 {
        container: document.container.clone(),
        documents: vec![document.id.clone()],
        after: None,
    };
    let message = JobMessage::new(tenant.org(), job);
    Ok(ctx.jobs.send_delayed(&message, EMBED_LATER_SECONDS).await?)
}

/// Ends the processing of a document whose bytes do not exist.
async fn handle_missing_body(ctx: &Ctx, tenant: &Tenant, document: &Document) -> Result<()> {
    let Some(until) = document.body.awaited_until else {
        // Nothing is written if the document was deleted or replaced since this worker read it.
        return fail_damaged(ctx, tenant, document).await;
    };

    if until > ctx.clock.now() {
        return wait_for_file(ctx, tenant, document, until).await;
    }

    let message = "The file was not uploaded in time; ask for a new upload form.".to_owned();
    fail_document(ctx, tenant, document, FailureCode::UploadMissing, message).await
}

async fn fail_damaged(ctx: &Ctx, tenant: &Tenant, document: &Document) -> Result<()> {
    let message = "The stored content of this document cannot be read; send it again.".to_owned();
    fail_document(ctx, tenant, document, FailureCode::Damaged, message).await
}

/// Puts back a document whose file has not arrived. The document is sent again when the file
/// arrives, or when the time for it is over.
async fn wait_for_file(
    ctx: &Ctx,
    tenant: &Tenant,
    document: &Document,
    until: Timestamp,
) -> Result<()> {
    let overdue_at = until.plus_seconds(OVERDUE_AFTER_SECONDS);
    ctx.documents
        .requeue_until(tenant, document, overdue_at)
        .await?;
    // The file may have arrived while this worker held the lease, so that its message was ignored.
    let body = ctx.blobs.read_one(tenant, &document.body.blob).await?;
    if body != BlobContent::Missing {
        ctx.jobs
            .send(&[JobMessage::process_document(tenant.org(), document)])
            .await?;
    }

    Ok(())
}

/// Returns the pack and the statements that search currently serves for the document, to reuse what
/// has not changed. Whatever cannot be read is computed again.
async fn load_served(ctx: &Ctx, tenant: &Tenant, document: &Document) -> Result<ServedResults> {
    let Some(indexed) = &document.indexed else {
        return Ok(ServedResults::default());
    };

    let mut blobs = vec![indexed.pack.clone()];
    blobs.extend(indexed.statements_blob().cloned());
    let mut contents = ctx.blobs.read(tenant, &blobs).await?.into_iter();
    let pack = match contents.next() {
        Some(BlobContent::Intact(bytes)) => Pack::decode(&bytes).ok(),
        _ => None,
    };
    let statements = match contents.next() {
        Some(BlobContent::Intact(bytes)) => StatementSet::decode(&bytes).ok(),
        _ => None,
    };

    Ok(ServedResults { pack, statements })
}

async fn advance_status(
    ctx: &Ctx,
    tenant: &Tenant,
    document: &Document,
    status: DocumentStatus,
) -> Result<bool> {
    Ok(ctx
        .documents
        .advance_status(
            tenant,
            &document.id,
            &document.revision,
            status,
            ctx.clock.now(),
        )
        .await?)
}

/// Ends the processing of a document with a failure that is permanent.
pub(crate) async fn fail_document(
    ctx: &Ctx,
    tenant: &Tenant,
    document: &Document,
    code: FailureCode,
    message: String,
) -> Result<()> {
    info!(document.id = %document.id, code = code.as_str(), "document {} failed: {}", document.id, code.as_str());
    let failure = ProcessingFailure { code, message };
    ctx.documents
        .fail_revision(
            tenant,
            &document.id,
            &document.revision,
            &failure,
            Some(document.lease_until),
            ctx.clock.now(),
        )
        .await?;
    metrics::counter!("recollect_documents_total", "status" => "failed").increment(1);

    Ok(())
}
