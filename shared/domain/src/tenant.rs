//! The capability to access an organization's data. Every port takes a tenant, and only
//! authentication or a message that an authenticated request caused can create one. Code without a
//! tenant cannot name a record.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use crate::error::{Error, Result};
use crate::ids::{ContainerId, KeyId, OrgId};
use crate::key::{ApiKey, KeyKind, Permission};
use crate::rate::RateLimit;
use crate::tag::ContainerTag;
use crate::time::Timestamp;

/// An authenticated organization, with the key that acts for it and the limits of that key.
#[derive(Debug, Clone)]
pub struct Tenant {
    org: OrgId,
    key: Option<AuthenticatedKey>,
    kind: KeyKind,
    permission: Permission,
    /// The container tags that it may access, or `None` for all.
    tags: Option<Vec<ContainerTag>>,
    /// True if a session of the console acts as the key.
    is_console_session: bool,
    /// The containers that the request has accessed, for the request log. Clones share this set.
    accessed: Arc<Mutex<BTreeSet<ContainerId>>>,
}

/// The key that authenticated a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuthenticatedKey {
    /// The public part.
    pub id: KeyId,
    /// The name that a person gave the key.
    pub name: String,
    /// The time at which it expires.
    pub expires_at: Option<Timestamp>,
    /// The rate limit of the key.
    pub rate: Option<RateLimit>,
}

impl Tenant {
    /// Creates the tenant of an API key that was just verified.
    pub(crate) fn for_key(key: &ApiKey) -> Self {
        Self {
            org: key.org.clone(),
            key: Some(AuthenticatedKey {
                id: key.id.clone(),
                name: key.name.clone(),
                expires_at: key.expires_at,
                rate: key.rate_limit,
            }),
            kind: key.kind,
            permission: key.permission,
            tags: key.tags.clone(),
            is_console_session: false,
            accessed: Arc::default(),
        }
    }

    /// Creates the tenant of a verified session of the console that acts as a key.
    pub(crate) fn for_console_session(key: &ApiKey) -> Self {
        Self {
            is_console_session: true,
            ..Self::for_key(key)
        }
    }

    /// Creates the tenant of work that runs behind a queue or a schedule. It may do everything in
    /// its organization, so a test lists the sources that call this.
    pub fn for_work(org: OrgId) -> Self {
        Self {
            org,
            key: None,
            kind: KeyKind::Full,
            permission: Permission::Write,
            tags: None,
            is_console_session: false,
            accessed: Arc::default(),
        }
    }

    /// Creates the tenant of the person at this machine. Only for programs that open the data
    /// folder themselves.
    pub fn for_operator(org: OrgId) -> Self {
        Self::for_work(org)
    }

    /// Returns the organization.
    pub fn org(&self) -> &OrgId {
        &self.org
    }

    /// Returns the id of the key that authenticated the request. `None` for work behind a queue,
    /// and for the key `local`.
    pub fn key_id(&self) -> Option<&KeyId> {
        self.key.as_ref().map(|key| &key.id)
    }

    /// Returns the key that authenticated the request. `None` for work behind a queue, and for the
    /// key `local`.
    pub fn authenticated_key(&self) -> Option<&AuthenticatedKey> {
        self.key.as_ref()
    }

    /// Checks whether a session of the console acts as the key.
    pub fn is_console_session(&self) -> bool {
        self.is_console_session
    }

    /// Returns the kind of the key.
    pub fn key_kind(&self) -> KeyKind {
        self.kind
    }

    /// Checks whether this tenant may change anything.
    pub fn may_write(&self) -> bool {
        self.permission == Permission::Write
    }

    /// Checks whether this tenant may administer the organization: keys, settings, whole
    /// containers.
    pub fn may_administer(&self) -> bool {
        let is_administrative = matches!(self.kind, KeyKind::Full | KeyKind::Session);
        is_administrative && self.may_write() && self.tags.is_none()
    }

