//! Divides a batch of messages into parts, whose work is done together.

use std::collections::BTreeMap;

use domain::{ContainerId, DocumentId, Job, JobMessage, OrgId, QueueDelivery, Revision, Tenant};
use tracing::{error, warn};

/// A document, and the revision that a message is about.
pub(crate) type DocumentRevision = (DocumentId, Revision);

/// Work of one organization, and the messages that request it.
pub(crate) struct BatchPart {
    pub(crate) tenant: Tenant,
    pub(crate) work: Work,
    /// The positions of the messages in the batch.
    pub(crate) messages: Vec<usize>,
}

/// The work that messages request.
pub(crate) enum Work {
    /// Process a document.
    Document(DocumentRevision),
    /// Process short texts. There is a message for each of them.
    Texts(Vec<DocumentRevision>),
    /// Process the short texts of one message.
    TextsOfMessage(Vec<DocumentRevision>),
    /// Commit processed documents to a container. There is a message for each of them.
    Commit(ContainerId, Vec<DocumentRevision>),
}

impl Work {
    /// Returns the name of the work in traces.
    pub(crate) const fn name(&self) -> &'static str {
        match self {
            Self::Document(_) => "process document",
            Self::Texts(_) | Self::TextsOfMessage(_) => "process texts",
            Self::Commit(..) => "commit documents",
        }
    }
}

/// Divides a batch. Short texts of an organization are processed together, unless
/// `processes_texts_alone`, and the commits of a container are one part. A message that cannot be
/// handled is in no part.
pub(crate) fn divide_batch(batch: &[QueueDelivery], processes_texts_alone: bool) -> Vec<BatchPart> {
    let mut parts = Vec::new();
    let mut texts = BTreeMap::<OrgId, Group>::new();
    let mut commits = BTreeMap::<(OrgId, ContainerId), Group>::new();

    for (message, delivery) in batch.iter().enumerate() {
        let Some(envelope) = JobMessage::parse(&delivery.body) else {
            // The message is retried until it reaches the dead-letter queue, where a person can look
            // at it.
            error!(
                queue.message_bytes = delivery.body.len(),
                "received a message that cannot be parsed"
            );
            continue;
        };

        let tenant = envelope.tenant();
        match envelope.job {
            Job::ProcessV1 {
                document,
                revision,
                is_short_text,
            } => {
                let document = (document, revision);
                if is_short_text && !processes_texts_alone {
                    let group = texts.entry(envelope.org);
                    group.or_insert(Group::of(tenant)).push(message, document);
                } else {
                    parts.push(BatchPart::of_message(
                        message,
                        tenant,
                        Work::Document(document),
                    ));
                }
            }
            Job::ProcessTextsV1 { texts } => {
                parts.push(BatchPart::of_message(
                    message,
                    tenant,
                    Work::TextsOfMessage(texts),
                ));
            }
            Job::CommitV1 {
                document,
                revision,
                container,
            } => {
                let group = commits.entry((envelope.org, container));
                group
                    .or_insert(Group::of(tenant))
                    .push(message, (document, revision));
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

    for group in texts.into_values() {
        parts.push(group.into_part(Work::Texts));
    }
    for ((_, container), group) in commits {
        parts.push(group.into_part(|documents| Work::Commit(container, documents)));
    }
    parts
}

impl BatchPart {
    fn of_message(message: usize, tenant: Tenant, work: Work) -> Self {
        Self {
            tenant,
            work,
            messages: vec![message],
        }
    }
}

/// Documents of an organization with their messages, in the same order.
struct Group {
    tenant: Tenant,
    documents: Vec<DocumentRevision>,
    messages: Vec<usize>,
}

impl Group {
    fn of(tenant: Tenant) -> Self {
        Self {
            tenant,
            documents: Vec::new(),
            messages: Vec::new(),
        }
    }

    fn push(&mut self, message: usize, document: DocumentRevision) {
        self.documents.push(document);
        self.messages.push(message);
    }

    fn into_part(self, work: impl FnOnce(Vec<DocumentRevision>) -> Work) -> BatchPart {
        BatchPart {
            tenant: self.tenant,
            work: work(self.documents),
            messages: self.messages,
        }
    }
}
