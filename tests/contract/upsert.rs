//! The same customId again is the same document.

use domain::ports::CreationConditions;
use domain::{CustomId, DocumentId};
use serde_json::{Value, json};

use crate::client::OrgClient;
use crate::shape::{accepted_shape, document_shape, expect_error, expect_ok};

fn note(content: &str) -> Value {
    json!({"content": content, "customId": "note", "containerTag": "a"})
}

#[tokio::test]
async fn changed_content_replaces_the_old_one_everywhere() {
    let client = OrgClient::new().await;
    let first = client
        .add_document(note("The password of the week is OSPREY-11."))
        .await;
    let second = client
        .add_document(note("The password of the week is KESTREL-22."))
        .await;
    assert_eq!(first, second);

    let document = client.get_document(&first).await;
    assert_eq!(document["latestRevision"], 2);
    assert_eq!(
        document["content"],
        "The password of the week is KESTREL-22."
    );
    assert!(!client.search_finds("OSPREY-11").await && client.search_finds("KESTREL-22").await);
    assert_eq!(client.search_texts("password of the week").await.len(), 1);
    assert_eq!(client.listed_ids(json!({})).await, [first]);
}

#[tokio::test]
async fn the_same_content_changes_nothing() {
    let client = OrgClient::new().await;
    let id = client.add_document(note("The same.")).await;
    let before = client.get_document(&id).await;
    // This is long after a client would retry.
    client.app.environment.clock.advance_seconds(100_000);
    let answer = expect_ok(
        client.post("/v3/documents", note("The same.")).await,
        &accepted_shape(),
    );
    assert_eq!(answer, json!({"id": id, "status": "done"}));
    client.run_until_settled().await;
    assert_eq!(client.get_document(&id).await, before);
}

#[tokio::test]
async fn the_same_content_with_other_metadata_changes_it_in_place_and_without_any_keeps_it() {
    let client = OrgClient::new().await;
    let with = |metadata: Value| {
        let mut body = note("The same.");
        body["metadata"] = metadata;
        body
    };
    let id = client.add_document(with(json!({"n": 1}))).await;

    let answer = expect_ok(
        client.post("/v3/documents", with(json!({"n": 2}))).await,
        &accepted_shape(),
    );
    assert_eq!(
        answer,
        json!({"id": id, "status": "done"}),
        "nothing is processed again"
    );
    let filter = json!({"AND": [{"key": "n", "value": "2"}]});
    let found = json!({"q": "the same", "filters": filter});
    assert_eq!(
        client.search_texts_with(found).await,
        ["The same."],
        "search knows it at once"
    );
    let document = client.get_document(&id).await;
    assert_eq!(
        (&document["metadata"], &document["latestRevision"]),
        (&json!({"n": 2}), &json!(1))
    );
    client.add_document(note("The same.")).await;
    assert_eq!(
        client.get_document(&id).await,
        document,
        "absent metadata asks for no change"
    );
    client.add_document(note("Changed.")).await;
    assert_eq!(client.get_document(&id).await["metadata"], json!({"n": 2}));
    let filter = json!({"AND": [{"key": "n", "value": "2"}]});
    assert_eq!(
        client
            .search_texts_with(json!({"q": "changed", "filters": filter}))
            .await,
        ["Changed."]
    );
}

#[tokio::test]
async fn the_same_content_with_another_filepath_changes_it_in_place() {
    let client = OrgClient::new().await;
    let with = |path: &str| {
        let mut body = note("The same.");
        body["filepath"] = json!(path);
        body
    };
    let id = client.add_document(with("/a/one.md")).await;

    let answer = expect_ok(
        client.post("/v3/documents", with("/b/two.md")).await,
        &accepted_shape(),
    );
    assert_eq!(answer, json!({"id": id, "status": "done"}));
    for (prefix, wanted) in [("/a/", 0), ("/b/", 1)] {
        let found = client
            .search_texts_with(json!({"q": "the same", "filepath": prefix}))
            .await;
        assert_eq!(found.len(), wanted, "{prefix}");
        assert_eq!(
            client.listed_ids(json!({"filepath": prefix})).await.len(),
            wanted,
            "{prefix}"
        );
    }

    assert_eq!(client.get_document(&id).await["latestRevision"], 1);
}

