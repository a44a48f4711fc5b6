//! Processes short texts together, so that they share reads and writes, and commits them.

use std::collections::{BTreeMap, BTreeSet};
use std::panic::AssertUnwindSafe;
use std::time::{Duration, Instant};

use bytes::Bytes;
use domain::ports::BlobContent;
use domain::{
    BlobRef, ContainerId, ContainerTag, DeliveryOutcome, Document, DocumentId, JobMessage, Result,
    Tenant, Timestamp,
};
use futures::FutureExt;
use futures::future::join_all;
use service::{Ctx, set_present_tags};
use tracing::warn;

use crate::analysis::{
    ProcessingContext, ServedResults, TextAnalysis, analyze_text, commit_message, record_results,
    store_analyses,
};
use crate::batch::DocumentRevision;
use crate::catch_panic;
use crate::commit::{DirectCommit, is_extracted, try_commit_documents};
use crate::leases::HeldLeases;
use crate::prepare;
use crate::process::{fail_document, is_new_short_text, process_alone};
use crate::read::{ContentReaders, ReadError};
use crate::turns::CommitTurns;

/// The time after which no further text is read. A text in a format that needs a parser may take as
/// long as the parser may, and the function ends after 120 seconds.
const READING_TIME: Duration = Duration::from_secs(20);
const _: () = assert!(READING_TIME.as_secs() + sandbox::WALL_TIME.as_secs() < 120);

/// The most attempts to commit several texts without the queue of commits.
const GROUP_COMMIT_ATTEMPTS: usize = 5;

/// Texts that were not processed together.
#[derive(Default)]
struct LeftTexts {
    /// Texts that are to be processed alone.
    others: Vec<DocumentRevision>,
    /// Texts that cannot be read for now.
    unavailable: Vec<DocumentRevision>,
}

/// Processes texts: new ones together, and the others one after another, so that none fails because of
/// another. Those that a model of the operator reads, or for which there is no time, get messages of
/// their own. Returns those that failed for now, which are to be delivered again.
///
/// # Errors
/// Those of the queue, after which all texts are to be delivered again.
pub(crate) async fn process_texts(
    ctx: &Ctx,
    readers: &ContentReaders,
    turns: &CommitTurns,
    leases: &HeldLeases,
    tenant: &Tenant,
    texts: &[DocumentRevision],
) -> Result<Vec<DocumentRevision>> {
    if readers.uses_models() {
        send_alone(ctx, tenant, texts).await?;
        return Ok(Vec::new());
    }

    let begun = Instant::now();
    // All stages are one large future, which the stack of a thread may have no room for.
    let work = Box::pin(process_together(ctx, readers, turns, tenant, texts, begun));
    let left = match catch_panic(work).await {
        Ok(left) => left,
        Err(error) => {
            warn!(
                error = &error as &dyn std::error::Error,
                "could not process texts together; they are processed one by one"
            );
            LeftTexts {
                others: texts.to_vec(),
                ..LeftTexts::default()
            }
        }
    };

    let (mut failed, mut late) = (left.unavailable, Vec::new());
    for text in left.others {
        if begun.elapsed() > READING_TIME {
            late.push(text);
            continue;
        }
        match process_alone(ctx, readers, leases, tenant, &text).await {
            DeliveryOutcome::Done => {}
            DeliveryOutcome::Retry => failed.push(text),
        }
    }
    send_alone(ctx, tenant, &late).await?;
    Ok(failed)
}

/// Processes and commits those of `texts` together that can be committed directly.
///
/// # Errors
/// Those of the ports.
async fn process_together(
    ctx: &Ctx,
    readers: &ContentReaders,
    turns: &CommitTurns,
    tenant: &Tenant,
    texts: &[DocumentRevision],
    begun: Instant,
) -> Result<LeftTexts> {
    let now = ctx.clock.now();
    let unfinished = read_unfinished(ctx, tenant, texts).await?;
    let (new, others): (Vec<Document>, Vec<Document>) = unfinished
        .into_iter()
        .partition(|document| can_commit_directly(document, now));
    let mut left = LeftTexts::default();
    left.others.extend(others.iter().map(revision_of));
    if new.is_empty() {
        return Ok(left);
    }

    // The purge removes the documents of deleted containers.
    let new = set_present_tags(ctx, tenant, new).await?;
    let contexts = read_contexts(ctx, tenant, &new).await?;
    let blobs: Vec<BlobRef> = new
        .iter()
        .map(|document| document.body.blob.clone())
        .collect();
    let bodies = ctx.blobs.read(tenant, &blobs).await?;

    let mut analyses = Vec::with_capacity(new.len());
    for (document, body) in new.into_iter().zip(bodies) {
        let body = match body {
            BlobContent::Intact(body) if begun.elapsed() <= READING_TIME => body,
            _ => {
                left.others.push(revision_of(&document));
                continue;
            }
        };
        let reading = read_text(readers, &document, &body, &contexts[&document.tag]);
        // A panic on one document must not affect the others.
        match AssertUnwindSafe(reading).catch_unwind().await {
            Ok(Ok(analysis)) => analyses.push((document, analysis)),
            Ok(Err(ReadError::Failed(failure))) => {
                fail_document(ctx, tenant, &document, failure.code, failure.message).await?;
            }
            Ok(Err(ReadError::Unavailable(error))) => {
                warn!(
                    error = &error as &dyn std::error::Error,
                    "could not read a text; it is tried again"
                );
                left.unavailable.push(revision_of(&document));
            }
            Err(_) => left.others.push(revision_of(&document)),
        }
    }

    commit_texts(ctx, turns, tenant, analyses).await?;
    Ok(left)
}

