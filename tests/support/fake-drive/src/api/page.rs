//! Page tokens of listings. They expire after some hours and are valid only for the same query.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256};

use super::failure::DriveApiError;

/// The lifetime of a token in hours.
const TOKEN_LIFETIME_HOURS: i64 = 6;

/// The position at which a page begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct PagePosition {
    /// The number of the shelf, or the number of a sorted listing.
    pub(crate) list_number: u64,
    /// The position in the shelf or listing.
    pub(crate) seq: u64,
}

/// Hashes the parts of a query that must be the same for every page.
pub(crate) fn fingerprint_query(parts: &[&str]) -> u64 {
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

impl PagePosition {
    pub(crate) fn to_token(self, fingerprint: u64, now: i64) -> String {
        format!(
            "~!!~{}",
            URL_SAFE_NO_PAD.encode(format!(
                "{fingerprint:x}.{}.{}.{now}",
                self.list_number, self.seq
            ))
        )
    }

    pub(crate) fn from_token(
        token: &str,
        fingerprint: u64,
        now: i64,
    ) -> Result<Self, DriveApiError> {
        Self::decode_token(token)
            .filter(|(token_fingerprint, _, at)| {
                *token_fingerprint == fingerprint && now - at <= TOKEN_LIFETIME_HOURS * 3_600_000
            })
            .map(|(_, position, _)| position)
            .ok_or_else(|| DriveApiError::invalid_value("pageToken"))
    }

    fn decode_token(token: &str) -> Option<(u64, Self, i64)> {
        let bytes = URL_SAFE_NO_PAD.decode(token.strip_prefix("~!!~")?).ok()?;
        let text = String::from_utf8(bytes).ok()?;
        let mut parts = text.split('.');
        let fingerprint = u64::from_str_radix(parts.next()?, 16).ok()?;
        let position = Self {
            list_number: parts.next()?.parse().ok()?,
            seq: parts.next()?.parse().ok()?,
        };
        Some((fingerprint, position, parts.next()?.parse().ok()?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_for_its_query_and_for_some_hours() {
        let (fingerprint, position) = (
            fingerprint_query(&["a", "b"]),
            PagePosition {
                list_number: 2,
                seq: 77,
            },
        );
        let token = position.to_token(fingerprint, 1000);
        assert_eq!(
            PagePosition::from_token(&token, fingerprint, 1000 + 6 * 3_600_000),
            Ok(position)
        );
        assert!(PagePosition::from_token(&token, fingerprint, 1001 + 6 * 3_600_000).is_err());
        assert!(PagePosition::from_token(&token, fingerprint_query(&["ab", ""]), 1000).is_err());
        assert!(PagePosition::from_token("~!!~x", fingerprint, 1000).is_err());
    }
}
