//! Pages and files that a function without rights reads, as in a deployment.

use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use bytes::Bytes;
use reader::{RemoteReader, answer_request};
use serde_json::{Value, json};
use testkit::{TestApp, TestEnvironment};

use crate::client::{OrgClient, read_fixture};
use crate::server::{Server, build_page};

/// The public address that the server claims.
const PUBLIC: IpAddr = IpAddr::V4(Ipv4Addr::new(93, 184, 215, 14));
/// The size in bytes of what is too large for a call.
const LARGE: usize = 5_000_000;
/// The rounds of the workers in which a document is tried.
const ROUNDS: usize = 20;
/// The fields of a document that come from its content.
const FIELDS: [&str; 6] = ["status", "type", "title", "content", "metadata", "error"];

/// The function reader, as a test sees it.
#[derive(Default)]
struct FunctionState {
    calls: AtomicUsize,
    /// Set if the function ends with an error.
    is_broken: AtomicBool,
    /// Set if the function is of a version that does not know the message.
    is_foreign: AtomicBool,
}

impl FunctionState {
    fn call_count(&self) -> usize {
        self.calls.load(Ordering::Relaxed)
    }
}

/// Returns a client of an app whose pages and files are read by a function, and the state of that
/// function.
async fn client_with_function() -> (OrgClient, Arc<FunctionState>) {
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
                let request = match called.is_foreign.load(Ordering::Relaxed) {
                    true => request.slice(1..),
                    false => request,
                };
                Ok(answer_request(reader.as_ref(), request).await?)
            }
        })
        .await;
    environment.reader = Some(Arc::new(RemoteReader::new(Arc::new(function))));

    let app = TestApp::start(&environment, 0).await.expect("an app");
    (OrgClient::of(app, "acme").await, state)
}

/// Uploads a file, and returns the id of its document.
async fn send_file(client: &OrgClient, name: &str, bytes: &[u8]) -> String {
    let answer = client.app.upload_file(&client.key, name, bytes, &[]).await;
    answer.body["id"].as_str().expect("an id").to_owned()
}

/// Adds a page of the server, and returns the id of its document.
async fn send_page(client: &OrgClient, server: &Server, url: &str) -> String {
    let internet = &client.app.environment.internet;
    internet.add_host("news.example", PUBLIC, server.address);
    client.send_document(json!({"content": url})).await
}

/// Processes a document, and returns what comes from its content.
async fn read_content(client: &OrgClient, id: &str) -> Value {
    client.run_until_settled().await;
    let document = client.get_document_unchecked(id).await;
    let fields = FIELDS.map(|field| (field.to_owned(), document[field].clone()));
    fields.into_iter().collect()
}

/// Returns the number of objects that calls left in the bucket.
async fn count_objects_of_calls(client: &OrgClient) -> usize {
    let system = &client.app.system;
    let list = system.clients.s3.list_objects_v2().prefix("_answers/");
    let objects = list.bucket(&system.names.bucket).send().await;
    objects.expect("a list").contents().len()
}

/// Returns a page of which most is hidden.
fn large_page() -> Vec<u8> {
    let hidden = [b"<!--", &vec![b'x'; LARGE][..], b"-->"].concat();
    [read_fixture("page.html"), hidden].concat()
}

#[tokio::test]
async fn a_function_reads_what_this_process_would_read() {
    let local = OrgClient::new().await;
    let (client, function) = client_with_function().await;
    let files = [
        ("two-pages.pdf", read_fixture("two-pages.pdf"), "done"),
        ("page.html", read_fixture("page.html"), "done"),
        ("large.html", large_page(), "done"),
        ("truncated.pdf", read_fixture("truncated.pdf"), "failed"),
        ("encrypted.pdf", read_fixture("encrypted.pdf"), "failed"),
    ];
    for (name, bytes, status) in files {
        let calls_before = function.call_count();
        let id = send_file(&client, name, &bytes).await;
        let content = read_content(&client, &id).await;
        assert_eq!(content["status"], status, "{name}: {content}");
        assert_eq!(function.call_count() - calls_before, 1, "{name}");
        assert_eq!(count_objects_of_calls(&client).await, 0, "{name}");

        let id = send_file(&local, name, &bytes).await;
        assert_eq!(content, read_content(&local, &id).await, "{name}");
    }
}

#[tokio::test]
async fn a_function_fetches_what_this_process_would_fetch() {
    let local = OrgClient::new().await;
    let (client, function) = client_with_function().await;
    let server = Server::start(|request| match request.path_and_query() {
        "/two-pages.pdf" => build_page("application/pdf", &read_fixture("two-pages.pdf")),
        "/large" => build_page("text/html", &large_page()),
        "/notes" => build_page("text/plain", b"The ferry leaves at one."),
        _ => build_page("text/html", &read_fixture("page.html")),
    })
    .await;
    // A page is fetched by one call, and parsed by another.
    let pages = [
        ("http://news.example/", "done", 2),
        ("http://news.example/two-pages.pdf", "done", 2),
        ("http://news.example/large", "done", 2),
        ("http://news.example/notes", "done", 1),
        ("http://127.0.0.1/secret", "failed", 1),
    ];
    for (url, status, calls) in pages {
        let calls_before = function.call_count();
        let id = send_page(&client, &server, url).await;
        let content = read_content(&client, &id).await;
        assert_eq!(content["status"], status, "{url}: {content}");
        assert_eq!(function.call_count() - calls_before, calls, "{url}");
        assert_eq!(count_objects_of_calls(&client).await, 0, "{url}");

        let id = send_page(&local, &server, url).await;
        assert_eq!(content, read_content(&local, &id).await, "{url}");
    }
}

#[tokio::test]
async fn text_is_read_without_the_function() {
    let (client, function) = client_with_function().await;
    let id = send_file(&client, "notes.md", b"# Notes\n\nThe ferry leaves at one.").await;
    assert_eq!(read_content(&client, &id).await["status"], "done");
    client
        .add_document(json!({"content": "The bridge opens at noon."}))
        .await;
    assert_eq!(function.call_count(), 0);
}

#[tokio::test]
async fn a_document_waits_for_a_function_that_does_not_answer() {
    let server = Server::start(|_| build_page("text/html", &read_fixture("page.html"))).await;
    let set_fault = |function: &FunctionState, is_foreign: bool, value: bool| {
        let fault = match is_foreign {
            true => &function.is_foreign,
            false => &function.is_broken,
        };
        fault.store(value, Ordering::Relaxed);
    };

    for is_foreign in [false, true] {
        for kind in ["file", "large file", "page"] {
            let (client, function) = client_with_function().await;
            set_fault(&function, is_foreign, true);
            let id = match kind {
                "file" => send_file(&client, "a.pdf", &read_fixture("two-pages.pdf")).await,
                "large file" => send_file(&client, "a.html", &large_page()).await,
                _ => send_page(&client, &server, "http://news.example/").await,
            };
            for _ in 0..ROUNDS {
                client.app.run_workers_once().await;
            }
            assert_ne!(function.call_count(), 0, "{kind}");
            let document = client.get_document_unchecked(&id).await;
            let unfinished = ["queued", "extracting"].map(Value::from);
            assert!(
                unfinished.contains(&document["status"]),
                "{kind}: {document}"
            );
            assert_eq!(count_objects_of_calls(&client).await, 0, "{kind}");

            set_fault(&function, is_foreign, false);
            let content = read_content(&client, &id).await;
            assert_eq!(content["status"], "done", "{kind}: {content}");
        }
    }
}
