//! Checks that run before the routes of the local server: local clients, wrong keys, and bodies
//! that exceed the memory for them.

use std::net::SocketAddr;
use std::time::Duration;

use cli::{ServingOptions, build_service, serve_until};
use edge::{AllowedOrigins, ProviderNames};
use serde_json::{Value, json};
use server::ServerLimits;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::client::OrgClient;
use crate::uploads::begin_upload;

/// The time after which a test gives up. No measurement depends on it.
const NEVER: Duration = Duration::from_secs(20);
const MEGABYTE: usize = 1024 * 1024;

/// A client whose app listens on loopback, with room for two megabytes of request bodies.
struct LoopbackServer {
    client: OrgClient,
    address: SocketAddr,
    /// The server, which ends when this value is dropped.
    _serving: JoinSet<()>,
}

impl LoopbackServer {
    async fn new(local_key: bool) -> Self {
        Self::with_origins(local_key, AllowedOrigins::Any).await
    }

    async fn with_origins(local_key: bool, allowed_origins: AllowedOrigins) -> Self {
        let client = OrgClient::new().await;
        let outside = client.app.environment.external_systems().expect("a world");
        let serving = ServingOptions {
            cache_bytes: 8 * MEGABYTE,
            body_bytes: 2 * MEGABYTE,
            accepts_local_key: local_key,
            allowed_origins,
            provider_names: ProviderNames::default(),
        };

        let routes = build_service(&client.app.system, &outside, serving).expect("routes");
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let mut serving = JoinSet::new();
        serving.spawn(serve_until(
            listener,
            routes,
            ServerLimits::default(),
            std::future::pending(),
        ));

        Self {
            client,
            address,
            _serving: serving,
        }
    }

    async fn open_connection(&self, text: &str) -> TcpStream {
        let mut stream = TcpStream::connect(self.address)
            .await
            .expect("a connection");
        stream
            .write_all(text.as_bytes())
            .await
            .expect("a socket that takes bytes");
        stream
    }

    /// Sends a request as it is and returns the answer.
    async fn send(&self, text: &str) -> RawReply {
        RawReply::read_reply(&mut self.open_connection(text).await).await
    }

    /// Sends a preflight of a page of `origin`, and returns the answer.
    async fn send_preflight(&self, origin: &str) -> RawReply {
        self.send(&format!(
            "OPTIONS /v4/search HTTP/1.1\r\nhost: {}\r\norigin: {origin}\r\n\
             access-control-request-method: POST\r\n\
             access-control-request-headers: authorization,content-type\r\n\r\n",
            self.address
        ))
        .await
    }

    /// Sends a listing request with a key and additional header lines, and returns the answer.
    async fn send_listing(&self, key: &str, lines: &str) -> RawReply {
        let host = self.address;
        self.send(&post(
            "/v3/documents/list",
            &format!("host: {host}\r\nauthorization: Bearer {key}\r\n{lines}"),
            "{}",
        ))
        .await
    }
}

/// The head of an answer in lower case, and its body.
#[derive(Debug)]
struct RawReply {
    status: u16,
    head: String,
    body: Value,
}

impl RawReply {
    async fn read_reply(stream: &mut TcpStream) -> Self {
        let read = async {
            let mut head = Vec::new();
            while !head.ends_with(b"\r\n\r\n") {
                head.push(stream.read_u8().await.expect("an answer"));
            }
            let head = String::from_utf8(head).expect("a head").to_lowercase();
            let length = head
                .split("content-length: ")
                .nth(1)
                .and_then(|rest| rest.split("\r\n").next());
            let mut body = vec![0; length.map_or(0, |length| length.parse().expect("a length"))];
            stream.read_exact(&mut body).await.expect("a body");
            let body = serde_json::from_slice(&body).unwrap_or(Value::Null);
            Self {
                status: head[9..12].parse().expect("a status"),
                head,
                body,
            }
        };

        timeout(NEVER, read).await.expect("an answer")
    }

    /// Returns the value of a header, in lower case.
    fn header(&self, name: &str) -> Option<&str> {
        let start = format!("{name}: ");
        self.head.lines().find_map(|line| line.strip_prefix(&start))
    }

    fn error_message(&self) -> &str {
        self.body["error"].as_str().unwrap_or_default()
    }
}

