//! The client of all outgoing requests: hyper's, which the AWS SDK uses as well, over HTTP/1.1. The
//! connector decides what it can reach. It follows no redirects and uses no proxy.

use std::error::Error;
use std::io;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, LengthLimitError, Limited};
use hyper::body::{Body, Incoming};
use hyper_rustls::HttpsConnector;
use hyper_util::client::legacy::connect::{Connect, HttpConnector};
use hyper_util::client::legacy::{Builder, Client};
use hyper_util::rt::{TokioExecutor, TokioTimer};

use crate::tls::{TlsConfig, system_tls};

/// The largest head of an answer in bytes. The library itself limits the number of header fields to
/// 100.
const MAX_HEAD_BYTES: usize = 64 * 1024;
/// The interval in which an idle connection proves that it still exists.
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(15);

/// The limits of a client that keeps its connections.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ConnectionLimits {
    /// The longest time to connect to all addresses of a name.
    pub(crate) connect: Duration,
    /// The time after which an idle connection is closed. Without one, each request has a connection of
    /// its own.
    pub(crate) idle: Option<Duration>,
}

/// A client of HTTP and HTTPS, whose connections a `C` opens.
pub(crate) type HttpClient<C, B> = Client<HttpsConnector<C>, B>;

/// The reason why a body could not be read.
pub(crate) enum BodyError {
    TooLarge,
    Interrupted,
}

/// Returns a client that opens a connection for each request.
pub(crate) fn single_use_client<C, B>(connector: C, tls: TlsConfig) -> HttpClient<C, B>
where
    HttpsConnector<C>: Connect + Clone,
    B: Body + Send,
    B::Data: Send,
{
    client_builder()
        .pool_max_idle_per_host(0)
        .build((connector, tls).into())
}

/// Returns a client that keeps connections open for later requests, to any address.
pub(crate) async fn pooled_client<B>(
    limits: ConnectionLimits,
) -> io::Result<HttpClient<HttpConnector, B>>
where
    B: Body + Send,
    B::Data: Send,
{
    let mut connector = open_connector();
    connector.set_nodelay(true);
    connector.set_connect_timeout(Some(limits.connect));
    connector.set_keepalive(Some(KEEPALIVE_INTERVAL));
    connector.set_keepalive_interval(Some(KEEPALIVE_INTERVAL));
    connector.set_keepalive_retries(Some(3));

    let mut builder = client_builder();
    if limits.idle.is_none() {
        builder.pool_max_idle_per_host(0);
    }
    Ok(builder
        .pool_timer(TokioTimer::new())
        .pool_idle_timeout(limits.idle)
        .build((connector, system_tls().await?).into()))
}

/// Returns a connector that reaches any address.
pub(crate) fn open_connector() -> HttpConnector {
    let mut connector = HttpConnector::new();
    // TLS is above the connector.
    connector.enforce_http(false);
    connector
}

fn client_builder() -> Builder {
    let mut builder = Client::builder(TokioExecutor::new());
    builder.http1_max_buf_size(MAX_HEAD_BYTES);
    builder
}

/// Reads a body of at most `limit` bytes. Dropping the body closes the connection.
pub(crate) async fn read_body(body: Incoming, limit: usize) -> Result<Bytes, BodyError> {
    let min_size = usize::try_from(body.size_hint().lower());
    if min_size.map_or(true, |min_size| min_size > limit) {
        return Err(BodyError::TooLarge);
    }

    let collected = Limited::new(body, limit).collect().await;
    match collected {
        Ok(collected) => Ok(collected.to_bytes()),
        Err(error) if error.is::<LengthLimitError>() => Err(BodyError::TooLarge),
        Err(_) => Err(BodyError::Interrupted),
    }
}

/// Returns the error of the connector because of which a request failed, if there is one.
pub(crate) fn connector_error<E: Error + 'static>(
    error: &hyper_util::client::legacy::Error,
) -> Option<&E> {
    error.source()?.downcast_ref()
}
