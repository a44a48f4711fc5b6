//! The OAuth flow in which users give permission.

use async_trait::async_trait;
use domain::connection::{Account, Tokens};
use domain::ports::{
    Access, ConnectorError, ConnectorResult, Consent, ConsentError, OAuth, OAuthClient, Permission,
};
use domain::time::Timestamp;
use domain::vault::Secret;
use oauth2::{
    AuthorizationCode, CsrfToken, PkceCodeChallenge, PkceCodeVerifier, RefreshToken, Scope,
    TokenResponse,
};
use serde::Deserialize;

use super::Drive;
use super::api::Call;
use super::http::{body, unavailable, unreachable};
use super::identity::{Expected, account_of};
use super::tokens::{Answer, Refusal, refused};

/// The scope that permits reading files.
const DRIVE: &str = "https://www.googleapis.com/auth/drive.readonly";
/// The scope that permits reading files and more.
const DRIVE_FULL: &str = "https://www.googleapis.com/auth/drive";
/// The lifetime of an access token if the provider states none.
const ACCESS_SECONDS: i64 = 3600;
/// The longest lifetime that is accepted.
const MAX_SECONDS: i64 = 10 * 366 * 24 * 3600;

/// The answer of `GET /about`.
#[derive(Deserialize)]
struct About {
    user: User,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct User {
    permission_id: Option<String>,
    email_address: Option<String>,
}

#[async_trait]
impl OAuth for Drive {
    fn operator(&self) -> Option<OAuthClient> {
        self.operator.clone()
    }

    fn consent_url(&self, client: &OAuthClient, consent: &Consent) -> ConnectorResult<String> {
        let app = self.app(client, Some(&consent.redirect_uri))?;
        let challenge = PkceCodeChallenge::from_code_verifier_sha256(&verifier(consent)?);
        let state = consent.state.clone();
        let (url, _) = app
            .authorize_url(|| CsrfToken::new(state))
            .add_scopes(["openid", "email", DRIVE].map(|scope| Scope::new(scope.to_owned())))
            .set_pkce_challenge(challenge)
            .add_extra_param("nonce", &consent.nonce)
            // Without both of these, the provider issues no refresh token the second time.
            .add_extra_param("access_type", "offline")
            .add_extra_param("prompt", "consent")
            .add_extra_param("include_granted_scopes", "false")
            .url();

        Ok(url.into())
    }

    async fn exchange(
        &self,
        client: &OAuthClient,
        consent: &Consent,
        code: &Secret,
        now: Timestamp,
    ) -> Result<Permission, ConsentError> {
        let app = self.app(client, Some(&consent.redirect_uri))?;
        let carry = self.carrier().await?;
        let answer = app
            .exchange_code(AuthorizationCode::new(code.expose().to_owned()))
            .set_pkce_verifier(verifier(consent)?)
            .request_async(&carry)
            .await;
        let answer = answer.map_err(|error| match refused(error) {
            Refusal::InvalidGrant(why) => ConsentError::Invalid(why.into()),
            Refusal::Other(error) => ConsentError::Provider(error),
        })?;

        if !lets_files_be_read(&answer) {
            return Err(ConsentError::ScopeDenied);
        }

        let tokens = tokens(&answer, None, now).ok_or(ConsentError::MissingRefreshToken)?;
        let account = self.account(client, consent, &answer, now).await?;

        Ok(Permission { account, tokens })
    }

    async fn refresh(
        &self,
        client: &OAuthClient,
        held: &Tokens,
        now: Timestamp,
    ) -> ConnectorResult<Tokens> {
        let app = self.app(client, None)?;
        let carry = self.carrier().await?;
        let refresh = RefreshToken::new(held.refresh.expose().to_owned());
        let answer = app
            .exchange_refresh_token(&refresh)
            .request_async(&carry)
            .await;
        let answer = answer.map_err(|error| match refused(error) {
            Refusal::InvalidGrant(why) => ConnectorError::Reauth(why.into()),
            Refusal::Other(error) => error,
        })?;

        if !lets_files_be_read(&answer) {
            return Err(ConnectorError::Reauth("scope_denied".into()));
        }

        tokens(&answer, Some(held), now)
            .ok_or_else(|| ConnectorError::Reauth("missing_refresh_token".into()))
    }

