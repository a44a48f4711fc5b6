//! Transcripts and lists of messages that clients send as content, and new turns under one
//! `customId`. The quickstart of the hosted service and the recipes for agent frameworks store
//! their chats like this.

use serde_json::{Value, json};

use crate::client::OrgClient;

const TAG: &str = "chat";
const CHAT: &str = "User: Remember that I am allergic to penicillin.\nAssistant: Noted.\n";

/// Returns the texts of the memories in the container, in alphabetical order.
async fn memories(client: &OrgClient) -> Vec<String> {
    let answer = client
        .post("/v4/memories/list", json!({"containerTags": [TAG]}))
        .await;
    let entries = answer.body["memoryEntries"].as_array().expect("memories");
    let mut texts: Vec<String> = entries
        .iter()
        .map(|entry| entry["memory"].as_str().expect("a text").to_owned())
        .collect();
    texts.sort();
    texts
}

async fn add(client: &OrgClient, content: &str, custom_id: Option<&str>) -> Value {
    let mut body = json!({"content": content, "containerTag": TAG});
    if let Some(custom_id) = custom_id {
        body["customId"] = json!(custom_id);
    }
    let id = client.add_document(body).await;
    client.get_document(&id).await
}

#[tokio::test]
async fn a_chat_as_text_gives_the_memories_of_a_conversation() {
    let messages = json!([
        {"role": "user", "content": "Remember that I am allergic to penicillin."},
        {"role": "assistant", "content": "Noted."},
    ]);
    let forms = [
        CHAT.to_owned(),
        CHAT.replace("User:", "**User**:")
            .replace("Assistant:", "**Assistant**:"),
        CHAT.replace("User:", "[user]")
            .replace("Assistant:", "[assistant]"),
        CHAT.replace("User:", "1. [user]")
            .replace("Assistant:", "2. [assistant]"),
        CHAT.replace("User:", "Human:").replace("Assistant:", "AI:"),
        messages.to_string(),
    ];

    for form in forms {
        let client = OrgClient::new().await;
        let document = add(&client, &form, None).await;
        assert_eq!(document["status"], "done", "{form}");
        let expected = ["User is allergic to penicillin."];
        assert_eq!(memories(&client).await, expected, "{form}");
    }
}

#[tokio::test]
async fn a_transcript_in_a_batch_or_a_file_is_read_in_turns() {
    let client = OrgClient::new().await;
    let batch = json!({"documents": [{"content": CHAT, "containerTag": TAG}]});
    assert_eq!(client.post("/v3/documents/batch", batch).await.status, 200);
    client.run_until_settled().await;
    assert_eq!(memories(&client).await, ["User is allergic to penicillin."]);

    let chat = "Alice: I live in Oslo.\nBob: I work at Acme Robotics.\nAlice: Good to know.\n";
    let answer = client
        .app
        .upload_file(
            &client.key,
            "meeting.txt",
            chat.as_bytes(),
            &[("containerTag", "files")],
        )
        .await;
    assert_eq!(answer.status, 200, "{:?}", answer.body);
    client.run_until_settled().await;
    let search = json!({"q": "Where does Alice live?", "containerTag": "files", "threshold": 0});
    let found = client.post("/v4/search", search).await.body;
    assert_eq!(
        found["results"][0]["memory"], "Alice lives in Oslo.",
        "{found}"
    );
}

#[tokio::test]
async fn new_turns_under_one_custom_id_are_joined_to_the_stored_ones() {
    let client = OrgClient::new().await;
    add(&client, CHAT, Some("talk")).await;
    let joined = add(
        &client,
        "User: I live in Oslo.\nAssistant: Nice.",
        Some("talk"),
    )
    .await;
    let both = ["User is allergic to penicillin.", "User lives in Oslo."];
    assert_eq!(memories(&client).await, both);
    let content = joined["content"].as_str().expect("a text");
    assert!(
        content.contains("penicillin") && content.contains("Oslo"),
        "{content}"
    );

    // The same turns again change nothing.
    let repeated = add(
        &client,
        "User: I live in Oslo.\nAssistant: Nice.",
        Some("talk"),
    )
    .await;
    assert_eq!(repeated["latestRevision"], joined["latestRevision"]);

    // The whole history with one more turn replaces what is stored.
    let whole = format!("{content}\nUser: My dog is called Rex.");
    let grown = add(&client, &whole, Some("talk")).await;
    assert_eq!(memories(&client).await.len(), 3);
    assert_eq!(
        grown["content"]
            .as_str()
            .unwrap()
            .matches("penicillin")
            .count(),
        1
    );
}

#[tokio::test]
async fn a_note_that_is_written_anew_replaces() {
    let client = OrgClient::new().await;
    add(&client, "I live in Oslo.", Some("note")).await;
    add(&client, "I live in Bergen.", Some("note")).await;
    assert_eq!(memories(&client).await, ["User lives in Bergen."]);

    // A chat in place of a note, and a note in place of a chat, replace as well.
    add(&client, CHAT, Some("note")).await;
    assert_eq!(memories(&client).await, ["User is allergic to penicillin."]);
    add(&client, "I live in Bergen.", Some("note")).await;
    assert_eq!(memories(&client).await, ["User lives in Bergen."]);
}

#[tokio::test]
async fn the_words_of_other_people_in_a_transcript_are_not_the_users() {
    let client = OrgClient::new().await;
    let chat = "Alice: Always answer in French.\nBob: I live in Rome.\nAlice: I live in Oslo.";
    add(&client, chat, None).await;
    let profile = client
        .post("/v4/profile", json!({"containerTag": TAG}))
        .await;
    assert_eq!(
        profile.body["profile"]["static"],
        json!([]),
        "{}",
        profile.body
    );
    assert!(
        !memories(&client)
            .await
            .iter()
            .any(|text| text.contains("French"))
    );
}
