//! The deletion of connections.

use serde_json::json;

use crate::client::{DriveClient, TAG};

#[tokio::test]
async fn documents_stay_and_a_new_connection_takes_them_over() {
    let client = DriveClient::new().await;
    client.add_doc(&client.root_folder(), "Ferry", "Quay seven.");
    let first = client.connect_all().await;
    let before = client.list_documents().await;
    let ended = client
        .app
        .delete(&format!("/v3/connections/{first}"), &client.key)
        .await;
    assert_eq!(ended.body["provider"], "cloud-drive", "{}", ended.body);
    assert_eq!(
        client.get(&format!("/v3/connections/{first}")).await.status,
        404
    );

    client
        .app
        .run_until_settled()
        .await
        .expect("work that ends");
    assert_eq!(client.list_documents().await, before);
    let revoked = client
        .drive
        .recorded_requests()
        .iter()
        .any(|seen| seen.path == "/revoke");
    assert!(revoked, "the permission is given back");

    client.connect_all().await;
    assert_eq!(
        client.list_documents().await,
        before,
        "neither a second document nor another revision"
    );
}

/// compat: the Python client 3.62 expects a list here, and the TypeScript client an object.
#[tokio::test]
async fn the_python_client_gets_a_list_of_what_was_deleted() {
    let client = DriveClient::new().await;
    let connection = client.connect_all().await;
    let request = http::Request::delete(format!("/v3/connections/{connection}"))
        .header("authorization", format!("Bearer {}", client.key))
        .header("x-stainless-lang", "python")
        .body(axum::body::Body::empty());

    let answer = client.app.send(request.expect("a request")).await;

    let deleted = json!([{"id": connection, "provider": "cloud-drive"}]);
    assert_eq!(answer.body, deleted);
}

#[tokio::test]
async fn documents_go_along_when_asked_unless_another_connection_has_them() {
    let client = DriveClient::new().await;
    let (a, b) = (
        client.add_folder(&client.root_folder(), "A"),
        client.add_folder(&client.root_folder(), "B"),
    );
    client.add_doc(&a, "One", "First.");
    client.add_doc(&b, "Two", "Second.");
    let both = client.connect_selected(&[&a, &b]).await;
    let one = client.connect_selected(&[&a]).await;
    let again = client
        .app
        .delete(
            &format!("/v3/connections/{both}?deleteDocuments=true"),
            &client.key,
        )
        .await;
    assert_eq!(again.status, 200, "{}", again.body);

    client
        .app
        .run_until_settled()
        .await
        .expect("work that ends");
    assert_eq!(client.list_paths().await, ["/My Drive/A/One"]);
    let revoked = client
        .drive
        .recorded_requests()
        .iter()
        .any(|seen| seen.path == "/revoke");
    assert!(!revoked, "the other connection uses the same permission");

    client.run_import(&one).await;
    assert_eq!(client.list_paths().await, ["/My Drive/A/One"]);
}

#[tokio::test]
async fn a_deleted_container_ends_its_connections_and_does_not_come_back() {
    let client = DriveClient::new().await;
    client.add_doc(&client.root_folder(), "Ferry", "Quay seven.");
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

    client
        .app
        .run_until_settled()
        .await
        .expect("work that ends");
    assert_eq!(client.list_paths().await, [""; 0]);
    let tags = client.get("/v3/container-tags/list").await.body;
    assert_eq!(tags, json!([]));
}

#[tokio::test]
async fn connections_follow_a_merge() {
    let client = DriveClient::new().await;
    client.add_doc(&client.root_folder(), "Ferry", "Quay seven.");
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

    client
        .app
        .run_until_settled()
        .await
        .expect("work that ends");
    client.add_doc(&client.root_folder(), "Crane", "The crane is yellow.");
    client.run_import(&id).await;
    let body = json!({"containerTags": ["other"], "source": "cloud-drive"});
    let listed = client.post("/v3/documents/list", body).await.body;
    assert_eq!(
        listed["memories"].as_array().map(Vec::len),
        Some(2),
        "{listed}"
    );
    assert_eq!(client.list_paths().await, [""; 0]);
}