    async fn revoke(&self, held: &Tokens) -> ConnectorResult<()> {
        let client = self.http.client().await?;
        let form = [("token", held.refresh.expose())];
        let response = client
            .post(self.addresses.revoke.clone())
            .form(&form)
            .send()
            .await
            .map_err(unreachable)?;

        let status = response.status().as_u16();
        let answer = body(response, 64 * 1024).await?.unwrap_or_default();
        let answer: serde_json::Value = serde_json::from_slice(&answer).unwrap_or_default();

        match status {
            200..300 => Ok(()),
            // The permission had already ended.
            400 if answer["error"] == "invalid_token" => Ok(()),
            400..500 if status != 429 && answer["error"].is_string() => Err(ConnectorError::Fault(
                format!("the permission cannot be revoked: {status}"),
            )),
            _ => Err(unavailable("the permission cannot be revoked now")),
        }
    }
}

impl Drive {
    /// Returns the account, from the identity token if there is one and otherwise from the API.
    async fn account(
        &self,
        client: &OAuthClient,
        consent: &Consent,
        answer: &Answer,
        now: Timestamp,
    ) -> Result<Account, ConsentError> {
        if let Some(token) = &answer.extra_fields().id_token {
            let (client_id, authorize) = (client.app.client_id(), &self.addresses.authorize);
            let expected = Expected {
                client_id,
                nonce: &consent.nonce,
                authorize,
                now,
            };
            return account_of(token, &expected)
                .map_err(|wrong| ConsentError::Invalid(wrong.into()));
        }

        let token = Some(Secret::new(answer.access_token().secret().as_str()));
        let access = Access {
            token,
            metadata: domain::metadata::Metadata::default(),
        };

        let call =
            Call::get(&["about"]).with("fields", "user(emailAddress,permissionId,displayName)");
        let about: About = self
            .json(&access, call)
            .await
            .map_err(ConnectorError::from)?;
        let subject = about.user.permission_id.filter(|id| !id.is_empty());
        let subject =
            subject.ok_or_else(|| ConsentError::Invalid("the drive names nobody".into()))?;

        Ok(Account {
            subject,
            email: about.user.email_address,
        })
    }
}

/// Returns the PKCE verifier. Checks its length, because the `oauth2` crate panics on a verifier
/// that the standard does not permit.
fn verifier(consent: &Consent) -> ConnectorResult<PkceCodeVerifier> {
    let text = consent.verifier.expose();
    if !(43..=128).contains(&text.len()) {
        return Err(ConnectorError::Fault(
            "a verifier has 43 to 128 characters".into(),
        ));
    }
    Ok(PkceCodeVerifier::new(text.to_owned()))
}

/// Checks whether the granted scopes permit reading files. Users may deselect scopes. An answer
/// without scopes grants those that were requested.
fn lets_files_be_read(answer: &Answer) -> bool {
    answer.scopes().is_none_or(|granted| {
        granted
            .iter()
            .any(|scope| [DRIVE, DRIVE_FULL].contains(&scope.as_str()))
    })
}

/// Returns the tokens of an answer. Without a new refresh token, the old one is kept. Returns
/// `None` if there is neither.
fn tokens(answer: &Answer, held: Option<&Tokens>, now: Timestamp) -> Option<Tokens> {
    let after = |seconds: i64| now.plus_seconds(seconds.clamp(0, MAX_SECONDS));
    let lasts = answer
        .expires_in()
        .and_then(|lasts| i64::try_from(lasts.as_secs()).ok());
    let refresh_until = answer.extra_fields().refresh_token_expires_in.map(after);
    let new = answer
        .refresh_token()
        .filter(|token| !token.secret().is_empty());
    let refresh = match (new, held) {
        (Some(new), _) => Secret::new(new.secret().as_str()),
        (None, held) => held?.refresh.clone(),
    };

    Some(Tokens {
        access: Secret::new(answer.access_token().secret().as_str()),
        access_until: after(lasts.unwrap_or(ACCESS_SECONDS)),
        refresh,
        refresh_until: refresh_until.or_else(|| held.filter(|_| new.is_none())?.refresh_until),
    })
}
