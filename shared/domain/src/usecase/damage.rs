//! Stored bytes that cannot be read any more: finding out which, and making them anew where that is possible.
//!
//! What is made of a document (its pack and statements) is made again from its body. A body is what the client has sent:
//! once it is lost, only the client can send it again. Damage never takes more than its document.

use tracing::{error, warn};

use crate::blob::BlobRef;
use crate::conversation::{self, Turn};
use crate::ctx::Ctx;
use crate::document::{Document, Failure, FailureCode, Indexed, Status};
use crate::error::{Error, Result};
use crate::ids::{ContainerId, DocumentId};
use crate::job::{Envelope, Job};
use crate::memory::Statements;
use crate::pack::Pack;
use crate::ports::Stored;
use crate::tenant::Tenant;
use crate::usecase::find::{read_document, visible_document};
use crate::usecase::memories::CLIENT;
use crate::usecase::update::{check_changeable, process_again};

/// The most documents that one message names.
const REPORTED_AT_ONCE: usize = 500;

/// What of a document's stored bytes cannot be read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Damage {
    /// The bytes that the client has sent.
    pub body: bool,
    /// Text, chunks and vectors that search serves.
    pub pack: bool,
    /// What it states.
    pub statements: bool,
}

/// What became of a damaged document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Healed {
    /// Nothing is damaged, or it is said so already, or it is being processed.
    Nothing,
    /// It is processed again.
    Queued,
    /// It cannot be made again from what is stored, and is `failed`.
    Failed,
    /// Search serves it as before; only its body is lost.
    BodyLost,
}

/// Reads everything that is stored of a document; `None` when all of it can be read. A document that changes meanwhile
/// counts as whole.
///
/// # Errors
/// Those of the ports.
pub async fn inspect(ctx: &Ctx, tenant: &Tenant, document: &Document) -> Result<Option<Damage>> {
    let served = document.indexed.as_ref();
    let mut blobs = vec![document.body.blob.clone()];
    blobs.extend(served.map(|served| served.pack.clone()));
    blobs.extend(served.and_then(Indexed::statements).cloned());
    let mut stored = ctx.blobs.read(tenant, &blobs).await?.into_iter();

    let body = stored.next();
    let awaited = document.body.awaited_until.is_some() && document.status != Status::Done;
    let pack = served.and_then(|_| stored.next());
    let statements = stored.next();
    let damage = Damage {
        body: !awaited && body.is_some_and(|body| body.bytes().is_none()),
        pack: pack.is_some_and(|pack| !is_readable(pack, |bytes| Pack::decode(bytes).is_ok())),
        statements: statements
            .is_some_and(|told| !is_readable(told, |bytes| Statements::decode(bytes).is_ok())),
    };

    if damage == Damage::default() {
        return Ok(None);
    }

    let now = read_document(ctx, tenant, &document.id).await?;
    let is_same =
        now.is_some_and(|now| now.revision == document.revision && now.indexed == document.indexed);

    Ok(is_same.then_some(damage))
}

fn is_readable(stored: Stored, decodes: impl Fn(&[u8]) -> bool) -> bool {
    stored.bytes().is_some_and(|bytes| decodes(&bytes))
}

/// Whether a blob that is missing is lost, rather than just replaced: the document still names it.
pub(crate) async fn is_lost(
    ctx: &Ctx,
    tenant: &Tenant,
    document: &Document,
    blob: &BlobRef,
) -> Result<bool> {
    let now = read_document(ctx, tenant, &document.id).await?;
    Ok(now.is_some_and(|now| {
        now.revision == document.revision
            && (now.uses(blob)
                || now
                    .indexed
                    .iter()
                    .flat_map(Indexed::blobs)
                    .any(|known| known == blob))
    }))
}

