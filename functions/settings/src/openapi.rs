//! The OpenAPI description of the API.

use std::sync::LazyLock;

use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use domain::Error;
use edge::ApiResult;
use http::header::{CACHE_CONTROL, CONTENT_TYPE};
use serde_json::Value;

const TEXT: &str = include_str!("../../../openapi.yaml");

/// The description as JSON, converted on first use.
static DOCUMENT: LazyLock<Option<Bytes>> = LazyLock::new(|| {
    let document: Value = serde_norway::from_str(TEXT).ok()?;
    serde_json::to_vec(&document).ok().map(Bytes::from)
});

pub(crate) async fn show() -> ApiResult<Response> {
    let document = DOCUMENT
        .clone()
        .ok_or_else(|| Error::internal("openapi.yaml cannot be read"))?;
    let headers = [
        (CONTENT_TYPE, "application/json"),
        (CACHE_CONTROL, "public, max-age=300"),
    ];
    Ok((headers, document).into_response())
}
