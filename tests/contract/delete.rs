//! `DELETE /v3/documents/{id}`: immediate, in any state, and permanent.

use domain::BlobRef;
use domain::document::Document;
use serde_json::{Value, json};

use crate::client::Client;
use crate::shape::refused;
use crate::steps::{process_only, send_late_messages};

const CANARY: &str = "CANARY-5501";

fn note() -> Value {
    json!({"content": format!("The canary is called {CANARY}."), "customId": "note", "containerTag": "a"})
}

/// Returns every blob that the document may have left behind.
fn blobs(document: &Document) -> Vec<BlobRef> {
    let pack = document.pack_path();
    let indexed = document
        .indexed
        .iter()
        .flat_map(|indexed| [indexed.pack.clone(), indexed.body.clone()]);

    [
        document.body.blob.clone(),
        BlobRef::Inline(pack.clone()),
        BlobRef::Object(pack),
    ]
    .into_iter()
    .chain(indexed)
    .collect()
}

/// Deletes the document. Checks that it is gone at once and stays gone even if late messages
/// arrive.
async fn delete_for_good(client: &Client, id: &str) {
    let old = client.record(id).await.expect("a record");
    let answer = client.delete(&format!("/v3/documents/{id}")).await;
    assert_eq!((answer.status.as_u16(), &answer.body), (204, &Value::Null));
    assert_gone(client, id).await;

    send_late_messages(client, &old).await;
    assert_gone(client, id).await;
    client.settle().await;
    assert_gone(client, id).await;

    let left = client
        .app
        .system
        .ctx
        .blobs
        .get(&client.tenant, &blobs(&old))
        .await
        .expect("blobs");
    assert!(
        left.iter().all(Option::is_none),
        "its bytes are still there"
    );
}

async fn assert_gone(client: &Client, id: &str) {
    for name in [id, "note"] {
        refused(
            &client.get(&format!("/v3/documents/{name}")).await,
            404,
            "NotFoundError",
            "Document not found",
        );
        refused(
            &client.get(&format!("/v3/documents/{name}/chunks")).await,
            404,
            "NotFoundError",
            "Document",
        );
        refused(
            &client.delete(&format!("/v3/documents/{name}")).await,
            404,
            "NotFoundError",
            "Document",
        );

        let search = client
            .post("/v3/search", json!({"q": "canary", "docId": name}))
            .await;
        refused(&search, 404, "NotFoundError", "Document not found");
    }

    assert!(!client.finds(CANARY).await);
    assert!(client.listed(json!({})).await.is_empty());
    assert_eq!(
        client.get("/v3/documents/processing?view=all").await.body["totalCount"],
        0
    );
}

#[tokio::test]
async fn before_any_work() {
    let client = Client::new().await;
    let id = client.send(note()).await;
    delete_for_good(&client, &id).await;
}

#[tokio::test]
async fn while_a_worker_has_it() {
    let client = Client::new().await;
    let id = client.send(note()).await;
    let ctx = &client.app.system.ctx;
    let record = client.record(&id).await.expect("a record");
    let now = ctx.clock.now();
    let claim = ctx
        .documents
        .claim(
            &client.tenant,
            &record.id,
            &record.revision,
            now,
            now.plus_seconds(90),
        )
        .await;
    assert!(matches!(claim, Ok(domain::ports::Claim::Mine(_))));
    assert_eq!(client.document(&id).await["status"], "extracting");

    delete_for_good(&client, &id).await;
}

#[tokio::test]
async fn between_processing_and_commit() {
    let client = Client::new().await;
    let id = client.send(note()).await;
    process_only(&client).await;
    assert_eq!(client.document(&id).await["status"], "indexing");
    delete_for_good(&client, &id).await;
}

#[tokio::test]
async fn when_it_is_done() {
    let client = Client::new().await;
    let id = client.add(note()).await;
    assert!(client.finds(CANARY).await);
    delete_for_good(&client, &id).await;
}

#[tokio::test]
async fn when_it_has_failed() {
    let client = Client::new().await;
    let answer = client
        .app
        .upload(
            &client.key,
            "x.bin",
            &[0, 1, 0, 0, 2],
            &[("customId", "note"), ("containerTag", "a")],
        )
        .await;
    client.settle().await;
    let id = answer.body["id"].as_str().expect("an id");
    assert_eq!(client.document_or_failure(id).await["status"], "failed");
    delete_for_good(&client, id).await;
}

#[tokio::test]
async fn while_new_content_is_at_any_stage() {
    for stage in ["queued", "indexing", "failed"] {
        let client = Client::new().await;
        let id = client.add(note()).await;
        if stage == "failed" {
            let fields = [("customId", "note"), ("containerTag", "a")];
            client
                .app
                .upload(&client.key, "x.bin", &[0, 1, 0, 0, 2], &fields)
                .await;
            client.settle().await;
        } else {
            client
                .send(json!({"content": "New words.", "customId": "note", "containerTag": "a"}))
                .await;
            if stage == "indexing" {
                process_only(&client).await;
            }
        }

        assert_eq!(client.document_or_failure(&id).await["status"], stage);
        assert!(
            client.finds(CANARY).await,
            "the old content is still served"
        );

        delete_for_good(&client, &id).await;
        assert!(client.found("new words").await.is_empty());
    }
}

#[tokio::test]
async fn by_custom_id_and_with_a_body_that_says_nothing() {
    let client = Client::new().await;
    for path in ["/v3/documents/note", "/v3/documents/note?containerTag=a"] {
        client.add(note()).await;
        let answer = client.raw("DELETE", path, "application/json", "{}").await;
        assert_eq!(answer.status, 204, "{}", answer.body);
        assert!(!client.finds(CANARY).await);
    }
}

#[tokio::test]
async fn nothing_else_is_deleted() {
    let client = Client::new().await;
    let mut others = Vec::new();
    for tag in ["a", "b"] {
        others.push(
            client
                .add(json!({"content": format!("The other canary of {tag}."), "containerTag": tag}))
                .await,
        );
    }

    let id = client.add(note()).await;
    client.delete(&format!("/v3/documents/{id}")).await;
    client.settle().await;
    others.reverse();
    assert_eq!(client.listed(json!({})).await, others);
    assert_eq!(client.found("other canary").await.len(), 2);
}
