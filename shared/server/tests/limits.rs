//! Tests of the limits on clients of a server, with times of fractions of a second.

#![expect(clippy::unwrap_used, reason = "a helper that fails fails its test")]

use std::net::SocketAddr;
use std::time::Duration;

use bytes::Bytes;
use http::{Method, Request, Response, StatusCode};
use http_body_util::{BodyExt, Full};
use server::{MIN_PROGRESS_BYTES, RequestBody, ServerLimits, serve_http};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::timeout;

/// The time after which an event counts as never happening.
const NEVER_TIMEOUT: Duration = Duration::from_secs(20);
/// The time limit of everything in these tests.
const SHORT_TIMEOUT: Duration = Duration::from_millis(500);
/// The size of a body that fits into no buffer on the way.
const LARGE_BYTES: usize = 64 * 1024 * 1024;

fn short_limits() -> ServerLimits {
    ServerLimits {
        max_connections: 64,
        head_timeout: SHORT_TIMEOUT,
        body_progress_timeout: SHORT_TIMEOUT,
        response_timeout: SHORT_TIMEOUT,
        shutdown_grace: SHORT_TIMEOUT,
    }
}

/// A server, which ends when this is dropped.
struct Server {
    address: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    serving: JoinHandle<()>,
}

impl Server {
    async fn start(limits: ServerLimits) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (stop, stopped) = oneshot::channel::<()>();
        let shutdown = async move { drop(stopped.await) };
        let serving = tokio::spawn(serve_http(
            listener,
            limits,
            |_, request| answer_request(request),
            shutdown,
        ));

        Self {
            address,
            stop: Some(stop),
            serving,
        }
    }

    async fn connect(&self) -> TestClient {
        TestClient(TcpStream::connect(self.address).await.unwrap())
    }
}

/// Answers `POST /read` with the length of the body, `GET /large` with a large body and `GET
/// /never` not at all. Refuses everything else before the body is read.
async fn answer_request(request: Request<RequestBody>) -> Response<Full<Bytes>> {
    let text_response = |status: StatusCode, text: String| {
        let mut response = Response::new(Full::from(text));
        *response.status_mut() = status;
        response
    };
    match (request.method(), request.uri().path()) {
        (&Method::POST, "/read") => match request.into_body().collect().await {
            Ok(body) => text_response(StatusCode::OK, body.to_bytes().len().to_string()),
            Err(error) => text_response(StatusCode::BAD_REQUEST, error.to_string()),
        },
        (&Method::GET, "/large") => Response::new(Full::from(vec![b'x'; LARGE_BYTES])),
        (&Method::GET, "/never") => std::future::pending().await,
        _ => text_response(StatusCode::UNAUTHORIZED, "refused".to_owned()),
    }
}

struct TestClient(TcpStream);

impl TestClient {
    async fn send_text(&mut self, text: &str) {
        self.0.write_all(text.as_bytes()).await.unwrap();
    }

    /// Reads an answer with a length. Returns its head in lower case, and its body.
    async fn receive_answer(&mut self) -> (String, String) {
        let read_head = async {
            let mut head = Vec::new();
            while !head.ends_with(b"\r\n\r\n") {
                head.push(self.0.read_u8().await.unwrap());
            }

            let head = String::from_utf8(head).unwrap().to_lowercase();
            let length = head
                .split("content-length: ")
                .nth(1)
                .unwrap()
                .split("\r\n")
                .next()
                .unwrap();

            let mut body = vec![0; length.parse().unwrap()];
            self.0.read_exact(&mut body).await.unwrap();
            (head, String::from_utf8(body).unwrap())
        };

        timeout(NEVER_TIMEOUT, read_head).await.expect("an answer")
    }

    /// Waits until the server ends the connection. Returns what it sent before.
    async fn wait_for_end(&mut self) -> Vec<u8> {
        let mut rest = Vec::new();
        // A reset counts as an end.
        timeout(NEVER_TIMEOUT, self.0.read_to_end(&mut rest))
            .await
            .expect("the end of the connection")
            .ok();
        rest
    }
}

fn post_head(path: &str, length: usize) -> String {
    format!("POST {path} HTTP/1.1\r\nhost: a\r\ncontent-length: {length}\r\n\r\n")
}

#[tokio::test]
async fn a_connection_that_never_sends_a_head_is_ended() {
    let server = Server::start(short_limits()).await;
    for partial_head in ["", "GET", "GET / HTTP/1.1\r\nhost: a\r\n"] {
        let mut client = server.connect().await;
        client.send_text(partial_head).await;
        assert_eq!(client.wait_for_end().await, b"", "{partial_head:?}");
    }
}

#[tokio::test]
async fn a_head_that_comes_drop_by_drop_is_ended_in_time() {
    let server = Server::start(short_limits()).await;
    let mut client = server.connect().await;
    let dripping = async {
        client.send_text("GET / HTTP/1.1\r\nhost: a\r\n").await;
        while client.0.write_all(b"x-more: 1\r\n").await.is_ok() {
            tokio::time::sleep(SHORT_TIMEOUT / 10).await;
        }
    };
    timeout(NEVER_TIMEOUT, dripping)
        .await
        .expect("the end of the connection");
}

