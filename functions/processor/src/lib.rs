//! Turns bytes into text, chunks, vectors and index entries, in two steps: processing, with many
//! documents in parallel, and the commit, with one batch at a time for each container. Both steps
//! may safely run twice.

mod analysis;
mod commit;
mod prepare;
mod process;
mod provenance;
mod read;
mod statements;
mod summary;
mod texts;

use std::collections::BTreeMap;
use std::panic::AssertUnwindSafe;
use std::thread::available_parallelism;

use async_trait::async_trait;
use domain::{
    ContainerId, DeliveryOutcome, DocumentId, Error, Job, JobMessage, OrgId, QueueDelivery,
    QueueWorker, Revision, Tenant,
};
use futures::{FutureExt, StreamExt, stream};
use service::Ctx;
use tracing::{error, warn};

pub use prepare::WINDOW_CHARS;
pub use read::ContentReaders;

/// The number of times that a worker may take a lease on a document before it ends as `failed`.
pub const MAX_ATTEMPTS: u32 = 5;

/// The worker behind the queues `process` and `commit.fifo`.
pub struct Processor {
    ctx: Ctx,
    readers: ContentReaders,
    /// The number of messages of a batch that are handled at a time. The time of a parser is limited by
    /// the wall clock, so it must not share its processor with many others.
    parallel: usize,
}

/// The work that one message requests.
enum ProcessingWork {
    Document(DocumentId, Revision),
    Texts(Vec<(DocumentId, Revision)>),
}

/// The key of the commits of one container in a batch.
type CommitGroup = (OrgId, ContainerId);
/// A commit in a batch: the position of its message, its document and its revision.
type CommitMember = (usize, DocumentId, Revision);

impl Processor {
    /// Returns a worker that reads content with `readers`.
    pub fn new(ctx: Ctx, readers: ContentReaders) -> Self {
        let parallel = match available_parallelism() {
            Ok(cores) => cores.get().div_ceil(2),
            Err(_) => 1,
        };
        Self {
            ctx,
            readers,
            parallel,
        }
    }

    /// Does the work of a message. A panic must not affect other messages. Attempts are counted by the
    /// document or by the queue, so a document ends as `failed`.
    async fn process(&self, tenant: &Tenant, work: &ProcessingWork) -> domain::Result<()> {
        let (ctx, readers) = (&self.ctx, &self.readers);
        let work = async {
            match work {
                ProcessingWork::Document(document, revision) => {
                    process::process_revision(ctx, readers, tenant, document, revision).await
                }
                ProcessingWork::Texts(texts) => {
                    texts::process_texts(ctx, readers, tenant, texts).await
                }
            }
        };
        match AssertUnwindSafe(work).catch_unwind().await {
            Ok(result) => result,
            Err(_) => Err(Error::internal("a panic while processing a document")),
        }
    }
}

#[async_trait]
impl QueueWorker for Processor {
    async fn handle_batch(&self, batch: &[QueueDelivery]) -> Vec<DeliveryOutcome> {
        let mut outcomes = vec![DeliveryOutcome::Retry; batch.len()];
        let (mut processing, mut groups) = (
            Vec::new(),
            BTreeMap::<CommitGroup, (Tenant, Vec<CommitMember>)>::new(),
        );

        for (i, delivery) in batch.iter().enumerate() {
            let Some(envelope) = JobMessage::parse(&delivery.body) else {
                // The message is retried until it reaches the dead-letter queue, where a person can
                // look at it.
                error!(
                    queue.message_bytes = delivery.body.len(),
                    "received a message that cannot be parsed"
                );
                continue;
            };

            let tenant = envelope.tenant();
            let name = envelope.job.name();
            let span = || spans::message_span(name, [delivery.trace_parent.as_deref()]);
            match envelope.job {
                Job::ProcessV1 {
                    document, revision, ..
                } => {
                    let work = ProcessingWork::Document(document, revision);
                    processing.push((i, tenant, work, span()));
                }
                Job::ProcessTextsV1 { texts } => {
                    processing.push((i, tenant, ProcessingWork::Texts(texts), span()));
                }
                Job::CommitV1 {
                    document,
                    revision,
                    container,
                } => {
                    let group = groups
                        .entry((envelope.org, container))
                        .or_insert((tenant, Vec::new()));
                    group.1.push((i, document, revision));
                }
                Job::PurgeV1 { .. }
                | Job::CompactV1 { .. }
                | Job::EmbedV1 { .. }
                | Job::RepairV1 { .. }
                | Job::TaskV1 { .. }
                | Job::SyncV1 { .. } => {
                    warn!("a message came to the wrong queue");
                }
            }
        }

        let processed = processing
            .into_iter()
            .map(|(i, tenant, work, span)| async move {
                let result = spans::trace(span, self.process(&tenant, &work)).await;
                (i, outcome_of(result, "process documents"))
            });
        let mut processed = stream::iter(processed).buffer_unordered(self.parallel);
        while let Some((i, outcome)) = processed.next().await {
            outcomes[i] = outcome;
        }

        for ((_, container), (tenant, members)) in groups {
            let documents: Vec<_> = members
                .iter()
                .map(|(_, document, revision)| (document, revision))
                .collect();
            let trace_parents = members
                .iter()
                .map(|(i, ..)| batch[*i].trace_parent.as_deref());
            let span = spans::message_span("commit documents", trace_parents);
            let work = commit::commit_documents(&self.ctx, &tenant, &container, &documents);
            let outcome = outcome_of(spans::trace(span, work).await, "commit to a container");
            for (i, ..) in &members {
                outcomes[*i] = outcome;
            }
        }

        outcomes
    }
}

fn outcome_of(result: domain::Result<()>, operation: &str) -> DeliveryOutcome {
    match result {
        Ok(()) => DeliveryOutcome::Done,
        Err(error) => {
            warn!(
                error = &error as &dyn std::error::Error,
                "could not {operation}; it is tried again"
            );
            DeliveryOutcome::Retry
        }
    }
}