fn post(path: &str, lines: &str, body: &str) -> String {
    request_head(path, lines, body.len()) + body
}

/// Returns the head of a request with a body of `length` bytes.
fn request_head(path: &str, lines: &str, length: usize) -> String {
    format!("POST {path} HTTP/1.1\r\n{lines}content-length: {length}\r\n\r\n")
}

#[tokio::test]
async fn web_pages_call_the_api_with_a_key_and_never_with_cookies() {
    let edge = LoopbackServer::new(true).await;
    let preflight = edge.send_preflight("https://app.example.com").await;
    assert_eq!(preflight.status, 200);
    for (name, value) in [
        ("access-control-allow-origin", Some("*")),
        (
            "access-control-allow-methods",
            Some("get,post,put,patch,delete"),
        ),
        (
            "access-control-allow-headers",
            Some("authorization,content-type"),
        ),
        ("access-control-max-age", Some("86400")),
        ("access-control-allow-credentials", None),
    ] {
        assert_eq!(preflight.header(name), value, "{name}");
    }

    let key = edge.client.key.clone();
    let from_page = "origin: https://app.example.com\r\n";
    let answer = edge.send_listing(&key, from_page).await;
    assert_eq!(answer.status, 200);
    assert_eq!(answer.header("access-control-allow-origin"), Some("*"));
    let exposed = answer.header("access-control-expose-headers");
    assert_eq!(exposed, Some("x-request-id,retry-after,www-authenticate"));

    // A page can read why a request was refused.
    let refused = edge.send_listing("wrong", from_page).await;
    assert_eq!(refused.status, 401);
    assert_eq!(refused.header("access-control-allow-origin"), Some("*"));
}

#[tokio::test]
async fn the_key_local_does_not_answer_pages_of_other_machines() {
    let edge = LoopbackServer::new(true).await;
    for (origin, status) in [
        ("http://localhost:3000", 200),
        ("https://evil.example", 401),
        ("null", 401),
    ] {
        let answer = edge
            .send_listing("local", &format!("origin: {origin}\r\n"))
            .await;
        assert_eq!(answer.status, status, "{origin}");
    }
}

#[tokio::test]
async fn only_pages_of_the_listed_origins_may_read_answers() {
    let origins = "https://app.example.com".parse().expect("origins");
    let edge = LoopbackServer::with_origins(false, origins).await;
    for (origin, allowed) in [
        ("https://app.example.com", Some("https://app.example.com")),
        ("https://evil.example", None),
    ] {
        let preflight = edge.send_preflight(origin).await;
        let header = preflight.header("access-control-allow-origin");
        assert_eq!(header, allowed, "{origin}");
    }
}

#[tokio::test]
async fn the_key_local_answers_requests_of_this_machine_that_no_proxy_has_sent() {
    let edge = LoopbackServer::new(true).await;
    assert_eq!(edge.send_listing("local", "").await.status, 200);
    let forwarding = [
        "Forwarded: for=203.0.113.7",
        "X-Forwarded-For: 203.0.113.7",
        "X-Forwarded-Host: memory.example.com",
        "X-Forwarded-Proto: https",
        "X-Forwarded-Port: 443",
        "X-Forwarded-Server: proxy",
        "X-Forwarded: for=203.0.113.7",
        "X-Real-IP: 203.0.113.7",
        "Via: 1.1 proxy",
        "CF-Connecting-IP: 203.0.113.7",
        "CF-Ray: 1",
        "CDN-Loop: cloudflare",
        "True-Client-IP: 203.0.113.7",
        "X-Client-IP: 203.0.113.7",
        "X-Cluster-Client-IP: 203.0.113.7",
        "Fastly-Client-IP: 203.0.113.7",
        "Fly-Client-IP: 203.0.113.7",
        "X-Original-Forwarded-For: 203.0.113.7",
        "X-Envoy-External-Address: 203.0.113.7",
        "X-Amzn-Trace-Id: Root=1",
        "X-Forwarded-For:",
        "X-Forwarded-For: 127.0.0.1",
    ];

    for line in forwarding {
        let (name, value) = line.split_once(':').expect("a header");
        for name in [
            name.to_owned(),
            name.to_lowercase(),
            name.to_uppercase(),
            name.replace('-', "_"),
        ] {
            let reply = edge
                .send_listing("local", &format!("{name}:{value}\r\n"))
                .await;
            assert_eq!(reply.status, 401, "{name}: {}", reply.body);
            assert!(
                reply.error_message().contains("recollect keys create"),
                "{}",
                reply.body
            );
        }

        edge.client.app.environment.clock.advance_seconds(61);
    }
}

