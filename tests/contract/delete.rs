//! `DELETE /v3/documents/{id}`: immediate, in any state, and permanent.

use domain::BlobRef;
use domain::document::Document;
use serde_json::{Value, json};

use crate::client::OrgClient;
use crate::shape::expect_error;
use crate::steps::{make_long, process_only, send_late_messages};

const CANARY: &str = "CANARY-5501";

fn note_body() -> Value {
    json!({"content": format!("The canary is called {CANARY}."), "customId": "note", "containerTag": "a"})
}

/// Returns every blob that the document may have left behind.
fn possible_blobs(document: &Document) -> Vec<BlobRef> {
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
async fn delete_for_good(client: &OrgClient, id: &str) {
    let old = client.stored_record(id).await.expect("a record");
    let answer = client.delete(&format!("/v3/documents/{id}")).await;
    assert_eq!((answer.status.as_u16(), &answer.body), (204, &Value::Null));
    assert_gone(client, id).await;

    send_late_messages(client, &old).await;
    assert_gone(client, id).await;
    client.run_until_settled().await;
    assert_gone(client, id).await;

    let left = client
        .app
        .system
        .ctx
        .blobs
        .get_intact(&client.tenant, &possible_blobs(&old))
        .await
        .expect("blobs");
    assert!(
        left.iter().all(Option::is_none),
        "its bytes are still there"
    );
}

async fn assert_gone(client: &OrgClient, id: &str) {
    for name in [id, "note"] {
        expect_error(
            &client.get(&format!("/v3/documents/{name}")).await,
            404,
            "NotFoundError",
            "Document not found",
        );
        expect_error(
            &client.get(&format!("/v3/documents/{name}/chunks")).await,
            404,
            "NotFoundError",
            "Document",
        );
        expect_error(
            &client.delete(&format!("/v3/documents/{name}")).await,
            404,
            "NotFoundError",
            "Document",
        );

        let search = client
            .post("/v3/search", json!({"q": "canary", "docId": name}))
            .await;
        expect_error(&search, 404, "NotFoundError", "Document not found");
    }

    assert!(!client.search_finds(CANARY).await);
    assert!(client.listed_ids(json!({})).await.is_empty());
    assert_eq!(
        client.get("/v3/documents/processing?view=all").await.body["totalCount"],
        0
    );
}

#[tokio::test]
async fn before_any_work() {
    let client = OrgClient::new().await;
    let id = client.send_document(note_body()).await;
    delete_for_good(&client, &id).await;
}

#[tokio::test]
async fn while_a_worker_has_it() {
    let client = OrgClient::new().await;
    let id = client.send_document(note_body()).await;
    let ctx = &client.app.system.ctx;
    let record = client.stored_record(&id).await.expect("a record");
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
    assert_eq!(client.get_document(&id).await["status"], "extracting");

    delete_for_good(&client, &id).await;
}

#[tokio::test]
async fn between_processing_and_commit() {
    let client = OrgClient::new().await;
    let mut body = note_body();
    body["content"] = make_long(&format!("The canary is called {CANARY}.")).into();
    let id = client.send_document(body).await;
    process_only(&client).await;
    assert_eq!(client.get_document(&id).await["status"], "indexing");
    delete_for_good(&client, &id).await;
}

#[tokio::test]
async fn when_it_is_done() {
    let client = OrgClient::new().await;
    let id = client.add_document(note_body()).await;
    assert!(client.search_finds(CANARY).await);
    delete_for_good(&client, &id).await;
}

#[tokio::test]
async fn when_it_has_failed() {
    let client = OrgClient::new().await;
    let answer = client
        .app
        .upload_file(
            &client.key,
            "x.bin",
            &[0, 1, 0, 0, 2],
            &[("customId", "note"), ("containerTag", "a")],
        )
        .await;
    client.run_until_settled().await;
    let id = answer.body["id"].as_str().expect("an id");
    assert_eq!(client.get_document_unchecked(id).await["status"], "failed");
    delete_for_good(&client, id).await;
}

#[tokio::test]
async fn while_new_content_is_at_any_stage() {
    for stage in ["queued", "indexing", "failed"] {
        let client = OrgClient::new().await;
        let id = client.add_document(note_body()).await;
        if stage == "failed" {
            let fields = [("customId", "note"), ("containerTag", "a")];
            client
                .app
                .upload_file(&client.key, "x.bin", &[0, 1, 0, 0, 2], &fields)
                .await;
            client.run_until_settled().await;
        } else {
            client
                .send_document(
                    json!({"content": "New words.", "customId": "note", "containerTag": "a"}),
                )
                .await;
            if stage == "indexing" {
                process_only(&client).await;
            }
        }

        assert_eq!(client.get_document_unchecked(&id).await["status"], stage);
        assert!(
            client.search_finds(CANARY).await,
            "the old content is still served"
        );

        delete_for_good(&client, &id).await;
        assert!(client.search_texts("new words").await.is_empty());
    }
}

#[tokio::test]
async fn by_custom_id_and_with_a_body_that_says_nothing() {
    let client = OrgClient::new().await;
    for path in ["/v3/documents/note", "/v3/documents/note?containerTag=a"] {
        client.add_document(note_body()).await;
        let answer = client
            .send_bytes("DELETE", path, "application/json", "{}")
            .await;
        assert_eq!(answer.status, 204, "{}", answer.body);
        assert!(!client.search_finds(CANARY).await);
    }
}

#[tokio::test]
async fn nothing_else_is_deleted() {
    let client = OrgClient::new().await;
    let mut others = Vec::new();
    for tag in ["a", "b"] {
        others.push(
            client
                .add_document(
                    json!({"content": format!("The other canary of {tag}."), "containerTag": tag}),
                )
                .await,
        );
    }

    let id = client.add_document(note_body()).await;
    client.delete(&format!("/v3/documents/{id}")).await;
    client.run_until_settled().await;
    others.reverse();
    assert_eq!(client.listed_ids(json!({})).await, others);
    assert_eq!(client.search_texts("other canary").await.len(), 2);
}
