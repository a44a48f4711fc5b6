//! Vectors by an embedding model that the operator chose: processing, failures, the change of a
//! model in the background, and the change back.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use cli::transfer::ImportOptions;
use remote::ModelSettings;
use serde_json::{Value, json};
use testkit::{TestApp, TestEnvironment};

use crate::client::OrgClient;
use crate::reuse::served_pack;
use crate::server::{ReceivedRequest, Server, build_answer, build_page};
use crate::transfer::{TAG, export_lines, import_text, text};

/// The subjects that the model of these tests knows, in the words of questions and of texts.
const SUBJECTS: [&[&str]; 3] = [
    &["feline", "cat"],
    &["vessel", "ship"],
    &["tongue", "language"],
];

/// Answers as an endpoint whose vectors have a dimension for each subject. The model `wide` has a
/// hundred more.
pub(crate) fn answer(request: &ReceivedRequest) -> Vec<u8> {
    let body: Value = serde_json::from_str(&request.body).expect("JSON");
    let mut data = Vec::new();
    for (index, text) in body["input"].as_array().expect("texts").iter().enumerate() {
        let text = text.as_str().expect("a text").to_lowercase();
        let mut vector = vec![0.01; 4];
        for (dimension, words) in SUBJECTS.iter().enumerate() {
            if words.iter().any(|word| text.contains(word)) {
                vector[dimension] = 1.0;
            }
        }
        if body["model"] == "wide" {
            vector.extend([0.001; 100]);
        }
        data.push(json!({"index": index, "embedding": vector}));
    }
    let body = json!({"data": data, "usage": {"total_tokens": 5}}).to_string();
    build_page("application/json", body.as_bytes())
}

pub(crate) fn set_model(world: &mut TestEnvironment, server: &Server, model: Option<&str>) {
    world.models = ModelSettings {
        embedding_url: Some(format!("http://{}/v1", server.address)),
        embedding_model: model.map(str::to_owned),
        ..ModelSettings::default()
    };
}

pub(crate) async fn start(world: &TestEnvironment) -> OrgClient {
    let app = TestApp::start(world, 0).await.expect("an app");
    OrgClient::of(app, "acme").await
}

async fn add_texts(client: &OrgClient) -> Vec<String> {
    let texts = [
        "The cat sleeps on the warm stove all afternoon.",
        "A ship enters the harbour with red sails.",
        "She studies a language with seven cases.",
    ];
    let mut ids = Vec::new();
    for text in texts {
        let body = json!({"content": text, "taskType": "superrag"});
        ids.push(client.add_document(body).await);
    }
    ids
}

/// Returns the ids of the documents that a search finds, the best first.
pub(crate) async fn search(client: &OrgClient, question: &str) -> Vec<String> {
    let answer = client.post("/v3/search", json!({"q": question})).await;
    assert_eq!(answer.status, 200, "{}", answer.body);
    let results = answer.body["results"].as_array().expect("results");
    let id = |result: &Value| result["documentId"].as_str().expect("an id").to_owned();
    results.iter().map(id).collect()
}

/// Checks that words of the model's alone find the texts of [`add_texts`].
async fn expect_found_by_model(client: &OrgClient, ids: &[String]) {
    for (question, id) in ["feline", "vessel", "tongue"].into_iter().zip(ids) {
        let found = search(client, question).await;
        assert_eq!(found.first(), Some(id), "{question}");
    }
}

#[tokio::test]
async fn a_question_finds_by_the_model_what_shares_no_word_with_it() {
    let server = Server::start(answer).await;
    let mut world = TestEnvironment::new().expect("a folder");
    set_model(&mut world, &server, Some("narrow"));
    let client = start(&world).await;
    let ids = add_texts(&client).await;

    expect_found_by_model(&client, &ids).await;
    let pack = served_pack(&client, &ids[0]).await;
    assert_eq!(pack.chosen_model.as_deref(), Some("narrow"));
    assert_eq!(pack.chunks[0].model_vector.len(), 4);
}

