//! Searches with `rerank` by a model that the operator chose: its order, its candidates, and its
//! failures.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use domain::Secret;
use remote::ModelSettings;
use serde_json::{Value, json};
use testkit::{TestApp, TestEnvironment};

use crate::client::OrgClient;
use crate::server::{ReceivedRequest, Server, build_answer, build_page};

/// A question of which every document has a word.
const QUESTION: &str = "Which note is about the ferry?";

/// Prefers the lowest of the numbers in the texts. The search prefers the newest of equal notes.
fn answer(request: &ReceivedRequest) -> Vec<u8> {
    let body: Value = serde_json::from_str(&request.body).expect("JSON");
    let mut results = Vec::new();
    for (index, text) in body["documents"]
        .as_array()
        .expect("texts")
        .iter()
        .enumerate()
    {
        let digits: String = text
            .as_str()
            .expect("a text")
            .chars()
            .filter(char::is_ascii_digit)
            .collect();
        let score: f32 = digits.parse().expect("a number");
        results.push(json!({"index": index, "relevance_score": -score}));
    }
    let body = json!({ "results": results }).to_string();
    build_page("application/json", body.as_bytes())
}

fn world_with(server: &Server) -> TestEnvironment {
    let mut world = TestEnvironment::new().expect("a folder");
    world.models = ModelSettings {
        rerank_model: Some("judge".into()),
        rerank_url: Some(format!("http://{}/v2", server.address)),
        rerank_key: Some(Secret::new("sk-rerank")),
        ..ModelSettings::default()
    };
    world
}

async fn start(world: &TestEnvironment, notes: usize) -> OrgClient {
    let app = TestApp::start(world, 0).await.expect("an app");
    let client = OrgClient::of(app, "acme").await;
    for number in 0..notes {
        let content = format!("Note {number} is about the ferry.");
        let body = json!({"content": content, "taskType": "superrag"});
        client.add_document(body).await;
    }
    client
}

/// Returns the numbers of the notes that `/v4/search` and `/v3/search` find, the best first.
async fn search(client: &OrgClient, rerank: bool, limit: usize) -> [Vec<usize>; 2] {
    let request = json!({
        "q": QUESTION, "searchMode": "documents", "rerank": rerank, "limit": limit, "threshold": 0,
    });
    let v4 = client.post("/v4/search", request).await;
    assert_eq!(v4.status, 200, "{}", v4.body);
    let request = json!({
        "q": QUESTION, "rerank": rerank, "limit": limit, "chunkThreshold": 0,
    });
    let v3 = client.post("/v3/search", request).await;
    assert_eq!(v3.status, 200, "{}", v3.body);

    let number = |text: &Value| {
        let text = text.as_str().expect("a text");
        let digits: String = text.chars().filter(char::is_ascii_digit).collect();
        digits.parse().expect("a number")
    };
    let rows = v4.body["results"].as_array().expect("results");
    let documents = v3.body["results"].as_array().expect("results");
    [
        rows.iter().map(|row| number(&row["chunk"])).collect(),
        documents
            .iter()
            .map(|document| number(&document["chunks"][0]["content"]))
            .collect(),
    ]
}

#[tokio::test]
async fn results_have_the_order_of_the_model() {
    let server = Server::start(answer).await;
    let client = start(&world_with(&server), 4).await;
    let before = server.connection_count();
    search(&client, false, 10).await;
    assert_eq!(server.connection_count(), before, "only with `rerank`");

    let found = search(&client, true, 10).await;
    assert_eq!(found, [vec![0, 1, 2, 3], vec![0, 1, 2, 3]]);
    assert_eq!(server.connection_count(), before + 2);
}

#[tokio::test]
async fn the_model_sees_more_than_what_is_returned() {
    let server = Server::start(answer).await;
    let client = start(&world_with(&server), 12).await;
    for found in search(&client, true, 2).await {
        assert_eq!(found, [0, 1]);
    }
}

#[tokio::test]
async fn a_model_that_fails_changes_nothing() {
    let is_down = Arc::new(AtomicBool::new(false));
    let is_down_now = is_down.clone();
    let server = Server::start(move |request: &ReceivedRequest| {
        if is_down_now.load(Ordering::SeqCst) {
            build_answer("503 Service Unavailable", "", b"{}")
        } else {
            answer(request)
        }
    })
    .await;
    let world = world_with(&server);
    let client = start(&world, 4).await;
    assert_eq!(search(&client, true, 10).await[0], [0, 1, 2, 3]);

    is_down.store(true, Ordering::SeqCst);
    let found = search(&client, true, 10).await;
    let mut without_model = world.clone();
    without_model.models = ModelSettings::default();
    let app = TestApp::start(&without_model, 0).await.expect("an app");
    let other = OrgClient::of(app, "acme").await;
    assert_eq!(found, search(&other, true, 10).await);
    assert_ne!(found[0], [0, 1, 2, 3]);
}
