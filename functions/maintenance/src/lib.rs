//! Maintenance: purges, compactions, repairs, embedding, tasks, uploads and dead letters; and every
//! minute a sweep, a rollup of the request log and a search for orphaned objects.

mod embed;
mod orphans;
mod rollup;
mod sweep;

use std::sync::Arc;

use async_trait::async_trait;
use container_index::{ChosenModel, CompactionOutcome, CompactionSettings};
use domain::QueueWorker;
use domain::ports::{PortResult, TextEmbedder, UploadArrival};
use domain::{
    ContainerId, ContainerOwner, DeliveryOutcome, DocumentId, Error, Job, JobMessage,
    QueueDelivery, Result, Revision, Tenant,
};
use service::Ctx;
use service::{accept_file, run_task};
use tracing::{error, warn};

pub use orphans::OrphanWalk;
pub use rollup::roll_up_hours;
pub use sweep::{SweepCounts, sweep_overdue_work};

/// The seconds after which a message about a container is delivered again whose compaction is under way.
const BUSY_SECONDS: u32 = 30;

/// The worker behind the queue `keeper` and the dead-letter queues.
pub struct MaintenanceWorker {
    ctx: Ctx,
    compaction: CompactionSettings,
    chosen_model: Option<ChosenModel>,
}

impl MaintenanceWorker {
    /// Returns a worker on these ports that compacts containers with these settings.
    pub fn new(ctx: Ctx, compaction: CompactionSettings) -> Self {
        Self {
            ctx,
            compaction,
            chosen_model: None,
        }
    }

    /// Sets the model that embeds documents. Without it there is nothing to embed.
    #[must_use]
    pub fn with_embedder(self, embedder: Option<Arc<dyn TextEmbedder>>) -> Self {
        Self {
            chosen_model: embedder.map(ChosenModel::new),
            ..self
        }
    }

    async fn handle_delivery(&self, delivery: &QueueDelivery) -> DeliveryOutcome {
        let span = |name| spans::message_span(name, [delivery.trace_parent.as_deref()]);
        let result = if let Some(envelope) = JobMessage::parse(&delivery.body) {
            let job = self.run_job(&envelope, delivery.is_dead_letter);
            spans::trace(span(envelope.job.name()), job).await
        } else if let Some(arrivals) = self.ctx.blobs.parse_arrivals(&delivery.body) {
            spans::trace(span("record uploads"), self.record_arrivals(&arrivals)).await
        } else {
            // An unreadable dead letter stays in its queue, for a person to look at.
            error!(
                queue.message_bytes = delivery.body.len(),
                queue.dead = delivery.is_dead_letter,
                "received a message that cannot be parsed"
            );
            return DeliveryOutcome::Retry;
        };

        let Err(error) = result else {
            return DeliveryOutcome::Done;
        };

        warn!(
            error = &error as &dyn std::error::Error,
            "could not do a maintenance job; it is tried again"
        );
        DeliveryOutcome::Retry
    }

