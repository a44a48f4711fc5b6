//! Extractors whose refusals have the contract's shape. The framework's own answer plain text and 422.

#![expect(clippy::disallowed_types, reason = "these are the replacements")]

use axum::extract::{FromRequest, FromRequestParts, Request};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use domain::{Error, Issue};
use http::request::Parts;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::error::ApiError;
use crate::router::MAX_JSON_BYTES;

/// A JSON body, whatever its declared type; an empty body counts as `{}`, because clients send none where every field
/// is optional.
#[derive(Debug)]
pub struct Json<T>(pub T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for Json<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, state: &S) -> Result<Self, ApiError> {
        let bytes = Bytes::from_request(request, state).await.map_err(|rejection| {
            let too_large = rejection.into_response().status() == http::StatusCode::PAYLOAD_TOO_LARGE;
            ApiError(if too_large {
                Error::TooLarge(format!("a JSON body has at most {MAX_JSON_BYTES} bytes"))
            } else {
                Error::invalid("the body ended early")
            })
        })?;
        parse(if bytes.is_empty() { b"{}" } else { &bytes }).map(Self).map_err(ApiError)
    }
}

fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Error> {
    let mut deserializer = serde_json::Deserializer::from_slice(bytes);
    let value = serde_path_to_error::deserialize(&mut deserializer).map_err(|error| {
        let path = error.path().to_string();
        let cause = error.inner();
        if cause.is_syntax() || cause.is_eof() {
            return Error::invalid(format!("the body is not valid JSON: {cause}"));
        }
        let message = cause.to_string();
        let message = message.split(" at line ").next().unwrap_or_default().to_owned();
        if path == "." {
            return Error::invalid(format!("the body is not as expected: {message}"));
        }
        let issue = Issue { path: path.split('.').map(str::to_owned).collect(), message: message.clone() };
        Error::Invalid { message: format!("{path}: {message}"), issues: vec![issue] }
    })?;
    deserializer.end().map_err(|_| Error::invalid("the body goes on after the JSON value"))?;
    Ok(value)
}

impl<T: Serialize> IntoResponse for Json<T> {
    fn into_response(self) -> Response {
        axum::Json(self.0).into_response()
    }
}

/// Parameters of the path.
#[derive(Debug)]
pub struct Path<T>(pub T);

impl<T: DeserializeOwned + Send, S: Send + Sync> FromRequestParts<S> for Path<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let path = axum::extract::Path::<T>::from_request_parts(parts, state).await;
        path.map(|path| Self(path.0)).map_err(|_| ApiError(Error::invalid("the path cannot be read")))
    }
}

/// Parameters of the query string.
#[derive(Debug)]
pub struct Query<T>(pub T);

impl<T: DeserializeOwned + Send, S: Send + Sync> FromRequestParts<S> for Query<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let query = axum::extract::Query::<T>::from_request_parts(parts, state).await;
        query.map(|query| Self(query.0)).map_err(|rejection| {
            let text = rejection.body_text();
            let why = text.rsplit(": ").next().unwrap_or_default();
            ApiError(Error::invalid(format!("the query string is not as expected: {why}")))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, serde::Deserialize)]
    #[expect(dead_code, reason = "only its shape matters")]
    struct Shape {
        outer: Vec<u8>,
    }

    #[test]
    fn wrong_types_name_their_place() {
        let message = |text: &str| parse::<Shape>(text.as_bytes()).unwrap_err().to_string();
        assert!(
            message(r#"{"outer":[1,"x"]}"#).starts_with("outer[1]: invalid type"),
            "{}",
            message(r#"{"outer":[1,"x"]}"#)
        );
        assert!(message("{").contains("not valid JSON"));
        assert!(message("{}").contains("missing field `outer`"));
        assert!(message(r#"{"outer":[]} x"#).contains("goes on"));
    }
}
