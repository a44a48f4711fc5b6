//! `PATCH /v3/documents/{id}` with another customId or container. The document keeps its id.

use domain::key::Permission;
use serde_json::{Value, json};
use service::Authenticator;

use crate::client::OrgClient;
use crate::shape::expect_error;
use crate::steps::process_only;

fn note_body() -> Value {
    json!({
        "content": "The canary OSPREY-11 sings.", "customId": "note", "containerTag": "a", "filepath": "/a.md",
        "metadata": {"n": 1}, "taskType": "superrag", "documentDate": "2025-04-15",
    })
}

/// Counts the chunks with the canary that a search in a container finds.
async fn count_found_in(client: &OrgClient, tag: &str) -> usize {
    client
        .search_texts_with(json!({"q": "OSPREY-11", "containerTag": tag}))
        .await
        .len()
}

/// Moves a document and returns its id.
async fn move_document(client: &OrgClient, name: &str, change: Value) -> String {
    client.update_document(name, change).await["id"]
        .as_str()
        .expect("an id")
        .to_owned()
}

async fn assert_gone(client: &OrgClient, id: &str) {
    let answer = client.get(&format!("/v3/documents/{id}")).await;
    expect_error(&answer, 404, "NotFoundError", "Document not found");
}

#[tokio::test]
async fn another_container_takes_all_of_the_document() {
    let client = OrgClient::new().await;
    let id = client.add_document(note_body()).await;
    let before = client.get_document(&id).await;
    client.app.environment.clock.advance_seconds(3600);
    let new = move_document(&client, &id, json!({"containerTag": "b"})).await;
    assert_eq!(new, id);
    assert_eq!(
        count_found_in(&client, "a").await,
        0,
        "gone with the answer"
    );

    client.run_until_settled().await;
    let after = client.get_document(&new).await;
    for same in [
        "content",
        "metadata",
        "filepath",
        "customId",
        "taskType",
        "createdAt",
        "status",
        "title",
        "type",
    ] {
        assert_eq!(after[same], before[same], "{same}");
    }

    assert_eq!(after["containerTags"], json!(["b"]));
    assert_eq!(
        (
            count_found_in(&client, "a").await,
            count_found_in(&client, "b").await
        ),
        (0, 1)
    );
    assert_eq!(client.listed_ids(json!({})).await, [new.as_str()]);
    assert_eq!(client.get_document("note").await["id"], new.as_str());

    let date = client
        .stored_record(&new)
        .await
        .expect("a record")
        .document_date
        .expect("a date");
    assert!(date.to_string().starts_with("2025-04-15"));
}

#[tokio::test]
async fn another_custom_id_takes_the_place_of_the_old() {
    let client = OrgClient::new().await;
    let id = client.add_document(note_body()).await;
    let new = move_document(
        &client,
        "note",
        json!({"customId": "log", "metadata": {"n": 2}}),
    )
    .await;
    client.run_until_settled().await;
    assert_eq!(new, id);
    assert_gone(&client, "note").await;

    let after = client.get_document("log").await;
    assert_eq!(
        (&after["id"], &after["metadata"]),
        (&json!(new), &json!({"n": 2}))
    );
    assert_eq!(
        (&after["status"], count_found_in(&client, "a").await),
        (&json!("done"), 1)
    );

    let send = async |custom_id: &str| {
        let body = json!({"content": "New.", "customId": custom_id, "containerTag": "a"});
        client.send_document(body).await
    };
    assert_eq!(send("log").await, id);
    let other = send("note").await;
    assert_ne!(other, id, "the old name is free");
    assert_eq!(client.get_document("note").await["id"], json!(other));

    // Names can be exchanged, and each leads to its document.
    move_document(&client, "log", json!({"customId": "between"})).await;
    assert_eq!(
        move_document(&client, "note", json!({"customId": "log"})).await,
        other
    );
    assert_eq!(
        move_document(&client, "between", json!({"customId": "note"})).await,
        id
    );
    assert_eq!((send("note").await, send("log").await), (id, other));
    assert_gone(&client, "between").await;
}