    /// Records that the request accessed containers.
    pub fn record_access<'a>(&self, containers: impl IntoIterator<Item = &'a ContainerId>) {
        self.lock_accessed().extend(containers.into_iter().cloned());
    }

    /// Returns the containers that the request has accessed so far.
    pub fn accessed_containers(&self) -> Vec<ContainerId> {
        self.lock_accessed().iter().cloned().collect()
    }

    fn lock_accessed(&self) -> std::sync::MutexGuard<'_, BTreeSet<ContainerId>> {
        // A panic while the lock was held cannot leave the set half-changed.
        self.accessed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Checks whether this tenant may access the container tag.
    pub fn can_access(&self, tag: &ContainerTag) -> bool {
        self.tags.as_ref().is_none_or(|tags| tags.contains(tag))
    }

    /// Returns the container tags to which this tenant is limited, or `None` if it is not.
    pub fn allowed_tags(&self) -> Option<&[ContainerTag]> {
        self.tags.as_deref()
    }

    /// Returns the tag for a write: the one that was sent, or else the only one that the key may
    /// access, or else the default one.
    ///
    /// # Errors
    /// Returns [`Error::Forbidden`] outside the containers of the key, and when no tag was sent and
    /// the key has several.
    pub fn writable_tag(&self, requested: Option<ContainerTag>) -> Result<ContainerTag> {
        let tag = match (requested, self.allowed_tags()) {
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

        self.check_access(&tag)?;
        Ok(tag)
    }

    /// Refuses a container that the key may not access.
    ///
    /// # Errors
    /// Returns [`Error::Forbidden`] for such a container.
    pub fn check_access(&self, tag: &ContainerTag) -> Result<()> {
        if self.can_access(tag) {
            return Ok(());
        }
        Err(Error::Forbidden(format!(
            "this key does not reach the container tag {tag}"
        )))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::{KeySpec, NewKey};

    fn key(kind: KeyKind, permission: Permission, tags: Option<&[&str]>) -> ApiKey {
        let tags = tags.map(|tags| tags.iter().map(|tag| parse_tag(tag)).collect());
        let spec = KeySpec {
            name: "ci".into(),
            kind,
            permission,
            tags,
            expires_at: None,
            rate_limit: None,
        };
        let org = OrgId::parse("acme").unwrap();
        NewKey::generate(org, spec, Timestamp::from_millis(0)).record
    }

    fn parse_tag(tag: &str) -> ContainerTag {
        ContainerTag::parse(tag).unwrap()
    }

    #[test]
    fn a_tenant_is_the_key_that_was_verified() {
        let key = key(KeyKind::Full, Permission::Write, None);
        let tenant = Tenant::for_key(&key);
        assert_eq!(tenant.key_id(), Some(&key.id));
        assert_eq!(tenant.authenticated_key().map(|key| &*key.name), Some("ci"));
        assert!(!tenant.is_console_session());

        let session = Tenant::for_console_session(&key);
        assert!(session.is_console_session());
        assert_eq!(session.key_id(), Some(&key.id));
        assert_eq!(Tenant::for_work(key.org).key_id(), None);
    }

    #[test]
    fn only_a_full_key_that_writes_everywhere_administers() {
        for (kind, permission, tags, may_write, may_administer) in [
            (KeyKind::Full, Permission::Write, None, true, true),
            (KeyKind::Session, Permission::Write, None, true, true),
            (KeyKind::Full, Permission::Read, None, false, false),
            (KeyKind::Agent, Permission::Write, None, true, false),
            (KeyKind::Scoped, Permission::Write, None, true, false),
            (
                KeyKind::Full,
                Permission::Write,
                Some(&["a"][..]),
                true,
                false,
            ),
        ] {
            let tenant = Tenant::for_key(&key(kind, permission, tags));
            let rights = (tenant.may_write(), tenant.may_administer());
            assert_eq!(
                rights,
                (may_write, may_administer),
                "{kind:?} {permission:?}"
            );
        }
    }

    #[test]
    fn a_limited_key_reaches_its_tags_and_no_other() {
        let limited = Tenant::for_key(&key(KeyKind::Full, Permission::Write, Some(&["a"])));
        let everywhere = Tenant::for_key(&key(KeyKind::Full, Permission::Write, None));
        let (a, b) = (parse_tag("a"), parse_tag("b"));
        assert!(limited.can_access(&a) && limited.check_access(&a).is_ok());
        assert!(!limited.can_access(&b) && limited.check_access(&b).is_err());
        assert!(everywhere.can_access(&b) && everywhere.check_access(&b).is_ok());
        assert_eq!(limited.allowed_tags(), Some(&[a.clone()][..]));
        assert_eq!(everywhere.allowed_tags(), None);

        assert_eq!(limited.writable_tag(None).unwrap(), a);
        assert!(limited.writable_tag(Some(b.clone())).is_err());
        assert_eq!(everywhere.writable_tag(Some(b.clone())).unwrap(), b);
        assert_eq!(
            everywhere.writable_tag(None).unwrap(),
            ContainerTag::default_tag()
        );

        let of_two = Tenant::for_key(&key(KeyKind::Full, Permission::Write, Some(&["a", "b"])));
        assert_eq!(of_two.writable_tag(Some(b.clone())).unwrap(), b);
        let error = of_two.writable_tag(None).unwrap_err().to_string();
        assert!(error.contains("one of a, b"), "{error}");
    }

    #[test]
    fn accessed_containers_are_known_to_all_copies_of_a_tenant() {
        let tenant = Tenant::for_work(OrgId::parse("acme").unwrap());
        let container = ContainerId::random();
        tenant.clone().record_access([&container]);
        tenant.record_access([&container]);
        assert_eq!(tenant.accessed_containers(), [container]);
    }
}
