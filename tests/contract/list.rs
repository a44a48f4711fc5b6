//! `POST /v3/documents/list`: shown fields and refused requests.

use serde_json::{Value, json};

use crate::client::{OrgClient, collect_field};
use crate::shape::{
    ErrorMismatches, expect_ok, listed_document_shape, listing_shape, merge_shapes,
    pagination_shape,
};

#[tokio::test]
async fn nothing_is_an_empty_list() {
    let client = OrgClient::new().await;
    for body in [
        Value::Null,
        json!({}),
        json!({"containerTags": ["never-used"]}),
        json!({"containerTags": []}),
    ] {
        let answer = expect_ok(
            client.post("/v3/documents/list", body).await,
            &listing_shape(),
        );
        let wanted = json!({"currentPage": 1, "limit": 10, "totalItems": 0, "totalPages": 0});
        assert_eq!(
            (&answer["memories"], &answer["pagination"]),
            (&json!([]), &wanted)
        );
    }
}

#[tokio::test]
async fn a_listed_document_has_the_fields_it_has_by_itself() {
    let client = OrgClient::new().await;
    let body = json!({
        "content": "The whole text.", "customId": "note", "containerTag": "a", "metadata": {"n": 1},
        "filepath": "/a.md",
    });

    let id = client.add_document(body).await;
    let alone = client.get_document(&id).await;
    let without = expect_ok(
        client.post("/v3/documents/list", json!({})).await,
        &listing_shape(),
    );
    for (field, value) in without["memories"][0].as_object().expect("a document") {
        assert_eq!(*value, alone[field], "{field}");
    }

    for flag in [json!(true), json!("true")] {
        let shape = json!({"memories": [merge_shapes(listed_document_shape(), &json!({"content": "string"}))], "pagination": pagination_shape()});
        let answer = expect_ok(
            client
                .post("/v3/documents/list", json!({"includeContent": flag}))
                .await,
            &shape,
        );
        assert_eq!(answer["memories"][0]["content"], "The whole text.");
    }
}

#[tokio::test]
async fn tags_status_and_source_choose() {
    let client = OrgClient::new().await;
    let a = client
        .add_document(json!({"content": "In a.", "containerTag": "a"}))
        .await;
    let b = client
        .add_document(json!({"content": "In b.", "containerTag": "b"}))
        .await;
    let failed = client
        .app
        .upload_file(
            &client.key,
            "x.bin",
            &[0, 1, 2, 0, 0, 3],
            &[("containerTag", "b")],
        )
        .await;
    let failed = failed.body["id"].as_str().expect("an id").to_owned();
    client.run_until_settled().await;
    let queued = client
        .send_document(json!({"content": "Still queued.", "containerTag": "a"}))
        .await;
    let cases = [
        (json!({"containerTags": ["a"]}), vec![&queued, &a]),
        (json!({"containerTag": "b"}), vec![&failed, &b]),
        (
            json!({"containerTags": ["a", "b", "a"]}),
            vec![&queued, &failed, &b, &a],
        ),
        (json!({}), vec![&queued, &failed, &b, &a]),
        (json!({"status": "done"}), vec![&b, &a]),
        (
            json!({"status": ["failed", "queued"]}),
            vec![&queued, &failed],
        ),
        (json!({"status": "failed", "containerTags": ["a"]}), vec![]),
        (json!({"source": "cloud-drive"}), vec![]),
    ];

    for (body, wanted) in cases {
        let found = client.listed_ids(body.clone()).await;
        assert_eq!(found.iter().collect::<Vec<_>>(), wanted, "{body}");
    }
}

