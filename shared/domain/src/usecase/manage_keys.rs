//! API keys: create, list, disable, delete; and sessions.

use crate::ctx::Ctx;
use crate::error::{Error, Result};
use crate::ids::KeyId;
use crate::key::{ApiKey, KeyKind, KeyPlan, NewKey, Permission};
use crate::rate::RateLimit;
use crate::tag::ContainerTag;
use crate::tenant::Tenant;
use crate::time::Timestamp;
use crate::usecase::caps::check_keys;

/// The most characters of a name. Contract.
const MAX_NAME: usize = 100;
/// The most days until a key expires. Contract.
const MAX_DAYS: i64 = 365;
/// The most container tags of a key: its record holds them all.
const MAX_TAGS: usize = 100;
/// The requests of a scoped key within its window, where nobody says otherwise, and the most. Contract.
const RATE_MAX: (i64, i64) = (500, 10_000);
/// The milliseconds of that window. Contract.
const RATE_WINDOW_MS: (i64, i64) = (60_000, 3_600_000);
/// How long an administrator's session lasts.
const SESSION_SECONDS: i64 = 15 * 60;

/// What a scoped key is to be. Numbers are as they were sent.
#[derive(Debug)]
pub struct ScopedKey {
    /// The container that it is for.
    pub tag: ContainerTag,
    /// What a person calls it.
    pub name: Option<String>,
    /// After how many days it stops working.
    pub expires_in_days: Option<i64>,
    /// How often it may be used within the window.
    pub rate_limit_max: Option<i64>,
    /// The milliseconds of the window.
    pub rate_limit_time_window: Option<i64>,
}

/// What an agent's key is to be.
#[derive(Debug)]
pub struct AgentKey {
    /// What a person calls it.
    pub name: String,
    /// What it may do.
    pub permission: Permission,
    /// The containers that it reaches; `None` is all.
    pub tags: Option<Vec<ContainerTag>>,
    /// After how many days it stops working.
    pub expires_in_days: Option<i64>,
}

/// Makes a key; the returned text is the only copy of its secret.
///
/// # Errors
/// [`Error::Invalid`] for a name outside 1 to 100 characters, for too many tags or none in a list of them, and for an
/// organization that has as many keys as it may; and those of the port.
pub async fn create_key(ctx: &Ctx, tenant: &Tenant, plan: KeyPlan) -> Result<NewKey> {
    if plan.name.trim().is_empty() || plan.name.chars().count() > MAX_NAME {
        return Err(Error::invalid_field(
            "name",
            format!("1 to {MAX_NAME} characters"),
        ));
    }
    if plan
        .tags
        .as_ref()
        .is_some_and(|tags| !(1..=MAX_TAGS).contains(&tags.len()))
    {
        let rule = format!(
            "1 to {MAX_TAGS} container tags, or none at all for a key that reaches every container"
        );
        return Err(Error::invalid_field("containerTags", rule));
    }
    if plan.kind != KeyKind::Session {
        check_keys(ctx, tenant).await?;
    }
    let key = NewKey::generate(tenant.org().clone(), plan, ctx.clock.now());
    ctx.keys.create(&key.record).await?;
    Ok(key)
}

/// Makes a key for the content of one container, to be given to a program that is not trusted with more.
///
/// # Errors
/// [`Error::Invalid`] naming the field, and those of the port.
pub async fn create_scoped_key(ctx: &Ctx, tenant: &Tenant, wanted: ScopedKey) -> Result<NewKey> {
    let within = |field: &str, sent: Option<i64>, (usual, most): (i64, i64)| {
        let number = sent.unwrap_or(usual);
        let fits = (1..=most).contains(&number);
        if fits {
            Ok(number)
        } else {
            Err(Error::invalid_field(field, format!("1 to {most}")))
        }
    };

    let max = within("rateLimitMax", wanted.rate_limit_max, RATE_MAX)?;
    let window_ms = within(
        "rateLimitTimeWindow",
        wanted.rate_limit_time_window,
        RATE_WINDOW_MS,
    )?;
    let name = wanted.name.unwrap_or_else(|| {
        format!("scoped_{}", wanted.tag)
            .chars()
            .take(MAX_NAME)
            .collect()
    });

    let plan = KeyPlan {
        name,
        kind: KeyKind::Scoped,
        permission: Permission::Write,
        tags: Some(vec![wanted.tag]),
        expires_at: expiry(ctx.clock.now(), wanted.expires_in_days)?,
        rate: Some(RateLimit {
            max: u32::try_from(max).unwrap_or(u32::MAX),
            window_ms,
        }),
    };

    create_key(ctx, tenant, plan).await
}

