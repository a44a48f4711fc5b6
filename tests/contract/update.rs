//! `PATCH /v3/documents/{id}` without a move.

use domain::key::Permission;
use serde_json::{Value, json};

use crate::client::OrgClient;
use crate::shape::{ErrorMismatches, expect_error};
use crate::steps::process_only;

fn by(value: &str) -> Value {
    json!({"AND": [{"key": "n", "value": value}]})
}

/// Returns the results of a search with the filter `n = value`.
async fn search_with_filter(client: &OrgClient, value: &str) -> Vec<String> {
    client
        .search_texts_with(json!({"q": "words", "filters": by(value)}))
        .await
}

#[tokio::test]
async fn each_field_changes_and_the_others_stay() {
    let client = OrgClient::new().await;
    let whole = json!({
        "content": "Words of a kind.", "metadata": {"n": "1"}, "filepath": "/a.md", "taskType": "memory",
        "filterByMetadata": {"a": "b"}, "documentDate": "2025-04-15", "customId": "note", "containerTag": "a",
    });

    let id = client.add_document(whole).await;
    for (field, value) in [
        ("content", json!("Other words of a kind.")),
        ("metadata", json!({"n": "2", "more": true})),
        ("filepath", json!("/b.md")),
        ("taskType", json!("superrag")),
    ] {
        let before = client.get_document(&id).await;
        assert_eq!(
            client.update_document(&id, json!({field: value})).await["id"],
            id.as_str()
        );
        client.run_until_settled().await;
        let after = client.get_document(&id).await;
        assert_eq!(after[field], value);
        for same in [
            "content",
            "metadata",
            "filepath",
            "taskType",
            "customId",
            "containerTags",
            "createdAt",
            "status",
        ] {
            assert!(
                same == field || after[same] == before[same],
                "{same} changed with {field}: {after}"
            );
        }
        assert!(
            after["updatedAt"].as_str() > before["updatedAt"].as_str(),
            "{field}"
        );
    }

    client
        .update_document(
            &id,
            json!({"filterByMetadata": {"c": ["d"]}, "documentDate": "2024-02-03"}),
        )
        .await;
    let record = client.stored_record(&id).await.expect("a record");
    assert_eq!(
        record
            .filter_by_metadata
            .and_then(|filter| filter.get("c").cloned()),
        Some(json!(["d"]))
    );
    assert!(
        record
            .document_date
            .is_some_and(|at| at.to_string().starts_with("2024-02-03"))
    );
}

#[tokio::test]
async fn new_content_is_whole_and_the_old_is_served_until_it_is_done() {
    let client = OrgClient::new().await;
    let id = client
        .add_document(json!({"content": "Old words OSPREY-11.", "metadata": {"n": "old"}}))
        .await;
    let change = json!({"content": "New words KESTREL-22.", "metadata": {"n": "new"}});
    let answer = client.update_document(&id, change).await;
    assert_eq!(answer, json!({"id": id, "status": "queued"}));
    for stage in ["queued", "indexing"] {
        let document = client.get_document(&id).await;
        assert_eq!(
            (&document["status"], &document["latestRevision"]),
            (&json!(stage), &json!(2))
        );
        assert_eq!(document["content"], "New words KESTREL-22.");
        assert_eq!(
            search_with_filter(&client, "old").await,
            ["Old words OSPREY-11."],
            "{stage}"
        );
        assert!(
            search_with_filter(&client, "new").await.is_empty(),
            "a mix of new metadata and old content: {stage}"
        );
        if stage == "queued" {
            process_only(&client).await;
        }
    }

    client.run_until_settled().await;
    assert!(search_with_filter(&client, "old").await.is_empty());
    assert_eq!(
        search_with_filter(&client, "new").await,
        ["New words KESTREL-22."]
    );
    assert_eq!(client.search_texts("words").await.len(), 1);
}