#[tokio::test]
async fn a_document_without_a_custom_id_gets_one_or_moves_without() {
    let client = OrgClient::new().await;
    let plain = json!({"content": "The canary OSPREY-11 sings.", "containerTag": "a"});
    let id = client.add_document(plain).await;
    let there = move_document(&client, &id, json!({"containerTags": ["b"]})).await;
    client.run_until_settled().await;
    assert_eq!(
        (
            count_found_in(&client, "a").await,
            count_found_in(&client, "b").await
        ),
        (0, 1)
    );

    let back = move_document(&client, &there, json!({"containerTag": "a"})).await;
    client.run_until_settled().await;
    assert_eq!(
        (
            count_found_in(&client, "a").await,
            count_found_in(&client, "b").await
        ),
        (1, 0)
    );

    let named = move_document(&client, &back, json!({"customId": "note"})).await;
    client.run_until_settled().await;
    assert_eq!(client.get_document("note").await["id"], named.as_str());
    assert_eq!(
        (
            count_found_in(&client, "a").await,
            client.listed_ids(json!({})).await.len()
        ),
        (1, 1)
    );
}

#[tokio::test]
async fn new_content_moves_along() {
    let client = OrgClient::new().await;
    let id = client.add_document(note_body()).await;
    let change =
        json!({"containerTag": "b", "content": "The canary KESTREL-22 sings.", "filepath": null});
    let new = move_document(&client, &id, change).await;
    client.run_until_settled().await;
    let after = client.get_document(&new).await;
    assert_eq!(
        (&after["content"], &after["filepath"]),
        (&json!("The canary KESTREL-22 sings."), &Value::Null)
    );
    assert!(!client.search_finds("OSPREY-11").await && client.search_finds("KESTREL-22").await);
}

#[tokio::test]
async fn a_move_is_possible_in_every_state() {
    for state in ["queued", "indexing", "failed"] {
        let client = OrgClient::new().await;
        let fields = [("customId", "note"), ("containerTag", "a")];
        let bytes: &[u8] = if state == "failed" {
            &[0, 1, 2, 3, 0, 0, 7]
        } else {
            b"The canary OSPREY-11 sings."
        };
        let id = client
            .app
            .upload_file(&client.key, "note.txt", bytes, &fields)
            .await
            .body["id"]
            .clone();

        match state {
            "indexing" => assert_eq!(process_only(&client).await, 1),
            "failed" => client.run_until_settled().await,
            _ => {}
        }

        let id = id.as_str().expect("an id");
        assert_eq!(client.get_document_unchecked(id).await["status"], state);
        let new = move_document(&client, id, json!({"containerTag": "b"})).await;
        client.run_until_settled().await;
        assert_eq!(new, id);

        let wanted = if state == "failed" {
            ("failed", 0)
        } else {
            ("done", 1)
        };
        let status = client.get_document_unchecked(&new).await["status"].clone();
        assert_eq!(
            (status.as_str(), count_found_in(&client, "b").await),
            (Some(wanted.0), wanted.1),
            "{state}"
        );
        assert_eq!(count_found_in(&client, "a").await, 0);
        assert_eq!(client.listed_ids(json!({})).await, [new.as_str()]);
    }
}

#[tokio::test]
async fn an_occupied_place_is_a_conflict_and_nothing_changes() {
    let client = OrgClient::new().await;
    let mut ids = Vec::new();
    for (custom_id, tag) in [("one", "a"), ("two", "a"), ("one", "b")] {
        let content = format!("The canary of {custom_id} in {tag}.");
        ids.push(client.add_apart(tag, custom_id, &content).await);
    }

    for change in [json!({"customId": "two"}), json!({"containerTag": "b"})] {
        let answer = client
            .send_patch(&format!("/v3/documents/{}", ids[0]), change.clone())
            .await;
        expect_error(&answer, 409, "ConflictError", "customId");
        client.run_until_settled().await;
        assert_eq!(client.search_texts("canary").await.len(), 3, "{change}");
        assert_eq!(client.listed_ids(json!({})).await.len(), 3);
    }
}

#[tokio::test]
async fn a_move_onto_another_document_of_equal_content_is_a_conflict_too() {
    let client = OrgClient::new().await;
    let copy = |custom_id: &str, n: u8| json!({"content": "Equal words.", "customId": custom_id, "metadata": {"n": n}, "containerTag": "a"});
    let (one, two) = (
        client.add_document(copy("one", 1)).await,
        client.add_document(copy("two", 2)).await,
    );
    let answer = client
        .send_patch(&format!("/v3/documents/{one}"), json!({"customId": "two"}))
        .await;

    expect_error(&answer, 409, "ConflictError", "customId");
    assert_eq!(
        client.get_document(&one).await["metadata"],
        json!({"n": 1}),
        "nobody asked to delete it"
    );
    assert_eq!(client.get_document(&two).await["metadata"], json!({"n": 2}));
}

