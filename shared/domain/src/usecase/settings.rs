//! Settings of an organization.

use crate::ctx::Ctx;
use crate::error::{PortError, Result};
use crate::settings::Settings;
use crate::tenant::Tenant;

/// How often a change is tried against concurrent ones.
const ATTEMPTS: usize = 12;

/// Changes the organization's settings by `change`, which runs again when somebody else was first.
///
/// # Errors
/// Those of `change` and of the ports.
pub async fn change_settings(
    ctx: &Ctx,
    tenant: &Tenant,
    change: impl Fn(&mut Settings) -> Result<()> + Send,
) -> Result<Settings> {
    for _ in 0..ATTEMPTS {
        let mut settings = ctx.settings.get(tenant).await?;
        let before = settings.clone();
        change(&mut settings)?;
        if settings == before {
            return Ok(settings);
        }
        settings.version += 1;
        match ctx.settings.put(tenant, &settings).await {
            Ok(()) => return Ok(settings),
            Err(PortError::Conflict) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Err(PortError::Conflict.into())
}
