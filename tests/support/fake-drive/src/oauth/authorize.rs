//! The authorization endpoint, which asks users for consent.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use url::Url;

use super::{AuthorizationCode, ConsentDecision, ConsentForm, pages};
use crate::state::DriveState;
use crate::wire::{HttpCall, Reply};

/// Returns the name that answers use for a scope.
fn canonical_scope(scope: &str) -> String {
    match scope {
        "email" | "profile" => format!("https://www.googleapis.com/auth/userinfo.{scope}"),
        other => other.to_owned(),
    }
}

/// Checks whether a scope concerns the user's identity, which users cannot deselect.
pub(super) fn is_identity(scope: &str) -> bool {
    scope == "openid" || scope.contains("/auth/userinfo.")
}

/// Shows the consent page, or answers as planned.
pub(super) fn show_consent(state: &mut DriveState, call: &HttpCall) -> Reply {
    let request = match parse_request(state, call) {
        Ok(request) => request,
        Err((error, message)) => return pages::render_error(error, &message),
    };

    let planned = parse_planned_decision(call)
        .or_else(|| state.oauth.planned_decisions.pop_front())
        .or_else(|| state.oauth.default_decision.clone());
    if let Some(decision) = planned {
        return apply_decision(state, request, &decision);
    }

    let name = state.contents.random.random_name(24);
    let page = pages::render_consent(&name, &request, state.contents.accounts.values());
    state.oauth.consent_requests.insert(name, request);

    page
}

/// Parses a decision that the address itself contains: `auto=allow&account=…`.
fn parse_planned_decision(call: &HttpCall) -> Option<ConsentDecision> {
    let email = call
        .query_param("account")
        .or_else(|| call.query_param("login_hint"))
        .unwrap_or_default()
        .to_owned();
    match call.query_param("auto")? {
        "allow" => Some(ConsentDecision::Allow { email }),
        "untick" => Some(ConsentDecision::Untick { email }),
        _ => Some(ConsentDecision::Deny),
    }
}

fn parse_request(
    state: &DriveState,
    call: &HttpCall,
) -> Result<ConsentForm, (&'static str, String)> {
    let client = call.query_param("client_id").unwrap_or_default();
    let app = state.oauth.apps.get(client);
    let app = app.ok_or((
        "invalid_client",
        "The OAuth client was not found.".to_owned(),
    ))?;
    let redirect = call.query_param("redirect_uri").unwrap_or_default();
    if !app.allows_redirect(redirect) {
        return Err((
            "redirect_uri_mismatch",
            format!("The app does not list {redirect} among its addresses."),
        ));
    }

    let invalid = |message: &str| ("invalid_request", message.to_owned());
    if call.query_param("response_type") != Some("code") {
        return Err(invalid("response_type has to be code."));
    }

    let scopes: Vec<_> = call
        .query_param("scope")
        .unwrap_or_default()
        .split_whitespace()
        .map(canonical_scope)
        .collect();
    if scopes.is_empty() {
        return Err(invalid("Required parameter is missing: scope"));
    }

    let challenge = call.query_param("code_challenge").map(str::to_owned);
    if challenge.is_some() && call.query_param("code_challenge_method") != Some("S256") {
        return Err(invalid("code_challenge_method has to be S256."));
    }

    let param_text = |name| call.query_param(name).map(str::to_owned);
    Ok(ConsentForm {
        client: client.to_owned(),
        redirect_uri: redirect.to_owned(),
        scopes,
        state: param_text("state"),
        challenge,
        nonce: param_text("nonce"),
        is_offline: call.query_param("access_type") == Some("offline"),
        prompt: call
            .query_param("prompt")
            .is_some_and(|prompt| prompt.split(' ').any(|word| word == "consent")),
        hint: param_text("login_hint"),
    })
}

/// Handles the decision that a user sent from the consent page.
pub(super) fn handle_decision(state: &mut DriveState, call: &HttpCall) -> Reply {
    let form = call.form_fields();
    let field = |name: &str| {
        form.iter()
            .find(|(field, _)| field == name)
            .map(|(_, value)| value.as_str())
    };

    let Some(request) = field("request").and_then(|name| state.oauth.consent_requests.remove(name))
    else {
        return pages::render_error(
            "invalid_request",
            "This question has been answered already.",
        );
    };

    if field("decision") != Some("allow") {
        return apply_decision(state, request, &ConsentDecision::Deny);
    }

    let selected_scopes: Vec<_> = form
        .iter()
        .filter(|(field, _)| field == "scope")
        .map(|(_, value)| value)
        .collect();
    let scopes = request
        .scopes
        .iter()
        .filter(|scope| is_identity(scope) || selected_scopes.contains(scope));
    let scopes = scopes.cloned().collect();

    grant_permission(state, request, field("account").unwrap_or_default(), scopes)
}

fn apply_decision(
    state: &mut DriveState,
    request: ConsentForm,
    decision: &ConsentDecision,
) -> Reply {
    match decision {
        ConsentDecision::Allow { email } => {
            let scopes = request.scopes.clone();
            grant_permission(state, request, email, scopes)
        }
        ConsentDecision::Untick { email } => {
            let scopes = request
                .scopes
                .iter()
                .filter(|scope| is_identity(scope))
                .cloned()
                .collect();
            grant_permission(state, request, email, scopes)
        }

        ConsentDecision::Deny => redirect_back(&request, &[("error", "access_denied")]),
    }
}

fn grant_permission(
    state: &mut DriveState,
    request: ConsentForm,
    email: &str,
    scopes: Vec<String>,
) -> Reply {
    if !state.contents.accounts.contains_key(email) {
        return pages::render_error("invalid_request", &format!("There is no account {email}."));
    }
    let code = format!("4/0A{}", state.contents.random.random_name(60));
    let reply = redirect_back(
        &request,
        &[
            ("code", &code),
            ("scope", &scopes.join(" ")),
            ("authuser", "0"),
        ],
    );
    let is_first_consent = state
        .oauth
        .known_grants
        .insert((email.to_owned(), request.client.clone()));
    let issued_at = state.contents.clock.now();
    state.oauth.codes.insert(
        code,
        AuthorizationCode {
            request,
            email: email.to_owned(),
            scopes,
            is_first_consent,
            issued_at,
        },
    );

    reply
}

fn redirect_back(request: &ConsentForm, fields: &[(&str, &str)]) -> Reply {
    let Ok(mut url) = Url::parse(&request.redirect_uri) else {
        return pages::render_error("redirect_uri_mismatch", "The address is none.");
    };
    let mut pairs = url.query_pairs_mut();
    if let Some(state) = &request.state {
        pairs.append_pair("state", state);
    }
    pairs.extend_pairs(fields);
    drop(pairs);
    Reply::redirect_reply(url.into())
}

/// Returns the challenge of a verifier.
pub(super) fn compute_challenge(verifier: &str) -> String {
    use sha2::{Digest, Sha256};
    URL_SAFE_NO_PAD.encode(Sha256::digest(verifier))
}
