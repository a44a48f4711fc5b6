//! Fetches one public web page: address checks, connection, redirects, retries and limits.

use std::fmt::Debug;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use http::header::{
    ACCEPT, ACCEPT_ENCODING, CONNECTION, CONTENT_ENCODING, CONTENT_TYPE, LOCATION, USER_AGENT,
};
use http::{HeaderMap, HeaderName, HeaderValue, Request, Response, StatusCode};
use http_body_util::Empty;
use hyper::body::Incoming;
use hyper_util::client::legacy;
use serde::{Deserialize, Serialize};
use tokio::time::{sleep, timeout};
use url::{Position, Url};

use crate::client::{BodyError, connector_error, read_body, single_use_client};
use crate::connector::{ConnectError, GuardedConnector};
use crate::decode::{ACCEPTED_ENCODINGS, DecodeError, decode_body, join_header_values};
use crate::guard::{AddressRefusal, Target, check_url};
use crate::network::Network;

pub(crate) const USER_AGENT_VALUE: &str = concat!("Recollect/", env!("CARGO_PKG_VERSION"));
const ROBOTS_TAG: HeaderName = HeaderName::from_static("x-robots-tag");
const MEDIA_TYPES: &str =
    "text/html, application/xhtml+xml, text/markdown, application/pdf, text/plain;q=0.9, */*;q=0.1";
const NO_SECURE_CONNECTION: &str = "There is no secure connection to the page's server.";

/// Fetches public web pages.
#[async_trait]
pub trait PageFetcher: Debug + Send + Sync {
    /// Fetches the page at `url` without a proxy, cookies or credentials. Follows up to 5 redirects
    /// and repeats temporary failures twice, within 30 seconds. A call of a fetcher elsewhere takes
    /// some seconds more.
    async fn fetch_page(&self, url: &str) -> Result<Page, FetchError>;
}

/// A page that was answered with a success status.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    /// The decompressed content.
    pub bytes: Bytes,
    /// The complete `Content-Type` that the server sent.
    pub media_type: Option<String>,
    /// The address that answered, after redirects.
    pub url: String,
    /// All values of `X-Robots-Tag`, which for any kind of file means the same as `<meta
    /// name="robots">` in a page.
    pub robots_tag: String,
}

/// The reason why a page could not be fetched.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[error("{message}")]
pub struct FetchError {
    /// The kind of failure.
    pub kind: FetchErrorKind,
    /// One sentence for the person who gave the address, without content or internal addresses.
    pub message: String,
    /// The status of the answer, if the status is the failure.
    pub status: Option<u16>,
}

/// The kinds of [`FetchError`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum FetchErrorKind {
    /// The address, or one that it redirects to, may not be fetched.
    Blocked,
    /// The page did not answer with success, even after the retries that make sense.
    Failed,
    /// The page is larger than the limit.
    TooLarge,
    /// The fetcher itself failed, before or after it asked for the page. A retry may succeed.
    Unavailable,
}

/// The limits of fetching one page.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FetchLimits {
    pub(crate) total_timeout: Duration,
    /// The time from looking up the name to the head of the answer.
    pub(crate) first_byte_timeout: Duration,
    pub(crate) retry_pause: Duration,
    pub(crate) max_retries: usize,
    pub(crate) max_redirects: usize,
    pub(crate) max_received: usize,
    pub(crate) max_decoded: usize,
    pub(crate) max_ratio: usize,
    /// The decompressed size in bytes below which the compression ratio is not checked: a short
    /// page of repetitions compresses better than a bomb.
    pub(crate) min_ratio_size: usize,
}

const MIB: usize = 1024 * 1024;

impl FetchLimits {
    pub(crate) const STANDARD: Self = Self {
        total_timeout: Duration::from_secs(30),
        first_byte_timeout: Duration::from_secs(10),
        retry_pause: Duration::from_millis(500),
        max_retries: 2,
        max_redirects: 5,
        max_received: 10 * MIB,
        max_decoded: 40 * MIB,
        max_ratio: 100,
        min_ratio_size: MIB,
    };

    fn decoded_from(&self, received: usize) -> usize {
        received
            .saturating_mul(self.max_ratio)
            .max(self.min_ratio_size)
            .min(self.max_decoded)
    }
}

