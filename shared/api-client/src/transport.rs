//! The two ways to a service: HTTP, and routers in this process.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderMap, Request, StatusCode};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use tower::ServiceExt;
use url::Url;

use crate::error::{ApiError, InvalidUrl};
use crate::form::Form;

/// The time for one call. A file of the largest size takes minutes on a slow line.
const CALL_TIMEOUT: Duration = Duration::from_secs(300);
/// The largest answer. A container with thousands of memories has some megabytes.
const MAX_ANSWER_BYTES: usize = 256 * 1024 * 1024;
/// The name of routers in this process in error messages.
const IN_PROCESS: &str = "the service in this process";

/// The way to a service.
#[derive(Clone)]
pub(crate) enum Transport {
    Router(Box<Router>),
    Http {
        client: Arc<remote::ApiClient>,
        /// The address without a slash at its end.
        base: String,
    },
}

/// An answer with its whole body.
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

impl Transport {
    /// Returns the way to a server.
    pub(crate) fn over_http(address: &str) -> Result<Self, InvalidUrl> {
        Ok(Self::Http {
            client: Arc::new(remote::ApiClient::new(concat!(
                "recollect/",
                env!("CARGO_PKG_VERSION")
            ))),
            base: parse_address(address)?,
        })
    }

    /// Returns the address for people.
    pub(crate) fn address(&self) -> &str {
        match self {
            Self::Router(_) => IN_PROCESS,
            Self::Http { base, .. } => base,
        }
    }

    /// Returns the address of a path.
    pub(crate) fn url_of(&self, path_and_query: &str) -> String {
        match self {
            Self::Router(_) => path_and_query.to_owned(),
            Self::Http { base, .. } => format!("{base}{path_and_query}"),
        }
    }

    /// Sends a request and reads its answer.
    pub(crate) async fn call(&self, request: Request<Bytes>) -> Result<Answer, ApiError> {
        match self {
            Self::Router(router) => call_router(router, request).await,
            Self::Http { client, base } => call_server(client, base, request).await,
        }
    }

    /// Checks whether forms of the bucket lead somewhere. Without a server they do not.
    pub(crate) fn has_bucket(&self) -> bool {
        matches!(self, Self::Http { .. })
    }

    /// Sends a form to the bucket, without a key: the form is signed.
    pub(crate) async fn store(&self, url: &str, form: Form) -> Result<Answer, ApiError> {
        let request = Request::post(url)
            .header(CONTENT_TYPE, form.media_type)
            .body(form.body)?;
        self.call(request).await
    }

    /// Fetches an answer that the server has stored elsewhere, from an address that serves it
    /// without a key.
    pub(crate) async fn fetch_stored(&self, location: &str) -> Result<Answer, ApiError> {
        let unexpected = || ApiError::Unexpected {
            address: self.address().to_owned(),
            status: StatusCode::SEE_OTHER,
        };
        let Self::Http { client, base } = self else {
            return Err(unexpected());
        };

        let Ok(location) = Url::parse(base).and_then(|base| base.join(location)) else {
            return Err(unexpected());
        };
        // An answer over TLS must not be replaced by one without.
        let is_safe = location.scheme() == "https"
            || (location.scheme() == "http" && base.starts_with("http:"));
        if !is_safe {
            return Err(unexpected());
        }

        let request = Request::get(location.as_str()).body(Bytes::new())?;
        call_server(client, base, request).await
    }
}

/// Returns the address of a server without a slash at its end.
fn parse_address(text: &str) -> Result<String, InvalidUrl> {
    let refuse = |reason| Err(InvalidUrl { reason });
    let Ok(url) = Url::parse(text.trim()) else {
        return refuse("this is not an address");
    };
    if !matches!(url.scheme(), "http" | "https") || url.host().is_none() {
        return refuse("the address does not begin with http:// or https://");
    }
    if !url.username().is_empty() || url.password().is_some() {
        return refuse("the address contains a name or a password, which others could see");
    }
    if url.query().is_some() || url.fragment().is_some() {
        return refuse("the address contains ? or #");
    }
    Ok(url.as_str().trim_end_matches('/').to_owned())
}

async fn call_router(router: &Router, request: Request<Bytes>) -> Result<Answer, ApiError> {
    let response = router.clone().oneshot(request.map(Body::from)).await;
    let (parts, body) = match response {
        Ok(response) => response.into_parts(),
        Err(never) => match never {},
    };

    match Limited::new(body, MAX_ANSWER_BYTES).collect().await {
        Ok(collected) => Ok(Answer {
            status: parts.status,
            headers: parts.headers,
            body: collected.to_bytes(),
        }),
        Err(error) if error.is::<LengthLimitError>() => Err(ApiError::TooLarge),
        Err(_) => Err(ApiError::Unexpected {
            address: IN_PROCESS.to_owned(),
            status: parts.status,
        }),
    }
}

async fn call_server(
    client: &remote::ApiClient,
    base: &str,
    request: Request<Bytes>,
) -> Result<Answer, ApiError> {
    let to_error = |error| match error {
        remote::ApiError::TimedOut => ApiError::TimedOut {
            address: base.to_owned(),
        },
        cause => ApiError::Unreachable {
            address: base.to_owned(),
            cause,
        },
    };

    let response = client.send(request, CALL_TIMEOUT).await.map_err(to_error)?;
    let (status, headers) = (response.status(), response.headers().clone());
    let body = response.read_body(MAX_ANSWER_BYTES).await;
    match body.map_err(to_error)? {
        Some(body) => Ok(Answer {
            status,
            headers,
            body,
        }),
        None => Err(ApiError::TooLarge),
    }
}
