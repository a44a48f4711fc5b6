//! API keys, in the form `rk_<keyId>_<secret><checksum>`.
//!
//! The prefix lets secret scanners find a leaked key, the checksum allows garbage to be refused
//! without a read, and the key id finds the record. Only the SHA-256 of the secret is stored: with
//! 190 random bits, a slow hash would add nothing.

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

/// The permission of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Permission {
    /// Search and listings.
    Read,
    /// Everything.
    Write,
}

/// The kind of a key, which limits where it may be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum KeyKind {
    /// Everything in the organization, including its administration.
    Full,
    /// Content and related data in some or all containers, without administration.
    Agent,
    /// Only the content of a single container, through the endpoints in [`SCOPED_ENDPOINTS`].
    Scoped,
    /// The session of an administrator: like [`KeyKind::Full`], but short-lived and not listed.
    Session,
}

/// The endpoints that a scoped key may use, including everything below them. The answer that creates
/// such a key has this list, and a contract test compares it with what the endpoints do. The list
/// itself enforces nothing: each handler demands its permission by the type of its extractor.
pub const SCOPED_ENDPOINTS: [&str; 6] = [
    "/v3/documents",
    "/v3/memories",
    "/v4/memories",
    "/v3/search",
    "/v4/search",
    "/v4/profile",
];

/// The endpoints of a namespace that a scoped key may use in its own, including everything below
/// them.
pub const SCOPED_NAMESPACE_ENDPOINTS: [&str; 5] = [
    "/ns/{namespace}/document",
    "/ns/{namespace}/list",
    "/ns/{namespace}/memories",
    "/ns/{namespace}/search",
    "/ns/{namespace}/profile",
];

/// The record of an API key. It does not contain the secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiKey {
    /// The public part.
    pub id: KeyId,
    /// The organization that the key belongs to.
    pub org: OrgId,
    /// The name that a person gave the key.
    pub name: String,
    /// The kind of the key.
    pub kind: KeyKind,
    /// The SHA-256 of the secret.
    pub secret_hash: [u8; 32],
    /// The permission of the key.
    pub permission: Permission,
    /// The container tags to which it is limited, or `None` for all.
    pub tags: Option<Vec<ContainerTag>>,
    /// The switch of the key. A disabled key is answered with 401.
    pub enabled: bool,
    /// The time at which it was created.
    pub created_at: Timestamp,
    /// The time at which it expires.
    pub expires_at: Option<Timestamp>,
    /// The rate limit of the key, or `None` for no limit.
    pub rate_limit: Option<RateLimit>,
    /// The key as which this one acts, as long as that key works. Only sessions of the console have
    /// one.
    pub acts_as: Option<KeyId>,
}

/// A key as a client presents it. It is never stored, and has no `Debug`.
pub struct PresentedKey {
    id: KeyId,
    hash: [u8; 32],
}

/// The properties of a key to be created.
#[derive(Debug, Clone)]
pub struct KeySpec {
    /// The name that a person gives the key.
    pub name: String,
    /// The kind of the key.
    pub kind: KeyKind,
    /// The permission of the key.
    pub permission: Permission,
    /// The container tags to which it is limited, or `None` for all.
    pub tags: Option<Vec<ContainerTag>>,
    /// The time at which it expires.
    pub expires_at: Option<Timestamp>,
    /// The rate limit of the key.
    pub rate_limit: Option<RateLimit>,
}

/// A new key: its record, and the text that is shown only once.
pub struct NewKey {
    /// The record to store.
    pub record: ApiKey,
    /// The text for the owner.
    pub key_text: String,
}

impl NewKey {
    /// Generates a key with a new secret.
    pub fn generate(org: OrgId, spec: KeySpec, now: Timestamp) -> Self {
        let id = KeyId::random();
        let secret: String = bs58::encode(rand::rng().random::<[u8; 28]>()).into_string();
        let secret = format!("{secret:1>SECRET_LEN$}")[..SECRET_LEN].to_owned();
        let text = format!("rk_{id}_{secret}{}", key_checksum(&id, &secret));
        let record = ApiKey {
            id,
            org,
            name: spec.name,
            kind: spec.kind,
            secret_hash: Sha256::digest(secret.as_bytes()).into(),
            permission: spec.permission,
            tags: spec.tags,
            enabled: true,
            created_at: now,
            expires_at: spec.expires_at,
            rate_limit: spec.rate_limit,
            acts_as: None,
        };

        Self {
            record,
            key_text: text,
        }
    }
}

