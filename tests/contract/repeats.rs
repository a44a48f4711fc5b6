//! Requests that arrive twice because an answer was lost.

use domain::key::Permission;
use http::Request;
use serde_json::{Value, json};
use testkit::Answer;

use crate::client::Client;
use crate::shape::{accepted, ok, refused};

const TWO_MINUTES: i64 = 120;
const A_DAY: i64 = 24 * 3600;

/// Sends content under an `Idempotency-Key`.
async fn send_as(client: &Client, idempotency: &str, body: &Value) -> Answer {
    let request = Request::builder().method("POST").uri("/v3/documents");
    let request = request.header("authorization", format!("Bearer {}", client.key));
    let request = request.header("idempotency-key", idempotency);
    client
        .app
        .send(request.body(body.to_string().into()).expect("a request"))
        .await
}

#[tokio::test]
async fn the_same_content_within_two_minutes_is_the_same_document() {
    let client = Client::new().await;
    let body = json!({"content": "Sent twice.", "containerTag": "a", "metadata": {"n": 1}});
    let first = client.add(body.clone()).await;
    client.app.world.clock.advance_seconds(TWO_MINUTES - 30);
    let again = ok(
        client.post("/v3/documents", body.clone()).await,
        &accepted(),
    );
    assert_eq!(
        again,
        json!({"id": first, "status": "done"}),
        "the answer tells the present state"
    );

    client.app.world.clock.advance_seconds(31);
    let later = client.send(body).await;
    assert_ne!(later, first, "two minutes later it is a new document");
    assert_eq!(client.listed(json!({})).await, [later, first]);
}

#[tokio::test]
async fn anything_different_within_two_minutes_is_another_document() {
    let client = Client::new().await;
    let body = json!({"content": "Sent once.", "containerTag": "a"});
    let mut sent = vec![client.send(body.clone()).await];
    for (field, value) in [
        ("content", json!("Sent once!")),
        ("containerTag", json!("b")),
        ("metadata", json!({"n": 1})),
        ("filepath", json!("/a")),
        ("taskType", json!("superrag")),
        ("documentDate", json!("2025-01-01")),
    ] {
        let mut other = body.clone();
        other[field] = value;
        let id = client.send(other).await;
        assert!(!sent.contains(&id), "{field}");
        sent.push(id);
    }

    let other_key = client.app.key_with("acme", Permission::Write, None).await;
    let answer = client.app.post("/v3/documents", &other_key, &body).await;
    assert!(
        !sent.iter().any(|id| answer.body["id"] == id.as_str()),
        "another key is another client"
    );
}

#[tokio::test]
async fn content_that_was_deleted_can_be_sent_again_at_once() {
    let client = Client::new().await;
    let body = json!({"content": "Sent, deleted, sent."});
    let first = client.add(body.clone()).await;
    assert_eq!(
        client
            .delete(&format!("/v3/documents/{first}"))
            .await
            .status,
        204
    );
    let again = client.add(body).await;
    assert_eq!(client.document(&again).await["status"], "done");
    assert_eq!(client.found("deleted").await.len(), 1);
}

#[tokio::test]
async fn content_that_was_changed_since_can_be_sent_again_at_once() {
    let client = Client::new().await;
    let body = json!({"content": "The heron X."});
    let first = client.add(body.clone()).await;
    client
        .update(&first, json!({"content": "The heron Y."}))
        .await;
    let second = client.add(body.clone()).await;
    assert_ne!(second, first, "what was sent would be nowhere");
    assert_eq!(client.document(&second).await["content"], "The heron X.");
    assert_eq!(
        client.add(body.clone()).await,
        second,
        "and this one is the document of a retry now"
    );

    client.update(&first, json!({"customId": "moved"})).await;
    client
        .update(&second, json!({"customId": "moved-too"}))
        .await;
    let third = client.add(body.clone()).await;
    assert_eq!(client.document(&third).await["content"], "The heron X.");

    client.update(&third, json!({"metadata": {"n": 2}})).await;
    assert_eq!(
        client.add(body).await,
        third,
        "its content is still what was sent"
    );
}

#[tokio::test]
async fn a_memory_that_was_changed_since_can_be_written_again_at_once() {
    let client = Client::new().await;
    client
        .send(json!({"content": "A crane.", "containerTag": "box"}))
        .await;
    let write = async || {
        let body = json!({"containerTag": "box", "memories": [{"content": "The heron X waits."}]});
        let answer = client.post("/v4/memories", body).await;
        assert_eq!(answer.status, 201, "{}", answer.body);
        answer.body["documentId"]
            .as_str()
            .expect("an id")
            .to_owned()
    };
    let first = write().await;
    assert_eq!(write().await, first);
    client
        .update(&first, json!({"content": "The heron Y waits."}))
        .await;
    client.settle().await;
    assert_ne!(write().await, first);
}