#[tokio::test]
async fn an_idle_connection_is_ended_and_a_used_one_is_kept() {
    let server = Server::start(short_limits()).await;
    let mut client = server.connect().await;
    for _ in 0..8 {
        client.send_text(&(post_head("/read", 4) + "body")).await;
        assert_eq!(client.receive_answer().await.1, "4");
        tokio::time::sleep(SHORT_TIMEOUT / 5).await;
    }
    assert_eq!(client.wait_for_end().await, b"");
}

#[tokio::test]
async fn a_body_that_stops_or_drips_is_given_up_with_an_answer() {
    let server = Server::start(short_limits()).await;
    for sends_bytes in [false, true] {
        let mut client = server.connect().await;
        client
            .send_text(&post_head("/read", MIN_PROGRESS_BYTES * 1000))
            .await;
        let (mut read, mut write) = client.0.into_split();

        let dripping = tokio::spawn(async move {
            while sends_bytes && write.write_all(b"x").await.is_ok() {
                tokio::time::sleep(SHORT_TIMEOUT / 10).await;
            }
            write
        });

        let mut answer = Vec::new();
        let reading = async {
            while !answer.ends_with(b"slowly") {
                assert!(read.read_buf(&mut answer).await.unwrap() > 0, "{answer:?}");
            }
        };
        timeout(NEVER_TIMEOUT, reading).await.expect("an answer");

        let answer = String::from_utf8(answer).unwrap();
        assert!(
            answer.starts_with("HTTP/1.1 400") && answer.contains("connection: close"),
            "{answer}"
        );

        dripping.abort();
    }
}

#[tokio::test]
async fn a_slow_body_that_makes_progress_is_read_whole() {
    let server = Server::start(short_limits()).await;
    let mut client = server.connect().await;
    client
        .send_text(&post_head("/read", MIN_PROGRESS_BYTES * 8))
        .await;
    for _ in 0..8 {
        tokio::time::sleep(SHORT_TIMEOUT / 5).await;
        client.send_text(&"x".repeat(MIN_PROGRESS_BYTES)).await;
    }
    assert_eq!(
        client.receive_answer().await.1,
        (MIN_PROGRESS_BYTES * 8).to_string()
    );
}

#[tokio::test]
async fn a_client_that_does_not_take_its_answer_is_given_up() {
    let server = Server::start(ServerLimits {
        max_connections: 1,
        ..short_limits()
    })
    .await;
    let mut idle_reader = server.connect().await;
    idle_reader
        .send_text("GET /large HTTP/1.1\r\nhost: a\r\n\r\n")
        .await;
    // The only place becomes free although the lazy client reads nothing.
    let mut next = server.connect().await;
    next.send_text(&(post_head("/read", 4) + "body")).await;
    assert_eq!(next.receive_answer().await.1, "4");
}

#[tokio::test]
async fn clients_beyond_the_cap_wait_for_their_turn() {
    let server = Server::start(ServerLimits {
        max_connections: 2,
        head_timeout: NEVER_TIMEOUT,
        ..short_limits()
    })
    .await;

    let (first, second) = (server.connect().await, server.connect().await);
    let mut third = server.connect().await;
    third.send_text(&(post_head("/read", 4) + "body")).await;

    let mut byte = [0];
    assert!(
        timeout(SHORT_TIMEOUT, third.0.read(&mut byte))
            .await
            .is_err(),
        "two are served at a time"
    );

    drop(first);
    assert_eq!(third.receive_answer().await.1, "4");
    drop(second);
}

#[tokio::test]
async fn half_open_connections_beyond_the_cap_keep_nobody_out_for_long() {
    let server = Server::start(ServerLimits {
        max_connections: 8,
        ..short_limits()
    })
    .await;
    let mut silent_clients = Vec::new();
    for _ in 0..32 {
        silent_clients.push(server.connect().await);
    }
    let mut client = server.connect().await;
    client.send_text(&(post_head("/read", 4) + "body")).await;
    assert_eq!(client.receive_answer().await.1, "4");
}

#[tokio::test]
async fn a_refusal_comes_before_the_body_and_says_that_it_is_the_last_answer() {
    let server = Server::start(ServerLimits {
        head_timeout: NEVER_TIMEOUT,
        body_progress_timeout: NEVER_TIMEOUT,
        ..short_limits()
    })
    .await;

    let mut client = server.connect().await;
    client.send_text(&post_head("/refuse", LARGE_BYTES)).await;
    let (head, body) = client.receive_answer().await;

    assert!(
        head.starts_with("http/1.1 401") && head.contains("connection: close"),
        "{head}"
    );
    assert_eq!(body, "refused");
    assert_eq!(client.wait_for_end().await, b"");
}

