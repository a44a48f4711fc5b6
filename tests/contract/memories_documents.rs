//! Memories in answers about documents.

use serde_json::{Value, json};

use crate::client::{OrgClient, collect_field};
use crate::memories::{client_with_box, latest_memory, send_conversation, write_memories};
use crate::memories_forget::forget_memory;
use crate::shape::memory_version_shape;
use crate::shape::{assert_shape, merge_shapes};

/// Returns the memories of a document. Checks that the listing with memories and the document
/// itself show the same.
async fn memory_entries(client: &OrgClient, id: &str) -> Vec<Value> {
    let listed = client
        .post("/v3/documents/documents", json!({"containerTags": ["box"]}))
        .await
        .body;
    let named = client
        .post("/v3/documents/documents/by-ids", json!({"ids": [id]}))
        .await
        .body;
    let all = listed["documents"].as_array().expect("an array");
    let one = all
        .iter()
        .find(|document| document["id"] == id)
        .expect("the document is listed");
    assert_eq!(one, &named["documents"][0]);

    one["memoryEntries"].as_array().expect("an array").clone()
}

#[tokio::test]
async fn a_document_shows_what_it_states() {
    let client = client_with_box().await;
    let waiting =
        json!({"content": "Anna lives in Bonn.", "containerTag": "box", "metadata": {"a": 1}});
    let waiting = client.send_document(waiting).await;
    let document = client.get_document(&waiting).await;
    assert_eq!(
        (&document["memories"], document.get("memoryExtraction")),
        (&json!([]), None),
        "not looked for yet"
    );

    client.run_until_settled().await;
    let document = client.get_document(&waiting).await;
    assert_shape(&document["memories"], &json!([memory_version_shape()]));
    assert_eq!(
        collect_field(&document["memories"], "memory"),
        ["Anna lives in Bonn."]
    );
    assert_eq!(
        document["memoryExtraction"],
        json!({"extractor": "builtin", "count": 1})
    );

    let silent = client
        .add_document(json!({"content": "12 34 56", "containerTag": "box"}))
        .await;
    let silent = client.get_document(&silent).await;
    assert_eq!(
        (&silent["memories"], &silent["memoryExtraction"]["count"]),
        (&json!([]), &json!(0))
    );

    let chunks =
        json!({"content": "Anna lives in Bonn.", "containerTag": "box", "taskType": "superrag"});
    let chunks = client
        .get_document(&client.add_document(chunks).await)
        .await;
    assert_eq!(
        (chunks.get("memories"), chunks.get("memoryExtraction")),
        (None, None)
    );
}

#[tokio::test]
async fn lists_show_entries_with_their_source() {
    let client = client_with_box().await;
    let body =
        json!({"content": "Anna lives in Bonn.", "containerTag": "box", "metadata": {"a": 1}});
    let id = client.add_document(body).await;
    let entries = memory_entries(&client, &id).await;
    assert_eq!(entries.len(), 1);
    let document = client.get_document(&id).await;
    let listed = latest_memory(&client, entries[0]["id"].as_str().unwrap()).await;
    let more = json!({
        "sourceAddedAt": document["createdAt"], "sourceRelevanceScore": listed["confidence"],
        "sourceMetadata": {"a": 1}, "spaceContainerTag": "box",
    });

    assert_eq!(entries[0], merge_shapes(listed, &more));
    for silent in ["12 34 56", "78 90"] {
        let id = client
            .add_document(json!({"content": silent, "containerTag": "box"}))
            .await;
        assert!(memory_entries(&client, &id).await.is_empty());
    }
}

#[tokio::test]
async fn a_document_shows_what_became_of_its_memories() {
    let client = client_with_box().await;
    let talk = send_conversation(&client, &["I live in Bonn.", "I prefer tea over coffee."]).await;
    let states = async || {
        let memories = client.get_document(&talk).await["memories"].clone();
        let state = |memory: &Value| (memory["isLatest"] == true, memory["isForgotten"] == true);
        memories
            .as_array()
            .unwrap()
            .iter()
            .map(state)
            .collect::<Vec<_>>()
    };
    assert_eq!(states().await, [(true, false), (true, false)]);

    write_memories(&client, json!([{"content": "I live in Oslo."}])).await;
    assert_eq!(states().await, [(false, false), (true, false)]);
    forget_memory(&client, json!({"id": talk})).await;
    assert_eq!(
        states().await,
        [(false, false), (true, true)],
        "what was replaced is history"
    );
    let entries = memory_entries(&client, &talk).await;
    assert_eq!(
        (&entries[0]["isLatest"], &entries[1]["isForgotten"]),
        (&json!(false), &json!(true))
    );
}
