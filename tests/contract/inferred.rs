//! `/v3/container-tags/{tag}/inferred`, and the review of inferences.

use serde_json::{Value, json};
use testkit::Answer;

use crate::client::Client;
use crate::memories::{client, entry, live, talk};
use crate::memories_forget::forget;
use crate::memories_update::correct;
use crate::shape::{Faults, ok, refused};

const CONCLUSION: &str = "User's sister lives in Bonn.";

/// Returns the inferences that are not reviewed.
async fn inferred(client: &Client) -> Vec<Value> {
    let memory = json!({
        "id": "id", "memory": "string", "parentCount": "int", "createdAt": "time", "updatedAt": "time",
        "metadata": "object|null",
    });
    let shape = json!({"memories": [memory], "total": "int"});
    let body = ok(client.get("/v3/container-tags/box/inferred").await, &shape);
    let memories = body["memories"].as_array().expect("an array").clone();
    assert_eq!(body["total"], memories.len());
    memories
}

/// Returns a client, and the id of the only inference from its conversation.
async fn concluded() -> (Client, String) {
    let client = client().await;
    talk(&client, &["My sister is Anna.", "Anna lives in Bonn."]).await;
    let found = inferred(&client).await;
    assert_eq!(
        (found.len(), &found[0]["memory"], &found[0]["parentCount"]),
        (1, &json!(CONCLUSION), &json!(2))
    );
    let id = found[0]["id"].as_str().expect("an id").to_owned();
    (client, id)
}

async fn ask(client: &Client, id: &str, body: Value) -> Answer {
    client
        .post(
            &format!("/v3/container-tags/box/inferred/{id}/review"),
            body,
        )
        .await
}

/// Reviews an inference. Returns whether it is still an inference, whether it is forgotten, and its
/// status.
async fn review(client: &Client, id: &str, action: &str) -> (bool, bool, Value) {
    let shape = json!({"id": "id", "isInference": "bool", "isForgotten": "bool", "reviewStatus": "string|null"});
    let body = ok(ask(client, id, json!({"action": action})).await, &shape);
    assert_eq!(body["id"], id);
    (
        body["isInference"] == true,
        body["isForgotten"] == true,
        body["reviewStatus"].clone(),
    )
}

#[tokio::test]
async fn a_conclusion_is_reviewed_and_the_decision_taken_back() {
    let (client, id) = concluded().await;
    let shown = entry(&client, &id).await;
    assert_eq!(
        (
            &shown["isInference"],
            &shown["memoryRelations"].as_object().unwrap().len()
        ),
        (&json!(true), &2)
    );
    for _ in 0..2 {
        assert_eq!(
            review(&client, &id, "approve").await,
            (false, false, json!("approved"))
        );
    }

    assert_eq!(entry(&client, &id).await["reviewStatus"], "approved");
    assert!(
        inferred(&client).await.is_empty(),
        "nothing is left to review"
    );
    assert_eq!(
        review(&client, &id, "decline").await,
        (true, true, json!("declined"))
    );
    assert!(
        inferred(&client).await.is_empty() && !live(&client).await.contains(&CONCLUSION.to_owned())
    );
    assert_eq!(
        review(&client, &id, "undo").await,
        (true, false, Value::Null)
    );
    assert_eq!(inferred(&client).await.len(), 1);
    review(&client, &id, "decline").await;
    talk(
        &client,
        &[
            "My sister is Anna.",
            "Anna lives in Bonn.",
            "I prefer tea over coffee.",
        ],
    )
    .await;
    assert!(
        inferred(&client).await.is_empty(),
        "it is not concluded again"
    );
}

#[tokio::test]
async fn a_conclusion_goes_with_what_it_follows_from() {
    let (client, id) = concluded().await;
    forget(&client, json!({"content": "Anna lives in Bonn."})).await;
    assert!(inferred(&client).await.is_empty());
    refused(
        &ask(&client, &id, json!({"action": "approve"})).await,
        404,
        "NotFoundError",
        "Memory",
    );
}

#[tokio::test]
async fn a_conclusion_can_be_corrected_and_forgotten() {
    let (client, id) = concluded().await;
    let version = correct(
        &client,
        json!({"id": id, "newContent": "User's sister lives near Bonn."}),
    )
    .await;
    assert_eq!(
        (&version["version"], &version["parentMemoryId"]),
        (&json!(1), &Value::Null)
    );
    let live = live(&client).await;
    assert!(
        live.contains(&"User's sister lives near Bonn.".to_owned()),
        "{live:?}"
    );
    assert!(!live.contains(&CONCLUSION.to_owned()), "{live:?}");
    refused(
        &ask(&client, &id, json!({"action": "approve"})).await,
        409,
        "ConflictError",
        "forgotten",
    );

    let (client, id) = concluded().await;
    forget(&client, json!({"id": id})).await;
    assert!(inferred(&client).await.is_empty());
    refused(
        &ask(&client, &id, json!({"action": "undo"})).await,
        409,
        "ConflictError",
        "forgotten",
    );
}

#[tokio::test]
async fn wrong_requests_are_refused() {
    let (client, id) = concluded().await;
    let mut faults = Faults::default();
    for body in [
        json!({}),
        json!({"action": "maybe"}),
        json!({"action": null}),
        json!({"action": ["approve"]}),
    ] {
        let answer = ask(&client, &id, body.clone()).await;
        faults.note(&body.to_string(), &answer, 400, "ValidationError", "action");
    }

    let stated = forget(&client, json!({"content": "User's sister is Anna."})).await["id"].clone();
    for unknown in ["x", "1111111111111111111111"] {
        faults.note(
            unknown,
            &ask(&client, unknown, json!({"action": "undo"})).await,
            404,
            "NotFoundError",
            "Memory",
        );
    }

    let answer = ask(
        &client,
        stated.as_str().unwrap(),
        json!({"action": "approve"}),
    )
    .await;
    faults.note("stated", &answer, 409, "ConflictError", "concluded");

    let answer = client.get("/v3/container-tags/nowhere/inferred").await;
    faults.note("nowhere", &answer, 404, "NotFoundError", "Container tag");
    let answer = client.get("/v3/container-tags/a%20b/inferred").await;
    faults.note("a b", &answer, 400, "ValidationError", "containerTag");
    faults.assert_none();
}
