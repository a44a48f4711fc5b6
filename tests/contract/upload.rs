//! `POST /v3/documents/file`.

use axum::body::Body;
use container_index::SegmentReading;
use edge::App;
use http::Request;
use http_body_util::BodyExt;
use serde_json::{Value, json};
use service::Authenticator;
use testkit::{TestAnswer, multipart_form};
use tower::ServiceExt;

use crate::client::{OrgClient, read_fixture};
use crate::shape::{
    ErrorMismatches, accepted_shape, document_shape, expect_error, expect_ok, failure_shape,
    merge_shapes,
};

const MEGABYTE: usize = 1024 * 1024;
/// The first bytes of a PNG.
const PNG: &[u8] =
    b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\x06\0\0\0\x1f\x15\xc4\x89";
/// The first bytes of a ZIP archive.
const ZIP: &[u8] = b"PK\x03\x04\x14\0\0\0\x08\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x01\0\0\0a";

/// Uploads a file, processes it, and returns the document.
async fn upload_and_process(
    client: &OrgClient,
    name: &str,
    bytes: &[u8],
    fields: &[(&str, &str)],
) -> Value {
    let answer = expect_ok(
        client
            .app
            .upload_file(&client.key, name, bytes, fields)
            .await,
        &accepted_shape(),
    );
    assert_eq!(answer["status"], "queued");
    client.run_until_settled().await;
    client
        .get_document_unchecked(answer["id"].as_str().expect("an id"))
        .await
}

#[tokio::test]
async fn files_of_every_supported_kind_become_text() {
    let client = OrgClient::new().await;
    let files = [
        ("two-pages.pdf", "pdf", "two-pages.pdf"),
        ("page.html", "webpage", "page.html"),
        ("page.md", "text", "page.md"),
        ("russian-koi8-r.txt", "text", "russian.txt"),
        // The content determines the format, not the name.
        ("two-pages.pdf", "pdf", "notes.txt"),
        ("page.md", "text", "report.pdf"),
        ("page.html", "webpage", "page"),
    ];

    for (file, kind, name) in files {
        let document =
            upload_and_process(&client, name, &read_fixture(file), &[("customId", name)]).await;
        crate::shape::assert_shape(&document, &document_shape());
        assert_eq!(document["status"], "done", "{name}: {document}");
        assert_eq!(document["type"], kind, "{name}");
        assert!(
            document["content"]
                .as_str()
                .is_some_and(|text| text.len() > 50),
            "{name}: {document}"
        );
        assert!(
            document["title"].is_string(),
            "{name} has a title or its own name"
        );
    }
}

#[tokio::test]
async fn a_file_is_readable_before_it_is_processed_except_for_its_text() {
    let client = OrgClient::new().await;
    let answer = client
        .app
        .upload_file(
            &client.key,
            "two-pages.pdf",
            &read_fixture("two-pages.pdf"),
            &[],
        )
        .await;
    let document = client
        .get_document(answer.body["id"].as_str().expect("an id"))
        .await;
    assert_eq!(
        (&document["status"], &document["content"]),
        (&json!("queued"), &Value::Null)
    );
}

