//! Import of files of other services, and other content that an import may contain.

use cli::transfer::{ImportFormat, ImportOptions};
use serde_json::json;

use crate::client::OrgClient;
use crate::transfer::{TAG, export_lines, import_text, memories, text, under};

#[tokio::test]
async fn memories_of_mem0_become_memories() {
    let client = OrgClient::new().await;
    let file = json!({"results": [
        {"id": "0a1", "memory": "User lives in Oslo.", "user_id": "kim", "metadata": {"from": {"app": 2}, "a b": null},
         "categories": ["places"], "created_at": "2024-02-03T10:00:00.123456-08:00", "updated_at": "2024-02-04"},
        {"id": "0a2", "memory": "Collects old maps of harbours", "user_id": "kim", "created_at": "2024-03-01 08:00:00",
         "expiration_date": "2024-05-01"},
    ]});

    for (round, text) in [
        (0, file.to_string()),
        (1, text(file["results"].as_array().unwrap())),
    ] {
        let report = import_text(&client, &text, &under(TAG)).await.unwrap();
        let expected = if round == 0 { (2, 0) } else { (0, 2) };
        assert_eq!(
            (report.documents.written, report.documents.already_present),
            expected
        );
    }

    let all = memories(&client).await;
    let oslo = all
        .as_array()
        .unwrap()
        .iter()
        .find(|entry| entry["memory"] == "User lives in Oslo.")
        .unwrap();
    assert_eq!(oslo["createdAt"], "2024-02-03T18:00:00.123Z");
    assert_eq!(
        oslo["metadata"],
        json!({"from": "{\"app\":2}", "user_id": "kim", "categories": ["places"]})
    );

    let maps = all
        .as_array()
        .unwrap()
        .iter()
        .find(|entry| entry["memory"] != "User lives in Oslo.")
        .unwrap();
    assert_eq!(
        (&maps["isForgotten"], &maps["forgetAfter"]),
        (&json!(true), &json!("2024-05-01T00:00:00.000Z"))
    );

    let other = json!([{"id": "1", "memory": "A", "user_id": "kim"}, {"id": "2", "memory": "B", "user_id": "lee"}]);
    let refused = import_text(&client, &other.to_string(), &ImportOptions::default())
        .await
        .unwrap_err();
    assert!(
        format!("{refused:#}").contains("2 users (kim, lee, …)"),
        "{refused:#}"
    );
}

#[tokio::test]
async fn sessions_and_facts_of_zep_become_conversations_and_memories() {
    let client = OrgClient::new().await;
    let old = json!({"session_id": "s-1", "metadata": {"channel": "chat"}, "messages": [
        {"role_type": "user", "role": "Mia", "content": "I live in Turin.", "created_at": "2025-01-02T03:04:05Z", "uuid": "m1"},
        {"role_type": "assistant", "content": "Good to know.", "created_at": "2025-01-02T03:04:06Z", "uuid": "m2"},
    ]});
    let new = json!({"thread_id": "t-2", "messages": [{"role": "user", "name": "Mia", "content": "My dog is called Bix."}]});
    let facts = json!({"edges": [
        {"uuid": "e1", "fact": "Mia works for a shipyard.", "name": "WORKS_FOR", "valid_at": "2023-05-01T00:00:00Z",
         "invalid_at": "2024-06-01T00:00:00Z", "created_at": "2025-01-02T03:04:05Z", "expired_at": null},
        {"uuid": "e2", "fact": "Mia paints boats.", "valid_at": null, "created_at": "2025-01-02T03:04:05Z"},
    ]});
    let file = text(&[old, new, facts]);
    let first = import_text(&client, &file, &under(TAG)).await.unwrap();
    assert_eq!((first.documents.written, first.documents.queued), (2, 2));

    client.run_until_settled().await;
    let options = ImportOptions {
        format: ImportFormat::Zep,
        ..under(TAG)
    };
    let second = import_text(&client, &file, &options).await.unwrap();
    assert_eq!(
        (
            second.documents.written,
            second.documents.queued,
            second.documents.already_present
        ),
        (0, 0, 4)
    );

    let talk = client.get_document_unchecked("s-1").await;
    assert_eq!(talk["metadata"], json!({"channel": "chat"}));
    let content = talk["content"].as_str().unwrap();
    assert!(
        content.contains("Mia: I live in Turin.") && content.contains("Good to know."),
        "{content}"
    );

    let all = memories(&client).await;
    let fact = |text: &str| {
        all.as_array()
            .unwrap()
            .iter()
            .find(|entry| entry["memory"] == text)
            .cloned()
            .unwrap()
    };
    let job = fact("Mia works for a shipyard.");
    assert_eq!(
        (&job["isForgotten"], &job["forgetAfter"]),
        (&json!(true), &json!("2024-06-01T00:00:00.000Z"))
    );
    assert_eq!(
        job["temporalContext"]["documentDate"],
        "2023-05-01T00:00:00.000Z"
    );
    assert_eq!(fact("Mia paints boats.")["isForgotten"], false);

    let options = ImportOptions {
        format: ImportFormat::Mem0,
        ..under(TAG)
    };
    let refused = import_text(&client, &file, &options).await.unwrap_err();
    assert!(
        format!("{refused:#}").contains("of another service"),
        "{refused:#}"
    );
}

#[tokio::test]
async fn settings_come_only_when_they_are_asked_for() {
    let (here, there) = (OrgClient::new().await, OrgClient::new().await);
    here.add_document(json!({"content": "Gulls nest on the roof.", "containerTag": TAG}))
        .await;
    let set = here
        .send_patch("/v3/settings", json!({"chunkSize": 700}))
        .await;
    assert!(set.status.is_success(), "{}", set.body);
    let lines = text(&export_lines(&here, TAG).await);

    for (replaces_settings, expected) in [(false, -1), (true, 700)] {
        let options = ImportOptions {
            replaces_settings,
            ..ImportOptions::default()
        };
        import_text(&there, &lines, &options).await.unwrap();
        assert_eq!(there.get("/v3/settings").await.body["chunkSize"], expected);
    }
}
