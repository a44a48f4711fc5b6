//! The address of this service as browsers see it, and the addresses to which callers send
//! browsers.

use axum::extract::FromRequestParts;
use domain::{Error, Result, Tenant};
use edge::ApiError;
use http::header::HOST;
use http::request::Parts;
use service::Ctx;
use url::{Host, Url};

use crate::ConnectionsState;

/// The most characters of an address that a browser is sent to. Part of the API.
const MAX_URL_CHARS: usize = 2048;

/// The address of this service as browsers see it, without a trailing slash.
#[derive(Debug, Clone)]
pub(crate) struct BaseUrl(String);

impl FromRequestParts<ConnectionsState> for BaseUrl {
    type Rejection = ApiError;

    async fn from_request_parts(
        parts: &mut Parts,
        state: &ConnectionsState,
    ) -> Result<Self, ApiError> {
        if let Some(url) = &state.public_url {
            return Ok(Self(url.clone()));
        }

        let host_header = parts.headers.get(HOST).and_then(|host| host.to_str().ok());
        let host = host_header.or_else(|| parts.uri.authority().map(http::uri::Authority::as_str));
        let base = host.and_then(base_url_of_host);

        Ok(Self(base.ok_or_else(|| {
            Error::invalid("the request names no host")
        })?))
    }
}

/// Returns the base address for a host. Only this machine is addressed without encryption.
fn base_url_of_host(host: &str) -> Option<String> {
    let is_plain = |b: u8| b.is_ascii_alphanumeric() || b"-.:[]".contains(&b);
    if host.is_empty() || !host.bytes().all(is_plain) {
        return None;
    }

    let url = Url::parse(&format!("https://{host}")).ok()?;
    let scheme = if is_loopback(&url) { "http" } else { "https" };
    Some(format!("{scheme}://{host}"))
}

fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}

impl BaseUrl {
    /// Returns the address of a path of this service.
    pub(crate) fn url_of_path(&self, path: &str) -> String {
        format!("{}{path}", self.0)
    }

    /// Checks whether browsers use an encrypted connection.
    pub(crate) fn is_secure(&self) -> bool {
        self.0.starts_with("https://")
    }

    /// Checks whether `origin` is that of this service's pages.
    pub(crate) fn is_own_origin(&self, origin: &str) -> bool {
        Url::parse(&self.0).is_ok_and(|url| url.origin().ascii_serialization() == origin)
    }
}

/// Checks the address to which a browser is finally sent.
///
/// # Errors
/// [`Error::Invalid`] about `field`.
fn check_redirect(field: &str, text: Option<String>) -> Result<Option<String>> {
    let Some(text) = text else { return Ok(None) };
    let rule = "an absolute https address of at most 2048 characters, without user; http for this machine only";
    let invalid = || Error::invalid_field(field, rule);
    if text.len() > MAX_URL_CHARS
        || text
            .chars()
            .any(|c| c.is_control() || c.is_whitespace() || c == '\\')
    {
        return Err(invalid());
    }

    let url = Url::parse(&text).map_err(|_| invalid())?;
    let is_safe = url.scheme() == "https" || url.scheme() == "http" && is_loopback(&url);
    // Only lenient parsers accept an absolute address without two slashes.
    let is_absolute = text
        .get(url.scheme().len()..)
        .is_some_and(|rest| rest.starts_with("://"));
    let is_plain = url.username().is_empty() && url.password().is_none();

    if is_safe && is_absolute && is_plain && url.has_host() {
        Ok(Some(text))
    } else {
        Err(invalid())
    }
}

/// Checks the address to which a browser is finally sent, and that the organization permits it.
///
/// # Errors
/// [`Error::Invalid`] about `field`, and those of the port.
pub(crate) async fn check_permitted_redirect(
    ctx: &Ctx,
    tenant: &Tenant,
    field: &str,
    text: Option<String>,
) -> Result<Option<String>> {
    let Some(address) = check_redirect(field, text)? else {
        return Ok(None);
    };

    let origin = Url::parse(&address)
        .map(|url| url.origin().ascii_serialization())
        .unwrap_or_default();
    if !ctx.settings.get(tenant).await?.allows_redirect_to(&origin) {
        let rule = "an origin that the setting allowedRedirectUrls of the organization names";
        return Err(Error::invalid_field(field, rule));
    }

    Ok(Some(address))
}

/// Returns an address with these parameters appended to those that it has.
pub(crate) fn append_parameters(address: &str, parameters: &[(&str, &str)]) -> Option<String> {
    let mut url = Url::parse(address).ok()?;
    url.query_pairs_mut().extend_pairs(parameters);
    Some(url.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_spoken_to_encrypted_unless_it_is_this_machine() {
        for (host, base) in [
            ("api.example.com", Some("https://api.example.com")),
            ("10.1.2.3:8080", Some("https://10.1.2.3:8080")),
            ("localhost:8787", Some("http://localhost:8787")),
            ("127.0.0.1:8787", Some("http://127.0.0.1:8787")),
            ("[::1]:8787", Some("http://[::1]:8787")),
            (
                "localhost.example.com",
                Some("https://localhost.example.com"),
            ),
            ("a.example/evil", None),
            ("a@b.example", None),
            ("", None),
        ] {
            assert_eq!(base_url_of_host(host).as_deref(), base, "{host}");
        }

        let base = BaseUrl("https://api.example.com/stage".into());
        assert!(base.is_own_origin("https://api.example.com"));
        assert!(
            !base.is_own_origin("https://api.example.com.evil.example")
                && !base.is_own_origin("null")
        );
    }

    #[test]
    fn browsers_are_sent_to_safe_addresses_only() {
        let check = |text: &str| check_redirect("redirectUrl", Some(text.to_owned())).is_ok();
        for valid in [
            "https://app.example.com/done?x=1",
            "https://app.example.com:8443",
            "http://localhost:3000/callback",
            "http://127.0.0.1:5555/callback",
            "https://app.example.com/#/done",
        ] {
            assert!(check(valid), "{valid}");
        }

        for invalid in [
            "",
            "/done",
            "//app.example.com",
            "app.example.com",
            "http://app.example.com",
            "http://localhost.example.com",
            "javascript:alert(1)",
            "data:text/html,x",
            "https:app.example.com",
            "https://user@app.example.com",
            "https://user:secret@app.example.com",
            "https://app.example.com/\r\nset-cookie: a=b",
            "https:\\\\app.example.com",
            " https://app.example.com",
            &format!("https://app.example.com/{}", "x".repeat(MAX_URL_CHARS)),
        ] {
            assert!(!check(invalid), "{invalid}");
        }
    }

    #[test]
    fn parameters_come_behind_those_that_are_there() {
        let address =
            append_parameters("https://a.example/done?x=1", &[("status", "a b&c=d")]).unwrap();
        assert_eq!(address, "https://a.example/done?x=1&status=a+b%26c%3Dd");
    }
}
