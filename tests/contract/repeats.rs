//! Requests that arrive twice because an answer was lost.

use domain::key::Permission;
use http::Request;
use serde_json::{Value, json};
use testkit::TestAnswer;

use crate::client::OrgClient;
use crate::shape::{accepted_shape, expect_error, expect_ok};

const TWO_MINUTES: i64 = 120;
const A_DAY: i64 = 24 * 3600;

/// Sends content under an `Idempotency-Key`.
async fn send_as(client: &OrgClient, idempotency: &str, body: &Value) -> TestAnswer {
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
    let client = OrgClient::new().await;
    let body = json!({"content": "Sent twice.", "containerTag": "a", "metadata": {"n": 1}});
    let first = client.add_document(body.clone()).await;
    client
        .app
        .environment
        .clock
        .advance_seconds(TWO_MINUTES - 30);
    let again = expect_ok(
        client.post("/v3/documents", body.clone()).await,
        &accepted_shape(),
    );
    assert_eq!(
        again,
        json!({"id": first, "status": "done"}),
        "the answer tells the present state"
    );

    client.app.environment.clock.advance_seconds(31);
    let later = client.send_document(body).await;
    assert_ne!(later, first, "two minutes later it is a new document");
    assert_eq!(client.listed_ids(json!({})).await, [later, first]);
}

#[tokio::test]
async fn anything_different_within_two_minutes_is_another_document() {
    let client = OrgClient::new().await;
    let body = json!({"content": "Sent once.", "containerTag": "a"});
    let mut sent = vec![client.send_document(body.clone()).await];
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
        let id = client.send_document(other).await;
        assert!(!sent.contains(&id), "{field}");
        sent.push(id);
    }

    let other_key = client
        .app
        .create_key_with("acme", Permission::Write, None)
        .await;
    let answer = client.app.post("/v3/documents", &other_key, &body).await;
    assert!(
        !sent.iter().any(|id| answer.body["id"] == id.as_str()),
        "another key is another client"
    );
}

#[tokio::test]
async fn content_that_was_deleted_can_be_sent_again_at_once() {
    let client = OrgClient::new().await;
    let body = json!({"content": "Sent, deleted, sent."});
    let first = client.add_document(body.clone()).await;
    assert_eq!(
        client
            .delete(&format!("/v3/documents/{first}"))
            .await
            .status,
        204
    );
    let again = client.add_document(body).await;
    assert_eq!(client.get_document(&again).await["status"], "done");
    assert_eq!(client.search_texts("deleted").await.len(), 1);
}

#[tokio::test]
async fn content_that_was_moved_to_a_deleted_tag_can_be_sent_again_at_once() {
    let client = OrgClient::new().await;
    let body = json!({"content": "Sent, moved, sent.", "containerTag": "a"});
    let first = client.add_document(body.clone()).await;
    client
        .update_document(&first, json!({"containerTag": "b"}))
        .await;
    client.run_until_settled().await;
    let answer = client.delete("/v3/container-tags/b").await;
    assert!(answer.status.is_success(), "{}", answer.body);

    let again = client.add_document(body).await;
    assert_ne!(again, first);
    assert_eq!(client.get_document(&again).await["status"], "done");
}

#[tokio::test]
async fn content_that_was_changed_since_can_be_sent_again_at_once() {
    let client = OrgClient::new().await;
    let body = json!({"content": "The heron X."});
    let first = client.add_document(body.clone()).await;
    client
        .update_document(&first, json!({"content": "The heron Y."}))
        .await;
    let second = client.add_document(body.clone()).await;
    assert_ne!(second, first, "what was sent would be nowhere");
    assert_eq!(
        client.get_document(&second).await["content"],
        "The heron X."
    );
    assert_eq!(
        client.add_document(body.clone()).await,
        second,
        "and this one is the document of a retry now"
    );

    client
        .update_document(&first, json!({"customId": "moved"}))
        .await;
    client
        .update_document(&second, json!({"customId": "moved-too"}))
        .await;
    let third = client.add_document(body.clone()).await;
    assert_eq!(client.get_document(&third).await["content"], "The heron X.");

    client
        .update_document(&third, json!({"metadata": {"n": 2}}))
        .await;
    assert_eq!(
        client.add_document(body).await,
        third,
        "its content is still what was sent"
    );
}

#[tokio::test]
async fn a_memory_that_was_changed_since_can_be_written_again_at_once() {
    let client = OrgClient::new().await;
    client
        .send_document(json!({"content": "A crane.", "containerTag": "box"}))
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
        .update_document(&first, json!({"content": "The heron Y waits."}))
        .await;
    client.run_until_settled().await;
    assert_ne!(write().await, first);
}

