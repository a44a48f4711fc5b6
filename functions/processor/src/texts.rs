//! Processes short texts together, so that they share reads and writes, and commits them.

use std::collections::{BTreeMap, BTreeSet};
use std::panic::AssertUnwindSafe;
use std::time::{Duration, Instant};

use domain::ports::BlobContent;
use domain::{
    BlobRef, ContainerId, ContainerTag, Document, DocumentId, JobMessage, Result, Tenant,
};
use futures::FutureExt;
use futures::future::join_all;
use service::{Ctx, set_present_tags};

use crate::analysis::{
    ProcessingContext, ServedResults, TextAnalysis, analyze_text, commit_message, record_results,
    store_analyses,
};
use crate::batch::DocumentRevision;
use crate::commit::{DirectCommit, is_extracted, try_commit_documents};
use crate::prepare;
use crate::process::{is_new_short_text, process_revision};
use crate::read::ContentReaders;
use crate::turns::CommitTurns;

/// The time after which no further text is read. A text in a format that needs a parser may take as
/// long as the parser may, and the function ends after 120 seconds.
const READING_TIME: Duration = Duration::from_secs(20);
const _: () = assert!(READING_TIME.as_secs() + sandbox::WALL_TIME.as_secs() < 120);

/// The most attempts to commit several texts without the queue of commits.
const GROUP_COMMIT_ATTEMPTS: usize = 5;

/// Processes the texts of one message. Those that a model of the operator reads, or for which there is
/// no time, get messages of their own.
///
/// # Errors
/// Those of the ports, after which the message is delivered again.
pub(crate) async fn process_message(
    ctx: &Ctx,
    readers: &ContentReaders,
    turns: &CommitTurns,
    tenant: &Tenant,
    texts: &[DocumentRevision],
) -> Result<()> {
    if readers.uses_models() {
        return send_alone(ctx, tenant, texts).await;
    }

    let begun = Instant::now();
    let others = process_together(ctx, readers, turns, tenant, texts).await?;
    let mut left = Vec::new();
    for text in others {
        let is_done =
            begun.elapsed() < READING_TIME && process_alone(ctx, readers, tenant, &text).await;
        if !is_done {
            left.push(text);
        }
    }
    send_alone(ctx, tenant, &left).await
}

/// Processes and commits the new texts among `texts` together. Returns those that have to be processed
/// alone: texts that replace others, that were begun before or have waited for long, whose commit the
/// queue has to do, or that cannot be read here.
///
/// # Errors
/// Those of the ports.
pub(crate) async fn process_together(
    ctx: &Ctx,
    readers: &ContentReaders,
    turns: &CommitTurns,
    tenant: &Tenant,
    texts: &[DocumentRevision],
) -> Result<Vec<DocumentRevision>> {
    let begun = Instant::now();
    let now = ctx.clock.now();
    let is_new = |document: &Document| {
        !is_extracted(document) && is_new_short_text(document, now) && document.can_share_commit()
    };
    let unfinished = read_unfinished(ctx, tenant, texts).await?;
    let (new, mut others): (Vec<Document>, Vec<Document>) =
        unfinished.into_iter().partition(is_new);
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
        if begun.elapsed() > READING_TIME {
            others.push(document);
            continue;
        }
        let reading = read_text(readers, &document, body, &contexts[&document.tag]);
        // A panic on one document must not affect the others.
        match AssertUnwindSafe(reading).catch_unwind().await {
            Ok(Some(analysis)) => analyses.push((document, analysis)),
            Ok(None) | Err(_) => others.push(document),
        }
    }

    commit_texts(ctx, turns, tenant, analyses).await?;
    let others = others.into_iter();
    Ok(others
        .map(|document| (document.id, document.revision))
        .collect())
}

/// Stores the results of texts, and commits the texts of each container together. Those that cannot be
/// committed now are sent to the queue of commits. If a commit fails, so does that of the queue, which is
/// then repeated.
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
            match is_committed(ctx, turns, tenant, &container, &documents).await {
                true => Vec::new(),
                false => documents,
            }
        });
    let others = join_all(commits).await.concat();
    commit_later(ctx, tenant, &others).await
}

/// Tries to commit texts of a container. Several texts are a batch already, so the queue of commits
/// would add nothing, and other commits may be first a few times. A single text is left to the queue
/// while the container is busy: there it is committed together with others.
async fn is_committed(
    ctx: &Ctx,
    turns: &CommitTurns,
    tenant: &Tenant,
    container: &ContainerId,
    texts: &[Document],
) -> bool {
    let attempts = match texts.len() {
        1 => 1,
        _ => GROUP_COMMIT_ATTEMPTS,
    };
    let _turn = turns.wait(tenant.org(), container).await;
    if texts.len() == 1 && turns.is_busy(tenant.org(), container) {
        return false;
    }

    let commit = try_commit_documents(ctx, tenant, container, texts, attempts);
    let committed = spans::trace(spans::step_span("commit documents"), commit).await;
    if matches!(committed, Ok(DirectCommit::Conflict)) {
        turns.record_conflict(tenant.org(), container);
    }
    matches!(committed, Ok(DirectCommit::Done))
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

/// Processes one text. Returns `false` if that fails.
async fn process_alone(
    ctx: &Ctx,
    readers: &ContentReaders,
    tenant: &Tenant,
    (id, revision): &DocumentRevision,
) -> bool {
    let work = process_revision(ctx, readers, tenant, id, revision);
    matches!(AssertUnwindSafe(work).catch_unwind().await, Ok(Ok(())))
}

/// Sends a message for each text.
async fn send_alone(ctx: &Ctx, tenant: &Tenant, texts: &[DocumentRevision]) -> Result<()> {
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

/// Reads and analyzes a text. Returns `None` if it cannot be read.
async fn read_text(
    readers: &ContentReaders,
    document: &Document,
    body: BlobContent,
    context: &ProcessingContext,
) -> Option<TextAnalysis> {
    let BlobContent::Intact(body) = body else {
        return None;
    };
    let reading = readers.read_body(document, &body);
    let text = spans::trace(spans::step_span("read content"), reading)
        .await
        .ok()?;
    let chunks = prepare::cut_chunks(&text, &context.settings);
    let served = ServedResults::default();
    Some(analyze_text(readers, document, text, chunks, context, &served).await)
}
