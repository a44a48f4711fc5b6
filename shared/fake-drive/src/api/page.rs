//! Tokens of the pages of listings: they end after some hours, and are good for the same query alone.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256};

use super::failure::Failure;

/// How long a token is good.
const HOURS: i64 = 6;

/// Where a page begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Position {
    /// Which of the lists that are gone through, or the number of a sorted listing.
    pub(crate) shelf: u64,
    /// Where in it.
    pub(crate) seq: u64,
}

/// What makes a query the same.
pub(crate) fn fingerprint(parts: &[&str]) -> u64 {
    let mut digest = Sha256::new();
    for part in parts {
        digest.update(part.as_bytes());
        digest.update([0]);
    }
    digest
        .finalize()
        .iter()
        .take(8)
        .fold(0, |number, byte| number << 8 | u64::from(*byte))
}

impl Position {
    pub(crate) fn write(self, print: u64, now: i64) -> String {
        format!(
            "~!!~{}",
            URL_SAFE_NO_PAD.encode(format!("{print:x}.{}.{}.{now}", self.shelf, self.seq))
        )
    }

    pub(crate) fn read(token: &str, print: u64, now: i64) -> Result<Self, Failure> {
        Self::decode(token)
            .filter(|(theirs, _, at)| *theirs == print && now - at <= HOURS * 3_600_000)
            .map(|(_, position, _)| position)
            .ok_or_else(|| Failure::invalid_value("pageToken"))
    }

    fn decode(token: &str) -> Option<(u64, Self, i64)> {
        let bytes = URL_SAFE_NO_PAD.decode(token.strip_prefix("~!!~")?).ok()?;
        let text = String::from_utf8(bytes).ok()?;
        let mut parts = text.split('.');
        let print = u64::from_str_radix(parts.next()?, 16).ok()?;
        let position = Self {
            shelf: parts.next()?.parse().ok()?,
            seq: parts.next()?.parse().ok()?,
        };
        Some((print, position, parts.next()?.parse().ok()?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_for_its_query_and_for_some_hours() {
        let (print, position) = (fingerprint(&["a", "b"]), Position { shelf: 2, seq: 77 });
        let token = position.write(print, 1000);
        assert_eq!(
            Position::read(&token, print, 1000 + 6 * 3_600_000),
            Ok(position)
        );
        assert!(Position::read(&token, print, 1001 + 6 * 3_600_000).is_err());
        assert!(Position::read(&token, fingerprint(&["ab", ""]), 1000).is_err());
        assert!(Position::read("~!!~x", print, 1000).is_err());
    }
}
