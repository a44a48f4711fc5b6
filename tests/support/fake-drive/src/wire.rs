//! Parsed requests, and answers.

use axum::body::Body;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::{HeaderMap, Response};
use serde_json::Value;

/// A parsed request.
#[derive(Debug, Clone)]
pub(crate) struct HttpCall {
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) query: Vec<(String, String)>,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
    /// The base URL at which the client reached the drive.
    pub(crate) base: String,
}

impl HttpCall {
    pub(crate) fn query_param(&self, name: &str) -> Option<&str> {
        self.query
            .iter()
            .find(|(key, _)| key == name)
            .map(|(_, value)| value.as_str())
    }

    pub(crate) fn query_flag(&self, name: &str) -> bool {
        self.query_param(name) == Some("true")
    }

    pub(crate) fn header_value(&self, name: &str) -> Option<&str> {
        self.headers.get(name).and_then(|value| value.to_str().ok())
    }

    pub(crate) fn bearer_token(&self) -> Option<&str> {
        let header = self
            .header_value("authorization")
            .and_then(|value| value.strip_prefix("Bearer "));
        header.or_else(|| self.query_param("access_token"))
    }

    /// Returns the user and the password of HTTP Basic authentication.
    pub(crate) fn basic_credentials(&self) -> Option<(String, String)> {
        let encoded = self.header_value("authorization")?.strip_prefix("Basic ")?;
        let text = String::from_utf8(STANDARD.decode(encoded).ok()?).ok()?;
        let (user, password) = text.split_once(':')?;
        Some((form_decode(user), form_decode(password)))
    }

    /// Parses the fields of a form.
    pub(crate) fn form_fields(&self) -> Vec<(String, String)> {
        url::form_urlencoded::parse(&self.body)
            .into_owned()
            .collect()
    }
}

/// Decodes a form-encoded text. OAuth 2.0 requires form encoding of names and passwords before they
/// go into Basic.
fn form_decode(text: &str) -> String {
    let pair = format!("v={text}");
    url::form_urlencoded::parse(pair.as_bytes())
        .next()
        .map_or_else(String::new, |(_, value)| value.into_owned())
}

/// An answer.
#[derive(Debug, Clone, Default)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(&'static str, String)>,
    pub(crate) body: Bytes,
}

impl Reply {
    pub(crate) fn new(status: u16, media_type: &str, body: impl Into<Bytes>) -> Self {
        Self {
            status,
            headers: vec![("content-type", media_type.to_owned())],
            body: body.into(),
        }
    }

    pub(crate) fn json_reply(status: u16, value: &Value) -> Self {
        Self::new(status, "application/json; charset=UTF-8", value.to_string())
    }

    pub(crate) fn html_reply(status: u16, body: &str) -> Self {
        let page =
            format!("<!DOCTYPE html>\n<html lang=\"en\"><meta charset=\"utf-8\">{body}</html>\n");
        Self::new(status, "text/html; charset=UTF-8", page)
    }

    pub(crate) fn empty_reply(status: u16) -> Self {
        Self {
            status,
            ..Self::default()
        }
    }

    pub(crate) fn redirect_reply(location: String) -> Self {
        Self {
            status: 302,
            headers: vec![("location", location)],
            ..Self::default()
        }
    }

    pub(crate) fn with_header(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }

    pub(crate) fn into_response(self, body: Body) -> Response<Body> {
        let mut response = Response::builder().status(self.status);
        for (name, value) in self.headers {
            response = response.header(name, value);
        }
        response
            .body(body)
            .unwrap_or_else(|_| Response::new(Body::empty()))
    }
}

/// Escapes text for HTML.
pub(crate) fn escape_html(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}
