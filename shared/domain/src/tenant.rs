//! The capability to touch an organization's data. Every port takes one, and only authentication or a message that an
//! authenticated request caused can make one: code without a tenant cannot name a record.

use crate::error::{Error, Result};
use crate::ids::{KeyId, OrgId};
use crate::key::{ApiKey, Permission};
use crate::tag::ContainerTag;

/// Who acts, for which organization, and how far it reaches.
#[derive(Debug, Clone)]
pub struct Tenant {
    org: OrgId,
    key: Option<KeyId>,
    permission: Permission,
    /// The containers it may touch; `None` is all.
    tags: Option<Vec<ContainerTag>>,
}

impl Tenant {
    /// The tenant of an API key that was just verified.
    pub(crate) fn of_key(key: &ApiKey) -> Self {
        Self {
            org: key.org.clone(),
            key: Some(key.id.clone()),
            permission: key.permission,
            tags: key.tags.clone(),
        }
    }

    /// The tenant of work that runs behind a queue or a schedule.
    pub(crate) fn of_work(org: OrgId) -> Self {
        Self { org, key: None, permission: Permission::Write, tags: None }
    }

    /// The tenant of the person at this machine: only for programs that open the data folder itself.
    pub fn of_operator(org: OrgId) -> Self {
        Self::of_work(org)
    }

    /// The organization.
    pub fn org(&self) -> &OrgId {
        &self.org
    }

    /// The key that authenticated the request; none for work behind a queue.
    pub fn key(&self) -> Option<&KeyId> {
        self.key.as_ref()
    }

    /// Whether this tenant may change anything.
    pub fn may_write(&self) -> bool {
        self.permission == Permission::Write
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
                return Err(Error::Forbidden(format!("name the containerTag: one of {}", names.join(", "))));
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
        Err(Error::Forbidden(format!("this key does not reach the container tag {tag}")))
    }
}
