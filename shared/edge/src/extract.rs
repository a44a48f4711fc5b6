//! Extractors whose refusals have the error shape of the API. Those of the framework answer plain
//! text and 422.

#![expect(clippy::disallowed_types, reason = "these are the replacements")]

use axum::extract::{FromRequest, FromRequestParts, Request};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use domain::{Error, RequestIssue};
use http::header::HeaderName;
use http::request::Parts;
use http::{HeaderMap, Uri};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};
use serde_path_to_error::Segment;

use crate::error::ApiError;
use crate::request_log::note_request_body;
use crate::scope_names::{FieldNames, QueryIsRead, check_query};
use crate::value_count::check_value_count;

/// A JSON body, whatever its declared media type. An empty body counts as `{}`, because clients
/// send none where every field is optional.
#[derive(Debug)]
pub struct Json<T>(pub T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for Json<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, state: &S) -> Result<Self, ApiError> {
        let fields = FieldNames::of::<T>();
        let object = read_object(request, state, &fields).await?;
        Ok(Self(deserialize_fields(object)?))
    }
}

/// A JSON body from which two types, which are structs, each read their own fields. Unlike
/// `serde(flatten)`, this keeps the path of a wrong value.
#[derive(Debug)]
pub struct JsonParts<A, B>(pub A, pub B);

impl<A: DeserializeOwned, B: DeserializeOwned, S: Send + Sync> FromRequest<S> for JsonParts<A, B> {
    type Rejection = ApiError;

    async fn from_request(request: Request, state: &S) -> Result<Self, ApiError> {
        let (first, second) = (FieldNames::of::<A>(), FieldNames::of::<B>());
        let fields = first.clone().merge(second.clone());
        let mut object = read_object(request, state, &fields).await?;

        let taken = take_fields(&mut object, &first, &second);
        Ok(Self(
            deserialize_fields(taken)?,
            deserialize_fields(object)?,
        ))
    }
}

/// Takes the fields that a type reads out of an object, so that a large one is not copied. Those that
/// the other type reads as well are copied.
fn take_fields(object: &mut Value, fields: &FieldNames, other: &FieldNames) -> Value {
    let mut taken = Map::new();
    if let Value::Object(object) = object {
        for name in fields.iter() {
            let value = if other.contain(name) {
                object.get(name).cloned()
            } else {
                object.shift_remove(name)
            };
            if let Some(value) = value {
                taken.insert(name.to_owned(), value);
            }
        }
    }

    taken.into()
}

/// Reads a body that has to be one JSON object, and notes it for the request log. Refuses misspelled
/// scopes among its fields, and scopes in a query string that is not read.
async fn read_object<S: Send + Sync>(
    request: Request,
    state: &S,
    fields: &FieldNames,
) -> Result<Value, Error> {
    let query = check_query(&request, fields);
    let object = parse_object(&read_body(request, state).await?)?;
    note_request_body(&object);

    query?;
    fields.check_names(field_names(&object))?;
    Ok(object)
}

/// Reads a body.
///
/// # Errors
/// [`Error::TooLarge`] above the limit of the route, and [`Error::Invalid`] if the body broke off.
pub async fn read_body<S: Send + Sync>(request: Request, state: &S) -> Result<Bytes, Error> {
    let refusal = match Bytes::from_request(request, state).await {
        Ok(bytes) => return Ok(bytes),
        Err(rejection) => rejection.into_response(),
    };

    if refusal.status() == http::StatusCode::PAYLOAD_TOO_LARGE {
        return Err(Error::TooLarge(
            "the body has more bytes than this route takes; send less at a time, or a file".into(),
        ));
    }
    Err(Error::invalid("the body ended early, or came too slowly"))
}

/// Parses a body that has to be one JSON object.
fn parse_object(bytes: &[u8]) -> Result<Value, Error> {
    let bytes = if bytes.is_empty() { b"{}" } else { bytes };
    check_value_count(bytes)?;

    let value = match parse_value(bytes) {
        // compat: a client in JavaScript that cuts a text may cut an emoji in half.
        Err(_) if let Some(whole) = replace_lone_surrogates(bytes) => parse_value(&whole)?,
        parsed => parsed?,
    };
    if value.is_object() {
        Ok(value)
    } else {
        Err(Error::invalid("the body is not a JSON object"))
    }
}

/// Parses one JSON value.
fn parse_value(bytes: &[u8]) -> Result<Value, Error> {
    let mut deserializer = serde_json::Deserializer::from_slice(bytes);
    let value = Value::deserialize(&mut deserializer)
        .map_err(|error| Error::invalid(format!("the body is not valid JSON: {error}")))?;
    if deserializer.end().is_err() {
        return Err(Error::invalid("the body goes on after the JSON value"));
    }
    Ok(value)
}