/// The turns that are stored of a conversation; none of them when they cannot be read, so that it begins anew with what is
/// sent. `None` when they are just being replaced.
pub(crate) async fn read_turns(
    ctx: &Ctx,
    tenant: &Tenant,
    document: &Document,
) -> Result<Option<Vec<Turn>>> {
    let (id, body) = (&document.id, &document.body.blob);
    let stored = ctx
        .blobs
        .read(tenant, std::slice::from_ref(body))
        .await?
        .pop();
    let turns = match stored.unwrap_or(Stored::Missing) {
        Stored::Intact(bytes) => conversation::from_bytes(&bytes).ok(),
        Stored::Missing if !is_lost(ctx, tenant, document, body).await? => return Ok(None),
        Stored::Missing | Stored::Damaged => None,
    };

    if turns.is_none() {
        warn!(document.id = %id, "the stored turns of {id} cannot be read; it begins anew with what is sent");
    }

    Ok(Some(turns.unwrap_or_default()))
}

/// Asks the keeper to look after documents that could not be read, and after the container's index. Readers find the
/// same again, so a message that is lost costs nothing but time.
pub async fn report_damage(
    ctx: &Ctx,
    tenant: &Tenant,
    container: &ContainerId,
    documents: &[DocumentId],
) {
    let batches = documents
        .chunks(REPORTED_AT_ONCE)
        .map(<[DocumentId]>::to_vec);
    let batches = if documents.is_empty() {
        vec![Vec::new()]
    } else {
        batches.collect()
    };

    for documents in batches {
        let job = Job::MendV1 {
            container: container.clone(),
            documents,
        };
        if let Err(error) = ctx
            .jobs
            .send(&[Envelope {
                org: tenant.org().clone(),
                job,
            }])
            .await
        {
            warn!(container.id = %container, error = &error as &dyn std::error::Error,
                "could not ask for the repair of {container}");
        }
    }
}

/// Looks after a document that could not be read: what was made of it is made again from its body, and where that is
/// lost as well, the document is `failed` with `damaged`. Doing it again changes nothing more, so each is named in the
/// log once.
///
/// # Errors
/// Those of the ports.
pub async fn heal_document(ctx: &Ctx, tenant: &Tenant, id: &DocumentId) -> Result<Healed> {
    let Some(document) = visible_document(ctx, tenant, id).await? else {
        return Ok(Healed::Nothing);
    };

    if document.status != Status::Done || document.superseded_by.is_some() {
        return Ok(Healed::Nothing);
    }

    let Some(damage) = inspect(ctx, tenant, &document).await? else {
        return Ok(Healed::Nothing);
    };

    if !damage.pack && !damage.statements {
        error!(document.id = %id, "the content that was sent of document {id} cannot be read; it is still found");
        return Ok(Healed::BodyLost);
    }

    let is_beyond_mending = damage.body || (damage.statements && is_written(&document));
    if !is_beyond_mending {
        return reprocess(ctx, tenant, &document).await;
    }

    let message =
        "The stored data of this document cannot be read; send its content again.".to_owned();
    let failure = Failure {
        code: FailureCode::Damaged,
        message,
    };

    if !ctx
        .documents
        .fail_damaged(tenant, &document, &failure, ctx.clock.now())
        .await?
    {
        return Ok(Healed::Nothing);
    }

    error!(document.id = %id, "the stored data of document {id} cannot be read; it is failed");
    Ok(Healed::Failed)
}

/// Memories that a client wrote are not in the text, so they cannot be found there again.
fn is_written(document: &Document) -> bool {
    let learned = document
        .indexed
        .as_ref()
        .and_then(|served| served.learned.as_ref());
    learned.is_some_and(|learned| learned.extractor == CLIENT)
}

async fn reprocess(ctx: &Ctx, tenant: &Tenant, document: &Document) -> Result<Healed> {
    match check_changeable(ctx, tenant, document).await {
        Ok(()) => {}
        // A merge is under way; whoever reads the container after it finds the damage again.
        Err(Error::Conflict(_)) => return Ok(Healed::Nothing),
        Err(error) => return Err(error),
    }
    if process_again(ctx, tenant, document).await?.is_none() {
        return Ok(Healed::Nothing);
    }
    let id = &document.id;
    error!(document.id = %id, "what was stored of document {id} cannot be read; it is processed again");
    Ok(Healed::Queued)
}