#[tokio::test]
async fn an_idempotency_key_never_brings_a_deleted_document_back() {
    let client = Client::new().await;
    let body = json!({"content": "Under a key.", "containerTag": "a"});
    let first = ok(send_as(&client, "order-1", &body).await, &accepted())["id"].clone();
    let first = first.as_str().expect("an id");
    client.settle().await;
    assert_eq!(
        client
            .delete(&format!("/v3/documents/{first}"))
            .await
            .status,
        204
    );

    for _ in 0..2 {
        refused(
            &send_as(&client, "order-1", &body).await,
            409,
            "ConflictError",
            "was deleted or moved",
        );
    }

    assert!(client.listed(json!({})).await.is_empty());
    let again = ok(send_as(&client, "order-2", &body).await, &accepted())["id"].clone();
    assert_eq!(
        client.listed(json!({})).await,
        [again.as_str().expect("an id")],
        "another key is another request"
    );
}

#[tokio::test]
async fn an_idempotency_key_tells_what_became_of_its_document() {
    let client = Client::new().await;
    let body = json!({"content": "Under a key."});
    let first = ok(send_as(&client, "order-1", &body).await, &accepted())["id"].clone();
    let first = first.as_str().expect("an id");
    client.settle().await;
    client
        .update(first, json!({"content": "Changed since."}))
        .await;
    assert_eq!(
        ok(send_as(&client, "order-1", &body).await, &accepted())["id"],
        first
    );

    client.settle().await;
    assert_eq!(client.document(first).await["content"], "Changed since.");
    client.update(first, json!({"customId": "moved"})).await;
    refused(
        &send_as(&client, "order-1", &body).await,
        409,
        "ConflictError",
        "was deleted or moved",
    );
}

#[tokio::test]
async fn the_same_file_within_two_minutes_is_the_same_document() {
    let client = Client::new().await;
    let mut ids = Vec::new();
    for name in ["a.txt", "a.txt", "b.txt"] {
        let answer = client
            .app
            .upload(&client.key, name, b"The same bytes.", &[])
            .await;
        ids.push(ok(answer, &accepted())["id"].clone());
    }
    assert_eq!(ids[0], ids[1]);
    assert_ne!(ids[0], ids[2], "another name is another file");
}

#[tokio::test]
async fn an_idempotency_key_is_honoured_for_a_day() {
    let client = Client::new().await;
    let body = json!({"content": "Under a key."});
    let first = ok(send_as(&client, "order-1", &body).await, &accepted());
    client.app.world.clock.advance_seconds(A_DAY - 60);
    assert_eq!(
        ok(send_as(&client, "order-1", &body).await, &accepted())["id"],
        first["id"]
    );
    assert_ne!(
        ok(send_as(&client, "order-2", &body).await, &accepted())["id"],
        first["id"]
    );

    client.app.world.clock.advance_seconds(61);
    assert_ne!(
        ok(send_as(&client, "order-1", &body).await, &accepted())["id"],
        first["id"]
    );
}

#[tokio::test]
async fn an_idempotency_key_with_another_request_is_a_conflict() {
    let client = Client::new().await;
    let body = json!({"content": "Under a key.", "containerTag": "a"});
    ok(send_as(&client, "order-1", &body).await, &accepted());
    for (field, value) in [
        ("content", json!("Other words.")),
        ("metadata", json!({"n": 1})),
        ("containerTag", json!("b")),
    ] {
        let mut other = body.clone();
        other[field] = value;
        refused(
            &send_as(&client, "order-1", &other).await,
            409,
            "ConflictError",
            "Idempotency-Key",
        );
    }

    assert_eq!(client.listed(json!({})).await.len(), 1);
}

#[tokio::test]
async fn an_idempotency_key_belongs_to_the_api_key() {
    let mut client = Client::new().await;
    let body = json!({"content": "Under a key."});
    let first = ok(send_as(&client, "order-1", &body).await, &accepted());
    client.key = client.app.key_with("acme", Permission::Write, None).await;
    assert_ne!(
        ok(send_as(&client, "order-1", &body).await, &accepted())["id"],
        first["id"]
    );
}

#[tokio::test]
async fn an_idempotency_key_that_cannot_be_kept_is_refused() {
    let client = Client::new().await;
    let long = "x".repeat(256);
    for key in ["", long.as_str()] {
        let answer = send_as(&client, key, &json!({"content": "Words."})).await;
        refused(&answer, 400, "ValidationError", "Idempotency-Key");
    }
}
