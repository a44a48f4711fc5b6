//! Identifiers. Each is parsed once, where it enters the service, so an invalid identifier cannot
//! exist inside.

use hmac::{Hmac, KeyInit, Mac};
use rand::RngExt;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::error::{Error, Result};

/// The length in characters of a document, container or revision id: 128 bits in base58, padded.
pub const ID_LEN: usize = 22;

/// The characters with which these ids begin, and those of memories and topics, in the order of the ids.
pub const ID_FIRST_CHARACTERS: &str = "123456789ABCDEFGHJKLMNPQRSTUVWXY";

fn encode_base58(bytes: [u8; 16]) -> String {
    let text = bs58::encode(bytes).into_string();
    format!("{text:1>ID_LEN$}")
}

fn random_id() -> String {
    encode_base58(rand::rng().random())
}

fn is_valid_id(text: &str) -> bool {
    text.len() == ID_LEN && text.bytes().all(|b| b.is_ascii_alphanumeric())
}

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        #[derive(
            Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
        )]
        #[serde(transparent)]
        $(#[$doc])*
        pub struct $name(String);

        impl $name {
            /// Returns the id as it appears on the wire.
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
    /// The id of an organization, the tenant to which everything belongs: 1 to 40 characters of
    /// `[a-z0-9-]`.
    #[schemars(extend("minLength" = 1))]
    OrgId
);
id!(
    /// The id of a physical container, which is behind one or more container tags. A tag that is
    /// deleted and created again gets a new one.
    #[schemars(extend("pattern" = "^[A-Za-z0-9]{22}$"))]
    ContainerId
);
id!(
    /// The id of a document, which it keeps. It is derived from the first `customId`, or random if
    /// there was none.
    #[schemars(extend("pattern" = "^[A-Za-z0-9]{22}$"))]
    DocumentId
);
id!(
    /// The id of a memory. It is derived from the memory's text and its place in the topic, so the
    /// same documents always produce the same ids, regardless of their order.
    #[schemars(extend("pattern" = "^[A-Za-z0-9]{22}$"))]
    MemoryId
);
id!(
    /// The id of a topic, a digest of what its memories are about. Memories of one topic replace or
    /// extend each other.
    TopicId
);
id!(
    /// A revision: one accepted content of a document. It is the fence that stops workers on an
    /// older content.
    #[schemars(extend("pattern" = "^[A-Za-z0-9]{22}$"))]
    Revision
);
id!(
    /// The public part of an API key, which logs and listings may show.
    #[schemars(extend("pattern" = "^[A-Za-z0-9]{1,32}$"))]
    KeyId
);
id!(
    /// The id of a task: a deletion or a merge of containers that continues after its request was
    /// answered.
    #[schemars(extend("pattern" = "^[A-Za-z0-9]{22}$"))]
    TaskId
);
id!(
    /// The id of a connection.
    #[schemars(extend("pattern" = "^[A-Za-z0-9]{22}$"))]
    ConnectionId
);
id!(
    /// The id of a grant. It is derived, so that the same account and app have only one grant.
    GrantId
);
id!(
    /// The id of an answer that is stored until the client has fetched it.
    AnswerId
);
id!(
    /// The caller's own stable identifier of a document: 1 to 255 characters of `[A-Za-z0-9_.:-]`,
    /// unique in the organization as far as a key reaches.
    #[schemars(extend("minLength" = 1, "maxLength" = 255, "pattern" = "^[A-Za-z0-9_.:-]+$"))]
    CustomId
);

impl OrgId {
    /// Parses an organization id.
    ///
    /// # Errors
    /// Returns [`Error::Invalid`] unless the text has 1 to 40 characters of `[a-z0-9-]`.
    pub fn parse(text: &str) -> Result<Self> {
        let is_valid = (1..=40).contains(&text.len())
            && text
                .bytes()
                .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-');
        if !is_valid {
            return Err(Error::invalid_field(
                "org",
                "1 to 40 characters of a-z, 0-9 and hyphen",
            ));
        }
        Ok(Self(text.to_owned()))
    }
}

impl ContainerId {
    /// Generates a new container id.
    pub fn random() -> Self {
        Self(random_id())
    }

    /// Derives the id of the container that tags share, from the first physical container of each
    /// tag, in the order of the tags.
    pub fn shared_by(containers: &[&ContainerId]) -> Self {
        let parts: Vec<&str> = containers.iter().map(|id| id.as_str()).collect();
        Self(digest_parts(&parts))
    }

    /// Parses an id that this service wrote.
    pub fn parse(text: &str) -> Option<Self> {
        is_valid_id(text).then(|| Self(text.to_owned()))
    }
}

impl AnswerId {
    /// Generates a new answer id.
    pub fn random() -> Self {
        Self(random_id())
    }
}

impl TaskId {
    /// Generates a new task id.
    pub fn random() -> Self {
        Self(random_id())
    }

    /// Parses an id from a path or a message, or returns `None` when it cannot be a task id.
    pub fn parse(text: &str) -> Option<Self> {
        is_valid_id(text).then(|| Self(text.to_owned()))
    }
}

impl ConnectionId {
    /// Generates a new connection id.
    pub fn random() -> Self {
        Self(random_id())
    }

    /// Parses an id from a path or a message, or returns `None` when it cannot be a connection id.
    pub fn parse(text: &str) -> Option<Self> {
        is_valid_id(text).then(|| Self(text.to_owned()))
    }
}

impl GrantId {
    /// Derives the id of the grant that an account of `provider` gave to the OAuth app with this
    /// client id.
    pub fn derived(provider: &str, client_id: &str, subject: &str) -> Self {
        Self(digest_parts(&[provider, client_id, subject]))
    }
}

impl Revision {
    /// Generates a new revision.
    pub fn random() -> Self {
        Self(random_id())
    }

    /// Parses a revision that this service wrote.
    pub fn parse(text: &str) -> Option<Self> {
        is_valid_id(text).then(|| Self(text.to_owned()))
    }
}

impl DocumentId {
    /// Generates a new document id.
    pub fn random() -> Self {
        Self(random_id())
    }

    /// Returns the id of the chunk at this position in the document, counted from 0. Part of the API.
    pub fn chunk_id(&self, position: usize) -> String {
        format!("{self}-{position}")
    }

    /// Derives the id of the document with this `customId` in the organization: HMAC-SHA-256 over
    /// the `customId`, keyed by the organization and truncated to 128 bits. Of two requests that
    /// create the document at the same time, one therefore finds the other.
    pub fn of_custom_id(org: &OrgId, custom_id: &CustomId) -> Self {
        Self::from_mac(org, &[b"customId", custom_id.as_str().as_bytes()])
    }

    /// Derives the second id of the document with this `customId` in the organization. A new document
    /// has it while one of a deleted container still has the first.
    pub fn second_of_custom_id(org: &OrgId, custom_id: &CustomId) -> Self {
        Self::from_mac(org, &[b"customId/2", custom_id.as_str().as_bytes()])
    }

    /// Derives the id of the document with this `customId` in a container. Documents have it whose
    /// id in the organization was taken, and those from before there was one.
    pub fn in_container(org: &OrgId, container: &ContainerId, custom_id: &CustomId) -> Self {
        Self::from_mac(
            org,
            &[container.as_str().as_bytes(), custom_id.as_str().as_bytes()],
        )
    }

    fn from_mac(org: &OrgId, parts: &[&[u8]]) -> Self {
        let mut mac = Hmac::<Sha256>::new_from_slice(org.as_str().as_bytes())
            .expect("HMAC takes keys of any length");
        mac.update(&parts.join(&0));
        let digest = mac.finalize().into_bytes();
        let mut half = [0; 16];
        half.copy_from_slice(&digest[..16]);
        Self(encode_base58(half))
    }

    /// Derives the id that a repeated request, which remembers this id, gives its document in a
    /// container.
    #[must_use]
    pub fn for_container(&self, container: &ContainerId) -> Self {
        let digest = Sha256::digest(format!("{self}#{container}"));
        let mut half = [0; 16];
        half.copy_from_slice(&digest[..16]);
        Self(encode_base58(half))
    }

    /// Parses an id from a path or a body, or returns `None` when it cannot be a document id.
    pub fn parse(text: &str) -> Option<Self> {
        is_valid_id(text).then(|| Self(text.to_owned()))
    }
}

/// Returns the first 128 bits of the SHA-256 of `parts`, each preceded by its length.
fn digest_parts(parts: &[&str]) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part.as_bytes());
    }
    let mut half = [0; 16];
    half.copy_from_slice(&hash.finalize()[..16]);
    encode_base58(half)
}

