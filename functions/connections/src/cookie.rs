//! Cookies: one that ties the way through OAuth to a browser, one for the picker. Neither is ever sent to another host.

use domain::Secret;
use domain::usecase::is_token;
use http::header::COOKIE;
use http::{HeaderMap, HeaderValue};

use crate::address::Base;

/// Ties a provider's answer to the browser that was sent there.
pub(crate) const CONSENT: &str = "recollect-consent";
/// A session of the picker.
pub(crate) const PICKER: &str = "recollect-picker";
/// How long the first is kept; the question itself lives shorter.
pub(crate) const CONSENT_SECONDS: i64 = 3600;

/// Over an encrypted connection the name itself has browsers keep it to this host.
fn full_name(base: &Base, name: &str) -> String {
    if base.is_secure() {
        format!("__Host-{name}")
    } else {
        name.to_owned()
    }
}

/// The token in a cookie, if it can be one of ours.
pub(crate) fn read(headers: &HeaderMap, base: &Base, name: &str) -> Option<Secret> {
    let name = full_name(base, name);
    let all = headers
        .get_all(COOKIE)
        .iter()
        .filter_map(|value| value.to_str().ok());
    let mut pairs = all
        .flat_map(|line| line.split(';'))
        .filter_map(|pair| pair.trim().split_once('='));
    pairs
        .find(|(found, value)| *found == name && is_token(value))
        .map(|(_, value)| Secret::new(value))
}

/// The header that has a browser keep a token for so many seconds.
pub(crate) fn keep(base: &Base, name: &str, token: &Secret, seconds: i64) -> Option<HeaderValue> {
    let secure = if base.is_secure() { " Secure;" } else { "" };
    let name = full_name(base, name);
    let text = format!(
        "{name}={}; Path=/; Max-Age={seconds};{secure} HttpOnly; SameSite=Lax",
        token.expose()
    );
    HeaderValue::try_from(text).ok().map(|mut value| {
        value.set_sensitive(true);
        value
    })
}

/// The header that has a browser forget it.
pub(crate) fn forget(base: &Base, name: &str) -> Option<HeaderValue> {
    keep(base, name, &Secret::new(""), 0)
}
