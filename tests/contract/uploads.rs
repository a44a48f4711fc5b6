//! `POST /v3/documents/file/uploads`: a form with which the client stores a file itself.

use axum::body::Body;
use domain::ports::UploadArrival;
use domain::{BlobRef, DocumentStatus};
use http::Request;
use serde_json::{Value, json};
use service::accept_file;
use testkit::{PUBLIC_URL, TestAnswer, multipart_form};

use crate::client::{OrgClient, read_fixture};
use crate::shape::{
    ErrorMismatches, accepted_shape, document_shape, expect_error, expect_ok, failure_shape,
    merge_shapes,
};
use crate::steps::{process_only, send_late_messages};

const MAX_BYTES: u64 = 50 * 1024 * 1024;

/// Requests a form.
pub(crate) async fn begin_upload(client: &OrgClient, body: Value) -> Value {
    let upload = json!({
        "method": "string", "url": "string", "fields": "object", "maxBytes": "int", "expiresAt": "time",
    });
    let shape = merge_shapes(accepted_shape(), &json!({"upload": upload}));
    expect_ok(
        client.post("/v3/documents/file/uploads", body).await,
        &shape,
    )
}

/// Returns the fields of a form in some order.
fn form_fields(form: &Value) -> Vec<(String, String)> {
    let fields = form["upload"]["fields"].as_object().expect("fields");
    fields
        .iter()
        .map(|(name, value)| (name.clone(), value.as_str().expect("a text").to_owned()))
        .collect()
}

/// Posts a file with these fields to the address in the form.
async fn post_form(
    client: &OrgClient,
    form: &Value,
    fields: &[(String, String)],
    bytes: &[u8],
) -> TestAnswer {
    let url = form["upload"]["url"].as_str().expect("an address");
    let path = url
        .strip_prefix(PUBLIC_URL)
        .expect("an address of this app");
    let fields: Vec<(&str, &str)> = fields
        .iter()
        .map(|(name, value)| (name.as_str(), value.as_str()))
        .collect();
    let (kind, body) = multipart_form("whatever.bin", bytes, &fields);
    let request = Request::builder()
        .method("POST")
        .uri(path)
        .header("content-type", kind);
    let request = request.header("host", "recollect.test");

    client
        .app
        .send(request.body(Body::from(body)).expect("a request"))
        .await
}

/// Stores a file as the form says.
pub(crate) async fn store_file(client: &OrgClient, form: &Value, bytes: &[u8]) {
    let answer = post_form(client, form, &form_fields(form), bytes).await;
    assert_eq!(answer.status, 204, "{}", answer.body);
}

fn document_id(form: &Value) -> String {
    form["id"].as_str().expect("an id").to_owned()
}

#[tokio::test]
async fn an_uploaded_file_is_a_document_like_any_other() {
    let client = OrgClient::new().await;
    let body = json!({
        "fileName": "report.pdf", "mimeType": "application/pdf", "containerTag": "a", "customId": "report",
        "metadata": {"n": 1}, "filepath": "/r.pdf", "taskType": "superrag",
    });

    let form = begin_upload(&client, body).await;
    assert_eq!(
        (&form["status"], &form["upload"]["method"]),
        (&json!("queued"), &json!("POST"))
    );
    assert_eq!(form["upload"]["maxBytes"], MAX_BYTES);
    assert_eq!(
        form["upload"]["expiresAt"].as_str().map(|at| &at[..16]),
        Some("2026-01-01T00:15")
    );
    let before = client.get_document(&document_id(&form)).await;
    assert_eq!(
        (&before["status"], &before["type"], &before["content"]),
        (&json!("queued"), &json!("pdf"), &Value::Null)
    );
    client.app.run_workers_once().await;
    assert_eq!(
        client.get_document("report").await["status"],
        "queued",
        "it waits for its file"
    );
    store_file(&client, &form, &read_fixture("two-pages.pdf")).await;
    client.run_until_settled().await;
    let document = client.get_document("report").await;
    assert_eq!(
        (&document["status"], &document["type"]),
        (&json!("done"), &json!("pdf"))
    );
    assert_eq!(
        (&document["metadata"], &document["containerTags"]),
        (&json!({"n": 1}), &json!(["a"]))
    );
    assert_eq!(
        (&document["filepath"], &document["taskType"]),
        (&json!("/r.pdf"), &json!("superrag"))
    );
    let text = document["content"].as_str().expect("text");
    let direct = client
        .app
        .upload_file(
            &client.key,
            "report.pdf",
            &read_fixture("two-pages.pdf"),
            &[],
        )
        .await;
    client.run_until_settled().await;
    assert_eq!(
        client
            .get_document(direct.body["id"].as_str().expect("an id"))
            .await["content"],
        text
    );
}

