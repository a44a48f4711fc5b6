//! What storage must promise. Each trait is one consistency boundary; the adapters' conformance suite is the same text
//! as tests.
//!
//! Common to all: a method that returns `Ok` has happened durably; one that returns [`PortError::Unavailable`] may or
//! may not have happened and may be called again; absence is `Ok(None)`. Reads are strongly consistent unless the
//! method says otherwise.

use async_trait::async_trait;
use bytes::Bytes;

use crate::blob::BlobRef;
use crate::container::{Change, Container, ContainerChange, IndexHead, LogRecord, SegmentRef};
use crate::document::{Document, Failure, Status};
use crate::error::PortError;
use crate::ids::{ContainerId, DocumentId, KeyId, OrgId, Revision};
use crate::job::Envelope;
use crate::key::ApiKey;
use crate::settings::Settings;
use crate::tag::ContainerTag;
use crate::tenant::Tenant;
use crate::time::Timestamp;

/// The result of a port.
pub type PortResult<T> = Result<T, PortError>;

/// Bytes that are written once and never changed.
#[async_trait]
pub trait Blobs: Send + Sync {
    /// Stores bytes under a path that is never used for other bytes. Storing the same again is harmless.
    async fn put(&self, tenant: &Tenant, path: &str, bytes: Bytes) -> PortResult<BlobRef>;

    /// Reads the blobs, in the order asked; `None` for one that is not there.
    async fn get(&self, tenant: &Tenant, blobs: &[BlobRef]) -> PortResult<Vec<Option<Bytes>>>;

    /// Deletes blobs; one that is already gone is fine.
    async fn delete(&self, tenant: &Tenant, blobs: &[BlobRef]) -> PortResult<()>;

    /// Stores bytes as an object of their own, whatever their size, so that a client can fetch them by a signed address.
    async fn put_object(&self, tenant: &Tenant, path: &str, bytes: Bytes) -> PortResult<BlobRef>;

    /// A form with which a client may store one object of 1 to `max_bytes` bytes at `path`, until `until`.
    async fn upload_form(
        &self,
        tenant: &Tenant,
        path: &str,
        max_bytes: u64,
        now: Timestamp,
        until: Timestamp,
    ) -> PortResult<UploadForm>;

    /// An address from which anybody can read the object for `seconds` from `now`, as a download named `name`; `None`
    /// for bytes that are not an object.
    async fn download_url(
        &self,
        tenant: &Tenant,
        blob: &BlobRef,
        name: Option<&str>,
        now: Timestamp,
        seconds: u32,
    ) -> PortResult<Option<String>>;

    /// What a notification of the object store says has arrived; `None` when the message is none. Pure.
    fn arrivals(&self, message: &str) -> Option<Vec<Arrival>>;
}

/// Where and with which fields a client posts a file; the part `file` comes last.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UploadForm {
    /// The address to post to.
    pub url: String,
    /// The fields of the form, in order.
    pub fields: Vec<(String, String)>,
}

/// An object that a client has stored by an [`UploadForm`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Arrival {
    /// Whose.
    pub org: OrgId,
    /// Where, as [`Blobs::upload_form`] was told.
    pub path: String,
}

/// Container tags.
#[async_trait]
pub trait Containers: Send + Sync {
    /// The container behind a tag.
    async fn get(&self, tenant: &Tenant, tag: &ContainerTag) -> PortResult<Option<Container>>;

    /// Makes the tag point to `id`, unless somebody was first; returns what the tag points to now.
    async fn create(
        &self,
        tenant: &Tenant,
        tag: &ContainerTag,
        id: ContainerId,
        now: Timestamp,
    ) -> PortResult<Container>;

    /// All containers of the organization, by tag.
    async fn list(&self, tenant: &Tenant) -> PortResult<Vec<Container>>;

    /// Replaces what the caller says that the tag's content is about; the last one stays. `false` without such a tag.
    async fn set_context(&self, tenant: &Tenant, tag: &ContainerTag, context: &str) -> PortResult<bool>;

    /// Changes what the caller says about the tag, in one write that makes it point to `id` if it points nowhere yet;
    /// returns what is stored then. Fields that the change keeps are not written, so changes of different fields at
    /// the same time all hold. Doing it again changes nothing more.
    async fn describe(
        &self,
        tenant: &Tenant,
        tag: &ContainerTag,
        change: &ContainerChange,
        id: ContainerId,
        now: Timestamp,
    ) -> PortResult<Container>;
}

/// Settings of organizations.
#[async_trait]
pub trait SettingsStore: Send + Sync {
    /// The organization's settings; the default ones before anything was set.
    async fn get(&self, tenant: &Tenant) -> PortResult<Settings>;

