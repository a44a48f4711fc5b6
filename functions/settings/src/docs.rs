//! `GET /docs`: a page that shows the description of the interface. It loads nothing from other
//! hosts, so it works offline.

use axum::response::{IntoResponse, Response};
use http::header::CONTENT_TYPE;

use crate::page::{PageHeaders, page_headers};

/// The content security policy of the page: only files of this service.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; \
                      form-action 'none'; frame-ancestors 'none'; base-uri 'none'";

/// The headers of the page and of its files.
const HEADERS: PageHeaders = page_headers(POLICY, "public, max-age=300");

const PAGE: &str = include_str!("docs/page.html");
const SCRIPT: &str = include_str!("docs/app.js");
const STYLE: &str = include_str!("docs/app.css");

pub(crate) async fn show_page() -> Response {
    answer_file("text/html; charset=utf-8", PAGE)
}

pub(crate) async fn show_script() -> Response {
    answer_file("text/javascript; charset=utf-8", SCRIPT)
}

pub(crate) async fn show_style() -> Response {
    answer_file("text/css; charset=utf-8", STYLE)
}

fn answer_file(content_type: &'static str, text: &'static str) -> Response {
    (HEADERS, [(CONTENT_TYPE, content_type)], text).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::{assert_has_no_inline_code, assert_reads_no_text_as_markup};

    /// The most bytes of the page and its files together.
    const MAX_BYTES: usize = 60 * 1024;

    #[test]
    fn the_page_is_small_and_loads_nothing_from_elsewhere() {
        assert!(PAGE.len() + SCRIPT.len() + STYLE.len() <= MAX_BYTES);

        for text in [PAGE, SCRIPT, STYLE] {
            // The only address is the one that an example shows where the page has no origin.
            let text = text.replace("http://127.0.0.1:8787", "");
            assert!(!text.contains("//127") && !text.contains("://"), "{text}");
        }
    }

    #[test]
    fn the_page_needs_no_exception_from_its_policy() {
        assert_has_no_inline_code(PAGE);
        assert!(PAGE.contains("<script src=\"docs/app.js\" defer></script>"));

        assert_reads_no_text_as_markup("docs/app.js", SCRIPT);
    }
}
