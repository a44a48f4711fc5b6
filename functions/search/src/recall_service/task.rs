//! What a task does before its routes: it takes the id of the request, and refuses other versions.

use axum::Router;
use axum::extract::Request;
use axum::middleware::{Next, from_fn};
use axum::response::{IntoResponse, Response};
use domain::Revision;
use edge::ForwardedRequestId;
use http::{HeaderName, StatusCode};

use super::{REQUEST_ID_HEADER, VERSION, VERSION_HEADER};

/// Returns the routes of a task, which answers what functions of its version pass on. A request
/// without their headers is answered as well.
pub fn task_routes(routes: Router) -> Router {
    routes.layer(from_fn(accept_forwarded))
}

async fn accept_forwarded(mut request: Request, next: Next) -> Response {
    if read_header(&request, VERSION_HEADER).is_some_and(|version| version != VERSION) {
        let refusal = (
            StatusCode::MISDIRECTED_REQUEST,
            "this task has another version",
        );
        return refusal.into_response();
    }
    let id = read_header(&request, REQUEST_ID_HEADER).and_then(Revision::parse);
    if let Some(id) = id {
        request.extensions_mut().insert(ForwardedRequestId(id));
    }
    next.run(request).await
}

fn read_header(request: &Request, name: HeaderName) -> Option<&str> {
    request.headers().get(name)?.to_str().ok()
}
