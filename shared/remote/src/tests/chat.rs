//! Tests of questions to a scripted chat endpoint: formats, retries, limits, and the contents of
//! errors.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use domain::Secret;
use serde_json::{Value, json};

use super::server::{Received, Server, build_answer, ok_answer, receive_request};
use crate::{AnswerError, ModelClient, ModelSettings, Question};

const KEY: &str = "sk-very-secret";
const WITHIN: Duration = Duration::from_secs(20);

fn settings(server: &Server) -> ModelSettings {
    ModelSettings {
        url: Some(format!("http://{}/v1", server.address)),
        key: Some(Secret::new(KEY)),
        memory_model: Some("scribe".into()),
        ..ModelSettings::default()
    }
}

fn models(server: &Server) -> ModelClient {
    ModelClient::with_limit(settings(server), Duration::from_secs(5))
}

fn chat_answer(text: &str) -> Vec<u8> {
    let body = json!({ "choices": [{ "message": { "role": "assistant", "content": text } }] });
    ok_answer(
        "Content-Type: application/json\r\n",
        body.to_string().as_bytes(),
    )
}

/// Parses a list of memories as a caller does.
fn parse_memories(text: &str) -> Result<Vec<Value>, ()> {
    let value: Value = serde_json::from_str(text).map_err(|_| ())?;
    value["memories"].as_array().cloned().ok_or(())
}

async fn ask(models: &ModelClient) -> Result<usize, AnswerError> {
    let schema = json!({ "type": "object" });
    let question = Question {
        instructions: "List in JSON.",
        text: "[1] Canary text.",
        schema: &schema,
        name: "memories",
    };
    assert_send(models.ask_question(&question, WITHIN, parse_memories))
        .await
        .map(|memories| memories.len())
}

/// Requires a future to be `Send`, because workers move between threads while they wait.
fn assert_send<F: Future + Send>(future: F) -> F {
    future
}

/// Starts a server that gives these answers in turn, and repeats the last one.
async fn scripted_server(answers: Vec<Vec<u8>>) -> Server {
    let request_count = AtomicUsize::new(0);
    Server::start(move |_| {
        answers[request_count
            .fetch_add(1, Ordering::SeqCst)
            .min(answers.len() - 1)]
        .clone()
    })
    .await
}

fn body(request: &Received) -> Value {
    serde_json::from_slice(&request.body).unwrap()
}

/// Returns the type of the response format in a request, and whether it sets the temperature.
fn format(request: &Received) -> (String, bool) {
    let body = body(request);
    let kind = body["response_format"]["type"]
        .as_str()
        .unwrap_or("plain")
        .to_owned();
    (kind, body.get("temperature").is_some())
}

#[tokio::test]
async fn a_question_is_one_request_with_a_schema_and_no_tools() {
    let server = scripted_server(vec![chat_answer(" {\"memories\":[1,2]}\n")]).await;
    assert_eq!(ask(&models(&server)).await, Ok(2));

    let received = server.received();
    assert_eq!(received.len(), 1);
    assert_eq!(
        received[0].head.lines().next(),
        Some("POST /v1/chat/completions HTTP/1.1")
    );
    assert_eq!(
        received[0].header("authorization"),
        Some("Bearer sk-very-secret")
    );

    let expected = json!({
        "model": "scribe",
        "messages": [
            { "role": "system", "content": "List in JSON." },
            { "role": "user", "content": "[1] Canary text." },
        ],
        "temperature": 0,
        "response_format": {
            "type": "json_schema",
            "json_schema": { "name": "memories", "strict": true, "schema": { "type": "object" } },
        },
    });
    assert_eq!(body(&received[0]), expected);
}

