//! The way of a user's browser: from a link to the provider, and back with a permission or without.

use subtle::ConstantTimeEq;

use super::access::{Apps, oauth_client};
use super::change::{change_connection, missing};
use super::failure::{of_answer, of_consent};
use super::settle::settle;
use super::tickets::{
    Asked, TicketFor, TicketKind, derived_token, issue_ticket, look_at, redeem, token_digest,
};
use crate::connection::{AppRef, Connection, ConnectionStatus, ErrorKind, Problem, Provider};
use crate::ctx::Ctx;
use crate::error::{Error, Result};
use crate::ports::{Connector, Connectors, Consent, ConsentError, OAuth, Permission};
use crate::tenant::Tenant;
use crate::vault::Secret;

/// How long a user may look at the provider's question.
const STATE_SECONDS: i64 = 10 * 60;

/// What a link is about.
#[derive(Debug)]
pub struct Invitation {
    /// Who asks.
    pub tenant: Tenant,
    /// The connection.
    pub connection: Connection,
    /// Whether the app that asks is the organization's own, whose name the provider shows.
    pub is_own_app: bool,
}

/// What a link is about.
///
/// # Errors
/// [`Error::NotFound`] for a link that has expired or never was, and those of the ports.
pub async fn open_link(ctx: &Ctx, connectors: &Connectors, ticket: &str) -> Result<Invitation> {
    let gone = Error::NotFound("Link");
    let of = look_at(ctx, TicketKind::Link, ticket).await?.ok_or(gone)?;
    let tenant = of.tenant();
    let connection = visible(ctx, &tenant, &of).await?;
    let (_, oauth) = parts(connectors, connection.provider)?;
    let settings = ctx.settings.get(&tenant).await?;
    let client = oauth_client(
        ctx,
        oauth,
        &tenant,
        &settings,
        Apps::Present(connection.provider),
    )
    .await?;
    let is_own_app = matches!(client.app, AppRef::Organization { .. });

    Ok(Invitation {
        tenant,
        connection,
        is_own_app,
    })
}

async fn visible(ctx: &Ctx, tenant: &Tenant, of: &TicketFor) -> Result<Connection> {
    let found = ctx.connections.get(tenant, &of.connection).await?;
    found
        .filter(|connection| connection.status.is_visible())
        .ok_or_else(missing)
}

fn parts(connectors: &Connectors, provider: Provider) -> Result<(&dyn Connector, &dyn OAuth)> {
    let name = provider.as_str();
    let absent = || Error::Unsupported(format!("{name} cannot be reached from here"));
    let connector = connectors.of(provider).ok_or_else(absent)?;
    let oauth = connector.oauth();
    Ok((
        connector,
        oauth.ok_or_else(|| Error::invalid(format!("{name} needs no permission")))?,
    ))
}

/// The provider's address at which the user is asked. The answer is good in the browser with this secret only. What
/// proves that the question was ours is derived from the secret and stored nowhere.
///
/// # Errors
/// Those of the provider and of the ports.
pub async fn ask_for_consent(
    ctx: &Ctx,
    connectors: &Connectors,
    invitation: &Invitation,
    browser: &Secret,
    redirect_uri: String,
) -> Result<String> {
    let Invitation {
        tenant, connection, ..
    } = invitation;

    let (_, oauth) = parts(connectors, connection.provider)?;
    let settings = ctx.settings.get(tenant).await?;
    let client = oauth_client(
        ctx,
        oauth,
        tenant,
        &settings,
        Apps::Present(connection.provider),
    )
    .await?;
    let browser_digest = token_digest(browser.expose());
    let asked = Asked {
        browser: browser_digest,
        app: client.app.clone(),
        redirect_uri: redirect_uri.clone(),
    };

    let of = TicketFor {
        asked: Some(asked),
        ..TicketFor::new(tenant, &connection.id)
    };

    let until = ctx.clock.now().plus_seconds(STATE_SECONDS);
    let state = issue_ticket(ctx, TicketKind::State, &of, until).await?;

    Ok(oauth.consent_url(&client, &consent_of(browser, state.expose(), redirect_uri))?)
}

fn consent_of(browser: &Secret, state: &str, redirect_uri: String) -> Consent {
    Consent {
        nonce: derived_token(browser, "nonce", state).expose().to_owned(),
        verifier: derived_token(browser, "verifier", state),
        state: state.to_owned(),
        redirect_uri,
    }
}

/// What a provider answers by way of the user's browser. There is no way to show it.
pub struct ConsentAnswer {
    /// What went along with the question.
    pub state: String,
    /// What the permission is had for.
    pub code: Option<Secret>,
    /// Why there is none.
    pub error: Option<String>,
}

impl std::fmt::Debug for ConsentAnswer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ConsentAnswer(…)")
    }
}

/// How it ended.
#[derive(Debug)]
pub struct Consented {
    /// Who asked.
    pub tenant: Tenant,
    /// The connection as it is now.
    pub connection: Connection,
    /// Why there is no permission.
    pub refusal: Option<Refusal>,
}

