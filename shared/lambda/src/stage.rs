//! The stage of an API. Unless it is `$default`, it comes before every path and is part of no
//! route.

use std::convert::Infallible;

use axum::Router;
use axum::response::Response;
use lambda_http::http::Uri;
use lambda_http::request::RequestContext;
use lambda_http::tower::{Service, ServiceExt};
use lambda_http::{Request, RequestExt};

/// Returns the routes as a service that removes the stage from the path.
pub fn strip_stage(
    routes: Router,
) -> impl Service<Request, Response = Response, Error = Infallible, Future: Send> + Clone + Send {
    routes.map_request(|mut request: Request| {
        if let Some(uri) = uri_without_stage(&request) {
            *request.uri_mut() = uri;
        }
        request
    })
}

fn uri_without_stage(request: &Request) -> Option<Uri> {
    let context = request.request_context_ref()?;
    let stage = match context {
        RequestContext::ApiGatewayV1(context) => context.stage.as_deref(),
        RequestContext::ApiGatewayV2(context) => context.stage.as_deref(),
        _ => None,
    };

    let stage = stage.filter(|stage| *stage != "$default")?;
    // The path of a REST API event has no stage. `lambda_http` adds it unless the path already
    // seems to begin with it.
    let is_rest = matches!(context, RequestContext::ApiGatewayV1(_));
    if is_rest && request.raw_http_path().starts_with(&format!("/{stage}/")) {
        return None;
    }

    let rest = request
        .uri()
        .path_and_query()?
        .as_str()
        .strip_prefix('/')?
        .strip_prefix(stage)?;
    if !rest.starts_with('/') {
        return None;
    }
    rest.parse().ok()
}
