//! API keys: creating, listing, disabling and deleting them; and sessions.

use crate::Ctx;
use crate::authentication::LOCAL_KEY;
use crate::caps::check_keys;
use domain::Secret;
use domain::error::{Error, Result};
use domain::ids::KeyId;
use domain::key::{ApiKey, KeyKind, KeySpec, NewKey, Permission, PresentedKey};
use domain::rate::RateLimit;
use domain::tag::ContainerTag;
use domain::tenant::Tenant;
use domain::time::Timestamp;

/// The largest number of characters of a name. This number is part of the API.
const MAX_NAME: usize = 100;
/// The largest number of days until a key expires. This number is part of the API.
const MAX_DAYS: i64 = 365;
/// The largest number of container tags of a key: its record holds them all.
const MAX_TAGS: usize = 100;
/// The number of requests of a scoped key within its window: the default and the maximum. These
/// numbers are part of the API.
const RATE_MAX: (i64, i64) = (500, 10_000);
/// The length of that window in milliseconds: the default and the maximum. These numbers are part
/// of the API.
const RATE_WINDOW_MS: (i64, i64) = (60_000, 3_600_000);
/// The number of seconds that an administrator's session lasts.
const SESSION_SECONDS: i64 = 15 * 60;
/// The number of seconds that a session of the console lasts.
pub const CONSOLE_SESSION_SECONDS: i64 = 12 * 60 * 60;

/// A request for a scoped key. Numbers are as they were sent.
#[derive(Debug)]
pub struct ScopedKeySpec {
    /// The container tag that the key is limited to.
    pub tag: ContainerTag,
    /// The display name.
    pub name: Option<String>,
    /// The number of days after which the key stops working.
    pub expires_in_days: Option<i64>,
    /// The number of requests within the window.
    pub rate_limit_max: Option<i64>,
    /// The length of the window in milliseconds.
    pub rate_limit_time_window: Option<i64>,
}

/// A request for an agent's key.
#[derive(Debug)]
pub struct AgentKeySpec {
    /// The display name.
    pub name: String,
    /// The permission of the key.
    pub permission: Permission,
    /// The container tags that the key reaches; `None` means all.
    pub tags: Option<Vec<ContainerTag>>,
    /// The number of days after which the key stops working.
    pub expires_in_days: Option<i64>,
}

/// Creates a key. The returned text is the only copy of its secret.
///
/// # Errors
/// Returns [`Error::Invalid`] for a name outside 1 to 100 characters, for a list of tags that is
/// empty or too long, and for an organization that has as many keys as it may, and the errors of
/// the port.
pub async fn create_key(ctx: &Ctx, tenant: &Tenant, spec: KeySpec) -> Result<NewKey> {
    if spec.name.trim().is_empty() || spec.name.chars().count() > MAX_NAME {
        return Err(Error::invalid_field(
            "name",
            format!("1 to {MAX_NAME} characters"),
        ));
    }

    if let Some(tags) = &spec.tags
        && !(1..=MAX_TAGS).contains(&tags.len())
    {
        let rule = format!(
            "1 to {MAX_TAGS} container tags, or none at all for a key that reaches every container"
        );
        return Err(Error::invalid_field("containerTags", rule));
    }

    if spec.kind != KeyKind::Session {
        check_keys(ctx, tenant).await?;
    }

    let key = NewKey::generate(tenant.org().clone(), spec, ctx.clock.now());
    ctx.keys.create(&key.record).await?;
    Ok(key)
}

