//! The browser's side of OAuth: `/v3/connections/auth/start/{ticket}`, which leads to the provider,
//! and the callback from there.

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use domain::connection::{Connection, ConnectionErrorKind, SyncScope};
use domain::{Secret, Tenant};
use edge::{ApiResult, Json, Path, ProviderNames, Query};
use http::header::SET_COOKIE;
use http::{HeaderMap, StatusCode};
use serde::Deserialize;
use service::{
    ConsentAnswer, ConsentInvitation, ConsentOutcome, ConsentRefusal, Ctx, PICKER_SESSION_SECONDS,
    TicketKind, TicketValue, accept_consent, begin_consent, derive_token, issue_ticket,
    open_consent_link, open_session_after_consent, random_token,
};

use crate::ConnectionsState;
use crate::address::{BaseUrl, append_parameters};
use crate::cookie::{self, CONSENT_COOKIE, CONSENT_SECONDS};
use crate::overview::show_connection;
use crate::page::{
    add_page_headers, escape_html, redirect_to, refusal_page, text_page, wants_json,
};
use crate::picker::picker_settings;
use crate::wire::{parse_provider, waits_for_selection};

/// The purpose of the proof that a user has seen the page that names the organization. The proof is
/// derived from the browser's secret, so nobody can send users past that page.
const SEEN_PAGE_PURPOSE: &str = "seen";
/// The number of seconds for which a user who did not give permission may try again.
const RETRY_SECONDS: i64 = 10 * 60;

#[derive(Default, Deserialize)]
#[serde(default)]
pub(crate) struct StartQuery {
    seen: Option<String>,
}

/// Omits the proof.
impl std::fmt::Debug for StartQuery {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("StartQuery(…)")
    }
}

/// Redirects the browser to the provider. If the OAuth app is that of the service, a page first
/// shows which organization asks.
pub(crate) async fn start_consent(
    State(state): State<ConnectionsState>,
    base: BaseUrl,
    headers: HeaderMap,
    Path(ticket): Path<String>,
    Query(query): Query<StartQuery>,
) -> Response {
    match answer_consent_start(&state, &base, &headers, &ticket, query.seen.as_deref()).await {
        Ok(response) => response,
        Err(error) => refusal_page(&base, &headers, error),
    }
}

async fn answer_consent_start(
    state: &ConnectionsState,
    base: &BaseUrl,
    headers: &HeaderMap,
    ticket: &str,
    seen_proof: Option<&str>,
) -> ApiResult<Response> {
    let ctx = &state.app.ctx;
    let invitation = open_consent_link(ctx, &state.connectors, ticket).await?;

    // A browser may have several open requests for consent. They share its secret.
    let browser = cookie::read_token(headers, base, CONSENT_COOKIE).unwrap_or_else(random_token);
    let proof = derive_token(&browser, SEEN_PAGE_PURPOSE, ticket);

    let mut response = if invitation.is_own_app || seen_proof == Some(proof.expose()) {
        let name = invitation.connection.provider.as_str();
        let callback = base.url_of_path(&format!("/v3/connections/auth/callback/{name}"));
        redirect_to(&begin_consent(ctx, &state.connectors, &invitation, &browser, callback).await?)
    } else {
        consent_page(base, &invitation, ticket, &proof, seen_proof.is_some())
    };

    let cookie_header = cookie::set_cookie(base, CONSENT_COOKIE, &browser, CONSENT_SECONDS);
    response
        .headers_mut()
        .extend(cookie_header.map(|cookie_header| (SET_COOKIE, cookie_header)));

    Ok(response)
}

