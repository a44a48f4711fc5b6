//! Connections: their records, what they know of their items, and the short-lived tickets of
//! browsers.

use async_trait::async_trait;

use crate::connection::{
    Connection, DocumentClaim, Grant, ItemRecord, Run, Selection, SyncQueue, SyncQueueEntry,
    SyncState,
};
use crate::ids::{ConnectionId, DocumentId, GrantId, OrgId};
use crate::ports::PortResult;
use crate::tenant::Tenant;
use crate::time::Timestamp;

/// Records of connections and of the grants that they use.
#[async_trait]
pub trait Connections: Send + Sync {
    /// Returns the connection, or `None` if it does not exist or belongs to another organization.
    async fn get(&self, tenant: &Tenant, id: &ConnectionId) -> PortResult<Option<Connection>>;

    /// Returns the organization's connections, oldest first, including those that are being
    /// deleted.
    async fn list(&self, tenant: &Tenant) -> PortResult<Vec<Connection>>;

    /// Writes a connection whose `rev` is one more than the stored one (0 means that none is
    /// stored). Returns `false` when another writer was first. The retry of a write whose response
    /// was lost counts as done; a second call is another write, even of the same record.
    ///
    /// The connection becomes due at its `next_run_at`, unless it waits for its user. One that is
    /// being deleted and has no such time is due at once.
    async fn save(&self, tenant: &Tenant, connection: &Connection) -> PortResult<bool>;

    /// Deletes the record of a connection if it is stored as given. Returns `false` when it has
    /// been changed. A connection that is already gone counts as deleted.
    async fn delete(&self, tenant: &Tenant, connection: &Connection) -> PortResult<bool>;

    /// Returns connections that were due before `before`, longest overdue first, at most `limit`.
    /// Eventually consistent.
    async fn list_due(
        &self,
        before: Timestamp,
        limit: usize,
    ) -> PortResult<Vec<(OrgId, ConnectionId)>>;

    /// Returns the grant.
    async fn get_grant(&self, tenant: &Tenant, id: &GrantId) -> PortResult<Option<Grant>>;

    /// Writes a grant whose `rev` is one more than the stored one (0 means that none is stored).
    /// Returns `false` when another writer was first. The retry of a write whose response was lost
    /// counts as done.
    async fn save_grant(&self, tenant: &Tenant, grant: &Grant) -> PortResult<bool>;

    /// Deletes a grant if it is stored as given. Returns `false` when it has been changed. A grant
    /// that is already gone counts as deleted.
    async fn delete_grant(&self, tenant: &Tenant, grant: &Grant) -> PortResult<bool>;

    /// Claims a document for an item. Claiming it again is harmless.
    async fn claim_document(
        &self,
        tenant: &Tenant,
        document: &DocumentId,
        claim: &DocumentClaim,
    ) -> PortResult<()>;

    /// Removes a claim. A claim that is already gone is ignored.
    async fn release_claim(
        &self,
        tenant: &Tenant,
        document: &DocumentId,
        claim: &DocumentClaim,
    ) -> PortResult<()>;

    /// Returns the claims on a document, strongly consistent.
    async fn list_claims(
        &self,
        tenant: &Tenant,
        document: &DocumentId,
    ) -> PortResult<Vec<DocumentClaim>>;
}

/// One of the writes of a step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SyncWrite {
    /// Stores the record of an item in place of the one with the same id. The second part is the
    /// record as it was stored before this step, so that the item is no longer found under its
    /// former folder or target; `None` when there was no record with this id.
    PutItem(Box<ItemRecord>, Option<Box<ItemRecord>>),
    /// Removes the record of an item, given as it was stored before this step.
    DeleteItem(Box<ItemRecord>),
    /// Adds an entry to a queue.
    Enqueue(SyncQueue, SyncQueueEntry),
    /// Removes the entry with this key from a queue.
    Dequeue(SyncQueue, String),
    /// Stores the record of a run. Only the newest 100 runs are kept: storing a run removes the one
    /// 100 before it.
    PutRun(Box<Run>),
}

/// The synchronization state of connections, and what they know of their items.
#[async_trait]
pub trait SyncStore: Send + Sync {
    /// Returns the synchronization state of a connection, which is the default state before its
    /// first step.
    async fn get_state(&self, tenant: &Tenant, connection: &ConnectionId) -> PortResult<SyncState>;

    /// Returns the selection, which is empty before the first one is saved.
    async fn get_selection(
        &self,
        tenant: &Tenant,
        connection: &ConnectionId,
    ) -> PortResult<Selection>;

