//! `POST /mcp`: the streamable HTTP transport of the protocol, without sessions.

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::{FromRef, FromRequestParts, Request, State};
use axum::response::{IntoResponse, Response};
use domain::Error;
use edge::{ApiError, App, ForwardedKey, MAX_JSON_BYTES};
use http::header::{ORIGIN, WWW_AUTHENTICATE};
use http::{HeaderMap, StatusCode};
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};

use crate::access::ApiAccess;
use crate::discovery;
use crate::server::McpServer;

/// The state of these routes.
#[derive(Clone)]
pub(crate) struct McpState {
    app: App,
    transport: StreamableHttpService<McpServer, NeverSessionManager>,
    /// The base address at which clients reach the service, if the operator has set one.
    pub(crate) public_url: Option<String>,
}

impl FromRef<McpState> for App {
    fn from_ref(state: &McpState) -> Self {
        state.app.clone()
    }
}

impl McpState {
    pub(crate) fn new(app: App, api: Router, public_url: Option<String>) -> Self {
        let server = McpServer::new(ApiAccess::to_routes(api));
        // Hosts are not checked here. A page whose name was made to resolve to this machine has no
        // API key, and the key `local` works for requests to a name of this machine only.
        let config = StreamableHttpServerConfig::default()
            .with_legacy_session_mode(false)
            .with_json_response(true)
            .with_max_request_body_bytes(MAX_JSON_BYTES)
            .disable_allowed_hosts();
        let sessions = Arc::new(NeverSessionManager::default());

        Self {
            app,
            transport: StreamableHttpService::new(move || Ok(server.clone()), sessions, config),
            public_url,
        }
    }
}

pub(crate) async fn serve_mcp(State(state): State<McpState>, request: Request) -> Response {
    let (mut parts, body) = request.into_parts();
    if let Err(error) = check_origin(&state.app, &parts.headers) {
        return ApiError(error).into_response();
    }

    let key = match ForwardedKey::from_request_parts(&mut parts, &state).await {
        Ok(key) => key,
        Err(error) => return refuse_key(&state, &parts.headers, error),
    };
    // The tools send the key on, and nothing else of the request.
    parts.extensions.insert(key);
    let request = Request::from_parts(parts, body);

    state.transport.handle(request).await.map(Body::new)
}

/// Refuses pages that may not call the API, as the specification asks. Browsers would not show them
/// the answer, but the tool would have been called.
fn check_origin(app: &App, headers: &HeaderMap) -> Result<(), Error> {
    let allowed_origins = app.allowed_origins();
    if headers
        .get_all(ORIGIN)
        .iter()
        .all(|origin| allowed_origins.allows(origin))
    {
        return Ok(());
    }
    Err(Error::Forbidden(
        "pages of this origin may not call the service: the operator sets RECOLLECT_CORS_ORIGINS"
            .to_owned(),
    ))
}

/// Answers a request whose key is missing or refused.
fn refuse_key(state: &McpState, headers: &HeaderMap, error: ApiError) -> Response {
    let mut response = error.into_response();
    if response.status() == StatusCode::UNAUTHORIZED {
        let challenge = discovery::challenge(state, headers);
        response.headers_mut().insert(WWW_AUTHENTICATE, challenge);
    }
    response
}
