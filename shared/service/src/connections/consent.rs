//! The path of a user's browser: from a link to the provider, and back with or without permission.

use subtle::ConstantTimeEq;

use super::access::{AppChoice, find_oauth_client};
use super::change::{change_connection, missing};
use super::failure::{of_answer, of_consent};
use super::settle::settle;
use super::tickets::{
    ConsentQuestion, TicketKind, TicketValue, derive_token, digest_token, issue_ticket,
    read_ticket, redeem,
};
use crate::Ctx;
use domain::connection::{
    Connection, ConnectionErrorKind, ConnectionProblem, ConnectionStatus, OAuthAppRef, Provider,
};
use domain::error::{Error, Result};
use domain::ports::{
    Connector, Connectors, ConsentError, ConsentRequest, GrantedPermission, OAuthFlow,
};
use domain::tenant::Tenant;
use domain::vault::Secret;

/// The number of seconds that a user may take to answer the provider's question.
const STATE_SECONDS: i64 = 10 * 60;

/// The connection that a link asks permission for.
#[derive(Debug)]
pub struct ConsentInvitation {
    /// The organization of the connection.
    pub tenant: Tenant,
    /// The connection.
    pub connection: Connection,
    /// `true` if the app that asks is the organization's own. The provider shows the name of the
    /// app.
    pub is_own_app: bool,
}

/// Returns the connection that a link asks permission for.
///
/// # Errors
/// Returns [`Error::NotFound`] for a link that has expired or never existed, and the errors of the
/// ports.
pub async fn open_consent_link(
    ctx: &Ctx,
    connectors: &Connectors,
    ticket: &str,
) -> Result<ConsentInvitation> {
    let Some(ticket_value) = read_ticket(ctx, TicketKind::Link, ticket).await? else {
        return Err(Error::NotFound("Link"));
    };
    let tenant = ticket_value.tenant();
    let connection = visible(ctx, &tenant, &ticket_value).await?;
    let (_, oauth) = parts(connectors, connection.provider)?;
    let settings = ctx.settings.get(&tenant).await?;
    let client = find_oauth_client(
        ctx,
        oauth,
        &tenant,
        &settings,
        AppChoice::Configured(connection.provider),
    )
    .await?;
    let is_own_app = matches!(client.app, OAuthAppRef::Organization { .. });

    Ok(ConsentInvitation {
        tenant,
        connection,
        is_own_app,
    })
}

/// Returns the connection of a ticket.
pub(super) async fn visible(
    ctx: &Ctx,
    tenant: &Tenant,
    ticket_value: &TicketValue,
) -> Result<Connection> {
    let id = &ticket_value.connection;
    match ctx.connections.get(tenant, id).await? {
        Some(connection) if connection.status.is_visible() => Ok(connection),
        _ => Err(missing()),
    }
}

fn parts(connectors: &Connectors, provider: Provider) -> Result<(&dyn Connector, &dyn OAuthFlow)> {
    let name = provider.as_str();
    let Some(connector) = connectors.for_provider(provider) else {
        let message = format!("{name} cannot be reached from here");
        return Err(Error::Unsupported(message));
    };
    match connector.oauth_flow() {
        Some(oauth) => Ok((connector, oauth)),
        None => Err(Error::invalid(format!("{name} needs no permission"))),
    }
}

/// Returns the provider's address at which the user is asked for permission. Only the browser that
/// has the secret `browser` can return the answer. The nonce and the verifier, which prove that the
/// question was ours, are derived from the secret and stored nowhere.
///
/// # Errors
/// Returns the errors of the provider and of the ports.
pub async fn begin_consent(
    ctx: &Ctx,
    connectors: &Connectors,
    invitation: &ConsentInvitation,
    browser: &Secret,
    redirect_uri: String,
) -> Result<String> {
    let ConsentInvitation {
        tenant, connection, ..
    } = invitation;

    let (_, oauth) = parts(connectors, connection.provider)?;
    let settings = ctx.settings.get(tenant).await?;
    let client = find_oauth_client(
        ctx,
        oauth,
        tenant,
        &settings,
        AppChoice::Configured(connection.provider),
    )
    .await?;

    let browser_digest = digest_token(browser.expose());
    let question = ConsentQuestion {
        browser: browser_digest,
        app: client.app.clone(),
        redirect_uri: redirect_uri.clone(),
    };
    let ticket_value = TicketValue {
        asked: Some(question),
        ..TicketValue::new(tenant, &connection.id)
    };
    let until = ctx.clock.now().plus_seconds(STATE_SECONDS);
    let state = issue_ticket(ctx, TicketKind::State, &ticket_value, until).await?;

    Ok(oauth.consent_url(&client, &consent_of(browser, state.expose(), redirect_uri))?)
}

fn consent_of(browser: &Secret, state: &str, redirect_uri: String) -> ConsentRequest {
    ConsentRequest {
        nonce: derive_token(browser, "nonce", state).expose().to_owned(),
        verifier: derive_token(browser, "verifier", state),
        state: state.to_owned(),
        redirect_uri,
    }
}

/// The answer of a provider, as the user's browser brings it. Its debug output shows nothing.
pub struct ConsentAnswer {
    /// The state that was sent with the question.
    pub state: String,
    /// The code that is exchanged for the permission.
    pub code: Option<Secret>,
    /// The provider's error code, if permission was not given.
    pub error: Option<String>,
}

impl std::fmt::Debug for ConsentAnswer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ConsentAnswer(…)")
    }
}