/// Why there is no permission.
#[derive(Debug)]
pub struct Refusal {
    /// What is wrong with the connection; none when nothing is, because the answer was for another account.
    pub kind: Option<ErrorKind>,
    /// One sentence or two that say what to do.
    pub message: String,
}

impl Refusal {
    /// The name on the wire.
    pub const fn code(&self) -> &'static str {
        match self.kind {
            Some(kind) => kind.as_str(),
            None => "account_mismatch",
        }
    }
}

/// Takes a provider's answer.
///
/// # Errors
/// [`Error::Invalid`] for an answer to no question of ours, or to one that was answered or has expired;
/// [`Error::Forbidden`] in another browser than the one that asked; and those of the ports.
pub async fn take_consent(
    ctx: &Ctx,
    connectors: &Connectors,
    provider: Provider,
    browser: Option<&Secret>,
    answer: ConsentAnswer,
) -> Result<Consented> {
    let unknown =
        || Error::invalid("this answer was given before, or came too late; open the link again");
    let of = look_at(ctx, TicketKind::State, &answer.state)
        .await?
        .ok_or_else(unknown)?;
    let asked = of.asked.as_ref().ok_or_else(unknown)?;
    let browser = browser
        .filter(|browser| is_same(browser, &asked.browser))
        .ok_or_else(|| {
            Error::Forbidden(
                "permission was asked for in another browser; open the link again in this one"
                    .into(),
            )
        })?;

    let tenant = of.tenant();
    let connection = visible(ctx, &tenant, &of).await?;
    if connection.provider != provider
        || redeem(ctx, TicketKind::State, &answer.state)
            .await?
            .is_none()
    {
        return Err(unknown());
    }

    let permission = permission(
        ctx,
        connectors,
        &tenant,
        &connection,
        browser,
        asked,
        &answer,
    )
    .await?;
    let ended = match permission {
        Ok(permission) => {
            settle(
                ctx,
                parts(connectors, provider)?.1,
                &tenant,
                &connection,
                asked,
                permission,
            )
            .await?
        }
        Err((kind, message)) => Err(Refusal {
            kind: Some(kind),
            message,
        }),
    };

    match ended {
        Ok(connection) => Ok(Consented {
            tenant,
            connection,
            refusal: None,
        }),
        Err(refusal) => {
            let connection = note_refusal(ctx, &tenant, &connection, &refusal).await?;
            Ok(Consented {
                tenant,
                connection,
                refusal: Some(refusal),
            })
        }
    }
}

fn is_same(browser: &Secret, digest: &str) -> bool {
    token_digest(browser.expose())
        .as_bytes()
        .ct_eq(digest.as_bytes())
        .into()
}

/// Has the permission from the provider, or says why there is none.
async fn permission(
    ctx: &Ctx,
    connectors: &Connectors,
    tenant: &Tenant,
    connection: &Connection,
    browser: &Secret,
    asked: &Asked,
    answer: &ConsentAnswer,
) -> Result<std::result::Result<Permission, (ErrorKind, String)>> {
    if let Some(error) = &answer.error {
        return Ok(Err(of_answer(error)));
    }

    let Some(code) = &answer.code else {
        return Ok(Err(of_consent(&ConsentError::Invalid("no code".into()))));
    };

    let (_, oauth) = parts(connectors, connection.provider)?;
    let settings = ctx.settings.get(tenant).await?;
    let client = match oauth_client(
        ctx,
        oauth,
        tenant,
        &settings,
        Apps::Of(connection.provider, &asked.app),
    )
    .await
    {
        Ok(client) => client,
        Err(error) => return Ok(Err(of_consent(&error.into()))),
    };

    let consent = consent_of(browser, &answer.state, asked.redirect_uri.clone());
    let exchanged = oauth
        .exchange(&client, &consent, code, ctx.clock.now())
        .await;

    Ok(exchanged.map_err(|error| {
        tracing::warn!(connection.id = %connection.id, "a permission was not had: {error}");
        of_consent(&error)
    }))
}

/// Says on the connection why there is no permission. One that syncs is not disturbed by an answer that came to nothing.
async fn note_refusal(
    ctx: &Ctx,
    tenant: &Tenant,
    connection: &Connection,
    refusal: &Refusal,
) -> Result<Connection> {
    let now = ctx.clock.now();
    change_connection(ctx, tenant, &connection.id, |connection| {
        use ConnectionStatus::{AwaitingSelection, Expired, PendingOauth, Suspended};
        let waits = matches!(
            connection.status,
            PendingOauth | AwaitingSelection | Expired | Suspended
        );
        let Some(kind) = refusal.kind.filter(|_| waits) else {
            return Ok(false);
        };
        // How often the provider was tried in vain is counted on.
        let attempts = connection
            .problem
            .as_ref()
            .map_or(0, |problem| problem.attempts);
        connection.problem = Some(Problem {
            kind,
            message: refusal.message.clone(),
            since: now,
            attempts,
        });
        Ok(true)
    })
    .await
}
