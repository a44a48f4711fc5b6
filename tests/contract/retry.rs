//! `POST /v3/documents/{id}/retry`.

use serde_json::{Value, json};

use crate::client::OrgClient;
use crate::shape::{ErrorMismatches, accepted_shape, expect_error, expect_ok};

#[tokio::test]
async fn a_failed_document_is_processed_again() {
    let client = OrgClient::new().await;
    let fields = [("customId", "note"), ("metadata", r#"{"n":1}"#)];
    let answer = client
        .app
        .upload_file(&client.key, "x.bin", &[0, 1, 2, 3, 0, 0, 9], &fields)
        .await;
    let id = answer.body["id"].clone();
    client.run_until_settled().await;

    for (revision, name) in [
        (2, id.as_str().expect("an id")),
        (3, "note"),
        (4, "note?containerTag=sm_project_default"),
    ] {
        let (path, query) = name.split_once('?').unwrap_or((name, ""));
        let path = format!("/v3/documents/{path}/retry?{query}");
        let answer = expect_ok(client.post(&path, Value::Null).await, &accepted_shape());
        assert_eq!(answer, json!({"id": id, "status": "queued"}));

        let document = client.get_document("note").await;
        assert!(document.get("errorCode").is_none(), "{document}");
        assert_eq!(
            (&document["status"], &document["metadata"]),
            (&json!("queued"), &json!({"n": 1}))
        );
        expect_error(
            &client.post(&path, Value::Null).await,
            409,
            "ConflictError",
            "queued",
        );

        client.run_until_settled().await;
        let document = client.get_document_unchecked("note").await;
        assert_eq!(
            (&document["status"], &document["latestRevision"]),
            (&json!("failed"), &json!(revision))
        );
        assert_eq!(document["errorCode"], "unsupported_type");
    }
}

#[tokio::test]
async fn what_fails_by_our_own_fault_can_be_mended() {
    let client = OrgClient::new().await;
    let id = client
        .send_document(json!({"content": "The canary sings."}))
        .await;
    let ctx = &client.app.system.ctx;
    let record = client.stored_record(&id).await.expect("a record");
    let failure = domain::ProcessingFailure {
        code: domain::FailureCode::ProcessingFailed,
        message: "It broke.".into(),
    };
    let failed = ctx.documents.fail_revision(
        &client.tenant,
        &record.id,
        &record.revision,
        &failure,
        None,
        ctx.clock.now(),
    );
    assert!(failed.await.expect("an answer"));

    client.run_until_settled().await;
    assert_eq!(
        client.get_document_unchecked(&id).await["errorCode"],
        "processing_failed"
    );

    expect_ok(
        client
            .post(&format!("/v3/documents/{id}/retry"), json!({}))
            .await,
        &accepted_shape(),
    );
    client.run_until_settled().await;
    assert_eq!(client.get_document(&id).await["status"], "done");
    assert_eq!(client.search_texts("canary").await, ["The canary sings."]);
}

#[tokio::test]
async fn only_a_failed_document_is_tried_again() {
    let client = OrgClient::new().await;
    let id = client
        .add_document(json!({"content": "Some words.", "customId": "note"}))
        .await;
    let before = client.get_document(&id).await;
    expect_error(
        &client
            .post(&format!("/v3/documents/{id}/retry"), Value::Null)
            .await,
        409,
        "ConflictError",
        "done",
    );
    assert_eq!(client.get_document(&id).await, before);

    let mut faults = ErrorMismatches::default();
    for name in crate::read::UNKNOWN {
        let answer = client
            .post(&format!("/v3/documents/{name}/retry"), Value::Null)
            .await;
        faults.check_error(name, &answer, 404, "NotFoundError", "Document not found");
    }

    let other = client.app.create_key("other").await;
    for name in [id.as_str(), "note"] {
        let answer = client
            .app
            .post(&format!("/v3/documents/{name}/retry"), &other, &Value::Null)
            .await;
        faults.check_error(name, &answer, 404, "NotFoundError", "Document not found");
    }

    faults.assert_none();
}

#[tokio::test]
async fn what_was_served_before_is_served_until_the_retry_succeeds() {
    let client = OrgClient::new().await;
    let id = client
        .add_document(json!({"content": "Old words.", "customId": "note"}))
        .await;
    client
        .app
        .upload_file(
            &client.key,
            "x.bin",
            &[0, 1, 2, 3, 0, 0, 9],
            &[("customId", "note")],
        )
        .await;
    client.run_until_settled().await;
    for _ in 0..2 {
        assert_eq!(client.search_texts("words").await, ["Old words."]);
        client
            .post(&format!("/v3/documents/{id}/retry"), Value::Null)
            .await;
        client.run_until_settled().await;
    }

    assert_eq!(client.get_document_unchecked(&id).await["status"], "failed");
}
