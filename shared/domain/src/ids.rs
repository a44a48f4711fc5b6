//! Identifiers. Each is parsed once, where it enters; inside, an invalid one cannot exist.

use hmac::{Hmac, KeyInit, Mac};
use rand::RngExt;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::error::{Error, Result};

/// Characters of a document, container or revision id: 128 bits in base58, padded.
pub const ID_LEN: usize = 22;

fn encode(bytes: [u8; 16]) -> String {
    let text = bs58::encode(bytes).into_string();
    format!("{text:1>ID_LEN$}")
}

fn random() -> String {
    encode(rand::rng().random())
}

fn is_id(text: &str) -> bool {
    text.len() == ID_LEN && text.bytes().all(|b| b.is_ascii_alphanumeric())
}

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(String);

        impl $name {
            /// The id as it goes over the wire.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

id!(
    /// An organization: the tenant that everything belongs to. 1 to 40 of `[a-z0-9-]`.
    OrgId
);
id!(
    /// A physical container, behind one or more container tags. A tag that is deleted and made again gets a new one.
    ContainerId
);
id!(
    /// A document. Derived from (organization, container, customId) where there is a customId, else random.
    DocumentId
);
id!(
    /// A memory. Derived from what it says and where it stands in its topic, so that the same documents always give the
    /// same ids, in whatever order they come.
    MemoryId
);
id!(
    /// What a memory is about, as a digest: memories of one topic replace or extend each other.
    TopicId
);
id!(
    /// One accepted content of a document: the fence that stops workers of an older content.
    Revision
);
id!(
    /// An API key's public part: what logs and listings may show.
    KeyId
);
id!(
    /// Long work that goes on behind an answered request: a deletion or a merge of containers.
    TaskId
);
id!(
    /// A connection to an account elsewhere.
    ConnectionId
);
id!(
    /// A permission that a user has given. Derived, so that the same account and app are one.
    GrantId
);
id!(
    /// The caller's own stable identifier of a document: 1 to 255 of `[A-Za-z0-9_.:-]`, unique in its container.
    CustomId
);

impl OrgId {
    /// Parses an organization id.
    ///
    /// # Errors
    /// [`Error::Invalid`] unless it is 1 to 40 of `[a-z0-9-]`.
    pub fn parse(text: &str) -> Result<Self> {
        let ok = (1..=40).contains(&text.len())
            && text
                .bytes()
                .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-');
        if !ok {
            return Err(Error::invalid_field(
                "org",
                "1 to 40 characters of a-z, 0-9 and hyphen",
            ));
        }
        Ok(Self(text.to_owned()))
    }
}

impl ContainerId {
    /// A fresh container id.
    pub fn random() -> Self {
        Self(random())
    }

    /// Reads an id that this service wrote.
    pub fn parse(text: &str) -> Option<Self> {
        is_id(text).then(|| Self(text.to_owned()))
    }
}

impl TaskId {
    /// A fresh task id.
    pub fn random() -> Self {
        Self(random())
    }

    /// Reads an id from a path or a message; `None` when it cannot be a task's.
    pub fn parse(text: &str) -> Option<Self> {
        is_id(text).then(|| Self(text.to_owned()))
    }
}

impl ConnectionId {
    /// A fresh connection id.
    pub fn random() -> Self {
        Self(random())
    }

    /// Reads an id from a path or a message; `None` when it cannot be a connection's.
    pub fn parse(text: &str) -> Option<Self> {
        is_id(text).then(|| Self(text.to_owned()))
    }
}

impl GrantId {
    /// The permission that an account of `provider` gave to the OAuth app with this client id.
    pub fn derived(provider: &str, client_id: &str, subject: &str) -> Self {
        Self(digest(&[provider, client_id, subject]))
    }
}

impl Revision {
    /// A fresh revision.
    pub fn random() -> Self {
        Self(random())
    }

    /// Reads a revision that this service wrote.
    pub fn parse(text: &str) -> Option<Self> {
        is_id(text).then(|| Self(text.to_owned()))
    }
}

impl DocumentId {
    /// A fresh document id.
    pub fn random() -> Self {
        Self(random())
    }

    /// The id of the document with this customId: HMAC-SHA-256 over container and customId, keyed by the organization,
    /// cut to 128 bits. An upsert therefore needs no look-up and cannot race.
    pub fn derived(org: &OrgId, container: &ContainerId, custom_id: &CustomId) -> Self {
        let mut mac = Hmac::<Sha256>::new_from_slice(org.as_str().as_bytes())
            .expect("HMAC takes keys of any length");
        mac.update(container.as_str().as_bytes());
        mac.update(&[0]);
        mac.update(custom_id.as_str().as_bytes());
        let digest = mac.finalize().into_bytes();
        let mut half = [0; 16];
        half.copy_from_slice(&digest[..16]);
        Self(encode(half))
    }

    /// The id that this document has in another container. Derived, so that a move that is asked for twice is one move.
    #[must_use]
    pub fn moved_to(&self, container: &ContainerId) -> Self {
        let digest = Sha256::digest(format!("{self}#{container}"));
        let mut half = [0; 16];
        half.copy_from_slice(&digest[..16]);
        Self(encode(half))
    }

    /// Reads an id from a path or a body; `None` when it cannot be a document id.
    pub fn parse(text: &str) -> Option<Self> {
        is_id(text).then(|| Self(text.to_owned()))
    }
}

/// The first 128 bits of the SHA-256 of `parts`, each with its length in front.
fn digest(parts: &[&str]) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part.as_bytes());
    }
    let mut half = [0; 16];
    half.copy_from_slice(&hash.finalize()[..16]);
    encode(half)
}