/// A client that fetches public web pages. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Fetcher {
    network: Network,
    limits: FetchLimits,
}

#[async_trait]
impl PageFetcher for Fetcher {
    async fn fetch_page(&self, url: &str) -> Result<Page, FetchError> {
        let visit = spans::trace(spans::call_span("fetch page"), self.follow_redirects(url));
        match timeout(self.limits.total_timeout, visit).await {
            Ok(result) => result,
            Err(_) => Err(failed_error("The page did not answer in time.")),
        }
    }
}

enum Visit {
    Page(Page),
    Redirect(Url),
}

struct AttemptFailure {
    /// Set if the same request may succeed a moment later.
    is_temporary: bool,
    error: FetchError,
}

impl Fetcher {
    /// Returns a fetcher that reaches pages through `network`.
    pub fn new(network: Network) -> Self {
        Self {
            network,
            limits: FetchLimits::STANDARD,
        }
    }

    /// Sets the pause before a failed request is repeated. The default is half a second.
    #[must_use]
    pub fn with_retry_pause(mut self, pause: Duration) -> Self {
        self.limits.retry_pause = pause;
        self
    }

    #[cfg(test)]
    pub(crate) fn with_limits(network: Network, limits: FetchLimits) -> Self {
        Self {
            limits,
            ..Self::new(network)
        }
    }

    async fn follow_redirects(&self, url: &str) -> Result<Page, FetchError> {
        let Ok(mut url) = Url::parse(url) else {
            return Err(blocked_error(AddressRefusal::NotAnAddress));
        };
        let mut retries = self.limits.max_retries;
        for _ in 0..=self.limits.max_redirects {
            url.set_fragment(None);
            match self.visit_with_retries(&url, &mut retries).await? {
                Visit::Page(page) => return Ok(page),
                Visit::Redirect(next) => url = next,
            }
        }

        Err(failed_error(format!(
            "The page redirects more than {} times.",
            self.limits.max_redirects
        )))
    }

    async fn visit_with_retries(
        &self,
        url: &Url,
        retries: &mut usize,
    ) -> Result<Visit, FetchError> {
        loop {
            match self.attempt_once(url).await {
                Ok(visit) => return Ok(visit),
                Err(failure) if failure.is_temporary && *retries > 0 => *retries -= 1,
                Err(failure) => return Err(failure.error),
            }
            sleep(self.limits.retry_pause).await;
        }
    }

    async fn attempt_once(&self, url: &Url) -> Result<Visit, AttemptFailure> {
        let target = check_url(url).map_err(blocked_error)?;
        let call = self.send_request(url, &target);
        let response = match timeout(self.limits.first_byte_timeout, call).await {
            Ok(result) => result?,
            Err(_) => return Err(temporary_failure("The page did not answer in time.")),
        };

        let status = response.status();
        if let Some(next) = redirect_target(url, status, response.headers())? {
            return Ok(Visit::Redirect(next));
        }

        if !status.is_success() {
            // A server that asks to slow down would count repetitions a moment later as well.
            let is_temporary = status.is_server_error();
            let error = failed_error(format!("The page answered {}.", status.as_u16()));
            return Err(AttemptFailure {
                is_temporary,
                error: FetchError {
                    status: Some(status.as_u16()),
                    ..error
                },
            });
        }

        Ok(Visit::Page(self.read_page(url, response).await?))
    }

    async fn send_request(
        &self,
        url: &Url,
        target: &Target,
    ) -> Result<Response<Incoming>, AttemptFailure> {
        let Ok(request) = build_get(url, target) else {
            return Err(failed_error("The address cannot be requested.").into());
        };
        let Ok(tls) = self.network.tls_config().await else {
            return Err(temporary_failure(NO_SECURE_CONNECTION));
        };

        let connector = GuardedConnector::new(self.network.clone());
        let client = single_use_client(connector, tls);
        match client.request(request).await {
            Ok(response) => Ok(response),
            Err(error) => Err(request_failure(&error)),
        }
    }

