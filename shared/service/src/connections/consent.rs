//! The path of a user's browser: from a link to the provider, and back with or without permission.

use subtle::ConstantTimeEq;

use super::attach::attach_permission;
use super::change::{change_connection, connection_not_found};
use super::failure::{ConsentFailure, ConsentRefusal, answer_refusal, consent_refusal};
use super::provider_tokens::{AppChoice, find_oauth_client};
use super::tickets::{
    ConsentQuestion, TicketKind, TicketValue, derive_token, digest_token, issue_ticket,
    read_ticket, redeem,
};
use crate::Ctx;
use domain::connection::{Connection, ConnectionProblem, ConnectionStatus, OAuthAppRef, Provider};
use domain::error::{Error, Result};
use domain::ports::{Connectors, ConsentError, ConsentRequest, GrantedPermission, OAuthFlow};
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
    let connection = find_ticket_connection(ctx, &tenant, &ticket_value).await?;
    let oauth = oauth_flow(connectors, connection.provider)?;
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
///
/// # Errors
/// Returns [`Error::NotFound`] for a connection that is being deleted or no longer exists, and the
/// errors of the ports.
pub(super) async fn find_ticket_connection(
    ctx: &Ctx,
    tenant: &Tenant,
    ticket_value: &TicketValue,
) -> Result<Connection> {
    let id = &ticket_value.connection;
    match ctx.connections.get(tenant, id).await? {
        Some(connection) if connection.status.is_visible() => Ok(connection),
        _ => Err(connection_not_found()),
    }
}

/// Returns the OAuth flow with which users of the provider give permission.
///
/// # Errors
/// Returns [`Error::Unsupported`] for a provider without a connector, and [`Error::Invalid`] for one
/// that needs no permission.
fn oauth_flow(connectors: &Connectors, provider: Provider) -> Result<&dyn OAuthFlow> {
    let name = provider.as_str();
    let Some(connector) = connectors.for_provider(provider) else {
        let message = format!("{name} cannot be reached from here");
        return Err(Error::Unsupported(message));
    };
    match connector.oauth_flow() {
        Some(oauth) => Ok(oauth),
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

    let oauth = oauth_flow(connectors, connection.provider)?;
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
    let redeemed = redeem_answer(ctx, provider, browser, &answer).await?;
    let (connection, refusal) = match use_answer(ctx, connectors, &redeemed, &answer).await {
        Ok(connection) => (connection, None),
        Err(ConsentFailure::Refused(refusal)) => {
            let RedeemedAnswer {
                tenant, connection, ..
            } = &redeemed;
            let connection = note_refusal(ctx, tenant, connection, &refusal).await?;
            (connection, Some(refusal))
        }
        Err(ConsentFailure::Failed(error)) => return Err(error),
    };

    Ok(ConsentOutcome {
        tenant: redeemed.tenant,
        connection,
        refusal,
    })
}

/// An answer to a question that we asked, in the browser in which we asked it.
struct RedeemedAnswer<'a> {
    tenant: Tenant,
    connection: Connection,
    /// The secret of the browser.
    browser: &'a Secret,
    question: ConsentQuestion,
}

/// Checks that a provider's answer belongs to a question that we asked in this browser, and redeems
/// the ticket of the question, so that no other answer to it is accepted.
///
/// # Errors
/// Returns the errors of [`accept_consent`].
async fn redeem_answer<'a>(
    ctx: &Ctx,
    provider: Provider,
    browser: Option<&'a Secret>,
    answer: &ConsentAnswer,
) -> Result<RedeemedAnswer<'a>> {
    let invalid_answer =
        || Error::invalid("this answer was given before, or came too late; open the link again");
    let Some(mut ticket_value) = read_ticket(ctx, TicketKind::State, &answer.state).await? else {
        return Err(invalid_answer());
    };
    let Some(question) = ticket_value.asked.take() else {
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
    let connection = find_ticket_connection(ctx, &tenant, &ticket_value).await?;
    if connection.provider != provider {
        return Err(invalid_answer());
    }
    if redeem(ctx, TicketKind::State, &answer.state)
        .await?
        .is_none()
    {
        return Err(invalid_answer());
    }

    Ok(RedeemedAnswer {
        tenant,
        connection,
        browser,
        question,
    })
}

/// Exchanges the answer for a permission and attaches the permission to the connection.
async fn use_answer(
    ctx: &Ctx,
    connectors: &Connectors,
    redeemed: &RedeemedAnswer<'_>,
    answer: &ConsentAnswer,
) -> std::result::Result<Connection, ConsentFailure> {
    let permission = exchange_answer(ctx, connectors, redeemed, answer).await?;
    let RedeemedAnswer {
        tenant,
        connection,
        question,
        ..
    } = redeemed;

    let oauth = oauth_flow(connectors, connection.provider)?;
    attach_permission(ctx, oauth, tenant, connection, question, permission).await
}

fn is_same(browser: &Secret, digest: &str) -> bool {
    digest_token(browser.expose())
        .as_bytes()
        .ct_eq(digest.as_bytes())
        .into()
}

/// Exchanges the provider's answer for a permission.
///
/// # Errors
/// Returns [`ConsentFailure::Refused`] when the user, the provider or the app's configuration does
/// not permit it, and the errors of the ports.
async fn exchange_answer(
    ctx: &Ctx,
    connectors: &Connectors,
    redeemed: &RedeemedAnswer<'_>,
    answer: &ConsentAnswer,
) -> std::result::Result<GrantedPermission, ConsentFailure> {
    if let Some(error) = &answer.error {
        return Err(ConsentFailure::Refused(answer_refusal(error)));
    }

    let Some(code) = &answer.code else {
        let error = ConsentError::Invalid("no code".into());
        return Err(ConsentFailure::Refused(consent_refusal(&error)));
    };

    let RedeemedAnswer {
        tenant,
        connection,
        browser,
        question,
    } = redeemed;
    let oauth = oauth_flow(connectors, connection.provider)?;
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
        Err(error) => return Err(ConsentFailure::Refused(consent_refusal(&error.into()))),
    };

    let consent = consent_of(browser, &answer.state, question.redirect_uri.clone());
    let exchanged = oauth
        .exchange_code(&client, &consent, code, ctx.clock.now())
        .await;

    match exchanged {
        Ok(permission) => Ok(permission),
        Err(error) => {
            tracing::warn!(connection.id = %connection.id, "could not obtain a permission: {error}");
            Err(ConsentFailure::Refused(consent_refusal(&error)))
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