impl TopicId {
    /// Derives the id of the topic of a container that these words name.
    pub fn derived(container: &ContainerId, words: &[&str]) -> Self {
        let parts: Vec<&str> = std::iter::once(container.as_str())
            .chain(words.iter().copied())
            .collect();
        Self(digest_parts(&parts))
    }
}

impl MemoryId {
    /// Derives the id of a memory: the `occurrence`th time, counted from 0, that a topic has the
    /// answer `value`.
    pub fn derived(topic: &TopicId, value: &str, occurrence: usize) -> Self {
        Self(digest_parts(&[
            topic.as_str(),
            value,
            &occurrence.to_string(),
        ]))
    }

    /// Parses an id from a path or a body, or returns `None` when it cannot be a memory id.
    pub fn parse(text: &str) -> Option<Self> {
        is_valid_id(text).then(|| Self(text.to_owned()))
    }
}

impl KeyId {
    /// Generates a new key id of 10 characters.
    pub fn random() -> Self {
        Self(random_id().split_off(ID_LEN - 10))
    }

    /// Parses a key id, or returns `None` when the text cannot be one.
    pub fn parse(text: &str) -> Option<Self> {
        let is_valid =
            (1..=32).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_alphanumeric());
        is_valid.then(|| Self(text.to_owned()))
    }
}

