//! Memories of different organizations and containers, after the deletion of their documents, and
//! after compaction.

use domain::DocumentId;
use domain::key::Permission;
use serde_json::{Value, json};
use testkit::{TestApp, TestEnvironment};

use crate::client::{OrgClient, collect_field};
use crate::containers::index_head;
use crate::memories::{
    client_with_box, create_box, latest_memories, live_sentences, send_conversation,
    write_memories, write_memory,
};
use crate::memories_forget::forget_memory;
use crate::memories_update::correct_memory;
use crate::shape::expect_error;

/// Returns every request that names a memory, a document or a container, with the answers that
/// someone without access may get.
fn requests_naming(tag: &str, id: &str) -> Vec<(&'static str, String, Value)> {
    vec![
        (
            "PATCH",
            "/v4/memories".into(),
            json!({"containerTag": tag, "id": id, "newContent": "Changed."}),
        ),
        (
            "DELETE",
            "/v4/memories".into(),
            json!({"containerTag": tag, "id": id}),
        ),
        (
            "DELETE",
            "/v4/memories".into(),
            json!({"containerTag": tag, "id": format!("{id}-0")}),
        ),
        (
            "DELETE",
            "/v4/memories".into(),
            json!({"containerTag": tag, "content": "I live in Berlin."}),
        ),
        (
            "POST",
            "/v4/memories/forget-matching".into(),
            json!({"containerTag": tag, "ids": [id]}),
        ),
        (
            "POST",
            format!("/v3/container-tags/{tag}/inferred/{id}/review"),
            json!({"action": "decline"}),
        ),
    ]
}

#[tokio::test]
async fn ids_of_other_organizations_and_containers_are_unknown() {
    let world = TestEnvironment::new().expect("a folder");
    let ours = OrgClient::of(TestApp::start(&world, 0).await.expect("an app"), "ours").await;
    let theirs = OrgClient::of(TestApp::start(&world, 1).await.expect("an app"), "theirs").await;
    for client in [&ours, &theirs] {
        create_box(client).await;
        client
            .add_document(
                json!({"content": "It begins.", "containerTag": "den", "taskType": "superrag"}),
            )
            .await;
    }

    let written = write_memories(&theirs, json!([{"content": "I live in Berlin."}])).await;
    let memory = written["memories"][0]["id"].as_str().unwrap();
    let document = written["documentId"].as_str().unwrap();
    // The first client belongs to the other organization. The second asks in another container of
    // its own organization.
    for (client, tag) in [(&ours, "box"), (&theirs, "den")] {
        for (method, path, body) in
            [requests_naming(tag, memory), requests_naming(tag, document)].concat()
        {
            let answer = client
                .app
                .call_json(method, &path, &client.key, &body)
                .await;
            expect_error(&answer, 404, "NotFoundError", "Memory not found");
        }
    }

    for (client, tag) in [(&ours, "box"), (&ours, "den"), (&theirs, "den")] {
        let body = json!({"containerTag": tag, "query": "Where do I live?", "threshold": 0});
        assert_eq!(
            client.post("/v4/memories/forget-matching", body).await.body["count"],
            0
        );
        let listed = client
            .post("/v4/memories/list", json!({"containerTags": [tag]}))
            .await;
        assert_eq!(listed.body["pagination"]["totalItems"], 0);
    }

    assert_eq!(live_sentences(&theirs).await, ["I live in Berlin."]);
    let same = write_memory(&ours, "I live in Berlin.").await;
    assert_ne!(same, memory, "the same words elsewhere are another memory");
}

#[tokio::test]
async fn a_key_does_what_it_may_where_it_reaches() {
    let client = client_with_box().await;
    let id = write_memory(&client, "I live in Berlin.").await;
    let elsewhere = client
        .app
        .create_key_with("acme", Permission::Write, Some(&["den"]))
        .await;
    let reader = client
        .app
        .create_key_with("acme", Permission::Read, None)
        .await;
    let mut requests = requests_naming("box", &id);
    requests.push((
        "POST",
        "/v4/memories".into(),
        json!({"containerTag": "box", "memories": [{"content": "New."}]}),
    ));

    for (method, path, body) in requests {
        for key in [&elsewhere, &reader] {
            expect_error(
                &client.app.call_json(method, &path, key, &body).await,
                403,
                "PermissionError",
                "key",
            );
        }

        expect_error(
            &client.app.call_json(method, &path, "wrong", &body).await,
            401,
            "AuthenticationError",
            "",
        );
    }

    let list = json!({"containerTags": ["box"]});
    expect_error(
        &client
            .app
            .post("/v4/memories/list", &elsewhere, &list)
            .await,
        403,
        "PermissionError",
        "box",
    );
    expect_error(
        &client
            .app
            .get("/v3/container-tags/box/inferred", &elsewhere)
            .await,
        403,
        "PermissionError",
        "box",
    );
    assert_eq!(
        client
            .app
            .post("/v4/memories/list", &reader, &list)
            .await
            .body["pagination"]["totalItems"],
        1
    );
    assert_eq!(live_sentences(&client).await, ["I live in Berlin."]);
}

