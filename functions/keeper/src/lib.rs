//! What keeps the rest in order: purges, compaction, dead letters, and every minute a sweep of what got stuck.

mod sweep;

use async_trait::async_trait;
use domain::ports::PortResult;
use domain::{ContainerId, Ctx, Delivery, Envelope, Failure, FailureCode, Job, Outcome, Tenant, Worker};
use tracing::{error, warn};

pub use sweep::{Swept, sweep};

/// The worker behind the queue `keeper` and the dead-letter queues.
pub struct Keeper {
    ctx: Ctx,
}

impl Keeper {
    /// A worker on these ports.
    pub fn new(ctx: Ctx) -> Self {
        Self { ctx }
    }

    async fn one(&self, delivery: &Delivery) -> Outcome {
        let Some(envelope) = Envelope::parse(&delivery.body) else {
            // A dead letter that cannot be read stays where it is, for a person.
            error!(
                queue.message_bytes = delivery.body.len(),
                queue.dead = delivery.dead,
                "a message is not one of ours"
            );
            return Outcome::Retry;
        };
        let tenant = envelope.tenant();
        let result = match &envelope.job {
            Job::ProcessV1 { document, revision } | Job::CommitV1 { document, revision, .. }
                if delivery.dead =>
            {
                let message =
                    "processing failed again and again; retry it, or send the content again".to_owned();
                let failure = Failure { code: FailureCode::ProcessingFailed, message };
                let now = self.ctx.clock.now();
                self.ctx.documents.fail(&tenant, document, revision, &failure, None, now).await.map(|_| ())
            }
            Job::PurgeV1 { container, purge } => self::purge(&self.ctx, &tenant, container, purge).await,
            Job::CompactV1 { container } => index::compact(&self.ctx, &tenant, container).await,
            Job::ProcessV1 { .. } | Job::CommitV1 { .. } => {
                warn!("a message came to the wrong queue");
                return Outcome::Retry;
            }
        };
        match result {
            Ok(()) => Outcome::Done,
            Err(error) => {
                warn!(
                    error = &error as &dyn std::error::Error,
                    "could not do a keeper's job; it is tried again"
                );
                Outcome::Retry
            }
        }
    }
}

#[async_trait]
impl Worker for Keeper {
    async fn handle(&self, batch: &[Delivery]) -> Vec<Outcome> {
        let mut outcomes = Vec::with_capacity(batch.len());
        for delivery in batch {
            outcomes.push(self.one(delivery).await);
        }
        outcomes
    }
}

/// Deletes the bytes of a purge record, then the record. Doing it again finds nothing left to do.
pub(crate) async fn purge(ctx: &Ctx, tenant: &Tenant, container: &ContainerId, id: &str) -> PortResult<()> {
    if let Some(blobs) = ctx.index.purge(tenant, container, id).await? {
        ctx.blobs.delete(tenant, &blobs).await?;
        ctx.index.forget_purge(tenant, container, id).await?;
    }
    Ok(())
}