#[tokio::test]
async fn the_key_local_answers_no_other_host_and_no_older_http() {
    let edge = LoopbackServer::new(true).await;
    let key = "authorization: Bearer local\r\n";
    let own = format!("host: {}\r\n", edge.address);
    let requests = [
        (
            "another host",
            post(
                "/v3/documents/list",
                &format!("host: evil.example\r\n{key}"),
                "{}",
            ),
        ),
        (
            "a name that begins alike",
            post(
                "/v3/documents/list",
                &format!("host: 127.0.0.1.evil.example\r\n{key}"),
                "{}",
            ),
        ),
        ("no host", post("/v3/documents/list", key, "{}")),
        (
            "two hosts",
            post(
                "/v3/documents/list",
                &format!("{own}host: evil.example\r\n{key}"),
                "{}",
            ),
        ),
        (
            "another host in the target",
            post(
                "http://evil.example/v3/documents/list",
                &format!("{own}{key}"),
                "{}",
            ),
        ),
        (
            "HTTP/1.0",
            post("/v3/documents/list", &format!("{own}{key}"), "{}")
                .replace("HTTP/1.1", "HTTP/1.0"),
        ),
    ];
    for (what, request) in requests {
        let reply = edge.send(&request).await;
        assert!(
            reply.status == 401 || reply.status == 400,
            "{what}: {}",
            reply.status
        );
    }

    assert_eq!(edge.send_listing("local", "").await.status, 200);
}

#[tokio::test]
async fn the_key_local_can_be_off_and_others_work_through_a_proxy() {
    let edge = LoopbackServer::new(false).await;
    assert_eq!(edge.send_listing("local", "").await.status, 401);
    let key = edge.client.key.clone();
    assert_eq!(
        edge.send_listing(&key, "x-forwarded-for: 203.0.113.7\r\nvia: 1.1 proxy\r\n")
            .await
            .status,
        200
    );
}

#[tokio::test]
async fn many_wrong_keys_of_a_client_have_to_wait_and_good_ones_never() {
    let edge = LoopbackServer::new(true).await;
    let stranger = "x-forwarded-for: 203.0.113.7\r\n";
    for attempt in 0..20 {
        assert_eq!(
            edge.send_listing("wrong", stranger).await.status,
            401,
            "attempt {attempt}"
        );
    }

    let reply = edge.send_listing("wrong", stranger).await;
    assert_eq!(
        (reply.status, &reply.body["type"]),
        (429, &json!("RateLimitError"))
    );
    assert!(
        reply.head.contains("retry-after: ") && reply.error_message().contains("wrong keys"),
        "{reply:?}"
    );

    let key = edge.client.key.clone();
    assert_eq!(
        edge.send_listing(&key, stranger).await.status,
        200,
        "a good key of the same address"
    );
    assert_eq!(
        edge.send_listing("wrong", "x-forwarded-for: 203.0.113.8\r\n")
            .await
            .status,
        401,
        "another address"
    );

    edge.client.app.environment.clock.advance_seconds(61);
    assert_eq!(
        edge.send_listing("wrong", stranger).await.status,
        401,
        "a minute later"
    );
}

#[tokio::test]
async fn a_wrong_key_is_refused_before_a_byte_of_the_body() {
    let edge = LoopbackServer::new(true).await;
    let form = "content-type: multipart/form-data; boundary=b\r\n";

    for (path, kind) in [
        ("/v3/documents", ""),
        ("/v3/documents/batch", ""),
        ("/v3/documents/file", form),
        ("/v3/memories/file", form),
        ("/v4/conversations", ""),
        ("/v4/search", ""),
        ("/v4/memories", ""),
        ("/v3/container-tags/merge", ""),
        ("/v3/connections/cloud-drive", ""),
    ] {
        let lines = format!("host: a\r\nauthorization: Bearer wrong\r\n{kind}");
        let reply = edge.send(&request_head(path, &lines, 50 * MEGABYTE)).await;
        assert_eq!(reply.status, 401, "{path}");
        assert!(
            reply.head.contains("connection: close"),
            "{path}: {}",
            reply.head
        );
    }
}

