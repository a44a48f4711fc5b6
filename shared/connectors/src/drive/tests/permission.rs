//! Tests of consent and tokens, against a server with scripted answers.

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use domain::connection::OAuthTokens;
use domain::ports::{ConnectorError, ConsentError, ConsentRequest, GrantedPermission, OAuthFlow};
use domain::time::Timestamp;
use domain::vault::Secret;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::stage::ScriptedServer;
use super::{HTML, api_error, error_text};

const TOKEN: &str = "POST /token ";
const NOW: Timestamp = Timestamp::from_millis(1_000_000);
const VERIFIER: &str = "hidden-verifier-of-the-forty-three-characters-at-least";

fn consent() -> ConsentRequest {
    ConsentRequest {
        state: "st&te".into(),
        nonce: "n-1".into(),
        verifier: Secret::new(VERIFIER),
        redirect_uri: "https://api.example/v3/connections/auth/callback".into(),
    }
}

fn identity(change: impl Fn(&mut Value)) -> String {
    let mut claims = json!({"iss": "https://accounts.google.com", "aud": "app", "sub": "77", "exp": 4_600,
        "nonce": "n-1", "email": "ida@example.org", "email_verified": true});
    change(&mut claims);
    format!(
        "e30.{}.c2ln",
        BASE64_URL_SAFE_NO_PAD.encode(claims.to_string())
    )
}

/// Returns an answer with tokens, without the fields in `omitted`.
fn answer(omitted: &[&str]) -> Value {
    let mut answer = json!({"access_token": "hidden-a", "expires_in": 3599, "refresh_token": "hidden-r",
        "scope": "openid https://www.googleapis.com/auth/drive.readonly", "token_type": "Bearer",
        "id_token": identity(|_| ()), "refresh_token_expires_in": 604_799});
    for name in omitted {
        answer.as_object_mut().unwrap().remove(*name);
    }
    answer
}

async fn exchange(server: &ScriptedServer) -> Result<GrantedPermission, ConsentError> {
    let drive = server.drive_connector();
    drive
        .exchange_code(
            &drive.operator_client().unwrap(),
            &consent(),
            &Secret::new("hidden-code"),
            NOW,
        )
        .await
}

fn held() -> OAuthTokens {
    OAuthTokens {
        access: Secret::new("hidden-old"),
        access_until: NOW,
        refresh: Secret::new("hidden-refresh"),
        refresh_until: Some(NOW.plus_seconds(99)),
    }
}

async fn refresh(server: &ScriptedServer) -> Result<OAuthTokens, ConnectorError> {
    let drive = server.drive_connector();
    drive
        .refresh_tokens(&drive.operator_client().unwrap(), &held(), NOW)
        .await
}

#[tokio::test]
async fn the_user_is_asked_for_lasting_permission_to_read() {
    let drive = ScriptedServer::open().await.drive_connector();
    let url = drive
        .consent_url(&drive.operator_client().unwrap(), &consent())
        .unwrap();
    let url = url::Url::parse(&url).unwrap();
    assert_eq!(url.path(), "/o/oauth2/v2/auth");
    let query: std::collections::BTreeMap<_, _> = url.query_pairs().into_owned().collect();
    let digest = Sha256::digest(VERIFIER);
    let expected = [
        ("access_type", "offline".to_owned()),
        ("client_id", "app".into()),
        ("code_challenge", BASE64_URL_SAFE_NO_PAD.encode(digest)),
        ("code_challenge_method", "S256".into()),
        ("include_granted_scopes", "false".into()),
        ("nonce", "n-1".into()),
        ("prompt", "consent".into()),
        (
            "redirect_uri",
            "https://api.example/v3/connections/auth/callback".into(),
        ),
        ("response_type", "code".into()),
        (
            "scope",
            "openid email https://www.googleapis.com/auth/drive.readonly".into(),
        ),
        ("state", "st&te".into()),
    ];
    assert_eq!(
        query,
        expected
            .map(|(name, value)| (name.to_owned(), value))
            .into()
    );
    let short_verifier = ConsentRequest {
        verifier: Secret::new("short"),
        ..consent()
    };

    assert!(
        drive
            .consent_url(&drive.operator_client().unwrap(), &short_verifier)
            .is_err()
    );
}

#[tokio::test]
async fn a_code_becomes_a_permission() {
    let server = ScriptedServer::open().await;
    server.script_json(TOKEN, 200, &answer(&[]));
    let permission = exchange(&server).await.unwrap();
    assert_eq!(permission.account.subject, "77");
    assert_eq!(permission.account.email.as_deref(), Some("ida@example.org"));

    let tokens = &permission.tokens;
    assert_eq!(
        (tokens.access.expose(), tokens.refresh.expose()),
        ("hidden-a", "hidden-r")
    );
    assert_eq!(tokens.access_until, NOW.plus_seconds(3_599));
    assert_eq!(tokens.refresh_until, Some(NOW.plus_seconds(604_799)));
    assert!(!format!("{permission:?}").contains("hidden"));

    let request = server.last_request();
    for part in [
        "grant_type=authorization_code",
        "code=hidden-code",
        &format!("code_verifier={VERIFIER}"),
        "client_id=app",
        "client_secret=hidden-app-secret",
        "redirect_uri=https%3A%2F%2Fapi.example",
    ] {
        assert!(request.contains(part), "{part}: {request}");
    }
}

