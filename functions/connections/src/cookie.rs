//! Cookies: one ties an OAuth flow to a browser, and one holds a session of the picker. Neither is
//! ever sent to another host.

use domain::Secret;
use edge::{HostCookie, SameSite};
use http::{HeaderMap, HeaderValue};
use service::is_token;

use crate::address::BaseUrl;

/// The cookie that ties a provider's answer to the browser that was sent there.
pub(crate) const CONSENT_COOKIE: &str = "recollect-consent";
/// The cookie of a picker session.
pub(crate) const PICKER_COOKIE: &str = "recollect-picker";
/// The lifetime in seconds of the consent cookie. The request for consent itself expires earlier.
pub(crate) const CONSENT_SECONDS: i64 = 3600;

/// Returns the cookie of this name. A provider sends users back with it.
fn cookie_of(base: &BaseUrl, name: &'static str) -> HostCookie {
    HostCookie {
        name,
        is_secure: base.is_secure(),
        same_site: SameSite::Lax,
    }
}

/// Returns the token in a cookie if it has the right form.
pub(crate) fn read_token(
    headers: &HeaderMap,
    base: &BaseUrl,
    name: &'static str,
) -> Option<Secret> {
    let token = cookie_of(base, name).read(headers, is_token);
    token.map(Secret::new)
}

/// Returns the header that makes a browser keep a token for `seconds` seconds.
pub(crate) fn set_cookie(
    base: &BaseUrl,
    name: &'static str,
    token: &Secret,
    seconds: i64,
) -> Option<HeaderValue> {
    cookie_of(base, name).set(token, seconds)
}

/// Returns the header that makes a browser delete the cookie.
pub(crate) fn delete_cookie(base: &BaseUrl, name: &'static str) -> Option<HeaderValue> {
    cookie_of(base, name).delete()
}
