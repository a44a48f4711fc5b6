//! Page tokens of listings. They expire after some hours and are valid only for the same query.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256};

use super::failure::Failure;

/// The lifetime of a token in hours.
const HOURS: i64 = 6;

/// The position at which a page begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Position {
    /// The number of the shelf, or the number of a sorted listing.
    pub(crate) shelf: u64,
    /// The position in the shelf or listing.
    pub(crate) seq: u64,
}

/// Hashes the parts of a query that must be the same for every page.
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
