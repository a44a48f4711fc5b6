//! The origin of a request: this machine itself, or a client behind a proxy.

use std::net::{IpAddr, SocketAddr};

use axum::extract::{ConnectInfo, Request};
use axum::middleware::Next;
use axum::response::Response;
use edge::{ClientAddress, LoopbackPeer};
use http::header::HOST;
use http::{HeaderMap, Uri, Version};

/// The headers that only a proxy, a load balancer or a content delivery network adds, in lower case
/// with hyphens.
const FORWARDING_HEADERS: [&str; 24] = [
    "cdn-loop",
    "cf-connecting-ip",
    "cf-connecting-ipv6",
    "cf-ipcountry",
    "cf-pseudo-ipv4",
    "cf-ray",
    "cf-visitor",
    "client-ip",
    "do-connecting-ip",
    "fastly-client-ip",
    "fly-client-ip",
    "forwarded",
    "forwarded-for",
    "proxy-client-ip",
    "true-client-ip",
    "via",
    "wl-proxy-client-ip",
    "x-azure-clientip",
    "x-client-ip",
    "x-cluster-client-ip",
    "x-nginx-proxy",
    "x-real-ip",
    "x-remote-addr",
    "x-remote-ip",
];
/// The prefixes of further headers of this kind.
const FORWARDING_PREFIXES: [&str; 6] = [
    "x-forwarded",
    "x-forward-",
    "x-original-",
    "x-envoy-",
    "x-amzn-trace-id",
    "x-amz-cf-",
];

/// Notes the address of the client, and whether the client is on this machine.
pub(crate) async fn note_origin(mut request: Request, next: Next) -> Response {
    if let Some(ConnectInfo(peer)) = request.extensions().get::<ConnectInfo<SocketAddr>>() {
        let peer = peer.ip();
        let client = client_address(peer, request.headers());
        let is_direct = is_loopback(peer) && is_direct(&request);
        let extensions = request.extensions_mut();
        extensions.insert(ClientAddress(client));
        if is_direct {
            extensions.insert(LoopbackPeer);
        }
    }

    next.run(request).await
}

/// Checks whether a request comes from this machine, is addressed to this machine, and passed no
/// proxy.
///
/// The name that the client used counts as well: a web page whose own name was made to resolve to
/// loopback sends that name. Proxies speak HTTP/1.0 unless they are configured otherwise, and
/// nobody else does.
fn is_direct(request: &Request) -> bool {
    let headers = request.headers();
    request.version() == Version::HTTP_11
        && request.uri().host().is_none_or(names_loopback)
        && names_this_machine(headers)
        && !headers.keys().any(|name| is_proxy_header(name.as_str()))
}

/// Checks that there is exactly one `Host` header, and that it names this machine.
fn names_this_machine(headers: &HeaderMap) -> bool {
    let mut hosts = headers.get_all(HOST).iter();
    let (Some(host), None) = (hosts.next(), hosts.next()) else {
        return false;
    };
    match host.to_str() {
        Ok(host) => names_loopback(host),
        Err(_) => false,
    }
}

/// Checks whether proxies add this header. Some of them write underscores.
fn is_proxy_header(name: &str) -> bool {
    let name = name.to_ascii_lowercase().replace('_', "-");
    FORWARDING_HEADERS.contains(&name.as_str())
        || FORWARDING_PREFIXES
            .iter()
            .any(|prefix| name.starts_with(prefix))
}

/// Returns the address of the client: that of the peer or, if the peer is a proxy on this machine,
/// the last one that the proxy names, which is that of its own peer.
fn client_address(peer: IpAddr, headers: &HeaderMap) -> IpAddr {
    if !is_loopback(peer) {
        return peer;
    }
    forwarded_address(headers).unwrap_or(peer)
}

/// Returns the last address that a proxy names.
fn forwarded_address(headers: &HeaderMap) -> Option<IpAddr> {
    let last = headers.get_all("x-forwarded-for").iter().next_back()?;
    let address = last.to_str().ok()?.rsplit(',').next()?;
    address.trim().parse().ok()
}