#[tokio::test]
async fn a_file_that_cannot_be_read_stays_as_failed_with_the_reason() {
    let client = OrgClient::new().await;
    let files: [(&str, Vec<u8>, &str); 8] = [
        ("truncated.pdf", read_fixture("truncated.pdf"), "corrupt"),
        ("header-only.pdf", b"%PDF-1.7\n".to_vec(), "corrupt"),
        ("encrypted.pdf", read_fixture("encrypted.pdf"), "encrypted"),
        ("no-text.pdf", read_fixture("no-text.pdf"), "empty"),
        ("picture.png", PNG.to_vec(), "unsupported_type"),
        ("archive.pdf", ZIP.to_vec(), "unsupported_type"),
        (
            "noise.bin",
            (0..2000u32).map(|i| (i * i % 251) as u8).collect(),
            "unsupported_type",
        ),
        (
            "blank.html",
            b"<html><body><script>var a;</script></body></html>".to_vec(),
            "empty",
        ),
    ];

    for (name, bytes, code) in files {
        let document = upload_and_process(&client, name, &bytes, &[]).await;
        assert_eq!(document["status"], "failed", "{name}: {document}");
        crate::shape::assert_shape(&document, &merge_shapes(document_shape(), &failure_shape()));
        if name == "picture.png" {
            assert_eq!(
                document["type"], "image",
                "a picture that nobody describes is one all the same"
            );
        }
        assert_eq!(document["errorCode"], code, "{name}: {document}");
        let listed = client
            .post("/v3/documents/list", json!({"status": "failed"}))
            .await
            .body;
        assert_eq!(listed["memories"][0]["errorCode"], code, "{listed}");
        let chunks = client
            .get(&format!(
                "/v3/documents/{}/chunks",
                document["id"].as_str().unwrap()
            ))
            .await;
        assert_eq!(chunks.body["total"], 0);
    }
}

