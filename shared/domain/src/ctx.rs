//! Everything a use case may reach.

use std::sync::Arc;

use crate::ports::{
    Activity, Blobs, Clock, Connections, Containers, Documents, Index, Jobs, Keys, Rates, Repeats,
    SettingsStore, SyncStore, Tasks, Tickets, Vault,
};
use crate::usecase::{Backlog, Caps};

/// The ports, as one value that is made once in a process and passed to every use case.
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
    /// Bytes.
    pub blobs: Arc<dyn Blobs>,
    /// Queues.
    pub jobs: Arc<dyn Jobs>,
    /// API keys.
    pub keys: Arc<dyn Keys>,
    /// Repeated requests.
    pub repeats: Arc<dyn Repeats>,
    /// Long work.
    pub tasks: Arc<dyn Tasks>,
    /// The request log.
    pub activity: Arc<dyn Activity>,
    /// Rate limits.
    pub rates: Arc<dyn Rates>,
    /// Sealed secrets.
    pub vault: Arc<dyn Vault>,
    /// Connections.
    pub connections: Arc<dyn Connections>,
    /// What connections know of items.
    pub sync: Arc<dyn SyncStore>,
    /// What browsers carry.
    pub tickets: Arc<dyn Tickets>,
    /// How much unfinished work an organization may have.
    pub backlog: Backlog,
    /// The most tags and keys of an organization.
    pub caps: Caps,
    /// The time.
    pub clock: Arc<dyn Clock>,
}
