//! What an organization has beside its content: settings, keys, secrets, long work.

use crate::ids::DocumentId;
use crate::ids::KeyId;
use crate::ids::TaskId;
use crate::key::ApiKey;
use crate::ports::PortResult;
use crate::settings::Settings;
use crate::task::Task;
use crate::tenant::Tenant;
use crate::time::Timestamp;
use crate::vault::Secret;
use async_trait::async_trait;

/// Settings of organizations.
#[async_trait]
pub trait SettingsStore: Send + Sync {
    /// The organization's settings; the default ones before anything was set.
    async fn get(&self, tenant: &Tenant) -> PortResult<Settings>;

    /// Stores settings whose `version` is one more than what is stored; [`PortError::Conflict`] when somebody was first.
    async fn put(&self, tenant: &Tenant, settings: &Settings) -> PortResult<()>;
}

/// Records of tasks.
#[async_trait]
pub trait Tasks: Send + Sync {
    /// The task; `None` also for one of another organization.
    async fn get(&self, tenant: &Tenant, id: &TaskId) -> PortResult<Option<Task>>;

    /// Writes a task whose `step` is one more than what is stored; `false` when somebody was first. A task that is still
    /// running turns up as overdue after its `due_at`. Our own write whose answer was lost counts as done.
    async fn save(&self, tenant: &Tenant, task: &Task) -> PortResult<bool>;
}

/// Secrets of organizations, sealed.
#[async_trait]
pub trait Vault: Send + Sync {
    /// Seals and stores a secret under a name, in place of what was there.
    async fn put(&self, tenant: &Tenant, name: &str, secret: &Secret) -> PortResult<()>;

    /// The secret under this name.
    async fn get(&self, tenant: &Tenant, name: &str) -> PortResult<Option<Secret>>;

    /// Deletes a secret; one that is already gone is fine.
    async fn delete(&self, tenant: &Tenant, name: &str) -> PortResult<()>;
}

/// API key records.
#[async_trait]
pub trait Keys: Send + Sync {
    /// The key with this id, of any organization: this is the one read that comes before a tenant is known.
    async fn get(&self, id: &KeyId) -> PortResult<Option<ApiKey>>;

    /// Stores a new key. One that expires is removed some time later: a session at once, any other after 30 days.
    async fn create(&self, key: &ApiKey) -> PortResult<()>;

    /// The number of the organization's keys, without sessions.
    async fn count(&self, tenant: &Tenant) -> PortResult<usize>;

    /// The organization's keys, oldest first, without sessions.
    async fn list(&self, tenant: &Tenant) -> PortResult<Vec<ApiKey>>;

    /// Deletes a key of the organization; `false` when it has none with this id.
    async fn delete(&self, tenant: &Tenant, id: &KeyId) -> PortResult<bool>;

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
    /// The document that was made by it in the end, where that is kept ([`crate::ports::Beginning::request`]).
    pub made: Option<DocumentId>,
}

/// Recognizes requests that are sent again because an answer was lost.
#[async_trait]
pub trait Repeats: Send + Sync {
    /// Remembers `repeat` under `key` until `until`, unless something that has not expired at `now` is remembered
    /// there and names another document than `stale`; returns what is remembered.
    async fn remember(
        &self,
        tenant: &Tenant,
        key: &str,
        repeat: Repeat,
        stale: Option<&DocumentId>,
        now: Timestamp,
        until: Timestamp,
    ) -> PortResult<Repeat>;
}
