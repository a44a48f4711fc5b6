//! Connections: their records, what they know of items, and short-lived tickets of browsers.

use crate::connection::{
    Claim, Connection, Grant, Node, Queue, QueueEntry, Run, Selection, SyncState,
};
use crate::ids::{ConnectionId, DocumentId, GrantId, OrgId};
use crate::ports::PortResult;
use crate::tenant::Tenant;
use crate::time::Timestamp;
use async_trait::async_trait;

/// Records of connections and of the permissions that they use.
#[async_trait]
pub trait Connections: Send + Sync {
    /// The connection; `None` also for one of another organization.
    async fn get(&self, tenant: &Tenant, id: &ConnectionId) -> PortResult<Option<Connection>>;

    /// The organization's connections, oldest first, with those that are being deleted.
    async fn list(&self, tenant: &Tenant) -> PortResult<Vec<Connection>>;

    /// Writes a connection whose `rev` is one more than what is stored (0: there is none); `false` when somebody was
    /// first. Our own write whose answer was lost counts as done; a second call is another write, even of the same record.
    ///
    /// It turns up as due from its `next_run_at` on unless it waits for its user. One that is being deleted and has no time
    /// set is due at once.
    async fn save(&self, tenant: &Tenant, connection: &Connection) -> PortResult<bool>;

    /// Deletes the record of a connection that is as given; `false` when somebody changed it. One that is gone is fine.
    async fn delete(&self, tenant: &Tenant, connection: &Connection) -> PortResult<bool>;

    /// Connections that were due before `before`, longest overdue first, at most `limit`. Eventually consistent.
    async fn due(&self, before: Timestamp, limit: usize) -> PortResult<Vec<(OrgId, ConnectionId)>>;

    /// The permission.
    async fn grant(&self, tenant: &Tenant, id: &GrantId) -> PortResult<Option<Grant>>;

    /// Writes a permission whose `rev` is one more than what is stored (0: there is none); `false` when somebody was
    /// first. Our own write whose answer was lost counts as done.
    async fn save_grant(&self, tenant: &Tenant, grant: &Grant) -> PortResult<bool>;

    /// Deletes a permission that is as given; `false` when somebody changed it. One that is gone is fine.
    async fn delete_grant(&self, tenant: &Tenant, grant: &Grant) -> PortResult<bool>;

    /// Claims a document for an item; again is fine.
    async fn claim(&self, tenant: &Tenant, document: &DocumentId, claim: &Claim) -> PortResult<()>;

    /// Gives a claim up; one that is gone is fine.
    async fn unclaim(
        &self,
        tenant: &Tenant,
        document: &DocumentId,
        claim: &Claim,
    ) -> PortResult<()>;

    /// The claims on a document, strongly consistent.
    async fn claims(&self, tenant: &Tenant, document: &DocumentId) -> PortResult<Vec<Claim>>;
}

/// A write of a step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SyncWrite {
    /// Stores a node in place of what was known of its id. The second part is the node as it is stored before this step,
    /// so that it is no longer found under its former folder or target; none when its id has no node.
    Node(Box<Node>, Option<Box<Node>>),
    /// Forgets a node, as it is stored before this step.
    Forget(Box<Node>),
    /// Something waits from now on.
    Enqueue(Queue, QueueEntry),
    /// It waits no longer.
    Dequeue(Queue, String),
    /// A run's record. Writing it forgets the run 100 before it: the newest 100 are kept.
    Run(Box<Run>),
}

/// What connections know of items and how far they are.
#[async_trait]
pub trait SyncStore: Send + Sync {
    /// How far a connection is; the default before its first step.
    async fn state(&self, tenant: &Tenant, of: &ConnectionId) -> PortResult<SyncState>;

    /// What is selected; nothing before the first selection.
    async fn selection(&self, tenant: &Tenant, of: &ConnectionId) -> PortResult<Selection>;