    /// Stores a selection whose `rev` is one more than the stored one. Returns `false` when another
    /// writer was first.
    async fn save_selection(
        &self,
        tenant: &Tenant,
        connection: &ConnectionId,
        selection: &Selection,
    ) -> PortResult<bool>;

    /// Returns the item records with these ids, in the order asked. This and all other reads of
    /// this port are strongly consistent.
    async fn get_items(
        &self,
        tenant: &Tenant,
        connection: &ConnectionId,
        ids: &[String],
    ) -> PortResult<Vec<Option<ItemRecord>>>;

    /// Returns a page of the item records in the order of their ids, starting after the id `after`.
    /// The page has `limit` records, and fewer only at the end. Ids and keys of more than 400 bytes
    /// that share their first 400 bytes have an arbitrary but fixed order among themselves.
    async fn list_items(
        &self,
        tenant: &Tenant,
        connection: &ConnectionId,
        after: Option<&str>,
        limit: usize,
    ) -> PortResult<Vec<ItemRecord>>;

    /// Returns a page of the records of the items in a folder, in the order of their ids. The page
    /// has at most `limit` records; it may have fewer, or none, before the end. The second part is
    /// the `after` of the next page, or `None` after the last page.
    async fn list_children(
        &self,
        tenant: &Tenant,
        connection: &ConnectionId,
        folder: &str,
        after: Option<&str>,
        limit: usize,
    ) -> PortResult<(Vec<ItemRecord>, Option<String>)>;

    /// Returns the shortcuts that lead to an item, at most `limit`.
    async fn list_shortcuts(
        &self,
        tenant: &Tenant,
        connection: &ConnectionId,
        target: &str,
        limit: usize,
    ) -> PortResult<Vec<ItemRecord>>;

    /// Returns the first entries of a queue in the order of their keys, starting after the key
    /// `after`, at most `limit`.
    async fn list_queue(
        &self,
        tenant: &Tenant,
        connection: &ConnectionId,
        queue: SyncQueue,
        after: Option<&str>,
        limit: usize,
    ) -> PortResult<Vec<SyncQueueEntry>>;

    /// Returns the entries of a queue with these keys, in the order asked.
    async fn get_queue_entries(
        &self,
        tenant: &Tenant,
        connection: &ConnectionId,
        queue: SyncQueue,
        keys: &[String],
    ) -> PortResult<Vec<Option<SyncQueueEntry>>>;

    /// Makes the writes of a step and stores `next`, whose `step` is one more than the stored one
    /// (0 means that none is stored). Returns `false` when another worker was first.
    ///
    /// Many writes are made in several transactions, in the order given. Each transaction holds
    /// only while the stored step is the one before `next`, and the last one stores `next`. After a
    /// crash in between, the step is repeated and its writes are made again. One write is never
    /// split, and of several writes to the same thing the last one counts. The retry of the last
    /// transaction after a lost response counts as done; a second call is another step.
    async fn commit_step(
        &self,
        tenant: &Tenant,
        connection: &ConnectionId,
        writes: &[SyncWrite],
        next: &SyncState,
    ) -> PortResult<bool>;

    /// Returns the newest runs, newest first, at most `limit`.
    async fn list_runs(
        &self,
        tenant: &Tenant,
        connection: &ConnectionId,
        limit: usize,
    ) -> PortResult<Vec<Run>>;

    /// Removes at most `limit` of the records of a connection, its state last. Returns whether any
    /// are left.
    async fn erase_records(
        &self,
        tenant: &Tenant,
        connection: &ConnectionId,
        limit: usize,
    ) -> PortResult<bool>;
}

/// Tickets that browsers carry. Only the digest of a ticket is stored.
#[async_trait]
pub trait Tickets: Send + Sync {
    /// Stores the value of a ticket until `until`. `kind` is part of the ticket's name, so no
    /// ticket works as one of another kind.
    async fn issue(
        &self,
        kind: &str,
        digest: &str,
        value: &str,
        until: Timestamp,
    ) -> PortResult<()>;

    /// Returns the value of a ticket, unless it has expired at `now`.
    async fn look_up_ticket(
        &self,
        kind: &str,
        digest: &str,
        now: Timestamp,
    ) -> PortResult<Option<String>>;

    /// Returns the value of a ticket, unless it has expired at `now`, and uses the ticket up. When
    /// several callers redeem it at the same time, one of them gets the value; if that caller's
    /// response is lost, none does.
    async fn redeem(&self, kind: &str, digest: &str, now: Timestamp) -> PortResult<Option<String>>;
}
