//! The layers around every router: calls from web pages, request ids, one log line and one record for
//! each request, JSON answers for unknown routes, and status 500 for panics.

use std::any::Any;
use std::sync::Arc;

use axum::Router;
use axum::extract::{DefaultBodyLimit, Request, State};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use domain::Error;
use domain::ports::{RerankModel, TextEmbedder};
use http::{HeaderName, HeaderValue, Method};
use service::Authenticator;
use service::Ctx;
use tower_http::catch_panic::CatchPanicLayer;
use tracing::{Instrument, error, info};

use crate::cors::AllowedOrigins;
use crate::error::ApiError;
use crate::provider_names::ProviderNames;
use crate::request_log::{IncomingRequest, LogContentCache};
use crate::wrong_keys::WrongKeys;

/// The state that every router shares.
#[derive(Clone)]
pub struct App {
    /// The ports.
    pub ctx: Ctx,
    /// Verifies keys.
    pub authenticator: Authenticator,
    /// The names that answers have for the cloud drive.
    pub provider_names: ProviderNames,
    /// The model that the operator chose for vectors of texts.
    pub embedder: Option<Arc<dyn TextEmbedder>>,
    /// The model that the operator chose for a second look at search results.
    pub rerank_model: Option<Arc<dyn RerankModel>>,
    /// Caches what each organization wants to be logged.
    pub(crate) log_content_cache: LogContentCache,
    /// Counts wrong keys by client address.
    pub(crate) wrong_keys: WrongKeys,
    /// The origins whose pages may call the API.
    allowed_origins: AllowedOrigins,
}

impl App {
    /// Returns the state for the routers of one process.
    pub fn new(ctx: Ctx, authenticator: Authenticator) -> Self {
        Self {
            ctx,
            authenticator,
            provider_names: ProviderNames::default(),
            embedder: None,
            rerank_model: None,
            log_content_cache: LogContentCache::default(),
            wrong_keys: WrongKeys::default(),
            allowed_origins: AllowedOrigins::default(),
        }
    }

    /// Limits the web pages that may call the API. Without this, all may.
    #[must_use]
    pub fn with_allowed_origins(self, allowed_origins: AllowedOrigins) -> Self {
        Self {
            allowed_origins,
            ..self
        }
    }

    /// Sets the model that embeds questions. Without this, only the built-in embedder does.
    #[must_use]
    pub fn with_embedder(self, embedder: Option<Arc<dyn TextEmbedder>>) -> Self {
        Self { embedder, ..self }
    }

    /// Sets the model that reranks search results. Without this, words and built-in vectors do.
    #[must_use]
    pub fn with_rerank_model(self, rerank_model: Option<Arc<dyn RerankModel>>) -> Self {
        Self {
            rerank_model,
            ..self
        }
    }

    /// Returns the origins whose pages may call the API.
    pub fn allowed_origins(&self) -> &AllowedOrigins {
        &self.allowed_origins
    }

    /// Sets the names that the answers of `/v3` and `/v4` have for the cloud drive. Without this,
    /// they are those of this service.
    #[must_use]
    pub fn with_provider_names(self, provider_names: ProviderNames) -> Self {
        Self {
            provider_names,
            ..self
        }
    }
}

/// The largest JSON body in bytes: 1 MB of text in the worst escaping (`\u0000` for each byte), and
/// some room.
pub const MAX_JSON_BYTES: usize = 8 * 1024 * 1024;

pub(crate) static REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// Adds the fallbacks and layers that turn a function's routes into a complete service.
pub fn build_service(routes: Router, app: &App) -> Router {
    routes
        .fallback(|| async { ApiError(Error::NotFound("Route")) })
        .method_not_allowed_fallback(|| async {
            let mut response =
                ApiError(Error::invalid("this route does not take this method")).into_response();
            *response.status_mut() = http::StatusCode::METHOD_NOT_ALLOWED;
            response
        })
        .layer(DefaultBodyLimit::max(MAX_JSON_BYTES))
        .layer(CatchPanicLayer::custom(answer_panic))
        .layer(from_fn_with_state(app.clone(), observe_request))
        .layer(app.allowed_origins.layer())
}

/// Answers a request whose handler panicked. The text of the panic may quote the request, so it is
/// neither answered nor logged.
fn answer_panic(_: Box<dyn Any + Send>) -> Response {
    ApiError(Error::internal("a panic while answering a request")).into_response()
}

/// Returns the name of a method in metrics. Clients can make up methods, but no new metrics.
fn method_label(method: &Method) -> &'static str {
    match *method {
        Method::GET => "GET",
        Method::HEAD => "HEAD",
        Method::OPTIONS => "OPTIONS",
        Method::POST => "POST",
        Method::PUT => "PUT",
        Method::PATCH => "PATCH",
        Method::DELETE => "DELETE",
        _ => "other",
    }
}

/// Gives the request an id, logs it once without any of its content, and records it for its
/// organization and in a trace.
async fn observe_request(State(app): State<App>, request: Request, next: Next) -> Response {
    let incoming_request = IncomingRequest::new(&app.ctx, &request);
    let IncomingRequest {
        id, method, route, ..
    } = &incoming_request;
    let span = spans::request_span(method, route, id, request.headers());
    let response = incoming_request
        .run_as_current(&app, next.run(request))
        .instrument(span.clone())
        .await;
    spans::record_status(&span, response.status());

    let micros = incoming_request.elapsed_micros();
    let mut response = incoming_request.write_record(&app, response, micros).await;
    let trace_id = spans::trace_id(&span);
    let (status, duration_ms) = (response.status().as_u16(), micros as f64 / 1000.0);
    metrics::histogram!(
        "recollect_http_request_duration_seconds",
        "method" => method_label(method),
        "route" => route.clone(),
        "status" => status.to_string(),
    )
    .record(micros as f64 / 1e6);
    // A request for something unsupported is the caller's error, not a failure of the server.
    if response.status().is_server_error() && response.status() != http::StatusCode::NOT_IMPLEMENTED
    {
        error!(request.id = %id, trace_id, %method, route, status, duration_ms, "{method} {route} answered {status}");
    } else {
        info!(request.id = %id, trace_id, %method, route, status, duration_ms, "{method} {route} answered {status}");
    }

    if let Ok(value) = HeaderValue::from_str(id) {
        response.headers_mut().insert(REQUEST_ID.clone(), value);
    }

    response
}
