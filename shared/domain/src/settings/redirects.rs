//! The origins to which connections may send browsers.

use crate::error::{Error, Result};

/// The largest number of entries in the list.
const MAX_ENTRIES: usize = 50;
/// The largest number of bytes in an entry. A host has at most 253 characters.
const MAX_ENTRY_BYTES: usize = 270;
/// The name of the settings field.
const FIELD_NAME: &str = "allowedRedirectUrls";
const ORIGIN_RULE: &str = "origins like https://app.example.com or https://*.example.com, with a port if it is not the usual one; http for this machine only";

/// Validates a list of origins, and returns it as it is stored and compared.
///
/// # Errors
/// Returns [`Error::Invalid`] with the rule that is broken.
pub(super) fn check_origins(origins: &[String]) -> Result<Vec<String>> {
    if origins.len() > MAX_ENTRIES {
        return Err(Error::invalid_field(
            FIELD_NAME,
            format!("at most {MAX_ENTRIES} origins"),
        ));
    }
    let normalize = |origin: &String| {
        normalize_origin(origin).ok_or_else(|| Error::invalid_field(FIELD_NAME, ORIGIN_RULE))
    };
    origins.iter().map(normalize).collect()
}

/// Normalizes an origin to the form in which browsers write it. Returns `None` if it is not a valid
/// origin.
pub(super) fn normalize_origin(origin: &str) -> Option<String> {
    let origin = origin.trim().trim_end_matches('/').to_lowercase();
    if origin.len() > MAX_ENTRY_BYTES {
        return None;
    }

    let (scheme, rest) = origin.split_once("://")?;
    let usual_port = match scheme {
        "https" => ":443",
        "http" => ":80",
        _ => return None,
    };

    let rest = rest.strip_suffix(usual_port).unwrap_or(rest);
    let (host, port) = match rest.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => (host, Some(port)),
        _ => (rest, None),
    };

    // As browsers write it: without a sign and without leading zeros.
    let is_port = port.is_none_or(|port| {
        port.parse::<u16>()
            .is_ok_and(|number| number > 0 && number.to_string() == port)
    });
    let is_loopback = ["localhost", "127.0.0.1", "[::1]"].contains(&host);
    let name = host.strip_prefix("*.").unwrap_or(host);
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-.".contains(&byte);
    // A pattern that covers a whole top-level domain would allow everyone.
    let has_valid_name = name.bytes().all(is_plain)
        && name.split('.').all(|part| !part.is_empty())
        && (name.contains('.') || name == host);
    let is_valid = is_port && (is_loopback || has_valid_name && scheme == "https");

    is_valid.then(|| format!("{scheme}://{rest}"))
}

/// Checks whether the list contains an origin, given as browsers write it. An empty list allows all
/// origins.
pub(super) fn allows_origin(origins: &[String], origin: &str) -> bool {
    let matches = |allowed: &String| match allowed.split_once("://*.") {
        None => allowed == origin,
        Some((scheme, domain)) => origin
            .strip_prefix(scheme)
            .and_then(|rest| rest.strip_prefix("://"))
            .and_then(|host| host.strip_suffix(domain))
            .is_some_and(|subdomain| subdomain.len() > 1 && subdomain.ends_with('.')),
    };
    origins.is_empty() || origins.iter().any(matches)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn origins_are_stored_as_browsers_write_them() {
        for (sent, stored) in [
            ("https://app.example.com", Some("https://app.example.com")),
            (
                " HTTPS://App.Example.com:443/ ",
                Some("https://app.example.com"),
            ),
            (
                "https://*.example.com:8443",
                Some("https://*.example.com:8443"),
            ),
            ("http://localhost:3000", Some("http://localhost:3000")),
            ("http://[::1]:80", Some("http://[::1]")),
            ("http://app.example.com", None),
            ("https://*.com", None),
            ("https://*", None),
            ("https://a.*.com", None),
            ("https://app.example.com/path", None),
            ("https://user@app.example.com", None),
            ("https://app.example.com:0", None),
            ("https://app.example.com:port", None),
            ("https://", None),
            ("app.example.com", None),
            ("javascript:alert(1)", None),
        ] {
            assert_eq!(normalize_origin(sent).as_deref(), stored, "{sent}");
        }

        assert!(check_origins(&vec!["https://a.example".to_owned(); 50]).is_ok());
        assert!(check_origins(&vec!["https://a.example".to_owned(); 51]).is_err());
    }

    #[test]
    fn a_star_stands_for_what_lies_below() {
        let list = [
            "https://app.example.com".to_owned(),
            "https://*.example.org:8443".to_owned(),
        ];
        for good in [
            "https://app.example.com",
            "https://a.example.org:8443",
            "https://a.b.example.org:8443",
        ] {
            assert!(allows_origin(&list, good), "{good}");
        }

        for bad in [
            "https://example.org:8443",
            "https://.example.org:8443",
            "https://a.example.org",
            "http://a.example.org:8443",
            "https://evilexample.org:8443",
            "https://app.example.com:8443",
            "https://app.example.com.evil.example",
            "null",
        ] {
            assert!(!allows_origin(&list, bad), "{bad}");
        }

        assert!(allows_origin(&[], "https://anywhere.example"));
    }
}
