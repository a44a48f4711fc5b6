//! Pages and files that a function without rights reads, as in a deployment.

use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use bytes::Bytes;
use reader::{ReaderFunction, answer_request};
use serde_json::{Value, json};
use testkit::{TestApp, TestEnvironment};

use crate::client::{OrgClient, read_fixture};
use crate::server::{Server, build_page};

/// The public address that the server claims.
const PUBLIC: IpAddr = IpAddr::V4(Ipv4Addr::new(93, 184, 215, 14));
/// The size in bytes of what is too large for a call.
const LARGE: usize = 5_000_000;
/// What a document shows of its content.
const SHOWN: [&str; 6] = ["status", "type", "title", "content", "metadata", "error"];

/// The function reader, as a test sees it.
#[derive(Default)]
struct FunctionState {
    calls: AtomicUsize,
    is_broken: AtomicBool,
}

/// Returns a client of an app whose pages and files are read by a function, and the state of that
/// function.
async fn with_function() -> (OrgClient, Arc<FunctionState>) {
    let mut environment = TestEnvironment::new().expect("a folder");
    let state = Arc::new(FunctionState::default());
    let (reader, called) = (Arc::new(environment.local_reader()), state.clone());
    let function = environment
        .lambda_function(move |request: Bytes| {
            let (reader, called) = (reader.clone(), called.clone());
            async move {
                called.calls.fetch_add(1, Ordering::Relaxed);
                if called.is_broken.load(Ordering::Relaxed) {
                    return Err(io::Error::other("out of memory"));
                }
                Ok(answer_request(reader.as_ref(), request).await?)
            }
        })
        .await;
    environment.reader = Some(Arc::new(ReaderFunction::new(Arc::new(function))));

    let app = TestApp::start(&environment, 0).await.expect("an app");
    (OrgClient::of(app, "acme").await, state)
}

/// Uploads a file, processes it, and returns its document.
async fn read_file(client: &OrgClient, name: &str, bytes: &[u8]) -> Value {
    let answer = client.app.upload_file(&client.key, name, bytes, &[]).await;
    let id = answer.body["id"].as_str().expect("an id").to_owned();
    client.run_until_settled().await;
    shown_of(&client.get_document_unchecked(&id).await)
}

/// Adds a page, processes it, and returns its document.
async fn read_page(client: &OrgClient, server: &Server, url: &str) -> Value {
    let internet = &client.app.environment.internet;
    internet.add_host("news.example", PUBLIC, server.address);
    let id = client.send_document(json!({"content": url})).await;
    client.run_until_settled().await;
    shown_of(&client.get_document_unchecked(&id).await)
}

fn shown_of(document: &Value) -> Value {
    let shown = SHOWN.map(|field| (field.to_owned(), document[field].clone()));
    shown.into_iter().collect()
}

/// Returns the number of objects that calls left in the bucket.
async fn count_objects_of_calls(client: &OrgClient) -> usize {
    let system = &client.app.system;
    let list = system.clients.s3.list_objects_v2().prefix("_answers/");
    let objects = list.bucket(&system.names.bucket).send().await;
    objects.expect("a list").contents().len()
}

#[tokio::test]
async fn a_function_reads_what_this_process_would_read() {
    let local = OrgClient::new().await;
    let (client, function) = with_function().await;
    let page = read_fixture("page.html");
    let large_page = [&page[..], b"<!--", &vec![b'x'; LARGE], b"-->"].concat();
    let files = [
        ("two-pages.pdf", read_fixture("two-pages.pdf")),
        ("page.html", page),
        ("truncated.pdf", read_fixture("truncated.pdf")),
        ("encrypted.pdf", read_fixture("encrypted.pdf")),
        ("large.html", large_page),
    ];
    for (name, bytes) in files {
        let before = function.calls.load(Ordering::Relaxed);
        let document = read_file(&client, name, &bytes).await;
        assert_eq!(document, read_file(&local, name, &bytes).await, "{name}");
        assert_ne!(document["status"], "queued", "{name}");
        let calls = function.calls.load(Ordering::Relaxed) - before;
        assert_eq!(calls, 1, "{name}");
        assert_eq!(count_objects_of_calls(&client).await, 0, "{name}");
    }
}

#[tokio::test]
async fn a_function_fetches_what_this_process_would_fetch() {
    let local = OrgClient::new().await;
    let (client, function) = with_function().await;
    let server = Server::start(|request| match request.path_and_query() {
        "/two-pages.pdf" => build_page("application/pdf", &read_fixture("two-pages.pdf")),
        "/large" => {
            let hidden = [b"<!--", &vec![b'x'; LARGE][..], b"-->"].concat();
            build_page("text/html", &[read_fixture("page.html"), hidden].concat())
        }
        _ => build_page("text/html", &read_fixture("page.html")),
    })
    .await;
    let addresses = [
        "http://news.example/",
        "http://news.example/two-pages.pdf",
        "http://news.example/large",
        "http://127.0.0.1/secret",
    ];
    for url in addresses {
        let document = read_page(&client, &server, url).await;
        assert_eq!(document, read_page(&local, &server, url).await, "{url}");
        assert_ne!(document["status"], "queued", "{url}");
        assert_eq!(count_objects_of_calls(&client).await, 0, "{url}");
    }
    assert!(function.calls.load(Ordering::Relaxed) > addresses.len());
}

#[tokio::test]
async fn text_is_read_without_the_function() {
    let (client, function) = with_function().await;
    let document = read_file(&client, "notes.md", b"# Notes\n\nThe ferry leaves at one.").await;
    assert_eq!(document["status"], "done");
    client
        .add_document(json!({"content": "The bridge opens at noon."}))
        .await;
    assert_eq!(function.calls.load(Ordering::Relaxed), 0);
}

#[tokio::test]
async fn a_document_waits_for_a_function_that_fails() {
    let (client, function) = with_function().await;
    function.is_broken.store(true, Ordering::Relaxed);
    let bytes = read_fixture("two-pages.pdf");
    let answer = client
        .app
        .upload_file(&client.key, "two-pages.pdf", &bytes, &[])
        .await;
    let id = answer.body["id"].as_str().expect("an id").to_owned();
    while function.calls.load(Ordering::Relaxed) == 0 {
        client.app.run_workers_once().await;
    }
    let document = client.get_document_unchecked(&id).await;
    assert!(document["status"] != "failed", "{document}");

    function.is_broken.store(false, Ordering::Relaxed);
    client.run_until_settled().await;
    let document = client.get_document_unchecked(&id).await;
    assert_eq!(document["status"], "done", "{document}");
}
