//! Requests that no route can parse.

use serde_json::json;

use crate::client::OrgClient;
use crate::shape::{ErrorMismatches, expect_error};

const INVALID: &str = "ValidationError";
const JSON: &str = "application/json";

/// Returns every route that takes a JSON body, with a body that it accepts.
fn json_routes() -> Vec<(&'static str, serde_json::Value)> {
    let turn = json!([{"role": "user", "content": "Hello."}]);
    vec![
        ("/v3/documents", json!({"content": "Words."})),
        ("/v3/documents/list", json!({})),
        (
            "/v4/conversations",
            json!({"conversationId": "c", "messages": turn}),
        ),
        ("/v4/search", json!({"q": "words"})),
        ("/v3/search", json!({"q": "words"})),
    ]
}

#[tokio::test]
async fn a_body_that_is_no_json_object_is_refused() {
    let client = OrgClient::new().await;
    let mut faults = ErrorMismatches::default();
    for (path, good) in json_routes() {
        let cut = &good.to_string()[..1];
        let surplus = format!("{good} x");
        let deep = "[".repeat(100_000);
        let bodies: [&[u8]; 11] = [
            cut.as_bytes(),
            surplus.as_bytes(),
            deep.as_bytes(),
            b"nonsense",
            b"[]",
            b"[[]]",
            b"null",
            b"7",
            b"\"q\"",
            b"{\"q\":\"\xff\"}",
            b"{'q':1}",
        ];
        for body in bodies {
            let answer = client.send_bytes("POST", path, JSON, body.to_vec()).await;
            let request = format!(
                "{path} {}",
                String::from_utf8_lossy(&body[..body.len().min(40)])
            );
            faults.check_error(&request, &answer, 400, INVALID, "body");
        }
    }

    faults.assert_none();
}

#[tokio::test]
async fn a_body_over_the_limit_is_refused() {
    let client = OrgClient::new().await;
    let mut faults = ErrorMismatches::default();
    for (path, _) in json_routes() {
        let body = format!("{{\"padding\":\"{}\"}}", "x".repeat(8 * 1024 * 1024));
        faults.check_error(
            path,
            &client.send_bytes("POST", path, JSON, body).await,
            413,
            "PayloadTooLargeError",
            "bytes",
        );
    }

    faults.assert_none();
}

#[tokio::test]
async fn a_body_with_too_many_values_is_refused() {
    let client = OrgClient::new().await;
    let mut faults = ErrorMismatches::default();
    let zeros = format!("{}0", "0,".repeat(edge::MAX_JSON_VALUES));
    let objects = format!("{}{{}}", r#"{"":0},"#.repeat(edge::MAX_JSON_VALUES));

    let mut requests = vec![
        (
            "/v3/documents/batch",
            format!(r#"{{"documents":[{zeros}]}}"#),
        ),
        (
            "/ns/user_42/document/batch",
            format!(r#"{{"documents":[{objects}]}}"#),
        ),
    ];
    for (path, _) in json_routes() {
        requests.push((path, format!(r#"{{"padding":[{zeros}]}}"#)));
    }

    for (path, body) in requests {
        let answer = client.send_bytes("POST", path, JSON, body).await;
        faults.check_error(path, &answer, 400, INVALID, "values");
    }
    faults.assert_none();
}

#[tokio::test]
async fn the_declared_type_of_a_json_body_does_not_matter() {
    let client = OrgClient::new().await;
    for kind in [
        "application/json",
        "application/json; charset=utf-8",
        "text/plain",
        "application/octet-stream",
    ] {
        for (path, body) in json_routes() {
            let answer = client
                .send_bytes("POST", path, kind, body.to_string())
                .await;
            assert!(answer.status.is_success(), "{path} {kind}: {}", answer.body);
        }
    }

    let request = http::Request::builder()
        .method("POST")
        .uri("/v3/documents/list");
    let request = request.header("authorization", format!("Bearer {}", client.key));
    let answer = client
        .app
        .send(request.body(Vec::new().into()).expect("a request"))
        .await;
    assert!(
        answer.status.is_success(),
        "a list with no body and no type: {}",
        answer.body
    );
}

#[tokio::test]
async fn what_no_route_answers_is_not_found() {
    let client = OrgClient::new().await;
    let mut faults = ErrorMismatches::default();
    for path in [
        "/console",
        "/v3",
        "/v3/document",
        "/v3/documents/",
        "/v3/documents/a/b/c",
        "/v4/searches",
        "/v5/search",
        "/%00",
    ] {
        for method in ["GET", "POST", "DELETE"] {
            let answer = client.send_bytes(method, path, JSON, "{}").await;
            faults.check_error(
                &format!("{method} {path}"),
                &answer,
                404,
                "NotFoundError",
                "",
            );
        }
    }

    faults.assert_none();
}

#[tokio::test]
async fn a_wrong_method_is_refused_and_the_right_ones_are_named() {
    let client = OrgClient::new().await;
    let mut faults = ErrorMismatches::default();
    let wrong = [
        ("GET", "/v3/documents", "POST"),
        ("DELETE", "/v3/documents", "POST"),
        ("PUT", "/v3/documents/file", "POST"),
        ("GET", "/v3/documents/list", "POST"),
        ("POST", "/v3/documents/processing", "GET"),
        ("POST", "/v3/documents/abc", "GET"),
        ("POST", "/v3/documents/abc/chunks", "GET"),
        ("GET", "/v4/search", "POST"),
        ("PATCH", "/v3/search", "POST"),
        ("GET", "/v4/conversations", "POST"),
        ("BREW", "/v4/conversations", "POST"),
    ];
    for (method, path, right) in wrong {
        let answer = client.send_bytes(method, path, JSON, "{}").await;
        faults.check_error(&format!("{method} {path}"), &answer, 405, INVALID, "method");
        let allow = answer
            .headers
            .get("allow")
            .and_then(|value| value.to_str().ok())
            .unwrap_or_default();
        assert!(
            allow.split(',').any(|method| method.trim() == right),
            "{method} {path} allows {allow:?}"
        );
    }

    faults.assert_none();
}

#[tokio::test]
async fn a_path_that_is_not_utf_8_is_refused() {
    let client = OrgClient::new().await;
    expect_error(&client.get("/v3/documents/%FF").await, 400, INVALID, "path");
}

#[tokio::test]
async fn health_needs_no_key() {
    let client = OrgClient::new().await;
    assert!(client.app.get("/health", "").await.status.is_success());
}

#[tokio::test]
async fn every_request_has_its_own_id() {
    let client = OrgClient::new().await;
    let mut seen = std::collections::HashSet::new();

    for _ in 0..20 {
        let answer = client.post("/v3/documents/list", json!({})).await;
        let id = answer
            .headers
            .get("x-request-id")
            .expect("an id")
            .to_str()
            .expect("text")
            .to_owned();
        assert!(seen.insert(id));
    }
}
