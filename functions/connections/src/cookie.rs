//! Cookies: one ties an OAuth flow to a browser, and one holds a session of the picker. Neither is
//! ever sent to another host.

use domain::Secret;
use http::header::COOKIE;
use http::{HeaderMap, HeaderValue};
use service::is_token;

use crate::address::BaseUrl;

/// The cookie that ties a provider's answer to the browser that was sent there.
pub(crate) const CONSENT_COOKIE: &str = "recollect-consent";
/// The cookie of a picker session.
pub(crate) const PICKER_COOKIE: &str = "recollect-picker";
/// The lifetime in seconds of the consent cookie. The request for consent itself expires earlier.
pub(crate) const CONSENT_SECONDS: i64 = 3600;

/// Returns the full name of a cookie. On an encrypted connection, the prefix of the name makes
/// browsers restrict the cookie to this host.
fn cookie_name(base: &BaseUrl, name: &str) -> String {
    if base.is_secure() {
        format!("__Host-{name}")
    } else {
        name.to_owned()
    }
}

/// Returns the token in a cookie if it has the right form.
pub(crate) fn read_token(headers: &HeaderMap, base: &BaseUrl, name: &str) -> Option<Secret> {
    let name = cookie_name(base, name);
    let cookie_lines = headers
        .get_all(COOKIE)
        .iter()
        .filter_map(|value| value.to_str().ok());
    let mut pairs = cookie_lines
        .flat_map(|line| line.split(';'))
        .filter_map(|pair| pair.trim().split_once('='));
    pairs
        .find(|(cookie, value)| *cookie == name && is_token(value))
        .map(|(_, value)| Secret::new(value))
}

/// Returns the header that makes a browser keep a token for `seconds` seconds.
pub(crate) fn set_cookie(
    base: &BaseUrl,
    name: &str,
    token: &Secret,
    seconds: i64,
) -> Option<HeaderValue> {
    let secure_attribute = if base.is_secure() { " Secure;" } else { "" };
    let name = cookie_name(base, name);
    let text = format!(
        "{name}={}; Path=/; Max-Age={seconds};{secure_attribute} HttpOnly; SameSite=Lax",
        token.expose()
    );
    HeaderValue::try_from(text).ok().map(|mut value| {
        value.set_sensitive(true);
        value
    })
}

/// Returns the header that makes a browser delete the cookie.
pub(crate) fn delete_cookie(base: &BaseUrl, name: &str) -> Option<HeaderValue> {
    set_cookie(base, name, &Secret::new(""), 0)
}