#[tokio::test]
async fn the_same_move_again_is_harmless() {
    let client = OrgClient::new().await;
    client.add_document(note_body()).await;
    let change = json!({"containerTag": "b", "metadata": {"n": 2}});
    let new = move_document(&client, "note", change.clone()).await;
    client.run_until_settled().await;
    let before = client.get_document(&new).await;
    assert_eq!(
        move_document(&client, "note", change.clone()).await,
        new,
        "by its own name"
    );
    assert_eq!(
        move_document(&client, &new, change).await,
        new,
        "by its new id"
    );
    assert_eq!(client.get_document(&new).await, before);
    assert_eq!(count_found_in(&client, "b").await, 1);
}

#[tokio::test]
async fn a_move_whose_answer_was_lost_can_be_asked_for_again_wherever_it_broke_off() {
    for call in 0.. {
        let client = OrgClient::new().await;
        let id = client.add_document(note_body()).await;
        let begun = client.app.faults.call_count();
        client.app.faults.crash_at(Some(begun + call));
        let answer = client
            .send_patch(&format!("/v3/documents/{id}"), json!({"containerTag": "b"}))
            .await;
        let is_past_the_end = client.app.faults.call_count() <= begun + call;
        assert!(
            !is_past_the_end || answer.status.is_success(),
            "{}",
            answer.body
        );

        client.app.faults.crash_at(None);
        let listed = client.listed_ids(json!({})).await;
        assert!(!listed.is_empty(), "nothing is lost: call {call}");

        if listed.contains(&id) {
            move_document(&client, &id, json!({"containerTag": "b"})).await;
        }
        client.run_until_settled().await;
        assert_eq!(
            (
                count_found_in(&client, "a").await,
                count_found_in(&client, "b").await
            ),
            (0, 1),
            "call {call}"
        );
        assert_eq!(client.listed_ids(json!({})).await.len(), 1, "call {call}");

        if is_past_the_end {
            return;
        }
    }
}

#[tokio::test]
async fn a_scoped_key_moves_within_its_tags_alone() {
    let client = OrgClient::new().await;
    let id = client.add_document(note_body()).await;
    let scoped = client
        .app
        .create_key_with("acme", Permission::Write, Some(&["a", "b"]))
        .await;
    let patch = async |id: &str, tag: &str| {
        client
            .app
            .call_json(
                "PATCH",
                &format!("/v3/documents/{id}"),
                &scoped,
                &json!({"containerTag": tag}),
            )
            .await
    };
    expect_error(&patch(&id, "c").await, 403, "PermissionError", "");
    assert_eq!(
        client.get_document(&id).await["containerTags"],
        json!(["a"])
    );

    let answer = patch(&id, "b").await;
    assert_eq!(answer.status, 200, "{}", answer.body);
    client.run_until_settled().await;
    assert_eq!(
        (
            count_found_in(&client, "a").await,
            count_found_in(&client, "b").await
        ),
        (0, 1)
    );
}

#[tokio::test]
async fn a_document_of_a_scoped_key_may_have_the_custom_id_of_another() {
    let client = OrgClient::new().await;
    let first = client.add_document(note_body()).await;
    let apart = client
        .add_apart("b", "note", "The crane CRN-2 flies.")
        .await;
    assert_ne!(first, apart);

    // Without a tag it is the first one, which has the customId in the organization.
    let named = client
        .update_document("note", json!({"metadata": {"n": 2}}))
        .await;
    assert_eq!(named["id"], json!(first));
    let in_b = client
        .update_document("note?containerTag=b", json!({"metadata": {"n": 3}}))
        .await;
    assert_eq!(in_b["id"], json!(apart));

    // The other one goes on having it when the first is gone.
    assert_eq!(client.delete("/v3/documents/note").await.status, 204);
    assert_eq!(client.get_document("note").await["id"], json!(apart));
    assert_eq!(
        client
            .add_apart("b", "note", "The crane CRN-3 flies.")
            .await,
        apart
    );
}

#[tokio::test]
async fn content_for_another_container_takes_the_document_along() {
    let client = OrgClient::new().await;
    let id = client.add_document(note_body()).await;
    let sent = client
        .add_document(
            json!({"content": "The crane CRN-2 flies.", "customId": "note", "containerTag": "b"}),
        )
        .await;
    assert_eq!(sent, id);
    let document = client.get_document("note").await;
    assert_eq!(document["containerTags"], json!(["b"]));
    assert_eq!(
        document["metadata"],
        json!({"n": 1}),
        "what is not sent stays"
    );
    assert!(!client.search_finds("OSPREY-11").await && client.search_finds("CRN-2").await);
    assert_eq!(client.listed_ids(json!({})).await, [id]);
}

