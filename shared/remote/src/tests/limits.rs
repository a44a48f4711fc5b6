//! Tests of endless bodies, slow bodies, huge heads and wrong lengths.

use std::time::{Duration, Instant};

use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::time::sleep;

use super::server::{
    PUBLIC, Server, build_answer, ok_answer, quick_limits, receive_request, write_last_bytes,
};
use crate::fetch::FetchLimits;
use crate::{FetchErrorKind, Fetcher, PageFetcher};

const HEAD: &[u8] = b"HTTP/1.1 200 OK\r\n\r\n";
const CHUNKED: &[u8] = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";

/// Writes `head`, and then `piece` with pauses for as long as the client listens.
async fn endless(mut stream: TcpStream, head: &[u8], piece: &[u8], pause: Duration) {
    if receive_request(&mut stream).await.is_none() || stream.write_all(head).await.is_err() {
        return;
    }
    while stream.write_all(piece).await.is_ok() {
        sleep(pause).await;
    }
}

fn impatient(server: &Server) -> Fetcher {
    let limits = FetchLimits {
        total_timeout: Duration::from_millis(600),
        first_byte_timeout: Duration::from_millis(200),
        max_retries: 0,
        ..quick_limits()
    };
    Fetcher::with_limits(server.network(|_| vec![PUBLIC]), limits)
}

#[tokio::test]
async fn a_body_may_have_10_mib_and_not_one_byte_more() {
    let largest = vec![b'x'; 10 << 20];
    for extra in [0, 1] {
        let body = [largest.as_slice(), &b"x"[..extra]].concat();
        let announced = body.clone();
        let with_length = Server::start(move |_| ok_answer("", &announced)).await;
        let until_close = Server::start(move |_| [HEAD, body.as_slice()].concat()).await;
        for server in [with_length, until_close] {
            let outcome = server.fetcher().fetch_page("http://example.com/").await;
            match extra {
                0 => assert_eq!(outcome.unwrap().bytes.len(), 10 << 20),
                _ => {
                    let error = outcome.unwrap_err();
                    assert_eq!(error.kind, FetchErrorKind::TooLarge);
                    assert_eq!(error.message, "The page has more than 10 MiB.");
                }
            }
        }
    }
}

#[tokio::test]
async fn a_body_that_announces_too_much_is_not_read() {
    let server =
        Server::start(|_| b"HTTP/1.1 200 OK\r\nContent-Length: 10485761\r\n\r\nx".to_vec()).await;
    let error = server
        .fetcher()
        .fetch_page("http://example.com/")
        .await
        .unwrap_err();
    assert_eq!(error.kind, FetchErrorKind::TooLarge);
}

#[tokio::test]
async fn a_body_without_end_is_too_large() {
    let block = vec![b'x'; 1 << 16];
    let chunk = [b"10000\r\n".as_slice(), &block, b"\r\n"].concat();

    for (head, piece) in [(HEAD, block), (CHUNKED, chunk)] {
        let server = Server::start_raw(move |stream| {
            let piece = piece.clone();
            async move { endless(stream, head, &piece, Duration::ZERO).await }
        })
        .await;
        let error = server
            .fetcher()
            .fetch_page("http://example.com/")
            .await
            .unwrap_err();
        assert_eq!(error.kind, FetchErrorKind::TooLarge);
        assert_eq!(server.connections(), 1);
    }
}

#[tokio::test]
async fn a_body_that_trickles_ends_with_the_time_for_the_whole_page() {
    let server =
        Server::start_raw(|stream| endless(stream, HEAD, b"x", Duration::from_millis(20))).await;
    let start = Instant::now();
    let error = impatient(&server)
        .fetch_page("http://example.com/")
        .await
        .unwrap_err();
    assert_eq!(
        (error.kind, error.message.as_str()),
        (FetchErrorKind::Failed, "The page did not answer in time.")
    );
    assert!(start.elapsed() >= Duration::from_millis(600));
}