#[tokio::test]
async fn content_without_a_task_type_keeps_that_of_the_document() {
    let client = OrgClient::new().await;
    let mut body = note("I live in Lisbon.");
    body["taskType"] = json!("superrag");
    let id = client.add_document(body).await;
    let before = client.get_document(&id).await;
    assert_eq!(before["taskType"], "superrag");

    client.app.environment.clock.advance_seconds(100_000);
    client.add_document(note("I live in Lisbon.")).await;
    assert_eq!(
        client.get_document(&id).await,
        before,
        "a repetition changes nothing"
    );

    client.add_document(note("I live in Porto.")).await;
    let document = client.get_document(&id).await;
    assert_eq!(
        (&document["taskType"], &document["latestRevision"]),
        (&json!("superrag"), &json!(2))
    );

    // Under another tag, the document moves.
    let moved = json!({"content": "I live in Faro.", "customId": "note", "containerTag": "b"});
    assert_eq!(client.add_document(moved).await, id);
    let document = client.get_document(&id).await;
    assert_eq!(
        (&document["taskType"], &document["containerTags"]),
        (&json!("superrag"), &json!(["b"]))
    );
}

#[tokio::test]
async fn the_same_content_without_its_filepath_asks_for_no_change() {
    let client = OrgClient::new().await;
    let mut body = note("The same.");
    body["filepath"] = json!("/a.md");
    let id = client.add_document(body).await;
    client.add_document(note("The same.")).await;
    let document = client.get_document(&id).await;
    assert_eq!(
        (&document["filepath"], &document["latestRevision"]),
        (&json!("/a.md"), &json!(1))
    );
}

#[tokio::test]
async fn every_accepted_content_is_a_revision_even_while_others_are_processed() {
    let client = OrgClient::new().await;
    for n in 1..=5 {
        client
            .send_document(note(&format!("Version number VER-{n}.")))
            .await;
        if n % 2 == 0 {
            client.app.run_workers_once().await;
        }
    }

    client.run_until_settled().await;
    let document = client.get_document("note").await;
    assert_eq!(
        (&document["latestRevision"], &document["content"]),
        (&json!(5), &json!("Version number VER-5."))
    );
    assert_eq!(
        client.search_texts("version number").await,
        ["Version number VER-5."]
    );
}

#[tokio::test]
async fn old_content_is_searchable_until_the_new_is_done() {
    let client = OrgClient::new().await;
    let id = client.add_document(note("The old OSPREY-11.")).await;
    client.send_document(note("The new KESTREL-22.")).await;
    assert_eq!(client.get_document(&id).await["status"], "queued");
    assert_eq!(
        client.get_document(&id).await["content"],
        "The new KESTREL-22."
    );
    assert!(client.search_finds("OSPREY-11").await);
    client.run_until_settled().await;
    assert!(!client.search_finds("OSPREY-11").await && client.search_finds("KESTREL-22").await);
}

#[tokio::test]
async fn new_content_that_fails_leaves_the_old_searchable_and_can_be_mended() {
    let client = OrgClient::new().await;
    let id = client.add_document(note("The old OSPREY-11.")).await;
    let fields = [("customId", "note"), ("containerTag", "a")];
    let broken = client
        .app
        .upload_file(&client.key, "x.bin", &[0, 1, 2, 3, 0, 0, 9], &fields)
        .await;
    assert_eq!(broken.body["id"], id.as_str());

    client.run_until_settled().await;
    let failed = client.get_document_unchecked(&id).await;
    assert_eq!(
        (&failed["status"], &failed["latestRevision"]),
        (&json!("failed"), &json!(2)),
        "{failed}"
    );
    assert!(
        client.search_finds("OSPREY-11").await,
        "what was searchable stays searchable"
    );

    client.add_document(note("The old OSPREY-11.")).await;
    assert_eq!(
        expect_ok(
            client.get(&format!("/v3/documents/{id}")).await,
            &document_shape()
        )["latestRevision"],
        3
    );
    assert_eq!(
        client.search_texts("OSPREY-11").await,
        ["The old OSPREY-11."]
    );
}