/// Makes a key for an agent: content and what surrounds it, and no administration.
///
/// # Errors
/// [`Error::Invalid`] naming the field, and those of the port.
pub async fn create_agent_key(ctx: &Ctx, tenant: &Tenant, wanted: AgentKey) -> Result<NewKey> {
    let plan = KeyPlan {
        name: wanted.name,
        kind: KeyKind::Agent,
        permission: wanted.permission,
        tags: wanted.tags,
        expires_at: expiry(ctx.clock.now(), wanted.expires_in_days)?,
        rate: None,
    };
    create_key(ctx, tenant, plan).await
}

/// When a key expires that does so after `days`.
///
/// # Errors
/// [`Error::Invalid`] unless these are 1 to 365.
pub fn expiry(now: Timestamp, days: Option<i64>) -> Result<Option<Timestamp>> {
    match days {
        None => Ok(None),
        Some(days) if (1..=MAX_DAYS).contains(&days) => {
            Ok(Some(now.plus_seconds(days * 24 * 60 * 60)))
        }
        Some(_) => Err(Error::invalid_field(
            "expiresInDays",
            format!("1 to {MAX_DAYS}"),
        )),
    }
}

/// The organization's keys, oldest first, without sessions.
///
/// # Errors
/// Those of the port.
pub async fn list_keys(ctx: &Ctx, tenant: &Tenant) -> Result<Vec<ApiKey>> {
    Ok(ctx.keys.list(tenant).await?)
}

/// Enables or disables a key; running servers follow within 30 seconds.
///
/// # Errors
/// [`Error::Conflict`] for a key that would disable itself, [`Error::NotFound`] when the organization has no such key.
pub async fn set_key_enabled(ctx: &Ctx, tenant: &Tenant, id: &KeyId, enabled: bool) -> Result<()> {
    if !enabled {
        check_not_own(tenant, id)?;
    }
    if ctx.keys.set_enabled(tenant, id, enabled).await? {
        Ok(())
    } else {
        Err(no_key())
    }
}

/// Enables a key that is disabled, and the other way round; whether it is enabled then.
///
/// # Errors
/// As [`set_key_enabled`].
pub async fn toggle_key(ctx: &Ctx, tenant: &Tenant, id: &KeyId) -> Result<bool> {
    let enabled = !find(ctx, tenant, id).await?.enabled;
    set_key_enabled(ctx, tenant, id, enabled).await?;
    Ok(enabled)
}

/// Deletes a key of whatever kind; running servers follow within 30 seconds.
///
/// # Errors
/// [`Error::Conflict`] for a key that would delete itself, [`Error::NotFound`] when the organization has no such key.
pub async fn delete_key(ctx: &Ctx, tenant: &Tenant, id: &KeyId) -> Result<()> {
    check_not_own(tenant, id)?;
    if ctx.keys.delete(tenant, id).await? {
        Ok(())
    } else {
        Err(no_key())
    }
}

/// Opens an administrator's session: a key that ends by itself after 15 minutes.
///
/// # Errors
/// [`Error::Forbidden`] in a session, which would never end then, and those of the port.
pub async fn open_session(ctx: &Ctx, tenant: &Tenant) -> Result<NewKey> {
    if tenant.kind() == KeyKind::Session {
        return Err(Error::Forbidden(
            "a session cannot open another one; open it with an API key".into(),
        ));
    }

    let opener = tenant.key_use().map_or("local", |key| key.name.as_str());
    let plan = KeyPlan {
        name: format!("session of {opener}")
            .chars()
            .take(MAX_NAME)
            .collect(),
        kind: KeyKind::Session,
        permission: Permission::Write,
        tags: None,
        expires_at: Some(ctx.clock.now().plus_seconds(SESSION_SECONDS)),
        rate: None,
    };

    create_key(ctx, tenant, plan).await
}

/// Ends the session that asks; running servers follow within 30 seconds.
///
/// # Errors
/// [`Error::Invalid`] for a key that is no session's, and those of the port.
pub async fn end_session(ctx: &Ctx, tenant: &Tenant) -> Result<()> {
    match tenant.key() {
        Some(id) if tenant.kind() == KeyKind::Session => {
            // One that another server has just ended is as ended as this one.
            ctx.keys.delete(tenant, id).await?;
            Ok(())
        }
        _ => Err(Error::invalid(
            "this key is no session's; delete it with DELETE /v3/auth/keys/{id}",
        )),
    }
}

/// The key with this id, if it is the organization's.
async fn find(ctx: &Ctx, tenant: &Tenant, id: &KeyId) -> Result<ApiKey> {
    ctx.keys
        .get(id)
        .await?
        .filter(|key| key.org == *tenant.org())
        .ok_or_else(no_key)
}

fn check_not_own(tenant: &Tenant, id: &KeyId) -> Result<()> {
    if tenant.key() == Some(id) {
        return Err(Error::Conflict(
            "a key cannot disable or delete itself; use another one".into(),
        ));
    }
    Ok(())
}

const fn no_key() -> Error {
    Error::NotFound("Key")
}
