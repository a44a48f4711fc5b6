//! The index of a container.

use async_trait::async_trait;

use crate::blob::BlobRef;
use crate::container::{DocumentChange, IndexHead, LogRecord, SegmentRef};
use crate::ids::{ContainerId, DocumentId, OrgId, Revision};
use crate::ports::PortResult;
use crate::tenant::Tenant;
use crate::time::Timestamp;

/// The outcome of a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CommitOutcome {
    /// The whole commit took effect, in one transaction. Contains the ids of the purge records that
    /// it wrote.
    Done(Vec<String>),
    /// Nothing changed, because another commit was first. The head has to be read again.
    Moved,
    /// Nothing changed, because these documents have changed since they were read.
    Stale(Vec<DocumentId>),
}

/// The lease of a compaction. It saves double work; the condition of [`Index::publish_segments`] is what
/// keeps the index consistent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CompactionLease {
    /// A random token of the compaction.
    pub token: Revision,
    /// The time at which the lease expires.
    pub until: Timestamp,
}

/// The largest number of changes in one commit. Each change needs up to two of the 100 items of a
/// DynamoDB transaction, and the log entries, each with up to 16 KB of metadata, must stay below
/// the 400 KB of an item.
pub const MAX_CHANGES_PER_COMMIT: usize = 20;

/// The seconds for which the index may hold removed content before it has to be rewritten. They are
/// long enough to combine many deletions into one rewrite, and short enough to finish within 30
/// minutes together with the steps that follow (a sweep, a purge, the clean-up of files).
pub const ERASE_AFTER_SECONDS: i64 = 10 * 60;

/// The index of a container: its head, its log and its segments.
#[async_trait]
pub trait Index: Send + Sync {
    /// Returns the current head, which is the default for a container that never had a commit.
    async fn get_head(&self, tenant: &Tenant, container: &ContainerId) -> PortResult<IndexHead>;

    /// Returns the current head, and the log records that its segments do not cover, in ascending
    /// order. This is one read for a caller that has nothing of the container yet. A transaction
    /// that is under way may show its head before its record.
    async fn read_head_and_log(
        &self,
        tenant: &Tenant,
        container: &ContainerId,
    ) -> PortResult<(IndexHead, Vec<LogRecord>)>;

    /// Returns the log records after `after`, in ascending order.
    async fn read_log(
        &self,
        tenant: &Tenant,
        container: &ContainerId,
        after: u64,
    ) -> PortResult<Vec<LogRecord>>;

    /// Appends one log record and changes the documents that it concerns, all or nothing. The
    /// commit takes effect only if the newest record is still that of `head` and every document is
    /// stored as given (a [`DocumentChange::Describe`] comes with its edit counted). This condition
    /// is the fence: a late caller gets [`CommitOutcome::Moved`] or [`CommitOutcome::Stale`] and
    /// has changed nothing. The same transaction writes purge records for the bytes that the
    /// changes leave behind. The retry of a commit whose response was lost counts as `Done`. The
    /// first commit of a container sets [`IndexHead::pending_listed`], unless unfinished or failed
    /// documents are not listed as such, or there are too many documents to check that.
    async fn commit(
        &self,
        tenant: &Tenant,
        container: &ContainerId,
        head: &IndexHead,
        changes: &[DocumentChange],
        now: Timestamp,
    ) -> PortResult<CommitOutcome>;

    /// Takes the compaction lease of a container. Returns `false` if another compaction has it at `now`, or
    /// the container has no commit. The retry of a call whose response was lost returns `true`.
    async fn begin_compaction(
        &self,
        tenant: &Tenant,
        container: &ContainerId,
        lease: &CompactionLease,
        now: Timestamp,
    ) -> PortResult<bool>;

    /// Gives a lease back. Does nothing if it was given back before, or another compaction has taken it.
    async fn end_compaction(
        &self,
        tenant: &Tenant,
        container: &ContainerId,
        lease: &CompactionLease,
    ) -> PortResult<()>;

    /// Replaces the list of segments and the number of `memories` if the generation of the segments
    /// is still `expected`, and ends the compaction lease. Returns `false` otherwise.
    async fn publish_segments(
        &self,
        tenant: &Tenant,
        container: &ContainerId,
        expected: u64,
        segments: &[SegmentRef],
        memories: u64,
    ) -> PortResult<bool>;

    /// Sets [`IndexHead::pending_listed`] of an index with a commit, after
    /// [`crate::ports::Documents::add_missing_pending`].
    async fn record_pending_listed(
        &self,
        tenant: &Tenant,
        container: &ContainerId,
    ) -> PortResult<()>;

    /// Deletes log records up to and including `through`, which segments must cover. May be called
    /// again.
    async fn trim_log(
        &self,
        tenant: &Tenant,
        container: &ContainerId,
        through: u64,
    ) -> PortResult<()>;

    /// Returns containers whose index has held removed content (see
    /// [`DocumentChange::removes_content`]) for [`ERASE_AFTER_SECONDS`] before `before`, at most
    /// `limit`. Eventually consistent.
    async fn list_due_erasures(
        &self,
        before: Timestamp,
        limit: usize,
    ) -> PortResult<Vec<(OrgId, ContainerId)>>;

    /// Postpones the erasure of a container to `due_at`, if one is due:
    /// [`Index::list_due_erasures`] does not return the container before.
    async fn postpone_erasure(
        &self,
        tenant: &Tenant,
        container: &ContainerId,
        due_at: Timestamp,
    ) -> PortResult<()>;

    /// Records that no segment and no log record holds the content that was removed up to the log
    /// record `through`. The container is no longer due for erasure, unless more content has been
    /// removed since.
    async fn record_erasure(
        &self,
        tenant: &Tenant,
        container: &ContainerId,
        through: u64,
    ) -> PortResult<()>;

    /// Returns the blobs of a purge record.
    async fn get_purge(
        &self,
        tenant: &Tenant,
        container: &ContainerId,
        purge: &str,
    ) -> PortResult<Option<Vec<BlobRef>>>;

    /// Records blobs that are no longer needed, and returns the id of the purge record.
    async fn record_purge(
        &self,
        tenant: &Tenant,
        container: &ContainerId,
        blobs: &[BlobRef],
        now: Timestamp,
    ) -> PortResult<String>;

    /// Returns the names of at most `limit` items of the index: purge records first, the head last.
    async fn list_items(
        &self,
        tenant: &Tenant,
        container: &ContainerId,
        limit: usize,
    ) -> PortResult<Vec<String>>;

    /// Deletes the items with these names regardless of their state, for an index that is deleted.
    /// Items that are already gone are ignored.
    async fn delete_items(
        &self,
        tenant: &Tenant,
        container: &ContainerId,
        items: &[String],
    ) -> PortResult<()>;

    /// Deletes a purge record whose blobs have been deleted.
    async fn delete_purge(
        &self,
        tenant: &Tenant,
        container: &ContainerId,
        purge: &str,
    ) -> PortResult<()>;
}
