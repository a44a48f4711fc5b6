//! The access token that a request to a provider needs. It is stored sealed and renewed by one
//! worker at a time.

use tracing::warn;

use crate::ConflictRetry;
use crate::Ctx;
use domain::connection::{Connection, Grant, OAuthAppRef, OAuthTokens, Provider};
use domain::ids::Revision;
use domain::ports::{
    Connector, ConnectorError, ConnectorResult, OAuthClient, OAuthFlow, ProviderAccess,
};
use domain::settings::{OAuthApp, Settings};
use domain::tenant::Tenant;

/// A token that expires within this many seconds is renewed: a step may last a minute.
const RENEW_BEFORE_EXPIRY_SECONDS: i64 = 5 * 60;
/// The number of seconds that one worker has to renew a token before others may try.
const REFRESH_SECONDS: i64 = 30;

/// The condition on which tokens are renewed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Renew {
    /// Tokens near their end are renewed.
    BeforeExpiry,
    /// Tokens are renewed whatever their expiry says: the provider no longer accepts them.
    Now,
}

/// Returns the access that requests to the provider of a connection need.
///
/// # Errors
/// Returns [`ConnectorError::Reauth`] when the grant is gone, [`ConnectorError::App`] when the app
/// is, the errors of the provider, and [`ConnectorError::Unavailable`] when a port does not answer
/// or another worker is renewing the token.
pub async fn provider_access(
    ctx: &Ctx,
    connector: &dyn Connector,
    tenant: &Tenant,
    connection: &Connection,
) -> ConnectorResult<ProviderAccess> {
    access_with(ctx, connector, tenant, connection, Renew::BeforeExpiry).await
}

/// Acts as [`provider_access`], but obtains a new token even if the old one has not expired,
/// because the provider has just refused it.
///
/// # Errors
/// Returns the errors of [`provider_access`].
pub async fn renew_provider_access(
    ctx: &Ctx,
    connector: &dyn Connector,
    tenant: &Tenant,
    connection: &Connection,
) -> ConnectorResult<ProviderAccess> {
    access_with(ctx, connector, tenant, connection, Renew::Now).await
}

async fn access_with(
    ctx: &Ctx,
    connector: &dyn Connector,
    tenant: &Tenant,
    connection: &Connection,
    renewal: Renew,
) -> ConnectorResult<ProviderAccess> {
    let metadata = connection.metadata.clone();
    let Some(oauth) = connector.oauth_flow() else {
        return Ok(ProviderAccess {
            token: None,
            metadata,
        });
    };

    let Some(id) = &connection.grant else {
        return Err(ConnectorError::Reauth("no permission was given yet".into()));
    };

    let Some(grant) = ctx.connections.get_grant(tenant, id).await? else {
        return Err(ConnectorError::Reauth("the permission is gone".into()));
    };

    let now = ctx.clock.now();
    if let Some(until) = grant.throttled_until
        && until > now
    {
        return Err(ConnectorError::Throttled {
            retry_after: Some(now.seconds_until(until).unsigned_abs()),
        });
    }

    let tokens = tokens_of(ctx, tenant, &grant).await?;
    let is_fresh = tokens.access_until > now.plus_seconds(RENEW_BEFORE_EXPIRY_SECONDS);
    let tokens = if is_fresh && renewal == Renew::BeforeExpiry {
        tokens
    } else {
        renew(ctx, oauth, tenant, grant, tokens, renewal).await?
    };

    Ok(ProviderAccess {
        token: Some(tokens.access),
        metadata,
    })
}

async fn tokens_of(ctx: &Ctx, tenant: &Tenant, grant: &Grant) -> ConnectorResult<OAuthTokens> {
    let Some(sealed) = ctx.vault.get(tenant, &grant.secret).await? else {
        let message = "the tokens are being replaced";
        return Err(ConnectorError::Unavailable(message.into()));
    };
    match OAuthTokens::from_secret(&sealed) {
        Some(tokens) => Ok(tokens),
        None => Err(ConnectorError::Fault("sealed tokens".into())),
    }
}

