//! Turns bytes into text, chunks, vectors and index entries, in two steps: processing, with many
//! documents in parallel, and the commit, with one batch at a time for each container. Short texts take
//! both steps at once. Both steps may safely run twice.

mod analysis;
mod batch;
mod commit;
mod leases;
mod prepare;
mod process;
mod provenance;
mod read;
mod statements;
mod summary;
mod texts;
mod turns;

use std::panic::AssertUnwindSafe;
use std::thread::available_parallelism;

use async_trait::async_trait;
use domain::{DeliveryOutcome, Error, QueueDelivery, QueueWorker, Tenant};
use futures::{FutureExt, StreamExt, stream};
use service::Ctx;
use tracing::{Instrument, Span, warn};

use crate::batch::{BatchPart, DocumentRevision, Work, divide_batch};
use crate::leases::HeldLeases;
use crate::turns::CommitTurns;

pub use prepare::WINDOW_CHARS;
pub use read::ContentReaders;

/// The number of times that a worker may take a lease on a document before it ends as `failed`. With the pauses
/// of [`domain::job::retry_pause`] between every five, a failure of something else may last for three hours.
pub const MAX_ATTEMPTS: u32 = 20;

/// The worker behind the queues `process` and `commit.fifo`.
pub struct Processor {
    ctx: Ctx,
    readers: ContentReaders,
    turns: CommitTurns,
    leases: HeldLeases,
    /// The number of parts of a batch that are handled at a time. The time of a parser is limited by the
    /// wall clock, so it must not share its processor with many others.
    parallel: usize,
}

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
            turns: CommitTurns::default(),
            leases: HeldLeases::default(),
            parallel,
        }
    }

    /// Returns the documents that are being processed to the queue, because a stop is about to abort their work.
    /// The attempt does not count, and another process may begin at once. Work that ends nevertheless does no harm.
    pub async fn give_back_documents(&self) {
        let now = self.ctx.clock.now();
        for (tenant, document) in self.leases.list() {
            let given_back = self
                .ctx
                .documents
                .requeue_until(&tenant, &document, now)
                .await;
            if let Err(error) = given_back {
                warn!(
                    error = &error as &dyn std::error::Error,
                    "a document that is not finished waits for its lease to end"
                );
            }
        }
    }

    /// Does the work of a part. Returns the outcomes of its messages.
    async fn handle_part(&self, part: &BatchPart) -> Vec<DeliveryOutcome> {
        let (ctx, readers, leases) = (&self.ctx, &self.readers, &self.leases);
        let tenant = &part.tenant;
        match &part.work {
            Work::Document(document) => {
                vec![process::process_alone(ctx, readers, leases, tenant, document).await]
            }
            Work::Texts(texts) => match self.process_texts(tenant, texts).await {
                Ok(failed) => texts
                    .iter()
                    .map(|text| match failed.contains(text) {
                        true => DeliveryOutcome::Retry,
                        false => DeliveryOutcome::Done,
                    })
                    .collect(),
                Err(error) => vec![outcome_of(Err(error), "process texts"); texts.len()],
            },
            Work::TextsOfMessage(texts) => {
                let work = async {
                    let failed = self.process_texts(tenant, texts).await?;
                    texts::send_alone(ctx, tenant, &failed).await
                };
                vec![outcome_of(work.await, "process texts")]
            }
            Work::Commit(container, documents) => {
                let _turn = self.turns.wait(tenant.org(), container).await;
                let work = commit::commit_documents(ctx, tenant, container, documents);
                let outcome = outcome_of(catch_panic(work).await, "commit to a container");
                vec![outcome; documents.len()]
            }
        }
    }

    /// Processes short texts. Returns those that failed for now.
    async fn process_texts(
        &self,
        tenant: &Tenant,
        texts: &[DocumentRevision],
    ) -> domain::Result<Vec<DocumentRevision>> {
        let work = texts::process_texts(
            &self.ctx,
            &self.readers,
            &self.turns,
            &self.leases,
            tenant,
            texts,
        );
        catch_panic(work).await
    }
}

#[async_trait]
impl QueueWorker for Processor {
    async fn handle_batch(&self, batch: &[QueueDelivery]) -> Vec<DeliveryOutcome> {
        let parts = divide_batch(batch, self.readers.uses_models());
        let work = parts.into_iter().map(|part| async move {
            let messages = part.messages.iter();
            let trace_parents = messages.map(|i| batch[*i].trace_parent.as_deref());
            let span = spans::message_span(part.work.name(), trace_parents);
            let outcomes = self.handle_part(&part).instrument(span).await;
            (part.messages, outcomes)
        });

        let mut outcomes = vec![DeliveryOutcome::Retry; batch.len()];
        let mut work = stream::iter(work).buffer_unordered(self.parallel);
        while let Some((messages, outcomes_of_part)) = work.next().await {
            for (i, outcome) in messages.into_iter().zip(outcomes_of_part) {
                outcomes[i] = outcome;
            }
        }
        outcomes
    }
}

/// Turns a panic into an error, because it must not affect other messages. Attempts are counted by the
/// document or by the queue, so a document ends as `failed`.
async fn catch_panic<T>(work: impl Future<Output = domain::Result<T>>) -> domain::Result<T> {
    match AssertUnwindSafe(work).catch_unwind().await {
        Ok(result) => result,
        Err(_) => Err(Error::internal("a panic while processing a document")),
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
            spans::record_failure(&Span::current());
            DeliveryOutcome::Retry
        }
    }
}