#[tokio::test]
async fn without_an_identity_token_the_drive_says_who_it_is() {
    let server = ScriptedServer::open().await;
    server.script_json(TOKEN, 200, &answer(&["id_token", "scope", "expires_in"]));
    let user = json!({"user": {"permissionId": "0042", "emailAddress": "ida@example.org"}});
    server.script_json("GET /drive/v3/about?fields=user", 200, &user);
    let permission = exchange(&server).await.unwrap();
    assert_eq!(permission.account.subject, "0042");
    assert_eq!(permission.tokens.access_until, NOW.plus_seconds(3_600));
    assert!(
        server
            .last_request()
            .contains("authorization: Bearer hidden-a")
    );
}

#[tokio::test]
async fn a_permission_that_is_not_enough_is_none() {
    let with = |name: &str, value: Value| {
        let mut answer = answer(&[]);
        answer[name] = value;
        (200, "", answer.to_string())
    };
    let error_response = |status, error: &str| {
        (
            status,
            "",
            json!({"error": error, "error_description": "hidden"}).to_string(),
        )
    };
    let cases = [
        (
            with(
                "scope",
                json!("openid https://www.googleapis.com/auth/userinfo.email"),
            ),
            "ScopeDenied",
        ),
        (
            with(
                "scope",
                json!("openid https://www.googleapis.com/auth/drive.file"),
            ),
            "ScopeDenied",
        ),
        (with("refresh_token", Value::Null), "MissingRefreshToken"),
        (
            with(
                "id_token",
                json!(identity(|claims| claims["nonce"] = json!("n-2"))),
            ),
            "Invalid(",
        ),
        (
            with(
                "id_token",
                json!(identity(|claims| claims["aud"] = json!("other"))),
            ),
            "Invalid(",
        ),
        (with("access_token", Value::Null), "Provider(Fault("),
        (
            error_response(400, "invalid_grant"),
            "Invalid(\"invalid_grant\")",
        ),
        (
            error_response(401, "invalid_client"),
            "Provider(App(\"invalid_client\"))",
        ),
        (
            error_response(400, "admin_policy_enforced"),
            "Provider(Policy(",
        ),
        (
            error_response(429, "rate_limit_exceeded"),
            "Provider(Throttled",
        ),
        (
            (502, HTML, "<html>hidden</html>".into()),
            "Provider(Unavailable(",
        ),
        (
            (200, HTML, "<html>hidden</html>".into()),
            "Provider(Unavailable(",
        ),
        ((200, "", "{\"hidden\": 1}".into()), "Provider(Fault("),
    ];

    for ((status, headers, body), expected) in cases {
        let server = ScriptedServer::open().await;
        server.script_answer(TOKEN, status, headers, &body);
        let failed = exchange(&server).await.unwrap_err();
        let words = format!("{failed:?} {failed}");
        assert!(words.starts_with(expected), "{status} {body}: {words}");
        assert!(!words.contains("hidden"), "{words}");
    }
}

#[tokio::test]
async fn a_refresh_keeps_what_does_not_come_anew() {
    let server = ScriptedServer::open().await;
    server.script_json(
        TOKEN,
        200,
        &answer(&["refresh_token", "id_token", "refresh_token_expires_in"]),
    );
    let renewed = refresh(&server).await.unwrap();
    assert_eq!(
        (renewed.access.expose(), renewed.refresh.expose()),
        ("hidden-a", "hidden-refresh")
    );
    assert_eq!(renewed.refresh_until, held().refresh_until);
    assert!(
        server.last_request().contains("grant_type=refresh_token")
            && server
                .last_request()
                .contains("refresh_token=hidden-refresh")
    );

    server.script_json(TOKEN, 200, &answer(&["refresh_token_expires_in"]));
    let renewed = refresh(&server).await.unwrap();
    assert_eq!(
        (renewed.refresh.expose(), renewed.refresh_until),
        ("hidden-r", None)
    );
}

#[tokio::test]
async fn a_refresh_that_fails_says_whether_the_permission_is_gone() {
    let cases = [
        (
            400,
            json!({"error": "invalid_grant"}).to_string(),
            "Reauth(\"invalid_grant\")",
        ),
        (
            400,
            json!({"error": "invalid_grant", "error_subtype": "invalid_rapt"}).to_string(),
            "Reauth(\"invalid_rapt\")",
        ),
        (401, json!({"error": "invalid_client"}).to_string(), "App("),
        (502, "<html>hidden</html>".into(), "Unavailable("),
        (
            200,
            answer(&[])
                .to_string()
                .replace("drive.readonly", "drive.file"),
            "Reauth(\"scope_denied\")",
        ),
    ];

    for (status, body, expected) in cases {
        let server = ScriptedServer::open().await;
        server.script_answer(TOKEN, status, "", &body);
        let words = error_text(&refresh(&server).await.unwrap_err());
        assert!(
            words.starts_with(expected) && !words.contains("hidden"),
            "{body}: {words}"
        );
    }
}

#[tokio::test]
async fn what_has_ended_counts_as_revoked() {
    let invalid = json!({"error": "invalid_token"});
    let cases = [
        (200, json!({}), "Ok"),
        (400, invalid, "Ok"),
        (400, json!({"error": "invalid_request"}), "Err(Fault"),
        (503, json!({}), "Err(Unavailable"),
        (404, api_error(404, "notFound"), "Err(Unavailable"),
    ];

    for (status, body, expected) in cases {
        let server = ScriptedServer::open().await;
        server.script_json("POST /revoke ", status, &body);
        let revoked = format!(
            "{:?}",
            server.drive_connector().revoke_permission(&held()).await
        );
        assert!(revoked.starts_with(expected), "{status} {body}: {revoked}");
        assert!(server.last_request().ends_with("token=hidden-refresh"));
    }
}
