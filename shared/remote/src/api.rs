//! A client of an API at a configured address, which is trusted. The answers are limited in size
//! and time.

use std::io;
use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, ACCEPT_ENCODING, CONTENT_ENCODING, HeaderValue, USER_AGENT};
use http::{HeaderMap, Request, Response, StatusCode};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper_util::client::legacy::connect::HttpConnector;
use tokio::sync::OnceCell;
use tokio::time::{Instant, timeout_at};

use crate::client::{BodyError, ConnectionLimits, HttpClient, pooled_client, read_body};
use crate::decode::{DecodeError, decode_body, join_header_values};

/// The limits of connections to a server on the internet.
const INTERNET_LIMITS: ConnectionLimits = ConnectionLimits {
    connect: Duration::from_secs(10),
    idle: Some(Duration::from_secs(90)),
};
/// The limits of connections to another process of Recollect in the same network, where a connection
/// costs about a millisecond. A kept one may lead to a process that is gone.
const INTERNAL_LIMITS: ConnectionLimits = ConnectionLimits {
    connect: Duration::from_secs(1),
    idle: None,
};

/// The reason why an API did not answer. It does not contain the address, which may be secret.
#[derive(Debug, thiserror::Error)]
pub enum ApiError {
    /// TLS cannot be set up.
    #[error("TLS cannot be used")]
    Tls(#[source] io::Error),
    /// The request could not be sent, or the head of its answer could not be read.
    #[error("the request failed")]
    Request(#[source] hyper_util::client::legacy::Error),
    /// The whole answer did not arrive in time.
    #[error("the answer took too long")]
    TimedOut,
    /// The connection closed before the end of the body.
    #[error("the answer broke off")]
    Interrupted,
    /// The body cannot be decompressed.
    #[error("the answer cannot be decompressed")]
    Compression,
}

/// A client of an API. It is set up by its first request.
#[derive(Debug)]
pub struct ApiClient {
    user_agent: &'static str,
    limits: ConnectionLimits,
    client: OnceCell<HttpClient<HttpConnector, Full<Bytes>>>,
}

/// An answer whose body has not been read yet.
#[derive(Debug)]
pub struct ApiAnswer {
    response: Response<Incoming>,
    deadline: Instant,
}

impl ApiClient {
    /// Returns a client with this name, for servers on the internet. It keeps its connections open.
    pub const fn new(user_agent: &'static str) -> Self {
        Self::with_limits(user_agent, INTERNET_LIMITS)
    }

    /// Returns a client with this name, for other processes of Recollect in the same network. It opens a
    /// connection for each request, and gives up after one second.
    pub const fn for_own_network(user_agent: &'static str) -> Self {
        Self::with_limits(user_agent, INTERNAL_LIMITS)
    }

    const fn with_limits(user_agent: &'static str, limits: ConnectionLimits) -> Self {
        Self {
            user_agent,
            limits,
            client: OnceCell::const_new(),
        }
    }

    /// Sends a request. The whole answer has to arrive within `time_limit`.
    pub async fn send(
        &self,
        mut request: Request<Bytes>,
        time_limit: Duration,
    ) -> Result<ApiAnswer, ApiError> {
        let headers = request.headers_mut();
        headers.insert(USER_AGENT, HeaderValue::from_static(self.user_agent));
        headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("gzip"));
        headers
            .entry(ACCEPT)
            .or_insert(HeaderValue::from_static("*/*"));

        let deadline = Instant::now() + time_limit;
        let client = self
            .client
            .get_or_try_init(|| pooled_client(self.limits))
            .await;
        let call = client
            .map_err(ApiError::Tls)?
            .request(request.map(Full::new));
        match timeout_at(deadline, call).await {
            Ok(Ok(response)) => Ok(ApiAnswer { response, deadline }),
            Ok(Err(error)) => Err(ApiError::Request(error)),
            Err(_) => Err(ApiError::TimedOut),
        }
    }
}

impl ApiAnswer {
    /// Returns the status.
    pub fn status(&self) -> StatusCode {
        self.response.status()
    }

    /// Returns the headers.
    pub fn headers(&self) -> &HeaderMap {
        self.response.headers()
    }

    /// Reads and decompresses the body. Returns `None` if it has more than `limit` bytes.
    pub async fn read_body(self, limit: usize) -> Result<Option<Bytes>, ApiError> {
        let encoding = join_header_values(self.headers(), &CONTENT_ENCODING);
        let max_received = match encoding.is_empty() {
            true => limit,
            // Content that does not compress becomes slightly longer.
            false => limit.saturating_add(limit / 1000 + 1024),
        };

        let received = timeout_at(
            self.deadline,
            read_body(self.response.into_body(), max_received),
        );
        let received = match received.await {
            Ok(Ok(received)) => received,
            Ok(Err(BodyError::TooLarge)) => return Ok(None),
            Ok(Err(BodyError::Interrupted)) => return Err(ApiError::Interrupted),
            Err(_) => return Err(ApiError::TimedOut),
        };
        if encoding.is_empty() {
            return Ok(Some(received));
        }

        let decoding = tokio::task::spawn_blocking(move || decode_body(&encoding, received, limit));
        match decoding.await {
            Ok(Ok(content)) => Ok(Some(content)),
            Ok(Err(DecodeError::TooLarge)) => Ok(None),
            _ => Err(ApiError::Compression),
        }
    }
}