/// Returns JSON in which each escape of half a character is one of the replacement character, or `None` if
/// there are no such escapes. JSON allows them, but they are no text.
fn replace_lone_surrogates(json: &[u8]) -> Option<Vec<u8>> {
    /// The length of an escape such as `\u00e4`.
    const ESCAPE_BYTES: usize = 6;
    let unit = |at: usize| -> Option<u16> {
        let digits = json.get(at..at + ESCAPE_BYTES)?.strip_prefix(b"\\u")?;
        u16::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
    };

    let mut replaced: Option<Vec<u8>> = None;
    let mut at = 0;
    while let Some(offset) = json[at..].iter().position(|byte| *byte == b'\\') {
        at += offset;
        let Some(first) = unit(at) else {
            // The escaped character is part of the escape.
            at = json.len().min(at + 2);
            continue;
        };
        let is_pair = matches!(first, 0xD800..=0xDBFF)
            && unit(at + ESCAPE_BYTES).is_some_and(|second| matches!(second, 0xDC00..=0xDFFF));
        if matches!(first, 0xD800..=0xDFFF) && !is_pair {
            let digits = at + 2..at + ESCAPE_BYTES;
            replaced.get_or_insert_with(|| json.to_vec())[digits].copy_from_slice(b"fffd");
        }
        at += if is_pair {
            2 * ESCAPE_BYTES
        } else {
            ESCAPE_BYTES
        };
    }
    replaced
}

fn field_names(object: &Value) -> impl Iterator<Item = &str> {
    object
        .as_object()
        .into_iter()
        .flatten()
        .map(|(name, _)| name.as_str())
}

/// Reads a JSON value that is part of a request. If `T` has a scope of its own, misspelled scopes
/// in it are refused as in a whole body.
///
/// # Errors
/// [`Error::Invalid`] that names the path of a wrong value.
pub fn parse_fields<'de, T: Deserialize<'de>>(value: &'de Value) -> Result<T, Error> {
    let fields = FieldNames::of::<T>();
    if fields.contain_scope() {
        fields.check_names(field_names(value))?;
    }
    deserialize_fields(value)
}

fn deserialize_fields<'de, T: Deserialize<'de>>(
    object: impl Deserializer<'de, Error = serde_json::Error>,
) -> Result<T, Error> {
    let error = match serde_path_to_error::deserialize(object) {
        Ok(fields) => return Ok(fields),
        Err(error) => error,
    };

    let mut path: Vec<String> = error.path().iter().map(segment_name).collect();
    let place = error.path().to_string();
    let reason = error.inner().to_string();
    let message = if path.is_empty() {
        format!("the body is not as expected: {reason}")
    } else {
        format!("{place}: {reason}")
    };

    path.extend(missing_field(&reason).map(str::to_owned));
    if path.is_empty() {
        return Err(Error::invalid(message));
    }
    let issue = RequestIssue {
        path,
        message: reason,
    };
    Err(Error::Invalid {
        message,
        issues: vec![issue],
    })
}

/// Returns the name of the field in serde's message about a missing field.
fn missing_field(reason: &str) -> Option<&str> {
    let (name, _) = reason.strip_prefix("missing field `")?.split_once('`')?;
    Some(name)
}

fn segment_name(segment: &Segment) -> String {
    match segment {
        Segment::Seq { index } => index.to_string(),
        Segment::Map { key } => key.clone(),
        Segment::Enum { variant } => variant.clone(),
        Segment::Unknown => "?".to_owned(),
    }
}

impl<T: Serialize> IntoResponse for Json<T> {
    fn into_response(self) -> Response {
        axum::Json(self.0).into_response()
    }
}

/// The parameters of the path.
#[derive(Debug)]
pub struct Path<T>(pub T);

impl<T: DeserializeOwned + Send, S: Send + Sync> FromRequestParts<S> for Path<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        match axum::extract::Path::<T>::from_request_parts(parts, state).await {
            Ok(path) => Ok(Self(path.0)),
            Err(_) => Err(ApiError(Error::invalid("the path cannot be read"))),
        }
    }
}

/// The parameters of the query string.
#[derive(Debug)]
pub struct Query<T>(pub T);

impl<T: DeserializeOwned + Send, S: Send + Sync> FromRequestParts<S> for Query<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let pairs = query_pairs(&parts.uri);
        FieldNames::of::<T>().check_names(pairs.iter().map(|(name, _)| name.as_str()))?;
        parts.extensions.insert(QueryIsRead);

        let text = match axum::extract::Query::<T>::from_request_parts(parts, state).await {
            Ok(query) => return Ok(Self(query.0)),
            Err(rejection) => rejection.body_text(),
        };
        // The text before the first colon only says that this is the query string.
        let reason = match text.split_once(": ") {
            Some((_, reason)) => reason,
            None => &text,
        };
        Err(ApiError(query_error(reason)))
    }
}

