//! The session of the console: a cookie in place of an API key.
//!
//! The cookie is `HttpOnly` and `SameSite=Strict`. It counts only beside a header that no page of
//! another origin can send, and only if the browser does not say that another site sent the request.

use domain::Secret;
use http::header::{COOKIE, HeaderName};
use http::{HeaderMap, HeaderValue};

use crate::extract::header_text;

/// The header that the console adds to each request. Its value is the scheme of the console's
/// address, `http` or `https`. Pages of other origins cannot add it to a request with cookies: a
/// browser asks first, and [`crate::AllowedOrigins`] never allows cookies.
const CONSOLE_HEADER: HeaderName = HeaderName::from_static("x-recollect-console");
/// The site that sent a request, as browsers say it.
const FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");
/// The name of the cookie. On an encrypted connection, the prefix makes browsers restrict it to
/// this host.
const COOKIE_NAME: &str = "recollect-console";
const SECURE_COOKIE_NAME: &str = "__Host-recollect-console";

/// The session cookie of one address of the console.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConsoleCookie {
    is_secure: bool,
}

impl ConsoleCookie {
    /// Returns the cookie of the console that sends a request, or `None` if the request does not
    /// come from the console of this server.
    pub fn of_request(headers: &HeaderMap) -> Option<Self> {
        let is_secure = match header_text(headers, &CONSOLE_HEADER)? {
            "http" => false,
            "https" => true,
            _ => return None,
        };
        // Old browsers do not say which site sent a request.
        let site = headers.get(FETCH_SITE);
        let is_same_origin = site.is_none_or(|site| site == "same-origin");

        is_same_origin.then_some(Self { is_secure })
    }

    /// Returns the token in the cookie of a request.
    pub fn read<'h>(&self, headers: &'h HeaderMap) -> Option<&'h str> {
        let lines = headers.get_all(COOKIE).iter();
        let mut pairs = lines
            .filter_map(|line| line.to_str().ok())
            .flat_map(|line| line.split(';'))
            .filter_map(|pair| pair.trim().split_once('='));
        pairs
            .find(|(name, _)| *name == self.name())
            .map(|(_, token)| token)
            .filter(|token| !token.is_empty())
    }

    /// Returns the header that makes a browser keep a token for `seconds` seconds.
    pub fn set(&self, token: &Secret, seconds: i64) -> Option<HeaderValue> {
        let secure = if self.is_secure { " Secure;" } else { "" };
        let text = format!(
            "{}={}; Path=/; Max-Age={seconds};{secure} HttpOnly; SameSite=Strict",
            self.name(),
            token.expose()
        );
        let mut value = HeaderValue::try_from(text).ok()?;
        value.set_sensitive(true);
        Some(value)
    }

    /// Returns the header that makes a browser delete the cookie.
    pub fn delete(&self) -> Option<HeaderValue> {
        self.set(&Secret::new(""), 0)
    }

    fn name(&self) -> &'static str {
        if self.is_secure {
            SECURE_COOKIE_NAME
        } else {
            COOKIE_NAME
        }
    }
}

#[cfg(test)]
mod tests {
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
        let cookie = ConsoleCookie::of_request(&headers)?;
        cookie.read(&headers).map(str::to_owned)
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

        let cookie = ConsoleCookie { is_secure: true };
        let set = cookie.set(&Secret::new("tok"), 60).unwrap();
        assert_eq!(
            set,
            "__Host-recollect-console=tok; Path=/; Max-Age=60; Secure; HttpOnly; SameSite=Strict"
        );
    }
}