#[tokio::test]
async fn a_form_takes_just_what_it_says() {
    let client = OrgClient::new().await;
    let form = begin_upload(&client, json!({"fileName": "a.txt"})).await;
    let good = form_fields(&form);
    let replaced = |name: &str, value: &str| {
        let other = |(field, old): &(String, String)| {
            (
                field.clone(),
                if field == name {
                    value.to_owned()
                } else {
                    old.clone()
                },
            )
        };
        good.iter().map(other).collect::<Vec<_>>()
    };
    let key = &good
        .iter()
        .find(|(name, _)| name == "key")
        .expect("a key")
        .1;
    let tampered = [
        ("another key", replaced("key", &format!("{key}x"))),
        (
            "another organization's key",
            replaced("key", &key.replacen("acme", "other", 1)),
        ),
        (
            "another signature",
            replaced("x-amz-signature", &"0".repeat(64)),
        ),
        ("another policy", replaced("policy", "e30=")),
        ("another date", replaced("x-amz-date", "20270101T000000Z")),
        (
            "one more field",
            [good.clone(), vec![("acl".into(), "public-read".into())]].concat(),
        ),
        ("no fields", Vec::new()),
    ];
    for (what, fields) in tampered {
        let answer = post_form(&client, &form, &fields, b"Some words.").await;
        assert!(answer.status.is_client_error(), "{what}: {}", answer.status);
    }

    for (what, bytes) in [
        ("an empty file", Vec::new()),
        ("a large one", vec![b'x'; MAX_BYTES as usize + 1]),
    ] {
        let answer = post_form(&client, &form, &good, &bytes).await;
        assert!(answer.status.is_client_error(), "{what}: {}", answer.status);
    }

    client.app.run_workers_once().await;
    assert_eq!(
        client.get_document(&document_id(&form)).await["status"],
        "queued",
        "none of these was stored"
    );

    store_file(&client, &form, b"Some words.").await;
    client.run_until_settled().await;
    assert_eq!(
        client.get_document(&document_id(&form)).await["content"],
        "Some words."
    );
}

#[tokio::test]
async fn what_is_not_uploaded_in_time_fails_and_says_so() {
    let client = OrgClient::new().await;
    let form = begin_upload(&client, json!({"fileName": "a.txt"})).await;
    client.app.environment.clock.advance_seconds(20 * 60);
    client.run_until_settled().await;
    let document = client.get_document_unchecked(&document_id(&form)).await;
    crate::shape::assert_shape(&document, &merge_shapes(document_shape(), &failure_shape()));
    assert_eq!(
        (&document["status"], &document["errorCode"]),
        (&json!("failed"), &json!("upload_missing"))
    );

    let late = post_form(&client, &form, &form_fields(&form), b"Too late.").await;
    assert_eq!(late.status, 403);
    let retry = expect_ok(
        client
            .post(
                &format!("/v3/documents/{}/retry", document_id(&form)),
                Value::Null,
            )
            .await,
        &accepted_shape(),
    );
    assert_eq!(retry["status"], "queued");

    client.run_until_settled().await;
    assert_eq!(
        client.get_document_unchecked(&document_id(&form)).await["errorCode"],
        "upload_missing",
        "still not there"
    );
    assert!(client.search_texts("late").await.is_empty());
}

#[tokio::test]
async fn a_document_waits_for_its_file_and_not_less() {
    let client = OrgClient::new().await;
    let form = begin_upload(&client, json!({"fileName": "a.txt"})).await;
    for _ in 0..14 {
        client.app.environment.clock.advance_seconds(60);
        let now = domain::ports::Clock::now(&client.app.environment.clock);
        maintenance::sweep_overdue_work(&client.app.system.ctx, now)
            .await
            .expect("a sweep");
        client.app.run_workers_once().await;
    }

    assert_eq!(
        client.get_document(&document_id(&form)).await["status"],
        "queued",
        "the form still holds"
    );
    store_file(&client, &form, b"Some words.").await;
    client.run_until_settled().await;
    assert_eq!(
        client.get_document(&document_id(&form)).await["status"],
        "done"
    );
}

#[tokio::test]
async fn a_form_that_is_used_twice_changes_nothing() {
    let client = OrgClient::new().await;
    let form = begin_upload(&client, json!({"fileName": "a.txt"})).await;
    store_file(&client, &form, b"Some words.").await;
    client.run_until_settled().await;
    let before = client.get_document(&document_id(&form)).await;
    store_file(&client, &form, b"Some words.").await;
    client.run_until_settled().await;
    assert_eq!(client.get_document(&document_id(&form)).await, before);
    assert_eq!(client.search_texts("words").await, ["Some words."]);
}

