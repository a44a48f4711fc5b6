//! Tests of TLS: the certificate must prove the name in the address, whatever address was dialed.

use std::sync::Arc;

use rustls::pki_types::PrivateKeyDer;
use rustls::{RootCertStore, ServerConfig};
use tokio_rustls::TlsAcceptor;

use super::server::{PUBLIC, Server, ok_answer, quick_limits, receive_request, write_last_bytes};
use crate::tls::build_config;
use crate::{FetchErrorKind, Fetcher, PageFetcher};

/// A self-signed certificate for `secure.example.com` and `93.184.215.14`, valid until 2120.
/// Nothing else trusts it.
const CERTIFICATE: &[u8] = include_bytes!("data/certificate.der");
const KEY: &[u8] = include_bytes!("data/key.der");

async fn secure_server() -> Server {
    let key = PrivateKeyDer::Pkcs8(KEY.into());
    let config =
        ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![CERTIFICATE.into()], key)
            .unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(config));

    Server::start_raw(move |stream| {
        let acceptor = acceptor.clone();
        async move {
            let Ok(mut stream) = acceptor.accept(stream).await else {
                return;
            };
            if receive_request(&mut stream).await.is_some() {
                write_last_bytes(&mut stream, &ok_answer("", b"secure page")).await;
            }
        }
    })
    .await
}

/// Returns a fetcher that trusts the certificate.
fn trusting(server: &Server) -> Fetcher {
    let mut roots = RootCertStore::empty();
    roots.add(CERTIFICATE.into()).unwrap();
    Fetcher::with_limits(
        server
            .network(|_| vec![PUBLIC])
            .with_tls(build_config(roots).unwrap()),
        quick_limits(),
    )
}

#[tokio::test]
async fn a_secure_page_is_fetched_from_a_server_that_proves_its_name() {
    let server = secure_server().await;
    for url in [
        "https://secure.example.com/",
        "https://secure.example.com./",
        "https://93.184.215.14/",
    ] {
        let page = trusting(&server)
            .fetch_page(url)
            .await
            .unwrap_or_else(|error| panic!("{url}: {error}"));
        assert_eq!(page.bytes, "secure page", "{url}");
    }
}

#[tokio::test]
async fn a_server_that_proves_another_name_gets_no_request() {
    let server = secure_server().await;
    for url in [
        "https://other.example.com/",
        "https://example.com/",
        "https://8.8.8.8/",
    ] {
        let error = trusting(&server).fetch_page(url).await.expect_err(url);
        assert_eq!(error.kind, FetchErrorKind::Failed);
        assert_eq!(
            error.message,
            "There is no secure connection to the page's server."
        );
    }
}

#[tokio::test]
async fn a_certificate_that_nobody_vouches_for_is_not_trusted() {
    let server = secure_server().await;
    let error = server
        .fetcher()
        .fetch_page("https://secure.example.com/")
        .await
        .unwrap_err();
    assert_eq!(
        error.message,
        "There is no secure connection to the page's server."
    );
}

#[tokio::test]
async fn a_secure_address_is_never_asked_in_plain() {
    let plain_server = Server::start_plain(b"HTTP/1.1 200 OK\r\n\r\nplain page").await;
    let error = plain_server
        .fetcher()
        .fetch_page("https://example.com/")
        .await
        .unwrap_err();

    assert_eq!(
        error.message,
        "There is no secure connection to the page's server."
    );
    assert!(
        plain_server
            .received()
            .iter()
            .all(|request| !request.head.contains("GET"))
    );
}
