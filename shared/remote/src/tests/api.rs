//! Tests of the client of an API: headers, reuse of connections, compression and limits.

use std::io::Write;
use std::time::Duration;

use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use http::Request;
use tokio::io::AsyncWriteExt;

use super::server::{Server, build_answer, ok_answer, receive_request, redirect_answer};
use crate::{ApiAnswer, ApiClient, ApiError};

const LIMIT: Duration = Duration::from_secs(10);

async fn get(client: &ApiClient, server: &Server) -> Result<ApiAnswer, ApiError> {
    let request = Request::get(format!("http://{}/files?x=%20", server.address))
        .body(Bytes::new())
        .unwrap();
    client.send(request, LIMIT).await
}

async fn fetch(server: &Server, limit: usize) -> Result<Option<Bytes>, ApiError> {
    let client = ApiClient::new("tester");
    get(&client, server).await?.read_body(limit).await
}

fn gzip(content: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(content).unwrap();
    encoder.finish().unwrap()
}

fn gzip_answer(body: &[u8]) -> Vec<u8> {
    ok_answer("Content-Encoding: gzip\r\n", body)
}

#[tokio::test]
async fn a_request_has_the_headers_of_its_caller_and_the_name_of_the_client() {
    let server = Server::start(|_| ok_answer("", b"{}")).await;
    let client = ApiClient::new("tester");
    let request = Request::post(format!("http://{}/a", server.address))
        .header("x-own", "1")
        .body(Bytes::from_static(b"body"))
        .unwrap();
    let answer = client.send(request, LIMIT).await.unwrap();
    assert_eq!(answer.status(), 200);
    assert_eq!(answer.headers()["content-length"], "2");

    let received = &server.received()[0];
    assert_eq!(received.body, b"body");
    for (name, value) in [
        ("user-agent", "tester"),
        ("accept", "*/*"),
        ("accept-encoding", "gzip"),
        ("x-own", "1"),
        ("content-length", "4"),
    ] {
        assert_eq!(received.header(name), Some(value), "{name}");
    }
}

#[tokio::test]
async fn a_second_request_uses_the_connection_of_the_first() {
    let server = Server::start_raw(|mut stream| async move {
        while receive_request(&mut stream).await.is_some() {
            let answer = ok_answer("", b"again");
            if stream.write_all(&answer).await.is_err() {
                return;
            }
        }
    })
    .await;

    let client = ApiClient::new("tester");
    for _ in 0..3 {
        let answer = get(&client, &server).await.unwrap();
        assert_eq!(answer.read_body(5).await.unwrap().unwrap(), "again");
    }
    assert_eq!(server.connections(), 1);
}

#[tokio::test]
async fn a_redirect_is_an_answer() {
    let server = Server::start(|_| redirect_answer("/elsewhere")).await;
    let answer = get(&ApiClient::new("tester"), &server).await.unwrap();
    assert_eq!(answer.status(), 302);
    assert_eq!(server.received().len(), 1);
}

#[tokio::test]
async fn the_limit_is_the_size_of_the_decompressed_content() {
    let zeros = vec![0; 100_000];
    // The bytes of a hash chain do not compress.
    let noise: Vec<u8> = (0_u32..100_000)
        .map(|n| (n.wrapping_mul(2_654_435_761).rotate_left(n % 31) >> 13) as u8)
        .collect();
    for content in [zeros, noise] {
        let plain = content.clone();
        let plain_server = Server::start(move |_| ok_answer("", &plain)).await;
        let compressed = gzip(&content);
        let gzip_server = Server::start(move |_| gzip_answer(&compressed)).await;

        for server in [plain_server, gzip_server] {
            let whole = fetch(&server, content.len()).await.unwrap();
            assert_eq!(whole.unwrap(), content);
            assert_eq!(fetch(&server, content.len() - 1).await.unwrap(), None);
        }
    }
}

#[tokio::test]
async fn a_body_that_cannot_be_read_is_an_error() {
    let broken = Server::start(|_| b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nx".to_vec()).await;
    assert!(matches!(
        fetch(&broken, 100).await,
        Err(ApiError::Interrupted)
    ));

    let damaged = Server::start(|_| gzip_answer(b"no gzip")).await;
    assert!(matches!(
        fetch(&damaged, 100).await,
        Err(ApiError::Compression)
    ));

    let closing = Server::start(|_| Vec::new()).await;
    let error = fetch(&closing, 100).await.unwrap_err();
    assert!(matches!(error, ApiError::Request(_)));
    assert!(!format!("{error} {error:?}").contains("files"));

    let plain = Server::start_plain(b"HTTP/1.1 200 OK\r\n\r\n{}").await;
    let request = Request::get(format!("https://{}/files", plain.address))
        .body(Bytes::new())
        .unwrap();
    let result = ApiClient::new("tester").send(request, LIMIT).await;
    assert!(matches!(result, Err(ApiError::Request(_))));
}

#[tokio::test]
async fn the_time_limit_covers_the_head_and_the_body() {
    for head in [&b""[..], b"HTTP/1.1 200 OK\r\n\r\n"] {
        let server = Server::start_raw(move |mut stream| async move {
            receive_request(&mut stream).await;
            let _ = stream.write_all(head).await;
            std::future::pending::<()>().await;
        })
        .await;
        let request = Request::get(format!("http://{}/", server.address))
            .body(Bytes::new())
            .unwrap();
        let client = ApiClient::new("tester");
        let answer = client.send(request, Duration::from_millis(100)).await;
        let error = match answer {
            Ok(answer) => answer.read_body(10).await.unwrap_err(),
            Err(error) => error,
        };
        assert!(matches!(error, ApiError::TimedOut));
    }
}

#[tokio::test]
async fn an_empty_body_needs_no_decompression() {
    let server =
        Server::start(|_| build_answer("204 No Content", "Content-Encoding: gzip\r\n", b"")).await;
    assert!(fetch(&server, 0).await.unwrap().unwrap().is_empty());
}