#[tokio::test]
async fn a_client_that_sends_all_of_a_large_body_first_still_reads_the_refusal() {
    let server = Server::start(ServerLimits {
        head_timeout: NEVER_TIMEOUT,
        body_progress_timeout: NEVER_TIMEOUT,
        ..short_limits()
    })
    .await;
    let mut client = server.connect().await;
    client
        .send_text(&post_head("/refuse", LARGE_BYTES / 8))
        .await;
    client.send_text(&"x".repeat(LARGE_BYTES / 8)).await;
    assert_eq!(client.receive_answer().await.1, "refused");
}

#[tokio::test]
async fn a_refusal_of_a_small_body_keeps_the_connection() {
    let server = Server::start(ServerLimits {
        head_timeout: NEVER_TIMEOUT,
        body_progress_timeout: NEVER_TIMEOUT,
        ..short_limits()
    })
    .await;
    let mut client = server.connect().await;
    for _ in 0..3 {
        client.send_text(&(post_head("/refuse", 4) + "body")).await;
        let (head, _) = client.receive_answer().await;
        assert!(
            head.starts_with("http/1.1 401") && !head.contains("connection: close"),
            "{head}"
        );
    }

    client
        .send_text(
            "POST /refuse HTTP/1.1\r\nhost: a\r\nexpect: 100-continue\r\ncontent-length: 4\r\n\r\n",
        )
        .await;
    let (head, _) = client.receive_answer().await;
    assert!(
        head.starts_with("http/1.1 401") && head.contains("connection: close"),
        "{head}"
    );
}

#[tokio::test]
async fn a_body_with_two_lengths_is_refused() {
    let server = Server::start(ServerLimits {
        head_timeout: NEVER_TIMEOUT,
        body_progress_timeout: NEVER_TIMEOUT,
        ..short_limits()
    })
    .await;
    let fields = ["content-length: 4\r\n", "transfer-encoding: chunked\r\n"];

    for (one, other) in [(fields[0], fields[1]), (fields[1], fields[0])] {
        let mut client = server.connect().await;
        client.send_text(&(post_head("/read", 4) + "body")).await;
        client.receive_answer().await;
        let smuggled = "GET /smuggled HTTP/1.1\r\nhost: a\r\n\r\n";
        client
            .send_text(&format!(
                "POST /read HTTP/1.1\r\nhost: a\r\n{one}{other}\r\n0\r\n\r\n{smuggled}"
            ))
            .await;
        let (head, body) = client.receive_answer().await;
        assert!(
            head.starts_with("http/1.1 400") && head.contains("connection: close"),
            "{head}"
        );
        assert!(body.contains("not both"), "{body}");
        assert_eq!(
            client.wait_for_end().await,
            b"",
            "what follows is no request"
        );
    }
}

#[tokio::test]
async fn an_upgrade_is_not_taken() {
    let server = Server::start(short_limits()).await;
    let mut client = server.connect().await;

    let upgrade =
        "connection: upgrade, http2-settings\r\nupgrade: h2c\r\nhttp2-settings: AAMAAABk\r\n";
    client
        .send_text(&format!(
            "POST /read HTTP/1.1\r\nhost: a\r\n{upgrade}content-length: 4\r\n\r\nbody"
        ))
        .await;

    let (head, body) = client.receive_answer().await;
    assert!(
        head.starts_with("http/1.1 200") && !head.contains("upgrade"),
        "{head}"
    );
    assert_eq!(body, "4");

    let mut client = server.connect().await;
    client.send_text("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").await;
    let answer = client.wait_for_end().await;
    assert!(
        answer.is_empty() || answer.starts_with(b"HTTP/1.1 400"),
        "{answer:?}"
    );
}

#[tokio::test]
async fn a_head_too_large_is_refused() {
    let server = Server::start(short_limits()).await;
    let mut client = server.connect().await;
    client
        .0
        .write_all(format!("GET /{} HTTP/1.1\r\n", "x".repeat(100 * 1024)).as_bytes())
        .await
        .ok();
    let answer = String::from_utf8(client.wait_for_end().await).unwrap();
    assert!(
        answer.is_empty() || answer.starts_with("HTTP/1.1 4"),
        "{answer}"
    );
}

#[tokio::test]
async fn a_shutdown_ends_idle_connections_and_waits_for_requests_for_a_while() {
    let mut server = Server::start(ServerLimits {
        head_timeout: NEVER_TIMEOUT,
        ..short_limits()
    })
    .await;

    let (mut idle, mut busy) = (server.connect().await, server.connect().await);
    idle.send_text(&(post_head("/read", 4) + "body")).await;
    idle.receive_answer().await;

    busy.send_text("GET /never HTTP/1.1\r\nhost: a\r\n\r\n")
        .await;
    server.stop.take();

    assert_eq!(idle.wait_for_end().await, b"");
    timeout(NEVER_TIMEOUT, &mut server.serving)
        .await
        .expect("the end of the server")
        .unwrap();
}
