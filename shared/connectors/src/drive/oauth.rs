//! The OAuth flow in which users give permission.

use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use domain::connection::{OAuthTokens, ProviderAccount};
use domain::ports::{
    ConnectorError, ConnectorResult, ConsentError, ConsentRequest, GrantedPermission, OAuthClient,
    OAuthFlow, ProviderAccess,
};
use domain::time::Timestamp;
use domain::vault::Secret;
use http::Request;
use http::header::CONTENT_TYPE;
use oauth2::{
    AuthorizationCode, CsrfToken, PkceCodeChallenge, PkceCodeVerifier, RefreshToken, Scope,
    TokenResponse,
};
use serde::Deserialize;

use super::DriveConnector;
use super::api::ApiRequest;
use super::exchange::{read_body, request_error, unavailable_error};
use super::identity::{ExpectedIdentity, read_account};
use super::tokens::{TokenAnswer, convert_token_error};

/// The scope that permits reading files.
const READ_SCOPE: &str = "https://www.googleapis.com/auth/drive.readonly";
/// The scope that permits reading files and more.
const FULL_SCOPE: &str = "https://www.googleapis.com/auth/drive";
/// The time limit for the answer to a revocation.
const REVOKE_TIMEOUT: Duration = Duration::from_secs(60);
/// The lifetime of an access token if the provider states none.
const DEFAULT_ACCESS_SECONDS: i64 = 3600;
/// The longest lifetime that is accepted.
const MAX_LIFETIME_SECONDS: i64 = 10 * 366 * 24 * 3600;

/// The answer of `GET /about`.
#[derive(Deserialize)]
struct AboutAnswer {
    user: AboutUser,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct AboutUser {
    permission_id: Option<String>,
    email_address: Option<String>,
}

#[async_trait]
impl OAuthFlow for DriveConnector {
    fn operator_client(&self) -> Option<OAuthClient> {
        self.operator_client.clone()
    }

    fn consent_url(
        &self,
        client: &OAuthClient,
        consent: &ConsentRequest,
    ) -> ConnectorResult<String> {
        let app = self.oauth_app(client, Some(&consent.redirect_uri))?;
        let challenge = PkceCodeChallenge::from_code_verifier_sha256(&pkce_verifier(consent)?);
        let state = consent.state.clone();
        let (url, _) = app
            .authorize_url(|| CsrfToken::new(state))
            .add_scopes(["openid", "email", READ_SCOPE].map(|scope| Scope::new(scope.to_owned())))
            .set_pkce_challenge(challenge)
            .add_extra_param("nonce", &consent.nonce)
            // Without both of these, the provider issues no refresh token the second time.
            .add_extra_param("access_type", "offline")
            .add_extra_param("prompt", "consent")
            .add_extra_param("include_granted_scopes", "false")
            .url();

        Ok(url.into())
    }

    async fn exchange_code(
        &self,
        client: &OAuthClient,
        consent: &ConsentRequest,
        code: &Secret,
        now: Timestamp,
    ) -> Result<GrantedPermission, ConsentError> {
        let app = self.oauth_app(client, Some(&consent.redirect_uri))?;
        let answer = app
            .exchange_code(AuthorizationCode::new(code.expose().to_owned()))
            .set_pkce_verifier(pkce_verifier(consent)?)
            .request_async(self)
            .await;
        let answer = answer.map_err(convert_token_error)?;

        if !grants_file_access(&answer) {
            return Err(ConsentError::ScopeDenied);
        }

        let tokens = tokens_of(&answer, None, now).ok_or(ConsentError::MissingRefreshToken)?;
        let account = self.read_account(client, consent, &answer, now).await?;

        Ok(GrantedPermission { account, tokens })
    }

    async fn refresh_tokens(
        &self,
        client: &OAuthClient,
        tokens: &OAuthTokens,
        now: Timestamp,
    ) -> ConnectorResult<OAuthTokens> {
        let app = self.oauth_app(client, None)?;
        let refresh = RefreshToken::new(tokens.refresh.expose().to_owned());
        let answer = app
            .exchange_refresh_token(&refresh)
            .request_async(self)
            .await;
        let answer = answer.map_err(convert_token_error)?;

        if !grants_file_access(&answer) {
            return Err(ConnectorError::Reauth("scope_denied".into()));
        }

        tokens_of(&answer, Some(tokens), now)
            .ok_or_else(|| ConnectorError::Reauth("missing_refresh_token".into()))
    }

