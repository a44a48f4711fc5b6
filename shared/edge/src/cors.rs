//! The web pages that may call the API from a browser (CORS). A page proves its right with an API
//! key in a header. Cookies are never accepted from another origin.

use std::str::FromStr;
use std::time::Duration;

use domain::{Error, Result};
use http::header::{RETRY_AFTER, WWW_AUTHENTICATE};
use http::{HeaderValue, Method, Uri};
use tower_http::cors::{AllowHeaders, AllowOrigin, CorsLayer};

use crate::router::REQUEST_ID;

/// The time for which a browser may keep the answer to a preflight. Browsers keep it for less: two
/// hours in Chromium, a day in Firefox.
const PREFLIGHT_LIFETIME: Duration = Duration::from_secs(86_400);
/// The methods of the API.
const METHODS: [Method; 5] = [
    Method::GET,
    Method::POST,
    Method::PUT,
    Method::PATCH,
    Method::DELETE,
];

/// The origins whose pages may call the API.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum AllowedOrigins {
    /// Every page with an API key.
    #[default]
    Any,
    /// The pages of these origins. An empty list allows none.
    List(Vec<HeaderValue>),
}

impl AllowedOrigins {
    /// Returns the layer that answers preflights and adds the headers to other answers.
    pub fn layer(&self) -> CorsLayer {
        let origins = match self {
            Self::Any => AllowOrigin::any(),
            Self::List(origins) => AllowOrigin::list(origins.iter().cloned()),
        };
        CorsLayer::new()
            .allow_origin(origins)
            .allow_methods(METHODS)
            .allow_headers(AllowHeaders::mirror_request())
            .expose_headers([REQUEST_ID.clone(), RETRY_AFTER, WWW_AUTHENTICATE])
            .max_age(PREFLIGHT_LIFETIME)
    }

    /// Checks whether pages of this origin may call the API.
    pub fn allows(&self, origin: &HeaderValue) -> bool {
        match self {
            Self::Any => true,
            Self::List(origins) => origins.contains(origin),
        }
    }
}

impl FromStr for AllowedOrigins {
    type Err = Error;

    /// Parses `*`, `none`, or origins between commas, as in
    /// `https://app.example.com,http://localhost:3000`.
    fn from_str(text: &str) -> Result<Self> {
        match text.trim() {
            "*" => return Ok(Self::Any),
            "none" => return Ok(Self::List(Vec::new())),
            _ => {}
        }

        let mut origins = Vec::new();
        for origin in text.split(',') {
            origins.push(parse_origin(origin.trim())?);
        }

        Ok(Self::List(origins))
    }
}

/// Returns an origin in the form in which browsers send it: without a path, and in lower case.
fn parse_origin(origin: &str) -> Result<HeaderValue> {
    let invalid = || {
        Error::invalid(format!(
            "`{origin}` is not an origin like https://app.example.com or http://localhost:3000"
        ))
    };
    let uri: Uri = origin.parse().map_err(|_| invalid())?;
    let (Some(scheme @ ("http" | "https")), Some(authority)) = (uri.scheme_str(), uri.authority())
    else {
        return Err(invalid());
    };
    if uri.path() != "/" || uri.query().is_some() || authority.as_str().contains('@') {
        return Err(invalid());
    }

    let origin = format!("{scheme}://{}", authority.as_str().to_ascii_lowercase());
    HeaderValue::try_from(origin).map_err(|_| invalid())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn origins_are_read_as_browsers_send_them() {
        let list = |origins: &[&'static str]| {
            AllowedOrigins::List(
                origins
                    .iter()
                    .map(|text| HeaderValue::from_static(text))
                    .collect(),
            )
        };
        let cases = [
            ("*", AllowedOrigins::Any),
            ("none", list(&[])),
            (
                "https://App.example.com/",
                list(&["https://app.example.com"]),
            ),
            (
                "https://a.example, http://localhost:3000",
                list(&["https://a.example", "http://localhost:3000"]),
            ),
        ];
        for (text, expected) in cases {
            assert_eq!(text.parse().ok(), Some(expected), "{text}");
        }

        for text in [
            "",
            "example.com",
            "ftp://example.com",
            "https://example.com/app",
            "https://example.com?x",
            "https://user@example.com",
            "https://a.example,",
            "https://a.example,*",
        ] {
            assert!(text.parse::<AllowedOrigins>().is_err(), "{text}");
        }
    }
}