#[tokio::test]
async fn a_model_that_fails_delays_its_vectors_and_nothing_else() {
    let is_down = Arc::new(AtomicBool::new(true));
    let is_down_now = is_down.clone();
    let server = Server::start(move |request: &ReceivedRequest| {
        if is_down_now.load(Ordering::SeqCst) {
            build_answer("503 Service Unavailable", "", b"{}")
        } else {
            answer(request)
        }
    })
    .await;
    let mut world = TestEnvironment::new().expect("a folder");
    set_model(&mut world, &server, Some("narrow"));
    let client = start(&world).await;
    let ids = add_texts(&client).await;
    let found = search(&client, "Where does the cat sleep?").await;
    assert_eq!(found.first(), Some(&ids[0]), "words and built-in vectors");

    is_down.store(false, Ordering::SeqCst);
    world.clock.advance_seconds(1_000);
    client
        .app
        .run_until_settled()
        .await
        .expect("work that ends");
    expect_found_by_model(&client, &ids).await;
    assert_eq!(
        served_pack(&client, &ids[2]).await.chosen_model.as_deref(),
        Some("narrow")
    );

    is_down.store(true, Ordering::SeqCst);
    let found = search(&client, "Where does the cat sleep?").await;
    assert_eq!(found.first(), Some(&ids[0]), "a question without the model");
}

#[tokio::test]
async fn another_model_takes_over_in_the_background_and_back() {
    let server = Server::start(answer).await;
    let mut world = TestEnvironment::new().expect("a folder");
    set_model(&mut world, &server, None);
    let client = start(&world).await;
    let ids = add_texts(&client).await;
    assert_eq!(served_pack(&client, &ids[0]).await.chosen_model, None);
    drop(client);

    for model in ["narrow", "wide", "narrow"] {
        set_model(&mut world, &server, Some(model));
        let client = start(&world).await;
        // The first search finds by the old vectors, and asks for the new ones.
        let found = search(&client, "Where does the cat sleep?").await;
        assert_eq!(found.first(), Some(&ids[0]));
        client
            .app
            .run_until_settled()
            .await
            .expect("work that ends");

        for (question, id) in ["feline", "vessel", "tongue"].into_iter().zip(&ids) {
            let pack = served_pack(&client, id).await;
            assert_eq!(pack.chosen_model.as_deref(), Some(model));
            assert_eq!(search(&client, question).await.first(), Some(id), "{model}");
            let document = client.get(&format!("/v3/documents/{id}")).await.body;
            assert_eq!(document["status"], "done");
        }

        // Everything is embedded, so a further search asks for nothing.
        let before = server.connection_count();
        search(&client, "feline").await;
        client
            .app
            .run_until_settled()
            .await
            .expect("work that ends");
        assert_eq!(server.connection_count(), before + 1, "the question alone");
    }

    set_model(&mut world, &server, None);
    let client = start(&world).await;
    let before = server.connection_count();
    let found = search(&client, "Where does the cat sleep?").await;
    assert_eq!(found.first(), Some(&ids[0]));
    assert_eq!(server.connection_count(), before, "no model is asked");
}

#[tokio::test]
async fn an_export_and_its_import_carry_the_vectors_and_their_model() {
    let server = Server::start(answer).await;
    let mut world = TestEnvironment::new().expect("a folder");
    set_model(&mut world, &server, Some("narrow"));
    let client = start(&world).await;
    let body = json!({
        "content": "The cat sleeps on the warm stove all afternoon.",
        "taskType": "superrag",
        "containerTag": TAG,
    });
    client.add_document(body).await;
    let lines = export_lines(&client, TAG).await;

    let app = TestApp::start(&world, 0).await.expect("an app");
    let other = OrgClient::of(app, "other").await;
    let before = server.connection_count();
    import_text(&other, &text(&lines), &ImportOptions::default())
        .await
        .expect("an import");
    other.app.run_until_settled().await.expect("work that ends");
    assert_eq!(
        server.connection_count(),
        before,
        "nothing is embedded again"
    );

    let found = search(&other, "feline").await;
    assert_eq!(found.len(), 1);
    let pack = served_pack(&other, &found[0]).await;
    assert_eq!(pack.chosen_model.as_deref(), Some("narrow"));
    assert_eq!(pack.chunks[0].model_vector.len(), 4);
}
