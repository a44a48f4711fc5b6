//! Document records, and what is unfinished.

use crate::blob::BlobRef;
use crate::document::Document;
use crate::document::Failure;
use crate::document::Status;
use crate::ids::ContainerId;
use crate::ids::DocumentId;
use crate::ids::OrgId;
use crate::ids::Revision;
use crate::ids::TaskId;
use crate::ports::PortResult;
use crate::tenant::Tenant;
use crate::time::Timestamp;
use async_trait::async_trait;

/// What happened when a worker wanted a document for itself.
#[derive(Debug)]
pub enum Claim {
    /// It has it until the lease ends.
    Mine(Box<Document>),
    /// Another worker has it.
    Busy,
    /// The document, or this content of it, is no longer wanted or already final.
    Gone,
}

/// Something unfinished whose time has come.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Overdue {
    /// A document that no worker has finished.
    Document(OrgId, DocumentId),
    /// A purge that has not been done.
    Purge(OrgId, ContainerId, String),
    /// A task that nobody has moved on.
    Task(OrgId, TaskId),
}

impl Overdue {
    /// The tenant to act for.
    pub fn tenant(&self) -> Tenant {
        match self {
            Self::Document(org, _) | Self::Purge(org, _, _) | Self::Task(org, _) => {
                Tenant::of_work(org.clone())
            }
        }
    }
}

/// What has to hold, beside there being no record yet, for a document to begin.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Beginning {
    /// Where else a document of its customId could lie: nothing is there, or only what a merge has superseded.
    pub rivals: Vec<DocumentId>,
    /// The key under which [`crate::ports::Repeats`] remembers the request: no document with this id was made by it
    /// before, and from now on one was.
    pub request: Option<String>,
}

/// How long a fresh record may wait for its message before the sweeper sends it again.
pub const OVERDUE_AFTER_SECONDS: i64 = 60;

/// Document records. Every change names the revision it is about and does nothing when that is no longer the newest.
#[async_trait]
pub trait Documents: Send + Sync {
    /// The records, in the order asked.
    async fn get(&self, tenant: &Tenant, ids: &[DocumentId]) -> PortResult<Vec<Option<Document>>>;

    /// Writes a whole record with a new revision, atomically with a purge record for `garbage` where there is any.
    /// Fails with [`PortError::Conflict`] unless the stored revision is `expected` (`None`: there is no record), search
    /// serves what `document` says it does, and it was edited as often as `document` says. Our own earlier write of the
    /// same revision counts as success, because a lost answer is sent again.
    async fn accept(
        &self,
        tenant: &Tenant,
        document: &Document,
        expected: Option<&Revision>,
        garbage: &[BlobRef],
    ) -> PortResult<()>;

    /// Writes the record of a document that begins, in one transaction with what `beginning` says. Fails with
    /// [`PortError::Conflict`] when there is a record already, or something else that has to hold does not: whoever asked
    /// decides again from what is there. Our own earlier write of the same revision counts as success.
    async fn begin(
        &self,
        tenant: &Tenant,
        document: &Document,
        beginning: &Beginning,
    ) -> PortResult<()>;

    /// Replaces what the caller says about a document (metadata, path) and counts the edit, if the stored record still
    /// has its revision and one edit less than `document`; `false` when it has not. For documents that search does not
    /// serve; those that it serves change by a commit.
    async fn describe(
        &self,
        tenant: &Tenant,
        document: &Document,
        now: Timestamp,
    ) -> PortResult<bool>;

    /// Takes a lease on an unfinished revision, moves it to `extracting` and counts the attempt.
    /// The document turns up as overdue after `lease_until`.
    async fn claim(
        &self,
        tenant: &Tenant,
        id: &DocumentId,
        revision: &Revision,
        now: Timestamp,
        lease_until: Timestamp,
    ) -> PortResult<Claim>;

    /// Puts an unfinished revision back to `queued`, as `claimed` with its lease found that its file has not arrived: the
    /// attempt does not count, and it turns up as overdue after `overdue_at`. `false` when it is no longer wanted, or
    /// another worker's.
    async fn wait_on(
        &self,
        tenant: &Tenant,
        claimed: &Document,
        overdue_at: Timestamp,
    ) -> PortResult<bool>;

    /// Records where the bytes of an unfinished revision lie from now on, from which its attempts count anew; `false` when
    /// it is no longer wanted.
    async fn keep_body(&self, tenant: &Tenant, document: &Document) -> PortResult<bool>;

    /// Moves an unfinished revision to `status`; `false` when it is no longer wanted.
    async fn advance(
        &self,
        tenant: &Tenant,
        id: &DocumentId,
        revision: &Revision,
        status: Status,
        now: Timestamp,
    ) -> PortResult<bool>;

    /// Records what processing found out (kind, title, properties, pack) and moves to `indexing`; `false` when the revision is no longer wanted.
    async fn record_extracted(
        &self,
        tenant: &Tenant,
        document: &Document,
        now: Timestamp,
    ) -> PortResult<bool>;

    /// Ends a revision as `failed`; what search served before stays. `false` when it is no longer wanted, or when a
    /// `lease` is given and is no longer the document's: a worker that comes too late decides nothing.
    async fn fail(
        &self,
        tenant: &Tenant,
        id: &DocumentId,
        revision: &Revision,
        failure: &Failure,
        lease: Option<Timestamp>,
        now: Timestamp,
    ) -> PortResult<bool>;

    /// Ends a document as `failed` that was `done` and whose stored bytes cannot be read; what it is said to serve stays.
    /// `false` when it has changed since it was read.
    async fn fail_damaged(
        &self,
        tenant: &Tenant,
        document: &Document,
        failure: &Failure,
        now: Timestamp,
    ) -> PortResult<bool>;

    /// Ends any lease and sets when the unfinished revision counts as overdue again; `false` when not wanted.
    async fn postpone(
        &self,
        tenant: &Tenant,
        id: &DocumentId,
        revision: &Revision,
        overdue_at: Timestamp,
    ) -> PortResult<bool>;

    /// All documents of a container, newest first. May miss what was written within the last second on AWS.
    async fn list(&self, tenant: &Tenant, container: &ContainerId) -> PortResult<Vec<Document>>;

    /// A page of a container's documents, oldest first, of those that were superseded or of all others, from `after` on,
    /// which an earlier page told. The second part is where the next page begins; `None` after the last one. As
    /// [`Documents::list`], it may miss what was written within the last second.
    async fn page(
        &self,
        tenant: &Tenant,
        container: &ContainerId,
        superseded: bool,
        after: Option<&str>,
        limit: usize,
    ) -> PortResult<(Vec<Document>, Option<String>)>;

    /// How many documents a container has, those that were superseded not counted: exact up to `enough`, above that
    /// `None`.
    async fn count(
        &self,
        tenant: &Tenant,
        container: &ContainerId,
        enough: usize,
    ) -> PortResult<Option<usize>>;

    /// How many documents of the organization are unfinished, up to `enough`. Eventually consistent, and bounded in cost:
    /// while all organizations together have very many, it may be too low.
    async fn count_unfinished(&self, tenant: &Tenant, enough: usize) -> PortResult<usize>;

    /// Deletes the records of documents, whatever they hold: for those of a container that is gone. One that is already
    /// gone is fine.
    async fn erase(&self, tenant: &Tenant, ids: &[DocumentId]) -> PortResult<()>;

    /// Unfinished work whose time came before `before`, oldest first, at most `limit`. Eventually consistent.
    async fn overdue(&self, before: Timestamp, limit: usize) -> PortResult<Vec<Overdue>>;
}
