//! Document records and unfinished work.

use std::slice;

use async_trait::async_trait;

use crate::blob::BlobRef;
use crate::document::{Document, DocumentStatus, ProcessingFailure};
use crate::ids::{ContainerId, DocumentId, OrgId, Revision, TaskId};
use crate::ports::PortResult;
use crate::tenant::Tenant;
use crate::time::Timestamp;

/// The result of claiming a document for a worker.
#[derive(Debug)]
pub enum ClaimOutcome {
    /// The worker has the document until the lease ends.
    Claimed(Box<Document>),
    /// Another worker has the document.
    Busy,
    /// The document or this revision of it is no longer wanted, or is already final.
    Outdated,
}

/// Unfinished work that is overdue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OverdueWork {
    /// A document that no worker has finished.
    Document(OrgId, DocumentId),
    /// A purge that has not been done.
    Purge(OrgId, ContainerId, String),
    /// A task that no worker has continued.
    Task(OrgId, TaskId),
}

impl OverdueWork {
    /// Returns the tenant on whose behalf the work is done.
    pub fn tenant(&self) -> Tenant {
        match self {
            Self::Document(org, _) | Self::Purge(org, _, _) | Self::Task(org, _) => {
                Tenant::for_work(org.clone())
            }
        }
    }
}

/// A listing of a container's documents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DocumentListing {
    /// All but the superseded ones, oldest first.
    OldestFirst,
    /// All but the superseded ones, newest first.
    NewestFirst,
    /// The superseded ones, oldest first.
    Superseded,
}

/// What is stored under the id of a document.
#[derive(Debug, Clone, PartialEq)]
pub enum DocumentEntry {
    /// The document.
    Document(Box<Document>),
    /// A reference to the document that had got the `customId` from which the id is derived when it
    /// had an id already. It is outdated if that document is gone or has another `customId`.
    Reference(DocumentId),
}

/// An id where the document with a `customId` could be, and what was found there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AlternativeId {
    /// The id.
    pub id: DocumentId,
    /// The revision of the document that has the id and another `customId` or container, or `None`
    /// if there is no document or a merge has superseded it.
    pub taken_by: Option<Revision>,
}

impl AlternativeId {
    /// Returns an id under which this document was found, or none.
    pub fn found(id: DocumentId, document: Option<&Document>) -> Self {
        let taken_by = document
            .filter(|document| document.superseded_by.is_none())
            .map(|document| document.revision.clone());
        Self { id, taken_by }
    }
}

/// The reference by which a `customId` leads to a document with another id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CustomIdReference {
    /// The id that is derived from the `customId`.
    pub id: DocumentId,
    /// The outdated reference that is stored there, if there is one.
    pub replaces: Option<DocumentId>,
}

/// The conditions for a new document, in addition to there being no record of it yet.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CreationConditions {
    /// The other ids that a document with its `customId` could have. They must still be as they
    /// were found.
    pub alternatives: Vec<AlternativeId>,
    /// The outdated reference that is stored under the id and may be replaced.
    pub replaces: Option<DocumentId>,
    /// The reference by which the `customId` leads to the document, if its id does not. It is written with
    /// the document.
    pub reference: Option<CustomIdReference>,
    /// The key under which [`crate::ports::IdempotencyStore`] remembers the request. The request must
    /// not have created a document with this id before, and is remembered as having created it from
    /// now on.
    pub request_key: Option<String>,
}

/// The time that a new record may wait for its message before the sweep sends the message again.
pub const OVERDUE_AFTER_SECONDS: i64 = 60;

/// Document records. Every change names the revision that it concerns, and does nothing when that
/// revision is no longer the newest.
#[async_trait]
pub trait Documents: Send + Sync {
    /// Returns the records, in the order asked.
    async fn get(&self, tenant: &Tenant, ids: &[DocumentId]) -> PortResult<Vec<Option<Document>>>;

