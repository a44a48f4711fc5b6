//! Everything a use case may reach.

use std::sync::Arc;

use crate::ports::{Blobs, Clock, Containers, Documents, Index, Jobs, Keys, Repeats, SettingsStore};

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
    /// The time.
    pub clock: Arc<dyn Clock>,
}
