//! The access token that a request to a provider needs: kept sealed, made anew by one worker at a time.

use tracing::warn;

use crate::connection::{AppRef, Connection, Grant, Provider, Tokens};
use crate::ctx::Ctx;
use crate::error::PortError;
use crate::ids::Revision;
use crate::ports::{Access, Connector, ConnectorError, ConnectorResult, OAuth, OAuthClient};
use crate::settings::{OAuthApp, Settings};
use crate::tenant::Tenant;

/// A token that ends within so many seconds is made anew: a step may last a minute.
const EARLY_SECONDS: i64 = 5 * 60;
/// How long whoever makes one may take.
const REFRESH_SECONDS: i64 = 30;
/// How often new tokens are stored against concurrent changes of the permission's record.
const ATTEMPTS: usize = 12;

/// When tokens are made anew.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Renew {
    /// Near their end.
    InTime,
    /// Whatever they say of themselves: the provider takes them no longer.
    Now,
}

/// What requests for a connection need to its provider.
///
/// # Errors
/// [`ConnectorError::Reauth`] when the permission is gone, [`ConnectorError::App`] when the app is, the provider's own,
/// and [`ConnectorError::Unavailable`] for a port that does not answer or while somebody else makes a token.
pub async fn access(
    ctx: &Ctx,
    connector: &dyn Connector,
    tenant: &Tenant,
    connection: &Connection,
) -> ConnectorResult<Access> {
    access_with(ctx, connector, tenant, connection, Renew::InTime).await
}

/// As [`access`], with a new token even where the old one is said to last: the provider has just refused it.
///
/// # Errors
/// As [`access`].
pub async fn renew_access(
    ctx: &Ctx,
    connector: &dyn Connector,
    tenant: &Tenant,
    connection: &Connection,
) -> ConnectorResult<Access> {
    access_with(ctx, connector, tenant, connection, Renew::Now).await
}

async fn access_with(
    ctx: &Ctx,
    connector: &dyn Connector,
    tenant: &Tenant,
    connection: &Connection,
    when: Renew,
) -> ConnectorResult<Access> {
    let metadata = connection.metadata.clone();
    let Some(oauth) = connector.oauth() else {
        return Ok(Access {
            token: None,
            metadata,
        });
    };

    let Some(id) = &connection.grant else {
        return Err(ConnectorError::Reauth("no permission was given yet".into()));
    };

    let Some(grant) = ctx.connections.grant(tenant, id).await.map_err(port)? else {
        return Err(ConnectorError::Reauth("the permission is gone".into()));
    };

    let now = ctx.clock.now();
    if let Some(until) = grant.throttled_until.filter(|until| *until > now) {
        return Err(ConnectorError::Throttled {
            retry_after: Some(now.seconds_until(until).unsigned_abs()),
        });
    }

    let tokens = tokens_of(ctx, tenant, &grant).await?;
    let lasts = tokens.access_until > now.plus_seconds(EARLY_SECONDS);
    let tokens = if lasts && when == Renew::InTime {
        tokens
    } else {
        renew(ctx, oauth, tenant, grant, tokens, when).await?
    };

    Ok(Access {
        token: Some(tokens.access),
        metadata,
    })
}

async fn tokens_of(ctx: &Ctx, tenant: &Tenant, grant: &Grant) -> ConnectorResult<Tokens> {
    let sealed = ctx.vault.get(tenant, &grant.secret).await.map_err(port)?;
    let gone = || ConnectorError::Unavailable("the tokens are being replaced".into());
    Tokens::of_secret(&sealed.ok_or_else(gone)?)
        .ok_or_else(|| ConnectorError::Fault("sealed tokens".into()))
}

/// New tokens. Whoever writes the mark of it first asks the provider; others use what is there while it lasts. With
/// providers that hand out a new refresh token each time, asking twice would lose the permission.
async fn renew(
    ctx: &Ctx,
    oauth: &dyn OAuth,
    tenant: &Tenant,
    mut grant: Grant,
    tokens: Tokens,
    when: Renew,
) -> ConnectorResult<Tokens> {
    let now = ctx.clock.now();
    let taken = grant.refreshing_until.is_some_and(|until| until > now);
    if !taken {
        grant.refreshing_until = Some(now.plus_seconds(REFRESH_SECONDS));
        grant.rev += 1;
    }

    if taken
        || !ctx
            .connections
            .save_grant(tenant, &grant)
            .await
            .map_err(port)?
    {
        let usable =
            when == Renew::InTime && tokens.access_until > now.plus_seconds(REFRESH_SECONDS);
        let busy = || ConnectorError::Unavailable("another worker renews the permission".into());
        return if usable { Ok(tokens) } else { Err(busy()) };
    }

    let settings = ctx.settings.get(tenant).await.map_err(port)?;
    let client = oauth_client(
        ctx,
        oauth,
        tenant,
        &settings,
        Apps::Of(grant.provider, &grant.app),
    )
    .await?;
    let renewed = oauth.refresh(&client, &tokens, now).await;
    keep(ctx, tenant, grant, renewed.as_ref().ok()).await?;

    renewed
}

