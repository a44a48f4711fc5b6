//! `/v3/container-tags/{tag}/inferred`, and the review of inferences.

use serde_json::{Value, json};
use testkit::TestAnswer;

use crate::client::OrgClient;
use crate::memories::{client_with_box, latest_memory, live_sentences, send_conversation};
use crate::memories_forget::forget_memory;
use crate::memories_update::correct_memory;
use crate::shape::{ErrorMismatches, expect_error, expect_ok};

const CONCLUSION: &str = "User's sister lives in Bonn.";

/// Returns the inferences that are not reviewed.
async fn list_inferences(client: &OrgClient) -> Vec<Value> {
    let memory = json!({
        "id": "id", "memory": "string", "parentCount": "int", "createdAt": "time", "updatedAt": "time",
        "metadata": "object|null",
    });
    let shape = json!({"memories": [memory], "total": "int"});
    let body = expect_ok(client.get("/v3/container-tags/box/inferred").await, &shape);
    let memories = body["memories"].as_array().expect("an array").clone();
    assert_eq!(body["total"], memories.len());
    memories
}

/// Returns a client, and the id of the only inference from its conversation.
async fn client_with_inference() -> (OrgClient, String) {
    let client = client_with_box().await;
    send_conversation(&client, &["My sister is Anna.", "Anna lives in Bonn."]).await;
    let found = list_inferences(&client).await;
    assert_eq!(
        (found.len(), &found[0]["memory"], &found[0]["parentCount"]),
        (1, &json!(CONCLUSION), &json!(2))
    );
    let id = found[0]["id"].as_str().expect("an id").to_owned();
    (client, id)
}

async fn send_review(client: &OrgClient, id: &str, body: Value) -> TestAnswer {
    client
        .post(
            &format!("/v3/container-tags/box/inferred/{id}/review"),
            body,
        )
        .await
}

/// Reviews an inference. Returns whether it is still an inference, whether it is forgotten, and its
/// status.
async fn review_inference(client: &OrgClient, id: &str, action: &str) -> (bool, bool, Value) {
    let shape = json!({"id": "id", "isInference": "bool", "isForgotten": "bool", "reviewStatus": "string|null"});
    let body = expect_ok(
        send_review(client, id, json!({"action": action})).await,
        &shape,
    );
    assert_eq!(body["id"], id);
    (
        body["isInference"] == true,
        body["isForgotten"] == true,
        body["reviewStatus"].clone(),
    )
}

#[tokio::test]
async fn a_conclusion_is_reviewed_and_the_decision_taken_back() {
    let (client, id) = client_with_inference().await;
    let shown = latest_memory(&client, &id).await;
    assert_eq!(
        (
            &shown["isInference"],
            &shown["memoryRelations"].as_object().unwrap().len()
        ),
        (&json!(true), &2)
    );
    for _ in 0..2 {
        assert_eq!(
            review_inference(&client, &id, "approve").await,
            (false, false, json!("approved"))
        );
    }

    assert_eq!(
        latest_memory(&client, &id).await["reviewStatus"],
        "approved"
    );
    assert!(
        list_inferences(&client).await.is_empty(),
        "nothing is left to review"
    );
    assert_eq!(
        review_inference(&client, &id, "decline").await,
        (true, true, json!("declined"))
    );
    assert!(
        list_inferences(&client).await.is_empty()
            && !live_sentences(&client)
                .await
                .contains(&CONCLUSION.to_owned())
    );
    assert_eq!(
        review_inference(&client, &id, "undo").await,
        (true, false, Value::Null)
    );
    assert_eq!(list_inferences(&client).await.len(), 1);
    review_inference(&client, &id, "decline").await;
    send_conversation(
        &client,
        &[
            "My sister is Anna.",
            "Anna lives in Bonn.",
            "I prefer tea over coffee.",
        ],
    )
    .await;
    assert!(
        list_inferences(&client).await.is_empty(),
        "it is not concluded again"
    );
}

#[tokio::test]
async fn a_conclusion_goes_with_what_it_follows_from() {
    let (client, id) = client_with_inference().await;
    forget_memory(&client, json!({"content": "Anna lives in Bonn."})).await;
    assert!(list_inferences(&client).await.is_empty());
    expect_error(
        &send_review(&client, &id, json!({"action": "approve"})).await,
        404,
        "NotFoundError",
        "Memory",
    );
}

#[tokio::test]
async fn a_conclusion_can_be_corrected_and_forgotten() {
    let (client, id) = client_with_inference().await;
    let version = correct_memory(
        &client,
        json!({"id": id, "newContent": "User's sister lives near Bonn."}),
    )
    .await;
    assert_eq!(
        (&version["version"], &version["parentMemoryId"]),
        (&json!(1), &Value::Null)
    );
    let live = live_sentences(&client).await;
    assert!(
        live.contains(&"User's sister lives near Bonn.".to_owned()),
        "{live:?}"
    );
    assert!(!live.contains(&CONCLUSION.to_owned()), "{live:?}");
    expect_error(
        &send_review(&client, &id, json!({"action": "approve"})).await,
        409,
        "ConflictError",
        "forgotten",
    );

    let (client, id) = client_with_inference().await;
    forget_memory(&client, json!({"id": id})).await;
    assert!(list_inferences(&client).await.is_empty());
    expect_error(
        &send_review(&client, &id, json!({"action": "undo"})).await,
        409,
        "ConflictError",
        "forgotten",
    );
}

#[tokio::test]
async fn wrong_requests_are_refused() {
    let (client, id) = client_with_inference().await;
    let mut faults = ErrorMismatches::default();
    for body in [
        json!({}),
        json!({"action": "maybe"}),
        json!({"action": null}),
        json!({"action": ["approve"]}),
    ] {
        let answer = send_review(&client, &id, body.clone()).await;
        faults.check_error(&body.to_string(), &answer, 400, "ValidationError", "action");
    }

    let stated =
        forget_memory(&client, json!({"content": "User's sister is Anna."})).await["id"].clone();
    for unknown in ["x", "1111111111111111111111"] {
        faults.check_error(
            unknown,
            &send_review(&client, unknown, json!({"action": "undo"})).await,
            404,
            "NotFoundError",
            "Memory",
        );
    }

    let answer = send_review(
        &client,
        stated.as_str().unwrap(),
        json!({"action": "approve"}),
    )
    .await;
    faults.check_error("stated", &answer, 409, "ConflictError", "concluded");

    let answer = client.get("/v3/container-tags/nowhere/inferred").await;
    faults.check_error("nowhere", &answer, 404, "NotFoundError", "Container tag");
    let answer = client.get("/v3/container-tags/a%20b/inferred").await;
    faults.check_error("a b", &answer, 400, "ValidationError", "containerTag");
    faults.assert_none();
}
