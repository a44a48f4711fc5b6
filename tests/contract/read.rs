//! `GET /v3/documents/{id}`.

use serde_json::json;

use crate::client::OrgClient;
use crate::shape::{ErrorMismatches, document_shape, expect_error, expect_ok};

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
    let client = OrgClient::new().await;
    let id = client
        .send_document(json!({"content": "Words.", "customId": "note:1", "containerTag": "a"}))
        .await;
    let by_id = client.get_document(&id).await;
    for path in ["note:1", "note%3A1", "note:1?containerTag=a"] {
        let by_custom_id = expect_ok(
            client.get(&format!("/v3/documents/{path}")).await,
            &document_shape(),
        );
        assert_eq!(by_custom_id, by_id, "{path}");
    }
}

#[tokio::test]
async fn what_does_not_exist_is_not_found() {
    let client = OrgClient::new().await;
    client
        .send_document(json!({"content": "Words.", "customId": "note", "containerTag": "a"}))
        .await;
    let mut faults = ErrorMismatches::default();
    for id in UNKNOWN {
        let path = format!("/v3/documents/{id}");
        faults.check_error(
            &path,
            &client.get(&path).await,
            404,
            "NotFoundError",
            "Document not found",
        );
        faults.check_error(
            &path,
            &client.delete(&path).await,
            404,
            "NotFoundError",
            "Document not found",
        );

        let chunks = format!("{path}/chunks");
        faults.check_error(
            &chunks,
            &client.get(&chunks).await,
            404,
            "NotFoundError",
            "Document not found",
        );
    }

    let elsewhere = client.get("/v3/documents/note?containerTag=b").await;
    faults.check_error(
        "another container",
        &elsewhere,
        404,
        "NotFoundError",
        "Document not found",
    );
    faults.assert_none();
    expect_error(
        &client.get("/v3/documents/note?containerTag=a%20b").await,
        400,
        "ValidationError",
        "containerTag",
    );
}

#[tokio::test]
async fn times_tell_when_a_document_came_and_when_it_changed() {
    let client = OrgClient::new().await;
    let body = |text: &str| json!({"content": text, "customId": "note"});
    let first = client.add_document(body("First words.")).await;
    let before = client.get_document(&first).await;
    assert!(
        before["createdAt"].as_str() < before["updatedAt"].as_str(),
        "processing is a change"
    );
    client.app.environment.clock.advance_seconds(3600);
    client.add_document(body("Second words.")).await;
    let after = client.get_document(&first).await;
    assert_eq!(after["createdAt"], before["createdAt"]);
    assert!(after["updatedAt"].as_str() > before["updatedAt"].as_str());
}

#[tokio::test]
async fn the_text_read_is_the_text_sent() {
    let client = OrgClient::new().await;
    let text = "Zeile eins: äöü ß €.\n\nZeile zwei: 日本語 und ไทย, \"quoted\" \\ and 🦀.";
    let id = client.send_document(json!({"content": text})).await;
    assert_eq!(
        client.get_document(&id).await["content"],
        text,
        "before processing"
    );
    client.run_until_settled().await;
    assert_eq!(
        client.get_document(&id).await["content"],
        text,
        "after processing"
    );
}