#[tokio::test]
async fn a_head_that_trickles_or_never_comes_ends_with_the_time_for_the_first_byte() {
    let trickling_server = Server::start_raw(|stream| {
        endless(
            stream,
            b"HTTP/1.1 200 OK\r\n",
            b"a",
            Duration::from_millis(20),
        )
    })
    .await;
    let informing = Server::start_raw(|stream| {
        endless(
            stream,
            b"",
            b"HTTP/1.1 103 Early\r\n\r\n",
            Duration::from_millis(20),
        )
    })
    .await;
    let silent_server =
        Server::start_raw(|stream| endless(stream, b"", b"", Duration::from_millis(20))).await;

    for server in [trickling_server, informing, silent_server] {
        let start = Instant::now();
        let error = impatient(&server)
            .fetch_page("http://example.com/")
            .await
            .unwrap_err();
        assert_eq!(error.message, "The page did not answer in time.");
        assert!(
            start.elapsed() < Duration::from_millis(600),
            "the time for the whole page was used up"
        );
    }
}

#[tokio::test]
async fn the_time_for_the_whole_page_counts_over_retries_and_redirects() {
    let server = Server::start_raw(|mut stream| async move {
        if receive_request(&mut stream).await.is_some() {
            sleep(Duration::from_millis(100)).await;
            write_last_bytes(
                &mut stream,
                &build_answer("302 Found", "Location: /\r\n", b""),
            )
            .await;
        }
    })
    .await;
    let limits = FetchLimits {
        total_timeout: Duration::from_millis(250),
        ..quick_limits()
    };

    let fetcher = Fetcher::with_limits(server.network(|_| vec![PUBLIC]), limits);
    let error = fetcher.fetch_page("http://example.com/").await.unwrap_err();
    assert_eq!(error.message, "The page did not answer in time.");
    assert!((2..=3).contains(&server.connections()));
}

#[tokio::test]
async fn a_huge_head_is_no_answer() {
    let long_field = format!("X-Long: {}\r\n", "x".repeat(200 << 10));
    let many_fields: String = (0..200).map(|n| format!("X-{n}: x\r\n")).collect();
    for headers in [long_field, many_fields] {
        let server = Server::start(move |_| ok_answer(&headers, b"body")).await;
        let error = server
            .fetcher()
            .fetch_page("http://example.com/")
            .await
            .unwrap_err();
        assert_eq!(error.message, "The page's server gave no valid answer.");
    }

    let block = "X-Y: z\r\n".repeat(8 << 10);
    let without_end = Server::start_raw(move |stream| {
        let block = block.clone();
        async move {
            endless(
                stream,
                b"HTTP/1.1 200 OK\r\n",
                block.as_bytes(),
                Duration::ZERO,
            )
            .await
        }
    })
    .await;
    let error = without_end
        .fetcher()
        .fetch_page("http://example.com/")
        .await
        .unwrap_err();
    assert_eq!(error.message, "The page's server gave no valid answer.");
}

#[tokio::test]
async fn a_body_shorter_than_announced_broke_off() {
    let truncated = b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nonly this".to_vec();
    let unfinished = [CHUNKED, b"9\r\nonly this\r\n"].concat();

    for bytes in [truncated, unfinished] {
        let server = Server::start(move |_| bytes.clone()).await;
        let error = server
            .fetcher()
            .fetch_page("http://example.com/")
            .await
            .unwrap_err();
        assert_eq!(
            (error.kind, error.message.as_str()),
            (FetchErrorKind::Failed, "The page broke off.")
        );
    }
}

#[tokio::test]
async fn bytes_behind_the_announced_length_are_not_part_of_the_page() {
    let server = Server::start(|_| {
        b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\npageHTTP/1.1 200 OK\r\n".to_vec()
    })
    .await;
    assert_eq!(
        server
            .fetcher()
            .fetch_page("http://example.com/")
            .await
            .unwrap()
            .bytes,
        "page"
    );
}

#[tokio::test]
async fn lengths_that_contradict_each_other_are_no_answer() {
    for lengths in [
        "Content-Length: 4\r\nContent-Length: 5\r\n",
        "Content-Length: -4\r\n",
        "Content-Length: 4x\r\n",
    ] {
        let bytes = format!("HTTP/1.1 200 OK\r\n{lengths}\r\npage!");
        let server = Server::start(move |_| bytes.clone().into_bytes()).await;
        let error = server
            .fetcher()
            .fetch_page("http://example.com/")
            .await
            .unwrap_err();
        assert_eq!(error.kind, FetchErrorKind::Failed, "{lengths}");
    }
}
