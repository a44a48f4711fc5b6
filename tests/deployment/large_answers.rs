//! Answers above the limit of a function are compressed, or stored for the client to fetch.

use std::io::Read;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use bytes::Bytes;
use flate2::read::GzDecoder;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use serde_json::{Value, json};
use testkit::TestApp;

use crate::http_events::{EventCall, JSON, KINDS, invoke_function};

/// The limit of a response of a Lambda function.
const MAX_RESPONSE_BYTES: usize = 6 * 1024 * 1024;
const TEXT_BYTES: usize = 1_000_000;

/// Returns a text of random letters, which compress to about six tenths.
fn random_text(seed: u64) -> String {
    let mut random = StdRng::seed_from_u64(seed);
    let letters = (0..TEXT_BYTES).map(|_| random.random_range('a'..='p'));
    letters.collect()
}

/// A list of documents with their texts.
struct ListCall<'a> {
    key: &'a str,
    limit: usize,
}

impl ListCall<'_> {
    fn body(&self) -> String {
        json!({"includeContent": true, "limit": self.limit}).to_string()
    }

    fn call<'a>(&'a self, body: &'a str) -> EventCall<'a> {
        EventCall {
            method: "POST",
            path: "/v3/documents/list",
            content_type: JSON,
            body: Some(body.as_bytes()),
            key: self.key,
            ..EventCall::default()
        }
    }

    /// Returns the answer without a function.
    async fn send_over_http(&self, app: &TestApp) -> Value {
        let answer = self.call(&self.body()).send_over_http(app).await.body;
        let listed = answer["memories"].as_array().map(Vec::len);
        assert_eq!(listed, Some(self.limit));
        answer
    }

    /// Returns the response of the function, which is within its limit.
    async fn send_to_function(&self, app: &TestApp, kind: &str, encodings: Option<&str>) -> Value {
        let mut event = self.call(&self.body()).to_event(kind);
        for (field, value) in [
            ("headers", json!(encodings)),
            ("multiValueHeaders", json!([encodings])),
        ] {
            let Some(headers) = event[field].as_object_mut() else {
                continue;
            };
            headers.retain(|name, _| !name.eq_ignore_ascii_case("accept-encoding"));
            if encodings.is_some() {
                headers.insert("Accept-Encoding".into(), value);
            }
        }

        let answer = invoke_function(app, "documents", &event).await;
        let size = serde_json::to_vec(&answer).unwrap().len();
        assert!(size <= MAX_RESPONSE_BYTES, "{kind}: {size} bytes");
        answer
    }
}

/// Returns a header of an answer, from whichever field of the response has it.
fn header(answer: &Value, name: &str) -> Option<String> {
    let value = match &answer["headers"][name] {
        Value::Null => &answer["multiValueHeaders"][name][0],
        value => value,
    };
    value.as_str().map(str::to_owned)
}

fn unzip(bytes: &[u8]) -> Value {
    let mut text = String::new();
    GzDecoder::new(bytes).read_to_string(&mut text).unwrap();
    serde_json::from_str(&text).unwrap()
}

/// Fetches what the client is redirected to, without a key.
async fn fetch(app: &TestApp, answer: &Value) -> http::Response<Bytes> {
    assert_eq!(answer["statusCode"], 303, "{answer}");
    let address = header(answer, "location").expect("an address");
    let request = http::Request::get(address).body(Bytes::new()).unwrap();
    app.environment
        .services
        .handle_public_request(request)
        .await
}

#[tokio::test]
async fn an_answer_above_the_limit_is_compressed_or_fetched() {
    let app = TestApp::new().await;
    let key = &app.create_key("acme").await;
    for number in 0..12 {
        let text = random_text(number + 1);
        app.post("/v3/documents", key, &json!({"content": text}))
            .await;
    }

    let list = ListCall { key, limit: 7 };
    let wanted = list.send_over_http(&app).await;
    for kind in KINDS {
        let compressed = list.send_to_function(&app, kind, Some("gzip, br")).await;
        assert_eq!(compressed["statusCode"], 200, "{kind}");
        let encoding = header(&compressed, "content-encoding");
        assert_eq!(encoding.as_deref(), Some("gzip"), "{kind}");
        let body = compressed["body"].as_str().unwrap();
        let listed = unzip(&BASE64_STANDARD.decode(body).unwrap());
        assert_eq!(listed, wanted, "{kind}");

        let redirected = list.send_to_function(&app, kind, None).await;
        assert!(header(&redirected, "x-request-id").is_some(), "{kind}");
        let fetched = fetch(&app, &redirected).await;
        assert_eq!(fetched.status(), 200, "{kind}");
        assert_eq!(fetched.headers()["content-type"], "application/json");
        let listed: Value = serde_json::from_slice(fetched.body()).unwrap();
        assert_eq!(listed, wanted, "{kind}");
    }

    // Compressed, this page does not fit either.
    let list = ListCall { key, limit: 12 };
    let wanted = list.send_over_http(&app).await;
    let redirected = list.send_to_function(&app, "http-api", Some("gzip")).await;
    let fetched = fetch(&app, &redirected).await;
    assert_eq!(fetched.headers()["content-encoding"], "gzip");
    assert_eq!(unzip(fetched.body()), wanted);

    app.environment.clock.advance_seconds(301);
    let late = fetch(&app, &redirected).await;
    assert_eq!(late.status(), 403, "five minutes have passed");
}
