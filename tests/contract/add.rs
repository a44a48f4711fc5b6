//! `POST /v3/documents`.

use serde_json::{Value, json};

use crate::client::OrgClient;
use crate::shape::{ErrorMismatches, accepted_shape, expect_ok};

/// The largest text in bytes.
const MAX_TEXT: usize = 1024 * 1024;

#[tokio::test]
async fn accepted_content_is_queued_and_readable_at_once() {
    let client = OrgClient::new().await;
    let body = json!({
        "content": "The lighthouse at Skagen was built in 1747.",
        "containerTag": "user_1:notes-a",
        "customId": "note:1.a-b_c",
        "metadata": {"topic": "towers", "year": 1747, "open": true, "tags": ["sea", "light"], "sm_x": "kept"},
        "filepath": "/notes/towers.md",
        "taskType": "superrag",
        "documentDate": "2025-04-15",
        "entityContext": "Notes about towers.",
        "dreaming": "instant",
    });
    let answer = expect_ok(
        client.post("/v3/documents", body.clone()).await,
        &accepted_shape(),
    );
    assert_eq!(answer["status"], "queued");

    let document = client
        .get_document(answer["id"].as_str().expect("an id"))
        .await;
    assert_eq!(document["status"], "queued");
    assert_eq!(document["dreamingStatus"], "dreaming");
    assert_eq!(
        document["content"], body["content"],
        "text is readable before anything has worked on it"
    );

    for (field, wanted) in [
        ("customId", "customId"),
        ("metadata", "metadata"),
        ("filepath", "filepath"),
    ] {
        assert_eq!(document[field], body[wanted]);
    }

    assert_eq!(document["taskType"], "superrag");
    assert_eq!(document["containerTags"], json!(["user_1:notes-a"]));
    assert_eq!(document["latestRevision"], 1);
}

#[tokio::test]
async fn content_alone_is_enough() {
    let client = OrgClient::new().await;
    let id = client.add_document(json!({"content": "Only words."})).await;
    let document = client.get_document(&id).await;
    assert_eq!(document["status"], "done");
    assert_eq!(document["dreamingStatus"], "done");
    assert_eq!(document["type"], "text");
    assert_eq!(document["taskType"], "memory");
    assert_eq!(document["containerTags"], json!(["sm_project_default"]));
    for absent in ["customId", "metadata", "filepath"] {
        assert_eq!(document[absent], Value::Null);
    }
}

#[tokio::test]
async fn every_field_may_be_null_and_unknown_fields_are_ignored() {
    let client = OrgClient::new().await;
    let body = json!({
        "content": "Null is absent.", "containerTag": null, "containerTags": null, "customId": null,
        "metadata": null, "filepath": null, "taskType": null, "documentDate": null, "entityContext": null,
        "dreaming": null, "somethingNew": {"a": [1]},
    });
    client.add_document(body).await;
}

#[tokio::test]
async fn the_older_plural_of_the_tag_is_taken() {
    let client = OrgClient::new().await;
    for body in [
        json!({"content": "One.", "containerTags": ["plural"]}),
        json!({"content": "Two.", "containerTag": "plural", "containerTags": ["plural"]}),
    ] {
        let id = client.send_document(body).await;
        assert_eq!(
            client.get_document(&id).await["containerTags"],
            json!(["plural"])
        );
    }
}

/// A request, the status and type of its error, and a text that the message must contain.
type Refusal = (Value, u16, &'static str, &'static str);

