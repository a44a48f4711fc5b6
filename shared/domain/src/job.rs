//! Queue messages. A message carries ids, never content, and its version in its tag; it may come twice, late or never.

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use crate::document::Document;
use crate::ids::{ConnectionId, ContainerId, DocumentId, OrgId, Revision, TaskId};
use crate::task::Task;
use crate::tenant::Tenant;

/// A message's text: an organization and what to do for it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Envelope {
    /// The organization the work belongs to.
    pub org: OrgId,
    /// The work.
    #[serde(flatten)]
    pub job: Job,
}

/// What a worker is asked to do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "job", rename_all = "kebab-case")]
pub enum Job {
    /// Turn a document's bytes into chunks and vectors.
    ProcessV1 {
        /// Which document.
        document: DocumentId,
        /// Which content of it; a message about an older one is dropped.
        revision: Revision,
    },
    /// Put a processed document into its container's index.
    CommitV1 {
        /// Which document.
        document: DocumentId,
        /// Which content of it.
        revision: Revision,
        /// Where to.
        container: ContainerId,
    },
    /// Delete bytes that a committed change left behind.
    PurgeV1 {
        /// The container that the bytes belong to.
        container: ContainerId,
        /// The purge record.
        purge: String,
    },
    /// Move a task on.
    TaskV1 {
        /// Which task.
        task: TaskId,
        /// The step it was at; a message about an older one is dropped.
        step: u64,
    },
    /// Move a connection's synchronization on.
    SyncV1 {
        /// Which connection.
        connection: ConnectionId,
    },
    /// Fold the container's log into segments.
    CompactV1 {
        /// Which container.
        container: ContainerId,
    },
    /// Repair what a reader could not read, and fold the container anew where that is due.
    MendV1 {
        /// Which container.
        container: ContainerId,
        /// Documents that may be damaged, beside those that the container's index tells.
        documents: Vec<DocumentId>,
    },
}

impl Envelope {
    /// The tenant that this work is done for: work inherits the authentication of the request that caused it.
    pub fn tenant(&self) -> Tenant {
        Tenant::of_work(self.org.clone())
    }

    /// The message that a document's newest revision waits to be processed.
    pub fn to_process(org: &OrgId, document: &Document) -> Self {
        let job = Job::ProcessV1 {
            document: document.id.clone(),
            revision: document.revision.clone(),
        };
        Self {
            org: org.clone(),
            job,
        }
    }

    /// The message that moves a task on from where it is.
    pub fn to_move_on(org: &OrgId, task: &Task) -> Self {
        Self {
            org: org.clone(),
            job: Job::TaskV1 {
                task: task.id.clone(),
                step: task.step,
            },
        }
    }

    /// The message's text.
    pub fn to_text(&self) -> String {
        serde_json::to_string(self).expect("ids serialize")
    }

    /// Reads a message's text; `None` when it is not a message of ours.
    pub fn parse(text: &str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }
}

/// A message as a queue delivers it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delivery {
    /// Its text, which need not be a message of ours.
    pub body: String,
    /// Whether it comes from a dead-letter queue: it was tried as often as it may be.
    pub dead: bool,
}

/// What a worker made of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// Handled, or no longer needed: delete it.
    Done,
    /// Not handled: let it come again.
    Retry,
}

/// Handles the messages of some queues, under Lambda as on one machine.
#[async_trait]
pub trait Worker: Send + Sync {
    /// Handles a batch; one outcome for each message, in order. One bad message harms no other.
    async fn handle(&self, batch: &[Delivery]) -> Vec<Outcome>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_keep_their_stored_shape() {
        let golden = r#"{"org":"acme","job":"process-v1","document":"1111111111111111111111","revision":"2222222222222222222222"}"#;
        let envelope = Envelope::parse(golden).unwrap();
        assert_eq!(envelope.to_text(), golden);
        assert!(matches!(envelope.job, Job::ProcessV1 { .. }));
        assert!(Envelope::parse("poison").is_none());
    }
}