#[tokio::test]
async fn a_description_changes_in_place_in_every_state() {
    for state in ["queued", "extracting", "indexing", "done", "failed"] {
        let client = OrgClient::new().await;
        let fields = [
            ("metadata", r#"{"n":"1"}"#),
            ("filepath", "/one.md"),
            ("customId", "note"),
        ];
        let bytes: &[u8] = if state == "failed" {
            &[0, 1, 2, 3, 0, 0, 7]
        } else {
            b"Some words."
        };
        let answer = client
            .app
            .upload_file(&client.key, "note.txt", bytes, &fields)
            .await;
        let id = answer.body["id"].as_str().expect("an id").to_owned();

        match state {
            "extracting" => claim_document(&client, &id).await,
            "indexing" => assert_eq!(process_only(&client).await, 1),
            "done" | "failed" => client.run_until_settled().await,
            _ => {}
        }

        let before = client.get_document_unchecked(&id).await;
        assert_eq!(before["status"], state);
        let answer = client
            .update_document(
                "note",
                json!({"metadata": {"n": "2"}, "filepath": "/two.md"}),
            )
            .await;
        assert_eq!(
            answer,
            json!({"id": id, "status": state}),
            "nothing else happens"
        );

        let after = client.get_document_unchecked(&id).await;
        assert_eq!(
            (&after["metadata"], &after["filepath"]),
            (&json!({"n": "2"}), &json!("/two.md")),
            "{state}"
        );
        assert_eq!(after["latestRevision"], 1, "{state}");
        assert_eq!(
            client
                .listed_ids(json!({"filters": by("2"), "filepath": "/two.md"}))
                .await,
            [id.as_str()]
        );

        client.run_until_settled().await;
        let last = client.get_document_unchecked(&id).await;
        assert_eq!(
            last["metadata"],
            json!({"n": "2"}),
            "what is processed keeps the change: {state}"
        );

        let wanted = if state == "failed" {
            vec![]
        } else {
            vec!["Some words."]
        };
        assert_eq!(search_with_filter(&client, "2").await, wanted, "{state}");
        assert!(search_with_filter(&client, "1").await.is_empty(), "{state}");
    }
}

/// Lets a worker claim the document and do no more.
async fn claim_document(client: &OrgClient, id: &str) {
    let ctx = &client.app.system.ctx;
    let record = client.stored_record(id).await.expect("a record");
    let now = ctx.clock.now();
    let claim = ctx
        .documents
        .claim_revision(
            &client.tenant,
            &record.id,
            &record.revision,
            now,
            now.plus_seconds(90),
        )
        .await;
    assert!(matches!(claim, Ok(domain::ports::ClaimOutcome::Claimed(_))));
}

#[tokio::test]
async fn a_description_that_changes_while_new_content_waits_goes_with_both() {
    for stage in ["queued", "indexing"] {
        let client = OrgClient::new().await;
        let note =
            |words: &str| json!({"content": words, "customId": "note", "metadata": {"n": "1"}});
        let id = client.add_document(note("Old words.")).await;
        client.send_document(note("New words.")).await;
        if stage == "indexing" {
            process_only(&client).await;
        }
        client
            .update_document(&id, json!({"metadata": {"n": "2"}}))
            .await;
        assert_eq!(
            search_with_filter(&client, "2").await,
            ["Old words."],
            "search agrees with GET: {stage}"
        );
        assert!(search_with_filter(&client, "1").await.is_empty(), "{stage}");

        client.run_until_settled().await;
        assert_eq!(
            search_with_filter(&client, "2").await,
            ["New words."],
            "{stage}"
        );
        assert_eq!(
            client.get_document(&id).await["metadata"],
            json!({"n": "2"})
        );
    }
}

#[tokio::test]
async fn what_search_says_about_old_content_is_not_about_the_new() {
    let client = OrgClient::new().await;
    let id = client
        .add_document(json!({"content": "# Old title\n\nOld words.", "customId": "note"}))
        .await;
    let shown = async || {
        let found = client
            .post("/v3/search", json!({"q": "old words"}))
            .await
            .body;
        (
            found["results"][0]["title"].clone(),
            found["results"][0]["type"].clone(),
        )
    };
    let before = shown().await;

    let page =
        b"<!doctype html><html><head><title>New title</title></head><body><p>New words.</p></body></html>";
    client
        .app
        .upload_file(&client.key, "new.html", page, &[("customId", "note")])
        .await;
    for stage in ["queued", "indexing"] {
        assert_eq!(client.get_document(&id).await["status"], stage);
        client
            .update_document(&id, json!({"metadata": {"stage": stage}}))
            .await;
        assert_eq!(shown().await, before, "{stage}");
        process_only(&client).await;
    }

    client.run_until_settled().await;
    let found = client
        .post("/v3/search", json!({"q": "new words"}))
        .await
        .body;
    assert_eq!(
        (&found["results"][0]["title"], &found["results"][0]["type"]),
        (&json!("New title"), &json!("webpage"))
    );
}

#[tokio::test]
async fn null_clears_and_what_is_absent_stays() {
    let client = OrgClient::new().await;
    let body = json!({
        "content": "Some words.", "metadata": {"n": "1"}, "filepath": "/a.md", "filterByMetadata": {"a": "b"},
    });

    let id = client.add_document(body).await;
    client.update_document(&id, json!({"filepath": null})).await;
    let document = client.get_document(&id).await;
    assert_eq!(
        (&document["filepath"], &document["metadata"]),
        (&Value::Null, &json!({"n": "1"}))
    );
    assert!(
        client
            .search_texts_with(json!({"q": "words", "filepath": "/a.md"}))
            .await
            .is_empty()
    );
    client
        .update_document(&id, json!({"metadata": null, "filterByMetadata": null}))
        .await;
    let document = client.get_document(&id).await;
    assert_eq!(
        (&document["metadata"], &document["latestRevision"]),
        (&Value::Null, &json!(1))
    );
    assert!(search_with_filter(&client, "1").await.is_empty());
    assert_eq!(
        client
            .stored_record(&id)
            .await
            .expect("a record")
            .filter_by_metadata,
        None
    );
    client
        .update_document(&id, json!({"filepath": "/b.md"}))
        .await;
    client.update_document(&id, json!({"filepath": ""})).await;
    assert_eq!(
        client.get_document(&id).await["filepath"],
        Value::Null,
        "an empty path is none"
    );
}

#[tokio::test]
async fn what_changes_nothing_does_nothing() {
    let client = OrgClient::new().await;
    let body = json!({
        "content": "Some words.", "metadata": {"n": "1"}, "filepath": "/a.md", "customId": "note",
        "containerTag": "a", "taskType": "superrag", "documentDate": "2025-04-15",
    });

    let id = client.add_document(body.clone()).await;
    let before = client.get_document(&id).await;

    for name in [id.as_str(), "note"] {
        for change in [
            json!({}),
            body.clone(),
            json!({"content": "Some words."}),
            json!({"unknown": 1}),
            json!({"content": null}),
        ] {
            assert_eq!(
                client.update_document(name, change.clone()).await,
                json!({"id": id, "status": "done"}),
                "{change}"
            );
            assert_eq!(client.get_document(&id).await, before, "{change}");
        }
    }
}

#[tokio::test]
async fn a_wrong_change_is_refused_and_changes_nothing() {
    let client = OrgClient::new().await;
    let id = client
        .add_document(json!({"content": "Some words.", "metadata": {"n": "1"}}))
        .await;
    let before = client.get_document(&id).await;
    let mut faults = ErrorMismatches::default();

    for (field, value) in [
        ("content", json!("")),
        ("content", json!(" \n ")),
        ("content", json!(7)),
        ("metadata", json!({"bad key": 1})),
        ("metadata", json!("x")),
        ("filterByMetadata", json!({"nested": {}})),
        ("filepath", json!("x".repeat(1025))),
        ("filepath", json!(7)),
        ("customId", json!("a b")),
        ("customId", json!("")),
        ("containerTag", json!("a b")),
        ("taskType", json!("x")),
        ("documentDate", json!("soon")),
    ] {
        let change = json!({"metadata": {"n": "2"}, field: value});
        let answer = client
            .send_patch(&format!("/v3/documents/{id}"), change.clone())
            .await;
        faults.check_error(&change.to_string(), &answer, 400, "ValidationError", field);
    }

    let long = json!({"content": "x".repeat(1024 * 1024 + 1)});
    let answer = client
        .send_patch(&format!("/v3/documents/{id}"), long)
        .await;
    faults.check_error(
        "a long text",
        &answer,
        413,
        "PayloadTooLargeError",
        "1048577",
    );
    faults.assert_none();
    assert_eq!(client.get_document(&id).await, before);
}

#[tokio::test]
async fn content_may_be_empty_if_the_change_leaves_a_path() {
    let client = OrgClient::new().await;
    let id = client
        .add_document(json!({"content": "Some words.", "filepath": "/a.md"}))
        .await;
    let mut faults = ErrorMismatches::default();
    for path in [json!(""), Value::Null] {
        let change = json!({"content": "", "filepath": path});
        let answer = client
            .send_patch(&format!("/v3/documents/{id}"), change.clone())
            .await;
        faults.check_error(
            &change.to_string(),
            &answer,
            400,
            "ValidationError",
            "content",
        );
    }
    faults.assert_none();
    assert_eq!(client.get_document(&id).await["content"], "Some words.");

    let id = client
        .add_document(json!({"content": "Other words."}))
        .await;
    client
        .update_document(&id, json!({"content": "", "filepath": "/b.md"}))
        .await;
    assert_eq!(client.get_document(&id).await["filepath"], "/b.md");
}

#[tokio::test]
async fn what_is_not_there_or_not_ones_own_is_not_found() {
    let client = OrgClient::new().await;
    let id = client
        .add_document(json!({"content": "Some words.", "containerTag": "box"}))
        .await;
    let other = client.app.create_key("other").await;
    let scoped = client
        .app
        .create_key_with("acme", Permission::Write, Some(&["elsewhere"]))
        .await;

    for (key, name) in [
        (&client.key, "never-existed"),
        (&other, &id),
        (&scoped, &id),
    ] {
        let change = json!({"content": "Stolen."});
        let answer = client
            .app
            .call_json("PATCH", &format!("/v3/documents/{name}"), key, &change)
            .await;
        expect_error(&answer, 404, "NotFoundError", "Document not found");
    }

    assert_eq!(client.get_document(&id).await["content"], "Some words.");
}
