use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::extract::Multipart;
use axum::routing::{any, get, post};
use domain::Secret;
use http::header::{AUTHORIZATION, CONTENT_TYPE, LOCATION};
use http::{HeaderMap, Method, StatusCode};
use serde_json::{Value, json};
use tokio::net::TcpListener;

use crate::{ApiClient, ApiError, UploadFile};

const JSON: [(&str, &str); 1] = [("content-type", "application/json")];

/// Serves `routes` on a free port until the test ends. Returns the address.
async fn serve(routes: Router) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move { axum::serve(listener, routes).await });
    format!("http://{address}")
}

fn over_http(url: &str) -> ApiClient {
    ApiClient::over_http(url)
        .unwrap()
        .with_retry_pause(Duration::ZERO)
}

/// Returns routes that fail with `status` for the first `failures` calls, and the count of calls.
fn failing_routes(status: StatusCode, failures: u32) -> (Router, Arc<AtomicU32>) {
    let calls = Arc::new(AtomicU32::new(0));
    let counter = calls.clone();
    let answer = move || async move {
        match counter.fetch_add(1, Ordering::SeqCst) < failures {
            true => (
                status,
                JSON,
                r#"{"error": "not now", "type": "unavailable"}"#,
            ),
            false => (StatusCode::OK, JSON, r#"{"ok": true}"#),
        }
    };
    let routes = Router::new()
        .route("/v4/search", any(answer.clone()))
        .route("/v4/memories", any(answer.clone()))
        .route("/v3/documents", any(answer));
    (routes, calls)
}

#[tokio::test]
async fn both_ways_send_method_path_key_and_body_and_return_the_answer() {
    let echo = |method: Method, uri: http::Uri, headers: HeaderMap, body: Bytes| async move {
        let key = headers[AUTHORIZATION].to_str().unwrap().to_owned();
        let body: Value = serde_json::from_slice(&body).unwrap();
        let answer = json!({
            "method": method.as_str(), "uri": uri.to_string(), "key": key,
            "type": headers[CONTENT_TYPE].to_str().unwrap(), "body": body,
        });
        (JSON, answer.to_string())
    };
    let routes = Router::new().route("/base/v4/search", post(echo));
    let url = serve(routes.clone()).await;
    let local = Router::new().route("/v4/search", post(echo));

    for (client, path) in [
        (ApiClient::in_process(local), "/v4/search?a=b"),
        (over_http(&format!("{url}/base/")), "/base/v4/search?a=b"),
    ] {
        let client = client.with_key(Secret::new("rk_1_2"));
        let body = json!({"q": "schön"});
        let answer = client
            .send(Method::POST, "/v4/search?a=b", Some(&body))
            .await;
        assert_eq!(
            answer.unwrap(),
            json!({"method": "POST", "uri": path, "key": "Bearer rk_1_2", "type": "application/json", "body": body})
        );
        assert!(!format!("{client:?}").contains("rk_1_2"));
    }
}

#[tokio::test]
async fn an_answer_may_be_empty_or_text_but_not_a_page() {
    let routes = Router::new()
        .route("/none", get(|| async { StatusCode::NO_CONTENT }))
        .route("/health", get(|| async { "ok" }))
        .route("/page", get(|| async { axum::response::Html("<p>Hi") }));
    let client = ApiClient::in_process(routes);
    let get = async |path| client.send(Method::GET, path, None).await;
    assert_eq!(get("/none").await.unwrap(), Value::Null);
    assert_eq!(get("/health").await.unwrap(), "ok");
    assert!(matches!(
        get("/page").await,
        Err(ApiError::Unexpected { status, .. }) if status == StatusCode::OK
    ));
}

#[tokio::test]
async fn a_refusal_says_what_to_change() {
    let routes = Router::new().route(
        "/v3/documents",
        post(|| async {
            let body = r#"{"error": "the request is invalid", "type": "invalid_request", "requestId": "r1",
                "issues": [{"path": ["metadata", 0], "message": "a text"}, {"path": "content", "message": "is missing"}]}"#;
            (StatusCode::BAD_REQUEST, JSON, body)
        }),
    );
    let error = ApiClient::in_process(routes)
        .send(Method::POST, "/v3/documents", Some(&json!({})))
        .await
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "the request is invalid; metadata.0: a text; content: is missing"
    );
    let ApiError::Refused(refusal) = error else {
        panic!("{error}");
    };
    assert_eq!(refusal.status, StatusCode::BAD_REQUEST);
    assert_eq!(refusal.error_type, "invalid_request");
    assert_eq!(refusal.request_id.as_deref(), Some("r1"));
}

