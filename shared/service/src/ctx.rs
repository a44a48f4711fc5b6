//! The context of use cases.

use std::sync::Arc;

use crate::{Backlog, OrganizationCaps};
use domain::ports::{
    Blobs, Clock, Connections, Containers, Documents, IdempotencyStore, Index, JobQueue, Keys,
    RateLimits, RequestLog, SettingsStore, SyncStore, Tasks, Tickets, Vault,
};

/// The ports, as one value that is created once in a process and passed to every use case.
#[derive(Clone)]
pub struct Ctx {
    /// Container tags.
    pub containers: Arc<dyn Containers>,
    /// Settings of organizations.
    pub settings: Arc<dyn SettingsStore>,
    /// Document records.
    pub documents: Arc<dyn Documents>,
    /// Indexes.
    pub index: Arc<dyn Index>,
    /// Blobs.
    pub blobs: Arc<dyn Blobs>,
    /// Queues.
    pub jobs: Arc<dyn JobQueue>,
    /// API keys.
    pub keys: Arc<dyn Keys>,
    /// Repeated requests.
    pub idempotency: Arc<dyn IdempotencyStore>,
    /// Tasks.
    pub tasks: Arc<dyn Tasks>,
    /// The request log.
    pub request_log: Arc<dyn RequestLog>,
    /// Rate limits.
    pub rate_limits: Arc<dyn RateLimits>,
    /// Sealed secrets.
    pub vault: Arc<dyn Vault>,
    /// Connections.
    pub connections: Arc<dyn Connections>,
    /// The synchronization state and the item records of connections.
    pub sync: Arc<dyn SyncStore>,
    /// The tickets of browsers.
    pub tickets: Arc<dyn Tickets>,
    /// The limit on the unfinished work of an organization.
    pub backlog: Backlog,
    /// The limits on the tags and keys of an organization.
    pub caps: OrganizationCaps,
    /// The clock.
    pub clock: Arc<dyn Clock>,
}