#[tokio::test]
async fn a_form_that_is_used_again_with_another_file_swaps_nothing() {
    let client = OrgClient::new().await;
    for is_done in [true, false] {
        let form = begin_upload(
            &client,
            json!({"fileName": "a.txt", "containerTag": format!("t{is_done}")}),
        )
        .await;
        let id = document_id(&form);
        store_file(&client, &form, b"The first words.").await;

        if is_done {
            client.run_until_settled().await;
        } else {
            // The document is processed but not yet committed.
            let path = client
                .stored_record(&id)
                .await
                .expect("a record")
                .body
                .blob
                .path()
                .to_owned();
            let arrival = UploadArrival {
                org: client.tenant.org().clone(),
                path,
            };
            accept_file(&client.app.system.ctx, &arrival)
                .await
                .expect("a message");
            assert_eq!(process_only(&client).await, 1);
        }

        store_file(&client, &form, b"Other words that were swapped in.").await;
        client.run_until_settled().await;
        assert_eq!(
            client.get_document(&id).await["content"],
            "The first words."
        );

        let url = crate::files::file_url(&client, &id).await;
        assert_eq!(
            crate::files::fetch_without_key(&client, &url).await.1,
            "The first words."
        );

        // Processing the document again reads the same file.
        client
            .update_document(&id, json!({"taskType": "superrag"}))
            .await;
        client.run_until_settled().await;
        assert_eq!(
            client.get_document(&id).await["content"],
            "The first words."
        );

        let record = client.stored_record(&id).await.expect("a record");
        let folder = record
            .body
            .blob
            .path()
            .rsplit_once('/')
            .expect("a folder")
            .0
            .to_owned();
        let objects = client
            .app
            .system
            .ctx
            .blobs
            .list_objects(&client.tenant, &folder, 10)
            .await
            .expect("objects");
        assert!(
            !objects.iter().any(|(path, _)| path.ends_with("/upload")),
            "{objects:?}"
        );
        assert_eq!(record.body.size, "The first words.".len() as u64);
    }
}

#[tokio::test]
async fn restarts_while_a_document_waits_for_its_file_use_up_no_attempts() {
    let client = OrgClient::new().await;
    let form = begin_upload(&client, json!({"fileName": "a.txt"})).await;
    let record = client
        .stored_record(&document_id(&form))
        .await
        .expect("a record");
    for _ in 0..12 {
        // This simulates a restart: the message is delivered again, and a worker takes the
        // document.
        send_late_messages(&client, &record).await;
        while client.app.run_workers_once().await > 0 {}
        let waiting = client
            .stored_record(&document_id(&form))
            .await
            .expect("a record");
        assert_eq!(
            (waiting.status, waiting.attempts),
            (DocumentStatus::Queued, 0)
        );
    }

    let (ctx, tenant) = (&client.app.system.ctx, &client.tenant);
    for _ in 0..12 {
        // This simulates a worker that is killed while it looks for the file.
        let now = ctx.clock.now();
        ctx.documents
            .claim_revision(
                tenant,
                &record.id,
                &record.revision,
                now,
                now.plus_seconds(20),
            )
            .await
            .expect("a claim");
        client.app.environment.clock.advance_seconds(21);
    }

    send_late_messages(&client, &record).await;
    while client.app.run_workers_once().await > 0 {}
    assert_eq!(
        client
            .stored_record(&document_id(&form))
            .await
            .expect("a record")
            .status,
        DocumentStatus::Queued,
        "it still waits"
    );
    store_file(&client, &form, b"Some words.").await;
    client.run_until_settled().await;
    assert_eq!(
        client.get_document(&document_id(&form)).await["status"],
        "done"
    );
}

#[tokio::test]
async fn a_file_that_arrives_after_the_delete_leaves_nothing() {
    let client = OrgClient::new().await;
    for by_bulk in [false, true] {
        let form = begin_upload(&client, json!({"fileName": "a.txt"})).await;
        let record = client
            .stored_record(&document_id(&form))
            .await
            .expect("a record");
        if by_bulk {
            let body = json!({"ids": [document_id(&form)]}).to_string();
            client
                .send_bytes("DELETE", "/v3/documents/bulk", "application/json", body)
                .await;
        } else {
            assert_eq!(
                client
                    .delete(&format!("/v3/documents/{}", document_id(&form)))
                    .await
                    .status,
                204
            );
        }

        client.run_until_settled().await;
        store_file(&client, &form, b"Some words.").await;
        while client.app.run_workers_once().await > 0 {}
        let blob: BlobRef = record.body.blob;
        let left = client
            .app
            .system
            .ctx
            .blobs
            .get_intact(&client.tenant, &[blob])
            .await
            .expect("blobs");
        assert_eq!(left, [None], "the file is kept though nobody has it");
        assert!(
            client.listed_ids(json!({})).await.is_empty()
                && client.search_texts("words").await.is_empty()
        );
    }
}