#[tokio::test]
async fn a_busy_server_is_asked_again_where_that_changes_nothing_twice() {
    let (busy, limited) = (
        StatusCode::SERVICE_UNAVAILABLE,
        StatusCode::TOO_MANY_REQUESTS,
    );
    let broken = StatusCode::INTERNAL_SERVER_ERROR;
    let plain = json!({"content": "x"});
    let identified = json!({"content": "x", "customId": "a"});
    // The status, the failures, the method, the path, the body, the calls that are made.
    let cases = [
        (busy, 2, Method::GET, "/v4/search", &plain, 3),
        (busy, 2, Method::POST, "/v4/search", &plain, 3),
        (busy, 9, Method::POST, "/v4/search", &plain, 4),
        (busy, 2, Method::POST, "/v4/memories", &plain, 1),
        (busy, 2, Method::POST, "/v3/documents", &plain, 1),
        (
            busy,
            2,
            Method::POST,
            "/v3/documents?wait=true",
            &identified,
            3,
        ),
        (limited, 2, Method::POST, "/v4/memories", &plain, 3),
        (broken, 2, Method::GET, "/v4/search", &plain, 1),
    ];
    for (status, failures, method, path, body, expected) in cases {
        let (routes, calls) = failing_routes(status, failures);
        let client = ApiClient::in_process(routes).with_retry_pause(Duration::ZERO);
        let answer = client.send(method.clone(), path, Some(body)).await;
        let made = calls.load(Ordering::SeqCst);
        assert_eq!(made, expected, "{status} {method} {path}");
        assert_eq!(answer.is_ok(), made > failures, "{status} {method} {path}");
    }
}

#[tokio::test]
async fn a_long_pause_is_left_to_the_caller() {
    let routes = Router::new().route(
        "/v3/session",
        get(|| async {
            let headers = [
                ("content-type", "application/json"),
                ("retry-after", "3600"),
            ];
            (
                StatusCode::TOO_MANY_REQUESTS,
                headers,
                r#"{"error": "too many requests", "type": "rate_limited"}"#,
            )
        }),
    );
    let error = ApiClient::in_process(routes)
        .send(Method::GET, "/v3/session", None)
        .await
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "too many requests; try again in 3600 seconds"
    );
}

#[tokio::test]
async fn a_stored_answer_is_fetched_without_the_key() {
    let stored = |headers: HeaderMap| async move {
        let has_key = headers.contains_key(AUTHORIZATION);
        (JSON, json!({"stored": true, "key": has_key}).to_string())
    };
    let bucket = serve(Router::new().route("/answer", get(stored))).await;
    let location = format!("{bucket}/answer");
    let redirect = move || async move { (StatusCode::SEE_OTHER, [(LOCATION, location)], "{}") };
    let url = serve(Router::new().route("/v4/memories/list", post(redirect))).await;
    let answer = over_http(&url)
        .with_key(Secret::new("rk_1_2"))
        .send(Method::POST, "/v4/memories/list", Some(&json!({})))
        .await;
    assert_eq!(answer.unwrap(), json!({"stored": true, "key": false}));
}

#[tokio::test]
async fn a_stored_answer_elsewhere_than_on_the_web_is_refused() {
    let redirect = || async { (StatusCode::SEE_OTHER, [(LOCATION, "file:///etc/hosts")]) };
    let url = serve(Router::new().route("/v3/session", get(redirect))).await;
    let answer = over_http(&url).send(Method::GET, "/v3/session", None).await;
    assert!(matches!(answer, Err(ApiError::Unexpected { .. })));
}

#[tokio::test]
async fn a_server_that_is_not_there_is_named_with_the_cause() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let error = over_http(&url)
        .send(Method::POST, "/v4/memories", Some(&json!({})))
        .await
        .unwrap_err();
    let text = error.to_string();
    assert!(text.contains(&url) && text.contains("refused"), "{text}");
}

