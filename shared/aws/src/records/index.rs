//! The records of a container's index: head, log and purges.

use domain::container::LogEntry;
use domain::ports::PortResult;
use domain::{
    BlobRef, ContainerId, IndexHead, LogRecord, PortError, SegmentRef, Tenant, Timestamp,
};

use super::{DueRecord, Item, Json, add_record, read_record, read_sort_key, record_item};
use crate::table_keys;

record! {
    /// The head of an index. While removed content is due for erasure, it also has [`DueRecord`].
    struct HeadRecord, HeadAttributes {
        /// The number of the last log record. A head that only has segments has none.
        #[serde(rename = "seq")]
        last_sequence: Option<u64>,
        #[serde(rename = "segs")]
        segments: Option<Json<Vec<SegmentRef>>>,
        #[serde(rename = "gen")]
        generation: Option<u64>,
        #[serde(rename = "docs")]
        document_count: Option<u64>,
        #[serde(rename = "mems")]
        memory_count: Option<u64>,
        /// The number of the last log record that removed content.
        #[serde(rename = "rms")]
        last_removal: Option<u64>,
        /// The number of the last log record if the index `pending` has all documents of the
        /// container that belong there. A program without that index commits without this number.
        #[serde(rename = "pl")]
        pending_listed_at: Option<u64>,
        /// The token that the first commit has given to the head.
        #[serde(rename = "inc")]
        incarnation: Option<String>,
        /// The token of the compaction that has the lease.
        #[serde(rename = "lt")]
        lease_token: Option<String>,
        /// The time in milliseconds at which the lease expires.
        #[serde(rename = "lu")]
        lease_until: Option<i64>,
    }
}

record! {
    /// The log record of a commit. Its number is in the key.
    struct CommitRecord, CommitAttributes {
        /// The random token that identifies the commit.
        #[serde(rename = "token")]
        token: String,
        #[serde(rename = "entries")]
        entries: Json<Vec<LogEntry>>,
    }
}

record! {
    /// A purge record: blobs that nothing refers to any more. It also has [`DueRecord`].
    struct PurgeRecord, PurgeAttributes {
        #[serde(rename = "blobs")]
        blobs: Json<Vec<BlobRef>>,
    }
}

/// Reads a head from its item.
pub(crate) fn read_head(item: Item) -> PortResult<IndexHead> {
    let record: HeadRecord = read_record(item)?;
    Ok(IndexHead {
        seq: record.last_sequence.unwrap_or(0),
        segments: Json::decode_option(record.segments)?.unwrap_or_default(),
        generation: record.generation.unwrap_or(0),
        document_count: record.document_count,
        memories: record.memory_count,
        last_removal: record.last_removal,
        pending_listed: record.pending_listed_at.is_some()
            && record.pending_listed_at == record.last_sequence,
        incarnation: record.incarnation,
    })
}

/// Returns the item of the log record `seq`.
pub(crate) fn commit_item(
    tenant: &Tenant,
    container: &ContainerId,
    seq: u64,
    token: &str,
    entries: &[LogEntry],
) -> PortResult<Item> {
    let record = CommitRecord {
        token: token.to_owned(),
        entries: Json::encode(entries)?,
    };
    record_item(&table_keys::log_key(tenant, container, seq), &record)
}

/// Reads a log record from its item.
pub(crate) fn read_commit(item: Item) -> PortResult<LogRecord> {
    let Some(seq) = table_keys::parse_log_sort_key(read_sort_key(&item)?) else {
        return Err(PortError::Corrupt("log record".into()));
    };
    let record: CommitRecord = read_record(item)?;
    let entries = record.entries.decode()?;

    Ok(LogRecord { seq, entries })
}

/// Returns the item of a purge record. The sweep finds it from `overdue_at` on.
pub(crate) fn purge_item(
    tenant: &Tenant,
    container: &ContainerId,
    purge: &str,
    blobs: &[BlobRef],
    overdue_at: Timestamp,
) -> PortResult<Item> {
    let record = PurgeRecord {
        blobs: Json::encode(blobs)?,
    };

    let mut item = record_item(&table_keys::purge_key(tenant, container, purge), &record)?;
    let shard = table_keys::due_partition(purge);
    add_record(&mut item, &DueRecord::new(shard, overdue_at))?;
    Ok(item)
}

/// Reads the blobs of a purge record from its item.
pub(crate) fn read_purge(item: Item) -> PortResult<Vec<BlobRef>> {
    let record: PurgeRecord = read_record(item)?;
    record.blobs.decode()
}
