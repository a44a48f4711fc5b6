//! The token endpoint, which exchanges codes and refresh tokens for access tokens, and the
//! revocation of permissions.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json};

use super::authorize::compute_challenge;
use super::{AccessToken, AuthorizationCode};
use crate::state::DriveState;
use crate::wire::{HttpCall, Reply};

/// The lifetime of a code in milliseconds.
const CODE_LIFETIME_MS: i64 = 10 * 60_000;

/// An error of the token endpoint.
struct TokenError(u16, &'static str, &'static str);

impl TokenError {
    fn to_reply(&self) -> Reply {
        Reply::json_reply(
            self.0,
            &json!({ "error": self.1, "error_description": self.2 }),
        )
    }
}

const EXPIRED_TOKEN: TokenError =
    TokenError(400, "invalid_grant", "Token has been expired or revoked.");

/// The fields of the form.
struct TokenForm(Vec<(String, String)>);

impl TokenForm {
    fn get(&self, name: &str) -> Option<&str> {
        self.0
            .iter()
            .find(|(field, _)| field == name)
            .map(|(_, value)| value.as_str())
    }
}

pub(super) fn exchange_grant(state: &mut DriveState, call: &HttpCall) -> Reply {
    let form = TokenForm(call.form_fields());
    let result =
        authenticate_client(state, call, &form).and_then(|client| match form.get("grant_type") {
            Some("authorization_code") => exchange_code(state, &client, &form),
            Some("refresh_token") => by_refresh(state, &client, &form),
            _ => Err(TokenError(
                400,
                "unsupported_grant_type",
                "Invalid grant_type.",
            )),
        });

    match result {
        Ok(value) => Reply::json_reply(200, &value).with_header("cache-control", "no-store"),
        Err(refusal) => refusal.to_reply(),
    }
}

/// Authenticates the app. Its id and secret come through HTTP Basic or in the form.
fn authenticate_client(
    state: &DriveState,
    call: &HttpCall,
    form: &TokenForm,
) -> Result<String, TokenError> {
    let form_credentials = || {
        Some((
            form.get("client_id")?.to_owned(),
            form.get("client_secret").unwrap_or_default().to_owned(),
        ))
    };

    let (id, secret) = call
        .basic_credentials()
        .or_else(form_credentials)
        .ok_or(TokenError(
            400,
            "invalid_request",
            "Could not determine client ID from request.",
        ))?;
    let app = state.oauth.apps.get(&id).ok_or(TokenError(
        401,
        "invalid_client",
        "The OAuth client was not found.",
    ))?;

    if app.secret == secret {
        Ok(id)
    } else {
        Err(TokenError(401, "invalid_client", "Unauthorized"))
    }
}

fn exchange_code(
    state: &mut DriveState,
    client: &str,
    form: &TokenForm,
) -> Result<Value, TokenError> {
    let malformed = TokenError(400, "invalid_grant", "Malformed auth code.");
    let now = state.contents.clock.now();
    // A code is valid for one attempt, whether that attempt succeeds or not.
    let code = form
        .get("code")
        .and_then(|code| state.oauth.codes.remove(code))
        .ok_or(malformed)?;
    if code.request.client != client || now - code.issued_at > CODE_LIFETIME_MS {
        return Err(TokenError(400, "invalid_grant", "Bad Request"));
    }
    if form.get("redirect_uri") != Some(code.request.redirect_uri.as_str()) {
        return Err(TokenError(400, "redirect_uri_mismatch", "Bad Request"));
    }

    if let Some(challenge) = &code.request.challenge {
        let verifier = form.get("code_verifier").ok_or(TokenError(
            400,
            "invalid_grant",
            "Missing code verifier.",
        ))?;
        if compute_challenge(verifier) != *challenge {
            return Err(TokenError(400, "invalid_grant", "Invalid code verifier."));
        }
    }

    Ok(issue_tokens(state, &code, now))
}

fn issue_tokens(state: &mut DriveState, code: &AuthorizationCode, now: i64) -> Value {
    let mut response = access(state, &code.email, &code.request.client, &code.scopes, now);
    let wants_refresh = code.request.is_offline && (code.request.prompt || code.is_first_consent);
    if state.oauth.exchanges_without_refresh > 0 {
        state.oauth.exchanges_without_refresh -= 1;
    } else if wants_refresh {
        refresh_access_token(
            state,
            &mut response,
            &code.email,
            &code.request.client,
            &code.scopes,
            now,
        );
    }

    if code.scopes.iter().any(|scope| scope == "openid") {
        response["id_token"] = json!(build_identity_token(state, code, now));
    }

    response
}

