//! `GET /v3/documents/{id}`.

use serde_json::json;

use crate::client::Client;
use crate::shape::{Faults, full, ok, refused};

/// Ids that no document has. Some of them could not be ids at all.
pub(crate) const UNKNOWN: [&str; 8] = [
    "1111111111111111111111",
    "never-used-custom-id",
    "x",
    "..",
    "%00",
    "%20%20",
    "%E2%9C%93",
    "11111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111\
     11111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111\
     1111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111",
];

#[tokio::test]
async fn a_document_is_found_by_id_and_by_custom_id_from_the_moment_it_is_accepted() {
    let client = Client::new().await;
    let id = client
        .send(json!({"content": "Words.", "customId": "note:1", "containerTag": "a"}))
        .await;
    let by_id = client.document(&id).await;
    for path in ["note:1", "note%3A1", "note:1?containerTag=a"] {
        let by_custom_id = ok(client.get(&format!("/v3/documents/{path}")).await, &full());
        assert_eq!(by_custom_id, by_id, "{path}");
    }
}

#[tokio::test]
async fn what_does_not_exist_is_not_found() {
    let client = Client::new().await;
    client
        .send(json!({"content": "Words.", "customId": "note", "containerTag": "a"}))
        .await;
    let mut faults = Faults::default();
    for id in UNKNOWN {
        let path = format!("/v3/documents/{id}");
        faults.note(
            &path,
            &client.get(&path).await,
            404,
            "NotFoundError",
            "Document not found",
        );
        faults.note(
            &path,
            &client.delete(&path).await,
            404,
            "NotFoundError",
            "Document not found",
        );

        let chunks = format!("{path}/chunks");
        faults.note(
            &chunks,
            &client.get(&chunks).await,
            404,
            "NotFoundError",
            "Document not found",
        );
    }

    let elsewhere = client.get("/v3/documents/note?containerTag=b").await;
    faults.note(
        "another container",
        &elsewhere,
        404,
        "NotFoundError",
        "Document not found",
    );
    faults.assert_none();
    refused(
        &client.get("/v3/documents/note?containerTag=a%20b").await,
        400,
        "ValidationError",
        "containerTag",
    );
}

#[tokio::test]
async fn times_tell_when_a_document_came_and_when_it_changed() {
    let client = Client::new().await;
    let body = |text: &str| json!({"content": text, "customId": "note"});
    let first = client.add(body("First words.")).await;
    let before = client.document(&first).await;
    assert!(
        before["createdAt"].as_str() < before["updatedAt"].as_str(),
        "processing is a change"
    );
    client.app.world.clock.advance_seconds(3600);
    client.add(body("Second words.")).await;
    let after = client.document(&first).await;
    assert_eq!(after["createdAt"], before["createdAt"]);
    assert!(after["updatedAt"].as_str() > before["updatedAt"].as_str());
}

#[tokio::test]
async fn the_text_read_is_the_text_sent() {
    let client = Client::new().await;
    let text = "Zeile eins: äöü ß €.\n\nZeile zwei: 日本語 und ไทย, \"quoted\" \\ and 🦀.";
    let id = client.send(json!({"content": text})).await;
    assert_eq!(
        client.document(&id).await["content"],
        text,
        "before processing"
    );
    client.settle().await;
    assert_eq!(
        client.document(&id).await["content"],
        text,
        "after processing"
    );
}