    /// Stores settings whose `version` is one more than what is stored; [`PortError::Conflict`] when somebody was first.
    async fn put(&self, tenant: &Tenant, settings: &Settings) -> PortResult<()>;
}

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
}

impl Overdue {
    /// The tenant to act for.
    pub fn tenant(&self) -> Tenant {
        match self {
            Self::Document(org, _) | Self::Purge(org, _, _) => Tenant::of_work(org.clone()),
        }
    }
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

    /// Replaces what the caller says about a document (metadata, path) and counts the edit, if the stored record still
    /// has its revision and one edit less than `document`; `false` when it has not. For documents that search does not
    /// serve; those that it serves change by a commit.
    async fn describe(&self, tenant: &Tenant, document: &Document, now: Timestamp) -> PortResult<bool>;

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

    /// Unfinished work whose time came before `before`, oldest first, at most `limit`. Eventually consistent.
    async fn overdue(&self, before: Timestamp, limit: usize) -> PortResult<Vec<Overdue>>;
}

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

/// A container's index: its head, its log and its segments.
#[async_trait]
pub trait Index: Send + Sync {
    /// The present head; the default one for a container that never had a commit.
    async fn head(&self, tenant: &Tenant, container: &ContainerId) -> PortResult<IndexHead>;

    /// The log records after `after`, ascending.
    async fn log(&self, tenant: &Tenant, container: &ContainerId, after: u64) -> PortResult<Vec<LogRecord>>;

    /// Appends one log record and changes the documents it is about, all or nothing, if the newest record is still
    /// `expected_seq` and every document is as given (a [`Change::Describe`] comes with its edit counted). This condition is the fence: whoever is late gets
    /// [`Committed::Moved`] or [`Committed::Stale`] and has changed nothing. The bytes that the changes leave behind
    /// get purge records in the same transaction. Our own earlier commit whose answer was lost counts as `Done`.
    async fn commit(
        &self,
        tenant: &Tenant,
        container: &ContainerId,
        expected_seq: u64,
        changes: &[Change],
        now: Timestamp,
    ) -> PortResult<Committed>;

    /// Replaces the list of segments if its generation is still `expected`; `false` when it is not.
    async fn publish(
        &self,
        tenant: &Tenant,
        container: &ContainerId,
        expected: u64,
        segments: &[SegmentRef],
    ) -> PortResult<bool>;

    /// Deletes log records up to and including `through`, which segments must cover. May be called again.
    async fn trim(&self, tenant: &Tenant, container: &ContainerId, through: u64) -> PortResult<()>;

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

    /// Deletes a purge record whose blobs are gone.
    async fn forget_purge(&self, tenant: &Tenant, container: &ContainerId, purge: &str) -> PortResult<()>;
}

/// Work queues.
#[async_trait]
pub trait Jobs: Send + Sync {
    /// Sends messages. Delivery is at least once, in any order; commits of one container are delivered one batch at a
    /// time. After an error some may have been sent.
    async fn send(&self, messages: &[Envelope]) -> PortResult<()>;
}

/// API key records.
#[async_trait]
pub trait Keys: Send + Sync {
    /// The key with this id, of any organization: this is the one read that comes before a tenant is known.
    async fn get(&self, id: &KeyId) -> PortResult<Option<ApiKey>>;

    /// Stores a new key.
    async fn create(&self, key: &ApiKey) -> PortResult<()>;

    /// The organization's keys, oldest first.
    async fn list(&self, tenant: &Tenant) -> PortResult<Vec<ApiKey>>;

    /// Enables or disables a key of the organization; `false` when it has none with this id.
    async fn set_enabled(&self, tenant: &Tenant, id: &KeyId, enabled: bool) -> PortResult<bool>;
}

/// What a repeated request is answered with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Repeat {
    /// The document that the first request made.
    pub document: DocumentId,
    /// Digest of the first request, to recognize another request under the same idempotency key.
    pub digest: String,
}

/// Recognizes requests that are sent again because an answer was lost.
#[async_trait]
pub trait Repeats: Send + Sync {
    /// Remembers `repeat` under `key` until `until`, unless something that has not expired at `now` is remembered
    /// there; returns what is remembered.
    async fn remember(
        &self,
        tenant: &Tenant,
        key: &str,
        repeat: Repeat,
        now: Timestamp,
        until: Timestamp,
    ) -> PortResult<Repeat>;
}

/// Source of the current time.
pub trait Clock: Send + Sync {
    /// Now.
    fn now(&self) -> Timestamp;
}
