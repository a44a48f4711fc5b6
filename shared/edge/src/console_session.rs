//! The session of the console: a cookie in place of an API key.
//!
//! Browsers send the cookie with no request of another site. It counts only together with a header
//! that no page of another origin can send, and only if the browser does not say that another site
//! sent the request.

use http::HeaderMap;
use http::header::HeaderName;

use crate::cookie::{HostCookie, SameSite};
use crate::extract::header_text;

/// The header that the console adds to each request. Its value is the scheme of the console's
/// address, `http` or `https`. Pages of other origins cannot add it to a request with cookies: a
/// browser asks first, and [`crate::AllowedOrigins`] never allows cookies.
const CONSOLE_HEADER: HeaderName = HeaderName::from_static("x-recollect-console");
/// The site that sent a request, as browsers say it.
const FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// Returns the session cookie of the console that sends a request, or `None` if the request does not
/// come from the console of this server.
pub fn console_cookie(headers: &HeaderMap) -> Option<HostCookie> {
    let is_secure = match header_text(headers, &CONSOLE_HEADER)? {
        "http" => false,
        "https" => true,
        _ => return None,
    };
    // Old browsers do not say which site sent a request.
    let site = headers.get(FETCH_SITE);
    let is_same_origin = site.is_none_or(|site| site == "same-origin");

    is_same_origin.then_some(HostCookie {
        name: "recollect-console",
        is_secure,
        same_site: SameSite::Strict,
    })
}

/// Returns the token of the session of the console that sends a request.
pub fn read_console_session(headers: &HeaderMap) -> Option<&str> {
    console_cookie(headers)?.read(headers, |token| !token.is_empty())
}

#[cfg(test)]
mod tests {
    use domain::Secret;
    use http::HeaderValue;

    use super::*;

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        let pairs = pairs.iter().map(|(name, value)| {
            let name = HeaderName::from_static(name);
            (name, HeaderValue::from_static(value))
        });
        pairs.collect()
    }

    fn token(pairs: &[(&'static str, &'static str)]) -> Option<String> {
        let headers = headers(pairs);
        read_console_session(&headers).map(str::to_owned)
    }

    #[test]
    fn a_cookie_counts_only_for_the_console_of_this_server() {
        let cookie = ("cookie", "a=1; recollect-console=tok; b=2");
        let console = ("x-recollect-console", "http");
        assert_eq!(token(&[cookie, console]).as_deref(), Some("tok"));
        let own = ("sec-fetch-site", "same-origin");
        assert_eq!(token(&[cookie, console, own]).as_deref(), Some("tok"));

        assert_eq!(token(&[cookie]), None, "a form of any page");
        for site in ["cross-site", "same-site", "none"] {
            let site = ("sec-fetch-site", site);
            assert_eq!(token(&[cookie, console, site]), None);
        }
        let other = ("x-recollect-console", "ftp");
        assert_eq!(token(&[cookie, other]), None);
    }

    #[test]
    fn an_encrypted_console_reads_only_the_cookie_of_its_host() {
        let console = ("x-recollect-console", "https");
        let planted = ("cookie", "recollect-console=of-another-host");
        assert_eq!(token(&[console, planted]), None);
        let own = ("cookie", "__Host-recollect-console=tok");
        assert_eq!(token(&[console, own]).as_deref(), Some("tok"));

        let cookie = console_cookie(&headers(&[console])).unwrap();
        let set = cookie.set(&Secret::new("tok"), 60).unwrap();
        assert_eq!(
            set,
            "__Host-recollect-console=tok; Path=/; Max-Age=60; Secure; HttpOnly; SameSite=Strict"
        );
    }
}
