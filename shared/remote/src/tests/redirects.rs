//! Tests of redirects: every hop passes the whole guard again.

use super::server::{Server, build_answer, ok_answer, redirect_answer};
use crate::{FetchErrorKind, PageFetcher};

#[tokio::test]
async fn a_redirect_into_a_private_network_is_not_followed() {
    for location in [
        "http://127.0.0.1/",
        "http://2130706433/",
        "//169.254.169.254/latest/meta-data/",
        "https://[::1]/",
        "http://[::ffff:10.0.0.1]/",
        "http://localhost/",
        "http://metadata.google.internal/",
        "\\\\127.0.0.1\\x",
        "http:\\\\0x7f.1/",
        "http://①②⑦.0.0.1/",
        "http://example.com:22/",
        "//example.com:6379/",
        "ftp://example.com/",
        "file:///etc/passwd",
        "gopher://example.com:80/_x",
        "data:text/html,hello",
        "javascript:alert(1)",
        "http://user:hunter2@example.com/",
        "//user@example.com/",
        "http://",
        "http://[::1/",
    ] {
        let server = Server::start(move |_| redirect_answer(location)).await;
        let error = server
            .fetcher()
            .fetch_page("http://example.com/")
            .await
            .expect_err(location);
        assert_eq!(error.kind, FetchErrorKind::Blocked, "{location}");
        assert_eq!(server.connections(), 1, "{location}");
        assert!(
            !error.message.contains("127") && !error.message.contains("hunter2"),
            "{}",
            error.message
        );
    }
}

#[tokio::test]
async fn a_redirect_that_is_no_text_is_not_followed() {
    let server = Server::start(|_| {
        b"HTTP/1.1 301 Moved\r\nLocation: /\xff\xfe\r\nContent-Length: 0\r\n\r\n".to_vec()
    })
    .await;
    let error = server
        .fetcher()
        .fetch_page("http://example.com/")
        .await
        .unwrap_err();
    assert_eq!(error.kind, FetchErrorKind::Blocked);
    assert_eq!(server.connections(), 1);
}

#[tokio::test]
async fn a_private_hop_after_public_ones_is_not_followed() {
    let server = Server::start(|request| match request.target() {
        "/1" => redirect_answer("/2"),
        "/2" => redirect_answer("http://other.example.com/3"),
        _ => redirect_answer("http://192.168.1.1/"),
    })
    .await;
    let error = server
        .fetcher()
        .fetch_page("http://example.com/1")
        .await
        .unwrap_err();
    assert_eq!(error.kind, FetchErrorKind::Blocked);
    assert_eq!(server.connections(), 3);
}

#[tokio::test]
async fn each_status_of_a_redirect_leads_to_relative_and_foreign_places() {
    for status in [
        "301 Moved",
        "302 Found",
        "303 See Other",
        "307 Temporary",
        "308 Permanent",
    ] {
        for (location, last) in [
            ("b", "http://example.com/a/b"),
            ("../c?d", "http://example.com/c?d"),
            ("/e", "http://example.com/e"),
            ("?f", "http://example.com/a/?f"),
            ("//other.example.com/g", "http://other.example.com/g"),
            (
                "http://bücher.example/ü",
                "http://xn--bcher-kva.example/%C3%BC",
            ),
            ("http://93.184.215.14/h#i", "http://93.184.215.14/h"),
        ] {
            let server = Server::start(move |request| match request.target() {
                "/a/" => build_answer(status, &format!("Location: {location}\r\n"), b"moved"),
                _ => ok_answer("", b"page"),
            })
            .await;
            let page = server
                .fetcher()
                .fetch_page("http://example.com/a/")
                .await
                .unwrap();
            assert_eq!(
                (page.bytes.as_ref(), page.url.as_str()),
                (b"page".as_slice(), last),
                "{status} {location}"
            );
        }
    }
}

fn next(target: &str) -> String {
    format!(
        "/{}",
        target.trim_start_matches('/').parse::<usize>().unwrap() + 1
    )
}

#[tokio::test]
async fn five_redirects_are_followed_and_the_sixth_is_not() {
    let five = Server::start(|request| match request.target() {
        "/5" => ok_answer("", b"page"),
        other => redirect_answer(&next(other)),
    })
    .await;

    assert_eq!(
        five.fetcher()
            .fetch_page("http://example.com/0")
            .await
            .unwrap()
            .url,
        "http://example.com/5"
    );

    let endless = Server::start(|request| redirect_answer(&next(request.target()))).await;
    let error = endless
        .fetcher()
        .fetch_page("http://example.com/0")
        .await
        .unwrap_err();

    assert_eq!(error.kind, FetchErrorKind::Failed);
    assert_eq!(error.message, "The page redirects more than 5 times.");
    assert_eq!(endless.connections(), 6);
}

#[tokio::test]
async fn a_loop_of_redirects_ends() {
    let server = Server::start(|_| redirect_answer("http://example.com/")).await;
    let error = server
        .fetcher()
        .fetch_page("http://example.com/")
        .await
        .unwrap_err();
    assert_eq!(error.message, "The page redirects more than 5 times.");
    assert_eq!(server.connections(), 6);
}

#[tokio::test]
async fn a_redirect_without_a_place_and_other_statuses_of_300_are_no_page() {
    for status in [300, 301, 304, 305, 399] {
        let server = Server::start(move |_| build_answer(&format!("{status} x"), "", b"")).await;
        let error = server
            .fetcher()
            .fetch_page("http://example.com/")
            .await
            .unwrap_err();
        assert_eq!(error.message, format!("The page answered {status}."));
    }
}
