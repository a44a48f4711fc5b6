//! Caps on the container tags and keys of an organization. Lists of them are answered whole, so
//! neither may grow without bound.

use crate::Ctx;
use domain::error::{Error, Result};
use domain::tenant::Tenant;

/// The caps of an organization.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OrganizationCaps {
    /// The number of container tags.
    pub tags: u64,
    /// The number of API keys, without sessions.
    pub keys: usize,
}

impl Default for OrganizationCaps {
    fn default() -> Self {
        Self {
            tags: 1_000_000,
            keys: 10_000,
        }
    }
}

/// Reserves one more container tag of the organization.
///
/// # Errors
/// Returns [`Error::Invalid`] when the organization has as many tags as it may, and the errors of
/// the port.
pub(crate) async fn admit_tag(ctx: &Ctx, tenant: &Tenant) -> Result<()> {
    let limit = ctx.caps.tags;
    if ctx.containers.reserve_tag(tenant, limit).await? {
        return Ok(());
    }
    let rule = format!(
        "the organization has {limit} container tags, the most it may have; use or delete one of them"
    );
    Err(Error::invalid_field("containerTag", rule))
}

/// Checks that the organization may have one more key.
///
/// # Errors
/// Returns [`Error::Invalid`] when it may not, and the errors of the port.
pub(crate) async fn check_keys(ctx: &Ctx, tenant: &Tenant) -> Result<()> {
    let limit = ctx.caps.keys;
    if ctx.keys.count(tenant).await? < limit {
        return Ok(());
    }
    Err(Error::invalid(format!(
        "the organization has {limit} keys, the most it may have; delete one that is not used"
    )))
}