#[tokio::test]
async fn form_fields_mean_what_they_mean_in_json() {
    let client = OrgClient::new().await;
    let fields = [
        ("containerTag", "team"),
        ("customId", "file:1"),
        ("metadata", r#"{"topic":"sea","n":2}"#),
        ("filepath", "/a/b.txt"),
        ("taskType", "superrag"),
        ("documentDate", "2025-04-15"),
        ("dreaming", "instant"),
        ("fileType", "text"),
        ("useAdvancedProcessing", "true"),
        ("entityContext", ""),
    ];
    let document = upload_and_process(&client, "b.txt", b"The sea is calm tonight.", &fields).await;
    assert_eq!(document["containerTags"], json!(["team"]));
    assert_eq!(document["customId"], "file:1");
    assert_eq!(document["metadata"], json!({"topic": "sea", "n": 2}));
    assert_eq!(document["filepath"], "/a/b.txt");
    assert_eq!(document["taskType"], "superrag");
    assert_eq!(document["title"], "b.txt");

    for tags in [r#"["plural"]"#, "plural"] {
        let answer = upload_and_process(
            &client,
            "c.txt",
            tags.as_bytes(),
            &[("containerTags", tags)],
        )
        .await;
        assert_eq!(answer["containerTags"], json!(["plural"]));
    }
}

#[tokio::test]
async fn a_wrong_form_field_is_named() {
    let client = OrgClient::new().await;
    let mut faults = ErrorMismatches::default();
    let long = "x".repeat(1501);
    let padded_object = format!(r#"{{"n":1{}}}"#, " ".repeat(128 * 1024));
    let large = "x".repeat(1024 * 1024 + 1);
    for (field, value) in [
        ("metadata", "not json"),
        ("metadata", padded_object.as_str()),
        ("filterByMetadata", padded_object.as_str()),
        ("filepath", large.as_str()),
        ("other", large.as_str()),
        ("metadata", "[1]"),
        ("metadata", r#"{"bad key":1}"#),
        ("containerTag", "a b"),
        ("containerTags", r#"["a b"]"#),
        ("customId", "a b"),
        ("taskType", "other"),
        ("dreaming", "later"),
        ("documentDate", "yesterday"),
        ("entityContext", &long),
        ("filepath", &long),
    ] {
        let answer = client
            .app
            .upload_file(&client.key, "a.txt", b"Words.", &[(field, value)])
            .await;
        let named = if field == "containerTags" {
            "containerTag"
        } else {
            field
        };
        let start = &value[..value.len().min(40)];
        faults.check_error(
            &format!("{field}={start}"),
            &answer,
            400,
            "ValidationError",
            named,
        );
    }
    faults.assert_none();

    assert!(client.listed_ids(json!({})).await.is_empty());
}

#[tokio::test]
async fn a_form_without_a_readable_file_is_refused() {
    let client = OrgClient::new().await;
    let mut faults = ErrorMismatches::default();
    let mut send =
        async |what: &str, kind: &str, body: Vec<u8>, status: u16, error: &str, named: &str| {
            let answer = client
                .send_bytes("POST", "/v3/documents/file", kind, body)
                .await;
            faults.check_error(what, &answer, status, error, named);
        };
    let (kind, whole) = multipart_form("a.txt", b"Words and more words.", &[]);
    let (_, empty) = multipart_form("a.txt", b"", &[]);
    let other = String::from_utf8(whole.to_vec())
        .expect("text")
        .replace("name=\"file\"", "name=\"other\"");
    send(
        "no part named file",
        &kind,
        other.into_bytes(),
        400,
        "ValidationError",
        "file",
    )
    .await;

    send(
        "an empty file",
        &kind,
        empty.to_vec(),
        400,
        "ValidationError",
        "file",
    )
    .await;

    send(
        "cut off",
        &kind,
        whole[..whole.len() - 30].to_vec(),
        400,
        "ValidationError",
        "form",
    )
    .await;

    send(
        "no parts",
        &kind,
        Vec::new(),
        400,
        "ValidationError",
        "form",
    )
    .await;

    send(
        "no boundary",
        "multipart/form-data",
        whole.to_vec(),
        415,
        "UnsupportedMediaTypeError",
        "multipart",
    )
    .await;

    send(
        "json",
        "application/json",
        b"{}".to_vec(),
        415,
        "UnsupportedMediaTypeError",
        "multipart",
    )
    .await;

    faults.assert_none();
}

#[tokio::test]
async fn a_file_over_fifty_megabytes_is_refused_and_one_below_is_taken() {
    let client = OrgClient::new().await;
    for size in [50 * MEGABYTE + 1, 52 * MEGABYTE] {
        let answer = client
            .app
            .upload_file(&client.key, "big.bin", &vec![b'x'; size], &[])
            .await;
        expect_error(&answer, 413, "PayloadTooLargeError", "52428800");
    }
    let answer = client
        .app
        .upload_file(&client.key, "big.txt", &vec![b'x'; 50 * MEGABYTE], &[])
        .await;
    expect_ok(answer, &accepted_shape());
}

#[tokio::test]
async fn where_requests_are_small_a_large_file_is_shown_the_way() {
    let client = OrgClient::new().await;
    let ctx = client.app.system.ctx.clone();
    let authenticator = Authenticator::new(ctx.keys.clone(), ctx.clock.clone());
    let most = documents::LAMBDA_FILE_BYTES;
    let state = App::new(ctx, authenticator);
    let router = edge::build_service(
        documents::router(state.clone(), most, SegmentReading::Whole),
        &state,
    );

    for (size, status) in [(most, 200), (most + 1, 413), (most + 3 * 1024 * 1024, 413)] {
        let (kind, body) = multipart_form("a.txt", &vec![b'x'; size], &[]);
        let request = Request::builder()
            .method("POST")
            .uri("/v3/documents/file")
            .header("content-type", kind);
        let request = request.header("authorization", format!("Bearer {}", client.key));
        let request = request.body(Body::from(body)).expect("a request");
        let response = router
            .clone()
            .oneshot(request)
            .await
            .expect("routes never fail");
        let (parts, body) = response.into_parts();
        let bytes = body.collect().await.expect("a body").to_bytes();
        let body = serde_json::from_slice(&bytes).unwrap_or(Value::Null);
        assert_eq!(parts.status.as_u16(), status, "{size}: {body}");

        if status == 413 {
            let answer = TestAnswer {
                status: parts.status,
                headers: parts.headers,
                body,
            };
            expect_error(
                &answer,
                413,
                "PayloadTooLargeError",
                "/v3/documents/file/uploads",
            );
        }
    }
}
