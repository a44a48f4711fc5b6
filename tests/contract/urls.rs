//! Content that is an address: the page behind it becomes the document.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};

use crate::client::{OrgClient, read_fixture};
use crate::server::{ReceivedRequest, Server, build_answer, build_page};
use crate::shape::{assert_shape, document_shape, failure_shape, merge_shapes};

/// The public address that the servers claim.
const PUBLIC: IpAddr = IpAddr::V4(Ipv4Addr::new(93, 184, 215, 14));
const HTML: &[u8] = b"<!doctype html><html><head><title>The harbour</title>\
    <meta property=\"og:image\" content=\"https://news.example/harbour.png\"></head>\
    <body><nav>Home</nav><main><h1>The harbour</h1><p>The ferry QX-771 leaves from pier nine.</p></main></body></html>";

fn answer_request(request: &ReceivedRequest) -> Vec<u8> {
    match request.path_and_query() {
        "/harbour" => build_page("text/html; charset=utf-8", HTML),
        "/notes.md" => build_page(
            "text/markdown",
            b"# Notes\n\nThe ferry QX-772 leaves from pier ten.",
        ),
        "/notes.txt" => build_page("text/plain", b"The ferry QX-773 leaves from pier eleven."),
        "/two-pages.pdf" => build_page("application/pdf", &read_fixture("two-pages.pdf")),
        "/moved" => build_answer("302 Found", "Location: /harbour\r\n", b""),
        "/manual.php" => build_page(
            "text/html",
            b"<div><p>The ferry QX-774 leaves from <b>pier twelve</b>.</p></div>",
        ),
        "/empty" => build_page("text/html", b"<html><body></body></html>"),
        "/large" => build_page("text/plain", &vec![b'x'; 10 * 1024 * 1024 + 1]),
        "/to-loopback" => build_answer("302 Found", "Location: http://127.0.0.1/secret\r\n", b""),
        "/to-metadata" => build_answer(
            "301 Moved",
            "Location: http://169.254.169.254/latest/meta-data\r\n",
            b"",
        ),
        "/to-inside" => build_answer(
            "307 Temporary Redirect",
            "Location: https://inside.example/\r\n",
            b"",
        ),
        _ => build_answer("404 Not Found", "", b"Nothing here."),
    }
}

/// Returns a client in whose internet `news.example` is that server.
async fn with_site(
    site: impl Fn(&ReceivedRequest) -> Vec<u8> + Send + Sync + 'static,
) -> (OrgClient, Server) {
    let (client, server) = (OrgClient::new().await, Server::start(site).await);
    client
        .app
        .environment
        .internet
        .add_host("news.example", PUBLIC, server.address);
    (client, server)
}

/// Sends content, processes it, and returns the document.
async fn add_address(client: &OrgClient, content: &str) -> Value {
    let id = client.send_document(json!({"content": content})).await;
    client.run_until_settled().await;
    client.get_document_unchecked(&id).await
}

#[tokio::test]
async fn an_address_becomes_the_page_behind_it() {
    let (client, server) = with_site(answer_request).await;
    let id = client
        .send_document(json!({"content": "  http://news.example/harbour \n"}))
        .await;
    let before = client.get_document_unchecked(&id).await;
    assert_eq!(
        (&before["status"], &before["type"]),
        (&json!("queued"), &json!("webpage"))
    );
    assert_eq!(
        server.connection_count(),
        0,
        "a worker fetches, not the request"
    );

    client.run_until_settled().await;
    let document = client.get_document_unchecked(&id).await;
    assert_shape(
        &document,
        &merge_shapes(document_shape(), &json!({"url": "string"})),
    );

    let told = ["status", "type", "title", "url", "ogImage"]
        .map(|field| document[field].as_str().unwrap_or_default());
    let image = "https://news.example/harbour.png";
    assert_eq!(
        told,
        [
            "done",
            "webpage",
            "The harbour",
            "http://news.example/harbour",
            image
        ]
    );
    assert!(
        document["content"]
            .as_str()
            .is_some_and(|text| text.contains("QX-771") && !text.contains("<p>"))
    );
    assert!(client.search_finds("QX-771").await);

    let listed = client.post("/v3/documents/list", json!({})).await.body;
    assert_eq!(listed["memories"][0]["url"], "http://news.example/harbour");
}

