//! The console at `/`: its page, its files, and sessions in a cookie.

use axum::body::Body;
use domain::key::Permission;
use http::header::{COOKIE, SET_COOKIE};
use http::{Request, StatusCode};
use serde_json::{Value, json};
use testkit::{PUBLIC_URL, TestAnswer};

use crate::client::OrgClient;
use crate::shape::expect_ok;

const SESSION: &str = "/console/session";
const CONSOLE_HEADER: &str = "x-recollect-console";
const COOKIE_NAME: &str = "__Host-recollect-console";

/// Sends a request as the console does, with the cookie of a session.
async fn send_as_console(
    client: &OrgClient,
    method: &str,
    path: &str,
    cookie: Option<&str>,
) -> TestAnswer {
    let request = Request::builder()
        .method(method)
        .uri(path)
        .header(CONSOLE_HEADER, "https");
    let request = match cookie {
        Some(cookie) => request.header(COOKIE, cookie),
        None => request,
    };
    client
        .app
        .send(request.body(Body::empty()).expect("a request"))
        .await
}

/// Signs in with a key, and returns the answer.
async fn sign_in(client: &OrgClient, key: &str) -> TestAnswer {
    let request = Request::builder()
        .method("POST")
        .uri(SESSION)
        .header(CONSOLE_HEADER, "https")
        .header("authorization", format!("Bearer {key}"));
    client
        .app
        .send(request.body(Body::empty()).expect("a request"))
        .await
}

/// Returns the cookie that an answer sets, as a browser sends it.
fn cookie_of(answer: &TestAnswer) -> String {
    let set_cookie = answer.headers[SET_COOKIE].to_str().expect("a text");
    let (pair, attributes) = set_cookie.split_once(';').expect("attributes");
    for wanted in ["Path=/", "Secure", "HttpOnly", "SameSite=Strict"] {
        assert!(attributes.contains(wanted), "{set_cookie}");
    }
    pair.to_owned()
}

async fn session_of(client: &OrgClient, cookie: &str) -> TestAnswer {
    send_as_console(client, "GET", "/v3/session", Some(cookie)).await
}

#[tokio::test]
async fn a_session_acts_as_the_key_that_opened_it() {
    let client = OrgClient::new().await;
    let scoped = client
        .post("/v3/auth/scoped-key", json!({"containerTag": "box"}))
        .await;
    let reading = client
        .app
        .create_key_with("acme", Permission::Read, None)
        .await;
    for key in [
        client.key.as_str(),
        scoped.body["key"].as_str().unwrap(),
        &reading,
    ] {
        let answer = sign_in(&client, key).await;
        let cookie = cookie_of(&answer);
        assert!(cookie.starts_with(&format!("{COOKIE_NAME}=rk_")));
        expect_ok(answer, &json!({"expiresAt": "time"}));

        let by_key = client.app.get("/v3/session", key).await;
        assert_eq!(session_of(&client, &cookie).await.body, by_key.body);
    }

    // Sessions are no keys that people manage.
    let listed = client.get("/v3/auth/keys").await;
    assert_eq!(listed.body["keys"].as_array().map(Vec::len), Some(3));
}

#[tokio::test]
async fn a_cookie_alone_is_no_credential() {
    let client = OrgClient::new().await;
    let cookie = cookie_of(&sign_in(&client, &client.key).await);
    let send = async |headers: &[(&str, &str)]| {
        let mut request = Request::builder()
            .uri("/v3/session")
            .header(COOKIE, &cookie);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request = request.body(Body::empty()).unwrap();
        client.app.send(request).await.status
    };

    assert_eq!(send(&[(CONSOLE_HEADER, "https")]).await, StatusCode::OK);
    assert_eq!(send(&[]).await, StatusCode::UNAUTHORIZED);
    let of_other_site = [(CONSOLE_HEADER, "https"), ("sec-fetch-site", "cross-site")];
    assert_eq!(send(&of_other_site).await, StatusCode::UNAUTHORIZED);

    // A page of another site cannot open or end a session either.
    for method in ["POST", "DELETE"] {
        let answer = client
            .app
            .call_json(method, SESSION, &client.key, &Value::Null)
            .await;
        assert_eq!(answer.status, StatusCode::FORBIDDEN, "{method}");
    }
}

