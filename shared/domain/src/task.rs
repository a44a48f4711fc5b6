//! Tasks: long operations that continue after their request was answered, such as purging a deleted
//! container or merging containers.
//!
//! A task is a record that a worker advances step by step. Each step is written on condition that
//! the record is as it was read, and says in advance what it will do next; doing that again is
//! harmless. A task therefore continues from wherever a crash left it, two workers on one task do
//! the same work, and its report counts everything once.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::activity::Hour;
use crate::ids::{ContainerId, DocumentId, TaskId};
use crate::tag::ContainerTag;
use crate::time::Timestamp;

/// The record of a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Task {
    /// The id.
    pub id: TaskId,
    /// The work to do, with its progress.
    pub work: TaskWork,
    /// The state of the task.
    pub state: TaskState,
    /// The number of changes of the record. It is the fence of concurrent workers.
    pub step: u64,
    /// The number of consecutive failures of a step.
    pub attempts: u32,
    /// The reason for which the last step failed, for a person. It never has any content.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The time at which the task was requested.
    pub created_at: Timestamp,
    /// The time at which it last advanced.
    pub updated_at: Timestamp,
    /// The time at which the sweep sends its message again if no worker has advanced it by then.
    pub due_at: Timestamp,
}

/// The state of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TaskState {
    /// The task is in progress.
    Running,
    /// The task is done.
    Completed,
    /// The task was abandoned, with a reason. A purge never is.
    Failed,
}

/// The work of a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "task", rename_all = "lowercase")]
pub enum TaskWork {
    /// Removes what is left of a deleted container.
    Purge(ContainerPurge),
    /// Merges containers.
    Merge(ContainerMerge),
}

/// The purge of a deleted container tag.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContainerPurge {
    /// The former tag.
    pub tag: ContainerTag,
    /// The physical containers behind it.
    pub containers: Vec<ContainerId>,
    /// The time at which the tag was first used. No earlier request can have had any of its
    /// content.
    pub tag_created_at: Timestamp,
    /// The time of the deletion.
    pub deleted_at: Timestamp,
    /// The index of the current container in `containers`.
    pub container: usize,
    /// The current phase for this container.
    pub phase: PurgePhase,
    /// The position at which the current listing continues, as its port returned it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
    /// The data that the current step is removing. It is added to `report` when the step is done.
    #[serde(default)]
    pub pending: PendingErasure,
    /// The data that has been removed.
    #[serde(default)]
    pub report: PurgeReport,
    /// `true` during the second pass, which finds what was written by requests that were in
    /// progress at the deletion.
    #[serde(default)]
    pub verifying: bool,
}

/// The phases of a purge.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PurgePhase {
    /// Removes document records and their small blobs.
    Documents,
    /// Removes the records of documents that a merge had superseded.
    Superseded,
    /// Removes the head, the log and the purge records of the index.
    Index,
    /// Removes objects in the bucket: bodies, packs, segments.
    Objects,
    /// Removes inputs and outputs that concern the containers from the request log, hour by hour,
    /// starting at `hour`.
    RequestLog {
        /// The next hour.
        hour: Hour,
    },
    /// Waits until no request can be in progress that began before the deletion.
    Waiting,
}

/// The data that a step is about to remove.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct PendingErasure {
    /// The ids of documents.
    pub documents: Vec<DocumentId>,
    /// The names of index items, from [`crate::ports::Index::list_items`]; in the phase of the
    /// request log, the names of records, from [`crate::ports::RequestLog::list_contents`].
    pub items: Vec<String>,
    /// The paths of objects.
    pub objects: Vec<String>,
    /// The counts of this data.
    pub report: PurgeReport,
}

/// The counts of the data that a purge has removed, by kind.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(rename = "DeletionReport")]
pub struct PurgeReport {
    /// Document records.
    pub documents: u64,
    /// Chunks that search served, with their embeddings.
    pub chunks: u64,
    /// Statements that memories were computed from.
    pub statements: u64,
    /// Small blobs beside the records: texts, packs, statements.
    pub inline_blobs: u64,
    /// Objects in the bucket.
    pub objects: u64,
    /// The total size of these objects in bytes.
    pub object_bytes: u64,
    /// Index records: the head, the log and the purge records.
    pub index_records: u64,
    /// Segments of the index.
    pub segments: u64,
    /// Requests whose input and output were removed from the request log.
    pub log_contents: u64,
}

impl PurgeReport {
    /// Adds the counts of a step.
    pub fn add_report(&mut self, other: &Self) {
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
pub struct ContainerMerge {
    /// The tags that are merged, each with its physical containers.
    pub sources: Vec<(ContainerTag, Vec<ContainerId>)>,
    /// The tag that receives them.
    pub target: ContainerTag,
    /// The physical containers that the target had before.
    pub target_ids: Vec<ContainerId>,
    /// The current phase.
    pub phase: MergePhase,
    /// The index of the current tag in `sources`.
    pub source: usize,
    /// The index of the current container of that tag.
    pub container: usize,
    /// The position at which its listing continues, as its port returned it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
    /// The number of documents examined in this pass.
    pub looked_at: u64,
    /// The number of documents with an equal `customId` that are still being processed, which
    /// require another pass.
    pub in_flight: u64,
    /// The number of documents that were superseded.
    pub superseded: u64,
}

impl ContainerMerge {
    /// Returns all physical containers of the merge.
    pub fn container_ids(&self) -> Vec<ContainerId> {
        self.target_ids
            .iter()
            .chain(self.sources.iter().flat_map(|(_, ids)| ids))
            .cloned()
            .collect()
    }
}

/// The phases of a merge, with the names of the API.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "MergeState")]
pub enum MergePhase {
    /// The merge was requested. Every reader already sees the containers as one.
    Queued,
    /// Documents with an equal `customId` are still being processed.
    WaitingForIngest,
    /// Documents with an equal `customId` are being searched for. Nothing is copied: the API
    /// defines the name.
    CopyingVectors,
    /// The tags of the sources are being removed.
    DbCommitting,
    /// The target is being opened for writes.
    CleanupPending,
    /// The merge is done.
    Completed,
    /// The merge was abandoned.
    Failed,
}

/// The largest number of physical containers behind one tag. Each costs every search of the tag one
/// read.
pub const MAX_CONTAINERS_PER_TAG: usize = 50;

impl Task {
    /// Creates a task that is about to begin.
    pub fn new(work: TaskWork, now: Timestamp) -> Self {
        /// The time that the first message of the task may take.
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
