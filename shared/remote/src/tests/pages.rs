//! Tests of fetched pages, and of what a server learns about the client.

use std::sync::{Arc, Mutex};

use super::server::{PUBLIC, Server, ok_answer, quick_limits};
use crate::{Fetcher, Network, PageFetcher};

#[tokio::test]
async fn public_addresses_pass_the_guard_in_every_spelling() {
    let server =
        Server::start(|request| ok_answer("", request.header("host").unwrap().as_bytes())).await;
    for (url, host, last) in [
        ("http://example.com", "example.com", "http://example.com/"),
        (
            "http://example.com:80/",
            "example.com",
            "http://example.com/",
        ),
        (
            "http://example.com:443/",
            "example.com:443",
            "http://example.com:443/",
        ),
        (
            "HTTP://EXAMPLE.COM/A?b#c",
            "example.com",
            "http://example.com/A?b",
        ),
        (
            "http://example.com./",
            "example.com",
            "http://example.com./",
        ),
        (
            "http://a.b.c.d.example.co.uk/",
            "a.b.c.d.example.co.uk",
            "http://a.b.c.d.example.co.uk/",
        ),
        (
            "http://under_score.example.com/",
            "under_score.example.com",
            "http://under_score.example.com/",
        ),
        (
            "http://localhost.example.com/",
            "localhost.example.com",
            "http://localhost.example.com/",
        ),
        ("http://mylocal.com/", "mylocal.com", "http://mylocal.com/"),
        (
            "http://internal.com/",
            "internal.com",
            "http://internal.com/",
        ),
        (
            "http://notlocalhost.dev/",
            "notlocalhost.dev",
            "http://notlocalhost.dev/",
        ),
        (
            "http://example.notlocal/",
            "example.notlocal",
            "http://example.notlocal/",
        ),
        (
            "http://bücher.example/ä",
            "xn--bcher-kva.example",
            "http://xn--bcher-kva.example/%C3%A4",
        ),
        (
            "http://例え.jp/",
            "xn--r8jz45g.jp",
            "http://xn--r8jz45g.jp/",
        ),
        (
            "http://ｅｘａｍｐｌｅ.com/",
            "example.com",
            "http://example.com/",
        ),
        (
            "http://93.184.215.14/",
            "93.184.215.14",
            "http://93.184.215.14/",
        ),
        (
            "http://0x5d.184.55054/",
            "93.184.215.14",
            "http://93.184.215.14/",
        ),
        (
            "http://1572394766/",
            "93.184.215.14",
            "http://93.184.215.14/",
        ),
        ("http://8.8.8.8/", "8.8.8.8", "http://8.8.8.8/"),
        (
            "http://[2606:2800:220:1::1]/",
            "[2606:2800:220:1::1]",
            "http://[2606:2800:220:1::1]/",
        ),
        (
            "http://example.com/http://127.0.0.1/",
            "example.com",
            "http://example.com/http://127.0.0.1/",
        ),
        (
            "http://example.com/?u=http://me@10.0.0.1",
            "example.com",
            "http://example.com/?u=http://me@10.0.0.1",
        ),
    ] {
        let page = server
            .fetcher()
            .fetch_page(url)
            .await
            .unwrap_or_else(|error| panic!("{url}: {error}"));
        assert_eq!(
            (page.bytes.as_ref(), page.url.as_str()),
            (host.as_bytes(), last),
            "{url}"
        );
    }
}

#[tokio::test]
async fn a_page_comes_with_its_bytes_and_its_whole_media_type() {
    let server = Server::start(|_| {
        ok_answer(
            "Content-Type: text/html; charset=ISO-8859-1\r\n",
            b"<p>caf\xe9",
        )
    })
    .await;
    let page = server
        .fetcher()
        .fetch_page("http://example.com/")
        .await
        .unwrap();

    assert_eq!(page.bytes.as_ref(), b"<p>caf\xe9");
    assert_eq!(
        page.media_type.as_deref(),
        Some("text/html; charset=ISO-8859-1")
    );

    let untyped = Server::start(|_| ok_answer("", b"x")).await;
    assert_eq!(
        untyped
            .fetcher()
            .fetch_page("http://example.com/")
            .await
            .unwrap()
            .media_type,
        None
    );
}

#[tokio::test]
async fn the_resolver_is_asked_for_the_plain_name() {
    let server = Server::start(|_| ok_answer("", b"")).await;
    let requested_names = Arc::new(Mutex::new(Vec::new()));
    let (log, address) = (Arc::clone(&requested_names), server.address);
    let network = Network::simulated(
        move |name| {
            log.lock().unwrap().push(name.to_owned());
            vec![PUBLIC]
        },
        move |_, _| Some(address),
    );
    Fetcher::with_limits(network, quick_limits())
        .fetch_page("http://Bücher.Example./")
        .await
        .unwrap();

    assert_eq!(*requested_names.lock().unwrap(), ["xn--bcher-kva.example"]);
}

#[tokio::test]
async fn a_request_says_who_asks_and_carries_nothing_else() {
    let server = Server::start(|request| match request.target() {
        "/" => super::server::build_answer(
            "302 Found",
            "Location: http://other.example.com/b?c=d e#f\r\nSet-Cookie: a=b\r\n",
            b"",
        ),
        _ => ok_answer("", b"page"),
    })
    .await;
    server
        .fetcher()
        .fetch_page("http://example.com/#part")
        .await
        .unwrap();
    let requests = server.received();
    assert_eq!(
        requests[1].head.lines().next(),
        Some("GET /b?c=d%20e HTTP/1.1")
    );

    for request in requests {
        assert_eq!(
            request.header("user-agent"),
            Some(concat!("Recollect/", env!("CARGO_PKG_VERSION")))
        );
        let mut names: Vec<_> = request
            .head
            .lines()
            .skip(1)
            .filter_map(|line| line.split_once(':'))
            .map(|(name, _)| name)
            .collect();
        names.sort_unstable();
        assert_eq!(
            names,
            [
                "accept",
                "accept-encoding",
                "connection",
                "host",
                "user-agent"
            ]
        );
        assert!(request.body.is_empty());
    }
}

#[tokio::test]
async fn every_printable_character_can_stand_in_an_address() {
    let server = Server::start(|_| ok_answer("", b"page")).await;
    let printable: String = (' '..='~').filter(|c| !"?#".contains(*c)).collect();
    for url in [
        format!("http://example.com/{printable}x"),
        format!("http://example.com/?{printable}x"),
    ] {
        assert_eq!(
            server.fetcher().fetch_page(&url).await.unwrap().bytes,
            "page",
            "{url}"
        );
    }
}

#[tokio::test]
async fn an_address_without_end_is_refused() {
    let server = Server::start(|_| ok_answer("", b"page")).await;
    let url = format!("http://example.com/{}", "x".repeat(100_000));
    assert_eq!(
        server.fetcher().fetch_page(&url).await.unwrap_err().message,
        "The address cannot be requested."
    );
}

#[tokio::test]
async fn one_fetcher_serves_many_at_once() {
    let server = Server::start(|request| ok_answer("", request.target().as_bytes())).await;
    let mut fetches = tokio::task::JoinSet::new();
    for n in 0..50 {
        let fetcher = server.fetcher();
        fetches.spawn(async move {
            let page = fetcher
                .fetch_page(&format!("http://example.com/{n}"))
                .await
                .unwrap();
            assert_eq!(page.bytes, format!("/{n}"));
        });
    }

    assert_eq!(fetches.join_all().await.len(), 50);
    assert_eq!(server.connections(), 50);
}
