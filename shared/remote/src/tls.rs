//! TLS by rustls with ring and the system's certificate authorities, which are read for the first
//! secure connection.

use std::io::{Error, ErrorKind, Result};
use std::net::IpAddr;
use std::sync::Arc;

use rustls::pki_types::ServerName;
use rustls::{ClientConfig, RootCertStore};
use tokio::net::TcpStream;
use tokio::sync::OnceCell;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use url::Host;

/// The certificate authorities that one client trusts. Cheap to clone.
#[derive(Clone, Default)]
pub(crate) struct Tls(Arc<OnceCell<TlsConnector>>);

impl Tls {
    /// Returns a configuration that trusts only `roots`.
    #[cfg(test)]
    pub(crate) fn with_roots(roots: RootCertStore) -> Self {
        Self(Arc::new(OnceCell::new_with(Some(
            build_connector(roots).expect("ring has the standard versions"),
        ))))
    }

    /// Starts TLS on a connection. The other side has to prove that it is `host`.
    pub(crate) async fn connect_tls(
        &self,
        host: &Host<String>,
        stream: TcpStream,
    ) -> Result<TlsStream<TcpStream>> {
        let name = match host {
            Host::Domain(name) => ServerName::try_from(name.clone()).map_err(Error::other)?,
            Host::Ipv4(address) => ServerName::from(IpAddr::from(*address)),
            Host::Ipv6(address) => ServerName::from(IpAddr::from(*address)),
        };

        let connector = self.0.get_or_try_init(|| async {
            tokio::task::spawn_blocking(|| build_connector(load_system_roots()?))
                .await
                .map_err(Error::other)?
        });
        connector.await?.connect(name, stream).await
    }
}

/// Returns the certificate authorities of the system. Those that this version of rustls cannot read
/// are left out, as browsers do.
fn load_system_roots() -> Result<RootCertStore> {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    if roots.is_empty() {
        return Err(Error::new(
            ErrorKind::NotFound,
            "this system has no certificate authorities",
        ));
    }
    Ok(roots)
}

fn build_connector(roots: RootCertStore) -> Result<TlsConnector> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(Error::other)?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(TlsConnector::from(Arc::new(config)))
}