/// Stores what came of a refresh, and lets others at it again.
async fn keep(
    ctx: &Ctx,
    tenant: &Tenant,
    grant: Grant,
    renewed: Option<&Tokens>,
) -> ConnectorResult<()> {
    let old = grant.secret.clone();
    let Some(renewed) = renewed else {
        // Where this fails, the mark ends by itself.
        name_tokens(ctx, tenant, grant, &old).await.ok();
        return Ok(());
    };

    let new = format!("grant/{}/{}", grant.id, Revision::random());
    ctx.vault
        .put(tenant, &new, &renewed.to_secret())
        .await
        .map_err(port)?;
    // Where the permission was given anew meanwhile, that one counts.
    let unused = if name_tokens(ctx, tenant, grant, &new).await? {
        old
    } else {
        new
    };

    forget_tokens(ctx, tenant, &unused).await;
    Ok(())
}

/// Names other tokens in a permission's record, unless it has other ones already than those that it had; whether it does.
/// What else has changed in it meanwhile, as who uses it, stays.
async fn name_tokens(
    ctx: &Ctx,
    tenant: &Tenant,
    mut grant: Grant,
    name: &str,
) -> ConnectorResult<bool> {
    let (id, old) = (grant.id.clone(), grant.secret.clone());
    for _ in 0..ATTEMPTS {
        grant.refreshing_until = None;
        grant.secret = name.to_owned();
        grant.rev += 1;
        if ctx
            .connections
            .save_grant(tenant, &grant)
            .await
            .map_err(port)?
        {
            return Ok(true);
        }
        let present = ctx.connections.grant(tenant, &id).await.map_err(port)?;
        match present.filter(|present| present.secret == old) {
            Some(present) => grant = present,
            None => return Ok(false),
        }
    }

    Err(port(PortError::Conflict))
}

/// Deletes tokens that nothing names any more. What fails here leaves them sealed and out of everybody's reach.
pub(super) async fn forget_tokens(ctx: &Ctx, tenant: &Tenant, name: &str) {
    if let Err(error) = ctx.vault.delete(tenant, name).await {
        warn!(
            error = &error as &dyn std::error::Error,
            "could not delete tokens that nothing names any more"
        );
    }
}

/// Which app is meant.
#[derive(Debug, Clone, Copy)]
pub enum Apps<'a> {
    /// The one that a new permission is asked for with: the organization's own when its settings say so.
    Present(Provider),
    /// The one that a permission was given to.
    Of(Provider, &'a AppRef),
}

/// The OAuth app with its secret.
///
/// # Errors
/// [`ConnectorError::App`] that says what to configure, and [`ConnectorError::Unavailable`].
pub async fn oauth_client(
    ctx: &Ctx,
    oauth: &dyn OAuth,
    tenant: &Tenant,
    settings: &Settings,
    apps: Apps<'_>,
) -> ConnectorResult<OAuthClient> {
    let app = match apps {
        Apps::Of(_, app) => Some(app.clone()),
        Apps::Present(provider) => own_app(settings, provider),
    };

    match app {
        Some(AppRef::Organization {
            client_id,
            secret: name,
        }) => own_client(ctx, tenant, settings, apps, client_id, name).await,
        Some(AppRef::Operator { client_id }) => oauth
            .operator()
            .filter(|client| client.app.client_id() == client_id)
            .ok_or_else(|| {
                ConnectorError::App("the service's OAuth app was changed; connect again".into())
            }),
        None => oauth.operator().ok_or_else(|| {
            let what = "no OAuth app is configured: set one in the organization's settings, or \
                        CLOUD_DRIVE_CLIENT_ID and CLOUD_DRIVE_CLIENT_SECRET for the service";
            ConnectorError::App(what.into())
        }),
    }
}

/// An organization's own app. A permission stays with its app when that gets another secret.
async fn own_client(
    ctx: &Ctx,
    tenant: &Tenant,
    settings: &Settings,
    apps: Apps<'_>,
    client_id: String,
    mut name: String,
) -> ConnectorResult<OAuthClient> {
    let mut secret = ctx.vault.get(tenant, &name).await.map_err(port)?;
    if secret.is_none()
        && let Apps::Of(provider, _) = apps
        && let Some(present) = app_of(settings, provider)
        && present.client_id.as_ref() == Some(&client_id)
        && let Some(present) = &present.secret
    {
        name.clone_from(present);
        secret = ctx.vault.get(tenant, &name).await.map_err(port)?;
    }

    let gone = "the organization's OAuth app has no secret any more; set it, or connect again";
    let secret = secret.ok_or_else(|| ConnectorError::App(gone.into()))?;

    Ok(OAuthClient {
        app: AppRef::Organization {
            client_id,
            secret: name,
        },
        secret,
    })
}

/// The organization's own app, where it is on.
fn own_app(settings: &Settings, provider: Provider) -> Option<AppRef> {
    let app = app_of(settings, provider).filter(|app| app.enabled == Some(true))?;
    Some(AppRef::Organization {
        client_id: app.client_id.clone()?,
        secret: app.secret.clone()?,
    })
}

/// The organization's own app as its settings have it.
fn app_of(settings: &Settings, provider: Provider) -> Option<&OAuthApp> {
    match provider {
        Provider::CloudDrive => settings.apps.get(&crate::settings::Provider::CloudDrive),
        Provider::WebCrawler => None,
    }
}

fn port(error: PortError) -> ConnectorError {
    match error {
        PortError::Unavailable(source) => ConnectorError::Unavailable(source),
        error => ConnectorError::Unavailable(Box::new(error)),
    }
}
