//! Authentication: the credential of a request becomes a tenant.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use domain::error::{Error, Result};
use domain::ids::{KeyId, OrgId};
use domain::key::{ApiKey, PresentedKey};
use domain::ports::{Clock, Keys};
use domain::tenant::Tenant;
use domain::time::Timestamp;

/// The number of seconds for which a key record is cached. A revoked key works at most this much
/// longer.
const FRESH_SECONDS: i64 = 30;
/// The number of seconds for which the absence of a key is cached. It is short so that a key works
/// soon after its creation.
const ABSENT_SECONDS: i64 = 5;
/// The number of cached records at which the cache is cleared, so that guessed key ids cannot fill
/// the memory.
const MAX_CACHED: usize = 10_000;
/// The API key of a local server. It has no record and works only from loopback. The request log
/// shows it under this name.
pub const LOCAL_KEY: &str = "local";
/// The message for a refused local key: the reason, and the key that works instead.
const NO_LOCAL_KEY: &str = "the key `local` works on the machine of a local server only, and not through a proxy; create a \
    key with `recollect keys create` and send that one";

/// Verifies API keys. Caches their records for 30 seconds.
#[derive(Clone)]
pub struct Authenticator {
    keys: Arc<dyn Keys>,
    clock: Arc<dyn Clock>,
    cache: Arc<Mutex<HashMap<KeyId, Cached>>>,
    local_org: Option<OrgId>,
}

struct Cached {
    record: Option<ApiKey>,
    until: Timestamp,
}

impl Authenticator {
    /// Creates an authenticator over the key records.
    pub fn new(keys: Arc<dyn Keys>, clock: Arc<dyn Clock>) -> Self {
        Self {
            keys,
            clock,
            cache: Arc::default(),
            local_org: None,
        }
    }

    /// Accepts the key `local` for `org` from loopback peers.
    #[must_use]
    pub fn with_local_key(mut self, org: OrgId) -> Self {
        self.local_org = Some(org);
        self
    }

    /// Returns the tenant of a credential. `from_loopback` says whether the peer is this machine
    /// itself.
    ///
    /// # Errors
    /// Returns [`Error::Unauthenticated`] for a missing, unknown, disabled or expired key.
    pub async fn authenticate(
        &self,
        credential: Option<&str>,
        from_loopback: bool,
    ) -> Result<Tenant> {
        let text = credential.ok_or(Error::Unauthenticated(
            "send an API key as `Authorization: Bearer <key>` or `x-api-key: <key>`",
        ))?;
        if text == LOCAL_KEY {
            return match &self.local_org {
                Some(org) if from_loopback => Ok(Tenant::for_operator(org.clone())),
                _ => Err(Error::Unauthenticated(NO_LOCAL_KEY)),
            };
        }

        let presented =
            PresentedKey::parse(text).ok_or(Error::Unauthenticated("the API key is not valid"))?;
        let record = self.find_key(presented.id()).await?;
        let now = self.clock.now();
        let tenant = presented.verify_against(record.as_ref(), now)?;
        match record.and_then(|record| record.acts_as) {
            Some(id) => self.find_opener(&id, &tenant, now).await,
            None => Ok(tenant),
        }
    }

    /// Returns the tenant of the key that opened a console session.
    async fn find_opener(&self, id: &KeyId, session: &Tenant, now: Timestamp) -> Result<Tenant> {
        let opener = self.find_key(id).await?.ok_or(Error::Unauthenticated(
            "the API key of this session was deleted; sign in again",
        ))?;
        opener.tenant_of_session(session, now)
    }

    /// Drops a key from the cache, so that its record is read again. Call it after this process has
    /// changed the key.
    pub fn invalidate_key(&self, id: &KeyId) {
        self.lock().remove(id);
    }

    async fn find_key(&self, id: &KeyId) -> Result<Option<ApiKey>> {
        let now = self.clock.now();
        if let Some(cached) = self.lock().get(id)
            && cached.until > now
        {
            return Ok(cached.record.clone());
        }

        let record = self.keys.get(id).await?;
        let seconds = if record.is_some() {
            FRESH_SECONDS
        } else {
            ABSENT_SECONDS
        };

        let mut cache = self.lock();
        if cache.len() >= MAX_CACHED {
            cache.clear();
        }
        cache.insert(
            id.clone(),
            Cached {
                record: record.clone(),
                until: now.plus_seconds(seconds),
            },
        );
        Ok(record)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<KeyId, Cached>> {
        // A panic while the lock was held cannot leave the map half-changed.
        self.cache.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
