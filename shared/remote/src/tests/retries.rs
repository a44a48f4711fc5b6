//! Tests of the failures that are retried, and those that are not.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::server::{PUBLIC, Server, build_answer, ok_answer, quick_limits};
use crate::{FetchErrorKind, Fetcher, Network, PageFetcher};

/// Starts a server that answers with each status in turn, and then with a page.
async fn statuses(statuses: &'static [&'static str]) -> Server {
    let request_count = AtomicUsize::new(0);
    Server::start(
        move |_| match statuses.get(request_count.fetch_add(1, Ordering::SeqCst)) {
            Some(status) => build_answer(status, "", b"secret of the server"),
            None => ok_answer("", b"page"),
        },
    )
    .await
}

#[tokio::test]
async fn passing_failures_are_tried_again_twice() {
    for failures in [
        ["503 Busy", "503 Busy"],
        ["500 Oops", "503 Busy"],
        ["502 Bad Gateway", "504 Late"],
        ["nonsense", "503 Busy"],
    ] {
        let server = statuses(failures.to_vec().leak()).await;
        assert_eq!(
            server
                .fetcher()
                .fetch_page("http://example.com/")
                .await
                .unwrap()
                .bytes,
            "page",
            "{failures:?}"
        );
        assert_eq!(server.connections(), 3);
    }
}

#[tokio::test]
async fn the_third_passing_failure_is_the_answer() {
    for (status, message) in [
        ("503 Busy", "The page answered 503."),
        ("500 Oops", "The page answered 500."),
    ] {
        let server =
            Server::start(move |_| build_answer(status, "", b"secret of the server")).await;
        let error = server
            .fetcher()
            .fetch_page("http://example.com/")
            .await
            .unwrap_err();
        assert_eq!(
            (error.kind, error.message.as_str()),
            (FetchErrorKind::Failed, message)
        );
        assert_eq!(server.connections(), 3, "{status}");
    }
}

#[tokio::test]
async fn other_refusals_are_final() {
    for status in ["400", "401", "403", "404", "410", "418", "429", "451"] {
        let server = Server::start(move |_| {
            build_answer(&format!("{status} No"), "", b"secret of the server")
        })
        .await;
        let error = server
            .fetcher()
            .fetch_page("http://example.com/")
            .await
            .unwrap_err();
        assert_eq!(
            (error.kind, error.message),
            (
                FetchErrorKind::Failed,
                format!("The page answered {status}.")
            )
        );
        assert_eq!(server.connections(), 1, "{status}");
    }
}

#[tokio::test]
async fn two_retries_are_all_over_every_redirect() {
    let request_count = AtomicUsize::new(0);
    let server = Server::start(move |request| {
        match (
            request.target(),
            request_count.fetch_add(1, Ordering::SeqCst),
        ) {
            ("/", 0) => build_answer("503 Busy", "", b""),
            ("/", _) => super::server::redirect_answer("/next"),
            _ => build_answer("503 Busy", "", b""),
        }
    })
    .await;
    let error = server
        .fetcher()
        .fetch_page("http://example.com/")
        .await
        .unwrap_err();

    assert_eq!(error.message, "The page answered 503.");
    assert_eq!(server.connections(), 4);
}

#[tokio::test]
async fn a_server_that_cannot_be_reached_is_dialed_three_times() {
    let dial_count = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&dial_count);
    let network = Network::simulated(
        |_| vec![PUBLIC],
        move |_, _| {
            counter.fetch_add(1, Ordering::SeqCst);
            None
        },
    );
    let error = Fetcher::with_limits(network, quick_limits())
        .fetch_page("http://example.com/")
        .await
        .unwrap_err();

    assert_eq!(error.kind, FetchErrorKind::Failed);
    assert_eq!(error.message, "The page's server cannot be reached.");
    assert_eq!(dial_count.load(Ordering::SeqCst), 3);
}

#[tokio::test]
async fn a_name_that_is_not_found_is_said_to_be_so() {
    let network = Network::simulated(|_| Vec::new(), |_, _| None);
    let error = Fetcher::with_limits(network, quick_limits())
        .fetch_page("http://example.com/")
        .await
        .unwrap_err();
    assert_eq!(error.kind, FetchErrorKind::Failed);
    assert_eq!(
        error.message,
        "The name of the page's server was not found."
    );
}

#[tokio::test]
async fn a_connection_that_closes_without_an_answer_is_tried_again() {
    let tries = AtomicUsize::new(0);
    let server = Server::start(move |_| match tries.fetch_add(1, Ordering::SeqCst) {
        0 => Vec::new(),
        1 => b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nbroken".to_vec(),
        _ => ok_answer("", b"page"),
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
