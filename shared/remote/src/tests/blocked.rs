//! Tests that no spelling of a non-public address is fetched. Every address would lead to a
//! listener.

use std::net::IpAddr;

use super::server::{PUBLIC, Server, ok_answer, quick_limits};
use crate::{FetchErrorKind, Fetcher, PageFetcher};

const SPELLINGS: &[&str] = &[
    // Loopback, in every spelling of IPv4 that browsers and libraries accept
    "http://127.0.0.1/",
    "http://127.0.0.1./",
    "http://127.255.255.254/",
    "http://127.1/",
    "http://127.0.1/",
    "http://2130706433/",
    "http://2130706433./",
    "http://017700000001/",
    "http://0177.0.0.1/",
    "http://0177.0.0.01/",
    "http://00000177.0.0.1/",
    "http://0x7f000001/",
    "http://0x7F.0x0.0x0.0x1/",
    "http://0x7f.1/",
    "http://0x7f.0.1/",
    "http://127.0x1/",
    "http://0177.1/",
    "http://%31%32%37.0.0.1/",
    "http://127%2e0%2e0%2e1/",
    "http://%30%78%37%66.1/",
    "http://①②⑦.0.0.1/",
    "http://１２７.０.０.１/",
    "http://127。0。0。1/",
    "http://127．0．0．1/",
    "http://127.0.0.1\t/",
    "http://127.\n0.0.1/",
    "  http://127.0.0.1/",
    "http:\\\\127.0.0.1\\",
    "http:/127.0.0.1/",
    "http:127.0.0.1",
    "http:////127.0.0.1/",
    "hTTp://127.0.0.1:80/",
    "https://127.0.0.1:443/",
    "http://127.0.0.1?x",
    "http://127.0.0.1#@example.com/",
    "http://127.0.0.1\\@example.com/",
    // This network
    "http://0/",
    "http://0.0.0.0/",
    "http://0.1.2.3/",
    "http://0x0/",
    // Private, shared, link-local
    "http://10.0.0.1/",
    "http://10.255.255.255/",
    "http://167772161/",
    "http://012.1/",
    "http://172.16.0.1/",
    "http://172.31.255.255/",
    "http://192.168.0.1/",
    "http://192.168.257/",
    "http://0xc0a80001/",
    "http://100.64.0.1/",
    "http://100.100.100.200/latest/meta-data/",
    "http://100.127.255.255/",
    "http://169.254.169.254/latest/meta-data/",
    "http://2852039166/",
    "http://0251.0376.0251.0376/",
    "http://169.254.43518/",
    "http://0xa9.0xfe.0xa9.0xfe/",
    "http://169.254.170.2/v2/credentials",
    "http://168.63.129.16/metadata",
    // Protocols, documentation, benchmarks, multicast, reserved, broadcast
    "http://192.0.0.192/opc/v2/",
    "http://192.0.2.1/",
    "http://192.88.99.1/",
    "http://198.18.0.1/",
    "http://198.19.255.255/",
    "http://198.51.100.1/",
    "http://203.0.113.1/",
    "http://224.0.0.1/",
    "http://239.255.255.255/",
    "http://240.0.0.1/",
    "http://255.255.255.255/",
    "http://4294967295/",
    // IPv6: loopback, unspecified, unique local, link-local, site-local, multicast, documentation
    "http://[::1]/",
    "http://[0:0:0:0:0:0:0:1]/",
    "http://[0000::0001]/",
    "http://[::]/",
    "http://[::2]/",
    "http://[fc00::1]/",
    "http://[fd00:ec2::254]/latest/meta-data/",
    "http://[fdff:ffff::1]/",
    "http://[fe80::1]/",
    "http://[fe80::1%25eth0]/",
    "http://[febf::1]/",
    "http://[fec0::1]/",
    "http://[ff02::1]/",
    "http://[2001:db8::1]/",
    "http://[3fff::1]/",
    "http://[100::1]/",
    "http://[5f00::1]/",
    "http://[4000::1]/",
    // IPv6 that carries IPv4: mapped, compatible, translated, NAT64, 6to4, Teredo
    "http://[::ffff:127.0.0.1]/",
    "http://[::ffff:7f00:1]/",
    "http://[::FFFF:a9fe:a9fe]/",
    "http://[::ffff:93.184.215.14]/",
    "http://[::127.0.0.1]/",
    "http://[::7f00:1]/",
    "http://[::ffff:0:127.0.0.1]/",
    "http://[64:ff9b::7f00:1]/",
    "http://[64:ff9b::169.254.169.254]/",
    "http://[64:ff9b:1::a00:1]/",
    "http://[2002:7f00:1::]/",
    "http://[2002:a9fe:a9fe::1]/",
    "http://[2001:0:7f00:1::]/",
    "http://[2001::1]/",
    // Names of the machine and its network
    "http://localhost/",
    "http://LOCALHOST/",
    "http://localhost./",
    "http://localhost../",
    "http://app.localhost/",
    "http://%6cocalhost/",
    "http://ｌｏｃａｌｈｏｓｔ/",
    "http://ⓛⓞⓒⓐⓛⓗⓞⓢⓣ/",
    "http://local\u{ad}host/",
    "http://printer.local/",
    "http://printer.local./",
    "http://metadata.google.internal/computeMetadata/v1/",
    "http://METADATA.GOOGLE.INTERNAL./",
    "http://db.internal/",
    "http://home.arpa/",
    "http://router.home.arpa/",
    "http://nas.lan/",
    "http://localhost.localdomain/",
    "http://intranet/",
    "http://database/",
    "http://com./",
    "http://.example.com/",
    "http://a..example.com/",
    "http://./",
    // Other ports, credentials, other schemes, not an address at all
    "http://example.com:22/",
    "http://example.com:8080/",
    "https://example.com:8443/",
    "http://example.com:0/",
    "http://example.com:65536/",
    "http://user@example.com/",
    "http://user:word@example.com/",
    "http://:word@example.com/",
    "https://example.com%40evil.example@127.0.0.1/",
    "ftp://example.com/",
    "file:///etc/passwd",
    "gopher://example.com:80/_GET",
    "data:text/html,hello",
    "ws://example.com/",
    "javascript:alert(1)",
    "//example.com/",
    "example.com",
    "http://",
    "",
];