    /// Stores a selection whose `rev` is one more than what is stored; `false` when somebody was first.
    async fn select(
        &self,
        tenant: &Tenant,
        of: &ConnectionId,
        selection: &Selection,
    ) -> PortResult<bool>;

    /// The nodes with these ids, in the order asked. This and all other reads here are strongly consistent.
    async fn nodes(
        &self,
        tenant: &Tenant,
        of: &ConnectionId,
        ids: &[String],
    ) -> PortResult<Vec<Option<Node>>>;

    /// A page of the nodes, by id from after `after`; at most `limit`, and fewer at the end only. Ids and keys of more than
    /// 400 bytes come in a fixed order of their own among those that begin with the same 400.
    async fn page(
        &self,
        tenant: &Tenant,
        of: &ConnectionId,
        after: Option<&str>,
        limit: usize,
    ) -> PortResult<Vec<Node>>;

    /// A page of the nodes that lie in a folder, by id, of at most `limit`; perhaps fewer, or none, before the end. The
    /// second part is what to give as `after` for the next page; `None` after the last one.
    async fn children(
        &self,
        tenant: &Tenant,
        of: &ConnectionId,
        folder: &str,
        after: Option<&str>,
        limit: usize,
    ) -> PortResult<(Vec<Node>, Option<String>)>;

    /// The shortcuts that lead to an item, at most `limit`.
    async fn shortcuts(
        &self,
        tenant: &Tenant,
        of: &ConnectionId,
        target: &str,
        limit: usize,
    ) -> PortResult<Vec<Node>>;

    /// The first of what waits, by key from after `after`; at most `limit`.
    async fn waiting(
        &self,
        tenant: &Tenant,
        of: &ConnectionId,
        queue: Queue,
        after: Option<&str>,
        limit: usize,
    ) -> PortResult<Vec<QueueEntry>>;

    /// What waits under these keys, in the order asked.
    async fn waits(
        &self,
        tenant: &Tenant,
        of: &ConnectionId,
        queue: Queue,
        keys: &[String],
    ) -> PortResult<Vec<Option<QueueEntry>>>;

    /// Makes these writes and stores `next`, whose `step` is one more than what is stored (0: there is none). `false` when
    /// somebody was first. Many writes are made in several transactions, in the order given, each on condition that the
    /// step is still the one before `next`, and the last one stores `next`: after a crash in between, the step comes
    /// again, and its writes are made again. One write is never split, and of several about the same thing the last one
    /// counts. Our own last write whose answer was lost counts as done; a second call is another step.
    async fn commit(
        &self,
        tenant: &Tenant,
        of: &ConnectionId,
        writes: &[SyncWrite],
        next: &SyncState,
    ) -> PortResult<bool>;

    /// The newest runs, newest first, at most `limit`.
    async fn runs(&self, tenant: &Tenant, of: &ConnectionId, limit: usize) -> PortResult<Vec<Run>>;

    /// Forgets at most `limit` of all that is known of a connection, its state last; whether anything is left.
    async fn erase(&self, tenant: &Tenant, of: &ConnectionId, limit: usize) -> PortResult<bool>;
}

/// Tickets that browsers carry. Only a digest of each is stored.
#[async_trait]
pub trait Tickets: Send + Sync {
    /// Stores what a ticket stands for, until then. `kind` is part of its name: no ticket works as another kind.
    async fn issue(
        &self,
        kind: &str,
        digest: &str,
        stands_for: &str,
        until: Timestamp,
    ) -> PortResult<()>;

    /// What a ticket stands for, unless it has expired at `now`.
    async fn look(&self, kind: &str, digest: &str, now: Timestamp) -> PortResult<Option<String>>;

    /// The same, and the ticket is used up: of several who redeem it at a time one gets it, and nobody when that one's
    /// answer is lost.
    async fn redeem(&self, kind: &str, digest: &str, now: Timestamp) -> PortResult<Option<String>>;
}
