//! The way to the API that a request of the protocol may use.

use api_client::ApiClient;
use axum::Router;
use axum::extract::Request;
use axum::middleware::{Next, from_fn};
use axum::response::Response;
use edge::{ForwardedKey, LoopbackPeer};
use http::request::Parts;
use rmcp::ErrorData;
use rmcp::model::Extensions;

/// The way to the API.
#[derive(Debug, Clone)]
pub(crate) enum ApiAccess {
    /// One client with one key, for the only caller of a process.
    OneCaller(ApiClient),
    /// Routes in this process, which get the key of each request.
    EachCaller {
        /// For requests that came from this machine itself.
        from_loopback: ApiClient,
        /// For every other request.
        from_elsewhere: ApiClient,
    },
}

impl ApiAccess {
    /// Returns access to `api` with the key of each caller.
    pub(crate) fn to_routes(api: Router) -> Self {
        Self::EachCaller {
            from_loopback: client_of(api.clone().layer(from_fn(mark_as_loopback))),
            from_elsewhere: client_of(api.layer(from_fn(mark_as_remote))),
        }
    }

    /// Returns the client for a request of the protocol, by what its HTTP request has proved.
    ///
    /// # Errors
    /// An internal error if the request was not authenticated, which [`crate::router`] rules out.
    pub(crate) fn client_for(&self, extensions: &Extensions) -> Result<ApiClient, ErrorData> {
        let (from_loopback, from_elsewhere) = match self {
            Self::OneCaller(client) => return Ok(client.clone()),
            Self::EachCaller {
                from_loopback,
                from_elsewhere,
            } => (from_loopback, from_elsewhere),
        };

        let parts = extensions.get::<Parts>();
        let Some(caller) = parts.and_then(|parts| parts.extensions.get::<ForwardedKey>()) else {
            return Err(ErrorData::internal_error(
                "the request has no authenticated key",
                None,
            ));
        };
        let client = if caller.from_loopback {
            from_loopback
        } else {
            from_elsewhere
        };

        Ok(client.clone().with_key(caller.key.clone()))
    }
}

/// Returns a client of routes in this process. It does not wait for another attempt: the caller of
/// the tool can make one.
fn client_of(routes: Router) -> ApiClient {
    ApiClient::in_process(routes).without_retries()
}

async fn mark_as_loopback(mut request: Request, next: Next) -> Response {
    request.extensions_mut().insert(LoopbackPeer);
    next.run(request).await
}

/// Removes the mark of this machine, whoever has set it: the key `local` must not work for a caller
/// from elsewhere because the routes are called from inside the process.
async fn mark_as_remote(mut request: Request, next: Next) -> Response {
    request.extensions_mut().remove::<LoopbackPeer>();
    next.run(request).await
}
