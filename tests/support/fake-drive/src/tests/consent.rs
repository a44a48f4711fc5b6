//! Tests of OAuth.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use std::collections::HashMap;

use super::*;
use crate::{ConsentDecision, PlannedFault};

const REDIRECT: &str = "http://127.0.0.1:9999/back";
const READONLY: &str = "https://www.googleapis.com/auth/drive.readonly";
const VERIFIER: &str = "a-verifier-that-is-long-enough-for-everybody-0123456789";
/// The S256 challenge of the verifier, computed independently.
const CHALLENGE: &str = "PHM9a-qxpUltWoI3ziazj5vvI-plRkZSHJ-T5lnalQo";

fn allow() -> ConsentDecision {
    ConsentDecision::Allow {
        email: ADA.to_owned(),
    }
}

impl DriveFixture {
    async fn ask(&self, change: &[(&str, &str)]) -> reqwest::Response {
        let scope = format!("openid email {READONLY}");
        let mut query: HashMap<&str, &str> = [
            ("response_type", "code"),
            ("client_id", self.drive.client_credentials().0),
            ("redirect_uri", REDIRECT),
            ("scope", &scope),
            ("state", "s1"),
            ("nonce", "n1"),
            ("code_challenge", CHALLENGE),
            ("code_challenge_method", "S256"),
            ("access_type", "offline"),
            ("prompt", "consent"),
        ]
        .into();
        query.extend(change.iter().copied());

        self.http
            .get(format!("{}/o/oauth2/v2/auth", self.drive.base_url()))
            .query(&query)
            .send()
            .await
            .unwrap()
    }

    /// Returns the parameters of the redirect.
    async fn redirect_parameters(
        &self,
        consent: ConsentDecision,
        change: &[(&str, &str)],
    ) -> HashMap<String, String> {
        self.drive.plan_consent(consent);
        parse_redirect(&self.ask(change).await)
    }

    async fn token(&self, fields: &[(&str, &str)]) -> (u16, Value) {
        let mut form: HashMap<&str, &str> = [
            ("client_id", self.drive.client_credentials().0),
            ("client_secret", self.drive.client_credentials().1),
        ]
        .into();
        form.extend(fields.iter().copied());
        let url = format!("{}/token", self.drive.base_url());
        let response = self.http.post(url).form(&form).send().await.unwrap();
        (
            response.status().as_u16(),
            response.json().await.unwrap_or(Value::Null),
        )
    }

    async fn exchange(&self, code: &str) -> (u16, Value) {
        self.token(&exchange(code)).await
    }

    async fn refresh(&self, token: &str) -> (u16, Value) {
        self.token(&[("grant_type", "refresh_token"), ("refresh_token", token)])
            .await
    }

    /// Returns the tokens of a new permission.
    async fn obtain_tokens(&self) -> Value {
        let answer = self.redirect_parameters(allow(), &[]).await;
        self.exchange(&answer["code"]).await.1
    }
}

fn exchange(code: &str) -> [(&str, &str); 4] {
    [
        ("grant_type", "authorization_code"),
        ("code", code),
        ("redirect_uri", REDIRECT),
        ("code_verifier", VERIFIER),
    ]
}

fn parse_redirect(response: &reqwest::Response) -> HashMap<String, String> {
    assert_eq!(response.status().as_u16(), 302);
    let location = url::Url::parse(response.headers()["location"].to_str().unwrap()).unwrap();
    assert!(location.as_str().starts_with(REDIRECT));
    location.query_pairs().into_owned().collect()
}

fn text<'a>(value: &'a Value, field: &str) -> &'a str {
    value[field].as_str().unwrap()
}

#[tokio::test]
async fn a_code_becomes_tokens_and_an_identity() {
    let mut fixture = DriveFixture::new().await;
    let answer = fixture.redirect_parameters(allow(), &[]).await;
    assert_eq!(answer["state"], "s1");

    let (status, tokens) = fixture.exchange(&answer["code"]).await;
    assert_eq!(
        (status, text(&tokens, "token_type"), &tokens["expires_in"]),
        (200, "Bearer", &json!(3599))
    );
    assert_eq!(
        text(&tokens, "scope"),
        format!("openid https://www.googleapis.com/auth/userinfo.email {READONLY}")
    );

    let payload = text(&tokens, "id_token").split('.').nth(1).unwrap();
    let claims: Value = serde_json::from_slice(&URL_SAFE_NO_PAD.decode(payload).unwrap()).unwrap();
    assert_eq!(
        (text(&claims, "email"), text(&claims, "nonce")),
        (ADA, "n1")
    );
    assert_eq!(text(&claims, "aud"), fixture.drive.client_credentials().0);

    fixture.token = text(&tokens, "access_token").to_owned();
    fixture.get_ok("files").await;
    fixture.drive.advance_clock(3600);
    assert_eq!(fixture.get("files").await.0, 401);

    let (status, refreshed) = fixture.refresh(text(&tokens, "refresh_token")).await;
    assert_eq!((status, refreshed.get("refresh_token")), (200, None));
    fixture.token = text(&refreshed, "access_token").to_owned();
    fixture.get_ok("files").await;
    // A code is valid once.
    let (status, error) = fixture.exchange(&answer["code"]).await;
    assert_eq!((status, text(&error, "error")), (400, "invalid_grant"));
}

