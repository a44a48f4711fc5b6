//! The ports: the guarantees that storage must give. Each trait is one consistency boundary. The
//! conformance suite of the adapters states the same guarantees as tests.
//!
//! Common to all ports: a method that returns `Ok` has taken effect durably; one that returns
//! [`PortError::Unavailable`] may or may not have taken effect and may be called again; a value
//! that does not exist is `Ok(None)`. Reads are strongly consistent unless the method says
//! otherwise.

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

/// The result of a port method.
pub type PortResult<T> = Result<T, PortError>;

/// Work queues.
#[async_trait]
pub trait Jobs: Send + Sync {
    /// Sends a message that is delivered after `seconds`, which is at most 900.
    async fn send_later(&self, message: &Envelope, seconds: u32) -> PortResult<()>;

    /// Sends messages. Delivery is at least once and in any order; commits of one container are
    /// delivered one batch at a time. After an error, some of the messages may have been sent.
    async fn send(&self, messages: &[Envelope]) -> PortResult<()>;
}

/// A source of the current time.
pub trait Clock: Send + Sync {
    /// Returns the current time.
    fn now(&self) -> Timestamp;
}