impl CustomId {
    /// Parses a `customId`.
    ///
    /// # Errors
    /// Returns [`Error::Invalid`] unless the text has 1 to 255 characters of `[A-Za-z0-9_.:-]`.
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

    /// Parses a `conversationId`, which may contain any printable character.
    ///
    /// # Errors
    /// Returns [`Error::Invalid`] unless the text has 1 to 255 characters, none of them a control
    /// character.
    pub fn parse_conversation_id(text: &str) -> Result<Self> {
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
        let id = DocumentId::in_container(&org("one"), &a, &custom);
        assert_eq!(id, DocumentId::in_container(&org("one"), &a, &custom));
        assert_ne!(id, DocumentId::in_container(&org("two"), &a, &custom));
        assert_ne!(id, DocumentId::in_container(&org("one"), &b, &custom));
        assert_ne!(id, DocumentId::of_custom_id(&org("one"), &custom));
        assert_eq!(id.as_str().len(), ID_LEN);
    }

    #[test]
    fn the_ids_in_a_container_are_those_of_earlier_versions() {
        let org = OrgId::parse("acme").unwrap();
        let container = ContainerId::parse("1111111111111111111111").unwrap();
        let custom_id = CustomId::parse("note-1").unwrap();
        let id = DocumentId::in_container(&org, &container, &custom_id);
        assert_eq!(id.as_str(), "8w9S5inCtoSzUYosbcCsbC");
    }

    #[test]
    fn a_leading_zero_does_not_shorten_an_id() {
        assert_eq!(encode_base58([0; 16]).len(), ID_LEN);
        assert_eq!(encode_base58([255; 16]).len(), ID_LEN);
    }

    #[test]
    fn ids_begin_with_these_characters() {
        let ids = (0..=u8::MAX).flat_map(|first| {
            [0, u8::MAX].map(|other| {
                let mut bytes = [other; 16];
                bytes[0] = first;
                encode_base58(bytes)
            })
        });
        let mut characters: Vec<char> = ids.filter_map(|id| id.chars().next()).collect();
        characters.dedup();
        assert!(characters.into_iter().eq(ID_FIRST_CHARACTERS.chars()));
    }

    #[test]
    fn custom_id_rejects_what_the_contract_rejects() {
        for bad in ["", "a b", "ä", "a/b", &"x".repeat(256)] {
            assert!(CustomId::parse(bad).is_err(), "{bad}");
        }
        assert!(CustomId::parse("order:2024_1.v-2").is_ok());
    }
}
