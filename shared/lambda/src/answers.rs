//! Answers above the limit of a function. They are compressed for clients that accept it. What is
//! still too large is stored, and the client is redirected to it.

use std::sync::Arc;

use aws::{AnswerStore, LargeAnswer};
use axum::Router;
use axum::body::{Body, HttpBody, to_bytes};
use axum::extract::{Request, State};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use domain::Error;
use domain::ports::Clock;
use edge::{ApiError, Json};
use lambda_http::http::header::{CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, LOCATION};
use lambda_http::http::response::Parts;
use lambda_http::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use serde_json::json;
use tower_http::compression::{CompressionLayer, Predicate};

/// The most bytes of a response, with its headers (Lambda quotas, "Invocation payload").
const MAX_RESPONSE_BYTES: usize = 6 * 1024 * 1024;
/// The room for the status and the headers of a response, in bytes.
const HEADER_BYTES: usize = 64 * 1024;
/// The most bytes of an encoded body.
const MAX_ENCODED_BYTES: usize = MAX_RESPONSE_BYTES - HEADER_BYTES;
/// The most bytes of a body that is not compressed. Base64 makes four bytes of three.
const MAX_PLAIN_BYTES: usize = MAX_ENCODED_BYTES / 4 * 3;

/// Keeps the answers of `routes` within the limit of a function. Answers that do not fit are
/// compressed, or else stored: the client gets status 303 and an address to fetch them from.
pub fn limit_answers(routes: Router, store: AnswerStore, clock: Arc<dyn Clock>) -> Router {
    let compression = CompressionLayer::new().compress_when(IsLarge);
    routes
        .layer(compression)
        .layer(from_fn_with_state((store, clock), redirect_to_large_answer))
}

/// Selects the answers to compress.
#[derive(Clone, Copy)]
struct IsLarge;

impl Predicate for IsLarge {
    fn should_compress<B: HttpBody>(&self, response: &lambda_http::http::Response<B>) -> bool {
        response.body().size_hint().lower() > MAX_PLAIN_BYTES as u64
    }
}

/// Stores an answer that is too large, and redirects the client to it.
async fn redirect_to_large_answer(
    State((store, clock)): State<(AnswerStore, Arc<dyn Clock>)>,
    request: Request,
    next: Next,
) -> Response {
    let (parts, body) = next.run(request).await.into_parts();
    let body = match to_bytes(body, usize::MAX).await {
        Ok(body) => body,
        Err(error) => return ApiError(Error::Internal(Box::new(error))).into_response(),
    };
    if encoded_len(&parts.headers, &body) <= MAX_ENCODED_BYTES {
        return Response::from_parts(parts, Body::from(body));
    }

    let answer = LargeAnswer {
        body,
        content_type: header_text(&parts.headers, CONTENT_TYPE),
        content_encoding: header_text(&parts.headers, CONTENT_ENCODING),
    };
    match store.store(answer, clock.now()).await {
        Ok(address) => redirect(parts, &address),
        Err(error) => ApiError::from(error).into_response(),
    }
}

/// Returns the bytes that a body takes in a response: as a JSON string if it is text, or else as
/// Base64.
fn encoded_len(headers: &HeaderMap, body: &Bytes) -> usize {
    let content_type = headers.get(CONTENT_TYPE).map(HeaderValue::as_bytes);
    let is_text = !headers.contains_key(CONTENT_ENCODING)
        && content_type.is_some_and(|kind| {
            kind.starts_with(b"application/json") || kind.starts_with(b"text/")
        });

    if is_text {
        body.iter().map(|byte| escaped_len(*byte)).sum()
    } else {
        body.len().div_ceil(3) * 4
    }
}

/// Returns the bytes that one byte takes in a JSON string.
fn escaped_len(byte: u8) -> usize {
    match byte {
        b'"' | b'\\' | b'\n' | b'\r' | b'\t' | 0x08 | 0x0C => 2,
        0..0x20 => 6,
        _ => 1,
    }
}

fn header_text(headers: &HeaderMap, name: HeaderName) -> Option<String> {
    Some(headers.get(name)?.to_str().ok()?.to_owned())
}

/// Returns the answer that redirects a client to `address`. It keeps the other headers of the answer
/// that it stands for.
fn redirect(answer: Parts, address: &str) -> Response {
    let Ok(location) = HeaderValue::from_str(address) else {
        return ApiError(Error::internal("the address of an answer is no header")).into_response();
    };
    let body = json!({
        "message": "The answer is too large for one response. Get it from `location` within five \
                    minutes, without a key.",
        "location": address,
    });

    let mut response = (StatusCode::SEE_OTHER, Json(body)).into_response();
    let mut headers = answer.headers;
    for name in [CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE] {
        headers.remove(name);
    }
    response.headers_mut().extend(headers);
    response.headers_mut().insert(LOCATION, location);
    response
}