/// Checks whether a text may be committed without its results being recorded before: nothing can be
/// lost, because it is read in milliseconds and gives the same results each time.
fn can_commit_directly(document: &Document, now: Timestamp) -> bool {
    !is_extracted(document) && is_new_short_text(document, now) && document.can_share_commit()
}

fn revision_of(document: &Document) -> DocumentRevision {
    (document.id.clone(), document.revision.clone())
}

/// Stores the results of texts, and commits the texts of each container together. Those that cannot be
/// committed now are sent to the queue of commits.
///
/// # Errors
/// Those of the ports while results are stored or recorded.
async fn commit_texts(
    ctx: &Ctx,
    turns: &CommitTurns,
    tenant: &Tenant,
    analyses: Vec<(Document, TextAnalysis)>,
) -> Result<()> {
    let mut by_container: BTreeMap<ContainerId, Vec<Document>> = BTreeMap::new();
    for document in store_analyses(ctx, tenant, analyses).await? {
        let container = document.container.clone();
        by_container.entry(container).or_default().push(document);
    }

    let commits = by_container
        .into_iter()
        .map(|(container, documents)| async move {
            match try_commit_texts(ctx, turns, tenant, &container, &documents).await {
                Ok(DirectCommit::Done) => Vec::new(),
                Ok(DirectCommit::Conflict | DirectCommit::Stale) => documents,
                Err(error) => {
                    warn!(
                        error = &error as &dyn std::error::Error,
                        "could not commit texts; the queue of commits tries again"
                    );
                    documents
                }
            }
        });
    let others = join_all(commits).await.concat();
    commit_later(ctx, tenant, &others).await
}

/// Tries to commit texts of a container. Several texts are a batch already, so the queue of commits
/// would add nothing, and other commits may be first a few times. A single text is left to the queue
/// while the container is busy: there it is committed together with others.
///
/// # Errors
/// Temporary errors, in which case nothing was committed.
async fn try_commit_texts(
    ctx: &Ctx,
    turns: &CommitTurns,
    tenant: &Tenant,
    container: &ContainerId,
    texts: &[Document],
) -> Result<DirectCommit> {
    let attempts = match texts.len() {
        1 => 1,
        _ => GROUP_COMMIT_ATTEMPTS,
    };
    let _turn = turns.wait(tenant.org(), container).await;
    if texts.len() == 1 && turns.is_busy(tenant.org(), container) {
        return Ok(DirectCommit::Conflict);
    }

    let commit = try_commit_documents(ctx, tenant, container, texts, attempts);
    let committed = spans::trace(spans::step_span("commit documents"), commit).await?;
    if committed == DirectCommit::Conflict {
        turns.record_conflict(tenant.org(), container);
    }
    Ok(committed)
}

/// Records the results of texts, and requests their commits.
///
/// # Errors
/// The first error of a text. The commits of the others are requested.
async fn commit_later(ctx: &Ctx, tenant: &Tenant, documents: &[Document]) -> Result<()> {
    let records = documents.iter().map(|document| async move {
        let is_recorded = record_results(ctx, tenant, document).await?;
        Ok(is_recorded.then(|| commit_message(tenant, document)))
    });

    let (mut commits, mut first_error) = (Vec::with_capacity(documents.len()), None);
    for recorded in join_all(records).await {
        match recorded {
            Ok(message) => commits.extend(message),
            Err(error) => first_error = first_error.or(Some(error)),
        }
    }
    ctx.jobs.send(&commits).await?;
    first_error.map_or(Ok(()), Err)
}

/// Sends a message for each text.
pub(crate) async fn send_alone(
    ctx: &Ctx,
    tenant: &Tenant,
    texts: &[DocumentRevision],
) -> Result<()> {
    let messages: Vec<JobMessage> = texts
        .iter()
        .map(|(id, revision)| JobMessage::process_text(tenant.org(), id, revision))
        .collect();
    Ok(ctx.jobs.send(&messages).await?)
}

/// Returns the documents whose revisions are still wanted and not done. A text that two messages are
/// about is returned once.
async fn read_unfinished(
    ctx: &Ctx,
    tenant: &Tenant,
    texts: &[DocumentRevision],
) -> Result<Vec<Document>> {
    let texts: BTreeSet<&DocumentRevision> = texts.iter().collect();
    let ids: Vec<DocumentId> = texts.iter().map(|(id, _)| id.clone()).collect();
    let documents = ctx.documents.get(tenant, &ids).await?;
    let mut unfinished = Vec::with_capacity(texts.len());
    for (document, (_, revision)) in documents.into_iter().zip(texts) {
        unfinished.extend(document.filter(|document| document.is_unfinished_revision(revision)));
    }
    Ok(unfinished)
}

/// Returns the contexts of documents by their first tags.
async fn read_contexts(
    ctx: &Ctx,
    tenant: &Tenant,
    documents: &[Document],
) -> Result<BTreeMap<ContainerTag, ProcessingContext>> {
    let settings = ctx.settings.get(tenant).await?;
    let mut contexts = BTreeMap::new();
    for document in documents {
        if !contexts.contains_key(&document.tag) {
            let context = ProcessingContext {
                settings: settings.clone(),
                container: ctx.containers.get(tenant, &document.tag).await?,
            };
            contexts.insert(document.tag.clone(), context);
        }
    }
    Ok(contexts)
}

/// Reads and analyzes a text.
async fn read_text(
    readers: &ContentReaders,
    document: &Document,
    body: &Bytes,
    context: &ProcessingContext,
) -> std::result::Result<TextAnalysis, ReadError> {
    let reading = readers.read_body(document, body);
    let text = spans::trace(spans::step_span("read content"), reading).await?;
    let chunks = prepare::cut_chunks(&text, &context.settings);
    let served = ServedResults::default();
    Ok(analyze_text(readers, document, text, chunks, context, &served).await)
}
