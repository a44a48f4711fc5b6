//! Synchronizes connections with their providers. Each message runs one step of a connection, which
//! sends the message of the next step.

use async_trait::async_trait;
use domain::{ConnectionId, Ctx, Delivery, Envelope, Error, Job, Outcome, Result, Tenant, Worker};
use sync::{Engine, Next};
use tracing::{error, warn};

/// The longest delay of a queue message in seconds. A step that has to wait longer is sent by the
/// sweep when its time has come.
const MAX_DELAY_SECONDS: i64 = 900;

/// The worker behind the queue `sync`.
pub struct Importer {
    engine: Engine,
}

impl Importer {
    /// Returns a worker on this engine.
    pub fn new(engine: Engine) -> Self {
        Self { engine }
    }

    fn ctx(&self) -> &Ctx {
        &self.engine.ctx
    }

    async fn handle_delivery(&self, delivery: &Delivery) -> Outcome {
        let Some(envelope) = Envelope::parse(&delivery.body) else {
            // The message is retried until it reaches the dead-letter queue, where a person can
            // look at it.
            error!(
                queue.message_bytes = delivery.body.len(),
                "a message is not one of ours"
            );
            return Outcome::Retry;
        };

        let tenant = envelope.tenant();
        let Job::SyncV1 { connection } = &envelope.job else {
            warn!("a message came to the wrong queue");
            return Outcome::Retry;
        };

        let Err(error) = self.run_step(&tenant, &envelope, connection).await else {
            return Outcome::Done;
        };

        let id = connection.as_str();
        warn!(
            connection.id = id,
            error = &error as &dyn std::error::Error,
            "could not move {id} on; it is tried again"
        );

        Outcome::Retry
    }

    async fn run_step(
        &self,
        tenant: &Tenant,
        message: &Envelope,
        connection: &ConnectionId,
    ) -> Result<()> {
        let jobs = &self.ctx().jobs;
        let sent = match sync::step(&self.engine, tenant, connection).await? {
            Next::Again => jobs.send(std::slice::from_ref(message)).await,
            Next::Later(seconds) if seconds <= MAX_DELAY_SECONDS => {
                let seconds = u32::try_from(seconds.max(0)).unwrap_or_default();
                jobs.send_later(message, seconds).await
            }
            Next::Later(_) | Next::Idle => Ok(()),
        };

        // If the message is lost, the sweep sends it again, because it finds every connection that
        // is due.
        sent.map_err(Error::from)
    }
}

#[async_trait]
impl Worker for Importer {
    async fn handle(&self, batch: &[Delivery]) -> Vec<Outcome> {
        let mut outcomes = Vec::with_capacity(batch.len());
        for delivery in batch {
            outcomes.push(self.handle_delivery(delivery).await);
        }
        outcomes
    }
}
