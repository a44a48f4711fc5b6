//! Cookies of this host, which no script can read.

use std::fmt;

use domain::Secret;
use http::header::COOKIE;
use http::{HeaderMap, HeaderValue};

/// The prefix of a name by which browsers restrict a cookie to its host.
const HOST_PREFIX: &str = "__Host-";

/// A cookie of one host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HostCookie {
    /// The name without a prefix.
    pub name: &'static str,
    /// True if browsers use an encrypted connection. The name then has a prefix by which browsers
    /// restrict the cookie to this host.
    pub is_secure: bool,
    /// The requests with which browsers send it.
    pub same_site: SameSite,
}

/// The requests of other sites with which browsers send a cookie.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SameSite {
    /// Only visits, such as a link that is followed.
    Lax,
    /// None.
    Strict,
    /// All, also those of frames in pages of other sites. Each of these sites has its own cookie.
    Partitioned,
}

impl fmt::Display for SameSite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Lax => "Lax",
            Self::Strict => "Strict",
            Self::Partitioned => "None; Partitioned",
        })
    }
}

impl HostCookie {
    /// Returns the token in the cookie of a request: the first that `accepts` takes, because a
    /// browser may send several cookies of a name.
    pub fn read<'h>(
        &self,
        headers: &'h HeaderMap,
        accepts: impl Fn(&str) -> bool,
    ) -> Option<&'h str> {
        let lines = headers.get_all(COOKIE).iter();
        let mut pairs = lines
            .filter_map(|line| line.to_str().ok())
            .flat_map(|line| line.split(';'))
            .filter_map(|pair| pair.trim().split_once('='));
        pairs
            .find(|(name, token)| self.has_name(name) && accepts(token))
            .map(|(_, token)| token)
    }

    /// Returns the header that makes a browser keep a token for `seconds` seconds.
    pub fn set(&self, token: &Secret, seconds: i64) -> Option<HeaderValue> {
        let secure_attribute = if self.is_secure { " Secure;" } else { "" };
        let text = format!(
            "{}{}={}; Path=/; Max-Age={seconds};{secure_attribute} HttpOnly; SameSite={}",
            self.prefix(),
            self.name,
            token.expose(),
            self.same_site
        );
        let mut value = HeaderValue::try_from(text).ok()?;
        value.set_sensitive(true);
        Some(value)
    }

    /// Returns the header that makes a browser delete the cookie.
    pub fn delete(&self) -> Option<HeaderValue> {
        self.set(&Secret::new(""), 0)
    }

    fn has_name(&self, name: &str) -> bool {
        name.strip_prefix(self.prefix()) == Some(self.name)
    }

    fn prefix(&self) -> &'static str {
        if self.is_secure { HOST_PREFIX } else { "" }
    }
}
