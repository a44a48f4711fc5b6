//! TLS by rustls with ring and the system's certificate authorities.

use std::io;
use std::sync::Arc;

use rustls::{ClientConfig, RootCertStore};
use tokio::sync::OnceCell;

/// The configuration of TLS: versions, ciphers and trusted certificate authorities.
pub(crate) type TlsConfig = Arc<ClientConfig>;

static SYSTEM_TLS: OnceCell<TlsConfig> = OnceCell::const_new();

/// Returns a configuration that trusts the certificate authorities of the system. They are read for
/// the first request of the process, because most processes never send one.
pub(crate) async fn system_tls() -> io::Result<TlsConfig> {
    let config = SYSTEM_TLS.get_or_try_init(|| async {
        let read = tokio::task::spawn_blocking(|| build_config(load_system_roots()));
        read.await.map_err(io::Error::other)?
    });
    config.await.cloned()
}

/// Returns a configuration that trusts only `roots`.
pub(crate) fn build_config(roots: RootCertStore) -> io::Result<TlsConfig> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(io::Error::other)?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(Arc::new(config))
}

/// Returns the certificate authorities of the system. Those that this version of rustls cannot read
/// are left out, as browsers do.
fn load_system_roots() -> RootCertStore {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    if roots.is_empty() {
        tracing::warn!(
            "this system has no certificate authorities: nothing can be reached by https"
        );
    }
    roots
}
