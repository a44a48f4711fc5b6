//! Processes the short texts of one message together, so that they share reads and writes.

use std::collections::BTreeMap;
use std::panic::AssertUnwindSafe;
use std::time::{Duration, Instant};

use domain::ports::BlobContent;
use domain::{
    BlobRef, ContainerId, ContainerTag, Document, DocumentId, JobMessage, Result, Revision, Tenant,
};
use futures::FutureExt;
use futures::future::join_all;
use service::{Ctx, set_present_tags};

use crate::analysis::{
    ProcessingContext, ServedResults, TextAnalysis, analyze_text, commit_message, record_results,
    store_analyses,
};
use crate::commit::{is_extracted, try_commit_documents};
use crate::prepare;
use crate::process::{is_new_short_text, process_revision};
use crate::read::ContentReaders;

/// The time after which no further text is read. A text in a format that needs a parser may take as
/// long as the parser may, and the function ends after 120 seconds.
const READING_TIME: Duration = Duration::from_secs(20);
const _: () = assert!(READING_TIME.as_secs() + sandbox::WALL_TIME.as_secs() < 120);

/// Processes the texts that need no lease together, and the others one after another: texts that
/// replace others, that were begun before or have waited for long, and those that cannot be read here.
/// Those that a model of the operator reads, or for which there is no time, get messages of their own.
///
/// # Errors
/// Those of the ports, after which the message is delivered again.
pub(crate) async fn process_texts(
    ctx: &Ctx,
    readers: &ContentReaders,
    tenant: &Tenant,
    texts: &[(DocumentId, Revision)],
) -> Result<()> {
    let begun = Instant::now();
    let unfinished = read_unfinished(ctx, tenant, texts).await?;
    if readers.uses_models() {
        return send_alone(ctx, tenant, &unfinished).await;
    }

    let now = ctx.clock.now();
    let is_new = |document: &Document| !is_extracted(document) && is_new_short_text(document, now);
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

    commit_texts(ctx, tenant, analyses).await?;
    process_others(ctx, readers, tenant, others, begun).await
}

/// Stores the results of texts, and commits the texts of each container together: they are a batch
/// already, so the queue of commits would add nothing. Texts that cannot be committed now are sent to
/// it. If a commit fails, so does that of the queue, which is then repeated.
///
/// # Errors
/// Those of the ports while results are stored or recorded.
async fn commit_texts(
    ctx: &Ctx,
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
            match try_commit_documents(ctx, tenant, &container, &documents).await {
                Ok(true) => Vec::new(),
                Ok(false) | Err(_) => documents,
            }
        });
    let others = join_all(commits).await.concat();
    commit_later(ctx, tenant, &others).await
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

/// Processes documents one after another. Those that fail, or for which there is no time, get messages
/// of their own.
async fn process_others(
    ctx: &Ctx,
    readers: &ContentReaders,
    tenant: &Tenant,
    others: Vec<Document>,
    begun: Instant,
) -> Result<()> {
    let mut left = Vec::new();
    for document in others {
        let is_done =
            begun.elapsed() < READING_TIME && process_alone(ctx, readers, tenant, &document).await;
        if !is_done {
            left.push(document);
        }
    }
    send_alone(ctx, tenant, &left).await
}

/// Processes one document. Returns `false` if that fails.
async fn process_alone(
    ctx: &Ctx,
    readers: &ContentReaders,
    tenant: &Tenant,
    document: &Document,
) -> bool {
    let work = process_revision(ctx, readers, tenant, &document.id, &document.revision);
    matches!(AssertUnwindSafe(work).catch_unwind().await, Ok(Ok(())))
}

/// Sends a message for each document.
async fn send_alone(ctx: &Ctx, tenant: &Tenant, documents: &[Document]) -> Result<()> {
    let messages: Vec<JobMessage> = documents
        .iter()
        .map(|document| JobMessage::process_document(tenant.org(), document))
        .collect();
    Ok(ctx.jobs.send(&messages).await?)
}

/// Returns the documents whose revisions are still wanted and not done.
async fn read_unfinished(
    ctx: &Ctx,
    tenant: &Tenant,
    texts: &[(DocumentId, Revision)],
) -> Result<Vec<Document>> {
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