fn refusals() -> Vec<Refusal> {
    const INVALID: (u16, &str) = (400, "ValidationError");
    let fields = [
        ("content", json!(5)),
        ("content", json!(null)),
        ("content", json!(["a"])),
        ("content", json!("")),
        ("content", json!(" \n\t ")),
        ("containerTag", json!(5)),
        ("containerTag", json!("")),
        ("containerTag", json!("a b")),
        ("containerTag", json!("a/b")),
        ("containerTag", json!("..")),
        ("containerTag", json!("ä")),
        ("containerTag", json!("a\u{0}b")),
        ("containerTag", json!("x".repeat(101))),
        ("containerTags", json!("not-an-array")),
        ("containerTags", json!(["a", 5])),
        ("customId", json!(7)),
        ("customId", json!("a b")),
        ("customId", json!("")),
        ("customId", json!("x".repeat(256))),
        ("metadata", json!("text")),
        ("metadata", json!([1])),
        ("metadata", json!({"bad key": 1})),
        ("metadata", json!({"": 1})),
        ("metadata", json!({"nested": {"a": 1}})),
        ("metadata", json!({"mixed": ["a", 1]})),
        ("metadata", json!({"long": "x".repeat(20_000)})),
        ("filepath", json!(7)),
        ("filepath", json!("x".repeat(1025))),
        ("taskType", json!("other")),
        ("taskType", json!(1)),
        ("documentDate", json!("yesterday")),
        ("documentDate", json!("2025-02-30")),
        ("documentDate", json!(20_250_415)),
        ("entityContext", json!("x".repeat(1501))),
        ("dreaming", json!("later")),
    ];
    let with = |(field, value): (&'static str, Value)| {
        let mut body = json!({"content": "Words."});
        body[field] = value;
        (body, INVALID.0, INVALID.1, field)
    };
    let mut all: Vec<Refusal> = fields.into_iter().map(with).collect();
    all.push((json!({}), 400, "ValidationError", "content"));
    all.push((
        json!({"containerTags": ["ok", "not ok"], "content": "a"}),
        400,
        "ValidationError",
        "containerTag",
    ));
    all.push((
        json!({"content": "x".repeat(MAX_TEXT + 1)}),
        413,
        "PayloadTooLargeError",
        "1048577",
    ));

    all
}

#[tokio::test]
async fn a_refusal_names_the_field_and_stores_nothing() {
    let client = OrgClient::new().await;
    let mut faults = ErrorMismatches::default();
    for (body, status, kind, named) in refusals() {
        let answer = client.post("/v3/documents", body.clone()).await;
        faults.check_error(&body.to_string(), &answer, status, kind, named);
    }
    faults.assert_none();
    assert!(client.listed_ids(json!({})).await.is_empty());
}

#[tokio::test]
async fn a_megabyte_of_text_is_taken_however_it_is_escaped() {
    let client = OrgClient::new().await;
    let zeros = client
        .post(
            "/v3/documents",
            json!({"content": "\u{1}".repeat(MAX_TEXT - 1) + "a"}),
        )
        .await;
    expect_ok(zeros, &accepted_shape());
    expect_ok(
        client
            .post("/v3/documents", json!({"content": "x".repeat(MAX_TEXT)}))
            .await,
        &accepted_shape(),
    );
}

#[tokio::test]
async fn text_in_a_json_field_is_text_whatever_it_looks_like() {
    let client = OrgClient::new().await;
    for content in [
        "%PDF-1.7 is how such a file begins, à propos.",
        "{\\rtf1 is how such a file begins, à propos.",
        "GIF89a is a format, à propos.",
        "\u{1b}[31mA red word of a terminal,\u{1b}[0m à propos.",
        "Zeros\u{0} between\u{0} words, à propos.",
        "\u{feff}A mark first, à propos.",
    ] {
        let id = client.send_document(json!({"content": content})).await;
        client.run_until_settled().await;
        let document = client.get_document_unchecked(&id).await;
        assert_eq!(document["status"], "done", "{document}");
        assert_eq!(document["type"], "text", "{document}");
        assert!(
            client
                .search_texts("à propos")
                .await
                .iter()
                .any(|text| text.ends_with("à propos.")),
            "{document}"
        );

        client.delete(&format!("/v3/documents/{id}")).await;
    }
}
