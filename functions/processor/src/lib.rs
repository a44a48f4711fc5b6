//! From bytes to text to chunks to vectors to the index, in two steps that may each run twice:
//! processing, many in parallel, and the commit, one batch at a time per container.

mod commit;
mod prepare;
mod process;

use std::collections::BTreeMap;

use async_trait::async_trait;
use domain::{ContainerId, Ctx, Delivery, DocumentId, Envelope, Job, OrgId, Outcome, Revision, Worker};
use futures::future::join_all;
use sandbox::Sandbox;
use tracing::{error, warn};

/// How often a document is begun before it ends as `failed`.
pub const MAX_ATTEMPTS: u32 = 5;

/// The worker behind the queues `process` and `commit.fifo`.
pub struct Processor {
    ctx: Ctx,
    sandbox: Sandbox,
}

/// The commits of one container in a batch.
type Group = (OrgId, ContainerId);

impl Processor {
    /// A worker that reads content in `sandbox`.
    pub fn new(ctx: Ctx, sandbox: Sandbox) -> Self {
        Self { ctx, sandbox }
    }
}

#[async_trait]
impl Worker for Processor {
    async fn handle(&self, batch: &[Delivery]) -> Vec<Outcome> {
        let mut outcomes = vec![Outcome::Retry; batch.len()];
        let (mut single, mut groups) =
            (Vec::new(), BTreeMap::<Group, Vec<(usize, DocumentId, Revision)>>::new());
        for (i, delivery) in batch.iter().enumerate() {
            let Some(envelope) = Envelope::parse(&delivery.body) else {
                // It stays until it ends in the dead-letter queue, where a person can look at it.
                error!(queue.message_bytes = delivery.body.len(), "a message is not one of ours");
                continue;
            };
            match envelope.job {
                Job::ProcessV1 { ref document, ref revision } => {
                    single.push((i, envelope.tenant(), document.clone(), revision.clone()));
                }
                Job::CommitV1 { document, revision, container } => {
                    groups.entry((envelope.org, container)).or_default().push((i, document, revision));
                }
                Job::PurgeV1 { .. } | Job::CompactV1 { .. } => warn!("a message came to the wrong queue"),
            }
        }
        let processed = single.iter().map(|(i, tenant, document, revision)| async move {
            (*i, process::process(&self.ctx, &self.sandbox, tenant, document, revision).await)
        });
        for (i, result) in join_all(processed).await {
            outcomes[i] = outcome(result, "process a document");
        }
        for ((org, container), members) in groups {
            let documents: Vec<_> =
                members.iter().map(|(_, document, revision)| (document, revision)).collect();
            let committed = commit::commit(&self.ctx, &org, &container, &documents).await;
            let result = outcome(committed, "commit to a container");
            members.iter().for_each(|(i, ..)| outcomes[*i] = result);
        }
        outcomes
    }
}

fn outcome(result: domain::Result<()>, what: &str) -> Outcome {
    match result {
        Ok(()) => Outcome::Done,
        Err(error) => {
            warn!(error = &error as &dyn std::error::Error, "could not {what}; it is tried again");
            Outcome::Retry
        }
    }
}