impl TopicId {
    /// The topic of a container that these words name.
    pub fn derived(container: &ContainerId, words: &[&str]) -> Self {
        let parts: Vec<&str> = std::iter::once(container.as_str())
            .chain(words.iter().copied())
            .collect();
        Self(digest(&parts))
    }
}

impl MemoryId {
    /// The `occurrence`th time (from 0) that a topic comes to say `value`.
    pub fn derived(topic: &TopicId, value: &str, occurrence: usize) -> Self {
        Self(digest(&[topic.as_str(), value, &occurrence.to_string()]))
    }

    /// Reads an id from a path or a body; `None` when it cannot be a memory's.
    pub fn parse(text: &str) -> Option<Self> {
        is_id(text).then(|| Self(text.to_owned()))
    }
}

impl KeyId {
    /// A fresh key id: 10 characters.
    pub fn random() -> Self {
        Self(random().split_off(ID_LEN - 10))
    }

    /// Reads a key id; `None` when it cannot be one.
    pub fn parse(text: &str) -> Option<Self> {
        let ok = (1..=32).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_alphanumeric());
        ok.then(|| Self(text.to_owned()))
    }
}

impl CustomId {
    /// Parses a customId.
    ///
    /// # Errors
    /// [`Error::Invalid`] unless it is 1 to 255 of `[A-Za-z0-9_.:-]`.
    pub fn parse(text: &str) -> Result<Self> {
        let allowed = |b: u8| b.is_ascii_alphanumeric() || b"_.:-".contains(&b);
        if !(1..=255).contains(&text.len()) || !text.bytes().all(allowed) {
            return Err(Error::invalid_field(
                "customId",
                "1 to 255 characters of letters, digits, underscore, full stop, colon and hyphen",
            ));
        }
        Ok(Self(text.to_owned()))
    }

    /// Parses a conversationId, which may hold any printable character.
    ///
    /// # Errors
    /// [`Error::Invalid`] unless it has 1 to 255 characters and none of them is a control character.
    pub fn parse_conversation(text: &str) -> Result<Self> {
        if !(1..=255).contains(&text.chars().count()) || text.chars().any(char::is_control) {
            return Err(Error::invalid_field(
                "conversationId",
                "1 to 255 characters without control characters",
            ));
        }
        Ok(Self(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_have_22_characters_and_differ() {
        let ids: std::collections::HashSet<_> = (0..1000).map(|_| DocumentId::random()).collect();
        assert_eq!(ids.len(), 1000);
        assert!(
            ids.iter()
                .all(|id| DocumentId::parse(id.as_str()).is_some())
        );
    }

    #[test]
    fn derived_id_depends_on_org_container_and_custom_id() {
        let org = |name| OrgId::parse(name).unwrap();
        let (a, b) = (ContainerId::random(), ContainerId::random());
        let custom = CustomId::parse("note-1").unwrap();
        let id = DocumentId::derived(&org("one"), &a, &custom);
        assert_eq!(id, DocumentId::derived(&org("one"), &a, &custom));
        assert_ne!(id, DocumentId::derived(&org("two"), &a, &custom));
        assert_ne!(id, DocumentId::derived(&org("one"), &b, &custom));
        assert_eq!(id.as_str().len(), ID_LEN);
    }

    #[test]
    fn a_leading_zero_does_not_shorten_an_id() {
        assert_eq!(encode([0; 16]).len(), ID_LEN);
        assert_eq!(encode([255; 16]).len(), ID_LEN);
    }

    #[test]
    fn custom_id_rejects_what_the_contract_rejects() {
        for bad in ["", "a b", "ä", "a/b", &"x".repeat(256)] {
            assert!(CustomId::parse(bad).is_err(), "{bad}");
        }
        assert!(CustomId::parse("order:2024_1.v-2").is_ok());
    }
}