    /// Returns one record.
    async fn get_one(&self, tenant: &Tenant, id: &DocumentId) -> PortResult<Option<Document>> {
        Ok(self.get(tenant, slice::from_ref(id)).await?.pop().flatten())
    }

    /// Returns what is stored under these ids, in the order asked. [`Documents::get`] leaves
    /// references out.
    async fn find(
        &self,
        tenant: &Tenant,
        ids: &[DocumentId],
    ) -> PortResult<Vec<Option<DocumentEntry>>>;

    /// Writes a whole record with a new revision, atomically with a purge record for `unused_blobs`
    /// if there is any. Fails with [`crate::PortError::Conflict`] unless the stored revision is
    /// `expected` (`None` means that there is no record), and the indexed content and the number of
    /// edits are those in `document`. An earlier write of the same revision counts as success,
    /// because a write whose response was lost is sent again.
    async fn accept_revision(
        &self,
        tenant: &Tenant,
        document: &Document,
        expected: Option<&Revision>,
        unused_blobs: &[BlobRef],
    ) -> PortResult<()>;

    /// Writes the record of a new document, in one transaction with the conditions of
    /// `creation_conditions`. Fails with [`crate::PortError::Conflict`] when a record already
    /// exists or a condition does not hold; the caller then reads again and decides anew. An
    /// earlier write of the same revision counts as success.
    async fn create(
        &self,
        tenant: &Tenant,
        document: &Document,
        creation_conditions: &CreationConditions,
    ) -> PortResult<()>;

    /// Replaces the caller's information about a document (metadata, path) and counts the edit, if
    /// the stored record still has the revision of `document` and one edit less. Returns `false`
    /// otherwise. Only for documents that search does not serve; documents that it serves are
    /// changed by a commit.
    async fn update_description(
        &self,
        tenant: &Tenant,
        document: &Document,
        now: Timestamp,
    ) -> PortResult<bool>;

    /// Takes a lease on an unfinished revision, moves it to `extracting` and counts the attempt.
    /// The document becomes overdue after `lease_until`.
    async fn claim_revision(
        &self,
        tenant: &Tenant,
        id: &DocumentId,
        revision: &Revision,
        now: Timestamp,
        lease_until: Timestamp,
    ) -> PortResult<ClaimOutcome>;

    /// Puts an unfinished revision back to `queued`, because the file has not arrived, or because the holder
    /// of the lease in `claimed` is being stopped. The attempt does not count, and the document becomes
    /// overdue after `overdue_at`. Returns `false` when the revision is no longer wanted or belongs
    /// to another worker.
    async fn requeue_until(
        &self,
        tenant: &Tenant,
        claimed: &Document,
        overdue_at: Timestamp,
    ) -> PortResult<bool>;

    /// Records the new location of the bytes of an unfinished revision and restarts the count of
    /// its attempts. Returns `false` when the revision is no longer wanted.
    async fn record_body(&self, tenant: &Tenant, document: &Document) -> PortResult<bool>;

    /// Moves an unfinished revision to `status`. Returns `false` when the revision is no longer
    /// wanted.
    async fn advance_status(
        &self,
        tenant: &Tenant,
        id: &DocumentId,
        revision: &Revision,
        status: DocumentStatus,
        now: Timestamp,
    ) -> PortResult<bool>;

    /// Records the results of processing (kind, title, properties, pack) and moves the revision to
    /// `indexing`. Returns `false` when the revision is no longer wanted.
    async fn record_extracted(
        &self,
        tenant: &Tenant,
        document: &Document,
        now: Timestamp,
    ) -> PortResult<bool>;

    /// Ends a revision as `failed`; search continues to serve what it served before. Returns
    /// `false` when the revision is no longer wanted, or when a `lease` is given that the document
    /// no longer has, so that a late worker decides nothing.
    async fn fail_revision(
        &self,
        tenant: &Tenant,
        id: &DocumentId,
        revision: &Revision,
        failure: &ProcessingFailure,
        lease: Option<Timestamp>,
        now: Timestamp,
    ) -> PortResult<bool>;

