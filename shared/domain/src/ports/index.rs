//! A container's index.

use crate::blob::BlobRef;
use crate::container::Change;
use crate::container::IndexHead;
use crate::container::LogRecord;
use crate::container::SegmentRef;
use crate::ids::ContainerId;
use crate::ids::DocumentId;
use crate::ids::OrgId;
use crate::ports::PortResult;
use crate::tenant::Tenant;
use crate::time::Timestamp;
use async_trait::async_trait;

/// How a commit ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Committed {
    /// All of it happened, in one transaction. The ids of the purge records it wrote.
    Done(Vec<String>),
    /// Nothing happened: another commit was first. Read the head again.
    Moved,
    /// Nothing happened: these documents have changed since they were read.
    Stale(Vec<DocumentId>),
}

/// The most changes in one commit: each needs up to two of the 100 items of a DynamoDB transaction, and their log
/// entries with 16 KB of metadata each must stay below an item's 400 KB.
pub const MAX_CHANGES: usize = 20;

/// How long the index may hold what was taken away before it is due to be written anew: so long that many deletions are
/// one rewriting, and so short that with what follows (a sweep, a purge, the clean-up of files) 30 minutes are kept.
pub const ERASE_AFTER_SECONDS: i64 = 10 * 60;

/// A container's index: its head, its log and its segments.
#[async_trait]
pub trait Index: Send + Sync {
    /// The present head; the default one for a container that never had a commit.
    async fn head(&self, tenant: &Tenant, container: &ContainerId) -> PortResult<IndexHead>;

    /// The log records after `after`, ascending.
    async fn log(
        &self,
        tenant: &Tenant,
        container: &ContainerId,
        after: u64,
    ) -> PortResult<Vec<LogRecord>>;

    /// Appends one log record and changes the documents it is about, all or nothing, if the newest record is still that
    /// of `head` and every document is as given (a [`Change::Describe`] comes with its edit counted). This condition is the fence: whoever is late gets
    /// [`Committed::Moved`] or [`Committed::Stale`] and has changed nothing. The bytes that the changes leave behind
    /// get purge records in the same transaction. Our own earlier commit whose answer was lost counts as `Done`.
    async fn commit(
        &self,
        tenant: &Tenant,
        container: &ContainerId,
        head: &IndexHead,
        changes: &[Change],
        now: Timestamp,
    ) -> PortResult<Committed>;

    /// Replaces the list of segments, and how many `memories` there are, if their generation is still `expected`; `false`
    /// when it is not.
    async fn publish(
        &self,
        tenant: &Tenant,
        container: &ContainerId,
        expected: u64,
        segments: &[SegmentRef],
        memories: u64,
    ) -> PortResult<bool>;

    /// Deletes log records up to and including `through`, which segments must cover. May be called again.
    async fn trim(&self, tenant: &Tenant, container: &ContainerId, through: u64) -> PortResult<()>;

    /// Containers whose index has held what was taken away (see [`Change::takes_away`]) for [`ERASE_AFTER_SECONDS`]
    /// before `before`, at most `limit`. Eventually consistent.
    async fn due_erasures(
        &self,
        before: Timestamp,
        limit: usize,
    ) -> PortResult<Vec<(OrgId, ContainerId)>>;

    /// Has a container counted among [`Index::due_erasures`] not before `due_at`, if it counts at all.
    async fn postpone_erasure(
        &self,
        tenant: &Tenant,
        container: &ContainerId,
        due_at: Timestamp,
    ) -> PortResult<()>;

    /// Says that no segment and no log record holds what was taken away up to the log record `through`. The container is
    /// no longer due, unless more was taken away since then.
    async fn erased(
        &self,
        tenant: &Tenant,
        container: &ContainerId,
        through: u64,
    ) -> PortResult<()>;

    /// The blobs of a purge record.
    async fn purge(
        &self,
        tenant: &Tenant,
        container: &ContainerId,
        purge: &str,
    ) -> PortResult<Option<Vec<BlobRef>>>;

    /// Records blobs that nobody needs any more.
    async fn record_purge(
        &self,
        tenant: &Tenant,
        container: &ContainerId,
        blobs: &[BlobRef],
        now: Timestamp,
    ) -> PortResult<String>;

    /// The names of at most `limit` items of the index: purge records first, the head last.
    async fn items(
        &self,
        tenant: &Tenant,
        container: &ContainerId,
        limit: usize,
    ) -> PortResult<Vec<String>>;

    /// Deletes items by these names, whatever they hold: for an index that is gone. One that is already gone is fine.
    async fn erase(
        &self,
        tenant: &Tenant,
        container: &ContainerId,
        items: &[String],
    ) -> PortResult<()>;

    /// Deletes a purge record whose blobs are gone.
    async fn forget_purge(
        &self,
        tenant: &Tenant,
        container: &ContainerId,
        purge: &str,
    ) -> PortResult<()>;
}