fn access(state: &mut DriveState, email: &str, client: &str, scopes: &[String], now: i64) -> Value {
    let seconds = state.contents.quirks.access_seconds;
    let access = AccessToken::new(email, client, scopes.to_vec(), now + seconds * 1000);
    let token = state
        .oauth
        .issue_access_token(&mut state.contents.random, access);
    json!({ "access_token": token, "expires_in": seconds, "scope": scopes.join(" "), "token_type": "Bearer" })
}

fn refresh_access_token(
    state: &mut DriveState,
    response: &mut Value,
    email: &str,
    client: &str,
    scopes: &[String],
    now: i64,
) {
    let seconds = state.contents.quirks.refresh_seconds;
    let access = AccessToken::new(email, client, scopes.to_vec(), 0);
    let expires = seconds.map(|seconds| now + seconds * 1000);
    response["refresh_token"] = json!(state.oauth.grant_refresh(
        &mut state.contents.random,
        &access,
        expires
    ));

    if let Some(seconds) = seconds {
        response["refresh_token_expires_in"] = json!(seconds);
    }
}

fn by_refresh(state: &mut DriveState, client: &str, form: &TokenForm) -> Result<Value, TokenError> {
    let now = state.contents.clock.now();
    let token = form.get("refresh_token").unwrap_or_default();
    let candidate = state
        .oauth
        .refresh_tokens
        .get(token)
        .filter(|refresh| refresh.client == client);
    let refresh_token = candidate
        .filter(|refresh| refresh.expires_at.is_none_or(|expires| expires > now))
        .ok_or(EXPIRED_TOKEN)?;
    let (email, scopes, expires) = (
        refresh_token.email.clone(),
        refresh_token.scopes.clone(),
        refresh_token.expires_at,
    );
    let mut response = access(state, &email, client, &scopes, now);
    if state.contents.quirks.rotation {
        state.oauth.refresh_tokens.remove(token);
        refresh_access_token(state, &mut response, &email, client, &scopes, now);
    } else if let Some(expires) = expires {
        response["refresh_token_expires_in"] = json!((expires - now) / 1000);
    }

    Ok(response)
}

/// Builds an unsigned identity token. The client reads it from the same connection on which it
/// asked for it, so it needs no signature.
fn build_identity_token(state: &DriveState, code: &AuthorizationCode, now: i64) -> String {
    let account = state.contents.accounts.get(&code.email);
    let mut claims = json!({
        "iss": "https://accounts.google.com",
        "azp": code.request.client,
        "aud": code.request.client,
        "sub": account.map(|account| account.sub.as_str()),
        "iat": now / 1000,
        "exp": now / 1000 + 3600,
    });

    if code
        .scopes
        .iter()
        .any(|scope| scope.ends_with("userinfo.email"))
    {
        claims["email"] = json!(code.email);
        claims["email_verified"] = json!(true);
    }

    if let Some(nonce) = &code.request.nonce {
        claims["nonce"] = json!(nonce);
    }

    let encode_part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
    let header = json!({ "alg": "RS256", "kid": "none-of-the-real-ones", "typ": "JWT" });

    format!(
        "{}.{}.{}",
        encode_part(&header),
        encode_part(&claims),
        URL_SAFE_NO_PAD.encode("unsigned")
    )
}

/// Ends the whole permission that the account of a token has given to the token's app.
pub(super) fn revoke_token(state: &mut DriveState, call: &HttpCall) -> Reply {
    let form = TokenForm(call.form_fields());
    let token = form
        .get("token")
        .or_else(|| call.query_param("token"))
        .unwrap_or_default();
    let oauth = &state.oauth;
    let refresh_grant = oauth
        .refresh_tokens
        .get(token)
        .map(|refresh| (refresh.email.clone(), refresh.client.clone()));
    let access_grant = || {
        oauth
            .access_tokens
            .get(token)
            .map(|access| (access.email.clone(), access.client.clone()))
    };

    let Some((email, client)) = refresh_grant.or_else(access_grant) else {
        return TokenError(400, "invalid_token", "Token expired or revoked").to_reply();
    };

    state.oauth.revoke_permissions(&email, Some(&client));
    Reply::json_reply(200, &json!({}))
}
