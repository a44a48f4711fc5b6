//! The names that answers have for the drive: the deployment chooses them, requests take both, and
//! stored data has one.

use edge::ProviderNames;
use serde_json::{Value, json};
use testkit::TestAnswer;

use crate::client::{DriveClient, TAG};

/// Returns the body of a successful answer.
#[track_caller]
fn body(answer: TestAnswer) -> Value {
    assert!(answer.status.is_success(), "{}", answer.body);
    answer.body
}

/// Checks every answer that names the provider or the type of a document.
async fn check_names(names: ProviderNames, provider: &str, kind: &str) {
    let client = DriveClient::with_names(names).await;
    let tags = json!({"containerTags": [TAG]});
    let trusted = json!({"trustedSources": {"providers": ["google-drive"]}});
    client.add_doc(
        &client.root_folder(),
        "Ferry",
        "The ferry leaves from quay seven.",
    );
    let id = client.connect_all().await;

    let listed = body(client.post("/v3/connections/list", tags.clone()).await);
    assert_eq!(listed[0]["provider"], provider);
    let shown = body(client.get(&format!("/v3/connections/{id}")).await);
    assert_eq!(shown["provider"], provider);
    let settings = client
        .app
        .call_json("PATCH", "/v3/settings", &client.key, &trusted);
    let settings = body(settings.await);
    assert_eq!(settings["trustedSources"]["providers"], json!([provider]));

    for spelling in ["cloud-drive", "google-drive"] {
        let path = format!("/v3/connections/{spelling}");
        let found = body(
            client
                .post(&format!("{path}/connection"), tags.clone())
                .await,
        );
        assert_eq!(
            (&found["id"], &found["provider"]),
            (&json!(id), &json!(provider))
        );
        let documents = body(
            client
                .post(&format!("{path}/documents"), tags.clone())
                .await,
        );
        assert_eq!(documents[0]["type"], kind);
        let import = body(client.post(&format!("{path}/import"), tags.clone()).await);
        assert_eq!(import["provider"], provider);
        let message = import["message"].as_str().expect("a message");
        assert!(
            message.starts_with(&format!("Importing {provider}:")),
            "{message}"
        );
        let by_source = json!({"containerTags": [TAG], "source": spelling});
        let by_source = body(client.post("/v3/documents/list", by_source).await);
        assert_eq!(by_source["memories"][0]["type"], kind, "{spelling}");
    }
    client
        .app
        .run_connection_until_settled(&client.key, &id)
        .await;

    let with_memories = body(client.post("/v3/documents/documents", tags.clone()).await);
    let document = &with_memories["documents"][0];
    assert_eq!(document["type"], kind);
    let id_of_document = document["id"].as_str().expect("an id");
    let document = body(client.get(&format!("/v3/documents/{id_of_document}")).await);
    assert_eq!(
        (&document["type"], &document["source"]),
        (&json!(kind), &json!(provider))
    );
    let question = json!({
        "q": "quay", "containerTag": TAG, "searchMode": "documents", "threshold": 0,
        "include": {"documents": true},
    });
    let found = body(client.post("/v4/search", question).await);
    assert_eq!(found["results"][0]["documents"][0]["type"], kind);
    let question = json!({"q": "quay", "containerTags": [TAG]});
    let found = body(client.post("/v3/search", question).await);
    assert_eq!(found["results"][0]["type"], kind);

    check_stored_names(&client).await;
    check_uploads(&client, kind).await;
    let unsupported = client.post("/v3/connections/notion", tags).await;
    assert_eq!(unsupported.status, 501);
    let message = unsupported.body["error"].as_str().expect("a message");
    assert!(
        message.contains(&format!("{provider} and web-crawler")),
        "{message}"
    );
    let deleted = client
        .app
        .delete(&format!("/v3/connections/{id}"), &client.key)
        .await;
    assert_eq!(body(deleted)["provider"], provider);
}

/// Checks that a caller may declare the type of a file by either name.
async fn check_uploads(client: &DriveClient, kind: &str) {
    for declared in ["cloud_doc", "google_doc"] {
        let fields = [("fileType", declared), ("containerTag", "uploads")];
        let app = &client.app;
        let sent = app
            .upload_file(&client.key, "a.md", declared.as_bytes(), &fields)
            .await;
        let id = body(sent)["id"].as_str().expect("an id").to_owned();
        app.run_until_settled().await.expect("work that ends");
        let shown = body(client.get(&format!("/v3/documents/{id}")).await);
        assert_eq!(shown["type"], kind, "{declared}");
    }
}

/// Checks that stored data has the names of this service.
async fn check_stored_names(client: &DriveClient) {
    let system = &client.app.system;
    let mut from = None;
    let mut is_named = false;
    loop {
        let scan = system.clients.dynamodb.scan();
        let scan = scan
            .table_name(&system.names.records)
            .set_exclusive_start_key(from);
        let page = scan.send().await.expect("a scan");
        for item in page.items.unwrap_or_default() {
            let text = format!("{item:?}");
            assert!(
                !text.contains("google-drive") && !text.contains("google_doc"),
                "{text}"
            );
            is_named |= text.contains("cloud_doc");
        }
        from = page.last_evaluated_key;
        if from.is_none() {
            break;
        }
    }
    assert!(is_named);
}

#[tokio::test]
async fn a_drive_has_the_names_of_this_service_unless_told_otherwise() {
    check_names(ProviderNames::default(), "cloud-drive", "cloud_doc").await;
}

#[tokio::test]
async fn a_drive_has_the_names_of_its_vendor_if_the_deployment_says_so() {
    check_names(ProviderNames::Google, "google-drive", "google_doc").await;
}
