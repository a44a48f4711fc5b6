//! The identity of an account, read from the identity token that comes with the other tokens. The
//! token comes directly from the provider over TLS, so its signature would prove nothing more and
//! is not verified. Its claims are checked.

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use domain::connection::ProviderAccount;
use domain::time::Timestamp;
use serde::Deserialize;
use serde_json::Value;
use url::Url;

/// The names of the issuer.
const ISSUERS: [&str; 2] = ["https://accounts.google.com", "accounts.google.com"];
/// The largest accepted difference of clocks.
const LEEWAY_SECONDS: i64 = 300;

#[derive(Deserialize)]
struct IdentityClaims {
    iss: String,
    aud: Value,
    sub: String,
    exp: i64,
    nonce: Option<String>,
    email: Option<String>,
    email_verified: Option<Value>,
}

/// The values that an identity token has to contain.
pub(super) struct ExpectedIdentity<'a> {
    pub(super) client_id: &'a str,
    pub(super) nonce: &'a str,
    /// The address at which the user was asked.
    pub(super) authorize_url: &'a Url,
    pub(super) now: Timestamp,
}

/// Reads an identity token. The error says why the token is not accepted.
pub(super) fn read_account(
    token: &str,
    expected: &ExpectedIdentity<'_>,
) -> Result<ProviderAccount, &'static str> {
    let claims = parse_claims(token).ok_or("the identity token cannot be read")?;
    let origin = expected.authorize_url.origin().ascii_serialization();
    if !ISSUERS.contains(&claims.iss.as_str()) && claims.iss != origin {
        return Err("the identity token is another provider's");
    }

    let is_for_this_app = match &claims.aud {
        Value::String(client) => client == expected.client_id,
        Value::Array(clients) => clients.iter().any(|client| client == expected.client_id),
        _ => false,
    };
    if !is_for_this_app {
        return Err("the identity token is for another app");
    }

    if claims.exp.saturating_add(LEEWAY_SECONDS) <= expected.now.as_millis() / 1000 {
        return Err("the identity token has expired");
    }

    if claims.nonce.as_deref() != Some(expected.nonce) {
        return Err("the identity token answers another question");
    }

    if claims.sub.is_empty() {
        return Err("the identity token names nobody");
    }

    let is_unverified = match claims.email_verified {
        Some(is_verified) => is_verified == false || is_verified == "false",
        None => false,
    };
    let email = match claims.email {
        Some(email) if !is_unverified && !email.is_empty() => Some(email),
        _ => None,
    };

    Ok(ProviderAccount {
        subject: claims.sub,
        email,
    })
}

fn parse_claims(token: &str) -> Option<IdentityClaims> {
    let mut parts = token.split('.');
    let payload = parts.nth(1)?.trim_end_matches('=');
    let payload = BASE64_URL_SAFE_NO_PAD.decode(payload).ok()?;
    serde_json::from_slice(&payload).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(change: impl Fn(&mut Value)) -> Result<ProviderAccount, &'static str> {
        let mut claims = json!({"iss": "https://accounts.google.com", "aud": "app", "sub": "77", "exp": 1_000,
            "nonce": "n", "email": "ida@example.org", "email_verified": true});
        change(&mut claims);
        let payload = BASE64_URL_SAFE_NO_PAD.encode(claims.to_string());
        let authorize = Url::parse("http://127.0.0.1:81/o/oauth2/v2/auth").unwrap();
        let now = Timestamp::from_millis(900_000);
        let expected = ExpectedIdentity {
            client_id: "app",
            nonce: "n",
            authorize_url: &authorize,
            now,
        };

        read_account(&format!("e30.{payload}.c2ln"), &expected)
    }

    #[test]
    fn only_the_expected_identity_is_accepted() {
        let valid: [(&str, Value); 5] = [
            ("iss", json!("accounts.google.com")),
            ("iss", json!("http://127.0.0.1:81")),
            ("aud", json!(["other", "app"])),
            ("exp", json!(601)),
            ("email_verified", Value::Null),
        ];
        for (name, value) in valid {
            let account = read(|claims| claims[name] = value.clone()).unwrap();
            assert_eq!(
                (account.subject.as_str(), account.email.as_deref()),
                ("77", Some("ida@example.org"))
            );
        }

        let invalid: [(&str, Value); 8] = [
            ("iss", json!("https://accounts.example")),
            ("aud", json!("other")),
            ("aud", json!(["other"])),
            ("exp", json!(600)),
            ("exp", json!("soon")),
            ("nonce", json!("m")),
            ("nonce", Value::Null),
            ("sub", json!("")),
        ];
        for (name, value) in invalid {
            assert!(
                read(|claims| claims[name] = value.clone()).is_err(),
                "{name} {value}"
            );
        }
    }

    #[test]
    fn an_address_that_nobody_has_verified_is_not_shown() {
        for email_verified in [json!(false), json!("false")] {
            assert_eq!(
                read(|claims| claims["email_verified"] = email_verified.clone())
                    .unwrap()
                    .email,
                None
            );
        }
    }

    #[test]
    fn what_is_no_token_is_refused() {
        let authorize = Url::parse("https://accounts.google.com/").unwrap();
        let now = Timestamp::from_millis(0);
        let expected = ExpectedIdentity {
            client_id: "app",
            nonce: "n",
            authorize_url: &authorize,
            now,
        };
        for token in ["", "a.b", "a.!.c", "a.e30.c", "..", "ü.ü.ü"] {
            assert!(read_account(token, &expected).is_err(), "{token}");
        }
    }
}