#[tokio::test]
async fn a_session_ends_with_sign_out_with_its_time_and_with_its_key() {
    let client = OrgClient::new().await;
    let cookie = cookie_of(&sign_in(&client, &client.key).await);
    let ended = send_as_console(&client, "DELETE", SESSION, Some(&cookie)).await;
    assert!(cookie_of(&ended).ends_with('='), "the cookie is deleted");
    assert_eq!(ended.body, json!({"expiresAt": null}));
    let after = session_of(&client, &cookie).await;
    assert_eq!(after.status, StatusCode::UNAUTHORIZED);
    let repeated = send_as_console(&client, "DELETE", SESSION, Some(&cookie)).await;
    assert_eq!(repeated.status, StatusCode::OK);

    let cookie = cookie_of(&sign_in(&client, &client.key).await);
    client.app.environment.clock.advance_seconds(12 * 60 * 60);
    let after = session_of(&client, &cookie).await;
    assert_eq!(after.status, StatusCode::UNAUTHORIZED);

    let agent = client.post(
        "/v3/auth/agent-key",
        json!({"name": "a", "permission": "write"}),
    );
    let agent = agent.await.body;
    let cookie = cookie_of(&sign_in(&client, agent["key"].as_str().unwrap()).await);
    let path = format!("/v3/auth/keys/{}", agent["id"].as_str().unwrap());
    client.app.delete(&path, &client.key).await;
    let after = session_of(&client, &cookie).await;
    assert_eq!(after.status, StatusCode::UNAUTHORIZED, "{}", after.body);
}

#[tokio::test]
async fn a_session_opens_none() {
    let client = OrgClient::new().await;
    let cookie = cookie_of(&sign_in(&client, &client.key).await);
    let again = send_as_console(&client, "POST", SESSION, Some(&cookie)).await;
    assert_eq!(again.status, StatusCode::FORBIDDEN, "it would never end");
    let token = cookie.split_once('=').unwrap().1;
    let again = sign_in(&client, token).await;
    assert_eq!(again.status, StatusCode::FORBIDDEN);

    let session = client.post("/v3/session", Value::Null).await;
    let answer = sign_in(&client, session.body["token"].as_str().unwrap()).await;
    assert_eq!(answer.status, StatusCode::FORBIDDEN);
    let wrong = sign_in(&client, "rk_wrong").await;
    assert_eq!(wrong.status, StatusCode::UNAUTHORIZED);
    assert!(!wrong.headers.contains_key(SET_COOKIE));
}

#[tokio::test]
async fn the_page_and_its_files_are_sent_once() {
    let client = OrgClient::new().await;
    for path in ["/", "/console/app.js", "/console/views/memories.js"] {
        let answer = client.app.get(path, "").await;
        assert_eq!(answer.status, StatusCode::OK, "{path}");
        let policy = answer.headers["content-security-policy"].to_str().unwrap();
        assert!(policy.starts_with("default-src 'none'"), "{policy}");
        // Only the page itself may load and call something, and large files go to the object store.
        let calls = format!(
            "script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self' {PUBLIC_URL};"
        );
        assert_eq!(policy.contains(&calls), path == "/", "{policy}");

        let version = answer.headers["etag"].clone();
        let request = Request::builder()
            .uri(path)
            .header("if-none-match", version);
        let request = request.body(Body::empty()).unwrap();
        let again = client.app.send(request).await;
        assert_eq!(again.status, StatusCode::NOT_MODIFIED, "{path}");
    }

    for path in ["/console/none.js", "/console/../lib.rs", "/console/"] {
        let answer = client.app.get(path, "").await;
        assert_eq!(answer.status, StatusCode::NOT_FOUND, "{path}");
    }
}
