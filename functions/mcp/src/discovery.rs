//! Tells clients how to authenticate: the metadata of a protected resource (RFC 9728), and
//! the header that points to it.
//!
//! The metadata names no authorization server, because there is none whose tokens the service
//! accepts. Clients send an API key as the bearer token.

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use edge::Json;
use http::header::{CACHE_CONTROL, HOST};
use http::uri::Authority;
use http::{HeaderMap, HeaderValue};
use serde::Serialize;

use crate::endpoint::McpState;

/// The path of the metadata about `/mcp`.
const METADATA_PATH: &str = "/.well-known/oauth-protected-resource/mcp";

/// The metadata of a protected resource, as RFC 9728 defines it.
#[derive(Debug, Serialize)]
struct ResourceMetadata {
    resource: String,
    resource_name: &'static str,
    resource_documentation: String,
    bearer_methods_supported: [&'static str; 1],
}

pub(crate) async fn show_metadata(State(state): State<McpState>, headers: HeaderMap) -> Response {
    let base = base_address(&state, &headers).unwrap_or_default();
    let metadata = ResourceMetadata {
        resource: format!("{base}/mcp"),
        resource_name: "Recollect",
        resource_documentation: format!("{base}/docs"),
        bearer_methods_supported: ["header"],
    };

    // The addresses may follow from the host that this request names.
    ([(CACHE_CONTROL, "no-store")], Json(metadata)).into_response()
}

/// Returns the header that tells a client without a valid key where the metadata is.
pub(crate) fn challenge(state: &McpState, headers: &HeaderMap) -> HeaderValue {
    let plain = HeaderValue::from_static("Bearer");
    let Some(base) = base_address(state, headers) else {
        return plain;
    };
    let text = format!("Bearer resource_metadata=\"{base}{METADATA_PATH}\"");
    HeaderValue::try_from(text).unwrap_or(plain)
}

/// Returns the address at which clients reach the service, without a slash at its end: the one that
/// the operator has set, or else the host that the request names.
fn base_address(state: &McpState, headers: &HeaderMap) -> Option<String> {
    if let Some(public_url) = &state.public_url {
        return Some(public_url.trim_end_matches('/').to_owned());
    }

    let host = headers.get(HOST)?.to_str().ok()?;
    let authority: Authority = host.parse().ok()?;
    if authority.as_str().contains('@') {
        return None;
    }
    // Without a public address, the service runs behind API Gateway, which speaks HTTPS only.
    Some(format!("https://{authority}"))
}
