//! The OpenAPI description of the API.

use std::sync::LazyLock;

use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use domain::Error;
use edge::ApiResult;
use http::header::{CACHE_CONTROL, CONTENT_TYPE};
use serde_json::Value;

const OPENAPI_YAML: &str = include_str!("../../../openapi.yaml");

/// The description as JSON, converted on first use.
static OPENAPI_JSON: LazyLock<Option<Bytes>> = LazyLock::new(|| {
    let document: Value = serde_norway::from_str(OPENAPI_YAML).ok()?;
    serde_json::to_vec(&document).ok().map(Bytes::from)
});

pub(crate) async fn show_openapi() -> ApiResult<Response> {
    let document = OPENAPI_JSON
        .clone()
        .ok_or_else(|| Error::internal("openapi.yaml cannot be read"))?;
    let headers = [
        (CONTENT_TYPE, "application/json"),
        (CACHE_CONTROL, "public, max-age=300"),
    ];
    Ok((headers, document).into_response())
}