    async fn revoke_permission(&self, tokens: &OAuthTokens) -> ConnectorResult<()> {
        let form = url::form_urlencoded::Serializer::new(String::new())
            .append_pair("token", tokens.refresh.expose())
            .finish();
        let request = Request::post(self.addresses.revoke.as_str())
            .header(CONTENT_TYPE, "application/x-www-form-urlencoded")
            .body(Bytes::from(form))
            .map_err(request_error)?;
        let response = self.send_to_provider(request, REVOKE_TIMEOUT).await?;

        let status = response.status().as_u16();
        let body = read_body(response, 64 * 1024).await?.unwrap_or_default();
        let body: serde_json::Value = serde_json::from_slice(&body).unwrap_or_default();

        match status {
            200..300 => Ok(()),
            // The permission had already ended.
            400 if body["error"] == "invalid_token" => Ok(()),
            400..500 if status != 429 && body["error"].is_string() => Err(ConnectorError::Fault(
                format!("the permission cannot be revoked: {status}"),
            )),
            _ => Err(unavailable_error("the permission cannot be revoked now")),
        }
    }
}

impl DriveConnector {
    /// Returns the account, from the identity token if there is one and otherwise from the API.
    async fn read_account(
        &self,
        client: &OAuthClient,
        consent: &ConsentRequest,
        answer: &TokenAnswer,
        now: Timestamp,
    ) -> Result<ProviderAccount, ConsentError> {
        if let Some(token) = &answer.extra_fields().id_token {
            let (client_id, authorize_url) = (client.app.client_id(), &self.addresses.authorize);
            let expected = ExpectedIdentity {
                client_id,
                nonce: &consent.nonce,
                authorize_url,
                now,
            };
            return read_account(token, &expected)
                .map_err(|reason| ConsentError::Invalid(reason.into()));
        }

        let token = Some(Secret::new(answer.access_token().secret().as_str()));
        let access = ProviderAccess {
            token,
            metadata: domain::metadata::Metadata::default(),
        };

        let request = ApiRequest::get(&["about"])
            .with_query("fields", "user(emailAddress,permissionId,displayName)");
        let about: AboutAnswer = self
            .request_json(&access, request)
            .await
            .map_err(ConnectorError::from)?;
        let subject = match about.user.permission_id {
            Some(id) if !id.is_empty() => id,
            _ => return Err(ConsentError::Invalid("the drive names nobody".into())),
        };

        Ok(ProviderAccount {
            subject,
            email: about.user.email_address,
        })
    }
}

/// Returns the PKCE verifier. Checks its length, because the `oauth2` crate panics on a verifier
/// that the standard does not permit.
fn pkce_verifier(consent: &ConsentRequest) -> ConnectorResult<PkceCodeVerifier> {
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
fn grants_file_access(answer: &TokenAnswer) -> bool {
    match answer.scopes() {
        Some(granted) => granted
            .iter()
            .any(|scope| [READ_SCOPE, FULL_SCOPE].contains(&scope.as_str())),
        None => true,
    }
}

/// Returns the tokens of an answer. Without a new refresh token, the old one is kept. Returns
/// `None` if there is neither.
fn tokens_of(
    answer: &TokenAnswer,
    current_tokens: Option<&OAuthTokens>,
    now: Timestamp,
) -> Option<OAuthTokens> {
    let expiry_after = |seconds: i64| now.plus_seconds(seconds.clamp(0, MAX_LIFETIME_SECONDS));
    let access_seconds = match answer.expires_in() {
        Some(lifetime) => i64::try_from(lifetime.as_secs()).unwrap_or(DEFAULT_ACCESS_SECONDS),
        None => DEFAULT_ACCESS_SECONDS,
    };

    let refresh_seconds = answer.extra_fields().refresh_token_expires_in;
    let stated_until = refresh_seconds.map(expiry_after);
    let (refresh, refresh_until) = match (answer.refresh_token(), current_tokens) {
        (Some(token), _) if !token.secret().is_empty() => {
            (Secret::new(token.secret().as_str()), stated_until)
        }
        (_, Some(current)) => (
            current.refresh.clone(),
            stated_until.or(current.refresh_until),
        ),
        (_, None) => return None,
    };

    Some(OAuthTokens {
        access: Secret::new(answer.access_token().secret().as_str()),
        access_until: expiry_after(access_seconds),
        refresh,
        refresh_until,
    })
}