/// The outcome of asking for permission.
#[derive(Debug)]
pub struct ConsentOutcome {
    /// The organization of the connection.
    pub tenant: Tenant,
    /// The connection as it is now.
    pub connection: Connection,
    /// The reason why there is no permission.
    pub refusal: Option<ConsentRefusal>,
}

/// The reason why there is no permission.
#[derive(Debug)]
pub struct ConsentRefusal {
    /// The error kind that the connection gets; `None` when nothing is wrong with it, because the
    /// answer was for another account.
    pub kind: Option<ConnectionErrorKind>,
    /// One or two sentences that say what to do.
    pub message: String,
}

impl ConsentRefusal {
    /// Returns the name on the wire.
    pub const fn code(&self) -> &'static str {
        match self.kind {
            Some(kind) => kind.as_str(),
            None => "account_mismatch",
        }
    }
}

/// Accepts a provider's answer: exchanges its code and stores the permission, or notes the refusal
/// on the connection.
///
/// # Errors
/// Returns [`Error::Invalid`] for an answer to a question that we did not ask, that was already
/// answered, or that has expired, [`Error::Forbidden`] in another browser than the one that asked,
/// and the errors of the ports.
pub async fn accept_consent(
    ctx: &Ctx,
    connectors: &Connectors,
    provider: Provider,
    browser: Option<&Secret>,
    answer: ConsentAnswer,
) -> Result<ConsentOutcome> {
    let invalid_answer =
        || Error::invalid("this answer was given before, or came too late; open the link again");
    let Some(ticket_value) = read_ticket(ctx, TicketKind::State, &answer.state).await? else {
        return Err(invalid_answer());
    };
    let Some(question) = &ticket_value.asked else {
        return Err(invalid_answer());
    };
    let browser = match browser {
        Some(browser) if is_same(browser, &question.browser) => browser,
        _ => {
            let message =
                "permission was asked for in another browser; open the link again in this one";
            return Err(Error::Forbidden(message.into()));
        }
    };

    let tenant = ticket_value.tenant();
    let connection = visible(ctx, &tenant, &ticket_value).await?;
    if connection.provider != provider
        || redeem(ctx, TicketKind::State, &answer.state)
            .await?
            .is_none()
    {
        return Err(invalid_answer());
    }

    let permission = permission(
        ctx,
        connectors,
        &tenant,
        &connection,
        browser,
        question,
        &answer,
    )
    .await?;

    let outcome = match permission {
        Ok(permission) => {
            settle(
                ctx,
                parts(connectors, provider)?.1,
                &tenant,
                &connection,
                question,
                permission,
            )
            .await?
        }
        Err((kind, message)) => Err(ConsentRefusal {
            kind: Some(kind),
            message,
        }),
    };

    match outcome {
        Ok(connection) => Ok(ConsentOutcome {
            tenant,
            connection,
            refusal: None,
        }),
        Err(refusal) => {
            let connection = note_refusal(ctx, &tenant, &connection, &refusal).await?;
            Ok(ConsentOutcome {
                tenant,
                connection,
                refusal: Some(refusal),
            })
        }
    }
}

fn is_same(browser: &Secret, digest: &str) -> bool {
    digest_token(browser.expose())
        .as_bytes()
        .ct_eq(digest.as_bytes())
        .into()
}

/// Exchanges the provider's answer for a permission, or returns the reason why there is none.
async fn permission(
    ctx: &Ctx,
    connectors: &Connectors,
    tenant: &Tenant,
    connection: &Connection,
    browser: &Secret,
    question: &ConsentQuestion,
    answer: &ConsentAnswer,
) -> Result<std::result::Result<GrantedPermission, (ConnectionErrorKind, String)>> {
    if let Some(error) = &answer.error {
        return Ok(Err(of_answer(error)));
    }

    let Some(code) = &answer.code else {
        return Ok(Err(of_consent(&ConsentError::Invalid("no code".into()))));
    };

    let (_, oauth) = parts(connectors, connection.provider)?;
    let settings = ctx.settings.get(tenant).await?;
    let client = match find_oauth_client(
        ctx,
        oauth,
        tenant,
        &settings,
        AppChoice::Granted(connection.provider, &question.app),
    )
    .await
    {
        Ok(client) => client,
        Err(error) => return Ok(Err(of_consent(&error.into()))),
    };

    let consent = consent_of(browser, &answer.state, question.redirect_uri.clone());
    let exchanged = oauth
        .exchange_code(&client, &consent, code, ctx.clock.now())
        .await;

    match exchanged {
        Ok(permission) => Ok(Ok(permission)),
        Err(error) => {
            tracing::warn!(connection.id = %connection.id, "a permission was not had: {error}");
            Ok(Err(of_consent(&error)))
        }
    }
}

/// Notes on the connection why there is no permission. A connection that synchronizes is left as it
/// is.
async fn note_refusal(
    ctx: &Ctx,
    tenant: &Tenant,
    connection: &Connection,
    refusal: &ConsentRefusal,
) -> Result<Connection> {
    let now = ctx.clock.now();
    change_connection(ctx, tenant, &connection.id, |connection| {
        use ConnectionStatus::{AwaitingSelection, Expired, PendingOauth, Suspended};
        let is_inactive = matches!(
            connection.status,
            PendingOauth | AwaitingSelection | Expired | Suspended
        );
        let kind = match refusal.kind {
            Some(kind) if is_inactive => kind,
            _ => return Ok(false),
        };

        // The count of failed attempts at the provider is kept.
        let attempts = match &connection.problem {
            Some(problem) => problem.attempts,
            None => 0,
        };
        connection.problem = Some(ConnectionProblem {
            kind,
            message: refusal.message.clone(),
            since: now,
            attempts,
        });
        Ok(true)
    })
    .await
}
