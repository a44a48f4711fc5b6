//! `POST /v4/conversations`.

use serde_json::{Value, json};

use crate::client::OrgClient;
use crate::shape::{ErrorMismatches, expect_ok};

fn conversation(messages: Value) -> Value {
    json!({"conversationId": "talk 1/a", "messages": messages, "containerTags": ["chat"]})
}

/// Sends turns, processes them, and returns the resulting text.
async fn text(client: &OrgClient, messages: Value) -> String {
    let shape = json!({"id": "id", "conversationId": "string", "status": "string"});
    let answer = expect_ok(
        client
            .post("/v4/conversations", conversation(messages))
            .await,
        &shape,
    );
    assert_eq!(answer["conversationId"], "talk 1/a");
    client.run_until_settled().await;
    let document = client
        .get_document(answer["id"].as_str().expect("an id"))
        .await;
    assert_eq!(document["status"], "done", "{document}");
    document["content"].as_str().expect("text").to_owned()
}

#[tokio::test]
async fn turns_become_a_searchable_document_under_the_conversations_id() {
    let client = OrgClient::new().await;
    let turns = json!([
        {"role": "system", "content": "You are a harbour guide."},
        {"role": "user", "name": "Ada", "content": "Where does the ferry QX-771 leave?"},
        {"role": "assistant", "content": "From pier nine."},
    ]);
    let text = text(&client, turns).await;

    for part in [
        "You are a harbour guide.",
        "Ada: Where does the ferry QX-771 leave?",
        "Assistant: From pier nine.",
    ] {
        assert!(text.contains(part), "{part} in {text}");
    }

    assert!(client.search_finds("QX-771").await);
    let document = client.get_document("talk%201%2Fa").await;
    assert_eq!(document["customId"], "talk 1/a");
    assert_eq!(document["containerTags"], json!(["chat"]));
}

#[tokio::test]
async fn a_grown_conversation_replaces_the_shorter_one() {
    let client = OrgClient::new().await;
    let mut turns = vec![json!({"role": "user", "content": "I moved to Lisbon."})];
    text(&client, json!(turns)).await;
    turns.push(json!({"role": "assistant", "content": "How is Alfama?"}));
    let grown = text(&client, json!(turns)).await;
    assert!(grown.contains("Lisbon") && grown.contains("Alfama"));

    let document = client.get_document("talk%201%2Fa").await;
    assert_eq!(document["latestRevision"], 2);
    assert_eq!(client.listed_ids(json!({})).await.len(), 1);

    text(&client, json!(turns)).await;
    assert_eq!(
        client.get_document("talk%201%2Fa").await["latestRevision"],
        2,
        "the same turns again change nothing"
    );
}

#[tokio::test]
async fn parts_images_and_tool_calls_are_read_in_every_spelling() {
    let client = OrgClient::new().await;
    let turns = json!([
        {"role": "user", "content": [
            {"type": "text", "text": "What is on these?"},
            {"type": "image_url", "imageUrl": {"url": "https://example.com/harbour.png"}},
            {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}},
        ]},
        {"role": "assistant", "content": null, "name": null, "tool_calls": [
            {"id": "1", "type": "function", "function": {"name": "look_closer", "arguments": "{}"}},
        ]},
        {"role": "tool", "tool_call_id": "1", "content": "A ferry and two gulls."},
        {"role": "assistant", "content": "A ferry.", "tool_calls": null, "refusal": null},
    ]);
    let text = text(&client, turns).await;

    for part in [
        "What is on these?",
        "harbour.png",
        "look_closer",
        "Tool: A ferry and two gulls.",
        "A ferry.",
    ] {
        assert!(text.contains(part), "{part} in {text}");
    }

    assert!(
        !text.contains("AAAA"),
        "the bytes of an image are not words: {text}"
    );
}

#[tokio::test]
async fn metadata_and_date_belong_to_the_conversation() {
    let client = OrgClient::new().await;
    let mut body = conversation(json!([{"role": "user", "content": "Hello."}]));
    body["metadata"] = json!({"channel": "web"});
    body["documentDate"] = json!("2025-04-15");
    body["entityContext"] = json!("Guests of the hotel.");
    client.post("/v4/conversations", body).await;
    client.run_until_settled().await;
    let document = client.get_document("talk%201%2Fa").await;
    assert_eq!(document["metadata"], json!({"channel": "web"}));
    assert!(client.search_finds("Hello").await);
}

#[tokio::test]
async fn a_wrong_conversation_is_refused_and_the_place_named() {
    let client = OrgClient::new().await;
    let turn = json!({"role": "user", "content": "Hello."});
    let with = |field: &str, value: Value| {
        let mut body = conversation(json!([turn]));
        body[field] = value;
        body
    };
    let mut faults = ErrorMismatches::default();

    for (body, named) in [
        (json!({"messages": [turn]}), "conversationId"),
        (json!({"conversationId": "c"}), "messages"),
        (with("conversationId", json!("")), "conversationId"),
        (
            with("conversationId", json!("x".repeat(256))),
            "conversationId",
        ),
        (with("conversationId", json!("a\u{0}b")), "conversationId"),
        (with("conversationId", json!(7)), "conversationId"),
        (with("messages", json!([])), "messages"),
        (with("messages", json!("Hello.")), "messages"),
        (with("messages", json!([{"content": "Hello."}])), "role"),
        (
            with("messages", json!([{"role": "robot", "content": "Hello."}])),
            "role",
        ),
        (
            with("messages", json!([turn, {"role": "user", "content": 7}])),
            "content",
        ),
        (
            with(
                "messages",
                json!([{"role": "user", "content": [{"type": "text", "words": "x"}]}]),
            ),
            "messages",
        ),
        (
            with("messages", json!([{"role": "user", "content": "  "}])),
            "messages",
        ),
        (with("messages", json!([{"role": "user"}])), "messages"),
        (with("containerTags", json!(["a b"])), "containerTag"),
        (with("containerTags", json!("a")), "containerTags"),
        (with("metadata", json!({"bad key": 1})), "metadata"),
        (with("documentDate", json!("soon")), "documentDate"),
    ] {
        let answer = client.post("/v4/conversations", body.clone()).await;
        faults.check_error(&body.to_string(), &answer, 400, "ValidationError", named);
    }

    let long = with(
        "messages",
        json!([{"role": "user", "content": "x".repeat(1024 * 1024)}]),
    );
    let answer = client.post("/v4/conversations", long).await;
    faults.check_error(
        "a megabyte of turns",
        &answer,
        413,
        "PayloadTooLargeError",
        "bytes",
    );
    faults.assert_none();
    assert!(client.listed_ids(json!({})).await.is_empty());
}
