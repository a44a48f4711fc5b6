//! Memories of messages as people type them, and requests to forget in a conversation.

use serde_json::{Value, json};

use crate::client::OrgClient;
use crate::memories::{client_with_box, latest_memories};
use crate::shape::expect_error;

/// Adds a conversation with one turn of the user, and waits for its memories. Returns the document.
async fn say(client: &OrgClient, id: &str, day: &str, text: &str) -> Value {
    let body = json!({
        "conversationId": id, "containerTags": ["box"], "documentDate": day,
        "messages": [{"role": "user", "content": text}],
    });
    let answer = client.post("/v4/conversations", body).await;
    assert_eq!(answer.status, 200, "{}", answer.body);
    client.run_until_settled().await;

    let document = answer.body["id"].as_str().expect("an id").to_owned();
    client.get_document(&document).await
}

/// Returns the memories that are current, sorted.
async fn current_memories(client: &OrgClient) -> Vec<String> {
    let body = json!({"containerTags": ["box"], "limit": 100});
    let listed = client.post("/v4/memories/list", body).await.body;
    let entries = listed["memoryEntries"].as_array().expect("an array");
    let current = entries
        .iter()
        .filter(|entry| entry["isLatest"] == true && entry["isForgotten"] == false);
    let mut texts: Vec<String> = current
        .filter_map(|entry| entry["memory"].as_str().map(str::to_owned))
        .collect();
    texts.sort();
    texts
}

#[tokio::test]
async fn facts_in_passing_become_memories() {
    let client = client_with_box().await;
    let text = "what can i make 4 dinner?? im allergic to sesame btw, and my gf wont touch pork";
    say(&client, "talk", "2026-03-02", text).await;
    let listed = "about me:\n- left handed\n- live in Leeds w/ my cat Biscotti";
    say(&client, "list", "2026-03-03", listed).await;

    assert_eq!(
        current_memories(&client).await,
        [
            "User is allergic to sesame.",
            "User lives in Leeds with their cat Biscotti.",
            "User's girlfriend won't touch pork.",
            "User: left handed.",
        ]
    );
}

#[tokio::test]
async fn a_request_in_a_conversation_forgets_and_masks() {
    let client = client_with_box().await;
    let told = "my ex Leopold owes me 400 quid. on the bright side i got a monstera named Audrey";
    say(&client, "told", "2026-02-13", told).await;
    assert_eq!(current_memories(&client).await.len(), 2);

    let asked = "pls forget what i told u about my ex";
    let request = say(&client, "asked", "2026-02-20", asked).await;
    assert_eq!(request["memoryExtraction"]["forgetRequests"], 1);
    assert_eq!(request["memoryExtraction"]["count"], 0);
    let memories = current_memories(&client).await;
    assert!(memories.iter().all(|memory| !memory.contains("Leopold")));
    assert_eq!(memories.len(), 1);

    let question = json!({
        "q": "Who owes me 400 quid, and what is my monstera called?", "containerTag": "box",
        "searchMode": "hybrid", "threshold": 0, "include": {"chunks": true},
    });
    let found = client.post("/v4/search", question).await.body;
    let shown = found["results"].to_string();
    assert!(
        shown.contains("Audrey") && shown.contains("[forgotten]"),
        "{found:#}"
    );
    assert!(
        !shown.contains("Leopold") && !shown.contains("400"),
        "{found:#}"
    );

    // Without the request, everything is there again.
    let path = format!("/v3/documents/{}", request["id"].as_str().expect("an id"));
    let deleted = client.delete(&path).await;
    assert!(deleted.status.is_success(), "{}", deleted.body);
    client.run_until_settled().await;
    assert_eq!(current_memories(&client).await.len(), 2);
}

#[tokio::test]
async fn what_is_over_is_a_former_version() {
    let client = client_with_box().await;
    say(
        &client,
        "old",
        "2026-01-30",
        "i drive a volvo v50, drinks oil like mad",
    )
    .await;
    let old = latest_memories(&client).await[0]["id"].clone();
    say(&client, "new", "2026-09-05", "sold the v50 finally").await;
    assert_eq!(
        current_memories(&client).await,
        ["User sold the v50 finally."]
    );

    let correction = json!({"containerTag": "box", "id": old, "newContent": "I drive a Saab."});
    let refused = client.send_patch("/v4/memories", correction).await;
    expect_error(
        &refused,
        409,
        "ConflictError",
        "has ended; write a new memory",
    );
}