#[tokio::test]
async fn title_and_type_choose() {
    let client = OrgClient::new().await;
    let heron = client
        .add_document(json!({"content": "# The Grey Heron\n\nIt stands in the shallows."}))
        .await;
    let owl = client
        .add_document(json!({"content": "An owl.", "customId": "night-owl"}))
        .await;
    let page = client
        .app
        .upload_file(
            &client.key,
            "swift.html",
            b"<title>\xc3\x89tourneau et martinet</title><p>They nest under roofs.</p>",
            &[],
        )
        .await;
    let page = page.body["id"].as_str().expect("an id").to_owned();
    client.run_until_settled().await;
    let cases = [
        (json!({"title": "heron"}), vec![&heron]),
        (json!({"title": "GREY"}), vec![&heron]),
        (json!({"title": "\u{e9}tourneau"}), vec![&page]),
        (json!({"title": "night"}), vec![&owl]),
        (json!({"title": "shallows of nowhere"}), vec![]),
        (json!({"title": ""}), vec![&page, &owl, &heron]),
        (json!({"type": "webpage"}), vec![&page]),
        (
            json!({"type": ["webpage", "text"]}),
            vec![&page, &owl, &heron],
        ),
        (json!({"type": ["google_doc", "pdf"]}), vec![]),
        (json!({"type": []}), vec![&page, &owl, &heron]),
        (json!({"type": "text", "title": "e"}), vec![&heron]),
    ];

    for (body, wanted) in cases {
        let found = client.listed_ids(body.clone()).await;
        assert_eq!(found.iter().collect::<Vec<_>>(), wanted, "{body}");
    }
}

#[tokio::test]
async fn filepath_is_exact_or_a_prefix_with_a_slash() {
    let client = OrgClient::new().await;
    for path in [
        "/a/one.md",
        "/a/two.md",
        "/a",
        "/ab/one.md",
        "/a/deep/er.md",
    ] {
        client
            .send_document(
                json!({"content": path, "filepath": path, "customId": path.replace('/', "_")}),
            )
            .await;
    }

    client.send_document(json!({"content": "Nowhere."})).await;
    let cases: [(&str, &[&str]); 6] = [
        ("/a/one.md", &["/a/one.md"]),
        ("/a/", &["/a/one.md", "/a/two.md", "/a/deep/er.md"]),
        ("/a", &["/a"]),
        ("/a/deep/", &["/a/deep/er.md"]),
        (
            "/",
            &[
                "/a/one.md",
                "/a/two.md",
                "/a",
                "/ab/one.md",
                "/a/deep/er.md",
            ],
        ),
        ("/A/", &[]),
    ];

    for (path, wanted) in cases {
        let body = json!({"filepath": path, "order": "asc", "limit": 100});
        let answer = client.post("/v3/documents/list", body).await.body;
        assert_eq!(
            collect_field(&answer["memories"], "filepath"),
            wanted,
            "{path}"
        );
    }
}

#[tokio::test]
async fn a_wrong_field_is_named() {
    let client = OrgClient::new().await;
    let mut faults = ErrorMismatches::default();
    for (field, value) in [
        ("page", json!(0)),
        ("page", json!("0")),
        ("page", json!(-1)),
        ("page", json!(1.5)),
        ("page", json!("one")),
        ("limit", json!(0)),
        ("limit", json!(1101)),
        ("limit", json!("1101")),
        ("limit", json!([10])),
        ("sort", json!("title")),
        ("sort", json!(1)),
        ("order", json!("up")),
        ("status", json!("finished")),
        ("status", json!(["done", "finished"])),
        ("type", json!("novel")),
        ("type", json!(["text", 1])),
        ("title", json!(1)),
        ("includeContent", json!("yes")),
        ("includeContent", json!(1)),
        ("filepath", json!(1)),
        ("source", json!(1)),
        ("containerTags", json!("a")),
        ("containerTags", json!([1])),
        ("containerTag", json!("a b")),
        ("filters", json!(1)),
        ("filters", json!("not json")),
        ("filters", json!([])),
    ] {
        let answer = client
            .post("/v3/documents/list", json!({field: value}))
            .await;
        faults.check_error(
            &format!("{field}={value}"),
            &answer,
            400,
            "ValidationError",
            field,
        );
    }

    let answer = client
        .post(
            "/v3/documents/list",
            json!({"containerTags": ["ok", "not ok"]}),
        )
        .await;
    faults.check_error(
        "a tag with a space",
        &answer,
        400,
        "ValidationError",
        "containerTag",
    );
    faults.assert_none();
}
