//! Processing one revision: bytes to a pack, and the request to commit it.

use content::FailureCode as Code;
use domain::BlobRef;
use domain::document::Extracted;
use domain::ports::Claim;
use domain::{
    Ctx, Document, DocumentId, Envelope, Failure, FailureCode, Job, PortError, Result, Revision, Status,
    Tenant,
};
use sandbox::{Sandbox, SandboxError};
use tracing::info;

use crate::MAX_ATTEMPTS;
use crate::commit::commit;
use crate::prepare::{self, Prepared};

/// How long a worker has a document for itself: the 60 seconds that a parser may take, and some room.
const LEASE_SECONDS: i64 = 90;
/// Stages that would last less than a few milliseconds are not written: each write costs, and nobody could see them.
const VISIBLE_STAGE_CHARS: usize = 32 * 1024;

/// Processes a revision unless it is no longer wanted, another worker has it, or it is already processed.
///
/// # Errors
/// What may pass: the message then comes again. What cannot pass ends the document as `failed`.
pub(crate) async fn process(
    ctx: &Ctx,
    sandbox: &Sandbox,
    tenant: &Tenant,
    id: &DocumentId,
    revision: &Revision,
) -> Result<()> {
    let now = ctx.clock.now();
    let claim = ctx.documents.claim(tenant, id, revision, now, now.plus_seconds(LEASE_SECONDS)).await?;
    let Claim::Mine(mut document) = claim else {
        return Ok(());
    };
    if document.attempts > MAX_ATTEMPTS {
        let message = format!("processing was begun {MAX_ATTEMPTS} times and never finished");
        return fail(ctx, tenant, &document, FailureCode::ProcessingFailed, message).await;
    }
    let result = run(ctx, sandbox, tenant, &mut document).await;
    if result.is_err() {
        // Another try may begin at once instead of after the lease; if this fails too, it begins after the lease.
        let soon = ctx.clock.now().plus_seconds(LEASE_SECONDS);
        ctx.documents.postpone(tenant, id, revision, soon).await.ok();
    }
    result
}

async fn run(ctx: &Ctx, sandbox: &Sandbox, tenant: &Tenant, document: &mut Document) -> Result<()> {
    let known = document.extracted.as_ref().is_some_and(|known| document.is_current(&known.revision));
    if !known {
        let Some(body) =
            ctx.blobs.get(tenant, std::slice::from_ref(&document.body.blob)).await?.pop().flatten()
        else {
            // Deleted or replaced since the claim; if not, the next try finds it.
            return Err(PortError::Unavailable("the bytes of a document are not there".into()).into());
        };
        let text = match prepare::read(sandbox, document, &body).await {
            Ok(text) => text,
            Err(SandboxError::Content(failure)) => {
                return fail(ctx, tenant, document, code(failure.code), failure.message).await;
            }
            Err(SandboxError::Unavailable(error)) => {
                return Err(PortError::Unavailable(Box::new(error)).into());
            }
        };
        let visible = text.text.chars().count() > VISIBLE_STAGE_CHARS;
        if visible && !advance(ctx, tenant, document, Status::Chunking).await? {
            return Ok(());
        }
        let chunks = prepare::cut(&text);
        if visible && !advance(ctx, tenant, document, Status::Embedding).await? {
            return Ok(());
        }
        if !store(ctx, tenant, document, prepare::embed(text, chunks)).await? {
            return Ok(());
        }
        let (id, revision) = (document.id.clone(), document.revision.clone());
        let job = Job::CommitV1 { document: id, revision, container: document.container.clone() };
        return Ok(ctx.jobs.send(&[Envelope { org: tenant.org().clone(), job }]).await?);
    }
    if !ctx.documents.record_extracted(tenant, document, ctx.clock.now()).await? {
        return Ok(());
    }
    // It was processed before and its commit got lost, perhaps with a worker whose unfinished message still holds up
    // the container's queue. The commit is safe outside its queue, so this one does not wait there.
    commit(ctx, tenant.org(), &document.container, &[(&document.id, &document.revision)]).await
}

async fn advance(ctx: &Ctx, tenant: &Tenant, document: &Document, status: Status) -> Result<bool> {
    Ok(ctx.documents.advance(tenant, &document.id, &document.revision, status, ctx.clock.now()).await?)
}

/// Stores the pack, then records it. The pack's path belongs to the revision and its content follows from the bytes, so
/// doing it again changes nothing.
async fn store(ctx: &Ctx, tenant: &Tenant, document: &mut Document, prepared: Prepared) -> Result<bool> {
    let chunks = u32::try_from(prepared.pack.chunks.len()).unwrap_or(u32::MAX);
    let pack = ctx.blobs.put(tenant, &document.pack_path(), prepared.pack.encode().into()).await?;
    let revision = document.revision.clone();
    let (kind, title) = (prepared.kind, prepared.title);
    document.title = document.title.take().or(title);
    document.kind = kind;
    let found = Extracted { revision, pack: pack.clone(), chunks, kind, title: document.title.clone() };
    document.extracted = Some(found);
    let wanted = ctx.documents.record_extracted(tenant, document, ctx.clock.now()).await?;
    if !wanted {
        discard(ctx, tenant, document, &pack).await?;
    }
    Ok(wanted)
}

/// Deletes a pack whose revision nobody wants any more: the document was deleted or replaced meanwhile, and whoever did
/// that may have purged before this pack was stored. A pack that the document names, or may still come to name, stays:
/// a worker that was delivered the same message, only faster, has recorded it.
async fn discard(ctx: &Ctx, tenant: &Tenant, document: &Document, pack: &BlobRef) -> Result<()> {
    let now = ctx.documents.get(tenant, std::slice::from_ref(&document.id)).await?.pop().flatten();
    let used = now.is_some_and(|now| {
        now.is_current(&document.revision) || now.indexed.is_some_and(|indexed| indexed.pack == *pack)
    });
    if !used {
        ctx.blobs.delete(tenant, std::slice::from_ref(pack)).await?;
    }
    Ok(())
}

async fn fail(
    ctx: &Ctx,
    tenant: &Tenant,
    document: &Document,
    code: FailureCode,
    message: String,
) -> Result<()> {
    info!(document.id = %document.id, code = code.as_str(), "document {} failed: {}", document.id, code.as_str());
    let failure = Failure { code, message };
    ctx.documents
        .fail(tenant, &document.id, &document.revision, &failure, Some(document.lease_until), ctx.clock.now())
        .await?;
    Ok(())
}

fn code(code: Code) -> FailureCode {
    match code {
        Code::ContentLimit => FailureCode::ContentLimit,
        Code::Encrypted => FailureCode::Encrypted,
        Code::Corrupt => FailureCode::Corrupt,
        Code::UnsupportedType => FailureCode::UnsupportedType,
        Code::Empty => FailureCode::Empty,
    }
}
