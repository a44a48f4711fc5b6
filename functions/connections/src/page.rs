//! The pages that people see between this service, the provider and the site from which they came.

use axum::response::{IntoResponse, Response};
use domain::Error;
use domain::settings::PickerSettings;
use edge::ApiError;
use http::header::{
    ACCEPT, CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, LOCATION, X_FRAME_OPTIONS,
};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};

use crate::address::BaseUrl;

/// The content security policy of the pages, without the sources of images and the pages that may
/// show them in a frame: only files of this service.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; \
                      form-action 'self'; base-uri 'none'";

/// The headers of everything that a browser displays.
const PAGE_HEADERS: [(&str, &str); 4] = [
    ("referrer-policy", "no-referrer"),
    ("x-content-type-options", "nosniff"),
    ("cross-origin-opener-policy", "same-origin"),
    (
        "permissions-policy",
        "camera=(), geolocation=(), microphone=()",
    ),
];

/// Escapes text for use in a page.
pub(crate) fn escape_html(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            c => escaped.push(c),
        }
    }
    escaped
}

/// Adds the headers of everything that a browser displays. No page may show it in a frame.
pub(crate) fn add_page_headers(response: Response) -> Response {
    add_picker_headers(response, &PickerSettings::default())
}

/// Returns the content security policy of a page. A logo is a part of the page.
fn content_security_policy(picker: &PickerSettings) -> String {
    let images = if picker.logo.is_some() { " data:" } else { "" };
    let ancestors = match picker.origins.as_slice() {
        [] => "'none'".to_owned(),
        origins => origins.join(" "),
    };
    format!("{POLICY}; img-src 'self'{images}; frame-ancestors {ancestors}")
}

/// Adds the headers of the picker's page, which pages of the settings' origins may show in a frame.
pub(crate) fn add_picker_headers(mut response: Response, picker: &PickerSettings) -> Response {
    let policy = HeaderValue::try_from(content_security_policy(picker)).unwrap_or(
        HeaderValue::from_static("frame-ancestors 'none'; default-src 'none'"),
    );
    let headers = response.headers_mut();
    headers.insert(CONTENT_SECURITY_POLICY, policy);
    if picker.origins.is_empty() {
        headers.insert(X_FRAME_OPTIONS, HeaderValue::from_static("DENY"));
    }
    for (name, value) in PAGE_HEADERS {
        let name = HeaderName::from_static(name);
        response
            .headers_mut()
            .insert(name, HeaderValue::from_static(value));
    }
    response
        .headers_mut()
        .entry(CACHE_CONTROL)
        .or_insert(HeaderValue::from_static("no-store"));
    response
}

/// Returns a plain page of text. `body` is HTML in which foreign text has been escaped.
pub(crate) fn text_page(base: &BaseUrl, status: StatusCode, title: &str, body: &str) -> Response {
    let html = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<meta name=\"robots\" content=\"noindex\">\n\
         <title>{title}</title>\n<link rel=\"stylesheet\" href=\"{style}\">\n\
         <link rel=\"icon\" href=\"{icon}\">\n</head>\n\
         <body class=\"sheet\">\n<main>\n<h1>{title}</h1>\n{body}\n</main>\n</body>\n</html>\n",
        title = escape_html(title),
        style = escape_html(&base.url_of_path("/picker/app.css")),
        icon = escape_html(&base.url_of_path("/picker/icon.svg")),
    );
    add_page_headers((status, [(CONTENT_TYPE, "text/html; charset=utf-8")], html).into_response())
}

/// Redirects the browser to another address, by GET.
pub(crate) fn redirect_to(location: &str) -> Response {
    let mut response = add_page_headers(StatusCode::SEE_OTHER.into_response());
    if let Ok(location) = HeaderValue::try_from(location) {
        response.headers_mut().insert(LOCATION, location);
    }
    response
}

/// Checks whether the client is a program rather than a person.
pub(crate) fn wants_json(headers: &HeaderMap) -> bool {
    accepts(headers, "application/json") && !accepts(headers, "text/html")
}

/// Checks whether the client wants a line of text.
pub(crate) fn wants_text(headers: &HeaderMap) -> bool {
    accepts(headers, "text/plain") && !accepts(headers, "application/json")
}

fn accepts(headers: &HeaderMap, media_type: &str) -> bool {
    let values = headers
        .get_all(ACCEPT)
        .iter()
        .filter_map(|value| value.to_str().ok());
    values.flat_map(|line| line.split(',')).any(|part| {
        part.split(';')
            .next()
            .is_some_and(|name| name.trim().eq_ignore_ascii_case(media_type))
    })
}

/// Returns a refusal as a page or, for programs, in the usual shape.
pub(crate) fn refusal_page(base: &BaseUrl, headers: &HeaderMap, error: ApiError) -> Response {
    let (title, text) = match &error.0 {
        Error::NotFound("Link" | "Ticket") => (
            "This link no longer works",
            "Links work for a short time only, and some of them once. Ask whoever sent it to you for a new one."
                .to_owned(),
        ),
        Error::NotFound(_) => (
            "This connection no longer exists",
            "It was deleted in the meantime. You can close this page.".to_owned(),
        ),
        Error::Unauthenticated(_) => (
            "This session has ended",
            "For your safety it lasts half an hour, and its link works once. Ask whoever sent it to you for a new one."
                .to_owned(),
        ),
        Error::Unavailable(_) | Error::RateLimited { .. } => (
            "Please try again in a moment",
            "Something that is needed does not answer right now. Nothing was changed.".to_owned(),
        ),
        Error::Internal(_) => ("Something went wrong", "The fault is ours. Please try again later.".to_owned()),
        error => ("This did not work", as_sentence(&error.to_string())),
    };

    let response = error.into_response();
    if wants_json(headers) {
        return add_page_headers(response);
    }

    text_page(
        base,
        response.status(),
        title,
        &format!("<p>{}</p>", escape_html(&text)),
    )
}

/// Turns an error message into a sentence.
fn as_sentence(message: &str) -> String {
    let mut chars = message.chars();
    let first = chars
        .next()
        .map(|c| c.to_uppercase().to_string())
        .unwrap_or_default();
    let end = if message.ends_with('.') { "" } else { "." };
    format!("{first}{}{end}", chars.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_asks_is_told_by_what_is_accepted() {
        let with = |accept: &'static str| {
            let headers = HeaderMap::from_iter([(ACCEPT, HeaderValue::from_static(accept))]);
            (wants_json(&headers), wants_text(&headers))
        };
        assert_eq!(
            with("text/html,application/xhtml+xml,*/*;q=0.8"),
            (false, false)
        );
        assert_eq!(with("application/json"), (true, false));
        assert_eq!(with("text/html, application/json"), (false, false));
        assert_eq!(with("text/plain"), (false, true));
        assert_eq!(with("*/*"), (false, false));
    }

    #[test]
    fn what_is_not_ours_stays_text() {
        assert_eq!(
            escape_html("<a href='x'>&\"</a>"),
            "&lt;a href=&#39;x&#39;&gt;&amp;&quot;&lt;/a&gt;"
        );
        assert_eq!(as_sentence("an answer; try again"), "An answer; try again.");
    }
}