/// Shows which organization asks for access before the provider does. The provider names only the
/// operator of the service.
fn consent_page(
    base: &BaseUrl,
    invitation: &ConsentInvitation,
    ticket: &str,
    proof: &Secret,
    was_seen: bool,
) -> Response {
    let connection = &invitation.connection;
    let next_url = base.url_of_path(&format!(
        "/v3/connections/auth/start/{ticket}?seen={}",
        proof.expose()
    ));
    let explanation = match connection.scope {
        SyncScope::Selected => {
            "<p>Next, Google Drive asks whether this service may read your files. After that you choose the folders and \
             files; only those are copied, and kept up to date. Nothing in your drive is changed.</p>"
        }
        SyncScope::Full => {
            "<p>Next, Google Drive asks whether this service may read your files. <strong>Everything</strong> in your drive is \
             then copied and kept up to date. Nothing in your drive is changed.</p>"
        }
    };

    let cookie_warning = "<p role=\"alert\">Your browser did not keep a cookie that is needed here. Allow cookies for this \
                site, then try again.</p>";
    let body = format!(
        "{cookie_warning}<dl><dt>Asked by the organization</dt><dd>{org}</dd><dt>Container</dt><dd>{tag}</dd></dl>\n\
         {explanation}\n<p>If you do not know this organization, or did not expect this, close the page.</p>\n\
         <p><a class=\"button primary\" href=\"{next_url}\">Continue to Google Drive</a></p>",
        cookie_warning = if was_seen { cookie_warning } else { "" },
        org = escape_html(invitation.tenant.org().as_str()),
        tag = escape_html(connection.tag.as_str()),
        next_url = escape_html(&next_url),
    );

    text_page(base, StatusCode::OK, "Connect Google Drive", &body)
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(crate) struct CallbackQuery {
    state: Option<String>,
    code: Option<String>,
    error: Option<String>,
}

/// Omits the code and the state.
impl std::fmt::Debug for CallbackQuery {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("CallbackQuery(…)")
    }
}

/// Handles the provider's answer. Only the parameters in [`CallbackQuery`] are read.
pub(crate) async fn handle_callback(
    State(state): State<ConnectionsState>,
    base: BaseUrl,
    headers: HeaderMap,
    Path(name): Path<String>,
    Query(query): Query<CallbackQuery>,
) -> Response {
    let result = async {
        let answer = ConsentAnswer {
            state: query.state.unwrap_or_default(),
            code: query.code.filter(|code| !code.is_empty()).map(Secret::new),
            error: query.error,
        };

        let browser = cookie::read_token(&headers, &base, CONSENT_COOKIE);
        let provider = parse_provider(&name, state.app.provider_names)?;
        let outcome = accept_consent(
            &state.app.ctx,
            &state.connectors,
            provider,
            browser.as_ref(),
            answer,
        )
        .await?;
        finish_consent(&state, &base, &headers, outcome).await
    };

    match result.await {
        Ok(response) => response,
        Err(error) => refusal_page(&base, &headers, error),
    }
}

/// Sends the browser to its next page: the picker, the caller's address, or a page of this service.
async fn finish_consent(
    state: &ConnectionsState,
    base: &BaseUrl,
    headers: &HeaderMap,
    outcome: ConsentOutcome,
) -> ApiResult<Response> {
    let ConsentOutcome {
        tenant,
        connection,
        refusal,
    } = outcome;

    let names = state.app.provider_names;
    if let Some(refusal) = refusal {
        return refusal_response(state, base, headers, &tenant, &connection, &refusal).await;
    }

    if waits_for_selection(&connection) {
        let session = open_session_after_consent(&state.app.ctx, &tenant, &connection).await?;
        let mut response = redirect_to(&base.url_of_path("/picker"));
        let picker = picker_settings(&state.app.ctx, &tenant).await?;
        for cookie in cookie::set_picker_cookie(base, &picker, &session, PICKER_SESSION_SECONDS) {
            response.headers_mut().append(SET_COOKIE, cookie);
        }
        return Ok(response);
    }

    let redirect_url = connection.redirect_url.as_deref();
    if let Some(address) = outcome_url(names, redirect_url, &connection, None) {
        return Ok(redirect_to(&address));
    }

    connected_response(state, base, headers, &tenant, connection).await
}

/// Returns the caller's address with the outcome in its parameters, or `None` if the caller gave
/// none. Only an address that an authenticated request has stored is ever used.
pub(crate) fn outcome_url(
    names: ProviderNames,
    address: Option<&str>,
    connection: &Connection,
    error: Option<&str>,
) -> Option<String> {
    let status = if error.is_some() { "error" } else { "success" };
    let mut parameters = vec![
        ("connectionId", connection.id.as_str()),
        ("provider", names.of_provider(connection.provider).as_str()),
        ("status", status),
    ];
    parameters.extend(error.map(|error| ("error", error)));
    append_parameters(address?, &parameters)
}