#[tokio::test]
async fn an_idempotency_key_never_brings_a_deleted_document_back() {
    let client = OrgClient::new().await;
    let body = json!({"content": "Under a key.", "containerTag": "a"});
    let first =
        expect_ok(send_as(&client, "order-1", &body).await, &accepted_shape())["id"].clone();
    let first = first.as_str().expect("an id");
    client.run_until_settled().await;
    assert_eq!(
        client
            .delete(&format!("/v3/documents/{first}"))
            .await
            .status,
        204
    );

    for _ in 0..2 {
        expect_error(
            &send_as(&client, "order-1", &body).await,
            409,
            "ConflictError",
            "was deleted",
        );
    }

    assert!(client.listed_ids(json!({})).await.is_empty());
    let again =
        expect_ok(send_as(&client, "order-2", &body).await, &accepted_shape())["id"].clone();
    assert_eq!(
        client.listed_ids(json!({})).await,
        [again.as_str().expect("an id")],
        "another key is another request"
    );
}

#[tokio::test]
async fn an_idempotency_key_tells_what_became_of_its_document() {
    let client = OrgClient::new().await;
    let body = json!({"content": "Under a key."});
    let first =
        expect_ok(send_as(&client, "order-1", &body).await, &accepted_shape())["id"].clone();
    let first = first.as_str().expect("an id");
    client.run_until_settled().await;
    client
        .update_document(first, json!({"content": "Changed since."}))
        .await;
    assert_eq!(
        expect_ok(send_as(&client, "order-1", &body).await, &accepted_shape())["id"],
        first
    );

    client.run_until_settled().await;
    assert_eq!(
        client.get_document(first).await["content"],
        "Changed since."
    );
    client
        .update_document(first, json!({"customId": "moved"}))
        .await;
    assert_eq!(
        expect_ok(send_as(&client, "order-1", &body).await, &accepted_shape())["id"],
        first
    );

    client.delete(&format!("/v3/documents/{first}")).await;
    expect_error(
        &send_as(&client, "order-1", &body).await,
        409,
        "ConflictError",
        "was deleted",
    );
}

#[tokio::test]
async fn the_same_file_within_two_minutes_is_the_same_document() {
    let client = OrgClient::new().await;
    let mut ids = Vec::new();
    for name in ["a.txt", "a.txt", "b.txt"] {
        let answer = client
            .app
            .upload_file(&client.key, name, b"The same bytes.", &[])
            .await;
        ids.push(expect_ok(answer, &accepted_shape())["id"].clone());
    }
    assert_eq!(ids[0], ids[1]);
    assert_ne!(ids[0], ids[2], "another name is another file");
}

#[tokio::test]
async fn an_idempotency_key_is_honoured_for_a_day() {
    let client = OrgClient::new().await;
    let body = json!({"content": "Under a key."});
    let first = expect_ok(send_as(&client, "order-1", &body).await, &accepted_shape());
    client.app.environment.clock.advance_seconds(A_DAY - 60);
    assert_eq!(
        expect_ok(send_as(&client, "order-1", &body).await, &accepted_shape())["id"],
        first["id"]
    );
    assert_ne!(
        expect_ok(send_as(&client, "order-2", &body).await, &accepted_shape())["id"],
        first["id"]
    );

    client.app.environment.clock.advance_seconds(61);
    assert_ne!(
        expect_ok(send_as(&client, "order-1", &body).await, &accepted_shape())["id"],
        first["id"]
    );
}

#[tokio::test]
async fn an_idempotency_key_with_another_request_is_a_conflict() {
    let client = OrgClient::new().await;
    let body = json!({"content": "Under a key.", "containerTag": "a"});
    expect_ok(send_as(&client, "order-1", &body).await, &accepted_shape());
    for (field, value) in [
        ("content", json!("Other words.")),
        ("metadata", json!({"n": 1})),
        ("containerTag", json!("b")),
    ] {
        let mut other = body.clone();
        other[field] = value;
        expect_error(
            &send_as(&client, "order-1", &other).await,
            409,
            "ConflictError",
            "Idempotency-Key",
        );
    }

    assert_eq!(client.listed_ids(json!({})).await.len(), 1);
}

#[tokio::test]
async fn an_idempotency_key_belongs_to_the_api_key() {
    let mut client = OrgClient::new().await;
    let body = json!({"content": "Under a key."});
    let first = expect_ok(send_as(&client, "order-1", &body).await, &accepted_shape());
    client.key = client
        .app
        .create_key_with("acme", Permission::Write, None)
        .await;
    assert_ne!(
        expect_ok(send_as(&client, "order-1", &body).await, &accepted_shape())["id"],
        first["id"]
    );
}

#[tokio::test]
async fn an_idempotency_key_that_cannot_be_kept_is_refused() {
    let client = OrgClient::new().await;
    let long = "x".repeat(256);
    for key in ["", long.as_str()] {
        let answer = send_as(&client, key, &json!({"content": "Words."})).await;
        expect_error(&answer, 400, "ValidationError", "Idempotency-Key");
    }
}
