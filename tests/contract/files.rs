//! `GET /v3/documents/{id}/file-url`.

use axum::body::Body;
use bytes::Bytes;
use http::{Request, StatusCode};
use serde_json::json;
use testkit::PUBLIC_URL;

use crate::client::{OrgClient, read_fixture};
use crate::shape::{ErrorMismatches, expect_error, expect_ok};
use crate::uploads::{begin_upload, store_file};

/// Returns the address of a document's file.
pub(crate) async fn file_url(client: &OrgClient, id: &str) -> String {
    let answer = client.get(&format!("/v3/documents/{id}/file-url")).await;
    expect_ok(answer, &json!({"url": "string"}))["url"]
        .as_str()
        .expect("an address")
        .to_owned()
}

fn request<B>(url: &str, body: B) -> Request<B> {
    let path = url
        .strip_prefix(PUBLIC_URL)
        .expect("an address of this app");
    Request::builder()
        .uri(path)
        .header("host", "recollect.test")
        .body(body)
        .expect("a request")
}

/// Requests an address without a key, and returns the status and the bytes.
pub(crate) async fn fetch_without_key(client: &OrgClient, url: &str) -> (StatusCode, Bytes) {
    let answer = client.app.send(request(url, Body::empty())).await;
    let direct = client
        .app
        .environment
        .services
        .handle_public_request(request(url, Bytes::new()))
        .await;
    assert_eq!(answer.status, direct.status(), "the route leads there");
    (answer.status, direct.into_body())
}

/// Uploads a file, processes it, and returns the id.
async fn upload_file(client: &OrgClient, name: &str, bytes: &[u8]) -> String {
    let answer = client
        .app
        .upload_file(&client.key, name, bytes, &[("customId", "file")])
        .await;
    client.run_until_settled().await;
    answer.body["id"].as_str().expect("an id").to_owned()
}

#[tokio::test]
async fn the_file_comes_back_byte_by_byte_under_its_name() {
    let client = OrgClient::new().await;
    let large: Vec<u8> = (0..300_000u64).map(|i| b'a' + (i * i % 26) as u8).collect();

    for (name, bytes) in [
        ("report.pdf", read_fixture("two-pages.pdf")),
        ("a.txt", b"Few words.".to_vec()),
        ("b.txt", large),
    ] {
        let id = upload_file(&client, name, &bytes).await;
        for named in [id.as_str(), "file", "file?containerTag=sm_project_default"] {
            let (path, query) = named.split_once('?').unwrap_or((named, ""));
            let answer = client
                .get(&format!("/v3/documents/{path}/file-url?{query}"))
                .await;
            let url = answer.body["url"].as_str().expect("an address");
            assert_eq!(
                fetch_without_key(&client, url).await,
                (StatusCode::OK, Bytes::from(bytes.clone())),
                "{name}"
            );
            let answer = client.app.send(request(url, Body::empty())).await;
            let header = |field: &str| {
                answer
                    .headers
                    .get(field)
                    .and_then(|value| value.to_str().ok())
                    .unwrap_or("")
            };
            assert!(
                header("content-disposition").contains(name),
                "{:?}",
                answer.headers
            );
        }
    }
}

#[tokio::test]
async fn an_uploaded_file_and_one_that_cannot_be_read_are_there_too() {
    let client = OrgClient::new().await;
    for (name, bytes) in [
        ("a.txt", b"Some words.".as_slice()),
        ("x.bin", &[0, 1, 2, 3, 0, 0, 9]),
    ] {
        let form = begin_upload(&client, json!({"fileName": name})).await;
        let id = form["id"].as_str().expect("an id");
        expect_error(
            &client.get(&format!("/v3/documents/{id}/file-url")).await,
            404,
            "NotFoundError",
            "File",
        );

        store_file(&client, &form, bytes).await;
        client.run_until_settled().await;
        let url = file_url(&client, id).await;
        assert_eq!(
            fetch_without_key(&client, &url).await,
            (StatusCode::OK, Bytes::from_static(bytes)),
            "{name}"
        );
    }

    let failed = upload_file(&client, "x.bin", &[0, 1, 2, 3, 0, 0, 9]).await;
    assert_eq!(
        client.get_document_unchecked(&failed).await["status"],
        "failed"
    );

    let url = file_url(&client, &failed).await;
    assert_eq!(
        fetch_without_key(&client, &url).await.0,
        StatusCode::OK,
        "its owner may want to look at it"
    );
}

