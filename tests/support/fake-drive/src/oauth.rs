//! OAuth 2.0: apps, the permissions that users give them, and tokens.

mod authorize;
mod pages;
mod token;

use std::collections::{BTreeSet, HashMap, VecDeque};

use serde::{Deserialize, Serialize};
use url::Url;

use crate::random::Random;
use crate::state::DriveState;
use crate::wire::{HttpCall, Reply};

/// The most refresh tokens of an account for one app. A further token revokes the oldest.
const MAX_REFRESH_TOKENS: usize = 100;

/// An entry in an app's list of redirect addresses that stands for every address on this machine.
pub const LOOPBACK_REDIRECT: &str = "loopback";

/// The decision of a user who is asked for consent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "answer", rename_all = "camelCase")]
pub enum ConsentDecision {
    /// Grants the requested permissions.
    Allow {
        /// The account that grants them.
        email: String,
    },
    /// Grants access to the identity, but not to the drive.
    Untick {
        /// The account that grants it.
        email: String,
    },
    /// Grants nothing.
    Deny,
}

struct RegisteredApp {
    secret: String,
    redirects: Vec<String>,
}

/// A consent request that is shown to a user.
#[derive(Debug, Clone)]
struct ConsentForm {
    client: String,
    redirect_uri: String,
    scopes: Vec<String>,
    state: Option<String>,
    challenge: Option<String>,
    nonce: Option<String>,
    is_offline: bool,
    prompt: bool,
    hint: Option<String>,
}

/// An authorization code's permissions.
struct AuthorizationCode {
    request: ConsentForm,
    email: String,
    scopes: Vec<String>,
    is_first_consent: bool,
    issued_at: i64,
}

/// An access token's permissions.
#[derive(Debug, Clone)]
pub(crate) struct AccessToken {
    pub(crate) email: String,
    pub(crate) client: String,
    pub(crate) scopes: Vec<String>,
    expires_at: i64,
}

struct RefreshToken {
    email: String,
    client: String,
    scopes: Vec<String>,
    expires_at: Option<i64>,
    number: u64,
}

#[derive(Default)]
pub(crate) struct OAuthState {
    apps: HashMap<String, RegisteredApp>,
    consent_requests: HashMap<String, ConsentForm>,
    codes: HashMap<String, AuthorizationCode>,
    access_tokens: HashMap<String, AccessToken>,
    refresh_tokens: HashMap<String, RefreshToken>,
    /// The accounts and apps with an earlier permission.
    known_grants: BTreeSet<(String, String)>,
    /// The planned decisions of the next users who are asked.
    pub(crate) planned_decisions: VecDeque<ConsentDecision>,
    /// The decision when none is planned. With `None`, users see a page.
    pub(crate) default_decision: Option<ConsentDecision>,
    /// The number of exchanges that return no refresh token.
    pub(crate) exchanges_without_refresh: u32,
    last_number: u64,
}

impl OAuthState {
    pub(crate) fn add_app(&mut self, id: &str, secret: &str, redirects: Vec<String>) {
        self.apps.insert(
            id.to_owned(),
            RegisteredApp {
                secret: secret.to_owned(),
                redirects,
            },
        );
    }

    pub(crate) fn remove_app(&mut self, id: &str) {
        self.apps.remove(id);
    }

    /// Returns the permissions of an access token that has not expired.
    pub(crate) fn find_access_token(&self, token: &str, now: i64) -> Option<&AccessToken> {
        self.access_tokens
            .get(token)
            .filter(|access| access.expires_at > now)
    }

    /// Issues an access token.
    pub(crate) fn issue_access_token(
        &mut self,
        random: &mut Random,
        access: AccessToken,
    ) -> String {
        let token = format!("ya29.{}", random.random_name(60));
        self.access_tokens.insert(token.clone(), access);
        token
    }

    fn grant_refresh(
        &mut self,
        random: &mut Random,
        access: &AccessToken,
        expires_at: Option<i64>,
    ) -> String {
        let is_same_grant = |refresh: &RefreshToken| {
            refresh.email == access.email && refresh.client == access.client
        };
        if self
            .refresh_tokens
            .values()
            .filter(|refresh| is_same_grant(refresh))
            .count()
            >= MAX_REFRESH_TOKENS
        {
            let same_grants = self
                .refresh_tokens
                .iter()
                .filter(|(_, refresh)| is_same_grant(refresh));
            let oldest = same_grants
                .min_by_key(|(_, refresh)| refresh.number)
                .map(|(token, _)| token.clone());
            oldest.map(|token| self.refresh_tokens.remove(&token));
        }

        self.last_number += 1;
        let token = format!("1//0{}", random.random_name(50));
        let (email, client, scopes) = (
            access.email.clone(),
            access.client.clone(),
            access.scopes.clone(),
        );
        self.refresh_tokens.insert(
            token.clone(),
            RefreshToken {
                email,
                client,
                scopes,
                expires_at,
                number: self.last_number,
            },
        );

        token
    }

    /// Ends all permissions that an account has given to one app, or to all apps.
    pub(crate) fn revoke_permissions(&mut self, email: &str, client: Option<&str>) {
        let is_ended =
            |holder: &str, app: &str| holder == email && client.is_none_or(|client| client == app);
        self.access_tokens
            .retain(|_, access| !is_ended(&access.email, &access.client));
        self.refresh_tokens
            .retain(|_, refresh| !is_ended(&refresh.email, &refresh.client));
        self.known_grants
            .retain(|(holder, app)| !is_ended(holder, app));
    }

    /// Expires all access tokens, as if their lifetime were over.
    pub(crate) fn expire_access_tokens(&mut self) {
        self.access_tokens.clear();
    }
}

impl AccessToken {
    pub(crate) fn new(email: &str, client: &str, scopes: Vec<String>, expires_at: i64) -> Self {
        Self {
            email: email.to_owned(),
            client: client.to_owned(),
            scopes,
            expires_at,
        }
    }
}

impl RegisteredApp {
    fn allows_redirect(&self, redirect: &str) -> bool {
        self.redirects.iter().any(|allowed| {
            allowed == redirect || (allowed == LOOPBACK_REDIRECT && is_loopback(redirect))
        })
    }
}

fn is_loopback(address: &str) -> bool {
    let url = Url::parse(address)
        .ok()
        .filter(|url| url.scheme() == "http" && url.fragment().is_none());
    url.is_some_and(|url| matches!(url.host_str(), Some("localhost" | "127.0.0.1" | "[::1]")))
}

/// Answers the request if the path belongs to OAuth.
pub(crate) fn answer_request(state: &mut DriveState, call: &HttpCall) -> Option<Reply> {
    Some(match (call.method.as_str(), call.path.as_str()) {
        ("GET", "/o/oauth2/v2/auth") => authorize::show_consent(state, call),
        ("POST", "/o/oauth2/v2/auth/answer") => authorize::handle_decision(state, call),
        ("POST", "/token") => token::exchange_grant(state, call),
        ("POST", "/revoke") => token::revoke_token(state, call),
        _ => return None,
    })
}