#[tokio::test]
async fn pages_of_every_kind_are_read() {
    let (client, _server) = with_site(answer_request).await;
    for (path, kind, part) in [
        ("notes.md", "webpage", "QX-772"),
        ("notes.txt", "webpage", "QX-773"),
        ("manual.php", "webpage", "from **pier twelve**."),
        ("two-pages.pdf", "pdf", ""),
        ("moved", "webpage", "QX-771"),
    ] {
        let document = add_address(&client, &format!("http://news.example/{path}")).await;
        assert_eq!(
            (&document["status"], &document["type"]),
            (&json!("done"), &json!(kind)),
            "{path}: {document}"
        );

        let text = document["content"].as_str().expect("text");
        assert!(text.contains(part) && text.len() > 20, "{path}: {text}");
        assert_eq!(
            document["url"],
            format!("http://news.example/{path}"),
            "what was sent"
        );
    }
}

#[tokio::test]
async fn a_page_that_cannot_be_read_fails_with_the_reason() {
    let (client, server) = with_site(answer_request).await;
    for (path, code) in [
        ("nowhere", "fetch_failed"),
        ("empty", "empty"),
        ("large", "content_limit"),
    ] {
        let document = add_address(&client, &format!("http://news.example/{path}")).await;
        assert_shape(
            &document,
            &merge_shapes(
                merge_shapes(document_shape(), &failure_shape()),
                &json!({"url": "string"}),
            ),
        );
        assert_eq!(
            (&document["status"], &document["errorCode"]),
            (&json!("failed"), &json!(code)),
            "{document}"
        );
    }

    let unknown = add_address(&client, "http://unknown.example/").await;
    assert_eq!(unknown["errorCode"], "fetch_failed", "{unknown}");
    assert_eq!(
        server.connection_count(),
        3,
        "what is not there is not asked for again"
    );
}

#[tokio::test]
async fn a_private_address_is_never_connected_to() {
    let (client, server) = with_site(answer_request).await;
    let private: [IpAddr; 8] = [
        Ipv4Addr::LOCALHOST.into(),
        Ipv4Addr::new(169, 254, 169, 254).into(),
        Ipv4Addr::new(10, 0, 0, 1).into(),
        Ipv4Addr::new(192, 168, 1, 1).into(),
        Ipv4Addr::UNSPECIFIED.into(),
        Ipv6Addr::LOCALHOST.into(),
        "::ffff:127.0.0.1".parse().expect("an address"),
        "fd00::1".parse().expect("an address"),
    ];
    // The server sees every request that dials one of these addresses.
    for (i, address) in private.into_iter().enumerate() {
        client.app.environment.internet.add_host(
            &format!("private-{i}.example"),
            address,
            server.address,
        );
    }

    let names = ["localhost", "metadata.google.internal", "printer.local"];
    for name in names {
        client
            .app
            .environment
            .internet
            .add_host(name, Ipv4Addr::LOCALHOST.into(), server.address);
    }

    let mut urls: Vec<String> = (0..private.len())
        .map(|i| format!("http://private-{i}.example/"))
        .collect();
    urls.extend(names.map(|name| format!("http://{name}/")));
    urls.extend(
        [
            "http://127.0.0.1/",
            "https://127.0.0.1/",
            "http://169.254.169.254/latest",
            "http://[::1]/",
            "http://10.0.0.1",
            "http://0.0.0.0/",
            "http://2130706433/",
            "http://0x7f.1/",
            "http://127.1/",
            "http://[::ffff:127.0.0.1]/",
            "http://[fd00::1]/",
            "http://localhost./",
            "http://LOCALHOST/",
            "http://news.example:8080/",
            "http://user:word@news.example/",
        ]
        .map(str::to_owned),
    );
    for url in urls {
        let document = add_address(&client, &url).await;
        assert_eq!(document["errorCode"], "fetch_blocked", "{url}: {document}");
        assert!(
            !document["errorMessage"]
                .as_str()
                .expect("why")
                .contains("127.0.0.1"),
            "{document}"
        );
    }

    assert_eq!(server.connection_count(), 0);
}