/// Renews the tokens. The worker that first writes `refreshing_until` asks the provider; others use
/// the present token while it lasts. With providers that hand out a new refresh token each time,
/// asking twice would lose the permission.
async fn renew(
    ctx: &Ctx,
    oauth: &dyn OAuthFlow,
    tenant: &Tenant,
    mut grant: Grant,
    tokens: OAuthTokens,
    renewal: Renew,
) -> ConnectorResult<OAuthTokens> {
    // It is looked up before the refresh is claimed: without an app, nobody could renew until the claim ends.
    let settings = ctx.settings.get(tenant).await?;
    let app = AppChoice::Granted(grant.provider, &grant.app);
    let client = find_oauth_client(ctx, oauth, tenant, &settings, app).await?;

    let now = ctx.clock.now();
    let is_refreshing = grant.refreshing_until.is_some_and(|until| until > now);
    if !is_refreshing {
        grant.refreshing_until = Some(now.plus_seconds(REFRESH_SECONDS));
        grant.rev += 1;
    }

    if is_refreshing || !ctx.connections.save_grant(tenant, &grant).await? {
        let is_usable = renewal == Renew::BeforeExpiry
            && tokens.access_until > now.plus_seconds(REFRESH_SECONDS);
        let busy = || ConnectorError::Unavailable("another worker renews the permission".into());
        return if is_usable { Ok(tokens) } else { Err(busy()) };
    }

    let renewed = oauth.refresh_tokens(&client, &tokens, now).await;
    match &renewed {
        Ok(tokens) => store_renewed_tokens(ctx, tenant, grant, tokens).await?,
        Err(_) => end_refresh(ctx, tenant, grant).await,
    }

    renewed
}

/// Ends a refresh that brought no tokens, so that others may refresh again. If this fails,
/// `refreshing_until` ends by itself.
async fn end_refresh(ctx: &Ctx, tenant: &Tenant, grant: Grant) {
    let name = grant.secret.clone();
    name_tokens(ctx, tenant, grant, &name).await.ok();
}

/// Stores the tokens that a refresh brought, and allows others to refresh again.
async fn store_renewed_tokens(
    ctx: &Ctx,
    tenant: &Tenant,
    grant: Grant,
    renewed: &OAuthTokens,
) -> ConnectorResult<()> {
    let old_name = grant.secret.clone();
    let new_name = format!("grant/{}/{}", grant.id, Revision::random());
    ctx.vault
        .put(tenant, &new_name, &renewed.to_secret())
        .await?;
    // If the permission was given again meanwhile, the tokens of that one are kept.
    let unused_name = if name_tokens(ctx, tenant, grant, &new_name).await? {
        old_name
    } else {
        new_name
    };

    forget_tokens(ctx, tenant, &unused_name).await;
    Ok(())
}

/// Names other tokens in a grant, unless the grant has meanwhile been given other tokens than it
/// had. Returns whether it names them. Other concurrent changes of the grant, such as the
/// connections that use it, are kept.
async fn name_tokens(
    ctx: &Ctx,
    tenant: &Tenant,
    mut grant: Grant,
    name: &str,
) -> ConnectorResult<bool> {
    let (id, old_name) = (grant.id.clone(), grant.secret.clone());
    let mut retry = ConflictRetry::new(ctx.clock.as_ref());
    loop {
        grant.refreshing_until = None;
        grant.secret = name.to_owned();
        grant.rev += 1;
        if ctx.connections.save_grant(tenant, &grant).await? {
            return Ok(true);
        }

        match ctx.connections.get_grant(tenant, &id).await? {
            Some(current) if current.secret == old_name => grant = current,
            _ => return Ok(false),
        }

        retry.wait().await?;
    }
}