    /// Ends as `failed` a document that was `done` but whose stored bytes cannot be read. Its
    /// indexed content stays as recorded. Returns `false` when the document has changed since it
    /// was read.
    async fn fail_damaged(
        &self,
        tenant: &Tenant,
        document: &Document,
        failure: &ProcessingFailure,
        now: Timestamp,
    ) -> PortResult<bool>;

    /// Ends the lease that was read, until `lease_until`, and sets the time at which the unfinished revision is
    /// overdue again. Returns `false` when another worker has taken a lease since, or the revision is no
    /// longer wanted.
    async fn postpone_revision(
        &self,
        tenant: &Tenant,
        id: &DocumentId,
        revision: &Revision,
        lease_until: Timestamp,
        overdue_at: Timestamp,
    ) -> PortResult<bool>;

    /// Returns all documents of a container, newest first. On AWS, documents that were written
    /// within the last second may be missing.
    async fn list(&self, tenant: &Tenant, container: &ContainerId) -> PortResult<Vec<Document>>;

    /// Returns a page of a listing of a container's documents by creation, then id. The page starts at
    /// `after`, a position that an earlier page of the same listing returned. The second part is the
    /// position of the next page, or `None` after the last page. The position of a document changes
    /// only if it is superseded. As with [`Documents::list`], documents that were written within the
    /// last second may be missing.
    async fn list_page(
        &self,
        tenant: &Tenant,
        container: &ContainerId,
        listing: DocumentListing,
        after: Option<&str>,
        limit: usize,
    ) -> PortResult<(Vec<Document>, Option<String>)>;

    /// Returns a page of the ids of a container's documents that are unfinished or failed, in the
    /// order of [`DocumentListing::OldestFirst`], and the position of the next page. All of them are found if
    /// [`crate::IndexHead::pending_listed`] is set. A document that has changed within the last
    /// second may be missing, or be listed although it is done.
    async fn list_pending(
        &self,
        tenant: &Tenant,
        container: &ContainerId,
        after: Option<&str>,
        limit: usize,
    ) -> PortResult<(Vec<DocumentId>, Option<String>)>;

    /// Counts the documents of [`Documents::list_pending`] of which search serves nothing.
    async fn count_unserved(&self, tenant: &Tenant, container: &ContainerId) -> PortResult<usize>;

    /// Adds the documents that [`Documents::list_pending`] misses because they were accepted before
    /// such documents were listed. Repeating it does no harm.
    async fn add_missing_pending(&self, tenant: &Tenant, container: &ContainerId)
    -> PortResult<()>;

    /// Counts the documents of a container, without superseded ones. The count is exact up to
    /// `limit`, and `None` above.
    async fn count(
        &self,
        tenant: &Tenant,
        container: &ContainerId,
        limit: usize,
    ) -> PortResult<Option<usize>>;

    /// Counts the unfinished documents of the organization, up to `limit`. Eventually consistent
    /// and bounded in cost: while all organizations together have very many unfinished documents,
    /// the count may be too low.
    async fn count_unfinished(&self, tenant: &Tenant, limit: usize) -> PortResult<usize>;

    /// Deletes document records regardless of their state, for documents of a deleted container.
    /// Records that are already gone are ignored, and so are those of other containers: a new document may
    /// have got the id meanwhile.
    async fn erase_records(
        &self,
        tenant: &Tenant,
        container: &ContainerId,
        ids: &[DocumentId],
    ) -> PortResult<()>;

    /// Returns unfinished work that was due before `before`, oldest first, at most `limit`.
    /// Eventually consistent.
    async fn list_overdue(&self, before: Timestamp, limit: usize) -> PortResult<Vec<OverdueWork>>;
}
