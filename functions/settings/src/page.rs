//! The headers of pages and of their files.

use http::HeaderName;
use http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS,
    X_FRAME_OPTIONS,
};

/// Headers with their values.
pub(crate) type PageHeaders = [(HeaderName, &'static str); 5];

/// Returns the headers of a page with this content security policy, and of its files.
pub(crate) const fn page_headers(
    content_security_policy: &'static str,
    cache_control: &'static str,
) -> PageHeaders {
    [
        (CONTENT_SECURITY_POLICY, content_security_policy),
        (REFERRER_POLICY, "no-referrer"),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (X_FRAME_OPTIONS, "DENY"),
        (CACHE_CONTROL, cache_control),
    ]
}

/// Checks that a page needs no exception from a policy that allows only files of this service.
#[cfg(test)]
pub(crate) fn assert_has_no_inline_code(page: &str) {
    for inline in ["<style", "style=", "onclick", "javascript:"] {
        assert!(!page.contains(inline), "{inline}");
    }
    assert_eq!(page.matches("<script").count(), 1);
}

/// Checks that a script never reads texts as markup or as code.
#[cfg(test)]
pub(crate) fn assert_reads_no_text_as_markup(name: &str, script: &str) {
    for unsafe_call in [
        "innerHTML",
        "outerHTML",
        "insertAdjacent",
        "document.write",
        "eval(",
        "new Function",
    ] {
        assert!(!script.contains(unsafe_call), "{name}: {unsafe_call}");
    }
}