fn key_checksum(id: &KeyId, secret: &str) -> String {
    format!(
        "{:08x}",
        crc32fast::hash(format!("{id}_{secret}").as_bytes())
    )
}

impl PresentedKey {
    /// Parses a key from a request header. Returns `None`, without a read, when it cannot be a key
    /// of this service.
    pub fn parse(text: &str) -> Option<Self> {
        let (id, rest) = text.strip_prefix("rk_")?.split_once('_')?;
        if !rest.is_ascii() || rest.len() != SECRET_LEN + CHECKSUM_LEN {
            return None;
        }
        let (secret, checksum) = rest.split_at(SECRET_LEN);
        let id = KeyId::parse(id)?;
        (key_checksum(&id, secret) == checksum).then(|| Self {
            hash: Sha256::digest(secret.as_bytes()).into(),
            id,
        })
    }

    /// Returns the public part, which finds the record.
    pub fn id(&self) -> &KeyId {
        &self.id
    }

    /// Returns the tenant, if the record belongs to this key and the key is still valid.
    ///
    /// # Errors
    /// Returns [`Error::Unauthenticated`], with the same message for a wrong secret and for a key
    /// that never existed, so that keys cannot be probed.
    pub fn verify_against(&self, record: Option<&ApiKey>, now: Timestamp) -> Result<Tenant> {
        const INVALID_KEY: Error = Error::Unauthenticated("the API key is not valid");
        let record = record.ok_or(INVALID_KEY)?;
        if !bool::from(record.secret_hash.ct_eq(&self.hash)) {
            return Err(INVALID_KEY);
        }
        record.check_valid(now)?;
        Ok(Tenant::for_key(record))
    }
}

impl ApiKey {
    /// Returns the tenant of a verified session of the console that acts as this key.
    ///
    /// # Errors
    /// Returns [`Error::Unauthenticated`] for a key that is disabled or has expired, and for one of
    /// another organization.
    pub fn tenant_of_session(&self, session: &Tenant, now: Timestamp) -> Result<Tenant> {
        if self.org != *session.org() {
            return Err(Error::Unauthenticated("the session is not valid"));
        }
        self.check_valid(now)?;
        Ok(Tenant::for_console_session(self))
    }

    fn check_valid(&self, now: Timestamp) -> Result<()> {
        if !self.enabled {
            return Err(Error::Unauthenticated("the API key is disabled"));
        }
        if self.expires_at.is_some_and(|end| end <= now) {
            return Err(Error::Unauthenticated("the API key has expired"));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp::from_millis(1_000_000);

    fn key() -> NewKey {
        let plan = KeySpec {
            name: "ci".into(),
            kind: KeyKind::Full,
            permission: Permission::Write,
            tags: None,
            expires_at: None,
            rate_limit: None,
        };
        NewKey::generate(OrgId::parse("acme").unwrap(), plan, NOW)
    }

    #[test]
    fn a_key_opens_its_organization_only() {
        let key = key();
        let presented = PresentedKey::parse(&key.key_text).unwrap();
        assert_eq!(
            presented
                .verify_against(Some(&key.record), NOW)
                .unwrap()
                .org()
                .as_str(),
            "acme"
        );

        let other = self::key();
        assert!(presented.verify_against(Some(&other.record), NOW).is_err());
        assert!(presented.verify_against(None, NOW).is_err());
    }

    #[test]
    fn disabled_and_expired_keys_are_refused() {
        let mut key = key();
        let presented = PresentedKey::parse(&key.key_text).unwrap();
        key.record.expires_at = Some(NOW.plus_seconds(1));
        assert!(presented.verify_against(Some(&key.record), NOW).is_ok());
        assert!(
            presented
                .verify_against(Some(&key.record), NOW.plus_seconds(1))
                .is_err()
        );

        key.record.expires_at = None;
        key.record.enabled = false;
        assert!(presented.verify_against(Some(&key.record), NOW).is_err());
    }

    #[test]
    fn a_mistyped_key_is_refused_without_a_read() {
        let text = key().key_text;
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