/// Deletes tokens that nothing names any more. If this fails, they stay sealed and out of reach.
pub(super) async fn forget_tokens(ctx: &Ctx, tenant: &Tenant, name: &str) {
    if let Err(error) = ctx.vault.delete(tenant, name).await {
        warn!(
            error = &error as &dyn std::error::Error,
            "could not delete tokens that nothing names any more"
        );
    }
}

/// Selects an OAuth app.
#[derive(Debug, Clone, Copy)]
pub(crate) enum AppChoice<'a> {
    /// The app with which a new permission is asked for: the organization's own if its settings say
    /// so.
    Configured(Provider),
    /// The app that a permission was given to.
    Granted(Provider, &'a OAuthAppRef),
}

/// Returns an OAuth app with its secret.
///
/// # Errors
/// Returns [`ConnectorError::App`] that says what to configure, and
/// [`ConnectorError::Unavailable`].
pub(crate) async fn find_oauth_client(
    ctx: &Ctx,
    oauth: &dyn OAuthFlow,
    tenant: &Tenant,
    settings: &Settings,
    choice: AppChoice<'_>,
) -> ConnectorResult<OAuthClient> {
    let app = match choice {
        AppChoice::Granted(_, app) => Some(app.clone()),
        AppChoice::Configured(provider) => own_app(settings, provider),
    };

    match app {
        Some(OAuthAppRef::Organization {
            client_id,
            secret: name,
        }) => own_client(ctx, tenant, settings, choice, client_id, name).await,
        Some(OAuthAppRef::Operator { client_id }) => match oauth.operator_client() {
            Some(client) if client.app.client_id() == client_id => Ok(client),
            _ => {
                let message = "the service's OAuth app was changed; connect again";
                Err(ConnectorError::App(message.into()))
            }
        },
        None => match oauth.operator_client() {
            Some(client) => Ok(client),
            None => {
                let message = "no OAuth app is configured: set one in the organization's settings, \
                        or CLOUD_DRIVE_CLIENT_ID and CLOUD_DRIVE_CLIENT_SECRET for the service";
                Err(ConnectorError::App(message.into()))
            }
        },
    }
}

/// Returns an organization's own app. A grant stays with its app when that app gets another secret.
async fn own_client(
    ctx: &Ctx,
    tenant: &Tenant,
    settings: &Settings,
    choice: AppChoice<'_>,
    client_id: String,
    mut name: String,
) -> ConnectorResult<OAuthClient> {
    let mut secret = ctx.vault.get(tenant, &name).await?;
    if secret.is_none()
        && let AppChoice::Granted(provider, _) = choice
        && let Some(current_app) = app_of(settings, provider)
        && current_app.client_id.as_ref() == Some(&client_id)
        && let Some(current_name) = &current_app.secret
    {
        name.clone_from(current_name);
        secret = ctx.vault.get(tenant, &name).await?;
    }

    let Some(secret) = secret else {
        let message =
            "the organization's OAuth app has no secret any more; set it, or connect again";
        return Err(ConnectorError::App(message.into()));
    };

    Ok(OAuthClient {
        app: OAuthAppRef::Organization {
            client_id,
            secret: name,
        },
        secret,
    })
}

/// Returns the organization's own app if it is enabled.
fn own_app(settings: &Settings, provider: Provider) -> Option<OAuthAppRef> {
    let app = app_of(settings, provider)?;
    if app.enabled != Some(true) {
        return None;
    }
    Some(OAuthAppRef::Organization {
        client_id: app.client_id.clone()?,
        secret: app.secret.clone()?,
    })
}

/// Returns the organization's own app as its settings have it.
fn app_of(settings: &Settings, provider: Provider) -> Option<&OAuthApp> {
    match provider {
        Provider::CloudDrive => settings
            .apps
            .get(&domain::settings::AppProvider::CloudDrive),
        Provider::WebCrawler => None,
    }
}
