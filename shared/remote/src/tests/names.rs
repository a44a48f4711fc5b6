//! Tests of public addresses, to the last address of each range, and of resolvers whose answers
//! change.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::server::{PUBLIC, Server, build_answer, ok_answer, quick_limits, redirect_answer};
use crate::guard::vet_addresses;
use crate::{FetchErrorKind, Fetcher, PageFetcher};

const LOOPBACK: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

#[test]
fn addresses_next_to_the_special_ranges_are_public() {
    for address in [
        "1.0.0.0",
        "9.255.255.255",
        "11.0.0.0",
        "100.63.255.255",
        "100.128.0.0",
        "126.255.255.255",
        "128.0.0.0",
        "168.63.129.15",
        "168.63.129.17",
        "169.253.255.255",
        "169.255.0.0",
        "172.15.255.255",
        "172.32.0.0",
        "191.255.255.255",
        "192.0.1.0",
        "192.0.3.0",
        "192.167.255.255",
        "192.169.0.0",
        "198.17.255.255",
        "198.20.0.0",
        "203.0.112.255",
        "203.0.114.0",
        "223.255.255.255",
        "2001:200::1",
        "2001:4860:4860::8888",
        "2003::1",
        "2606:2800:220:1:248:1893:25c8:1946",
        "2a00:1450:4001:81b::200e",
        "3fff:1000::1",
    ] {
        assert!(
            vet_addresses(&[address.parse().unwrap()], 443).is_ok(),
            "{address}"
        );
    }
}

#[test]
fn the_first_and_last_address_of_each_special_range_are_not_public() {
    for (first, last) in [
        ("0.0.0.0", "0.255.255.255"),
        ("10.0.0.0", "10.255.255.255"),
        ("100.64.0.0", "100.127.255.255"),
        ("127.0.0.0", "127.255.255.255"),
        ("168.63.129.16", "168.63.129.16"),
        ("169.254.0.0", "169.254.255.255"),
        ("172.16.0.0", "172.31.255.255"),
        ("192.0.0.0", "192.0.0.255"),
        ("192.0.2.0", "192.0.2.255"),
        ("192.88.99.0", "192.88.99.255"),
        ("192.168.0.0", "192.168.255.255"),
        ("198.18.0.0", "198.19.255.255"),
        ("198.51.100.0", "198.51.100.255"),
        ("203.0.113.0", "203.0.113.255"),
        ("224.0.0.0", "255.255.255.255"),
        ("::", "1fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"),
        ("2001::", "2001:1ff:ffff:ffff:ffff:ffff:ffff:ffff"),
        ("2001:db8::", "2001:db8:ffff:ffff:ffff:ffff:ffff:ffff"),
        ("2002::", "2002:ffff:ffff:ffff:ffff:ffff:ffff:ffff"),
        ("3fff::", "3fff:fff:ffff:ffff:ffff:ffff:ffff:ffff"),
        ("4000::", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"),
    ] {
        for address in [first, last] {
            assert!(
                vet_addresses(&[address.parse().unwrap()], 443).is_err(),
                "{address}"
            );
        }
    }
}

/// Returns a resolver that gives one answer after the other, and a count of its look-ups.
fn resolver(
    answers: Vec<Vec<IpAddr>>,
) -> (Arc<AtomicUsize>, impl Fn(&str) -> Vec<IpAddr> + Send + Sync) {
    let lookup_count = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&lookup_count);
    let resolve = move |_: &str| {
        let index = counter.fetch_add(1, Ordering::SeqCst);
        answers[index.min(answers.len() - 1)].clone()
    };
    (lookup_count, resolve)
}

#[tokio::test]
async fn a_name_is_looked_up_once_for_each_request_so_that_a_second_answer_counts_for_nothing() {
    let server = Server::start(|_| ok_answer("", b"page")).await;
    let (lookup_count, resolve) = resolver(vec![vec![PUBLIC], vec![LOOPBACK]]);
    let fetcher = Fetcher::with_limits(server.network(resolve), quick_limits());
    assert_eq!(
        fetcher
            .fetch_page("http://rebind.example.com/")
            .await
            .unwrap()
            .bytes,
        "page"
    );
    assert_eq!(lookup_count.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn a_name_that_turns_private_before_a_retry_is_not_dialed_again() {
    let server = Server::start(|_| build_answer("503 Busy", "", b"")).await;
    let (lookup_count, resolve) = resolver(vec![vec![PUBLIC], vec![LOOPBACK]]);
    let fetcher = Fetcher::with_limits(server.network(resolve), quick_limits());
    let error = fetcher
        .fetch_page("http://rebind.example.com/")
        .await
        .unwrap_err();
    assert_eq!(error.kind, FetchErrorKind::Blocked);
    assert_eq!(
        (lookup_count.load(Ordering::SeqCst), server.connections()),
        (2, 1)
    );
}

#[tokio::test]
async fn a_name_that_turns_private_before_a_redirect_is_not_dialed_again() {
    let server = Server::start(|_| redirect_answer("/next")).await;
    let (_, resolve) = resolver(vec![vec![PUBLIC], vec![PUBLIC, LOOPBACK]]);
    let fetcher = Fetcher::with_limits(server.network(resolve), quick_limits());
    let error = fetcher
        .fetch_page("http://rebind.example.com/")
        .await
        .unwrap_err();
    assert_eq!(error.kind, FetchErrorKind::Blocked);
    assert_eq!(server.connections(), 1);
}

#[tokio::test]
async fn only_vetted_addresses_are_dialed_with_the_port_of_the_url() {
    let server = Server::start(|_| ok_answer("", b"page")).await;
    let (address, dialed) = (server.address, Arc::new(std::sync::Mutex::new(Vec::new())));
    let log = Arc::clone(&dialed);
    let second: IpAddr = "2606:2800:220:1:248:1893:25c8:1946".parse().unwrap();
    let network = crate::Network::simulated(
        move |_| vec![PUBLIC, second],
        move |ip, port| {
            log.lock().unwrap().push((ip, port));
            (ip == second).then_some(address)
        },
    );
    let page = Fetcher::with_limits(network, quick_limits())
        .fetch_page("http://example.com/")
        .await
        .unwrap();

    assert_eq!(page.bytes, "page");
    assert_eq!(*dialed.lock().unwrap(), [(PUBLIC, 80), (second, 80)]);
}

#[tokio::test]
async fn the_network_of_production_asks_the_resolver_of_the_system() {
    let addresses = crate::Network::public_internet()
        .resolve_name("localhost")
        .await
        .unwrap();
    assert!(
        !addresses.is_empty() && addresses.iter().all(IpAddr::is_loopback),
        "{addresses:?}"
    );
    assert!(vet_addresses(&addresses, 80).is_err());
}