#[tokio::test]
async fn wrong_exchanges_are_refused() {
    let fixture = DriveFixture::new().await;
    for (field, value, status, error) in [
        ("code_verifier", "another", 400, "invalid_grant"),
        ("code", "4/unknown", 400, "invalid_grant"),
        (
            "redirect_uri",
            "http://127.0.0.1:9998/back",
            400,
            "redirect_uri_mismatch",
        ),
        ("client_secret", "guess", 401, "invalid_client"),
        ("client_id", "nobody", 401, "invalid_client"),
        ("grant_type", "password", 400, "unsupported_grant_type"),
    ] {
        let answer = fixture.redirect_parameters(allow(), &[]).await;
        let mut form = exchange(&answer["code"]).to_vec();
        form.push((field, value));
        let (got, body) = fixture.token(&form).await;
        assert_eq!((got, text(&body, "error")), (status, error), "{field}");
    }

    let answer = fixture.redirect_parameters(allow(), &[]).await;
    fixture.drive.advance_clock(601);
    assert_eq!(fixture.exchange(&answer["code"]).await.0, 400);
}

#[tokio::test]
async fn wrong_questions_get_a_page_and_no_redirect() {
    let fixture = DriveFixture::new().await;
    fixture.drive.set_default_consent(Some(allow()));
    for (field, value, status) in [
        ("client_id", "nobody", 401),
        ("redirect_uri", "https://elsewhere.test/", 400),
        ("redirect_uri", "http://127.0.0.1.elsewhere.test/", 400),
        ("response_type", "token", 400),
        ("scope", "", 400),
        ("code_challenge_method", "plain", 400),
    ] {
        let response = fixture.ask(&[(field, value)]).await;
        assert_eq!(response.status().as_u16(), status, "{field}");
        assert!(response.text().await.unwrap().contains("<h1>Error"));
    }
}

#[tokio::test]
async fn people_refuse_and_leave_things_out() {
    let mut fixture = DriveFixture::new().await;
    let answer = fixture
        .redirect_parameters(ConsentDecision::Deny, &[])
        .await;
    assert_eq!(
        (answer["error"].as_str(), answer["state"].as_str()),
        ("access_denied", "s1")
    );

    let answer = fixture
        .redirect_parameters(
            ConsentDecision::Untick {
                email: ADA.to_owned(),
            },
            &[],
        )
        .await;
    assert!(!answer["scope"].contains("drive"));

    let (_, tokens) = fixture.exchange(&answer["code"]).await;
    assert_eq!(
        text(&tokens, "scope"),
        "openid https://www.googleapis.com/auth/userinfo.email"
    );

    fixture.token = text(&tokens, "access_token").to_owned();
    let (status, body) = fixture.get("files").await;
    assert_eq!(
        (status, reason(&body).as_str()),
        (403, "insufficientPermissions")
    );
    assert_eq!(
        body["error"]["details"][0]["reason"],
        "ACCESS_TOKEN_SCOPE_INSUFFICIENT"
    );

    let answer = parse_redirect(&fixture.ask(&[("auto", "allow"), ("account", ADA)]).await);
    assert!(answer.contains_key("code"));
}

#[tokio::test]
async fn the_page_lets_people_choose() {
    let fixture = DriveFixture::new().await;
    fixture.drive.get_or_create_account(BEN);
    let page = fixture
        .ask(&[("login_hint", BEN)])
        .await
        .text()
        .await
        .unwrap();
    assert!(page.contains(&format!("value=\"{BEN}\" checked")) && page.contains(ADA));

    let request = page
        .split("name=\"request\" value=\"")
        .nth(1)
        .unwrap()
        .split('"')
        .next()
        .unwrap();
    let url = format!("{}/o/oauth2/v2/auth/answer", fixture.drive.base_url());
    let form = [
        ("request", request),
        ("account", BEN),
        ("scope", READONLY),
        ("decision", "allow"),
    ];
    let response = fixture.http.post(&url).form(&form).send().await.unwrap();
    let code = parse_redirect(&response).remove("code").unwrap();
    let (_, tokens) = fixture.exchange(&code).await;
    assert!(text(&tokens, "scope").contains(READONLY));
    assert_eq!(
        fixture
            .http
            .post(&url)
            .form(&form)
            .send()
            .await
            .unwrap()
            .status()
            .as_u16(),
        400
    );
}