#[tokio::test]
async fn a_form_has_the_fields_and_the_file_byte_for_byte() {
    let received = |mut form: Multipart| async move {
        let mut parts = Vec::new();
        while let Some(field) = form.next_field().await.unwrap() {
            let name = field.name().unwrap().to_owned();
            let file = field.file_name().map(str::to_owned);
            let media_type = field.content_type().map(str::to_owned);
            parts.push(json!([
                name,
                file,
                media_type,
                field.bytes().await.unwrap().to_vec()
            ]));
        }
        (JSON, json!(parts).to_string())
    };
    let routes = Router::new().route("/v3/documents/file", post(received));
    let bytes = b"\r\n--recollect\r\n\0\xff";
    let file = UploadFile {
        name: "Größe.pdf".to_owned(),
        content_type: Some("application/pdf".to_owned()),
        bytes: Bytes::from_static(bytes),
    };
    let fields = [("containerTag", "demo".to_owned())];
    let answer = ApiClient::in_process(routes).upload(file, &fields).await;
    assert_eq!(
        answer.unwrap(),
        json!([
            ["containerTag", null, null, b"demo".to_vec()],
            ["file", "Größe.pdf", "application/pdf", bytes.to_vec()],
        ])
    );
}

#[tokio::test]
async fn a_file_that_is_too_large_for_a_request_goes_to_the_bucket() {
    let stored = |headers: HeaderMap, mut form: Multipart| async move {
        assert!(!headers.contains_key(AUTHORIZATION));
        let policy = form.next_field().await.unwrap().unwrap();
        assert_eq!(policy.text().await.unwrap(), "signed");
        let file = form.next_field().await.unwrap().unwrap();
        assert_eq!(file.bytes().await.unwrap(), "large");
        StatusCode::NO_CONTENT
    };
    let bucket = serve(Router::new().route("/bucket", post(stored))).await;
    let begin = move |body: Bytes| async move {
        let body: Value = serde_json::from_slice(&body).unwrap();
        let expected = json!({"fileName": "a.pdf", "mimeType": null, "customId": "a", "metadata": {"year": 2025}});
        assert_eq!(body, expected);
        let upload = json!({"url": format!("{bucket}/bucket"), "fields": {"policy": "signed"}});
        let answer = json!({"id": "d", "status": "queued", "upload": upload});
        (JSON, answer.to_string())
    };
    // The gateway answers in a form of its own.
    let too_large = || async { (StatusCode::PAYLOAD_TOO_LARGE, JSON, r#"{"message": "no"}"#) };
    let routes = Router::new()
        .route("/v3/documents/file", post(too_large))
        .route("/v3/documents/file/uploads", post(begin));
    let client = over_http(&serve(routes).await).with_key(Secret::new("rk_1_2"));

    let fields = [
        ("customId", "a".to_owned()),
        ("metadata", r#"{"year": 2025}"#.to_owned()),
    ];
    let mut file = UploadFile {
        name: "a.pdf".to_owned(),
        content_type: None,
        bytes: Bytes::from_static(b"large"),
    };
    let answer = client.upload(file.clone(), &fields).await;
    assert_eq!(answer.unwrap()["id"], "d");
    assert!(file.fits_bucket());
    file.bytes = vec![0; 50 * 1024 * 1024 + 1].into();
    assert!(!file.fits_bucket());
}

#[test]
fn only_addresses_of_servers_are_accepted() {
    for (text, address) in [
        ("http://127.0.0.1:8787", "http://127.0.0.1:8787"),
        (
            "https://Memory.example.com/api/",
            "https://memory.example.com/api",
        ),
        (" http://[::1]:80/ ", "http://[::1]"),
    ] {
        assert_eq!(ApiClient::over_http(text).unwrap().address(), address);
    }
    for text in [
        "",
        "127.0.0.1:8787",
        "localhost:8787",
        "ftp://example.com",
        "https://me:secret@example.com",
        "https://example.com/?a=b",
        "https://example.com/#a",
    ] {
        let error = ApiClient::over_http(text).unwrap_err().to_string();
        assert!(!error.contains("secret"), "{error}");
    }
}
