//! The authorization endpoint, which asks users for consent.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use url::Url;

use super::{Code, Consent, Request, pages};
use crate::state::State;
use crate::wire::{Call, Reply};

/// Returns the name that answers use for a scope.
fn canonical(scope: &str) -> String {
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
pub(super) fn ask(state: &mut State, call: &Call) -> Reply {
    let request = match read(state, call) {
        Ok(request) => request,
        Err((error, message)) => return pages::error(error, &message),
    };

    let plan = planned(call)
        .or_else(|| state.oauth.plans.pop_front())
        .or_else(|| state.oauth.habit.clone());
    if let Some(consent) = plan {
        return settle(state, request, &consent);
    }

    let name = state.world.random.name(24);
    let page = pages::question(&name, &request, state.world.accounts.values());
    state.oauth.requests.insert(name, request);

    page
}

/// Parses a decision that the address itself contains: `auto=allow&account=…`.
fn planned(call: &Call) -> Option<Consent> {
    let email = call
        .param("account")
        .or_else(|| call.param("login_hint"))
        .unwrap_or_default()
        .to_owned();
    match call.param("auto")? {
        "allow" => Some(Consent::Allow { email }),
        "untick" => Some(Consent::Untick { email }),
        _ => Some(Consent::Deny),
    }
}

fn read(state: &State, call: &Call) -> Result<Request, (&'static str, String)> {
    let client = call.param("client_id").unwrap_or_default();
    let app = state.oauth.apps.get(client);
    let app = app.ok_or((
        "invalid_client",
        "The OAuth client was not found.".to_owned(),
    ))?;
    let redirect = call.param("redirect_uri").unwrap_or_default();
    if !app.allows(redirect) {
        return Err((
            "redirect_uri_mismatch",
            format!("The app does not list {redirect} among its addresses."),
        ));
    }

    let bad = |message: &str| ("invalid_request", message.to_owned());
    if call.param("response_type") != Some("code") {
        return Err(bad("response_type has to be code."));
    }

    let scopes: Vec<_> = call
        .param("scope")
        .unwrap_or_default()
        .split_whitespace()
        .map(canonical)
        .collect();
    if scopes.is_empty() {
        return Err(bad("Required parameter is missing: scope"));
    }

    let challenge = call.param("code_challenge").map(str::to_owned);
    if challenge.is_some() && call.param("code_challenge_method") != Some("S256") {
        return Err(bad("code_challenge_method has to be S256."));
    }

    let text = |name| call.param(name).map(str::to_owned);
    Ok(Request {
        client: client.to_owned(),
        redirect: redirect.to_owned(),
        scopes,
        state: text("state"),
        challenge,
        nonce: text("nonce"),
        offline: call.param("access_type") == Some("offline"),
        prompt: call
            .param("prompt")
            .is_some_and(|prompt| prompt.split(' ').any(|word| word == "consent")),
        hint: text("login_hint"),
    })
}

/// Handles the decision that a user sent from the consent page.
pub(super) fn decide(state: &mut State, call: &Call) -> Reply {
    let form = call.form();
    let field = |name: &str| {
        form.iter()
            .find(|(field, _)| field == name)
            .map(|(_, value)| value.as_str())
    };

    let Some(request) = field("request").and_then(|name| state.oauth.requests.remove(name)) else {
        return pages::error(
            "invalid_request",
            "This question has been answered already.",
        );
    };

    if field("decision") != Some("allow") {
        return settle(state, request, &Consent::Deny);
    }

    let ticked: Vec<_> = form
        .iter()
        .filter(|(field, _)| field == "scope")
        .map(|(_, value)| value)
        .collect();
    let scopes = request
        .scopes
        .iter()
        .filter(|scope| is_identity(scope) || ticked.contains(scope));
    let scopes = scopes.cloned().collect();

    give(state, request, field("account").unwrap_or_default(), scopes)
}

fn settle(state: &mut State, request: Request, consent: &Consent) -> Reply {
    match consent {
        Consent::Allow { email } => {
            let scopes = request.scopes.clone();
            give(state, request, email, scopes)
        }
        Consent::Untick { email } => {
            let scopes = request
                .scopes
                .iter()
                .filter(|scope| is_identity(scope))
                .cloned()
                .collect();
            give(state, request, email, scopes)
        }

        Consent::Deny => back(&request, &[("error", "access_denied")]),
    }
}

fn give(state: &mut State, request: Request, email: &str, scopes: Vec<String>) -> Reply {
    if !state.world.accounts.contains_key(email) {
        return pages::error("invalid_request", &format!("There is no account {email}."));
    }
    let code = format!("4/0A{}", state.world.random.name(60));
    let reply = back(
        &request,
        &[
            ("code", &code),
            ("scope", &scopes.join(" ")),
            ("authuser", "0"),
        ],
    );
    let first = state
        .oauth
        .known
        .insert((email.to_owned(), request.client.clone()));
    let made = state.world.clock.now();
    state.oauth.codes.insert(
        code,
        Code {
            request,
            email: email.to_owned(),
            scopes,
            first,
            made,
        },
    );

    reply
}

fn back(request: &Request, fields: &[(&str, &str)]) -> Reply {
    let Ok(mut url) = Url::parse(&request.redirect) else {
        return pages::error("redirect_uri_mismatch", "The address is none.");
    };
    let mut pairs = url.query_pairs_mut();
    if let Some(state) = &request.state {
        pairs.append_pair("state", state);
    }
    pairs.extend_pairs(fields);
    drop(pairs);
    Reply::redirect(url.into())
}

/// Returns the challenge of a verifier.
pub(super) fn challenge_of(verifier: &str) -> String {
    use sha2::{Digest, Sha256};
    URL_SAFE_NO_PAD.encode(Sha256::digest(verifier))
}
