//! `POST /v3/documents/{id}/retry`.

use serde_json::{Value, json};

use crate::client::Client;
use crate::shape::{Faults, accepted, ok, refused};

#[tokio::test]
async fn a_failed_document_is_processed_again() {
    let client = Client::new().await;
    let fields = [("customId", "note"), ("metadata", r#"{"n":1}"#)];
    let answer = client
        .app
        .upload(&client.key, "x.bin", &[0, 1, 2, 3, 0, 0, 9], &fields)
        .await;
    let id = answer.body["id"].clone();
    client.settle().await;

    for (revision, name) in [
        (2, id.as_str().expect("an id")),
        (3, "note"),
        (4, "note?containerTag=sm_project_default"),
    ] {
        let (path, query) = name.split_once('?').unwrap_or((name, ""));
        let path = format!("/v3/documents/{path}/retry?{query}");
        let answer = ok(client.post(&path, Value::Null).await, &accepted());
        assert_eq!(answer, json!({"id": id, "status": "queued"}));

        let document = client.document("note").await;
        assert!(document.get("errorCode").is_none(), "{document}");
        assert_eq!(
            (&document["status"], &document["metadata"]),
            (&json!("queued"), &json!({"n": 1}))
        );
        refused(
            &client.post(&path, Value::Null).await,
            409,
            "ConflictError",
            "queued",
        );

        client.settle().await;
        let document = client.document_or_failure("note").await;
        assert_eq!(
            (&document["status"], &document["latestRevision"]),
            (&json!("failed"), &json!(revision))
        );
        assert_eq!(document["errorCode"], "unsupported_type");
    }
}

#[tokio::test]
async fn what_fails_by_our_own_fault_can_be_mended() {
    let client = Client::new().await;
    let id = client.send(json!({"content": "The canary sings."})).await;
    let ctx = &client.app.system.ctx;
    let record = client.record(&id).await.expect("a record");
    let failure = domain::Failure {
        code: domain::FailureCode::ProcessingFailed,
        message: "It broke.".into(),
    };
    let failed = ctx.documents.fail(
        &client.tenant,
        &record.id,
        &record.revision,
        &failure,
        None,
        ctx.clock.now(),
    );
    assert!(failed.await.expect("an answer"));

    client.settle().await;
    assert_eq!(
        client.document_or_failure(&id).await["errorCode"],
        "processing_failed"
    );

    ok(
        client
            .post(&format!("/v3/documents/{id}/retry"), json!({}))
            .await,
        &accepted(),
    );
    client.settle().await;
    assert_eq!(client.document(&id).await["status"], "done");
    assert_eq!(client.found("canary").await, ["The canary sings."]);
}

#[tokio::test]
async fn only_a_failed_document_is_tried_again() {
    let client = Client::new().await;
    let id = client
        .add(json!({"content": "Some words.", "customId": "note"}))
        .await;
    let before = client.document(&id).await;
    refused(
        &client
            .post(&format!("/v3/documents/{id}/retry"), Value::Null)
            .await,
        409,
        "ConflictError",
        "done",
    );
    assert_eq!(client.document(&id).await, before);

    let mut faults = Faults::default();
    for name in crate::read::UNKNOWN {
        let answer = client
            .post(&format!("/v3/documents/{name}/retry"), Value::Null)
            .await;
        faults.note(name, &answer, 404, "NotFoundError", "Document not found");
    }

    let other = client.app.key("other").await;
    for name in [id.as_str(), "note"] {
        let answer = client
            .app
            .post(&format!("/v3/documents/{name}/retry"), &other, &Value::Null)
            .await;
        faults.note(name, &answer, 404, "NotFoundError", "Document not found");
    }

    faults.assert_none();
}

#[tokio::test]
async fn what_was_served_before_is_served_until_the_retry_succeeds() {
    let client = Client::new().await;
    let id = client
        .add(json!({"content": "Old words.", "customId": "note"}))
        .await;
    client
        .app
        .upload(
            &client.key,
            "x.bin",
            &[0, 1, 2, 3, 0, 0, 9],
            &[("customId", "note")],
        )
        .await;
    client.settle().await;
    for _ in 0..2 {
        assert_eq!(client.found("words").await, ["Old words."]);
        client
            .post(&format!("/v3/documents/{id}/retry"), Value::Null)
            .await;
        client.settle().await;
    }

    assert_eq!(client.document_or_failure(&id).await["status"], "failed");
}
