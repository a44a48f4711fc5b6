//! Export and import of container tags that share a container with others, or have taken over those
//! of others in a merge.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail the test")]

use cli::transfer::ImportOptions;
use serde_json::{Value, json};

use crate::client::OrgClient;
use crate::merge::begin_merge;
use crate::transfer::{export_lines, import_text, text, under};

/// Returns what a client sees behind a tag.
async fn visible_state(client: &OrgClient, tag: &str) -> Value {
    let list =
        json!({"containerTags": [tag], "limit": 100, "includeContent": true, "sort": "createdAt"});
    let documents = client.post("/v3/documents/list", list.clone()).await.body;
    let memories = client.post("/v4/memories/list", list).await.body;
    let query = json!({"q": "Where do they live, and what do they drink?", "containerTag": tag});
    let found = client.search_texts_with(query).await;
    json!([documents["memories"], memories["memoryEntries"], found])
}

async fn add(client: &OrgClient, tags: &[&str], content: &str) {
    let custom_id = format!("{}-{}", tags.join("-"), content.len());
    let body = json!({"content": content, "containerTags": tags, "customId": custom_id});
    client.add_document(body).await;
}

/// Returns a client with two tags that share a container, of which one has taken a third one over.
async fn client_with_shared_containers() -> OrgClient {
    let client = OrgClient::new().await;
    add(&client, &["x"], "I live in Bonn.").await;
    add(&client, &["y"], "I live in Oslo.").await;
    add(
        &client,
        &["x", "y"],
        "I prefer tea over coffee. I have a boat.",
    )
    .await;
    add(&client, &["z"], "My sister Clara lives in Porto.").await;
    begin_merge(&client, &["z"], "y").await;
    client.run_until_settled().await;

    let forget = json!({"containerTag": "x", "content": "User has a boat."});
    let body = client
        .post("/v4/memories/list", json!({"containerTags": ["x"]}))
        .await
        .body;
    assert!(body.to_string().contains("boat"), "{body}");
    let answer = client
        .app
        .call_json("DELETE", "/v4/memories", &client.key, &forget)
        .await;
    assert_eq!(answer.status, 200, "{}", answer.body);
    client
}

#[tokio::test]
async fn tags_that_share_a_container_are_imported_as_they_were() {
    let client = client_with_shared_containers().await;
    let exports = [
        text(&export_lines(&client, "x").await),
        text(&export_lines(&client, "y").await),
    ];
    let copy = OrgClient::new().await;
    import_text(&copy, &exports[0], &ImportOptions::default())
        .await
        .unwrap();
    let shared = copy.get_document("x-y-40").await;
    assert_eq!(
        shared["containerTags"],
        json!(["x"]),
        "the other is not there yet"
    );

    import_text(&copy, &exports[1], &ImportOptions::default())
        .await
        .unwrap();
    copy.run_until_settled().await;
    for tag in ["x", "y"] {
        let (before, after) = (
            visible_state(&client, tag).await,
            visible_state(&copy, tag).await,
        );
        assert_eq!(before, after, "{tag}");
    }
    let tags = &copy.get_document("x-y-40").await["containerTags"];
    assert_eq!(*tags, json!(["x", "y"]));

    for export in &exports {
        let again = import_text(&copy, export, &ImportOptions::default())
            .await
            .unwrap();
        assert_eq!(
            (again.documents.written, again.documents.queued, again.edits),
            (0, 0, 0)
        );
    }
}

#[tokio::test]
async fn a_shared_container_may_get_another_tag_but_no_second_owner() {
    let client = client_with_shared_containers().await;
    let export = text(&export_lines(&client, "x").await);
    let refused = import_text(&client, &export, &under("w"))
        .await
        .unwrap_err();
    assert!(
        format!("{refused:#}").contains("exists already"),
        "{refused:#}"
    );

    let copy = OrgClient::new().await;
    import_text(&copy, &export, &under("w")).await.unwrap();
    copy.run_until_settled().await;
    let list = visible_state(&copy, "w").await;
    assert_eq!(list[0].as_array().unwrap().len(), 2, "{list}");
    assert!(list[1].to_string().contains("prefers tea"), "{list}");
}