#[tokio::test]
async fn a_form_of_the_bucket_is_refused_before_a_byte_of_its_file() {
    let edge = LoopbackServer::new(true).await;
    let kind = "host: a\r\ncontent-type: multipart/form-data; boundary=b\r\n";
    let begun = "--b\r\ncontent-disposition: form-data; name=\"key\"\r\n\r\nk\r\n\
                 --b\r\ncontent-disposition: form-data; name=\"file\"\r\n\r\n";
    let reply = edge
        .send(&(request_head("/content", kind, 50 * MEGABYTE) + begun))
        .await;
    assert_eq!(reply.status, 403);
    let get = request_head("/content/key", "host: a\r\n", 50 * MEGABYTE).replacen("POST", "GET", 1);
    assert_eq!(edge.send(&get).await.status, 403);
}

#[tokio::test]
async fn bodies_beyond_the_room_for_them_are_answered_with_when_to_come_back() {
    let edge = LoopbackServer::new(true).await;
    let lines = format!("host: a\r\nauthorization: Bearer {}\r\n", edge.client.key);
    let text = format!("{{\"content\": \"{}", "x".repeat(MEGABYTE - 200));
    // Two clients each stop in the middle of a megabyte.
    let open_slow_clients = async || {
        let mut slow = Vec::new();
        for _ in 0..2 {
            let head = request_head("/v3/documents", &lines, MEGABYTE);
            let mut stream = edge.open_connection(&head).await;
            let sent = stream.write_all(text.as_bytes()).await;
            sent.expect("a socket that takes bytes");
            slow.push(stream);
        }
        slow
    };
    let refused = async {
        let mut pause = Duration::ZERO;
        loop {
            let slow = open_slow_clients().await;
            tokio::time::sleep(pause).await;
            let reply = edge
                .send(&post("/v3/documents", &lines, &format!("{text}\"}}")))
                .await;
            if reply.status == 503 {
                return (slow, reply);
            }
            // The server had not read all bytes of the slow clients yet, and may have refused them.
            pause += Duration::from_millis(20);
        }
    };
    let (slow, reply) = timeout(NEVER, refused).await.expect("a refusal");
    assert!(reply.head.contains("retry-after: "), "{}", reply.head);
    assert_eq!(reply.body["type"], "ServiceUnavailableError");
    assert!(
        !reply.body["requestId"]
            .as_str()
            .unwrap_or_default()
            .is_empty(),
        "{}",
        reply.body
    );
    assert_eq!(
        edge.send_listing(&edge.client.key, "").await.status,
        200,
        "a small body finds room"
    );

    drop(slow);
    let accepted = async {
        while edge
            .send(&post("/v3/documents", &lines, &format!("{text}\"}}")))
            .await
            .status
            != 200
        {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    timeout(NEVER, accepted).await.expect("room again");
}

#[tokio::test]
async fn a_file_larger_than_the_room_is_refused_and_stores_nothing() {
    let edge = LoopbackServer::new(true).await;
    let form = begin_upload(&edge.client, json!({"fileName": "a.txt"})).await;
    let fields = form["upload"]["fields"].as_object().expect("fields");
    let part = |name: &str, value: &str| {
        format!("--b\r\ncontent-disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n")
    };

    let mut body: String = fields
        .iter()
        .map(|(name, value)| part(name, value.as_str().expect("a text")))
        .collect();
    body += &part("file", &"x".repeat(3 * MEGABYTE));
    body += "--b--\r\n";
    let kind = "host: recollect.test\r\ncontent-type: multipart/form-data; boundary=b\r\n";
    let reply = edge.send(&post("/content", kind, &body)).await;
    assert_eq!(reply.status, 503);
    assert!(reply.head.contains("retry-after: "), "{}", reply.head);
    let document = edge
        .client
        .get_document(form["id"].as_str().expect("an id"))
        .await;
    assert_eq!(document["status"], "queued");
}
