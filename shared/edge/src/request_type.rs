//! The classification of requests for the request log and the analytics.

use domain::activity::RequestType;
use http::Method;

/// The type of every route with `POST`. A test of the deployment compares the routes with the code.
pub const POST_TYPES: &[(&str, RequestType)] = &[
    ("/v3/documents", RequestType::Add),
    ("/v3/documents/batch", RequestType::Add),
    ("/v3/documents/documents", RequestType::Request),
    ("/v3/documents/documents/by-ids", RequestType::Request),
    ("/v3/documents/file", RequestType::Add),
    ("/v3/documents/file/uploads", RequestType::Add),
    ("/v3/documents/list", RequestType::Request),
    ("/v3/documents/{id}/retry", RequestType::Add),
    ("/v3/memories", RequestType::Add),
    ("/v3/memories/batch", RequestType::Add),
    ("/v3/memories/file", RequestType::Add),
    ("/v3/memories/list", RequestType::Request),
    ("/v4/conversations", RequestType::Add),
    ("/v4/memories", RequestType::Add),
    ("/v4/memories/forget-matching", RequestType::Delete),
    ("/v4/memories/list", RequestType::Request),
    (
        "/v3/container-tags/{tag}/inferred/{memoryId}/review",
        RequestType::Update,
    ),
    ("/v4/search", RequestType::Search),
    ("/v3/search", RequestType::Search),
    ("/v4/profile", RequestType::Search),
    ("/v4/profile/buckets", RequestType::Request),
    ("/v3/container-tags/merge", RequestType::Update),
    ("/v3/settings/reset", RequestType::Update),
    ("/v3/settings/suggest-buckets", RequestType::Request),
    ("/v3/session", RequestType::Request),
    ("/v3/auth/scoped-key", RequestType::Request),
    ("/v3/auth/agent-key", RequestType::Request),
    ("/v3/connections/list", RequestType::Request),
    ("/v3/connections/{id}", RequestType::Request),
    ("/v3/connections/{id}/connection", RequestType::Request),
    ("/v3/connections/{id}/documents", RequestType::Request),
    ("/v3/connections/{id}/import", RequestType::Add),
    ("/v3/connections/{id}/reconnect", RequestType::Request),
    ("/v3/connections/{id}/configure", RequestType::Update),
    (
        "/v3/connections/{id}/cloud-drive/hosted-picker",
        RequestType::Request,
    ),
    (
        "/v3/connections/{id}/google-drive/hosted-picker",
        RequestType::Request,
    ),
    ("/v3/connections/{id}/notifications", RequestType::Request),
    ("/ns/{namespace}/document", RequestType::Add),
    ("/ns/{namespace}/document/batch", RequestType::Add),
    ("/ns/{namespace}/document/file", RequestType::Add),
    ("/ns/{namespace}/document/file/{id}", RequestType::Update),
    ("/ns/{namespace}/list/documents", RequestType::Request),
    (
        "/ns/{namespace}/list/documents/memory-counts",
        RequestType::Request,
    ),
    ("/ns/{namespace}/list/memories", RequestType::Request),
    ("/ns/{namespace}/search", RequestType::Search),
    ("/ns/{namespace}/profile", RequestType::Search),
    ("/ns/{namespace}/list/chunks", RequestType::Request),
    ("/ns/{namespace}/connectors", RequestType::Request),
    ("/ns/{namespace}/connectors/{id}/sync", RequestType::Add),
    ("/picker/api/complete", RequestType::Request),
    ("/console/session", RequestType::Request),
    ("/mcp", RequestType::Request),
];

/// Returns the type of a request to a route.
pub(crate) fn classify_request(method: &Method, route: &str) -> RequestType {
    match *method {
        Method::DELETE => RequestType::Delete,
        Method::PATCH | Method::PUT => RequestType::Update,
        Method::POST => {
            let entry = POST_TYPES.iter().find(|(path, _)| *path == route);
            entry.map_or(RequestType::Request, |(_, kind)| *kind)
        }
        _ => RequestType::Request,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_what_their_method_and_route_say() {
        let cases = [
            (Method::POST, "/v3/documents", "add"),
            (Method::POST, "/v3/documents/{id}/retry", "add"),
            (Method::POST, "/v3/documents/list", "request"),
            (Method::POST, "/v4/search", "search"),
            (Method::POST, "/v4/profile/buckets", "request"),
            (Method::POST, "/v4/memories/forget-matching", "delete"),
            (Method::POST, "/v3/auth/scoped-key", "request"),
            (Method::PATCH, "/v3/settings", "update"),
            (Method::PUT, "/v3/auth/keys/{id}/toggle", "update"),
            (Method::DELETE, "/v3/documents/bulk", "delete"),
            (Method::GET, "/v3/search", "request"),
            (Method::POST, "/ns/{namespace}/document", "add"),
            (Method::DELETE, "/ns/{namespace}/memories", "delete"),
        ];
        for (method, route, expected) in cases {
            assert_eq!(
                classify_request(&method, route).as_str(),
                expected,
                "{method} {route}"
            );
        }
    }
}