#[tokio::test]
async fn an_address_that_is_given_out_leads_somewhere() {
    let client = OrgClient::new().await;
    upload_file(&client, "old.txt", b"Old words.").await;
    let form = begin_upload(&client, json!({"fileName": "new.txt", "customId": "file"})).await;
    let answer = client.get("/v3/documents/file/file-url").await;
    if answer.status == StatusCode::OK {
        let url = answer.body["url"].as_str().expect("an address");
        assert_eq!(
            fetch_without_key(&client, url).await,
            (StatusCode::OK, Bytes::from_static(b"Old words."))
        );
    } else {
        expect_error(&answer, 404, "NotFoundError", "File");
    }

    store_file(&client, &form, b"New words.").await;
    client.run_until_settled().await;
    let url = file_url(&client, "file").await;
    assert_eq!(
        fetch_without_key(&client, &url).await.1,
        Bytes::from_static(b"New words.")
    );
}

#[tokio::test]
async fn what_is_no_file_has_no_address() {
    let client = OrgClient::new().await;
    let id = upload_file(&client, "a.txt", b"Some words.").await;
    client
        .add_document(json!({"content": "A text.", "customId": "text"}))
        .await;
    let turns = json!([{"role": "user", "content": "Hello."}]);
    client
        .post(
            "/v4/conversations",
            json!({"conversationId": "talk", "messages": turns}),
        )
        .await;
    let mut faults = ErrorMismatches::default();
    for name in ["text", "talk"] {
        let answer = client.get(&format!("/v3/documents/{name}/file-url")).await;
        faults.check_error(name, &answer, 404, "NotFoundError", "File");
    }

    for name in crate::read::UNKNOWN {
        let answer = client.get(&format!("/v3/documents/{name}/file-url")).await;
        faults.check_error(name, &answer, 404, "NotFoundError", "Document not found");
    }

    let other = client.app.create_key("other").await;
    let answer = client
        .app
        .get(&format!("/v3/documents/{id}/file-url"), &other)
        .await;
    faults.check_error(
        "another organization",
        &answer,
        404,
        "NotFoundError",
        "Document not found",
    );

    client.delete(&format!("/v3/documents/{id}")).await;
    let answer = client.get(&format!("/v3/documents/{id}/file-url")).await;
    faults.check_error(
        "deleted",
        &answer,
        404,
        "NotFoundError",
        "Document not found",
    );
    faults.assert_none();
}

#[tokio::test]
async fn an_address_works_for_a_day_and_as_it_is() {
    let client = OrgClient::new().await;
    let id = upload_file(&client, "a.txt", b"Some words.").await;
    let url = file_url(&client, &id).await;
    let (address, query) = url.split_once('?').expect("a signature");
    let last = |text: &str| {
        format!(
            "{}{}",
            &text[..text.len() - 1],
            if text.ends_with('0') { "1" } else { "0" }
        )
    };
    let signed = query.split('&').map(|part| {
        if part.starts_with("X-Amz-Signature=") {
            last(part)
        } else {
            part.to_owned()
        }
    });
    let tampered = [
        address.to_owned(),
        format!("{address}x?{query}"),
        format!("{address}?{}", signed.collect::<Vec<_>>().join("&")),
        url.replace("X-Amz-Expires=86400", "X-Amz-Expires=604800"),
        url.replacen("acme", "other", 1),
        url.replace("a.txt", "b.txt"),
    ];

    for wrong in tampered {
        assert_ne!(wrong, url);
        let (status, body) = fetch_without_key(&client, &wrong).await;
        assert_eq!(status, StatusCode::FORBIDDEN, "{wrong}");
        assert!(!String::from_utf8_lossy(&body).contains("Some words."));
    }

    client.app.environment.clock.advance_seconds(23 * 3600);
    assert_eq!(
        fetch_without_key(&client, &url).await.1,
        Bytes::from_static(b"Some words.")
    );

    client.app.environment.clock.advance_seconds(2 * 3600);
    assert_eq!(
        fetch_without_key(&client, &url).await.0,
        StatusCode::FORBIDDEN,
        "a day has passed"
    );
}

#[tokio::test]
async fn a_moved_file_is_still_the_file() {
    let client = OrgClient::new().await;
    let bytes = read_fixture("two-pages.pdf");
    let id = upload_file(&client, "report.pdf", &bytes).await;
    let old = file_url(&client, &id).await;
    let moved = client
        .update_document(&id, json!({"containerTag": "b"}))
        .await["id"]
        .clone();
    assert_eq!(moved, id.as_str());
    client.run_until_settled().await;
    let new = file_url(&client, &id).await;
    assert_eq!(
        fetch_without_key(&client, &new).await,
        (StatusCode::OK, Bytes::from(bytes))
    );
    assert_eq!(
        fetch_without_key(&client, &old).await.0,
        StatusCode::NOT_FOUND,
        "what is gone is gone"
    );
}