    async fn run_job(&self, envelope: &JobMessage, is_dead_letter: bool) -> Result<()> {
        let tenant = envelope.tenant();
        match &envelope.job {
            // The sweep sends the message of an unfinished document again, until its attempts are used up.
            Job::ProcessV1 { document, .. } | Job::CommitV1 { document, .. } if is_dead_letter => {
                warn!(document.id = %document, "processing of {document} keeps failing; the sweep tries it again");
            }
            Job::ProcessTextsV1 { texts } if is_dead_letter => {
                self.send_texts_alone(&tenant, texts).await?;
            }
            Job::PurgeV1 { container, purge } => {
                run_purge(&self.ctx, &tenant, container, purge).await?
            }
            Job::CompactV1 { container, through } => {
                let outcome = self.compact_container(&tenant, container, *through).await?;
                self.repeat_if_busy(envelope, outcome).await?;
            }
            Job::RepairV1 {
                container,
                documents,
            } => {
                if !is_deleted(&self.ctx, &tenant, container).await? {
                    let (ctx, settings) = (&self.ctx, self.compaction);
                    let repair =
                        container_index::repair_index(ctx, &tenant, container, documents, settings);
                    match repair.await? {
                        // The sweep asks again for an erasure, and a reader for the repair of a segment.
                        CompactionOutcome::Busy if documents.is_empty() => {
                            let due_at = ctx.clock.now().plus_seconds(BUSY_SECONDS.into());
                            let index = &ctx.index;
                            index.postpone_erasure(&tenant, container, due_at).await?;
                        }
                        outcome => self.repeat_if_busy(envelope, outcome).await?,
                    }
                }
            }
            Job::EmbedV1 {
                container,
                documents,
                after,
            } => {
                // A search asks again for what a dead letter has left.
                if let Some(model) = &self.chosen_model
                    && !is_dead_letter
                    && !is_deleted(&self.ctx, &tenant, container).await?
                {
                    let after = after.as_deref();
                    embed::embed_documents(&self.ctx, model, &tenant, container, documents, after)
                        .await?;
                }
            }
            // The sweep picks up a task whose message is a dead letter.
            Job::TaskV1 { task, step } => run_task(&self.ctx, &tenant, task, *step).await?,
            Job::ProcessV1 { .. }
            | Job::ProcessTextsV1 { .. }
            | Job::CommitV1 { .. }
            | Job::SyncV1 { .. } => {
                return Err(Error::internal("a message came to the wrong queue"));
            }
        }

        Ok(())
    }

    /// Compacts a container, unless it was deleted. The contents of a deleted container are being
    /// purged, and a new segment would be in the way.
    async fn compact_container(
        &self,
        tenant: &Tenant,
        container: &ContainerId,
        through: Option<u64>,
    ) -> PortResult<CompactionOutcome> {
        if is_deleted(&self.ctx, tenant, container).await? {
            return Ok(CompactionOutcome::Done);
        }
        container_index::compact_index(&self.ctx, tenant, container, through, self.compaction).await
    }

    /// Sends a message again, for later, if another compaction of its container is under way.
    async fn repeat_if_busy(
        &self,
        message: &JobMessage,
        outcome: CompactionOutcome,
    ) -> PortResult<()> {
        match outcome {
            CompactionOutcome::Busy => self.ctx.jobs.send_delayed(message, BUSY_SECONDS).await,
            CompactionOutcome::Done => Ok(()),
        }
    }

    /// Sends a message for each of the texts whose common message was given up. One of them may have
    /// failed, and the others are fine.
    async fn send_texts_alone(
        &self,
        tenant: &Tenant,
        texts: &[(DocumentId, Revision)],
    ) -> Result<()> {
        let messages: Vec<JobMessage> = texts
            .iter()
            .map(|(document, revision)| JobMessage::process_text(tenant.org(), document, revision))
            .collect();
        Ok(self.ctx.jobs.send(&messages).await?)
    }

    async fn record_arrivals(&self, arrivals: &[UploadArrival]) -> Result<()> {
        for arrival in arrivals {
            accept_file(&self.ctx, arrival).await?;
        }
        Ok(())
    }
}

#[async_trait]
impl QueueWorker for MaintenanceWorker {
    async fn handle_batch(&self, batch: &[QueueDelivery]) -> Vec<DeliveryOutcome> {
        let mut outcomes = Vec::with_capacity(batch.len());
        for delivery in batch {
            outcomes.push(self.handle_delivery(delivery).await);
        }
        outcomes
    }
}

async fn is_deleted(ctx: &Ctx, tenant: &Tenant, container: &ContainerId) -> PortResult<bool> {
    let owner = ctx.containers.get_owner(tenant, container).await?;
    Ok(owner == ContainerOwner::Deleted)
}

/// Deletes the bytes of a purge record, and then the record. A repetition finds nothing to delete.
pub(crate) async fn run_purge(
    ctx: &Ctx,
    tenant: &Tenant,
    container: &ContainerId,
    id: &str,
) -> PortResult<()> {
    if let Some(blobs) = ctx.index.get_purge(tenant, container, id).await? {
        ctx.blobs.delete(tenant, &blobs).await?;
        ctx.index.delete_purge(tenant, container, id).await?;
    }
    Ok(())
}