#[tokio::test]
async fn a_redirect_to_a_private_address_is_not_followed() {
    let (client, server) = with_site(answer_request).await;
    let inside = Server::start(|_| build_page("text/plain", b"The secret HERON-99.")).await;
    for (name, ip) in [
        ("inside.example", [10, 0, 0, 7]),
        ("a.example", [127, 0, 0, 1]),
        ("b.example", [169, 254, 169, 254]),
    ] {
        client
            .app
            .environment
            .internet
            .add_host(name, IpAddr::from(ip), inside.address);
    }

    for path in ["to-loopback", "to-metadata", "to-inside"] {
        let document = add_address(&client, &format!("http://news.example/{path}")).await;
        assert_eq!(document["errorCode"], "fetch_blocked", "{path}: {document}");
    }

    assert_eq!(
        (server.connection_count(), inside.connection_count()),
        (3, 0)
    );
    assert!(!client.search_finds("HERON-99").await);
}

#[tokio::test]
async fn a_text_that_speaks_of_an_address_is_a_text() {
    let (client, server) = with_site(answer_request).await;
    for content in [
        "See http://news.example/harbour",
        "http://news.example/harbour is good.",
        "http://news.example/harbour http://news.example/notes.md",
        "http://news.example/harbour\nhttp://news.example/notes.md",
        "news.example/harbour",
        "ftp://news.example/harbour",
        "[the harbour](http://news.example/harbour)",
    ] {
        let document = add_address(&client, content).await;
        assert_eq!(
            (&document["status"], &document["type"]),
            (&json!("done"), &json!("text")),
            "{document}"
        );
        assert_eq!(document["content"], content);
        assert!(document.get("url").is_none(), "{document}");
    }

    assert_eq!(server.connection_count(), 0);
}

#[tokio::test]
async fn the_same_address_again_is_fetched_again_unless_it_may_be_a_retry() {
    let version = Arc::new(AtomicUsize::new(1));
    let now = version.clone();
    let (client, server) = with_site(move |_| {
        build_page(
            "text/plain",
            format!("The page in version VER-{}.", now.load(Ordering::SeqCst)).as_bytes(),
        )
    })
    .await;
    let body = json!({"content": "http://news.example/news", "customId": "news"});
    let id = client.add_document(body.clone()).await;
    version.store(2, Ordering::SeqCst);
    assert_eq!(client.add_document(body.clone()).await, id);
    assert_eq!(server.connection_count(), 1, "that was a client's retry");

    client.app.environment.clock.advance_seconds(121);
    assert_eq!(client.add_document(body).await, id);
    assert_eq!(server.connection_count(), 2);
    assert_eq!(
        client.search_texts("version").await,
        ["The page in version VER-2."]
    );

    let document = client.get_document_unchecked("news").await;
    assert_eq!(document["latestRevision"], 2);
    version.store(3, Ordering::SeqCst);
    client
        .update_document("news", json!({"content": "http://news.example/news"}))
        .await;
    client.run_until_settled().await;
    assert_eq!(
        client.search_texts("version").await,
        ["The page in version VER-3."],
        "a change asks for the page of now"
    );

    client
        .update_document("news", json!({"content": "A text instead."}))
        .await;
    client.run_until_settled().await;
    let document = client.get_document("news").await;
    assert_eq!(
        (&document["type"], &document["content"]),
        (&json!("text"), &json!("A text instead."))
    );
}

#[tokio::test]
async fn a_page_that_is_gone_leaves_the_old_text_searchable() {
    let version = Arc::new(AtomicUsize::new(1));
    let now = version.clone();
    let (client, _server) = with_site(move |_| match now.load(Ordering::SeqCst) {
        1 => build_page("text/plain", b"The page says OSPREY-11."),
        _ => build_answer("410 Gone", "", b""),
    })
    .await;
    let body = json!({"content": "http://news.example/news", "customId": "news"});
    client.add_document(body.clone()).await;
    version.store(2, Ordering::SeqCst);
    client.app.environment.clock.advance_seconds(3600);
    client.send_document(body).await;
    client.run_until_settled().await;
    assert_eq!(
        client.get_document_unchecked("news").await["errorCode"],
        "fetch_failed"
    );
    assert!(client.search_finds("OSPREY-11").await);

    version.store(1, Ordering::SeqCst);
    assert_eq!(
        client
            .post("/v3/documents/news/retry", Value::Null)
            .await
            .status,
        200
    );

    client.run_until_settled().await;
    assert_eq!(
        client.get_document_unchecked("news").await["status"],
        "done"
    );
}
