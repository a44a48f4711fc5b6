//! The deletion of connections.

use serde_json::json;

use crate::client::{Client, TAG};

#[tokio::test]
async fn documents_stay_and_a_new_connection_takes_them_over() {
    let client = Client::new().await;
    client.doc(&client.root(), "Ferry", "Quay seven.");
    let first = client.connect_all().await;
    let before = client.documents().await;
    let ended = client
        .app
        .delete(&format!("/v3/connections/{first}"), &client.key)
        .await;
    assert_eq!(ended.body["provider"], "cloud-drive", "{}", ended.body);
    assert_eq!(
        client.get(&format!("/v3/connections/{first}")).await.status,
        404
    );

    client.app.settle().await.expect("work that ends");
    assert_eq!(client.documents().await, before);
    let revoked = client
        .drive
        .requests()
        .iter()
        .any(|seen| seen.path == "/revoke");
    assert!(revoked, "the permission is given back");

    client.connect_all().await;
    assert_eq!(
        client.documents().await,
        before,
        "neither a second document nor another revision"
    );
}

#[tokio::test]
async fn documents_go_along_when_asked_unless_another_connection_has_them() {
    let client = Client::new().await;
    let (a, b) = (
        client.folder(&client.root(), "A"),
        client.folder(&client.root(), "B"),
    );
    client.doc(&a, "One", "First.");
    client.doc(&b, "Two", "Second.");
    let both = client.connect(&[&a, &b]).await;
    let one = client.connect(&[&a]).await;
    let again = client
        .app
        .delete(
            &format!("/v3/connections/{both}?deleteDocuments=true"),
            &client.key,
        )
        .await;
    assert_eq!(again.status, 200, "{}", again.body);

    client.app.settle().await.expect("work that ends");
    assert_eq!(client.paths().await, ["/My Drive/A/One"]);
    let revoked = client
        .drive
        .requests()
        .iter()
        .any(|seen| seen.path == "/revoke");
    assert!(!revoked, "the other connection uses the same permission");

    client.import(&one).await;
    assert_eq!(client.paths().await, ["/My Drive/A/One"]);
}

#[tokio::test]
async fn a_deleted_container_ends_its_connections_and_does_not_come_back() {
    let client = Client::new().await;
    client.doc(&client.root(), "Ferry", "Quay seven.");
    let id = client.connect_all().await;
    let gone = client
        .app
        .delete(&format!("/v3/container-tags/{TAG}"), &client.key)
        .await;
    assert!(gone.status.is_success(), "{}", gone.body);
    assert_eq!(
        client.get(&format!("/v3/connections/{id}")).await.status,
        404
    );

    client.app.settle().await.expect("work that ends");
    assert_eq!(client.paths().await, [""; 0]);
    let tags = client.get("/v3/container-tags/list").await.body;
    assert_eq!(tags, json!([]));
}

#[tokio::test]
async fn connections_follow_a_merge() {
    let client = Client::new().await;
    client.doc(&client.root(), "Ferry", "Quay seven.");
    client
        .post(
            "/v3/documents",
            json!({"content": "Here already.", "containerTag": "other"}),
        )
        .await;
    let id = client.connect_all().await;
    let merge = json!({"containerTags": [TAG], "targetContainerTag": "other"});
    let merge = client.post("/v3/container-tags/merge", merge).await;
    assert_eq!(merge.status, 202, "{}", merge.body);

    client.app.settle().await.expect("work that ends");
    client.doc(&client.root(), "Crane", "The crane is yellow.");
    client.import(&id).await;
    let body = json!({"containerTags": ["other"], "source": "cloud-drive"});
    let listed = client.post("/v3/documents/list", body).await.body;
    assert_eq!(
        listed["memories"].as_array().map(Vec::len),
        Some(2),
        "{listed}"
    );
    assert_eq!(client.paths().await, [""; 0]);
}
