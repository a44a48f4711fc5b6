//! The capability to touch an organization's data. Every port takes one, and only authentication or a message that an
//! authenticated request caused can make one: code without a tenant cannot name a record.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use crate::error::{Error, Result};
use crate::ids::{ContainerId, KeyId, OrgId};
use crate::key::{ApiKey, KeyKind, Permission};
use crate::rate::RateLimit;
use crate::tag::ContainerTag;
use crate::time::Timestamp;

/// Who acts, for which organization, and how far it reaches.
#[derive(Debug, Clone)]
pub struct Tenant {
    org: OrgId,
    key: Option<KeyUse>,
    kind: KeyKind,
    permission: Permission,
    /// The containers it may touch; `None` is all.
    tags: Option<Vec<ContainerTag>>,
    /// The containers that the request has come to, for the request log. Clones share it.
    touched: Arc<Mutex<BTreeSet<ContainerId>>>,
}

/// What is known of the key that authenticated a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyUse {
    /// Its public part.
    pub id: KeyId,
    /// What a person called it.
    pub name: String,
    /// When it stops working.
    pub expires_at: Option<Timestamp>,
    /// How often it may be used.
    pub rate: Option<RateLimit>,
}

impl Tenant {
    /// The tenant of an API key that was just verified.
    pub(crate) fn of_key(key: &ApiKey) -> Self {
        Self {
            org: key.org.clone(),
            key: Some(KeyUse {
                id: key.id.clone(),
                name: key.name.clone(),
                expires_at: key.expires_at,
                rate: key.rate,
            }),
            kind: key.kind,
            permission: key.permission,
            tags: key.tags.clone(),
            touched: Arc::default(),
        }
    }

    /// The tenant of work that runs behind a queue or a schedule.
    pub(crate) fn of_work(org: OrgId) -> Self {
        Self {
            org,
            key: None,
            kind: KeyKind::Full,
            permission: Permission::Write,
            tags: None,
            touched: Arc::default(),
        }
    }

    /// The tenant of the person at this machine: only for programs that open the data folder itself.
    pub fn of_operator(org: OrgId) -> Self {
        Self::of_work(org)
    }

    /// The organization.
    pub fn org(&self) -> &OrgId {
        &self.org
    }

    /// The id of the key that authenticated the request; none for work behind a queue, and for the key `local`.
    pub fn key(&self) -> Option<&KeyId> {
        self.key.as_ref().map(|key| &key.id)
    }

    /// What is known of the key that authenticated the request; none for work behind a queue, and for the key `local`.
    pub fn key_use(&self) -> Option<&KeyUse> {
        self.key.as_ref()
    }

    /// What the key was made for.
    pub fn kind(&self) -> KeyKind {
        self.kind
    }

    /// Whether this tenant may change anything.
    pub fn may_write(&self) -> bool {
        self.permission == Permission::Write
    }

    /// Whether this tenant may administer the organization: keys, settings, whole containers.
    pub fn may_administer(&self) -> bool {
        let administers = matches!(self.kind, KeyKind::Full | KeyKind::Session);
        administers && self.may_write() && self.tags.is_none()
    }

    /// Notes that the request has come to a container.
    pub(crate) fn touch<'a>(&self, containers: impl IntoIterator<Item = &'a ContainerId>) {
        self.lock().extend(containers.into_iter().cloned());
    }

    /// The containers that the request has come to so far.
    pub fn touched(&self) -> Vec<ContainerId> {
        self.lock().iter().cloned().collect()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeSet<ContainerId>> {
        // A panic while the lock was held cannot leave the set half-changed.
        self.touched.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether this tenant reaches the container.
    pub fn reaches(&self, tag: &ContainerTag) -> bool {
        self.tags.as_ref().is_none_or(|tags| tags.contains(tag))
    }

    /// The tags this tenant is confined to.
    pub fn confined_to(&self) -> Option<&[ContainerTag]> {
        self.tags.as_deref()
    }

    /// The tag that a write goes to: the one that was sent, else the only one that the key reaches, else the default.
    ///
    /// # Errors
    /// [`Error::Forbidden`] outside the key's containers.
    pub fn writable_tag(&self, sent: Option<ContainerTag>) -> Result<ContainerTag> {
        let tag = match (sent, self.confined_to()) {
            (Some(tag), _) => tag,
            (None, Some([only])) => only.clone(),
            (None, Some(tags)) => {
                let names: Vec<&str> = tags.iter().map(ContainerTag::as_str).collect();
                return Err(Error::Forbidden(format!(
                    "name the containerTag: one of {}",
                    names.join(", ")
                )));
            }
            (None, _) => ContainerTag::default_tag(),
        };

        self.check_reach(&tag)?;
        Ok(tag)
    }

    /// Refuses a container that the key does not reach.
    ///
    /// # Errors
    /// [`Error::Forbidden`].
    pub fn check_reach(&self, tag: &ContainerTag) -> Result<()> {
        if self.reaches(tag) {
            return Ok(());
        }
        Err(Error::Forbidden(format!(
            "this key does not reach the container tag {tag}"
        )))
    }
}
