//! The last step of a fetch: resolves names, and dials addresses that the guard has vetted.

use std::fmt;
use std::io::{Error, ErrorKind, Result};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use tokio::net::{TcpStream, lookup_host};
use tokio::time::timeout;

use crate::guard::VettedAddresses;
use crate::tls::{TlsConfig, system_tls};

/// The longest time to dial one address, so that it cannot use up the time of the others.
const DIAL_LIMIT: Duration = Duration::from_secs(3);

type Resolve = dyn Fn(&str) -> Vec<IpAddr> + Send + Sync;
type Dial = dyn Fn(IpAddr, u16) -> Option<SocketAddr> + Send + Sync;

/// A network that resolves names and dials addresses. Cheap to clone.
#[derive(Clone)]
pub struct Network {
    kind: Arc<NetworkKind>,
    /// Replaces the certificate authorities of the system in tests.
    tls: Option<TlsConfig>,
}

enum NetworkKind {
    Public,
    Simulated {
        resolve: Box<Resolve>,
        dial: Box<Dial>,
    },
}

impl Network {
    /// Returns the real network: the system's resolver, and connections without a proxy.
    pub fn public_internet() -> Self {
        Self {
            kind: Arc::new(NetworkKind::Public),
            tls: None,
        }
    }

    /// Returns a network for tests. `resolve` answers every look-up, with no addresses for an
    /// unknown name. `dial` returns the address to dial in place of a public one, or `None` to
    /// refuse the connection. The guard checks every address in full before that.
    pub fn simulated(
        resolve: impl Fn(&str) -> Vec<IpAddr> + Send + Sync + 'static,
        dial: impl Fn(IpAddr, u16) -> Option<SocketAddr> + Send + Sync + 'static,
    ) -> Self {
        let kind = NetworkKind::Simulated {
            resolve: Box::new(resolve),
            dial: Box::new(dial),
        };
        Self {
            kind: Arc::new(kind),
            tls: None,
        }
    }

    #[cfg(test)]
    pub(crate) fn with_tls(self, tls: TlsConfig) -> Self {
        Self {
            tls: Some(tls),
            ..self
        }
    }

    pub(crate) async fn tls_config(&self) -> Result<TlsConfig> {
        match &self.tls {
            Some(tls) => Ok(tls.clone()),
            None => system_tls().await,
        }
    }

    /// Resolves a name, in one look-up.
    pub(crate) async fn resolve_name(&self, name: &str) -> Result<Vec<IpAddr>> {
        match &*self.kind {
            NetworkKind::Public => Ok(lookup_host((name, 0))
                .await?
                .map(|address| address.ip())
                .collect()),
            NetworkKind::Simulated { resolve, .. } => Ok(resolve(name)),
        }
    }

    /// Connects to the first address that answers.
    pub(crate) async fn dial_first(&self, vetted: &VettedAddresses) -> Result<TcpStream> {
        let mut last_error = Error::from(ErrorKind::AddrNotAvailable);
        for address in vetted.addresses() {
            match timeout(DIAL_LIMIT, self.dial_one(*address)).await {
                Ok(Ok(stream)) => return Ok(stream),
                Ok(Err(error)) => last_error = error,
                Err(_) => last_error = Error::from(ErrorKind::TimedOut),
            }
        }
        Err(last_error)
    }

    async fn dial_one(&self, address: SocketAddr) -> Result<TcpStream> {
        let address = match &*self.kind {
            NetworkKind::Public => address,
            NetworkKind::Simulated { dial, .. } => {
                dial(address.ip(), address.port()).ok_or(ErrorKind::ConnectionRefused)?
            }
        };
        TcpStream::connect(address).await
    }
}

impl fmt::Debug for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match &*self.kind {
            NetworkKind::Public => "Network::public",
            NetworkKind::Simulated { .. } => "Network::simulated",
        })
    }
}
