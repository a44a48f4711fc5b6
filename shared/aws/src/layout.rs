//! The resources that must exist: tables, bucket, queues and a key, described once. Embedded mode
//! creates them from this description, and a test compares `template.yaml` with it.

use crate::records::documents::{DocumentRecord, ListingRecord, PendingRecord};
use crate::records::{DueRecord, ExpiryRecord};

/// A DynamoDB table with the string keys `pk` and `sk`, on-demand billing and no local index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TableLayout {
    /// The part of the name that is the same in every deployment.
    pub name: &'static str,
    /// The global secondary indexes.
    pub indexes: &'static [IndexLayout],
    /// The attribute with the time, in seconds since 1970, after which DynamoDB may delete an item.
    pub ttl_attribute: Option<&'static str>,
}

/// A global secondary index with string keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IndexLayout {
    /// The name.
    pub name: &'static str,
    /// The attribute that is the partition key.
    pub partition_key: &'static str,
    /// The attribute that is the sort key.
    pub sort_key: &'static str,
    /// The attributes that the index has of each item.
    pub projection: IndexProjection,
}

/// The attributes that an index has of each item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IndexProjection {
    /// All attributes.
    All,
    /// The keys of the table and of the index.
    KeysOnly,
    /// The keys, and these attributes.
    Include(&'static [&'static str]),
}

/// An SQS queue with its dead-letter queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueueLayout {
    /// The part of the name that is the same in every deployment. FIFO queues end with `.fifo`.
    pub name: &'static str,
    /// The name of the dead-letter queue.
    pub dead_letter_queue: &'static str,
    /// The most messages that the function takes at a time.
    pub batch_size: u32,
}

impl QueueLayout {
    /// Checks whether the queue is a FIFO queue, which delivers the messages of a group one batch
    /// at a time.
    pub const fn is_fifo(&self) -> bool {
        let name = self.name.as_bytes();
        name.len() > 5 && name[name.len() - 5] == b'.'
    }
}

/// The visibility time-out of all queues: how long a received message stays hidden. It is six times the time
/// limit of the functions that read them, as AWS advises. Only maintenance has another limit, 600 seconds,
/// because little of its work takes long. A message that fails comes back earlier.
pub const VISIBILITY_SECONDS: u32 = 720;

/// The number of attempts at a message before it goes to the dead-letter queue.
pub const MAX_RECEIVE_COUNT: u32 = 5;

/// The index of a container's documents by time of creation.
pub const CONTAINER_INDEX: IndexLayout = IndexLayout {
    name: "by-container",
    partition_key: ListingRecord::ATTRIBUTES.listing,
    sort_key: ListingRecord::ATTRIBUTES.position,
    projection: IndexProjection::All,
};
/// The sparse index of a container's documents that are unfinished or failed, by time of creation.
/// It tells which of them search serves, so that the others can be counted.
pub const PENDING_INDEX: IndexLayout = IndexLayout {
    name: "pending",
    partition_key: PendingRecord::ATTRIBUTES.pending,
    sort_key: ListingRecord::ATTRIBUTES.position,
    projection: IndexProjection::Include(&[DocumentRecord::ATTRIBUTES.indexed]),
};
/// The sparse index of unfinished work by the time from which it is overdue.
pub const DUE_INDEX: IndexLayout = IndexLayout {
    name: "due",
    partition_key: DueRecord::ATTRIBUTES.shard,
    sort_key: DueRecord::ATTRIBUTES.due_at,
    projection: IndexProjection::KeysOnly,
};

/// The table of documents, containers, indexes and inline blobs.
pub const RECORDS_TABLE: TableLayout = TableLayout {
    name: "records",
    indexes: &[CONTAINER_INDEX, DUE_INDEX, PENDING_INDEX],
    ttl_attribute: None,
};
/// The table of API key hashes and sealed secrets. Sessions expire by themselves.
pub const SECRETS_TABLE: TableLayout = TableLayout {
    name: "secrets",
    indexes: &[],
    ttl_attribute: Some(ExpiryRecord::ATTRIBUTES.expires_at_seconds),
};
/// The table of items that expire by themselves: the request log and its counts, rate limits,
/// repeated requests. Its index `due` has the hours that are not counted yet.
pub const ACTIVITY_TABLE: TableLayout = TableLayout {
    name: "activity",
    indexes: &[DUE_INDEX],
    ttl_attribute: Some(ExpiryRecord::ATTRIBUTES.expires_at_seconds),
};
/// All tables.
pub const TABLES: [TableLayout; 3] = [RECORDS_TABLE, SECRETS_TABLE, ACTIVITY_TABLE];

/// The name of the key that seals secrets in the embedded KMS.
pub const SECRETS_KEY: &str = "local";

/// The bucket of raw bytes, packs and segments.
pub const BUCKET: &str = "content";
/// The suffix of the keys of objects that clients store themselves. The bucket notifies the queue
/// [`MAINTENANCE_QUEUE`] of them.
pub const UPLOAD_SUFFIX: &str = "/upload";

/// The queue of documents to process, read by the processor.
pub const PROCESS_QUEUE: QueueLayout = QueueLayout {
    name: "process",
    dead_letter_queue: "process-dead",
    batch_size: 1,
};
/// The queue of processed documents to commit, read by the processor, one batch at a time for each
/// container.
pub const COMMIT_QUEUE: QueueLayout = QueueLayout {
    name: "commit.fifo",
    dead_letter_queue: "commit-dead.fifo",
    batch_size: 10,
};
/// The queue of the function `maintenance`: purges, compactions and tasks. It is named `keeper`, as
/// the function once was, so that stored messages stay where they are.
pub const MAINTENANCE_QUEUE: QueueLayout = QueueLayout {
    name: "keeper",
    dead_letter_queue: "keeper-dead",
    batch_size: 1,
};
/// The queue of synchronizations to continue, read by the function `synchronizer`.
pub const SYNC_QUEUE: QueueLayout = QueueLayout {
    name: "sync",
    dead_letter_queue: "sync-dead",
    batch_size: 1,
};
/// All queues.
pub const QUEUES: [QueueLayout; 4] = [PROCESS_QUEUE, COMMIT_QUEUE, MAINTENANCE_QUEUE, SYNC_QUEUE];