/// Returns the error for a query string. `reason` names the parameter before a colon, or in serde's
/// message about a missing field.
fn query_error(reason: &str) -> Error {
    if let Some(name) = missing_field(reason) {
        return Error::invalid_field(name, "missing");
    }
    match reason.split_once(": ") {
        Some((name, message)) if name.chars().all(|c| c.is_ascii_alphanumeric()) => {
            Error::invalid_field(name, message)
        }
        _ => Error::invalid(format!("the query string is not as expected: {reason}")),
    }
}

/// Returns the parameters of a query string as they were sent.
pub(crate) fn query_pairs(uri: &Uri) -> Vec<(String, String)> {
    match axum::extract::Query::try_from_uri(uri) {
        Ok(query) => query.0,
        Err(_) => Vec::new(),
    }
}

/// Returns the value of a header, if it is text.
pub(crate) fn header_text<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    headers.get(name)?.to_str().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value_count::MAX_JSON_VALUES;

    #[test]
    fn half_a_character_becomes_the_replacement_character() {
        for (escaped, text) in [
            (r"cut \ud83d", "cut \u{fffd}"),
            (r"\ude00 cut", "\u{fffd} cut"),
            (r"\ud83dx\ud83d\ude00", "\u{fffd}x\u{1f600}"),
            (r"\ud83d\ud83d\ude00", "\u{fffd}\u{1f600}"),
            (r"\\ud83d \uD83D", "\\ud83d \u{fffd}"),
        ] {
            let body = format!(r#"{{"q": "{escaped}"}}"#);
            let parsed = parse_object(body.as_bytes()).unwrap();
            assert_eq!(parsed["q"], text, "{escaped}");
        }
        for broken in [r#"{"q": "\ud83d"#, r#"{"q": "\ud8"}"#, r#"{"q": "\x"}"#] {
            assert!(parse_object(broken.as_bytes()).is_err(), "{broken}");
        }
    }

    #[derive(Debug, serde::Deserialize)]
    #[expect(dead_code, reason = "only its shape matters")]
    struct Shape {
        outer: Vec<u8>,
    }

    #[derive(Debug, serde::Deserialize)]
    struct First {
        #[serde(alias = "entries")]
        items: Vec<Value>,
        shared: u8,
    }

    #[derive(Debug, serde::Deserialize)]
    struct Second {
        shared: u8,
        name: Option<String>,
    }

    async fn extract_parts(body: String) -> Result<JsonParts<First, Second>, ApiError> {
        let request = Request::post("/").body(body.into()).unwrap();
        JsonParts::from_request(request, &()).await
    }

    #[tokio::test]
    async fn two_types_read_their_own_fields_and_those_that_they_share() {
        for name in ["items", "entries"] {
            let body = format!(r#"{{"name":"x","shared":7,"{name}":[1],"unknown":2}}"#);
            let JsonParts(first, second) = extract_parts(body).await.unwrap();
            assert_eq!(first.items, [1], "{name}");
            assert_eq!((first.shared, second.shared), (7, 7));
            assert_eq!(second.name.as_deref(), Some("x"));
        }

        let missing = extract_parts(r#"{"items":[]}"#.to_owned()).await;
        assert!(
            missing
                .unwrap_err()
                .0
                .to_string()
                .contains("missing field `shared`")
        );
        let wrong = extract_parts(r#"{"items":[],"shared":1,"name":2}"#.to_owned()).await;
        assert!(wrong.unwrap_err().0.to_string().starts_with("name: "));
    }

    #[test]
    fn a_body_with_too_many_values_is_refused_before_it_is_parsed() {
        // The body is cut off after the values, so the parser would answer with another error.
        let body = format!(r#"{{"outer":[{}"#, "0,".repeat(MAX_JSON_VALUES));
        let message = parse_object(body.as_bytes()).unwrap_err().to_string();
        assert!(message.contains("more than 500000 values"), "{message}");
    }

    #[test]
    fn wrong_types_name_their_place() {
        let error = |text: &str| {
            parse_object(text.as_bytes())
                .and_then(deserialize_fields::<Shape>)
                .unwrap_err()
        };
        let message = |text: &str| error(text).to_string();

        assert!(
            message(r#"{"outer":[1,"x"]}"#).starts_with("outer[1]: invalid type"),
            "{}",
            message(r#"{"outer":[1,"x"]}"#)
        );
        assert!(message("{").contains("not valid JSON"));
        assert!(message("[[1]]").contains("not a JSON object"));
        assert!(message("{}").contains("missing field `outer`"));
        let Error::Invalid { issues, .. } = error("{}") else {
            panic!("a missing field is another error");
        };
        assert_eq!(issues[0].path, ["outer"]);
        assert!(message(r#"{"outer":[]} x"#).contains("goes on"));
    }
}
