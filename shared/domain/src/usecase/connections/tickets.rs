//! Tickets of browsers: 256 random bits, of which only a digest is stored.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::{Hmac, KeyInit, Mac};
use rand::RngExt;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::connection::AppRef;
use crate::ctx::Ctx;
use crate::error::{PortError, Result};
use crate::ids::{ConnectionId, OrgId};
use crate::tenant::Tenant;
use crate::time::Timestamp;
use crate::usecase::revise::hex;
use crate::vault::Secret;

/// What a ticket is for; none works as another kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TicketKind {
    /// Begins giving permission, as often as wanted.
    Link,
    /// Comes back from the provider, once.
    State,
    /// Opens the picker, once.
    Picker,
    /// Lets a browser use the picker.
    Session,
    /// Comes with notifications of a provider.
    Channel,
}

impl TicketKind {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Link => "link",
            Self::State => "state",
            Self::Picker => "picker",
            Self::Session => "session",
            Self::Channel => "channel",
        }
    }
}

/// What every ticket stands for: the connection that an authenticated request made it for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TicketFor {
    /// The connection's organization.
    pub org: OrgId,
    /// The connection.
    pub connection: ConnectionId,
    /// Where the browser goes in the end, when it is not where the connection says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub return_url: Option<String>,
    /// What the answer of a provider is held against.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked: Option<Asked>,
}

/// What a user was asked, and in which browser.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Asked {
    /// The digest of the browser's secret.
    pub browser: String,
    /// The app that asked.
    pub app: AppRef,
    /// Where the answer was to come.
    pub redirect_uri: String,
}

impl TicketFor {
    /// A ticket for a connection, and nothing else.
    pub fn new(tenant: &Tenant, connection: &ConnectionId) -> Self {
        let (org, connection) = (tenant.org().clone(), connection.clone());
        Self {
            org,
            connection,
            return_url: None,
            asked: None,
        }
    }

    /// The tenant that the holder of the ticket acts for: what it does was begun by an authenticated request.
    pub(super) fn tenant(&self) -> Tenant {
        Tenant::of_work(self.org.clone())
    }
}

/// What tokens begin with, as all credentials of this service do: the request log and scanners of secrets know it.
const PREFIX: &str = "rk_t_";
/// The characters of a token.
const TOKEN_LEN: usize = PREFIX.len() + 43;

/// 256 random bits, as text for addresses and cookies.
pub fn random_token() -> Secret {
    let bytes: [u8; 32] = rand::rng().random();
    Secret::new(format!("{PREFIX}{}", URL_SAFE_NO_PAD.encode(bytes)))
}

/// Whether a text can be one of [`random_token`].
pub fn is_token(text: &str) -> bool {
    text.len() == TOKEN_LEN
        && text.starts_with(PREFIX)
        && text
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b"-_".contains(&b))
}

/// What is stored of a token.
pub fn token_digest(token: &str) -> String {
    hex(&Sha256::digest(token.as_bytes()))
}

/// A value that only the holder of `secret` can make, for one purpose: in this way it has to be stored nowhere.
pub fn derived_token(secret: &Secret, purpose: &str, of: &str) -> Secret {
    let mut mac =
        Hmac::<Sha256>::new_from_slice(secret.expose().as_bytes()).expect("keys of any length");
    mac.update(purpose.as_bytes());
    mac.update(&[0]);
    mac.update(of.as_bytes());
    Secret::new(URL_SAFE_NO_PAD.encode(mac.finalize().into_bytes()))
}

/// Makes a ticket that works until `until`.
///
/// # Errors
/// Those of the ports.
pub async fn issue_ticket(
    ctx: &Ctx,
    kind: TicketKind,
    of: &TicketFor,
    until: Timestamp,
) -> Result<Secret> {
    let token = random_token();
    let text = serde_json::to_string(of).map_err(|error| PortError::Internal(error.into()))?;
    ctx.tickets
        .issue(kind.as_str(), &token_digest(token.expose()), &text, until)
        .await?;
    Ok(token)
}

/// What a ticket stands for; `None` for one that has expired or never was.
pub(super) async fn look_at(ctx: &Ctx, kind: TicketKind, token: &str) -> Result<Option<TicketFor>> {
    let text = ctx
        .tickets
        .look(kind.as_str(), &token_digest(token), ctx.clock.now())
        .await?;
    text.as_deref().map(parse).transpose()
}

/// As [`look_at`], and the ticket is used up.
pub(super) async fn redeem(ctx: &Ctx, kind: TicketKind, token: &str) -> Result<Option<TicketFor>> {
    let text = ctx
        .tickets
        .redeem(kind.as_str(), &token_digest(token), ctx.clock.now())
        .await?;
    text.as_deref().map(parse).transpose()
}

fn parse<T: DeserializeOwned>(text: &str) -> Result<T> {
    serde_json::from_str(text).map_err(|_| PortError::Corrupt("a ticket".into()).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_long_and_differ_and_derived_ones_depend_on_everything() {
        let (a, b) = (random_token(), random_token());
        assert!(
            is_token(a.expose()) && !is_token(&a.expose()[1..]),
            "{}",
            a.expose()
        );
        assert_ne!(a, b);
        let made = derived_token(&a, "verifier", "x");
        // PKCE asks for 43 to 128 of these characters.
        assert!(
            made.expose().len() == 43
                && made
                    .expose()
                    .bytes()
                    .all(|b| b.is_ascii_alphanumeric() || b"-_".contains(&b))
        );
        assert_eq!(made, derived_token(&a, "verifier", "x"));
        for other in [
            derived_token(&b, "verifier", "x"),
            derived_token(&a, "nonce", "x"),
            derived_token(&a, "verifier", "y"),
        ] {
            assert_ne!(made, other);
        }
    }

    #[test]
    fn what_a_ticket_stands_for_keeps_its_stored_shape() {
        let golden = r#"{"org":"acme","connection":"1111111111111111111111"}"#;
        let of: TicketFor = parse(golden).unwrap();
        assert_eq!(serde_json::to_string(&of).unwrap(), golden);
        assert!(parse::<TicketFor>("{}").is_err());
    }
}