/// Creates a key for the content of one container, for a program that is not trusted with more.
///
/// # Errors
/// Returns [`Error::Invalid`] naming the field, and the errors of the port.
pub async fn create_scoped_key(ctx: &Ctx, tenant: &Tenant, spec: ScopedKeySpec) -> Result<NewKey> {
    let check_range = |field: &str, requested: Option<i64>, (default, limit): (i64, i64)| {
        let number = requested.unwrap_or(default);
        let fits = (1..=limit).contains(&number);
        if fits {
            Ok(number)
        } else {
            Err(Error::invalid_field(field, format!("1 to {limit}")))
        }
    };

    let max = check_range("rateLimitMax", spec.rate_limit_max, RATE_MAX)?;
    let window_ms = check_range(
        "rateLimitTimeWindow",
        spec.rate_limit_time_window,
        RATE_WINDOW_MS,
    )?;
    let name = spec.name.unwrap_or_else(|| {
        format!("scoped_{}", spec.tag)
            .chars()
            .take(MAX_NAME)
            .collect()
    });

    let key_spec = KeySpec {
        name,
        kind: KeyKind::Scoped,
        permission: Permission::Write,
        tags: Some(vec![spec.tag]),
        expires_at: expires_at(ctx.clock.now(), spec.expires_in_days)?,
        rate_limit: Some(RateLimit {
            max: u32::try_from(max).unwrap_or(u32::MAX),
            window_ms,
        }),
    };

    create_key(ctx, tenant, key_spec).await
}

/// Creates a key for an agent. It covers content and related data, but no administration.
///
/// # Errors
/// Returns [`Error::Invalid`] naming the field, and the errors of the port.
pub async fn create_agent_key(ctx: &Ctx, tenant: &Tenant, spec: AgentKeySpec) -> Result<NewKey> {
    let key_spec = KeySpec {
        name: spec.name,
        kind: KeyKind::Agent,
        permission: spec.permission,
        tags: spec.tags,
        expires_at: expires_at(ctx.clock.now(), spec.expires_in_days)?,
        rate_limit: None,
    };
    create_key(ctx, tenant, key_spec).await
}