#[tokio::test]
async fn permissions_end() {
    let mut fixture = DriveFixture::new().await;
    let (first_tokens, second_tokens) =
        (fixture.obtain_tokens().await, fixture.obtain_tokens().await);
    let (old, second_token) = (
        text(&first_tokens, "refresh_token"),
        text(&second_tokens, "refresh_token"),
    );
    assert_eq!(fixture.refresh(old).await.0, 200);

    let revoke = async |token: &str| {
        let url = format!("{}/revoke", fixture.drive.base_url());
        fixture
            .http
            .post(url)
            .form(&[("token", token)])
            .send()
            .await
            .unwrap()
            .status()
            .as_u16()
    };
    assert_eq!(revoke(second_token).await, 200);
    assert_eq!(revoke(second_token).await, 400);

    // The revocation ends the whole permission, not only this token.
    let (status, body) = fixture.refresh(old).await;
    assert_eq!((status, text(&body, "error")), (400, "invalid_grant"));

    fixture.token = text(&first_tokens, "access_token").to_owned();
    assert_eq!(fixture.get("files").await.0, 401);
    let third_tokens = fixture.obtain_tokens().await;
    fixture.drive.revoke_permissions(ADA);
    assert_eq!(
        fixture
            .refresh(text(&third_tokens, "refresh_token"))
            .await
            .0,
        400
    );
}

#[tokio::test]
async fn refresh_tokens_are_missing_expire_rotate_and_push_each_other_out() {
    let fixture = DriveFixture::new().await;
    fixture.drive.withhold_refresh_tokens(1);
    assert_eq!(fixture.obtain_tokens().await.get("refresh_token"), None);
    let answer = fixture
        .redirect_parameters(allow(), &[("prompt", "none")])
        .await;
    assert_eq!(
        fixture
            .exchange(&answer["code"])
            .await
            .1
            .get("refresh_token"),
        None
    );

    fixture
        .drive
        .set_quirks(|quirks| quirks.refresh_seconds = Some(604_800));
    let tokens = fixture.obtain_tokens().await;
    assert_eq!(tokens["refresh_token_expires_in"], 604_800);
    fixture.drive.advance_clock(604_801);
    assert_eq!(fixture.refresh(text(&tokens, "refresh_token")).await.0, 400);

    fixture.drive.set_quirks(|quirks| {
        *quirks = Quirks {
            rotation: true,
            ..Quirks::default()
        }
    });

    let tokens = fixture.obtain_tokens().await;
    let first = text(&tokens, "refresh_token");
    let (_, rotated) = fixture.refresh(first).await;
    assert_eq!(fixture.refresh(first).await.0, 400);
    assert_eq!(
        fixture.refresh(text(&rotated, "refresh_token")).await.0,
        200
    );

    fixture.drive.set_quirks(|quirks| quirks.rotation = false);
    let oldest = fixture.obtain_tokens().await;
    for _ in 0..100 {
        fixture.obtain_tokens().await;
    }

    assert_eq!(fixture.refresh(text(&oldest, "refresh_token")).await.0, 400);
}

#[tokio::test]
async fn apps_may_authenticate_by_basic_and_are_kept_apart() {
    let fixture = DriveFixture::new().await;
    let answer = fixture.redirect_parameters(allow(), &[]).await;
    let (id, secret) = fixture.drive.client_credentials();
    let url = format!("{}/token", fixture.drive.base_url());
    let post = fixture
        .http
        .post(&url)
        .basic_auth(id, Some(secret))
        .form(&exchange(&answer["code"]));
    let tokens: Value = post.send().await.unwrap().json().await.unwrap();
    let refresh = text(&tokens, "refresh_token");
    fixture
        .drive
        .add_client("own", "own-secret", &["https://own.test/back"]);
    let form = [
        ("grant_type", "refresh_token"),
        ("refresh_token", refresh),
        ("client_id", "own"),
        ("client_secret", "own-secret"),
    ];
    assert_eq!(fixture.token(&form).await.0, 400);

    fixture.drive.plan_fault(PlannedFault::oauth_error(
        "/token",
        400,
        "invalid_grant",
        Some("invalid_rapt"),
    ));
    assert_eq!(
        text(&fixture.refresh(refresh).await.1, "error_subtype"),
        "invalid_rapt"
    );
    assert_eq!(fixture.refresh(refresh).await.0, 200);
}
