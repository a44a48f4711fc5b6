//! What surrounds every router: request ids, one log line a request, JSON for what no route answers, panics as 500.

use std::any::Any;
use std::time::Instant;

use axum::Router;
use axum::extract::{DefaultBodyLimit, MatchedPath, Request};
use axum::middleware::{Next, from_fn};
use axum::response::{IntoResponse, Response};
use domain::usecase::Authenticator;
use domain::{Ctx, Error, Revision};
use http::{HeaderName, HeaderValue};
use tower_http::catch_panic::CatchPanicLayer;
use tracing::{error, info};

use crate::error::ApiError;

/// The state of every router.
#[derive(Clone)]
pub struct App {
    /// The ports.
    pub ctx: Ctx,
    /// Verifies keys.
    pub authenticator: Authenticator,
}

/// The most bytes of a JSON body: 1 MB of text in the worst escaping (`\u0000` for each byte), and some room.
pub const MAX_JSON_BYTES: usize = 8 * 1024 * 1024;

static REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

tokio::task_local! {
    static CURRENT: String;
}

/// The id of the request being answered; empty outside one.
pub fn request_id() -> String {
    CURRENT.try_with(Clone::clone).unwrap_or_default()
}

/// Wraps a function's routes into a complete service.
pub fn finish(routes: Router) -> Router {
    routes
        .fallback(|| async { ApiError(Error::NotFound("Route")) })
        .method_not_allowed_fallback(|| async {
            let mut response =
                ApiError(Error::invalid("this route does not take this method")).into_response();
            *response.status_mut() = http::StatusCode::METHOD_NOT_ALLOWED;
            response
        })
        .layer(DefaultBodyLimit::max(MAX_JSON_BYTES))
        .layer(CatchPanicLayer::custom(panicked))
        .layer(from_fn(observe))
}

/// The text of a panic may quote what was sent, so it goes nowhere from here.
fn panicked(_: Box<dyn Any + Send>) -> Response {
    ApiError(Error::internal("a panic while answering a request")).into_response()
}

/// Gives the request an id and logs it once, without anything that was sent.
async fn observe(request: Request, next: Next) -> Response {
    let id = Revision::random().as_str().to_owned();
    let method = request.method().clone();
    let route = request.extensions().get::<MatchedPath>().map(|path| path.as_str().to_owned());
    let begun = Instant::now();
    let mut response = CURRENT.scope(id.clone(), next.run(request)).await;
    let status = response.status().as_u16();
    let route = route.unwrap_or_else(|| "unknown".into());
    let duration_ms = begun.elapsed().as_secs_f64() * 1000.0;
    if response.status().is_server_error() {
        error!(request.id = %id, %method, route, status, duration_ms, "{method} {route} answered {status}");
    } else {
        info!(request.id = %id, %method, route, status, duration_ms, "{method} {route} answered {status}");
    }
    if let Ok(value) = HeaderValue::from_str(&id) {
        response.headers_mut().insert(REQUEST_ID.clone(), value);
    }
    response
}
