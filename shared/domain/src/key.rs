//! API keys: `rk_<keyId>_<secret><checksum>`.
//!
//! The prefix lets secret scanners find a leaked key, the checksum lets us refuse garbage without a read, the key id
//! finds the record, and only SHA-256 of the secret is stored: with 190 random bits a slow hash would add nothing.

use rand::RngExt;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

use crate::error::{Error, Result};
use crate::ids::{KeyId, OrgId};
use crate::rate::RateLimit;
use crate::tag::ContainerTag;
use crate::tenant::Tenant;
use crate::time::Timestamp;

const SECRET_LEN: usize = 32;
const CHECKSUM_LEN: usize = 8;

/// What a key may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Permission {
    /// Recall and listings.
    Read,
    /// Everything.
    Write,
}

/// What a key was made for, which bounds where it may be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum KeyKind {
    /// Everything of the organization, its administration included.
    Full,
    /// Content and what surrounds it, in some containers or all; no administration.
    Agent,
    /// Content of one container alone, by the endpoints in [`SCOPED_ENDPOINTS`].
    Scoped,
    /// An administrator's session: as [`KeyKind::Full`], for a short time, and in no listing.
    Session,
}

/// The endpoints that a scoped key may use, with everything below them. Contract.
pub const SCOPED_ENDPOINTS: [&str; 6] = [
    "/v3/documents",
    "/v3/memories",
    "/v4/memories",
    "/v3/search",
    "/v4/search",
    "/v4/profile",
];

/// A key's record. The secret itself is nowhere in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiKey {
    /// The public part.
    pub id: KeyId,
    /// Whose it is.
    pub org: OrgId,
    /// What a person called it.
    pub name: String,
    /// What it was made for.
    pub kind: KeyKind,
    /// SHA-256 of the secret.
    pub hash: [u8; 32],
    /// What it may do.
    pub permission: Permission,
    /// The containers it reaches; `None` is all.
    pub tags: Option<Vec<ContainerTag>>,
    /// A disabled key answers 401.
    pub enabled: bool,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it stops working.
    pub expires_at: Option<Timestamp>,
    /// How often it may be used; `None` is as often as anybody likes.
    pub rate: Option<RateLimit>,
}

/// A key as its owner sends it; never stored, never printed by `Debug`.
pub struct PresentedKey {
    id: KeyId,
    hash: [u8; 32],
}

/// What a key is to be.
#[derive(Debug, Clone)]
pub struct KeyPlan {
    /// What a person calls it.
    pub name: String,
    /// What it is for.
    pub kind: KeyKind,
    /// What it may do.
    pub permission: Permission,
    /// The containers it reaches; `None` is all.
    pub tags: Option<Vec<ContainerTag>>,
    /// When it stops working.
    pub expires_at: Option<Timestamp>,
    /// How often it may be used.
    pub rate: Option<RateLimit>,
}

/// A new key: its record, and the text that is shown once.
pub struct NewKey {
    /// What is stored.
    pub record: ApiKey,
    /// What the owner keeps.
    pub text: String,
}

impl NewKey {
    /// Makes a key with a fresh secret.
    pub fn generate(org: OrgId, plan: KeyPlan, now: Timestamp) -> Self {
        let id = KeyId::random();
        let secret: String = bs58::encode(rand::rng().random::<[u8; 28]>()).into_string();
        let secret = format!("{secret:1>SECRET_LEN$}")[..SECRET_LEN].to_owned();
        let text = format!("rk_{id}_{secret}{}", checksum(&id, &secret));
        let record = ApiKey {
            id,
            org,
            name: plan.name,
            kind: plan.kind,
            hash: Sha256::digest(secret.as_bytes()).into(),
            permission: plan.permission,
            tags: plan.tags,
            enabled: true,
            created_at: now,
            expires_at: plan.expires_at,
            rate: plan.rate,
        };

        Self { record, text }
    }
}

fn checksum(id: &KeyId, secret: &str) -> String {
    format!(
        "{:08x}",
        crc32fast::hash(format!("{id}_{secret}").as_bytes())
    )
}

impl PresentedKey {
    /// Reads a key from a request header; `None` when it cannot be one of ours, which costs no read.
    pub fn parse(text: &str) -> Option<Self> {
        let (id, rest) = text.strip_prefix("rk_")?.split_once('_')?;
        if !rest.is_ascii() || rest.len() != SECRET_LEN + CHECKSUM_LEN {
            return None;
        }
        let (secret, sum) = rest.split_at(SECRET_LEN);
        let id = KeyId::parse(id)?;
        (checksum(&id, secret) == sum).then(|| Self {
            hash: Sha256::digest(secret.as_bytes()).into(),
            id,
        })
    }

    /// The public part, to find the record by.
    pub fn id(&self) -> &KeyId {
        &self.id
    }

    /// The tenant, if this is the key of that record and the key is still good.
    ///
    /// # Errors
    /// [`Error::Unauthenticated`]; the same sentence for a key that never was, so nothing can be probed.
    pub fn verify(&self, record: Option<&ApiKey>, now: Timestamp) -> Result<Tenant> {
        const REFUSED: Error = Error::Unauthenticated("the API key is not valid");
        let record = record.ok_or(REFUSED)?;
        if !bool::from(record.hash.ct_eq(&self.hash)) {
            return Err(REFUSED);
        }
        if !record.enabled {
            return Err(Error::Unauthenticated("the API key is disabled"));
        }
        if record.expires_at.is_some_and(|end| end <= now) {
            return Err(Error::Unauthenticated("the API key has expired"));
        }
        Ok(Tenant::of_key(record))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp::from_millis(1_000_000);

    fn key() -> NewKey {
        let plan = KeyPlan {
            name: "ci".into(),
            kind: KeyKind::Full,
            permission: Permission::Write,
            tags: None,
            expires_at: None,
            rate: None,
        };
        NewKey::generate(OrgId::parse("acme").unwrap(), plan, NOW)
    }

    #[test]
    fn a_key_opens_its_organization_only() {
        let key = key();
        let presented = PresentedKey::parse(&key.text).unwrap();
        assert_eq!(
            presented
                .verify(Some(&key.record), NOW)
                .unwrap()
                .org()
                .as_str(),
            "acme"
        );
        let other = self::key();
        assert!(presented.verify(Some(&other.record), NOW).is_err());
        assert!(presented.verify(None, NOW).is_err());
    }

    #[test]
    fn disabled_and_expired_keys_are_refused() {
        let mut key = key();
        let presented = PresentedKey::parse(&key.text).unwrap();
        key.record.expires_at = Some(NOW.plus_seconds(1));
        assert!(presented.verify(Some(&key.record), NOW).is_ok());
        assert!(
            presented
                .verify(Some(&key.record), NOW.plus_seconds(1))
                .is_err()
        );
        key.record.expires_at = None;
        key.record.enabled = false;
        assert!(presented.verify(Some(&key.record), NOW).is_err());
    }

    #[test]
    fn a_mistyped_key_is_refused_without_a_read() {
        let text = key().text;
        for at in 3..text.len() {
            let mut wrong = text.clone().into_bytes();
            wrong[at] = if wrong[at] == b'x' { b'y' } else { b'x' };
            let wrong = String::from_utf8(wrong).unwrap();
            assert!(PresentedKey::parse(&wrong).is_none(), "{wrong}");
        }

        for garbage in [
            "",
            "local",
            "rk_",
            "rk_a_",
            "sm_1_2",
            "rk_ä_öööööööööööööööööööööööööööööööööööööööö",
        ] {
            assert!(PresentedKey::parse(garbage).is_none());
        }
    }
}
