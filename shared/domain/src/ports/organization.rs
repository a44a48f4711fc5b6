//! The data of an organization beside its content: settings, keys, secrets, tasks and repeated
//! requests.

use async_trait::async_trait;

use crate::ids::{DocumentId, KeyId, TaskId};
use crate::key::ApiKey;
use crate::ports::PortResult;
use crate::settings::Settings;
use crate::task::Task;
use crate::tenant::Tenant;
use crate::time::Timestamp;
use crate::vault::Secret;

/// The settings of organizations.
#[async_trait]
pub trait SettingsStore: Send + Sync {
    /// Returns the organization's settings, or the default ones if none have been stored.
    async fn get(&self, tenant: &Tenant) -> PortResult<Settings>;

    /// Stores settings whose `version` is one more than the stored one. Fails with
    /// [`crate::PortError::Conflict`] when another writer was first.
    async fn put(&self, tenant: &Tenant, settings: &Settings) -> PortResult<()>;
}

/// Records of tasks.
#[async_trait]
pub trait Tasks: Send + Sync {
    /// Returns the task, or `None` if it does not exist or belongs to another organization.
    async fn get(&self, tenant: &Tenant, id: &TaskId) -> PortResult<Option<Task>>;

    /// Writes a task whose `step` is one more than the stored one. Returns `false` when another
    /// writer was first. A running task becomes overdue at its `due_at`. The retry of a write whose
    /// response was lost counts as done.
    async fn save(&self, tenant: &Tenant, task: &Task) -> PortResult<bool>;
}

/// The sealed secrets of organizations.
#[async_trait]
pub trait Vault: Send + Sync {
    /// Seals a secret and stores it under a name, replacing the previous one.
    async fn put(&self, tenant: &Tenant, name: &str, secret: &Secret) -> PortResult<()>;

    /// Seals a secret and stores it under a name that has none. Returns `false`, and stores nothing,
    /// when the name has one.
    async fn create(&self, tenant: &Tenant, name: &str, secret: &Secret) -> PortResult<bool>;

    /// Returns the secret with this name.
    async fn get(&self, tenant: &Tenant, name: &str) -> PortResult<Option<Secret>>;

    /// Deletes a secret. A secret that is already gone is ignored.
    async fn delete(&self, tenant: &Tenant, name: &str) -> PortResult<()>;
}

/// API key records.
#[async_trait]
pub trait Keys: Send + Sync {
    /// Returns the key with this id, of any organization. This is the only read that takes place
    /// before a tenant is known.
    async fn get(&self, id: &KeyId) -> PortResult<Option<ApiKey>>;

    /// Stores a new key. An expired key is removed some time later: a session immediately, any
    /// other key after 30 days.
    async fn create(&self, key: &ApiKey) -> PortResult<()>;

    /// Returns the number of the organization's keys, without sessions.
    async fn count(&self, tenant: &Tenant) -> PortResult<usize>;

    /// Returns the organization's keys, oldest first, without sessions.
    async fn list(&self, tenant: &Tenant) -> PortResult<Vec<ApiKey>>;

    /// Deletes a key of the organization. Returns `false` when it has none with this id.
    async fn delete(&self, tenant: &Tenant, id: &KeyId) -> PortResult<bool>;

    /// Enables or disables a key of the organization. Returns `false` when it has none with this
    /// id.
    async fn set_enabled(&self, tenant: &Tenant, id: &KeyId, enabled: bool) -> PortResult<bool>;
}

/// The record from which a repeated request is answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RememberedRequest {
    /// The document that the first request was to create.
    pub document: DocumentId,
    /// The digest of the first request, to recognize a different request under the same idempotency
    /// key.
    pub request_digest: String,
    /// The document that the request finally created, where this is recorded
    /// ([`crate::ports::CreationConditions::request_key`]).
    pub created_document: Option<DocumentId>,
}

/// Keeps idempotency keys: recognizes requests that are sent again because a response was lost.
#[async_trait]
pub trait IdempotencyStore: Send + Sync {
    /// Remembers `request` under `key` until `until`, and returns what is remembered afterwards. An
    /// existing entry stays if it has not expired at `now` and names a document other than `stale`.
    async fn remember(
        &self,
        tenant: &Tenant,
        key: &str,
        request: RememberedRequest,
        stale: Option<&DocumentId>,
        now: Timestamp,
        until: Timestamp,
    ) -> PortResult<RememberedRequest>;
}
