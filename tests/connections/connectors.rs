//! Connectors of a namespace, the newer form of connections, with a drive and a website.

use serde_json::{Value, json};
use testkit::{Browser, TestAnswer};

use crate::client::{DriveClient, TAG};

fn path(rest: &str) -> String {
    format!("/ns/{TAG}/connectors{rest}")
}

async fn call(client: &DriveClient, method: &str, rest: &str, body: Value) -> TestAnswer {
    client
        .app
        .call_json(method, &path(rest), &client.key, &body)
        .await
}

/// Returns the body of a successful answer.
async fn expect(client: &DriveClient, method: &str, rest: &str, body: Value) -> Value {
    let answer = call(client, method, rest, body).await;
    assert!(answer.status.is_success(), "{}", answer.body);
    answer.body
}

#[tokio::test]
async fn a_connector_follows_a_drive_from_permission_to_deletion() {
    let client = DriveClient::new().await;
    let folder = client.add_folder(&client.root_folder(), "Plans");
    let file = client.add_doc(&client.root_folder(), "Crane", "The crane is yellow.");
    client.add_doc(&folder, "Ferry", "The ferry leaves from quay seven.");

    let setup = json!({"provider": "google-drive", "documentLimit": 50});
    let created = expect(&client, "POST", "", setup).await;
    let id = created["id"].as_str().expect("an id").to_owned();
    let one = format!("/{id}");
    let link = created["authorization"]["url"].as_str().expect("a link");
    Browser::default()
        .follow(&client.app, link)
        .await
        .expect("permission");

    let selection = json!({"selection": {"folders": [folder], "files": [file]}});
    let changed = expect(&client, "PATCH", &one, selection).await;
    assert_eq!(
        changed["selection"]["folders"],
        json!([{"id": folder, "name": "Plans"}])
    );
    client
        .app
        .run_connection_until_settled(&client.key, &id)
        .await;
    assert_eq!(
        client.list_paths().await,
        ["/My Drive/Crane", "/My Drive/Plans/Ferry"]
    );

    let shown = expect(
        &client,
        "GET",
        &format!("{one}?include=syncs,picker"),
        Value::Null,
    )
    .await;
    assert_eq!(
        (
            &shown["provider"],
            &shown["documentCount"],
            &shown["documentLimit"]
        ),
        (&json!("google-drive"), &json!(2), &json!(50))
    );
    assert_eq!(
        shown["latestRun"]["system"]["status"], "completed",
        "{shown}"
    );
    assert_eq!(shown["syncs"][0]["itemsProcessed"], 2, "{shown}");
    assert_eq!(
        shown["system"]["lastSuccessfulSyncAt"],
        shown["latestRun"]["system"]["completedAt"]
    );
    assert!(shown["picker"]["url"].is_string(), "{shown}");

    let queued = call(&client, "POST", &format!("{one}/sync"), Value::Null).await;
    assert_eq!(queued.status, 202, "{}", queued.body);
    assert_eq!(queued.body, json!({"id": id, "status": "queued"}));
    client
        .app
        .run_connection_until_settled(&client.key, &id)
        .await;
    let synced = expect(&client, "GET", &format!("{one}?include=syncs"), Value::Null).await;
    assert_eq!(synced["syncs"][0]["trigger"], "manual", "{synced}");
    assert_eq!(
        synced["syncs"].as_array().map(Vec::len),
        Some(2),
        "{synced}"
    );

    let deleted = expect(&client, "DELETE", &one, Value::Null).await;
    assert_eq!(deleted, json!({"id": id, "deleted": true}));
    client
        .app
        .run_until_settled()
        .await
        .expect("work that ends");
    assert!(client.list_documents().await.is_empty());
    let gone = call(&client, "GET", &one, Value::Null).await;
    assert_eq!(gone.status, 404, "{}", gone.body);
}

#[tokio::test]
async fn documents_of_a_deleted_connector_stay_if_they_are_to() {
    let client = DriveClient::new().await;
    client.add_doc(&client.root_folder(), "Ferry", "Quay seven.");
    let id = client.connect_all().await;
    let rest = format!("/{id}?deleteDocuments=false");
    expect(&client, "DELETE", &rest, Value::Null).await;
    client
        .app
        .run_until_settled()
        .await
        .expect("work that ends");
    assert_eq!(client.list_paths().await, ["/My Drive/Ferry"]);
}

#[tokio::test]
async fn a_website_is_read_without_permission() {
    let client = DriveClient::new().await;
    let config = json!({"startUrl": "https://tides.example/", "crawlDepth": 2});
    let setup = json!({"provider": "web-crawler", "config": config});
    let created = expect(&client, "POST", "", setup).await;
    assert_eq!(created["authorization"], Value::Null);

    let id = created["id"].as_str().expect("an id");
    let rest = format!("/{id}?include=picker");
    let shown = expect(&client, "GET", &rest, Value::Null).await;
    assert_eq!(
        (&shown["config"], &shown["selection"]),
        (&config, &Value::Null)
    );
    assert_eq!(
        shown["capabilities"],
        json!({"selectable": false, "webhooks": false})
    );
    assert_eq!(shown.get("picker"), None);
    assert_eq!(shown["system"]["status"], "active");
    let listed = expect(&client, "GET", "?provider=web-crawler", Value::Null).await;
    assert_eq!(listed["pagination"]["totalItems"], 1);

    let selection = json!({"selection": {"files": ["a"]}});
    let refused = call(&client, "PATCH", &format!("/{id}"), selection).await;
    assert_eq!(refused.status, 501, "{}", refused.body);
}

#[tokio::test]
async fn the_configuration_of_a_website_is_checked_under_its_own_names() {
    let client = DriveClient::new().await;
    for (config, named) in [
        (Value::Null, "config.startUrl"),
        (json!({}), "config.startUrl"),
        (json!({"startUrl": "tides.example"}), "config.startUrl"),
        (
            json!({"startUrl": "https://tides.example/", "crawlDepth": 11}),
            "config.crawlDepth",
        ),
        (
            json!({"startUrl": "https://tides.example/", "maxDepth": 1}),
            "config: ",
        ),
        (
            json!({"startUrl": "https://tides.example/", "syncScope": "full"}),
            "config: ",
        ),
    ] {
        let setup = json!({"provider": "web-crawler", "config": config});
        let refused = call(&client, "POST", "", setup).await;
        assert_eq!(refused.status, 400, "{config}: {}", refused.body);
        let message = refused.body["error"].as_str().expect("a message");
        assert!(message.starts_with(named), "{config}: {message}");
    }
    let listed = expect(&client, "GET", "", Value::Null).await;
    assert_eq!(listed["connectors"], json!([]));
}