    async fn read_page(
        &self,
        url: &Url,
        response: Response<Incoming>,
    ) -> Result<Page, AttemptFailure> {
        let headers = response.headers();
        let media_type = match headers.get(CONTENT_TYPE).map(HeaderValue::to_str) {
            Some(Ok(media_type)) => Some(media_type.to_owned()),
            _ => None,
        };
        let (encoding, robots_tag) = (
            join_header_values(headers, &CONTENT_ENCODING),
            join_header_values(headers, &ROBOTS_TAG),
        );
        let received = match read_body(response.into_body(), self.limits.max_received).await {
            Ok(received) => received,
            Err(BodyError::TooLarge) => {
                let max_mib = self.limits.max_received / MIB;
                return Err(
                    too_large_error(format!("The page has more than {max_mib} MiB.")).into(),
                );
            }
            Err(BodyError::Interrupted) => return Err(temporary_failure("The page broke off.")),
        };

        let limit = self.limits.decoded_from(received.len());
        let decoded =
            tokio::task::spawn_blocking(move || decode_body(&encoding, received, limit)).await;
        let error = match decoded.unwrap_or(Err(DecodeError::Damaged)) {
            Ok(bytes) => {
                return Ok(Page {
                    bytes,
                    media_type,
                    url: url.to_string(),
                    robots_tag,
                });
            }
            Err(DecodeError::TooLarge) => {
                too_large_error("The page has too many bytes once it is decompressed.")
            }
            Err(DecodeError::Damaged) => failed_error("The page's compression is damaged."),
            Err(DecodeError::Unsupported) => {
                failed_error("The page is compressed in a way that was not offered.")
            }
        };

        Err(error.into())
    }
}

fn build_get(url: &Url, target: &Target) -> http::Result<Request<Empty<Bytes>>> {
    // The host comes from the check: without a trailing dot, which certificates do not have.
    let port = match url.port() {
        Some(port) => format!(":{port}"),
        None => String::new(),
    };
    let address = format!(
        "{}://{}{port}{}",
        url.scheme(),
        target.host,
        &url[Position::BeforePath..Position::AfterQuery]
    );

    Request::get(address)
        .header(USER_AGENT, USER_AGENT_VALUE)
        .header(ACCEPT, MEDIA_TYPES)
        .header(ACCEPT_ENCODING, ACCEPTED_ENCODINGS)
        .header(CONNECTION, "close")
        .body(Empty::new())
}

/// Returns the failure for a request without an answer.
fn request_failure(error: &legacy::Error) -> AttemptFailure {
    if !error.is_connect() {
        return temporary_failure("The page's server gave no valid answer.");
    }

    match connector_error(error) {
        Some(ConnectError::Refused(refusal)) => blocked_error(*refusal).into(),
        Some(ConnectError::UnknownName) => {
            temporary_failure("The name of the page's server was not found.")
        }
        Some(ConnectError::Unreachable(_)) => {
            temporary_failure("The page's server cannot be reached.")
        }
        // Everything else happens between the connection and the request.
        None => temporary_failure(NO_SECURE_CONNECTION),
    }
}

/// Returns the address to which the page redirects, if it does.
fn redirect_target(
    url: &Url,
    status: StatusCode,
    headers: &HeaderMap,
) -> Result<Option<Url>, AttemptFailure> {
    let (true, Some(location)) = (
        matches!(status.as_u16(), 301 | 302 | 303 | 307 | 308),
        headers.get(LOCATION),
    ) else {
        return Ok(None);
    };
    if let Ok(location) = std::str::from_utf8(location.as_bytes())
        && let Ok(next) = url.join(location)
    {
        return Ok(Some(next));
    }
    Err(blocked_error(AddressRefusal::NotAnAddress).into())
}

fn blocked_error(refusal: AddressRefusal) -> FetchError {
    FetchError {
        kind: FetchErrorKind::Blocked,
        message: refusal.to_string(),
        status: None,
    }
}

fn failed_error(message: impl Into<String>) -> FetchError {
    FetchError {
        kind: FetchErrorKind::Failed,
        message: message.into(),
        status: None,
    }
}

fn too_large_error(message: impl Into<String>) -> FetchError {
    FetchError {
        kind: FetchErrorKind::TooLarge,
        message: message.into(),
        status: None,
    }
}

fn temporary_failure(message: &str) -> AttemptFailure {
    AttemptFailure {
        is_temporary: true,
        error: failed_error(message),
    }
}

impl From<FetchError> for AttemptFailure {
    fn from(error: FetchError) -> Self {
        Self {
            is_temporary: false,
            error,
        }
    }
}
