//! The resources that must exist: tables, bucket, queues and a key, described once. Embedded mode
//! creates them from this description, and a test compares `template.yaml` with it.

/// A DynamoDB table with the string keys `pk` and `sk`, on-demand billing and no local index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TableLayout {
    /// The part of the name that is the same in every deployment.
    pub name: &'static str,
    /// The global secondary indexes.
    pub indexes: &'static [IndexLayout],
    /// The attribute with the time, in seconds since 1970, after which DynamoDB may delete an item.
    pub ttl: Option<&'static str>,
}

/// A global secondary index with string keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IndexLayout {
    /// The name.
    pub name: &'static str,
    /// The attribute that is the partition key.
    pub hash: &'static str,
    /// The attribute that is the sort key.
    pub range: &'static str,
    /// Set if the index has whole items, and not only their keys.
    pub project_all: bool,
}

/// An SQS queue with its dead-letter queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueueLayout {
    /// The part of the name that is the same in every deployment. FIFO queues end with `.fifo`.
    pub name: &'static str,
    /// The name of the dead-letter queue.
    pub dead: &'static str,
    /// The time-out of the function that reads the queue. A received message stays hidden six times
    /// as long, as AWS advises.
    pub function_timeout_seconds: u32,
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

    /// Returns the visibility time-out: how long a received message stays hidden.
    pub const fn visibility_seconds(&self) -> u32 {
        6 * self.function_timeout_seconds
    }
}

/// The number of attempts at a message before it goes to the dead-letter queue.
pub const MAX_RECEIVE_COUNT: u32 = 5;

/// The index of a container's documents by time of creation.
pub const BY_CONTAINER: IndexLayout = IndexLayout {
    name: "by-container",
    hash: "gl",
    range: "gs",
    project_all: true,
};
/// The sparse index of unfinished work by the time from which it is overdue.
pub const DUE: IndexLayout = IndexLayout {
    name: "due",
    hash: "qs",
    range: "qd",
    project_all: false,
};

/// The table of documents, containers, indexes and inline blobs.
pub const RECORDS: TableLayout = TableLayout {
    name: "records",
    indexes: &[BY_CONTAINER, DUE],
    ttl: None,
};
/// The table of API key hashes and sealed secrets. Sessions expire by themselves.
pub const SECRETS: TableLayout = TableLayout {
    name: "secrets",
    indexes: &[],
    ttl: Some("ttl"),
};
/// The table of items that expire by themselves: the request log and its counts, rate limits,
/// repeated requests. Its index `due` has the hours that are not counted yet.
pub const ACTIVITY: TableLayout = TableLayout {
    name: "activity",
    indexes: &[DUE],
    ttl: Some("ttl"),
};
/// All tables.
pub const TABLES: [TableLayout; 3] = [RECORDS, SECRETS, ACTIVITY];

/// The name of the key that seals secrets in the embedded KMS.
pub const SECRETS_KEY: &str = "local";

/// The bucket of raw bytes, packs and segments.
pub const BUCKET: &str = "content";
/// The suffix of the keys of objects that clients store themselves. The bucket notifies the queue
/// [`KEEPER`] of them.
pub const UPLOAD_SUFFIX: &str = "/upload";

/// The queue of documents to process, read by the processor.
pub const PROCESS: QueueLayout = QueueLayout {
    name: "process",
    dead: "process-dead",
    function_timeout_seconds: 120,
    batch_size: 1,
};
/// The queue of processed documents to commit, read by the processor, one batch at a time for each
/// container.
pub const COMMIT: QueueLayout = QueueLayout {
    name: "commit.fifo",
    dead: "commit-dead.fifo",
    function_timeout_seconds: 120,
    batch_size: 10,
};
/// The queue of maintenance: purges, compactions and tasks. Read by the keeper.
pub const KEEPER: QueueLayout = QueueLayout {
    name: "keeper",
    dead: "keeper-dead",
    function_timeout_seconds: 120,
    batch_size: 1,
};
/// The queue of synchronizations to continue, read by the importer.
pub const SYNC: QueueLayout = QueueLayout {
    name: "sync",
    dead: "sync-dead",
    function_timeout_seconds: 120,
    batch_size: 1,
};
/// All queues.
pub const QUEUES: [QueueLayout; 4] = [PROCESS, COMMIT, KEEPER, SYNC];
