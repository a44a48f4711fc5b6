//! Tests of the endpoint that reranks texts: the forms of requests and answers, order, and failures.

use std::time::Duration;

use domain::ports::RerankModel;
use domain::{PortError, Secret};
use serde_json::{Value, json};

use super::server::{Received, Server, build_answer, ok_answer};
use crate::{ModelClient, ModelSettings, RerankClient};

fn client(server: &Server) -> RerankClient {
    let settings = ModelSettings {
        url: Some("http://127.0.0.1:9/v1".into()),
        key: Some(Secret::new("key of the other endpoint")),
        rerank_model: Some("judge".into()),
        rerank_url: Some(format!("http://{}/v2", server.address)),
        rerank_key: Some(Secret::new("sk-rerank")),
        ..ModelSettings::default()
    };
    ModelClient::with_limit(settings, Duration::from_millis(500))
        .rerank_client()
        .expect("a model")
}

fn body(request: &Received) -> Value {
    serde_json::from_slice(&request.body).expect("JSON")
}

fn json_answer(value: &Value) -> Vec<u8> {
    ok_answer(
        "Content-Type: application/json\r\n",
        value.to_string().as_bytes(),
    )
}

#[tokio::test]
async fn scores_come_back_in_the_order_of_the_texts() {
    let server = Server::start(|_| {
        json_answer(&json!({
            "id": "1", "model": "judge", "usage": {"total_tokens": 12},
            "results": [
                {"index": 2, "relevance_score": 0.9, "document": {"text": "c"}},
                {"index": 0, "relevance_score": 0.25},
            ],
        }))
    })
    .await;
    let client = client(&server);
    assert_eq!(client.model(), "judge");
    let scores = client.score("which?", &["a", "b", "c"]).await.unwrap();
    assert_eq!(scores, [Some(0.25), None, Some(0.9)]);
    assert!(client.score("which?", &[]).await.unwrap().is_empty());

    let requests = server.received();
    assert_eq!(requests.len(), 1);
    assert_eq!(
        requests[0].head.lines().next(),
        Some("POST /v2/rerank HTTP/1.1")
    );
    assert_eq!(
        requests[0].header("authorization"),
        Some("Bearer sk-rerank")
    );
    assert_eq!(
        body(&requests[0]),
        json!({"model": "judge", "query": "which?", "documents": ["a", "b", "c"], "top_n": 3})
    );
    assert!(!format!("{client:?}").contains("sk-rerank"));
}

#[tokio::test]
async fn the_form_that_an_endpoint_accepts_is_remembered() {
    // Without `top_n`, as Voyage wants it.
    let server = Server::start(|request: &Received| {
        if body(request).get("top_n").is_some() {
            build_answer("400 Bad Request", "", b"{}")
        } else {
            json_answer(&json!({"data": [{"index": 0, "relevance_score": 0.5}]}))
        }
    })
    .await;
    let voyage = client(&server);
    for _ in 0..2 {
        assert_eq!(voyage.score("q", &["a"]).await.unwrap(), [Some(0.5)]);
    }
    assert_eq!(server.received().len(), 3, "one refusal");

    // With `texts`, of which Text Embeddings Inference accepts 32.
    let server = Server::start(|request: &Received| {
        let body = body(request);
        let Some(texts) = body["texts"].as_array() else {
            return build_answer("422 Unprocessable Entity", "", b"{}");
        };
        assert!(texts.len() <= 32);
        let scores = (0..texts.len()).rev();
        let scores = scores
            .map(|index| json!({"index": index, "score": texts[index].as_str().map(str::len)}));
        json_answer(&Value::Array(scores.collect()))
    })
    .await;
    let texts: Vec<String> = (0..50).map(|length| "x".repeat(length)).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let scores = client(&server).score("q", &texts).await.unwrap();
    let expected: Vec<Option<f32>> = (0..50).map(|length| Some(length as f32)).collect();
    assert_eq!(scores, expected);
    assert_eq!(server.received().len(), 4, "two refusals, two batches");
}

#[tokio::test]
async fn failures_are_reported_by_their_kind_and_not_repeated() {
    let not_a_number = r#"{"results": [{"index": 0, "relevance_score": null}]}"#;
    let cases: [(Vec<u8>, bool, usize); 8] = [
        (
            build_answer("500 Internal Server Error", "", b"{}"),
            true,
            1,
        ),
        (build_answer("429 Too Many Requests", "", b"{}"), true, 1),
        (build_answer("401 Unauthorized", "", b"{}"), false, 1),
        (build_answer("404 Not Found", "", b"{}"), false, 1),
        (
            build_answer("422 Unprocessable Entity", "", b"{}"),
            false,
            3,
        ),
        (ok_answer("", b"{\"results\": []}"), true, 1),
        (ok_answer("", not_a_number.as_bytes()), true, 1),
        (ok_answer("", b"[{\"index\": 7, \"score\": 1}]"), true, 1),
    ];
    for (answer, is_temporary, calls) in cases {
        let server = Server::start(move |_| answer.clone()).await;
        let error = client(&server).score("q", &["a"]).await.unwrap_err();
        let found = matches!(error, PortError::Unavailable(_));
        assert_eq!(found, is_temporary, "{error:?}");
        assert_eq!(server.received().len(), calls, "{error:?}");
    }
}

#[tokio::test]
async fn an_address_with_credentials_is_refused() {
    let settings = ModelSettings {
        rerank_model: Some("judge".into()),
        rerank_url: Some("http://user:secret@127.0.0.1:9/v1".into()),
        ..ModelSettings::default()
    };
    let client = ModelClient::new(settings).rerank_client().expect("a model");
    let error = client.score("q", &["a"]).await.unwrap_err();
    assert!(matches!(error, PortError::Internal(_)), "{error:?}");
}

#[test]
fn without_an_address_of_its_own_the_model_is_at_the_other_endpoint() {
    let settings = ModelSettings {
        url: Some("http://127.0.0.1:9/v1".into()),
        ..ModelSettings::default()
    };
    assert!(ModelClient::new(settings.clone()).rerank_model().is_none());
    let with_model = ModelClient::new(ModelSettings {
        rerank_model: Some("judge".into()),
        ..settings
    });
    let reranker = with_model.rerank_model().expect("a model");
    assert!(format!("{reranker:?}").contains("127.0.0.1:9"));
}
