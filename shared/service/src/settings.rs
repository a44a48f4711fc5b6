//! The settings of an organization.

use tracing::warn;

use crate::ConflictRetry;
use crate::Ctx;
use domain::error::{PortError, Result};
use domain::settings::{Settings, SettingsChange};
use domain::tenant::Tenant;

/// Changes the organization's settings by `change`, which runs again when another writer was first.
///
/// # Errors
/// Returns the errors of `change` and of the ports.
pub async fn change_settings(
    ctx: &Ctx,
    tenant: &Tenant,
    change: impl Fn(&mut Settings) -> Result<()> + Send,
) -> Result<Settings> {
    Ok(replace(ctx, tenant, change).await?.1)
}

/// Changes the settings as [`change_settings`] does. Returns the settings before and after the
/// change.
async fn replace(
    ctx: &Ctx,
    tenant: &Tenant,
    change: impl Fn(&mut Settings) -> Result<()> + Send,
) -> Result<(Settings, Settings)> {
    let mut retry = ConflictRetry::new(ctx.clock.as_ref());
    loop {
        let mut settings = ctx.settings.get(tenant).await?;
        let before = settings.clone();
        change(&mut settings)?;
        if settings == before {
            return Ok((before, settings));
        }

        settings.version += 1;
        match ctx.settings.put(tenant, &settings).await {
            Ok(()) => return Ok((before, settings)),
            Err(PortError::Conflict) => {}
            Err(error) => return Err(error.into()),
        }

        retry.wait().await?;
    }
}

/// Changes the organization's settings as a caller asked. A secret is sealed under a new name
/// before the settings name it, so every reader of the settings finds the secret that was set with
/// them, however many writers change them at once. A secret that is no longer named is deleted. A
/// crash may leave it behind, sealed and out of reach.
///
/// # Errors
/// Returns [`domain::Error::Invalid`] naming the field, in which case nothing was changed, and the
/// errors of the ports.
pub async fn update_settings(
    ctx: &Ctx,
    tenant: &Tenant,
    change: &SettingsChange,
) -> Result<Settings> {
    change.apply_to(&mut ctx.settings.get(tenant).await?)?;
    for new in change.new_secrets() {
        ctx.vault.put(tenant, &new.name, &new.secret).await?;
    }
    let (before, settings) = replace(ctx, tenant, |settings| change.apply_to(settings)).await?;
    forget_secrets(ctx, tenant, &before, &settings).await;
    Ok(settings)
}

/// Resets every setting to "not set", and deletes the secrets that belong to them.
///
/// # Errors
/// Returns the errors of the ports.
pub async fn reset_settings(ctx: &Ctx, tenant: &Tenant) -> Result<()> {
    let reset = |settings: &mut Settings| {
        *settings = Settings {
            version: settings.version,
            ..Settings::default()
        };
        Ok(())
    };
    let (before, settings) = replace(ctx, tenant, reset).await?;
    forget_secrets(ctx, tenant, &before, &settings).await;
    Ok(())
}

/// Deletes the secrets that a change has replaced. The change has been made, so an error here does
/// not fail it.
async fn forget_secrets(ctx: &Ctx, tenant: &Tenant, before: &Settings, after: &Settings) {
    let kept_names: Vec<&str> = after.secret_names().collect();
    for name in before.secret_names() {
        if kept_names.contains(&name) {
            continue;
        }
        if let Err(error) = ctx.vault.delete(tenant, name).await {
            warn!(
                error = &error as &dyn std::error::Error,
                "could not delete a secret that nothing names any more"
            );
        }
    }
}