/// Returns the time at which a key expires that lasts `days`.
///
/// # Errors
/// Returns [`Error::Invalid`] unless `days` is 1 to 365.
pub fn expires_at(now: Timestamp, days: Option<i64>) -> Result<Option<Timestamp>> {
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

/// Returns the organization's keys, oldest first, without sessions.
///
/// # Errors
/// Returns the errors of the port.
pub async fn list_keys(ctx: &Ctx, tenant: &Tenant) -> Result<Vec<ApiKey>> {
    Ok(ctx.keys.list(tenant).await?)
}

/// Enables or disables a key. Running servers follow within 30 seconds.
///
/// # Errors
/// Returns [`Error::Conflict`] for a key that would disable itself, and [`Error::NotFound`] when
/// the organization has no such key.
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

/// Enables a disabled key, or disables an enabled one. Returns whether it is enabled afterwards.
///
/// # Errors
/// Returns the errors of [`set_key_enabled`].
pub async fn toggle_key(ctx: &Ctx, tenant: &Tenant, id: &KeyId) -> Result<bool> {
    let enabled = !find(ctx, tenant, id).await?.enabled;
    set_key_enabled(ctx, tenant, id, enabled).await?;
    Ok(enabled)
}

/// Deletes a key of any kind. Running servers follow within 30 seconds.
///
/// # Errors
/// Returns [`Error::Conflict`] for a key that would delete itself, and [`Error::NotFound`] when the
/// organization has no such key.
pub async fn delete_key(ctx: &Ctx, tenant: &Tenant, id: &KeyId) -> Result<()> {
    check_not_own(tenant, id)?;
    if ctx.keys.delete(tenant, id).await? {
        Ok(())
    } else {
        Err(no_key())
    }
}

/// Opens an administrator's session: a key that expires after 15 minutes.
///
/// # Errors
/// Returns [`Error::Forbidden`] in a session, which could otherwise be prolonged forever, and the
/// errors of the port.
pub async fn open_session(ctx: &Ctx, tenant: &Tenant) -> Result<NewKey> {
    if tenant.key_kind() == KeyKind::Session {
        return Err(Error::Forbidden(
            "a session cannot open another one; open it with an API key".into(),
        ));
    }

    let opener = tenant
        .authenticated_key()
        .map_or(LOCAL_KEY, |key| key.name.as_str());
    let key_spec = KeySpec {
        name: format!("session of {opener}")
            .chars()
            .take(MAX_NAME)
            .collect(),
        kind: KeyKind::Session,
        permission: Permission::Write,
        tags: None,
        expires_at: Some(ctx.clock.now().plus_seconds(SESSION_SECONDS)),
        rate_limit: None,
    };

    create_key(ctx, tenant, key_spec).await
}

/// Ends the session that makes the request. Running servers follow within 30 seconds.
///
/// # Errors
/// Returns [`Error::Invalid`] for a key that is not a session, and the errors of the port.
pub async fn end_session(ctx: &Ctx, tenant: &Tenant) -> Result<()> {
    match tenant.key_id() {
        Some(id) if tenant.key_kind() == KeyKind::Session => {
            // A session that another server has just ended counts as ended.
            ctx.keys.delete(tenant, id).await?;
            Ok(())
        }
        _ => Err(Error::invalid(
            "this key does not belong to a session; delete it with DELETE /v3/auth/keys/{id}",
        )),
    }
}

/// Opens a session of the console for a key. The session acts as that key, with its permissions,
/// container tags and rate limit, as long as the key works, and at most
/// [`CONSOLE_SESSION_SECONDS`].
///
/// # Errors
/// Returns [`Error::Forbidden`] for a session and for the key `local`, and the errors of the port.
pub async fn open_console_session(ctx: &Ctx, tenant: &Tenant) -> Result<NewKey> {
    let is_session = tenant.is_console_session() || tenant.key_kind() == KeyKind::Session;
    let opener = tenant.key_id().filter(|_| !is_session);
    let Some(opener) = opener else {
        return Err(Error::Forbidden(
            "sign in with an API key; a session and the key `local` open no session".into(),
        ));
    };

    let now = ctx.clock.now();
    let key_spec = KeySpec {
        name: "console".into(),
        kind: KeyKind::Session,
        permission: Permission::Read,
        tags: tenant.allowed_tags().map(<[ContainerTag]>::to_vec),
        expires_at: Some(now.plus_seconds(CONSOLE_SESSION_SECONDS)),
        rate_limit: None,
    };
    let mut session = NewKey::generate(tenant.org().clone(), key_spec, now);
    session.record.acts_as = Some(opener.clone());
    ctx.keys.create(&session.record).await?;

    Ok(session)
}

/// Ends a session of the console, and returns its id. Returns `None` for a session that has already
/// ended, and for a text that is no session. Running servers follow within 30 seconds.
///
/// # Errors
/// Returns the errors of the port.
pub async fn end_console_session(ctx: &Ctx, token: &Secret) -> Result<Option<KeyId>> {
    let Some(presented) = PresentedKey::parse(token.expose()) else {
        return Ok(None);
    };

    let record = ctx.keys.get(presented.id()).await?;
    let Some(session) = record.filter(|key| key.acts_as.is_some()) else {
        return Ok(None);
    };
    let Ok(tenant) = presented.verify_against(Some(&session), ctx.clock.now()) else {
        return Ok(None);
    };
    ctx.keys.delete(&tenant, &session.id).await?;

    Ok(Some(session.id))
}

/// Returns the key with this id if it belongs to the organization.
async fn find(ctx: &Ctx, tenant: &Tenant, id: &KeyId) -> Result<ApiKey> {
    match ctx.keys.get(id).await? {
        Some(key) if key.org == *tenant.org() => Ok(key),
        _ => Err(no_key()),
    }
}

fn check_not_own(tenant: &Tenant, id: &KeyId) -> Result<()> {
    if tenant.key_id() == Some(id) {
        return Err(Error::Conflict(
            "a key cannot disable or delete itself; use another one".into(),
        ));
    }
    Ok(())
}

const fn no_key() -> Error {
    Error::NotFound("Key")
}