#[tokio::test]
async fn a_format_that_is_refused_is_not_asked_for_again() {
    for (accepted_format, expected) in [
        ("json_schema true", vec!["json_schema true"; 2]),
        (
            "json_object true",
            vec!["json_schema true", "json_object true", "json_object true"],
        ),
        (
            "plain true",
            vec![
                "json_schema true",
                "json_object true",
                "plain true",
                "plain true",
            ],
        ),
        (
            "json_schema false",
            vec![
                "json_schema true",
                "json_object true",
                "plain true",
                "json_schema false",
                "json_schema false",
            ],
        ),
    ] {
        let server = Server::start(move |request| {
            let (kind, steady) = format(request);
            if format!("{kind} {steady}") == accepted_format {
                chat_answer(r#"{"memories":[]}"#)
            } else {
                build_answer("400 No", "", b"x")
            }
        })
        .await;
        let models = models(&server);
        assert_eq!(
            (ask(&models).await, ask(&models.clone()).await),
            (Ok(0), Ok(0))
        );
        let formats: Vec<_> = server
            .received()
            .iter()
            .map(format)
            .map(|(kind, t)| format!("{kind} {t}"))
            .collect();
        assert_eq!(formats, expected);
    }
}

#[tokio::test]
async fn a_question_that_is_refused_ends_at_once() {
    for (statuses, requests) in [
        (vec!["400", "422", "400"], 5),
        (vec!["401"], 1),
        (vec!["404"], 1),
        (vec!["413"], 1),
    ] {
        let last = statuses.last().unwrap().parse().unwrap();
        let server = scripted_server(
            statuses
                .iter()
                .map(|status| build_answer(status, "", KEY.as_bytes()))
                .collect(),
        )
        .await;
        assert_eq!(ask(&models(&server)).await, Err(AnswerError::Refused(last)));
        assert_eq!(server.connections(), requests, "{statuses:?}");
    }

    // A format has been accepted before, so the refusal is about this question.
    let server = scripted_server(vec![
        chat_answer(r#"{"memories":[]}"#),
        build_answer("400 Too long", "", b""),
    ])
    .await;
    let models = models(&server);

    assert_eq!(
        (ask(&models).await, ask(&models).await),
        (Ok(0), Err(AnswerError::Refused(400)))
    );
    assert_eq!(server.connections(), 2);
}

#[tokio::test]
async fn what_passes_is_tried_again_twice() {
    let valid = || chat_answer(r#"{"memories":[1]}"#);
    let huge = || chat_answer(&format!(r#"{{"memories":["{}"]}}"#, "x".repeat(1 << 20)));
    let truncated = || b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{".to_vec();
    let status = |status: &str| build_answer(status, "", KEY.as_bytes());

    for (answers, expected, requests) in [
        (vec![status("429 Slow"), valid()], Ok(1), 2),
        (vec![status("503 Busy"), truncated(), valid()], Ok(1), 3),
        (
            vec![
                chat_answer("no JSON"),
                chat_answer(r#"{"facts":[]}"#),
                valid(),
            ],
            Ok(1),
            3,
        ),
        (vec![huge(), ok_answer("", b"[]"), valid()], Ok(1), 3),
        (vec![status("500 Oops")], Err(AnswerError::Unavailable), 3),
        (vec![status("429 Slow")], Err(AnswerError::Unavailable), 3),
        (vec![chat_answer("no JSON")], Err(AnswerError::Unusable), 3),
        (vec![chat_answer(" ")], Err(AnswerError::Unusable), 3),
        (vec![huge()], Err(AnswerError::Unusable), 3),
        (vec![status("302 Moved")], Err(AnswerError::Unusable), 3),
        (
            vec![status("500 Oops"), status("401 Who")],
            Err(AnswerError::Refused(401)),
            2,
        ),
    ] {
        let server = scripted_server(answers).await;
        let outcome = ask(&models(&server)).await;
        assert_eq!((&outcome, server.connections()), (&expected, requests));
        let debug_output = format!(
            "{outcome:?} {}",
            outcome
                .clone()
                .err()
                .map(|e| e.to_string())
                .unwrap_or_default()
        );
        assert!(
            !debug_output.contains("secret")
                && !debug_output.contains("Canary")
                && !debug_output.contains("JSON"),
            "{debug_output}"
        );
    }
}

#[tokio::test]
async fn a_silent_model_times_out_in_each_try_and_in_all() {
    let silent_server = || {
        Server::start_raw(|mut stream| async move {
            receive_request(&mut stream).await;
            std::future::pending::<()>().await;
        })
    };

    let server = silent_server().await;
    let impatient_client = ModelClient::with_limit(settings(&server), Duration::from_millis(50));
    assert_eq!(ask(&impatient_client).await, Err(AnswerError::TimedOut));
    assert_eq!(server.connections(), 3);

    let server = silent_server().await;
    let schema = json!({});
    let question = Question {
        instructions: "",
        text: "",
        schema: &schema,
        name: "x",
    };

    let outcome = models(&server)
        .ask_question(&question, Duration::from_millis(50), parse_memories)
        .await;
    assert_eq!(outcome, Err(AnswerError::TimedOut));
    assert_eq!(server.connections(), 1);
}

#[tokio::test]
async fn without_a_model_nothing_is_asked_and_the_setting_is_named() {
    let server = scripted_server(vec![chat_answer(r#"{"memories":[]}"#)]).await;
    let models = ModelClient::new(ModelSettings {
        memory_model: None,
        ..settings(&server)
    });
    assert!(!models.reads_memories());
    let error = ask(&models).await.unwrap_err();
    assert_eq!(
        error,
        AnswerError::NotConfigured {
            settings: vec!["RECOLLECT_MEMORY_MODEL"]
        }
    );
    assert_eq!(server.connections(), 0);
}