#[tokio::test]
async fn a_deleted_document_takes_what_only_it_supported() {
    let client = client_with_box().await;
    let one = client
        .add_document(json!({"content": "Anna lives in Bonn.", "containerTag": "box"}))
        .await;
    let both = "Anna lives in Bonn.\n\nBen lives in Kiel.";
    let two = client
        .add_document(json!({"content": both, "containerTag": "box"}))
        .await;
    assert_eq!(
        live_sentences(&client).await,
        ["Anna lives in Bonn.", "Ben lives in Kiel."]
    );
    assert_eq!(
        client.delete(&format!("/v3/documents/{two}")).await.status,
        204
    );
    assert_eq!(live_sentences(&client).await, ["Anna lives in Bonn."]);
    assert_eq!(
        latest_memories(&client).await[0]["documentIds"],
        json!([one])
    );
    let written = write_memories(
        &client,
        json!([{"content": "Cara lives in Graz."}, {"content": "Anna lives in Bonn."}]),
    )
    .await;
    assert_eq!(
        live_sentences(&client).await,
        ["Anna lives in Bonn.", "Cara lives in Graz."]
    );
    let source = written["documentId"].as_str().unwrap();
    for document in [one.as_str(), source] {
        assert_eq!(
            client
                .delete(&format!("/v3/documents/{document}"))
                .await
                .status,
            204
        );
    }

    assert!(latest_memories(&client).await.is_empty());
}

/// Returns the memories in the listing and in the documents, without the parts that depend on the
/// current time.
async fn shown_memories(client: &OrgClient) -> (Vec<Value>, Vec<Value>, Value) {
    let mut documents = Vec::new();
    for id in client.listed_ids(json!({})).await {
        assert!(DocumentId::parse(&id).is_some());
        documents.push(client.get_document(&id).await["memories"].clone());
    }
    (
        latest_memories(client).await,
        documents,
        client.get("/v3/container-tags/box/inferred").await.body,
    )
}

#[tokio::test]
async fn compaction_changes_nothing_that_is_shown() {
    let client = client_with_box().await;
    send_conversation(
        &client,
        &[
            "My sister is Anna.",
            "Anna lives in Bonn.",
            "I prefer tea over coffee.",
        ],
    )
    .await;
    let begun = index_head(&client, "box").await.generation;
    let mut rounds = 0;
    while index_head(&client, "box").await.generation < begun + 2 {
        rounds += 1;
        assert!(rounds < 120, "the log is never compacted");
        let id = write_memory(&client, &format!("Shelf {rounds} holds {rounds} jars.")).await;
        match rounds % 3 {
            0 => drop(forget_memory(&client, json!({"id": id})).await),
            1 => drop(
                correct_memory(
                    &client,
                    json!({"id": id, "newContent": format!("Shelf {rounds} is empty.")}),
                )
                .await,
            ),
            _ => {}
        }
        if rounds % 10 == 0 {
            client
                .delete(&format!(
                    "/v3/documents/{}",
                    client.listed_ids(json!({})).await[0]
                ))
                .await;
        }
        client.run_until_settled().await;
    }

    let warm = shown_memories(&client).await;
    client.app.environment.clock.advance_seconds(120);
    client.run_until_settled().await;
    let cold = TestApp::start(&client.app.environment, 0)
        .await
        .expect("a second process");
    let cold = OrgClient {
        app: cold,
        key: client.key.clone(),
        tenant: client.tenant.clone(),
    };

    assert_eq!(shown_memories(&cold).await, warm);
    assert!(warm.0.iter().any(|entry| entry["isForgotten"] == true));
    assert!(warm.0.iter().any(|entry| entry["version"] == 2));
    assert_eq!(warm.2["total"], 1, "the conclusion is among them");
    let forgotten = collect_field(&json!(warm.0), "memory");
    assert!(forgotten.len() > 20, "{}", forgotten.len());
}
