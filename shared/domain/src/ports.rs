//! What storage must promise. Each trait is one consistency boundary; the adapters' conformance suite is the same text
//! as tests.
//!
//! Common to all: a method that returns `Ok` has happened durably; one that returns [`PortError::Unavailable`] may or
//! may not have happened and may be called again; absence is `Ok(None)`. Reads are strongly consistent unless the
//! method says otherwise.

mod activity;
mod blobs;
mod connections;
mod connectors;
mod containers;
mod documents;
mod index;
mod organization;

use async_trait::async_trait;

use crate::error::PortError;
use crate::job::Envelope;
use crate::time::Timestamp;

pub use activity::{Activity, HourCounts, Rates};
pub use blobs::{Arrival, Blobs, Inventory, Shelf, Stored, StoredBlob, UploadForm};
pub use connections::{Connections, SyncStore, SyncWrite, Tickets};
pub use connectors::{
    Access, Changed, Changes, Connector, ConnectorError, ConnectorResult, Connectors, Consent,
    ConsentError, Fetched, Item, ItemKind, Listing, OAuth, OAuthClient, Permission, View, Watched,
};
pub use containers::Containers;
pub use documents::{Beginning, Claim, Documents, OVERDUE_AFTER_SECONDS, Overdue};
pub use index::{Committed, ERASE_AFTER_SECONDS, Index, MAX_CHANGES};
pub use organization::{Keys, Repeat, Repeats, SettingsStore, Tasks, Vault};

/// The result of a port.
pub type PortResult<T> = Result<T, PortError>;

/// Work queues.
#[async_trait]
pub trait Jobs: Send + Sync {
    /// Sends a message that is delivered after `seconds`, at most 900.
    async fn send_later(&self, message: &Envelope, seconds: u32) -> PortResult<()>;

    /// Sends messages. Delivery is at least once, in any order; commits of one container are delivered one batch at a
    /// time. After an error some may have been sent.
    async fn send(&self, messages: &[Envelope]) -> PortResult<()>;
}

/// Source of the current time.
pub trait Clock: Send + Sync {
    /// Now.
    fn now(&self) -> Timestamp;
}
