//! Traces of the real binary, as a collector of OpenTelemetry receives them.

use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use axum::Router;
use axum::extract::State;
use axum::routing::post;
use bytes::Bytes;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value as AttributeValue;
use opentelemetry_proto::tonic::trace::v1::Span;
use prost::Message;
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use crate::http;
use crate::server::{GIVE_UP_AFTER, RecollectServer, error_file};

/// The trace and the span of a caller that traces as well.
const CALLER: (&str, &str) = ("4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7");

/// A collector that keeps what it receives.
struct Collector {
    address: String,
    requests: Arc<Mutex<Vec<ExportTraceServiceRequest>>>,
    _runtime: Runtime,
}

impl Collector {
    fn start() -> Self {
        let runtime = Runtime::new().unwrap();
        let requests = Arc::new(Mutex::new(Vec::new()));
        let routes = Router::new()
            .route("/v1/traces", post(keep))
            .with_state(requests.clone());
        let listener = runtime.block_on(tokio::net::TcpListener::bind("127.0.0.1:0"));
        let listener = listener.unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        runtime.spawn(async move { axum::serve(listener, routes).await });
        Self {
            address,
            requests,
            _runtime: runtime,
        }
    }

    fn spans(&self) -> Vec<Span> {
        let requests = self.requests.lock().unwrap();
        let resources = requests.iter().flat_map(|request| &request.resource_spans);
        let scopes = resources.flat_map(|resource| &resource.scope_spans);
        scopes.flat_map(|scope| scope.spans.clone()).collect()
    }

    /// Waits until a span of this name has arrived.
    fn wait_for(&self, name: &str) -> Span {
        let begun = Instant::now();
        loop {
            if let Some(span) = self.spans().into_iter().find(|span| span.name == name) {
                return span;
            }
            let names: Vec<_> = self.spans().into_iter().map(|span| span.name).collect();
            assert!(begun.elapsed() < GIVE_UP_AFTER, "no {name} in {names:?}");
            thread::sleep(Duration::from_millis(50));
        }
    }

    /// Returns the names of the spans below a span.
    fn names_below(&self, above: &Span) -> Vec<String> {
        let spans = self.spans();
        let children = spans
            .iter()
            .filter(|span| span.parent_span_id == above.span_id);
        children
            .flat_map(|child| {
                let mut names = self.names_below(child);
                names.push(child.name.clone());
                names
            })
            .collect()
    }
}

async fn keep(
    State(requests): State<Arc<Mutex<Vec<ExportTraceServiceRequest>>>>,
    body: Bytes,
) -> Vec<u8> {
    let request = ExportTraceServiceRequest::decode(body).unwrap();
    requests.lock().unwrap().push(request);
    Vec::new()
}

/// Returns an attribute of a span as text.
fn attribute(span: &Span, key: &str) -> Option<String> {
    let attribute = span
        .attributes
        .iter()
        .find(|attribute| attribute.key == key)?;
    match attribute.value.as_ref()?.value.as_ref()? {
        AttributeValue::StringValue(text) => Some(text.clone()),
        AttributeValue::IntValue(number) => Some(number.to_string()),
        _ => None,
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn a_request_its_calls_and_its_processing_are_one_trace() {
    let collector = Collector::start();
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let mut server = RecollectServer::start_with(
        &data,
        &["--log", "info", "--otlp-endpoint", &collector.address],
    );

    let (trace, span) = CALLER;
    let caller = format!("00-{trace}-{span}-01");
    let document = json!({"content": "Ada moved to Bonn.", "containerTag": "secret-tag"});
    let headers = [("traceparent", caller.as_str())];
    let body = document.to_string();
    let path = "/v3/documents";
    let added = http::send(server.address(), "POST", path, &headers, body.as_bytes()).unwrap();
    server.wait_done(added.body["id"].as_str().unwrap());
    let question = json!({"q": "Where does Ada live?", "containerTag": "secret-tag"});
    server.call("POST", "/v4/search", &question);
    server.call("DELETE", "/v3/documents/nothing", &Value::Null);
    // The process sends its last spans before it ends.
    server.terminate();
    server.wait_for_exit();

    let request = collector.wait_for("POST /v3/documents");
    assert_eq!(hex(&request.trace_id), trace);
    assert_eq!(hex(&request.parent_span_id), span);
    assert_eq!(
        attribute(&request, "http.response.status_code").unwrap(),
        "200"
    );
    assert_eq!(attribute(&request, "http.route").unwrap(), "/v3/documents");
    let below = collector.names_below(&request);
    for name in [
        "SQS.SendMessageBatch",
        "process texts",
        "read content",
        "extract memories",
        "commit documents",
    ] {
        assert!(
            below.iter().any(|below| below == name),
            "{name} in {below:?}"
        );
    }

    let search = collector.wait_for("POST /v4/search");
    assert_ne!(search.trace_id, request.trace_id);
    let below = collector.names_below(&search);
    for name in ["open containers", "rank", "DynamoDB.GetItem"] {
        assert!(
            below.iter().any(|below| below == name),
            "{name} in {below:?}"
        );
    }
    let missing = collector.wait_for("DELETE /v3/documents/{id}");
    assert_eq!(
        attribute(&missing, "http.response.status_code").unwrap(),
        "404"
    );

    // The polls of the queues are in no trace.
    let spans = collector.spans();
    assert!(spans.iter().all(|span| span.name != "SQS.ReceiveMessage"));
    // No span has content, and the log leads to the trace.
    let told = format!("{spans:?}");
    for secret in ["Ada", "Bonn", "secret-tag"] {
        assert!(!told.contains(secret), "{secret} in {told}");
    }
    let log = std::fs::read_to_string(error_file(&data)).unwrap();
    let line = log
        .lines()
        .find(|line| line.contains("POST /v3/documents answered"));
    assert!(line.is_some_and(|line| line.contains(trace)), "{log}");
}

#[test]
fn a_collector_that_is_away_is_told_once_and_delays_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let away = ["--otlp-endpoint", "http://127.0.0.1:9"];
    let mut server = RecollectServer::start_with(&data, &away);
    let added = server.call("POST", "/v3/documents", &json!({"content": "Ada moved."}));
    server.wait_done(added.body["id"].as_str().unwrap());
    server.terminate();
    assert!(server.wait_for_exit().success());
    let log = std::fs::read_to_string(error_file(&data)).unwrap();
    assert_eq!(log.matches("traces cannot be sent").count(), 1, "{log}");

    let wrong = ["--otlp-endpoint", "collector:4318"];
    let mut server = RecollectServer::spawn_server(&data, &wrong);
    assert!(!server.wait_for_exit().success());
    let log = std::fs::read_to_string(error_file(&data)).unwrap();
    assert!(log.contains("such as http://127.0.0.1:4318"), "{log}");
}
