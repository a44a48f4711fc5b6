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
mod embedding;
mod functions;
mod index;
mod organization;
mod reranking;

use std::time::Duration;

use async_trait::async_trait;

use crate::error::PortError;
use crate::job::JobMessage;
use crate::time::Timestamp;

pub use activity::{HourCounts, RateLimits, RequestLog};
pub use blobs::{
    BlobContent, BlobPart, BlobStore, Blobs, InventoryPage, LocalBlob, StoredBlob, UploadArrival,
    UploadForm,
};
pub use connections::{Connections, SyncStore, SyncWrite, Tickets};
pub use connectors::{
    ChangePage, Connector, ConnectorError, ConnectorResult, Connectors, ConsentError,
    ConsentRequest, GrantedPermission, ItemChange, ItemContent, ItemKind, ItemPage,
    NotificationSubscription, OAuthClient, OAuthFlow, PickerView, ProviderAccess, ProviderItem,
};
pub use containers::Containers;
pub use documents::{
    AlternativeId, ClaimOutcome, CreationConditions, CustomIdReference, DocumentEntry,
    DocumentListing, Documents, OVERDUE_AFTER_SECONDS, OverdueWork,
};
pub use embedding::{
    EmbeddingInput, TextEmbedder, TextVectors, folder_model_name, is_folder_model,
};
pub use functions::{CallLimits, RemoteFunction};
pub use index::{
    CommitOutcome, CompactionLease, ERASE_AFTER_SECONDS, Index, MAX_CHANGES_PER_COMMIT,
};
pub use organization::{IdempotencyStore, Keys, RememberedRequest, SettingsStore, Tasks, Vault};
pub use reranking::RerankModel;

/// The result of a port method.
pub type PortResult<T> = Result<T, PortError>;

/// Work queues.
#[async_trait]
pub trait JobQueue: Send + Sync {
    /// Sends a message that is delivered after `seconds`, which is at most
    /// [`crate::job::MAX_DELAY_SECONDS`].
    async fn send_delayed(&self, message: &JobMessage, seconds: u32) -> PortResult<()>;

    /// Sends messages. Delivery is at least once and in any order; commits of one container are
    /// delivered one batch at a time. After an error, some of the messages may have been sent.
    async fn send(&self, messages: &[JobMessage]) -> PortResult<()>;
}

/// The time and its passing.
#[async_trait]
pub trait Clock: Send + Sync {
    /// Returns the current time.
    fn now(&self) -> Timestamp;

    /// Waits for a duration.
    async fn sleep(&self, duration: Duration);
}
