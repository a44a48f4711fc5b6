//! API keys: create, list, disable.

use crate::ctx::Ctx;
use crate::error::{Error, Result};
use crate::ids::KeyId;
use crate::key::{ApiKey, NewKey, Permission};
use crate::tag::ContainerTag;
use crate::tenant::Tenant;

/// Makes a key; the returned text is the only copy of its secret.
///
/// # Errors
/// [`Error::Invalid`] for a name outside 1 to 100 characters, and those of the port.
pub async fn create_key(
    ctx: &Ctx,
    tenant: &Tenant,
    name: &str,
    permission: Permission,
    tags: Option<Vec<ContainerTag>>,
) -> Result<NewKey> {
    if !(1..=100).contains(&name.chars().count()) {
        return Err(Error::invalid_field("name", "1 to 100 characters"));
    }
    let key = NewKey::generate(tenant.org().clone(), name, permission, tags, ctx.clock.now());
    ctx.keys.create(&key.record).await?;
    Ok(key)
}

/// The organization's keys, oldest first.
///
/// # Errors
/// Those of the port.
pub async fn list_keys(ctx: &Ctx, tenant: &Tenant) -> Result<Vec<ApiKey>> {
    Ok(ctx.keys.list(tenant).await?)
}

/// Enables or disables a key; running servers follow within 30 seconds.
///
/// # Errors
/// [`Error::NotFound`] when the organization has no such key.
pub async fn set_key_enabled(ctx: &Ctx, tenant: &Tenant, id: &KeyId, enabled: bool) -> Result<()> {
    if ctx.keys.set_enabled(tenant, id, enabled).await? { Ok(()) } else { Err(Error::NotFound("Key")) }
}
