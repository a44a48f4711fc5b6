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
    redirect: String,
    scopes: Vec<String>,
    state: Option<String>,
    challenge: Option<String>,
    nonce: Option<String>,
    offline: bool,
    prompt: bool,
    hint: Option<String>,
}

/// An authorization code's permissions.
struct AuthorizationCode {
    request: ConsentForm,
    email: String,
    scopes: Vec<String>,
    first: bool,
    made: i64,
}

/// An access token's permissions.
#[derive(Debug, Clone)]
pub(crate) struct AccessToken {
    pub(crate) email: String,
    pub(crate) client: String,
    pub(crate) scopes: Vec<String>,
    expires: i64,
}

struct RefreshToken {
    email: String,
    client: String,
    scopes: Vec<String>,
    expires: Option<i64>,
    number: u64,
}

#[derive(Default)]
pub(crate) struct OAuthState {
    apps: HashMap<String, RegisteredApp>,
    requests: HashMap<String, ConsentForm>,
    codes: HashMap<String, AuthorizationCode>,
    access: HashMap<String, AccessToken>,
    refresh: HashMap<String, RefreshToken>,
    /// The accounts and apps with an earlier permission.
    known: BTreeSet<(String, String)>,
    /// The planned decisions of the next users who are asked.
    pub(crate) planned_decisions: VecDeque<ConsentDecision>,
    /// The decision when none is planned. With `None`, users see a page.
    pub(crate) default_decision: Option<ConsentDecision>,
    /// The number of exchanges that return no refresh token.
    pub(crate) without_refresh: u32,
    numbers: u64,
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
        self.access.get(token).filter(|access| access.expires > now)
    }

    /// Issues an access token.
    pub(crate) fn issue_access_token(
        &mut self,
        random: &mut Random,
        access: AccessToken,
    ) -> String {
        let token = format!("ya29.{}", random.random_name(60));
        self.access.insert(token.clone(), access);
        token
    }

    fn grant_refresh(
        &mut self,
        random: &mut Random,
        access: &AccessToken,
        expires: Option<i64>,
    ) -> String {
        let of_pair = |refresh: &RefreshToken| {
            refresh.email == access.email && refresh.client == access.client
        };
        if self
            .refresh
            .values()
            .filter(|refresh| of_pair(refresh))
            .count()
            >= MAX_REFRESH_TOKENS
        {
            let pairs = self.refresh.iter().filter(|(_, refresh)| of_pair(refresh));
            let oldest = pairs
                .min_by_key(|(_, refresh)| refresh.number)
                .map(|(token, _)| token.clone());
            oldest.map(|token| self.refresh.remove(&token));
        }

        self.numbers += 1;
        let token = format!("1//0{}", random.random_name(50));
        let (email, client, scopes) = (
            access.email.clone(),
            access.client.clone(),
            access.scopes.clone(),
        );
        self.refresh.insert(
            token.clone(),
            RefreshToken {
                email,
                client,
                scopes,
                expires,
                number: self.numbers,
            },
        );

        token
    }

    /// Ends all permissions that an account has given to one app, or to all apps.
    pub(crate) fn revoke_permissions(&mut self, email: &str, client: Option<&str>) {
        let ended = |of: &str, by: &str| of == email && client.is_none_or(|client| client == by);
        self.access
            .retain(|_, access| !ended(&access.email, &access.client));
        self.refresh
            .retain(|_, refresh| !ended(&refresh.email, &refresh.client));
        self.known.retain(|(of, by)| !ended(of, by));
    }

    /// Expires all access tokens, as if their lifetime were over.
    pub(crate) fn expire_access_tokens(&mut self) {
        self.access.clear();
    }
}

impl AccessToken {
    pub(crate) fn new(email: &str, client: &str, scopes: Vec<String>, expires: i64) -> Self {
        Self {
            email: email.to_owned(),
            client: client.to_owned(),
            scopes,
            expires,
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
