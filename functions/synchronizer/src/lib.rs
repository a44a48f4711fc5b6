//! Synchronizes connections with their providers. Each message runs one step of a connection, which
//! sends the message of the next step.

use async_trait::async_trait;
use domain::job::{MAX_DELAY_SECONDS, message_delay};
use domain::{
    ConnectionId, DeliveryOutcome, Error, Job, JobMessage, QueueDelivery, QueueWorker, Result,
    Tenant,
};
use service::Ctx;
use sync::{NextStep, SyncEngine};
use tracing::{error, warn};

/// The worker behind the queue `sync`.
pub struct SyncWorker {
    engine: SyncEngine,
}

impl SyncWorker {
    /// Returns a worker on this engine.
    pub fn new(engine: SyncEngine) -> Self {
        Self { engine }
    }

    fn ctx(&self) -> &Ctx {
        &self.engine.ctx
    }

    async fn handle_delivery(&self, delivery: &QueueDelivery) -> DeliveryOutcome {
        let Some(envelope) = JobMessage::parse(&delivery.body) else {
            // The message is retried until it reaches the dead-letter queue, where a person can
            // look at it.
            error!(
                queue.message_bytes = delivery.body.len(),
                "received a message that cannot be parsed"
            );
            return DeliveryOutcome::Retry;
        };

        let tenant = envelope.tenant();
        let Job::SyncV1 { connection } = &envelope.job else {
            warn!("a message came to the wrong queue");
            return DeliveryOutcome::Retry;
        };

        let span = spans::message_span(envelope.job.name(), [delivery.trace_parent.as_deref()]);
        let step = self.run_step(&tenant, &envelope, connection);
        let Err(error) = spans::trace(span, step).await else {
            return DeliveryOutcome::Done;
        };

        let id = connection.as_str();
        warn!(
            connection.id = id,
            error = &error as &dyn std::error::Error,
            "could not move {id} on; it is tried again"
        );

        DeliveryOutcome::Retry
    }

    async fn run_step(
        &self,
        tenant: &Tenant,
        message: &JobMessage,
        connection: &ConnectionId,
    ) -> Result<()> {
        let jobs = &self.ctx().jobs;
        let result = match sync::synchronize_step(&self.engine, tenant, connection).await? {
            NextStep::Again => jobs.send(std::slice::from_ref(message)).await,
            NextStep::Later(seconds) if seconds <= i64::from(MAX_DELAY_SECONDS) => {
                jobs.send_delayed(message, message_delay(seconds)).await
            }
            // The sweep sends a step that has to wait longer when its time has come.
            NextStep::Later(_) | NextStep::Idle => Ok(()),
        };

        // If the message is lost, the sweep sends it again, because it finds every connection that
        // is due.
        result.map_err(Error::from)
    }
}

#[async_trait]
impl QueueWorker for SyncWorker {
    async fn handle_batch(&self, batch: &[QueueDelivery]) -> Vec<DeliveryOutcome> {
        let mut outcomes = Vec::with_capacity(batch.len());
        for delivery in batch {
            outcomes.push(self.handle_delivery(delivery).await);
        }
        outcomes
    }
}