#[tokio::test]
async fn failed_content_sent_again_is_tried_again() {
    let client = OrgClient::new().await;
    for revision in 1..=2 {
        client
            .app
            .upload_file(
                &client.key,
                "x.bin",
                &[0, 1, 2, 3, 0, 0, 9],
                &[("customId", "note")],
            )
            .await;
        assert_eq!(
            client.get_document_unchecked("note").await["status"],
            "queued"
        );

        client.run_until_settled().await;
        let document = client.get_document_unchecked("note").await;
        assert_eq!(
            (&document["status"], &document["latestRevision"]),
            (&json!("failed"), &json!(revision))
        );
    }
}

#[tokio::test]
async fn a_deleted_custom_id_can_be_used_again() {
    let client = OrgClient::new().await;
    client.add_document(note("The old OSPREY-11.")).await;
    assert_eq!(client.delete("/v3/documents/note").await.status, 204);
    let id = client.add_document(note("The new KESTREL-22.")).await;
    assert_eq!(client.get_document(&id).await["latestRevision"], 1);
    assert!(!client.search_finds("OSPREY-11").await && client.search_finds("KESTREL-22").await);
}

#[tokio::test]
async fn a_tag_says_which_document_with_a_custom_id_is_meant() {
    let client = OrgClient::new().await;
    let a = client.add_apart("a", "note", "In a.").await;
    let b = client.add_apart("b", "note", "In b.").await;
    assert_ne!(a, b);

    // Without a tag it is the one that has the customId in the organization.
    for path in ["/v3/documents/note", "/v3/documents/note/chunks"] {
        let answer = client.get(path).await;
        assert!(answer.body.to_string().contains("In a."), "{}", answer.body);
    }

    for (tag, id) in [("a", &a), ("b", &b)] {
        let document = expect_ok(
            client
                .get(&format!("/v3/documents/note?containerTag={tag}"))
                .await,
            &document_shape(),
        );
        assert_eq!(document["id"], id.as_str());

        let search = client
            .post(
                "/v3/search",
                json!({"q": "in", "docId": "note", "containerTag": tag}),
            )
            .await
            .body;
        assert_eq!(search["results"][0]["documentId"], id.as_str());
    }

    assert_eq!(
        client
            .delete("/v3/documents/note?containerTag=a")
            .await
            .status,
        204
    );
    assert_eq!(
        client.get_document("note").await["id"],
        b.as_str(),
        "one is left, so its name is enough"
    );
}

/// Stores a document as earlier versions did: its id is derived with its container.
async fn store_as_before(client: &OrgClient, tag: &str, custom_id: &str) -> String {
    let body = json!({"content": format!("In {tag}."), "containerTag": tag});
    let plain = client.send_document(body).await;
    let mut document = client.stored_record(&plain).await.expect("a record");
    let custom_id = CustomId::parse(custom_id).expect("a customId");
    document.id = DocumentId::in_container(client.tenant.org(), &document.container, &custom_id);
    document.custom_id = Some(custom_id);
    let documents = &client.app.system.ctx.documents;
    documents
        .create(&client.tenant, &document, &CreationConditions::default())
        .await
        .expect("a record");
    document.id.as_str().to_owned()
}

#[tokio::test]
async fn documents_of_earlier_versions_keep_their_ids_and_places() {
    let client = OrgClient::new().await;
    let alone = store_as_before(&client, "a", "alone").await;
    let [a, b] = [
        store_as_before(&client, "a", "both").await,
        store_as_before(&client, "b", "both").await,
    ];
    let send = async |custom_id: &str, tag: &str| {
        let body = json!({"content": "New.", "customId": custom_id, "containerTag": tag});
        client.send_document(body).await
    };
    assert_eq!(send("alone", "a").await, alone);
    assert_eq!(send("both", "a").await, a);
    assert_eq!(send("both", "b").await, b);

    assert_eq!(client.get_document("alone").await["id"], json!(alone));
    let answer = client.get("/v3/documents/both").await;
    expect_error(&answer, 409, "ConflictError", "a, b");
    let in_b = client.get_document("both?containerTag=b").await;
    assert_eq!(in_b["id"], json!(b));

    // They keep their ids when they move, too.
    let moved = client
        .update_document(&alone, json!({"containerTag": "b"}))
        .await;
    assert_eq!(moved["id"], json!(alone));
    assert_eq!(client.get_document("alone").await["id"], json!(alone));
    assert_eq!(send("alone", "a").await, alone, "there is a reference now");
}
