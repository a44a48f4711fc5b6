//! The HTTP client: TLS by rustls with ring and the certificate authorities of the system, without
//! redirects and proxies.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use domain::ports::ConnectorError;
use reqwest::redirect::Policy;
use reqwest::{Client, Response};
use rustls::{ClientConfig, RootCertStore};
use tokio::sync::OnceCell;

/// The most bytes of an answer without content. A full page of a listing has about 2 MB.
pub(super) const MAX_RESPONSE_BYTES: usize = 32 * 1024 * 1024;
/// The name of the user agent. The provider compresses only for agents that also have `gzip` in
/// their names.
const USER_AGENT: &str = concat!("recollect/", env!("CARGO_PKG_VERSION"), " (gzip)");

/// A client that is created on first use. Reading the certificate authorities takes a while, and
/// most processes never send a request.
#[derive(Default)]
pub(super) struct LazyClient(OnceCell<Client>);

impl LazyClient {
    pub(super) async fn client(&self) -> Result<&Client, ConnectorError> {
        let client = self.0.get_or_try_init(|| async {
            let result = tokio::task::spawn_blocking(build_client).await;
            result.unwrap_or_else(|error| Err(ConnectorError::Unavailable(Box::new(error))))
        });
        client.await
    }
}

fn build_client() -> Result<Client, ConnectorError> {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    if roots.is_empty() {
        tracing::warn!(
            "this system has no certificate authorities: nothing can be reached by https"
        );
    }

    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let tls = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| ConnectorError::Fault(format!("TLS: {error}")))?
        .with_root_certificates(roots)
        .with_no_client_auth();

    Client::builder()
        .tls_backend_preconfigured(tls)
        .redirect(Policy::none())
        // Otherwise the client uses the proxies in the environment, regardless of its features.
        .no_proxy()
        .referer(false)
        .user_agent(USER_AGENT)
        .connect_timeout(Duration::from_secs(10))
        .read_timeout(Duration::from_secs(60))
        .build()
        .map_err(|error| ConnectorError::Fault(format!("HTTP client: {error}")))
}

/// Converts a network error. It omits the address, which may be secret.
pub(super) fn network_error(error: reqwest::Error) -> ConnectorError {
    ConnectorError::Unavailable(Box::new(error.without_url()))
}

/// Returns the error for an answer that is not usable.
pub(super) fn unavailable_error(message: &str) -> ConnectorError {
    ConnectorError::Unavailable(message.into())
}

/// Reads the body, or returns `None` if it has more than `limit` bytes.
pub(super) async fn read_body(
    mut response: Response,
    limit: usize,
) -> Result<Option<Bytes>, ConnectorError> {
    let content_length = response.content_length().unwrap_or(0);
    if content_length > limit as u64 {
        return Ok(None);
    }

    // The announced length is not trusted: memory grows with the bytes that arrive.
    let mut bytes = Vec::with_capacity(
        usize::try_from(content_length)
            .unwrap_or(0)
            .min(1024 * 1024),
    );
    while let Some(chunk) = response.chunk().await.map_err(network_error)? {
        if bytes.len() + chunk.len() > limit {
            return Ok(None);
        }
        bytes.extend_from_slice(&chunk);
    }

    Ok(Some(bytes.into()))
}

/// Returns the media type of a response without parameters, in lower case.
pub(super) fn response_media_type(response: &Response) -> String {
    let value = response
        .headers()
        .get(reqwest::header::CONTENT_TYPE)
        .and_then(|value| value.to_str().ok());
    value
        .and_then(|value| value.split(';').next())
        .unwrap_or_default()
        .trim()
        .to_ascii_lowercase()
}
