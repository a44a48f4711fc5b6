//! `GET /v3/documents/{id}/file-url`.

use axum::body::Body;
use bytes::Bytes;
use http::{Request, StatusCode};
use serde_json::{Value, json};
use testkit::PUBLIC_URL;

use crate::client::{Client, fixture};
use crate::shape::{Faults, ok, refused};
use crate::uploads::{begin, store};

/// Returns the address of a document's file.
pub(crate) async fn url(client: &Client, id: &str) -> String {
    let answer = client.get(&format!("/v3/documents/{id}/file-url")).await;
    ok(answer, &json!({"url": "string"}))["url"]
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
pub(crate) async fn fetch(client: &Client, url: &str) -> (StatusCode, Bytes) {
    let answer = client.app.send(request(url, Body::empty())).await;
    let direct = client
        .app
        .world
        .services
        .call_public(request(url, Bytes::new()))
        .await;
    assert_eq!(answer.status, direct.status(), "the route leads there");
    (answer.status, direct.into_body())
}

/// Uploads a file, processes it, and returns the id.
async fn upload(client: &Client, name: &str, bytes: &[u8]) -> String {
    let answer = client
        .app
        .upload(&client.key, name, bytes, &[("customId", "file")])
        .await;
    client.settle().await;
    answer.body["id"].as_str().expect("an id").to_owned()
}

#[tokio::test]
async fn the_file_comes_back_byte_by_byte_under_its_name() {
    let client = Client::new().await;
    let large: Vec<u8> = (0..300_000u64).map(|i| b'a' + (i * i % 26) as u8).collect();

    for (name, bytes) in [
        ("report.pdf", fixture("two-pages.pdf")),
        ("a.txt", b"Few words.".to_vec()),
        ("b.txt", large),
    ] {
        let id = upload(&client, name, &bytes).await;
        for named in [id.as_str(), "file", "file?containerTag=sm_project_default"] {
            let (path, query) = named.split_once('?').unwrap_or((named, ""));
            let answer = client
                .get(&format!("/v3/documents/{path}/file-url?{query}"))
                .await;
            let url = answer.body["url"].as_str().expect("an address");
            assert_eq!(
                fetch(&client, url).await,
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
    let client = Client::new().await;
    for (name, bytes) in [
        ("a.txt", b"Some words.".as_slice()),
        ("x.bin", &[0, 1, 2, 3, 0, 0, 9]),
    ] {
        let form = begin(&client, json!({"fileName": name})).await;
        let id = form["id"].as_str().expect("an id");
        refused(
            &client.get(&format!("/v3/documents/{id}/file-url")).await,
            404,
            "NotFoundError",
            "File",
        );

        store(&client, &form, bytes).await;
        client.settle().await;
        let url = url(&client, id).await;
        assert_eq!(
            fetch(&client, &url).await,
            (StatusCode::OK, Bytes::from_static(bytes)),
            "{name}"
        );
    }

    let failed = upload(&client, "x.bin", &[0, 1, 2, 3, 0, 0, 9]).await;
    assert_eq!(
        client.document_or_failure(&failed).await["status"],
        "failed"
    );

    let url = url(&client, &failed).await;
    assert_eq!(
        fetch(&client, &url).await.0,
        StatusCode::OK,
        "its owner may want to look at it"
    );
}

#[tokio::test]
async fn an_address_that_is_given_out_leads_somewhere() {
    let client = Client::new().await;
    upload(&client, "old.txt", b"Old words.").await;
    let form = begin(&client, json!({"fileName": "new.txt", "customId": "file"})).await;
    let answer = client.get("/v3/documents/file/file-url").await;
    if answer.status == StatusCode::OK {
        let url = answer.body["url"].as_str().expect("an address");
        assert_eq!(
            fetch(&client, url).await,
            (StatusCode::OK, Bytes::from_static(b"Old words."))
        );
    } else {
        refused(&answer, 404, "NotFoundError", "File");
    }

    store(&client, &form, b"New words.").await;
    client.settle().await;
    let url = url(&client, "file").await;
    assert_eq!(
        fetch(&client, &url).await.1,
        Bytes::from_static(b"New words.")
    );
}

#[tokio::test]
async fn what_is_no_file_has_no_address() {
    let client = Client::new().await;
    let id = upload(&client, "a.txt", b"Some words.").await;
    client
        .add(json!({"content": "A text.", "customId": "text"}))
        .await;
    let turns = json!([{"role": "user", "content": "Hello."}]);
    client
        .post(
            "/v4/conversations",
            json!({"conversationId": "talk", "messages": turns}),
        )
        .await;
    let mut faults = Faults::default();
    for name in ["text", "talk"] {
        let answer = client.get(&format!("/v3/documents/{name}/file-url")).await;
        faults.note(name, &answer, 404, "NotFoundError", "File");
    }

    for name in crate::read::UNKNOWN {
        let answer = client.get(&format!("/v3/documents/{name}/file-url")).await;
        faults.note(name, &answer, 404, "NotFoundError", "Document not found");
    }

    let other = client.app.key("other").await;
    let answer = client
        .app
        .get(&format!("/v3/documents/{id}/file-url"), &other)
        .await;
    faults.note(
        "another organization",
        &answer,
        404,
        "NotFoundError",
        "Document not found",
    );

    client.delete(&format!("/v3/documents/{id}")).await;
    let answer = client.get(&format!("/v3/documents/{id}/file-url")).await;
    faults.note(
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
    let client = Client::new().await;
    let id = upload(&client, "a.txt", b"Some words.").await;
    let url = url(&client, &id).await;
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
        let (status, body) = fetch(&client, &wrong).await;
        assert_eq!(status, StatusCode::FORBIDDEN, "{wrong}");
        assert!(!String::from_utf8_lossy(&body).contains("Some words."));
    }

    client.app.world.clock.advance_seconds(23 * 3600);
    assert_eq!(
        fetch(&client, &url).await.1,
        Bytes::from_static(b"Some words.")
    );

    client.app.world.clock.advance_seconds(2 * 3600);
    assert_eq!(
        fetch(&client, &url).await.0,
        StatusCode::FORBIDDEN,
        "a day has passed"
    );
}

#[tokio::test]
async fn a_moved_file_is_still_the_file() {
    let client = Client::new().await;
    let bytes = fixture("two-pages.pdf");
    let id = upload(&client, "report.pdf", &bytes).await;
    let old = url(&client, &id).await;
    let moved = client.update(&id, json!({"containerTag": "b"})).await["id"].clone();
    client.settle().await;
    let new = url(&client, moved.as_str().expect("an id")).await;
    assert_eq!(
        fetch(&client, &new).await,
        (StatusCode::OK, Bytes::from(bytes))
    );
    assert_eq!(
        fetch(&client, &old).await.0,
        StatusCode::NOT_FOUND,
        "what is gone is gone"
    );

    let answer = client.get(&format!("/v3/documents/{id}/file-url")).await;
    assert_eq!(
        (answer.status, &answer.body["url"]),
        (StatusCode::NOT_FOUND, &Value::Null)
    );
}
