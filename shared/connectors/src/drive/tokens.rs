//! The token endpoint.

use std::time::Duration;

use bytes::Bytes;
use domain::ports::{ConnectorError, ConsentError, OAuthClient};
use futures::future::BoxFuture;
use http::HeaderMap;
use oauth2::basic::{
    BasicErrorResponse, BasicRevocationErrorResponse, BasicTokenIntrospectionResponse,
    BasicTokenType,
};
use oauth2::{
    AsyncHttpClient, AuthType, AuthUrl, ClientId, ClientSecret, EndpointNotSet, EndpointSet,
    ExtraTokenFields, HttpRequest, HttpResponse, RedirectUrl, RequestTokenError,
    StandardRevocableToken, StandardTokenResponse, TokenUrl,
};
use serde::{Deserialize, Serialize};

use super::DriveConnector;
use super::exchange::{read_body, unavailable_error};
use super::failure::throttled_error;

/// The most bytes of an answer.
const MAX_RESPONSE_BYTES: usize = 256 * 1024;
/// The time limit for an answer. It is shorter than the time in which a worker has to renew a
/// permission.
const TIMEOUT: Duration = Duration::from_secs(20);

/// The fields of an answer that the standard does not define.
#[derive(Serialize, Deserialize)]
pub(super) struct ExtraTokenData {
    pub(super) id_token: Option<String>,
    pub(super) refresh_token_expires_in: Option<i64>,
}

impl ExtraTokenFields for ExtraTokenData {}

impl std::fmt::Debug for ExtraTokenData {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Extra(…)")
    }
}

/// A successful answer, with tokens.
pub(super) type TokenAnswer = StandardTokenResponse<ExtraTokenData, BasicTokenType>;

/// An OAuth app with the addresses of the provider.
pub(super) type App = oauth2::Client<
    BasicErrorResponse,
    TokenAnswer,
    BasicTokenIntrospectionResponse,
    StandardRevocableToken,
    BasicRevocationErrorResponse,
    EndpointSet,
    EndpointNotSet,
    EndpointNotSet,
    EndpointNotSet,
    EndpointSet,
>;

