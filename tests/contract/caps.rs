//! Caps on the container tags and keys of an organization.

use serde_json::{Value, json};
use service::OrganizationCaps;
use testkit::{TestApp, TestEnvironment};

use crate::client::OrgClient;
use crate::shape::expect_error;

/// Returns a client of an organization that may have three tags and three keys. Its own key is one
/// of them.
async fn client_with_caps() -> OrgClient {
    let mut world = TestEnvironment::new().expect("a folder");
    world.caps = OrganizationCaps { tags: 3, keys: 3 };
    OrgClient::of(TestApp::start(&world, 0).await.expect("an app"), "acme").await
}

fn note(tag: &str) -> Value {
    json!({"content": format!("A note of {tag}."), "containerTag": tag})
}

#[tokio::test]
async fn no_request_makes_more_container_tags_than_an_organization_may_have() {
    let client = client_with_caps().await;
    client.add_document(note("a")).await;
    client.add_document(note("b")).await;
    let described = client
        .send_patch("/v3/container-tags/c", json!({"name": "The third"}))
        .await;
    assert!(described.status.is_success(), "{}", described.body);

    let message = "the organization has 3 container tags, the most it may have";
    let chat = json!({"conversationId": "1", "messages": [{"role": "user", "content": "Hi."}], "containerTags": ["d"]});
    for (path, body) in [
        ("/v3/documents", note("d")),
        (
            "/v3/documents/file/uploads",
            json!({"fileName": "a.txt", "containerTag": "d"}),
        ),
        ("/v4/conversations", chat),
    ] {
        expect_error(
            &client.post(path, body).await,
            400,
            "ValidationError",
            message,
        );
    }

    let batch = json!({"documents": ["A note."], "containerTag": "d"});
    let batch = client.post("/v3/documents/batch", batch).await.body;
    assert_eq!(batch["failed"], 1, "{batch}");
    assert!(
        batch["results"][0]["error"]
            .as_str()
            .is_some_and(|error| error.contains(message)),
        "{batch}"
    );

    let described = client
        .send_patch("/v3/container-tags/d", json!({"name": "The fourth"}))
        .await;
    expect_error(&described, 400, "ValidationError", message);

    let upload = client
        .app
        .upload_file(&client.key, "a.txt", b"A file.", &[("containerTag", "d")])
        .await;
    expect_error(&upload, 400, "ValidationError", message);

    // Existing tags accept more documents, and another organization has its own count.
    client
        .add_document(json!({"content": "Another note.", "containerTag": "c"}))
        .await;
    client
        .app
        .add_document(&client.app.create_key("other").await, &note("d"))
        .await;
}

#[tokio::test]
async fn a_deleted_or_merged_tag_makes_room_for_another() {
    let client = client_with_caps().await;
    for tag in ["a", "b", "c"] {
        client.add_document(note(tag)).await;
    }
    client.run_until_settled().await;
    let deleted = client.delete("/v3/container-tags/a").await;
    assert!(deleted.status.is_success(), "{}", deleted.body);
    client.add_document(note("d")).await;
    expect_error(
        &client.post("/v3/documents", note("e")).await,
        400,
        "ValidationError",
        "the most it may have",
    );

    let merge = json!({"containerTags": ["b", "c"], "targetContainerTag": "c"});
    let merged = client.post("/v3/container-tags/merge", merge).await;
    assert!(merged.status.is_success(), "{}", merged.body);
    client.run_until_settled().await;
    client.add_document(note("e")).await;
    expect_error(
        &client.post("/v3/documents", note("f")).await,
        400,
        "ValidationError",
        "the most it may have",
    );
}

#[tokio::test]
async fn no_request_makes_more_keys_than_an_organization_may_have() {
    let client = client_with_caps().await;
    let scoped = client
        .post("/v3/auth/scoped-key", json!({"containerTag": "a"}))
        .await;
    let agent = client
        .post(
            "/v3/auth/agent-key",
            json!({"name": "bot", "permission": "read"}),
        )
        .await;
    for made in [&scoped, &agent] {
        assert!(made.status.is_success(), "{}", made.body);
    }
    let message = "the organization has 3 keys, the most it may have";

    for (path, body) in [
        ("/v3/auth/scoped-key", json!({"containerTag": "a"})),
        (
            "/v3/auth/agent-key",
            json!({"name": "bot", "permission": "read"}),
        ),
    ] {
        expect_error(
            &client.post(path, body).await,
            400,
            "ValidationError",
            message,
        );
    }

    let session = client.post("/v3/session", json!({})).await;
    assert!(
        session.status.is_success(),
        "sessions end by themselves: {}",
        session.body
    );

    let id = scoped.body["id"].as_str().expect("an id");
    client.delete(&format!("/v3/auth/keys/{id}")).await;
    let made = client
        .post("/v3/auth/scoped-key", json!({"containerTag": "a"}))
        .await;
    assert!(made.status.is_success(), "{}", made.body);
}
