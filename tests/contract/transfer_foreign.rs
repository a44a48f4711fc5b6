//! Import of files of other services, and other content that an import may contain.

use cli::transfer::{ImportFormat, ImportOptions};
use serde_json::{Value, json};

use crate::client::{OrgClient, collect_field};
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

    // An export job has texts alone.
    let job = json!({"memories": [{"content": "User has a boat."}]}).to_string();
    for written in [1, 0] {
        let report = import_text(&client, &job, &under(TAG)).await.unwrap();
        assert_eq!(report.documents.written, written);
    }
    assert!(memories(&client).await.to_string().contains("has a boat"));
}

/// Returns the texts of the memories of a container.
async fn memory_texts(client: &OrgClient, tag: &str) -> Vec<String> {
    let list = json!({"containerTags": [tag]});
    let answer = client.post("/v4/memories/list", list).await;
    collect_field(&answer.body["memoryEntries"], "memory")
}

#[tokio::test]
async fn each_user_gets_a_container() {
    let client = OrgClient::new().await;
    let file = json!([
        {"id": "1", "memory": "User lives in Oslo.", "user_id": "kim"},
        {"id": "2", "memory": "User lives in Bonn.", "user_id": "lee@example.com"},
        {"id": "3", "memory": "User lives in Porto.", "user_id": "lee_example.com"},
        {"id": "4", "memory": "The office is closed."},
    ])
    .to_string();
    let report = import_text(&client, &file, &ImportOptions::default())
        .await
        .unwrap();
    let tags: Vec<String> = report.tags.iter().map(ToString::to_string).collect();
    let [kim, other_lee, lee, everybody] = tags.as_slice() else {
        panic!("{tags:?}");
    };
    assert_eq!(
        (kim.as_str(), everybody.as_str()),
        ("kim", "sm_project_default")
    );
    assert!(lee.starts_with("lee_example.com-"), "{lee}");
    for (tag, memory) in [
        (kim, "User lives in Oslo."),
        (lee, "User lives in Bonn."),
        (other_lee, "User lives in Porto."),
        (everybody, "The office is closed."),
    ] {
        assert_eq!(memory_texts(&client, tag).await, [memory], "{tag}");
    }

    let again = import_text(&client, &file, &ImportOptions::default()).await;
    assert_eq!(again.unwrap().documents.already_present, 4);
}

#[tokio::test]
async fn pages_of_the_hosted_service_become_documents_and_memories() {
    let client = OrgClient::new().await;
    client
        .add_apart("mine", "kept", "The weir of lock 4.")
        .await;
    let with = |mut base: Value, fields: Value| {
        for (name, value) in fields.as_object().unwrap() {
            base[name] = value.clone();
        }
        base
    };
    let document = |id: &str, fields: Value| {
        let base = json!({
            "id": id, "customId": null, "title": null, "summary": null, "status": "done", "type": "text",
            "createdAt": "2025-03-04T10:00:00.000Z", "containerTags": ["kim"],
        });
        with(base, fields)
    };
    let entry = |text: &str, fields: Value| {
        let base = json!({
            "id": text.replace(' ', "-"), "memory": text, "createdAt": "2025-03-04T10:00:00.000Z",
            "isLatest": true, "isForgotten": false,
        });
        with(base, fields)
    };
    let tea = json!({"content": "I prefer tea over coffee.", "customId": "tea", "metadata": {"a": {"b": 1}}});
    let mill = json!({"content": "The mill stands.", "customId": "kept", "containerTags": ["kim", "team"]});
    let without_content = json!({"memoryEntries": [
        entry("User has a boat.", json!({})),
        entry("User had a bike.", json!({"isForgotten": true})),
    ]});
    let pages = [
        json!({"memories": [document("d1", tea), document("d2", mill)], "pagination": {"totalItems": 2}}),
        json!({"documents": [document("d3", without_content)], "pagination": {}}),
        json!({"memoryEntries": [
            entry("User lives in Oslo.", json!({"containerTag": "lee"})),
            entry("User lives in Bonn.", json!({"containerTag": "lee", "isLatest": false})),
        ], "pagination": {}}),
    ];
    let file = text(&pages);
    for round in 0..2 {
        let report = import_text(&client, &file, &ImportOptions::default())
            .await
            .unwrap();
        client.run_until_settled().await;
        let tags: Vec<&str> = report.tags.iter().map(|tag| tag.as_str()).collect();
        assert_eq!(tags, ["kim", "lee"]);
        let counts = (report.documents.written, report.documents.queued);
        assert_eq!(counts, if round == 0 { (2, 2) } else { (0, 0) });
        let left_out: Vec<(&str, usize)> = report.left_out.into_iter().collect();
        let expected = [
            (
                "documents without content; list them with `includeContent`",
                1,
            ),
            ("forgotten memories", 1),
            ("former versions of memories", 1),
        ];
        assert_eq!(left_out, expected);
    }

    let tea = client.get_document_unchecked("tea?containerTag=kim").await;
    assert_eq!(tea["content"], "I prefer tea over coffee.");
    assert_eq!(tea["metadata"], json!({"a": "{\"b\":1}"}));
    let query = json!({"q": "mill", "containerTag": "team"});
    assert_eq!(client.search_texts_with(query).await, ["The mill stands."]);
    let kept = client
        .get("/v3/documents/kept?containerTag=mine")
        .await
        .body;
    assert_eq!(kept["content"], "The weir of lock 4.", "nothing else moves");
    let kim = memory_texts(&client, "kim").await.join("\n");
    assert!(
        kim.contains("User has a boat.") && kim.contains("tea"),
        "{kim}"
    );
    assert!(!kim.contains("bike"), "{kim}");
    assert_eq!(memory_texts(&client, "lee").await, ["User lives in Oslo."]);
}

#[tokio::test]
async fn sessions_of_zep_may_stand_by_their_ids() {
    let client = OrgClient::new().await;
    let backup = json!({
        "s-1": {"user_id": "kim", "messages": [{"role": "user", "content": "I live in Turin."}]},
        "s-2": [{"role": "user", "content": "I live in Graz."}],
    });
    let report = import_text(&client, &backup.to_string(), &ImportOptions::default())
        .await
        .unwrap();
    assert_eq!(report.documents.queued, 2);
    client.run_until_settled().await;
    for (id, tag, words) in [
        ("s-1", "kim", "Turin"),
        ("s-2", "sm_project_default", "Graz"),
    ] {
        let talk = client.get_document_unchecked(id).await;
        assert_eq!(talk["containerTags"], json!([tag]));
        assert!(talk["content"].to_string().contains(words), "{talk}");
    }
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