#[tokio::test]
async fn an_upload_under_a_custom_id_replaces_what_it_had_once_it_is_done() {
    let client = OrgClient::new().await;
    let old = client
        .add_document(json!({"content": "Old words.", "customId": "note", "metadata": {"n": 1}}))
        .await;
    let form = begin_upload(&client, json!({"fileName": "note.txt", "customId": "note"})).await;
    assert_eq!(document_id(&form), old);
    assert_eq!(client.search_texts("words").await, ["Old words."]);

    store_file(&client, &form, b"New words.").await;
    client.run_until_settled().await;
    let document = client.get_document("note").await;
    assert_eq!(
        (&document["content"], &document["metadata"]),
        (&json!("New words."), &json!({"n": 1}))
    );
    assert_eq!(
        (
            client.search_texts("words").await,
            &document["latestRevision"]
        ),
        (vec!["New words.".to_owned()], &json!(2))
    );

    let form = begin_upload(&client, json!({"fileName": "note.txt", "customId": "note"})).await;
    client
        .send_document(json!({"content": "Newer words.", "customId": "note"}))
        .await;
    store_file(&client, &form, b"A file of an older form.").await;
    client.run_until_settled().await;
    assert_eq!(
        client.get_document("note").await["content"],
        "Newer words.",
        "the last to be accepted stays"
    );
    assert_eq!(client.search_texts("words").await, ["Newer words."]);
}

#[tokio::test]
async fn what_waits_for_its_file_cannot_move_yet_and_can_be_replaced_or_deleted() {
    let client = OrgClient::new().await;
    let form = begin_upload(&client, json!({"fileName": "a.txt", "customId": "note"})).await;
    let answer = client
        .send_patch("/v3/documents/note", json!({"containerTag": "b"}))
        .await;
    expect_error(&answer, 409, "ConflictError", "arrived");

    client
        .update_document("note", json!({"content": "A text instead."}))
        .await;
    store_file(&client, &form, b"A file that nobody waits for.").await;
    client.run_until_settled().await;
    assert_eq!(client.search_texts("text file").await, ["A text instead."]);

    let form = begin_upload(&client, json!({"fileName": "a.txt", "customId": "note"})).await;
    assert_eq!(client.delete("/v3/documents/note").await.status, 204);
    store_file(&client, &form, b"A file of a deleted document.").await;
    client.run_until_settled().await;
    assert!(
        client.search_texts("text file").await.is_empty()
            && client.listed_ids(json!({})).await.is_empty()
    );
}

#[tokio::test]
async fn what_changes_beside_the_file_does_not_cost_it() {
    for change in [
        json!({"metadata": {"n": 2}}),
        json!({"taskType": "superrag"}),
        json!({"documentDate": "2025-04-15"}),
    ] {
        let client = OrgClient::new().await;
        let form = begin_upload(&client, json!({"fileName": "a.txt", "customId": "note"})).await;
        client.update_document("note", change.clone()).await;
        client.app.run_workers_once().await;
        store_file(&client, &form, b"Some words.").await;
        client.run_until_settled().await;
        let document = client.get_document_unchecked("note").await;
        assert_eq!(document["status"], "done", "{change}: {document}");
        assert_eq!(
            client.search_texts("words").await,
            ["Some words."],
            "{change}"
        );
    }
}

#[tokio::test]
async fn a_wrong_request_for_a_form_is_named_and_stores_nothing() {
    let client = OrgClient::new().await;
    let mut faults = ErrorMismatches::default();
    let long = "x".repeat(256);
    for (field, value) in [
        ("fileName", json!(long)),
        ("fileName", json!(7)),
        ("mimeType", json!(long)),
        ("metadata", json!({"bad key": 1})),
        ("containerTag", json!("a b")),
        ("customId", json!("a b")),
        ("documentDate", json!("soon")),
    ] {
        let answer = client
            .post("/v3/documents/file/uploads", json!({field: value}))
            .await;
        faults.check_error(field, &answer, 400, "ValidationError", field);
    }
    faults.assert_none();

    assert!(client.listed_ids(json!({})).await.is_empty());
    let form = begin_upload(&client, json!({})).await;
    store_file(&client, &form, b"A name is not needed.").await;
    client.run_until_settled().await;
    assert_eq!(
        client.get_document(&document_id(&form)).await["status"],
        "done"
    );
}
