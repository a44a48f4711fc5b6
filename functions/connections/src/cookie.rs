//! Cookies: one ties an OAuth flow to a browser, and one holds a session of the picker. Neither is
//! ever sent to another host.

use domain::Secret;
use domain::settings::PickerSettings;
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

/// Returns the cookie of a picker session. Frames in pages of other sites send it if there are
/// pages that may show the picker. Browsers accept such a cookie over encrypted connections only.
fn picker_cookie(base: &BaseUrl, is_framable: bool) -> HostCookie {
    let same_site = if is_framable && base.is_secure() {
        SameSite::Partitioned
    } else {
        SameSite::Lax
    };
    HostCookie {
        same_site,
        ..cookie_of(base, PICKER_COOKIE)
    }
}

/// Returns the headers that make a browser keep the token of a picker session. An organization
/// with other settings may have left a cookie of the other kind, which browsers would send as well.
pub(crate) fn set_picker_cookie(
    base: &BaseUrl,
    picker: &PickerSettings,
    token: &Secret,
    seconds: i64,
) -> Vec<HeaderValue> {
    let is_framable = !picker.origins.is_empty();
    let other = picker_cookie(base, !is_framable).delete();
    let cookie = picker_cookie(base, is_framable).set(token, seconds);
    other
        .filter(|_| base.is_secure())
        .into_iter()
        .chain(cookie)
        .collect()
}

/// Returns the headers that make a browser delete the cookie of a picker session, of either kind.
pub(crate) fn delete_picker_cookie(base: &BaseUrl) -> Vec<HeaderValue> {
    let kinds: &[bool] = if base.is_secure() {
        &[false, true]
    } else {
        &[false]
    };
    let deletions = kinds
        .iter()
        .filter_map(|kind| picker_cookie(base, *kind).delete());
    deletions.collect()
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