/// Checks whether the address of a server, as in `http://localhost:8787`, belongs to this machine
/// only.
pub(crate) fn is_own_address(url: &str) -> bool {
    url.parse::<Uri>()
        .is_ok_and(|uri| uri.host().is_some_and(names_loopback))
}

/// Checks whether an IP address belongs to this machine only.
pub(crate) fn is_loopback(ip: IpAddr) -> bool {
    ip.to_canonical().is_loopback()
}

fn names_loopback(host: &str) -> bool {
    let name = match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => host.split(':').next().unwrap_or_default(),
    };
    name.eq_ignore_ascii_case("localhost") || name.parse().is_ok_and(is_loopback)
}

#[cfg(test)]
mod tests {
    use axum::body::Body;

    use super::*;

    #[test]
    fn only_names_of_this_machine_count_as_loopback() {
        for valid in [
            "localhost",
            "localhost:8787",
            "127.0.0.1:80",
            "[::1]:8787",
            "LOCALHOST",
        ] {
            assert!(names_loopback(valid), "{valid}");
        }

        for invalid in [
            "evil.example",
            "evil.example:8787",
            "127.0.0.1.evil.example",
            "",
            "10.0.0.1",
            "[2001:db8::1]",
        ] {
            assert!(!names_loopback(invalid), "{invalid}");
        }
    }

    #[test]
    fn only_addresses_of_this_machine_are_its_own() {
        for valid in [
            "http://127.0.0.1:8787",
            "http://localhost",
            "http://[::1]:8787/",
            "https://localhost/x",
        ] {
            assert!(is_own_address(valid), "{valid}");
        }

        for invalid in [
            "https://memory.example.com",
            "http://10.0.0.1",
            "http://localhost@evil.example",
            "",
            "x y",
        ] {
            assert!(!is_own_address(invalid), "{invalid}");
        }
    }

    #[test]
    fn a_request_is_direct_with_one_own_host_and_nothing_of_a_proxy() {
        let direct = |headers: &[(&str, &str)], version: Version, uri: &str| {
            let request = Request::builder().version(version).uri(uri);
            let request = headers.iter().fold(request, |request, (name, value)| {
                request.header(*name, *value)
            });
            is_direct(&request.body(Body::empty()).unwrap())
        };

        let host = ("host", "127.0.0.1:8787");
        assert!(direct(&[host], Version::HTTP_11, "/v3/session"));
        assert!(direct(
            &[host],
            Version::HTTP_11,
            "http://127.0.0.1:8787/v3/session"
        ));
        assert!(!direct(&[], Version::HTTP_11, "/"), "no host");
        assert!(
            !direct(&[host, ("host", "evil.example")], Version::HTTP_11, "/"),
            "two hosts"
        );
        assert!(
            !direct(&[host], Version::HTTP_11, "http://evil.example/"),
            "another host in the target"
        );
        assert!(
            !direct(&[host], Version::HTTP_10, "/"),
            "the HTTP of proxies"
        );
        assert!(direct(
            &[host, ("x-request-id", "1"), ("origin", "null")],
            Version::HTTP_11,
            "/"
        ));
    }

    #[test]
    fn the_client_of_a_proxy_on_this_machine_is_the_last_that_it_names() {
        let client = |peer: &str, lists: &[&str]| {
            let mut headers = HeaderMap::new();
            for list in lists {
                headers.append("x-forwarded-for", list.parse().unwrap());
            }
            client_address(peer.parse().unwrap(), &headers).to_string()
        };

        assert_eq!(client("127.0.0.1", &[]), "127.0.0.1");
        assert_eq!(client("127.0.0.1", &["203.0.113.7"]), "203.0.113.7");
        assert_eq!(
            client("::1", &["1.1.1.1", "9.9.9.9, 2001:db8::1"]),
            "2001:db8::1"
        );
        assert_eq!(client("127.0.0.1", &["garbage"]), "127.0.0.1");
        assert_eq!(
            client("198.51.100.1", &["203.0.113.7"]),
            "198.51.100.1",
            "anybody can write it"
        );
    }
}
