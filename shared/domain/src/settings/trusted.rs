//! Sources whose words count as the user's own.

use serde::{Deserialize, Serialize};

use crate::connection::{DocumentOrigin, Provider};
use crate::error::{Error, Result};

/// The largest number of entries in one list.
const MAX_ENTRIES: usize = 100;
/// The largest number of characters in an entry, which is longer than any host name and most
/// addresses.
const MAX_ENTRY: usize = 255;

/// The sources that an administrator trusts. Their words may instruct and replace, like the user's
/// own.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct TrustedSources {
    /// Providers of connections.
    pub providers: Vec<Provider>,
    /// Ids of connections.
    pub connections: Vec<String>,
    /// Email addresses of senders, or the domains of such addresses, in lower case.
    pub senders: Vec<String>,
    /// Hosts of pages, in lower case.
    pub hosts: Vec<String>,
}

impl TrustedSources {
    /// Checks the sources that a caller sent.
    ///
    /// # Errors
    /// Returns [`Error::Invalid`] with the rule that is broken.
    pub fn check_sources(&self) -> Result<()> {
        let refuse = |rule: String| Err(Error::invalid_field("trustedSources", rule));
        let is_host = |entry: &String| {
            let is_host_char = |c: char| c.is_alphanumeric() || matches!(c, '.' | '-');
            !entry.is_empty()
                && entry.chars().all(is_host_char)
                && !entry.starts_with('.')
                && !entry.ends_with('.')
        };

        let is_sender = |entry: &String| match entry.split_once('@') {
            Some((name, host)) => {
                !name.is_empty() && !name.contains(char::is_whitespace) && is_host(&host.to_owned())
            }
            None => is_host(entry),
        };

        if self.providers.len() > MAX_ENTRIES {
            return refuse(format!("at most {MAX_ENTRIES} providers"));
        }

        for (name, entries) in [
            ("connections", &self.connections),
            ("senders", &self.senders),
            ("hosts", &self.hosts),
        ] {
            let fits = |entry: &String| (1..=MAX_ENTRY).contains(&entry.chars().count());
            if entries.len() > MAX_ENTRIES || !entries.iter().all(fits) {
                return refuse(format!(
                    "at most {MAX_ENTRIES} {name} of 1 to {MAX_ENTRY} characters each"
                ));
            }
        }

        if !self.senders.iter().all(is_sender) {
            return refuse(
                "a sender is an address or its domain, as in ann@example.com or example.com".into(),
            );
        }

        if !self.hosts.iter().all(is_host) {
            return refuse(
                "a host is a name without scheme, port and path, as in docs.example.com".into(),
            );
        }

        Ok(())
    }

    /// Checks whether items of this connection are trusted.
    pub fn trusts_connection(&self, origin: &DocumentOrigin) -> bool {
        let id = origin.connection.as_str();
        self.providers.contains(&origin.provider)
            || self.connections.iter().any(|trusted| trusted == id)
    }

    /// Checks whether pages of this host are trusted.
    pub fn trusts_host(&self, host: &str) -> bool {
        self.hosts
            .iter()
            .any(|trusted| trusted.eq_ignore_ascii_case(host))
    }

    /// Checks whether mails from this sender are trusted. Every address in `from` has to be
    /// trusted, because a display name may contain an address as well.
    pub fn trusts_sender(&self, sender: &str) -> bool {
        let separators =
            |c: char| c.is_whitespace() || matches!(c, '<' | '>' | ',' | ';' | '"' | '(' | ')');
        let mut addresses = sender
            .split(separators)
            .filter(|part| part.contains('@'))
            .peekable();
        let is_trusted = |address: &str| {
            let domain = address.rsplit('@').next().unwrap_or_default();
            self.senders.iter().any(|trusted| {
                trusted.eq_ignore_ascii_case(address) || trusted.eq_ignore_ascii_case(domain)
            })
        };

        addresses.peek().is_some() && addresses.all(is_trusted)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn senders(entries: &[&str]) -> TrustedSources {
        let senders = entries.iter().map(|entry| (*entry).to_owned()).collect();
        TrustedSources {
            senders,
            ..TrustedSources::default()
        }
    }

    #[test]
    fn a_sender_is_trusted_by_every_address_that_it_shows() {
        let trusted = senders(&["ann@a.example", "b.example"]);
        for from in [
            "ann@a.example",
            "Ann <ANN@a.example>",
            "Ben <ben@b.example>, ann@a.example",
        ] {
            assert!(trusted.trusts_sender(from), "{from}");
        }

        for from in [
            "",
            "Ann",
            "eve@a.example",
            "ann@a.example <eve@x.example>",
            "eve@sub.b.example",
            "e@b.example.x",
        ] {
            assert!(!trusted.trusts_sender(from), "{from}");
        }
    }

    #[test]
    fn only_names_of_hosts_and_senders_are_taken() {
        for good in ["ann@a.example", "a.example", "localhost"] {
            assert!(senders(&[good]).check_sources().is_ok(), "{good}");
        }

        for bad in [
            "",
            "@a.example",
            "a b@c.example",
            "https://a.example",
            "*.example",
            "a@",
            "a@b@c",
        ] {
            assert!(senders(&[bad]).check_sources().is_err(), "{bad}");
        }

        let hosts = TrustedSources {
            hosts: vec!["a.example/path".into()],
            ..TrustedSources::default()
        };

        assert!(hosts.check_sources().is_err());
        assert!(
            senders(&["a.example"; MAX_ENTRIES + 1])
                .check_sources()
                .is_err()
        );
    }
}
