//! What has to exist: tables, bucket, queues and a key, described once. Embedded mode creates them from here, and a test holds
//! `template.yaml` equal to it.

/// A DynamoDB table: string keys `pk` and `sk`, on-demand billing, no local index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TableLayout {
    /// The part of its name that is the same in every deployment.
    pub name: &'static str,
    /// Global secondary indexes.
    pub indexes: &'static [IndexLayout],
    /// The attribute that holds the time, in seconds, after which DynamoDB may delete an item.
    pub ttl: Option<&'static str>,
}

/// A global secondary index with string keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IndexLayout {
    /// Its name.
    pub name: &'static str,
    /// Partition key.
    pub hash: &'static str,
    /// Sort key.
    pub range: &'static str,
    /// Whether it carries whole items, or the keys only.
    pub project_all: bool,
}

/// An SQS queue with its dead-letter queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueueLayout {
    /// The part of its name that is the same in every deployment; FIFO queues end with `.fifo`.
    pub name: &'static str,
    /// Its dead-letter queue.
    pub dead: &'static str,
    /// The time-out of the function that reads it. A received message stays hidden six times as long, as AWS advises.
    pub function_timeout_seconds: u32,
    /// How many messages its function takes at a time.
    pub batch_size: u32,
}

impl QueueLayout {
    /// Whether messages of a group come one batch at a time.
    pub const fn is_fifo(&self) -> bool {
        let name = self.name.as_bytes();
        name.len() > 5 && name[name.len() - 5] == b'.'
    }

    /// How long a received message stays hidden.
    pub const fn visibility_seconds(&self) -> u32 {
        6 * self.function_timeout_seconds
    }
}

/// How often a message is tried before it goes to the dead-letter queue.
pub const MAX_RECEIVE_COUNT: u32 = 5;

/// Listing a container's documents by time of creation.
pub const BY_CONTAINER: IndexLayout = IndexLayout {
    name: "by-container",
    hash: "gl",
    range: "gs",
    project_all: true,
};
/// Unfinished work by the time it counts as overdue; sparse.
pub const DUE: IndexLayout = IndexLayout {
    name: "due",
    hash: "qs",
    range: "qd",
    project_all: false,
};

/// Documents, containers, indexes and small blobs.
pub const RECORDS: TableLayout = TableLayout {
    name: "records",
    indexes: &[BY_CONTAINER, DUE],
    ttl: None,
};
/// API key hashes and sealed secrets. Sessions expire by themselves.
pub const SECRETS: TableLayout = TableLayout {
    name: "secrets",
    indexes: &[],
    ttl: Some("ttl"),
};
/// What expires by itself: the request log and its counts, rate limits, repeated requests. Of what is due in it, the
/// hours that nobody has counted yet.
pub const ACTIVITY: TableLayout = TableLayout {
    name: "activity",
    indexes: &[DUE],
    ttl: Some("ttl"),
};
/// All tables.
pub const TABLES: [TableLayout; 3] = [RECORDS, SECRETS, ACTIVITY];

/// The key that seals secrets, as the embedded KMS knows it.
pub const SECRETS_KEY: &str = "local";

/// The bucket of raw bytes, packs and segments.
pub const BUCKET: &str = "content";
/// What the keys of objects end in that clients store themselves. The bucket tells the queue [`KEEPER`] about them.
pub const UPLOAD_SUFFIX: &str = "/upload";

/// Documents to process, read by the processor.
pub const PROCESS: QueueLayout = QueueLayout {
    name: "process",
    dead: "process-dead",
    function_timeout_seconds: 120,
    batch_size: 1,
};
/// Processed documents to commit, one batch at a time per container, read by the processor.
pub const COMMIT: QueueLayout = QueueLayout {
    name: "commit.fifo",
    dead: "commit-dead.fifo",
    function_timeout_seconds: 120,
    batch_size: 10,
};
/// Purges and compactions, read by the keeper.
pub const KEEPER: QueueLayout = QueueLayout {
    name: "keeper",
    dead: "keeper-dead",
    function_timeout_seconds: 120,
    batch_size: 1,
};
/// Connections to move on, read by the importer.
pub const SYNC: QueueLayout = QueueLayout {
    name: "sync",
    dead: "sync-dead",
    function_timeout_seconds: 120,
    batch_size: 1,
};
/// All queues.
pub const QUEUES: [QueueLayout; 4] = [PROCESS, COMMIT, KEEPER, SYNC];
