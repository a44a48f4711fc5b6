//! Queue messages. A message carries ids, never content. Its tag contains its version. It may be
//! delivered twice, late or never.

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use crate::document::Document;
use crate::ids::{ConnectionId, ContainerId, DocumentId, OrgId, Revision, TaskId};
use crate::ports::MAX_CHANGES_PER_COMMIT;
use crate::task::Task;
use crate::tenant::Tenant;

/// The longest delay of a message, in seconds: the limit of SQS. Work that is due later is stored,
/// and the sweep sends its message.
pub const MAX_DELAY_SECONDS: u32 = 15 * 60;

/// The most texts of one [`Job::ProcessTextsV1`]: as many as one transaction commits.
const MAX_TEXTS: usize = MAX_CHANGES_PER_COMMIT;

/// Returns the delay of a message that is to arrive after `seconds`, or the longest delay if that
/// is too long for a message.
pub fn message_delay(seconds: i64) -> u32 {
    u32::try_from(seconds.max(0)).map_or(MAX_DELAY_SECONDS, |delay| delay.min(MAX_DELAY_SECONDS))
}

/// Returns the seconds after which the sweep sends the message of an unfinished document again: a minute, which
/// doubles with each attempt, up to 64 minutes.
pub fn retry_pause(attempts: u32) -> i64 {
    const FIRST_PAUSE: i64 = 60;
    const MAX_DOUBLINGS: u32 = 6;
    FIRST_PAUSE << attempts.min(MAX_DOUBLINGS)
}

/// The text of a message: an organization and the job to do for it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobMessage {
    /// The organization to which the work belongs.
    pub org: OrgId,
    /// The job.
    #[serde(flatten)]
    pub job: Job,
}

/// The jobs of workers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "job", rename_all = "kebab-case")]
pub enum Job {
    /// Processes a document's bytes into chunks and embeddings.
    ProcessV1 {
        /// The id of the document.
        document: DocumentId,
        /// The revision to process. A message about an older revision is dropped.
        revision: Revision,
        /// True for a short text ([`Document::is_short_text`]), of which more are processed at a time
        /// than of other documents.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        is_short_text: bool,
    },
    /// Processes short texts ([`Document::is_short_text`]) together, which share requests to the
    /// stores.
    ProcessTextsV1 {
        /// The ids of the documents, each with the revision to process.
        texts: Vec<(DocumentId, Revision)>,
    },
    /// Commits a processed document to the index of its container.
    CommitV1 {
        /// The id of the document.
        document: DocumentId,
        /// The revision to commit.
        revision: Revision,
        /// The physical container of the document.
        container: ContainerId,
    },
    /// Deletes bytes that a committed change left behind.
    PurgeV1 {
        /// The container that the bytes belong to.
        container: ContainerId,
        /// The id of the purge record.
        purge: String,
    },
    /// Continues a task.
    TaskV1 {
        /// The id of the task.
        task: TaskId,
        /// The step that the task was at. A message about an older step is dropped.
        step: u64,
    },
    /// Continues the synchronization of a connection.
    SyncV1 {
        /// The id of the connection.
        connection: ConnectionId,
    },
    /// Compacts the log of a container into segments.
    CompactV1 {
        /// The id of the container.
        container: ContainerId,
        /// The newest log record when this was requested. Nothing is left to do once a segment has it.
        /// Without it, the whole log is compacted.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        through: Option<u64>,
    },
    /// Embeds documents by the model that the operator chose, where they have no vectors of it.
    EmbedV1 {
        /// The id of the container.
        container: ContainerId,
        /// The documents to embed. Without any, all documents of the container are walked through,
        /// and each page sends the message of the next one.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        documents: Vec<DocumentId>,
        /// The position at which the walk continues.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        after: Option<String>,
    },
    /// Repairs what a reader could not read, and rebuilds the index of the container if its erasure
    /// is due.
    #[serde(rename = "mend-v1")]
    RepairV1 {
        /// The id of the container.
        container: ContainerId,
        /// Documents that may be damaged, in addition to those that the index of the container
        /// names.
        documents: Vec<DocumentId>,
    },
}

impl Job {
    /// Returns the name of the job in traces.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::ProcessV1 { .. } => "process document",
            Self::ProcessTextsV1 { .. } => "process texts",
            Self::CommitV1 { .. } => "commit documents",
            Self::PurgeV1 { .. } => "purge bytes",
            Self::TaskV1 { .. } => "continue task",
            Self::SyncV1 { .. } => "synchronize connection",
            Self::CompactV1 { .. } => "compact container",
            Self::EmbedV1 { .. } => "embed documents",
            Self::RepairV1 { .. } => "repair container",
        }
    }
}

