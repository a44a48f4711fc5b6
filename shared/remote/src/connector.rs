//! The connector of the page client. The guard stands between looking a name up and connecting, so
//! the address that was checked is the address that is connected to.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use http::Uri;
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tower::Service;
use url::{Host, Url};

use crate::guard::{AddressRefusal, check_url, vet_addresses};
use crate::network::Network;

/// The reason why there is no connection.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ConnectError {
    #[error(transparent)]
    Refused(#[from] AddressRefusal),
    #[error("the name was not found")]
    UnknownName,
    #[error("the server cannot be reached")]
    Unreachable(#[source] io::Error),
}

/// Opens connections to the public internet and to nothing else. Cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct GuardedConnector(Network);

impl GuardedConnector {
    pub(crate) fn new(network: Network) -> Self {
        Self(network)
    }

    /// Looks the name up once, and connects only to addresses that passed the check.
    async fn open_connection(&self, uri: &Uri) -> Result<TokioIo<TcpStream>, ConnectError> {
        let url = Url::parse(&uri.to_string()).map_err(|_| AddressRefusal::NotAnAddress)?;
        let target = check_url(&url)?;

        let addresses = match &target.host {
            Host::Ipv4(address) => vec![(*address).into()],
            Host::Ipv6(address) => vec![(*address).into()],
            Host::Domain(name) => self.0.resolve_name(name).await.unwrap_or_default(),
        };
        if addresses.is_empty() {
            return Err(ConnectError::UnknownName);
        }

        let vetted = vet_addresses(&addresses, target.port)?;
        let stream = self.0.dial_first(&vetted).await;
        stream.map(TokioIo::new).map_err(ConnectError::Unreachable)
    }
}

type Connecting = Pin<Box<dyn Future<Output = Result<TokioIo<TcpStream>, ConnectError>> + Send>>;

impl Service<Uri> for GuardedConnector {
    type Response = TokioIo<TcpStream>;
    type Error = ConnectError;
    type Future = Connecting;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), ConnectError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, uri: Uri) -> Connecting {
        let connector = self.clone();
        Box::pin(async move { connector.open_connection(&uri).await })
    }
}
