//! Tests of the endpoint that embeds texts: requests, order, batches, retries and refusals.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use domain::ports::{EmbeddingInput, TextEmbedder};
use domain::{PortError, Secret};
use serde_json::{Value, json};

use super::server::{Received, Server, build_answer, ok_answer};
use crate::{EmbeddingClient, ModelClient, ModelSettings};

fn client(server: &Server) -> EmbeddingClient {
    ModelClient::new(ModelSettings {
        url: Some("http://127.0.0.1:9/v1".into()),
        key: Some(Secret::new("key of the other endpoint")),
        embedding_model: Some("compass".into()),
        embedding_url: Some(format!("http://{}/v1", server.address)),
        embedding_key: Some(Secret::new("sk-embed")),
        ..ModelSettings::default()
    })
    .with_retry_pause(Duration::ZERO)
    .embedding_client()
    .expect("a model")
}

fn passages<'a>(texts: &[&'a str]) -> Vec<EmbeddingInput<'a>> {
    let passage = |text: &&'a str| EmbeddingInput::Passage(text);
    texts.iter().map(passage).collect()
}

fn inputs(request: &Received) -> Vec<String> {
    let body: Value = serde_json::from_slice(&request.body).expect("JSON");
    let texts = body["input"].as_array().cloned().unwrap_or_default();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    texts.iter().map(text).collect()
}

/// Answers with the length of each text in its vector, the last text first.
fn lengths(request: &Received) -> Vec<u8> {
    let texts = inputs(request);
    let vectors = texts.iter().enumerate().rev();
    let data: Vec<Value> = vectors
        .map(|(index, text)| json!({"index": index, "embedding": [text.len(), 1.0]}))
        .collect();
    let body = json!({"data": data, "usage": {"total_tokens": texts.len()}}).to_string();
    ok_answer("Content-Type: application/json\r\n", body.as_bytes())
}

#[tokio::test]
async fn vectors_come_back_in_the_order_of_the_texts() {
    let server = Server::start(|request: &Received| lengths(request)).await;
    let vectors = client(&server)
        .embed("compass", &passages(&["a", "four", "to"]))
        .await
        .unwrap()
        .vectors;
    assert_eq!(vectors, [[1.0, 1.0], [4.0, 1.0], [2.0, 1.0]]);

    let request = server.received().remove(0);
    assert_eq!(
        request.head.lines().next(),
        Some("POST /v1/embeddings HTTP/1.1")
    );
    assert_eq!(request.header("authorization"), Some("Bearer sk-embed"));
    let body: Value = serde_json::from_slice(&request.body).unwrap();
    assert_eq!(
        (&body["model"], &body["encoding_format"]),
        (&json!("compass"), &json!("float"))
    );
}

#[tokio::test]
async fn many_texts_are_sent_in_batches() {
    let server = Server::start(|request: &Received| lengths(request)).await;
    let texts = vec!["text"; 130];
    let vectors = client(&server)
        .embed("compass", &passages(&texts))
        .await
        .unwrap()
        .vectors;
    assert_eq!(vectors.len(), 130);
    let sizes: Vec<usize> = server
        .received()
        .iter()
        .map(|request| inputs(request).len())
        .collect();
    assert_eq!(sizes, [64, 64, 2]);

    let long = "x".repeat(100_000);
    client(&server)
        .embed("compass", &passages(&[&long, &long]))
        .await
        .unwrap();
    assert_eq!(server.received().len(), 5, "one text in each call");
}

#[tokio::test]
async fn temporary_failures_are_repeated() {
    for status in ["429 Too Many Requests", "503 Service Unavailable"] {
        let calls = AtomicUsize::new(0);
        let server = Server::start(move |request: &Received| {
            if calls.fetch_add(1, Ordering::SeqCst) < 2 {
                build_answer(status, "", b"{}")
            } else {
                lengths(request)
            }
        })
        .await;
        let vectors = client(&server)
            .embed("compass", &passages(&["four"]))
            .await
            .unwrap();
        assert_eq!(vectors.vectors, [[4.0, 1.0]]);
        assert_eq!(vectors.tokens, 1);
        assert_eq!(server.received().len(), 3);
    }
}

#[tokio::test]
async fn failures_that_stay_are_reported_by_their_kind() {
    let cases: [(Vec<u8>, bool); 5] = [
        (build_answer("500 Internal Server Error", "", b"{}"), true),
        (build_answer("401 Unauthorized", "", b"{}"), true),
        (build_answer("404 Not Found", "", b"{}"), false),
        (ok_answer("", b"{\"data\": []}"), true),
        (
            ok_answer("", b"{\"data\": [{\"index\": 7, \"embedding\": [1]}]}"),
            true,
        ),
    ];
    for (answer, is_temporary) in cases {
        let server = Server::start(move |_| answer.clone()).await;
        let error = client(&server)
            .embed("compass", &passages(&["four"]))
            .await
            .unwrap_err();
        assert_eq!(
            matches!(error, PortError::Unavailable(_)),
            is_temporary,
            "{error:?}"
        );
    }
}

#[tokio::test]
async fn a_text_that_is_refused_does_not_refuse_the_others() {
    let server = Server::start(|request: &Received| {
        if inputs(request).iter().any(|text| text == "too long") {
            build_answer("400 Bad Request", "", b"{}")
        } else {
            lengths(request)
        }
    })
    .await;
    let vectors = client(&server)
        .embed("compass", &passages(&["a", "too long", "four"]))
        .await
        .unwrap()
        .vectors;
    assert_eq!(vectors, [vec![1.0, 1.0], vec![], vec![4.0, 1.0]]);
}

#[test]
fn without_an_address_of_its_own_the_model_is_at_the_other_endpoint() {
    let settings = ModelSettings {
        url: Some("http://127.0.0.1:9/v1".into()),
        ..ModelSettings::default()
    };
    let without_model = ModelClient::new(settings.clone());
    assert!(without_model.embedder().is_none());

    let with_model = ModelClient::new(ModelSettings {
        embedding_model: Some("compass".into()),
        ..settings
    });
    let embedder = with_model.embedder().expect("a model");
    assert_eq!(embedder.model(), "compass");
    assert!(embedder.can_embed_by("an earlier one"));
    assert!(!embedder.can_embed_by("folder:minilm@0123456789abcdef"));
    assert!(format!("{embedder:?}").contains("127.0.0.1:9"));
}