impl JobMessage {
    /// Creates the message that requests a job for an organization.
    pub fn new(org: &OrgId, job: Job) -> Self {
        Self {
            org: org.clone(),
            job,
        }
    }

    /// Returns the tenant for which the work is done. Work inherits the authentication of the
    /// request that caused it.
    pub fn tenant(&self) -> Tenant {
        Tenant::for_work(self.org.clone())
    }

    /// Creates the message that requests processing of a document's newest revision.
    pub fn process_document(org: &OrgId, document: &Document) -> Self {
        let job = Job::ProcessV1 {
            document: document.id.clone(),
            revision: document.revision.clone(),
            is_short_text: document.is_short_text(),
        };
        Self::new(org, job)
    }

    /// Creates the messages that request processing of the newest revisions of documents. Up to
    /// [`MAX_TEXTS`] adjacent short texts share a message if they replace nothing and can share a commit.
    pub fn process_documents(org: &OrgId, documents: &[Document]) -> Vec<Self> {
        let can_share = |document: &Document| {
            document.is_short_text() && document.indexed.is_none() && document.can_share_commit()
        };
        let groups = documents.chunk_by(|a, b| can_share(a) && can_share(b));
        let mut messages = Vec::new();
        for group in groups.flat_map(|group| group.chunks(MAX_TEXTS)) {
            if let [document] = group {
                messages.push(Self::process_document(org, document));
                continue;
            }
            let texts = group
                .iter()
                .map(|document| (document.id.clone(), document.revision.clone()))
                .collect();
            messages.push(Self::new(org, Job::ProcessTextsV1 { texts }));
        }
        messages
    }

    /// Creates the message that requests processing of one short text.
    pub fn process_text(org: &OrgId, document: &DocumentId, revision: &Revision) -> Self {
        let job = Job::ProcessV1 {
            document: document.clone(),
            revision: revision.clone(),
            is_short_text: true,
        };
        Self::new(org, job)
    }

    /// Creates the message that continues a task from its current step.
    pub fn continue_task(org: &OrgId, task: &Task) -> Self {
        let job = Job::TaskV1 {
            task: task.id.clone(),
            step: task.step,
        };
        Self::new(org, job)
    }

    /// Serializes the message.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).expect("ids serialize")
    }

    /// Parses the text of a message, or returns `None` when it is not a message of this service.
    pub fn parse(text: &str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }
}

/// A message as a queue delivers it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueueDelivery {
    /// The text, which need not be a message of this service.
    pub body: String,
    /// `true` if it comes from a dead-letter queue, which means that its attempts are used up.
    pub is_dead_letter: bool,
    /// The context of the trace in which it was sent, as in W3C Trace Context.
    pub trace_parent: Option<String>,
}

/// The result of handling a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeliveryOutcome {
    /// The message was handled or is no longer needed, and is to be deleted.
    Done,
    /// The message was not handled, and is to be delivered again.
    Retry,
}

/// A worker that handles the messages of some queues, on Lambda as well as on one machine.
#[async_trait]
pub trait QueueWorker: Send + Sync {
    /// Handles a batch. Returns one outcome for each message, in order. An invalid message does not
    /// affect the others.
    async fn handle_batch(&self, batch: &[QueueDelivery]) -> Vec<DeliveryOutcome>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_keep_their_stored_shape() {
        let golden = r#"{"org":"acme","job":"process-v1","document":"1111111111111111111111","revision":"2222222222222222222222"}"#;
        let envelope = JobMessage::parse(golden).unwrap();
        assert_eq!(envelope.to_json(), golden);
        assert!(matches!(envelope.job, Job::ProcessV1 { .. }));

        let golden = r#"{"org":"acme","job":"process-v1","document":"1111111111111111111111","revision":"2222222222222222222222","is_short_text":true}"#;
        assert_eq!(JobMessage::parse(golden).unwrap().to_json(), golden);

        let golden =
            r#"{"org":"acme","job":"mend-v1","container":"1111111111111111111111","documents":[]}"#;
        let envelope = JobMessage::parse(golden).unwrap();
        assert_eq!(envelope.to_json(), golden);
        assert!(matches!(envelope.job, Job::RepairV1 { .. }));

        let golden = r#"{"org":"acme","job":"embed-v1","container":"1111111111111111111111"}"#;
        let envelope = JobMessage::parse(golden).unwrap();
        assert_eq!(envelope.to_json(), golden);
        assert!(matches!(envelope.job, Job::EmbedV1 { after: None, .. }));

        let golden = r#"{"org":"acme","job":"process-texts-v1","texts":[["1111111111111111111111","2222222222222222222222"]]}"#;
        assert_eq!(JobMessage::parse(golden).unwrap().to_json(), golden);

        assert!(JobMessage::parse("poison").is_none());
    }
}