#[tokio::test]
async fn no_spelling_of_an_address_that_is_not_public_reaches_a_listener() {
    assert!(SPELLINGS.len() >= 80);
    let server = Server::start(|_| ok_answer("", b"reached")).await;
    let fetcher = server.fetcher();
    for url in SPELLINGS {
        let error = fetcher.fetch_page(url).await.expect_err(url);
        assert_eq!(error.kind, FetchErrorKind::Blocked, "{url:?}");
        assert_eq!(server.connections(), 0, "{url:?}");
    }

    // Without the guard, the listener would have been reached.
    assert_eq!(
        fetcher
            .fetch_page("http://example.com/")
            .await
            .unwrap()
            .bytes,
        "reached"
    );
    assert_eq!(server.connections(), 1);
}

#[tokio::test]
async fn a_name_with_an_address_that_is_not_public_reaches_no_listener() {
    let server = Server::start(|_| ok_answer("", b"reached")).await;
    for literal in SPELLINGS.iter().filter_map(|url| address(url)) {
        for answers in [vec![literal], vec![PUBLIC, literal], vec![literal, PUBLIC]] {
            let network = server.network(move |_| answers.clone());
            let error = Fetcher::with_limits(network, quick_limits())
                .fetch_page("https://rebind.example.com/")
                .await
                .unwrap_err();
            assert_eq!(error.kind, FetchErrorKind::Blocked, "{literal}");
            assert_eq!(
                error.message,
                "The address does not lead to the public internet."
            );
        }
    }

    assert_eq!(server.connections(), 0);
}

fn address(url: &str) -> Option<IpAddr> {
    match url::Url::parse(url).ok()?.host()? {
        url::Host::Ipv4(address) => Some(address.into()),
        url::Host::Ipv6(address) => Some(address.into()),
        url::Host::Domain(_) => None,
    }
    .filter(|address| *address != PUBLIC)
}

#[tokio::test]
async fn a_refusal_says_what_is_wrong_with_the_address() {
    let server = Server::start(|_| ok_answer("", b"")).await;
    for (url, message) in [
        ("words", "This is not a web address."),
        (
            "ftp://example.com/",
            "Only http and https addresses are fetched.",
        ),
        (
            "http://example.com:22/",
            "Only the ports 80 and 443 are fetched.",
        ),
        (
            "http://me:word@example.com/",
            "An address with a user name or a password is not fetched.",
        ),
        (
            "http://10.1.2.3/",
            "The address does not lead to the public internet.",
        ),
    ] {
        assert_eq!(
            server.fetcher().fetch_page(url).await.unwrap_err().message,
            message,
            "{url}"
        );
    }
}
