//! `/v3/memories*` answers like `/v3/documents*`.

use serde_json::{Value, json};
use testkit::{TestAnswer, multipart_form};

use crate::client::OrgClient;

/// Returns the status and the body of an answer, without the fields that differ between any two
/// answers.
fn comparable_answer(answer: TestAnswer) -> (u16, Value) {
    (answer.status.as_u16(), without_differences(answer.body))
}

fn without_differences(value: Value) -> Value {
    const DIFFERENT: [&str; 4] = ["id", "requestId", "createdAt", "updatedAt"];
    match value {
        Value::Object(fields) => {
            let same = fields
                .into_iter()
                .filter(|(name, _)| !DIFFERENT.contains(&name.as_str()));
            same.map(|(name, value)| (name, without_differences(value)))
                .collect()
        }
        Value::Array(items) => items.into_iter().map(without_differences).collect(),
        other => other,
    }
}

/// Runs the same sequence of requests on the routes below `base`, and returns the answer to each.
async fn run_story(base: &str) -> Vec<(String, (u16, Value))> {
    let client = OrgClient::new().await;
    let mut answers = Vec::new();
    let mut note =
        |what: &str, answer: TestAnswer| answers.push((what.to_owned(), comparable_answer(answer)));
    let heron = json!({"content": "A heron.", "customId": "heron", "containerTag": "birds", "filepath": "/a/1"});
    note("add", client.post(base, heron.clone()).await);
    note(
        "add nothing",
        client.post(base, json!({"content": ""})).await,
    );
    let batch = json!({"documents": ["A bittern.", {"content": null}], "containerTag": "birds"});
    note("batch", client.post(&format!("{base}/batch"), batch).await);
    let (kind, form) = multipart_form(
        "crane.txt",
        b"A crane.",
        &[("customId", "crane"), ("containerTag", "birds")],
    );
    note(
        "file",
        client
            .send_bytes("POST", &format!("{base}/file"), &kind, form)
            .await,
    );
    note(
        "no file",
        client
            .send_bytes("POST", &format!("{base}/file"), "application/json", "{}")
            .await,
    );
    client.run_until_settled().await;
    let list = json!({"containerTags": ["birds"], "includeContent": true, "order": "asc"});
    note("list", client.post(&format!("{base}/list"), list).await);
    note(
        "list wrongly",
        client
            .post(&format!("{base}/list"), json!({"page": 0}))
            .await,
    );
    note("get", client.get(&format!("{base}/heron")).await);
    note(
        "get nothing",
        client.get(&format!("{base}/never-existed")).await,
    );
    note(
        "update",
        client
            .send_patch(&format!("{base}/heron"), json!({"metadata": {"n": 1}}))
            .await,
    );
    note(
        "update wrongly",
        client
            .send_patch(&format!("{base}/heron"), json!({"documentDate": "soon"}))
            .await,
    );
    note(
        "get again",
        client
            .get(&format!("{base}/heron?containerTag=birds"))
            .await,
    );
    note("delete", client.delete(&format!("{base}/heron")).await);
    let bulk = |body: Value| (format!("{base}/bulk"), body.to_string());

    for body in [
        json!({"ids": ["crane", "gone"]}),
        json!({"containerTags": ["birds"]}),
        json!({}),
    ] {
        let (path, body) = bulk(body);
        note(
            "bulk",
            client
                .send_bytes("DELETE", &path, "application/json", body)
                .await,
        );
    }

    note(
        "list nothing",
        client.post(&format!("{base}/list"), json!({})).await,
    );
    answers
}

#[tokio::test]
async fn every_alias_does_what_its_twin_does() {
    let (documents, memories) = (
        run_story("/v3/documents").await,
        run_story("/v3/memories").await,
    );
    assert_eq!(documents.len(), memories.len());
    for (document, memory) in documents.iter().zip(&memories) {
        assert_eq!(memory, document);
    }

    let statuses: Vec<u16> = documents.iter().map(|(_, (status, _))| *status).collect();
    assert_eq!(
        statuses,
        [
            200, 400, 200, 200, 415, 200, 400, 200, 404, 200, 400, 200, 204, 200, 200, 400, 200
        ]
    );
    assert_eq!(
        documents[5].1.1["pagination"]["totalItems"], 3,
        "{:?}",
        documents[5]
    );
    assert_eq!(documents[16].1.1["pagination"]["totalItems"], 0);
}

#[tokio::test]
async fn what_is_added_by_one_is_read_by_the_other() {
    let client = OrgClient::new().await;
    let answer = client
        .post("/v3/memories", json!({"content": "A heron."}))
        .await;
    let id = answer.body["id"].as_str().expect("an id").to_owned();
    client.run_until_settled().await;
    let (document, memory) = (
        client.get_document(&id).await,
        client.get(&format!("/v3/memories/{id}")).await.body,
    );

    assert_eq!(document, memory);
    assert_eq!(
        client.delete(&format!("/v3/memories/{id}")).await.status,
        204
    );
    assert_eq!(client.get(&format!("/v3/documents/{id}")).await.status, 404);
}