/// The reasons for which there are no tokens.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TokenRefusal {
    /// The code or the refresh token is not valid or no longer valid, with the name of the reason.
    #[error("the grant is not valid: {0}")]
    InvalidGrant(&'static str),
    /// Any other error.
    #[error(transparent)]
    Other(#[from] ConnectorError),
}

impl From<TokenRefusal> for ConsentError {
    /// Converts the refusal of a code.
    fn from(refusal: TokenRefusal) -> Self {
        match refusal {
            TokenRefusal::InvalidGrant(reason) => Self::Invalid(reason.into()),
            TokenRefusal::Other(error) => Self::Provider(error),
        }
    }
}

impl From<TokenRefusal> for ConnectorError {
    /// Converts the refusal of a refresh token.
    fn from(refusal: TokenRefusal) -> Self {
        match refusal {
            TokenRefusal::InvalidGrant(reason) => Self::Reauth(reason.into()),
            TokenRefusal::Other(error) => error,
        }
    }
}

/// An error response, without tokens.
#[derive(Deserialize)]
struct TokenErrorAnswer {
    error: String,
    #[serde(default)]
    error_subtype: String,
    #[serde(default)]
    error_description: String,
}

impl DriveConnector {
    pub(super) fn oauth_app(
        &self,
        client: &OAuthClient,
        redirect: Option<&str>,
    ) -> Result<App, ConnectorError> {
        let app: App = oauth2::Client::new(ClientId::new(client.app.client_id().to_owned()))
            .set_client_secret(ClientSecret::new(client.secret.expose().to_owned()))
            .set_auth_uri(AuthUrl::from_url(self.addresses.authorize.clone()))
            .set_token_uri(TokenUrl::from_url(self.addresses.token.clone()))
            .set_auth_type(AuthType::RequestBody);
        let Some(redirect) = redirect else {
            return Ok(app);
        };
        let Ok(redirect) = RedirectUrl::new(redirect.to_owned()) else {
            return Err(ConnectorError::Fault("the address for the answer".into()));
        };
        Ok(app.set_redirect_uri(redirect))
    }

    /// Sends a request for tokens, and returns an answer that has some. Any other answer is an error
    /// here, because the errors of the `oauth2` crate either say too little or contain the whole
    /// body.
    async fn request_tokens(&self, request: HttpRequest) -> Result<HttpResponse, TokenRefusal> {
        let answer = self
            .send_to_provider(request.map(Bytes::from), TIMEOUT)
            .await?;
        let (status, headers) = (answer.status(), answer.headers().clone());
        let Some(body) = read_body(answer, MAX_RESPONSE_BYTES).await? else {
            return Err(unavailable_error("the answer does not end").into());
        };
        if !status.is_success() {
            return Err(interpret_refusal(status.as_u16(), &headers, &body));
        }

        if serde_json::from_slice::<serde::de::IgnoredAny>(&body).is_err() {
            return Err(unavailable_error("no answer of the token endpoint").into());
        }

        Ok(HttpResponse::new(body.into()))
    }
}

impl<'c> AsyncHttpClient<'c> for DriveConnector {
    type Error = TokenRefusal;
    type Future = BoxFuture<'c, Result<HttpResponse, TokenRefusal>>;

    fn call(&'c self, request: HttpRequest) -> Self::Future {
        Box::pin(self.request_tokens(request))
    }
}

/// Converts an error of the `oauth2` crate. Its own messages may contain the body.
pub(super) fn convert_token_error(
    error: RequestTokenError<TokenRefusal, BasicErrorResponse>,
) -> TokenRefusal {
    match error {
        RequestTokenError::Request(refusal) => refusal,
        _ => {
            ConnectorError::Fault("the token endpoint's answer is not one of tokens".into()).into()
        }
    }
}

/// Interprets an error response.
fn interpret_refusal(status: u16, headers: &HeaderMap, body: &[u8]) -> TokenRefusal {
    if status == 429 {
        return throttled_error(headers).into();
    }

    let answer = match serde_json::from_slice::<TokenErrorAnswer>(body) {
        Ok(answer) if status < 500 => answer,
        _ => return unavailable_error("no answer of the token endpoint").into(),
    };

    let error_code: String = answer
        .error
        .chars()
        .filter(|c| c.is_ascii_alphanumeric() || *c == '_')
        .take(60)
        .collect();

    let error_texts = [&answer.error_subtype, &answer.error_description];
    let is_session_expired = error_texts
        .iter()
        .any(|text| text.contains("invalid_rapt") || text.contains("rapt_required"));

    match error_code.as_str() {
        "invalid_grant" if is_session_expired => TokenRefusal::InvalidGrant("invalid_rapt"),
        "invalid_grant" => TokenRefusal::InvalidGrant("invalid_grant"),
        "invalid_client" | "unauthorized_client" | "deleted_client" | "redirect_uri_mismatch" => {
            ConnectorError::App(error_code).into()
        }
        "admin_policy_enforced" | "access_denied" | "org_internal" => {
            ConnectorError::Policy(error_code).into()
        }
        "temporarily_unavailable" | "server_error" | "internal_failure" => {
            unavailable_error("the token endpoint has a fault").into()
        }
        "rate_limit_exceeded" => throttled_error(headers).into(),
        _ => ConnectorError::Fault(format!(
            "the token endpoint refused the request: {error_code}"
        ))
        .into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_refusal_means_what_has_to_be_done_about_it() {
        let error =
            |name: &str| format!(r#"{{"error":"{name}","error_description":"secret words"}}"#);
        let cases = [
            (400, error("invalid_grant"), "InvalidGrant(\"invalid_grant\")"),
            (
                400,
                r#"{"error":"invalid_grant","error_subtype":"invalid_rapt"}"#.into(),
                "InvalidGrant(\"invalid_rapt\")",
            ),
            (
                400,
                r#"{"error":"invalid_grant","error_description":"reauth related error (invalid_rapt)"}"#
                    .into(),
                "InvalidGrant(\"invalid_rapt\")",
            ),
            (401, error("invalid_client"), "Other(App(\"invalid_client\"))"),
            (401, error("unauthorized_client"), "Other(App("),
            (400, error("redirect_uri_mismatch"), "Other(App("),
            (400, error("admin_policy_enforced"), "Other(Policy("),
            (403, error("access_denied"), "Other(Policy("),
            (400, error("invalid_request"), "Other(Fault("),
            (503, error("invalid_grant"), "Other(Unavailable("),
            (500, "<html>fault</html>".into(), "Other(Unavailable("),
            (502, "<html>secret words</html>".into(), "Other(Unavailable("),
            (400, "<html>secret words</html>".into(), "Other(Unavailable("),
            (429, "<html>slow</html>".into(), "Other(Throttled"),
        ];

        for (status, body, expected) in cases {
            let meant = format!(
                "{:?}",
                interpret_refusal(status, &HeaderMap::new(), body.as_bytes())
            );
            assert!(meant.starts_with(expected), "{status} {body}: {meant}");
            assert!(!meant.contains("secret"), "{meant}");
        }
    }

    #[test]
    fn an_answer_does_not_show_what_it_holds() {
        let text = r#"{"access_token":"hidden1","token_type":"Bearer","expires_in":3599,"refresh_token":"hidden2",
            "scope":"a b","id_token":"hidden3","refresh_token_expires_in":604799}"#;
        let answer: TokenAnswer = serde_json::from_str(text).unwrap();
        assert!(!format!("{answer:?}").contains("hidden"));
        assert_eq!(
            answer.extra_fields().refresh_token_expires_in,
            Some(604_799)
        );
    }
}
