//! Long work behind an answered request: purging a deleted container, merging containers.
//!
//! A task is a record that a worker moves on step by step. Each step is written on condition that the record is as it was
//! read, and says beforehand what it will do next; doing that again is harmless. So a task goes on from wherever a crash
//! left it, two workers on one task do the same work, and what it reports was counted once.

use serde::{Deserialize, Serialize};

use crate::activity::Hour;
use crate::ids::{ContainerId, DocumentId, TaskId};
use crate::tag::ContainerTag;
use crate::time::Timestamp;

/// A task's record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Task {
    /// Identity.
    pub id: TaskId,
    /// What is to be done, and how far it is.
    pub work: Work,
    /// Whether it goes on.
    pub state: TaskState,
    /// Counts changes of the record: the fence of concurrent workers.
    pub step: u64,
    /// How often in a row a step has failed.
    pub attempts: u32,
    /// Why the last step failed, for a person; never content.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// When it was asked for.
    pub created_at: Timestamp,
    /// When it last moved on.
    pub updated_at: Timestamp,
    /// When the sweeper sends it again if nobody has moved it on by then.
    pub due_at: Timestamp,
}

/// Whether a task goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TaskState {
    /// It goes on.
    Running,
    /// It is done.
    Completed,
    /// It was given up, and says why. A purge never is.
    Failed,
}

/// What a task does.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "task", rename_all = "lowercase")]
pub enum Work {
    /// Removes what is left of a deleted container.
    Purge(Purge),
    /// Brings containers together.
    Merge(Merge),
}

/// The purge of a deleted container tag.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Purge {
    /// The tag as it was.
    pub tag: ContainerTag,
    /// The physical containers behind it.
    pub containers: Vec<ContainerId>,
    /// When the tag was first used: no request before that can have told of its content.
    pub tag_created_at: Timestamp,
    /// When it was deleted.
    pub deleted_at: Timestamp,
    /// Which of `containers` is at hand.
    pub container: usize,
    /// What is at hand in it.
    pub phase: PurgePhase,
    /// Where the listing at hand goes on, as its port said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
    /// What is being removed right now; in `report` once it is.
    #[serde(default)]
    pub pending: Pending,
    /// What has been removed.
    #[serde(default)]
    pub report: PurgeReport,
    /// Whether this is the second pass, which finds what requests wrote that were under way at the deletion.
    #[serde(default)]
    pub verifying: bool,
}

/// What a purge is at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PurgePhase {
    /// Records of documents, and their small bytes.
    Documents,
    /// Records of documents that a merge had superseded.
    Superseded,
    /// The head, the log and the purge records of the index.
    Index,
    /// Objects in the bucket: bodies, packs, segments.
    Objects,
    /// What the request log tells of any of the containers, hour by hour from `hour` on.
    RequestLog {
        /// The next hour.
        hour: Hour,
    },
    /// Waits until no request can be under way that began before the deletion.
    Waiting,
}

/// What a step is about to remove.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Pending {
    /// Documents.
    pub documents: Vec<DocumentId>,
    /// Items of the index, as [`crate::ports::Index::items`] names them; at the request log, records that lose their
    /// contents, as [`crate::ports::Activity::contents`] names them.
    pub items: Vec<String>,
    /// Objects, by their paths.
    pub objects: Vec<String>,
    /// What that comes to.
    pub report: PurgeReport,
}

/// What a purge has removed, kind by kind.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PurgeReport {
    /// Records of documents.
    pub documents: u64,
    /// Chunks that search served, with their vectors.
    pub chunks: u64,
    /// Statements that memories came from.
    pub statements: u64,
    /// Small bytes beside the records: texts, packs, statements.
    pub inline_blobs: u64,
    /// Objects in the bucket.
    pub objects: u64,
    /// Bytes of these objects.
    pub object_bytes: u64,
    /// Records of the index: its head, its log, its purge records.
    pub index_records: u64,
    /// Segments of the index.
    pub segments: u64,
    /// Requests whose input and output were taken out of the request log.
    pub log_contents: u64,
}

impl PurgeReport {
    /// Adds what a step has removed.
    pub fn add(&mut self, other: &Self) {
        self.documents += other.documents;
        self.chunks += other.chunks;
        self.statements += other.statements;
        self.inline_blobs += other.inline_blobs;
        self.objects += other.objects;
        self.object_bytes += other.object_bytes;
        self.index_records += other.index_records;
        self.segments += other.segments;
        self.log_contents += other.log_contents;
    }
}

/// The merge of container tags into one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Merge {
    /// The tags that end, each with its physical containers.
    pub sources: Vec<(ContainerTag, Vec<ContainerId>)>,
    /// The tag that takes them.
    pub target: ContainerTag,
    /// The physical containers that it had before.
    pub target_ids: Vec<ContainerId>,
    /// How far it is.
    pub phase: MergePhase,
    /// Which of `sources` is looked through.
    pub source: usize,
    /// Which of its containers.
    pub container: usize,
    /// Where the listing of it goes on, as its port said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
    /// Documents that were looked at in this pass.
    pub looked_at: u64,
    /// Documents of an equal customId that are still processed, so that the pass has to come again.
    pub in_flight: u64,
    /// Documents that were superseded.
    pub superseded: u64,
}

/// How far a merge is. The names are the contract's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MergePhase {
    /// Asked for; every reader sees the containers as one already.
    Queued,
    /// Documents of equal customIds are still processed.
    WaitingForIngest,
    /// Looks for equal customIds. (Nothing is copied: the name is the contract's.)
    CopyingVectors,
    /// Takes the sources' tags away.
    DbCommitting,
    /// Opens the target for writing.
    CleanupPending,
    /// Done.
    Completed,
    /// Given up.
    Failed,
}

/// The most physical containers behind one tag: each costs every search of the tag one read.
pub const MAX_CONTAINERS: usize = 50;

impl Task {
    /// A task that begins.
    pub fn new(work: Work, now: Timestamp) -> Self {
        /// How long the message that begins it may take.
        const FIRST_SECONDS: i64 = 60;
        Self {
            id: TaskId::random(),
            work,
            state: TaskState::Running,
            step: 0,
            attempts: 0,
            error: None,
            created_at: now,
            updated_at: now,
            due_at: now.plus_seconds(FIRST_SECONDS),
        }
    }
}