#[tokio::test]
async fn a_chat_stays_in_its_container() {
    let client = OrgClient::new().await;
    let turns = |text: &str, tag: &str| json!({"conversationId": "talk", "containerTags": [tag], "messages": [{"role": "user", "content": text}]});
    for (text, tag) in [("I live in Oslo.", "a"), ("I live in Bonn.", "b")] {
        let answer = client.post("/v4/conversations", turns(text, tag)).await;
        assert_eq!(answer.status, 200, "{}", answer.body);
    }
    client.run_until_settled().await;
    for (tag, own, other) in [("a", "Oslo", "Bonn"), ("b", "Bonn", "Oslo")] {
        let path = format!("/v3/documents/talk?containerTag={tag}");
        let content = client.get(&path).await.body["content"].to_string();
        assert!(
            content.contains(own) && !content.contains(other),
            "{content}"
        );
    }
}

#[tokio::test]
async fn a_deletion_finds_a_document_where_it_was_moved() {
    let client = OrgClient::new().await;
    let id = client.add_document(note_body()).await;
    let read_before = client.stored_record(&id).await.expect("a record");
    move_document(&client, &id, json!({"containerTag": "b"})).await;
    client.run_until_settled().await;
    assert_eq!(count_found_in(&client, "b").await, 1);

    let ctx = &client.app.system.ctx;
    let remove = async |tenant: &domain::Tenant| {
        let documents = vec![read_before.clone()];
        service::remove_documents(ctx, tenant, documents, |_| true)
            .await
            .expect("a deletion")
    };
    let key = client
        .app
        .create_key_with("acme", Permission::Write, Some(&["a"]))
        .await;
    let authenticator = Authenticator::new(ctx.keys.clone(), ctx.clock.clone());
    let of_key = authenticator.authenticate(Some(&key), false).await;
    let of_key = of_key.expect("a key");
    assert_eq!(remove(&of_key).await, 0, "out of reach by now");
    assert_eq!(count_found_in(&client, "b").await, 1);

    assert_eq!(remove(&client.tenant).await, 1);
    assert_gone(&client, &id).await;
    assert_eq!(count_found_in(&client, "b").await, 0, "its own log has it");
    let tags = client.get("/v3/container-tags/list").await.body;
    for tag in tags.as_array().expect("tags") {
        assert_eq!(tag["documentCount"], 0, "{tag}");
    }
}

#[tokio::test]
async fn a_document_that_was_published_since_it_was_read_is_counted_off() {
    let client = OrgClient::new().await;
    let id = client.send_document(note_body()).await;
    let read_before = client.stored_record(&id).await.expect("a record");
    client.run_until_settled().await;

    let ctx = &client.app.system.ctx;
    let removed = service::remove_documents(ctx, &client.tenant, vec![read_before], |_| true).await;
    assert_eq!(removed.expect("a deletion"), 1);
    let tags = client.get("/v3/container-tags/list").await.body;
    assert_eq!(tags[0]["documentCount"], 0, "{tags}");
}

#[tokio::test]
async fn memories_of_a_client_move_with_their_document_to_another_date() {
    let client = OrgClient::new().await;
    let memory =
        json!({"content": "Nora prefers the quay.", "metadata": {"n": 1}, "isStatic": true});
    let body = json!({"containerTag": "a", "memories": [memory]});
    let answer = client.post("/v4/memories", body).await;
    client.run_until_settled().await;
    let id = answer.body["documentId"].as_str().expect("a document");

    let change = json!({"containerTag": "b", "provenance": "external"});
    let path = format!("/v3/documents/{id}");
    let answer = client.send_patch(&path, change).await;
    assert_eq!(answer.status, 400, "{}", answer.body);
    let change = json!({"containerTag": "b", "documentDate": "2025-01-01"});
    move_document(&client, id, change).await;
    client.run_until_settled().await;
    let list = client
        .post("/v4/memories/list", json!({"containerTags": ["b"]}))
        .await;
    let entries = list.body["memoryEntries"].as_array().expect("memories");
    assert_eq!(entries.len(), 1, "{}", list.body);
    assert_eq!(entries[0]["memory"], "Nora prefers the quay.");
    assert_eq!(entries[0]["metadata"], json!({"n": 1}));
}