async fn refusal_response(
    state: &ConnectionsState,
    base: &BaseUrl,
    headers: &HeaderMap,
    tenant: &Tenant,
    connection: &Connection,
    refusal: &ConsentRefusal,
) -> ApiResult<Response> {
    let names = state.app.provider_names;
    if let Some(address) = outcome_url(
        names,
        connection.redirect_url.as_deref(),
        connection,
        Some(refusal.code()),
    ) {
        return Ok(redirect_to(&address));
    }

    let status = refusal_status(refusal);
    if wants_json(headers) {
        let body = serde_json::json!({
            "error": refusal.message, "type": "ConnectionError", "errorKind": refusal.code(),
            "id": connection.id, "provider": names.of_provider(connection.provider),
        });
        return Ok(add_page_headers((status, Json(body)).into_response()));
    }

    let title = match refusal.kind {
        Some(ConnectionErrorKind::AccessDenied) => "Not connected",
        None => "This is another account",
        Some(_) => "Your drive could not be connected",
    };

    let mut body = format!("<p>{}</p>", escape_html(&refusal.message));
    // The user cannot correct the app.
    if !matches!(refusal.kind, Some(ConnectionErrorKind::AppMisconfigured)) {
        let retry_url = issue_retry_link(&state.app.ctx, base, tenant, connection).await?;
        body.push_str(&format!(
            "\n<p><a class=\"button\" href=\"{}\">Try again</a></p>",
            escape_html(&retry_url)
        ));
    }

    Ok(text_page(base, status, title, &body))
}

/// Returns the status of the answer about a refusal.
fn refusal_status(refusal: &ConsentRefusal) -> StatusCode {
    match refusal.kind {
        None => StatusCode::CONFLICT,
        Some(
            ConnectionErrorKind::AccessDenied
            | ConnectionErrorKind::ScopeDenied
            | ConnectionErrorKind::AdminPolicy,
        ) => StatusCode::FORBIDDEN,
        Some(
            ConnectionErrorKind::ProviderUnavailable
            | ConnectionErrorKind::RateLimited
            | ConnectionErrorKind::QuotaExceeded,
        ) => StatusCode::SERVICE_UNAVAILABLE,
        Some(_) => StatusCode::BAD_REQUEST,
    }
}

/// Issues a link with which a user who did not give permission is asked again. The user has just
/// proved to be in the browser that was asked.
async fn issue_retry_link(
    ctx: &Ctx,
    base: &BaseUrl,
    tenant: &Tenant,
    connection: &Connection,
) -> ApiResult<String> {
    let expires_at = ctx.clock.now().plus_seconds(RETRY_SECONDS);
    let value = TicketValue::new(tenant, &connection.id);
    let ticket = issue_ticket(ctx, TicketKind::Link, &value, expires_at).await?;
    let path = format!("/v3/connections/auth/start/{}", ticket.expose());
    Ok(base.url_of_path(&path))
}

/// Shows the new connection, for callers without a page of their own.
async fn connected_response(
    state: &ConnectionsState,
    base: &BaseUrl,
    headers: &HeaderMap,
    tenant: &Tenant,
    connection: Connection,
) -> ApiResult<Response> {
    if wants_json(headers) {
        let details = show_connection(&state.app, tenant, connection).await?;
        return Ok(add_page_headers(Json(details).into_response()));
    }

    let email = connection
        .account
        .as_ref()
        .and_then(|account| account.email.as_deref());
    let body = format!(
        "<p>Your drive is being synced now. You can close this page.</p>\n<dl><dt>Account</dt><dd>{}</dd>\
         <dt>Organization</dt><dd>{}</dd><dt>Container</dt><dd>{}</dd><dt>Connection</dt><dd>{}</dd></dl>",
        escape_html(email.unwrap_or("unknown")),
        escape_html(tenant.org().as_str()),
        escape_html(connection.tag.as_str()),
        escape_html(connection.id.as_str()),
    );

    Ok(text_page(
        base,
        StatusCode::OK,
        "Your drive is connected",
        &body,
    ))
}

#[cfg(test)]
mod tests {
    use domain::ports::ConsentRequest;

    use super::*;

    #[test]
    fn what_a_browser_carries_is_not_shown() {
        let query = serde_json::json!({"seen": "s3cret", "state": "s3cret", "code": "s3cret", "error": "s3cret"});
        let start: StartQuery = serde_json::from_value(query.clone()).unwrap();
        let callback: CallbackQuery = serde_json::from_value(query).unwrap();
        let text = || "s3cret".to_owned();
        let answer = ConsentAnswer {
            state: text(),
            code: Some(Secret::new(text())),
            error: Some(text()),
        };
        let verifier = Secret::new(text());
        let consent = ConsentRequest {
            state: text(),
            nonce: text(),
            verifier,
            redirect_uri: text(),
        };
        let debug_output = format!("{start:?} {callback:?} {answer:?} {consent:?}");

        assert!(!debug_output.contains("s3cret"), "{debug_output}");
    }
}
