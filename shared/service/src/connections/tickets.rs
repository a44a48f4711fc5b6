//! Tickets of browsers: 256 random bits, of which only a digest is stored.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::{Hmac, KeyInit, Mac};
use rand::RngExt;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::Ctx;
use domain::connection::OAuthAppRef;
use domain::error::{PortError, Result};
use domain::ids::{ConnectionId, OrgId};
use domain::tenant::Tenant;
use domain::time::Timestamp;
use domain::vault::Secret;

/// The purpose of a ticket. No ticket works for another purpose.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TicketKind {
    /// Begins giving permission. It can be used any number of times.
    Link,
    /// Accompanies the user to the provider and back. It can be used once.
    State,
    /// Opens the picker. It can be used once.
    Picker,
    /// Lets a browser use the picker.
    Session,
    /// Accompanies the notifications of a provider.
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

/// The value of a ticket: the connection for which an authenticated request issued it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TicketValue {
    /// The connection's organization.
    pub org: OrgId,
    /// The connection.
    pub connection: ConnectionId,
    /// The address to which the browser is redirected at the end, if it differs from the
    /// connection's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub return_url: Option<String>,
    /// The question that a provider's answer is compared with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked: Option<ConsentQuestion>,
}

/// A question to a user, and the browser in which it was asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConsentQuestion {
    /// The digest of the browser's secret.
    pub browser: String,
    /// The OAuth app that asked.
    pub app: OAuthAppRef,
    /// The address to which the provider's answer was to come.
    pub redirect_uri: String,
}

impl TicketValue {
    /// Returns a value that names a connection and nothing else.
    pub fn new(tenant: &Tenant, connection: &ConnectionId) -> Self {
        let (org, connection) = (tenant.org().clone(), connection.clone());
        Self {
            org,
            connection,
            return_url: None,
            asked: None,
        }
    }

    /// Returns the tenant that the holder of the ticket acts for: an authenticated request began
    /// what the holder does.
    pub(super) fn tenant(&self) -> Tenant {
        Tenant::for_work(self.org.clone())
    }
}

/// The prefix of tokens, as of all credentials of this service. The request log and secret scanners
/// recognize it.
const PREFIX: &str = "rk_t_";
/// The length of a token in characters.
const TOKEN_LEN: usize = PREFIX.len() + 43;

/// Returns 256 random bits, as text for addresses and cookies.
pub fn random_token() -> Secret {
    let bytes: [u8; 32] = rand::rng().random();
    Secret::new(format!("{PREFIX}{}", URL_SAFE_NO_PAD.encode(bytes)))
}

/// Checks whether a text can be a result of [`random_token`].
pub fn is_token(text: &str) -> bool {
    text.len() == TOKEN_LEN
        && text.starts_with(PREFIX)
        && text
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b"-_".contains(&b))
}

/// Returns the digest that is stored in place of a token.
pub(crate) fn digest_token(token: &str) -> String {
    hex::encode(Sha256::digest(token.as_bytes()))
}

/// Derives a value that only the holder of `secret` can compute, for one purpose, so it need not be
/// stored.
pub fn derive_token(secret: &Secret, purpose: &str, context: &str) -> Secret {
    let mut mac =
        Hmac::<Sha256>::new_from_slice(secret.expose().as_bytes()).expect("keys of any length");
    mac.update(purpose.as_bytes());
    mac.update(&[0]);
    mac.update(context.as_bytes());
    Secret::new(URL_SAFE_NO_PAD.encode(mac.finalize().into_bytes()))
}

/// Issues a ticket that works until `until`.
///
/// # Errors
/// Returns the errors of the ports.
pub async fn issue_ticket(
    ctx: &Ctx,
    kind: TicketKind,
    value: &TicketValue,
    until: Timestamp,
) -> Result<Secret> {
    let token = random_token();
    let text = serde_json::to_string(value).map_err(|error| PortError::Internal(error.into()))?;
    ctx.tickets
        .issue(kind.as_str(), &digest_token(token.expose()), &text, until)
        .await?;
    Ok(token)
}

/// Returns the value of a ticket, or `None` if it has expired or never existed.
pub(super) async fn read_ticket(
    ctx: &Ctx,
    kind: TicketKind,
    token: &str,
) -> Result<Option<TicketValue>> {
    let text = ctx
        .tickets
        .look_up_ticket(kind.as_str(), &digest_token(token), ctx.clock.now())
        .await?;
    match text {
        Some(text) => Ok(Some(parse(&text)?)),
        None => Ok(None),
    }
}

/// Returns the value of a ticket as [`read_ticket`] does, and uses the ticket up.
pub(super) async fn redeem(
    ctx: &Ctx,
    kind: TicketKind,
    token: &str,
) -> Result<Option<TicketValue>> {
    let text = ctx
        .tickets
        .redeem(kind.as_str(), &digest_token(token), ctx.clock.now())
        .await?;
    match text {
        Some(text) => Ok(Some(parse(&text)?)),
        None => Ok(None),
    }
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

        let token = derive_token(&a, "verifier", "x");
        // PKCE requires 43 to 128 of these characters.
        assert!(
            token.expose().len() == 43
                && token
                    .expose()
                    .bytes()
                    .all(|b| b.is_ascii_alphanumeric() || b"-_".contains(&b))
        );
        assert_eq!(token, derive_token(&a, "verifier", "x"));

        for other in [
            derive_token(&b, "verifier", "x"),
            derive_token(&a, "nonce", "x"),
            derive_token(&a, "verifier", "y"),
        ] {
            assert_ne!(token, other);
        }
    }

    #[test]
    fn what_a_ticket_stands_for_keeps_its_stored_shape() {
        let golden = r#"{"org":"acme","connection":"1111111111111111111111"}"#;
        let ticket_value: TicketValue = parse(golden).unwrap();
        assert_eq!(serde_json::to_string(&ticket_value).unwrap(), golden);
        assert!(parse::<TicketValue>("{}").is_err());
    }
}
