//! The data that memories are computed from: the statements of documents and the edits of callers.
//!
//! The [`StatementSet`] of a document are found once, when it is processed, and never depend on
//! other documents. The memories of a container are computed only from the statements of its
//! documents and the [`MemoryEdit`]s of its callers. Neither the order of commits nor a repeated
//! commit can therefore change them, and a deleted document takes with it everything that only it
//! supported.

use std::io::Read;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::error::PortError;
use crate::ids::{MemoryId, TopicId};
use crate::provenance::Attribution;
use crate::time::Timestamp;

/// The largest number of characters in a memory. This limit is part of the API.
pub const MAX_MEMORY_CHARS: usize = 10_000;

/// The kinds of memories.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Default,
    Serialize,
    Deserialize,
    JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum MemoryKind {
    /// A property of a person or thing.
    #[default]
    Fact,
    /// Something that a person likes, wants or thinks.
    Preference,
    /// Something that the assistant should always do.
    Instruction,
    /// A decision that was made.
    Decision,
    /// Something that a person intends or has promised to do.
    Plan,
    /// Something that happened or will happen at a certain time.
    Event,
}

/// The trust in a statement, by its source. The most trusted source comes first. `client`, `user`
/// and `document` are the user's own words, the only ones that may instruct, stand in the static
/// profile and replace what the user said before.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Default,
    Serialize,
    Deserialize,
    JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Trust {
    /// A memory written by a client.
    Client,
    /// A person's words in a conversation.
    User,
    /// An assistant's words in a conversation.
    Assistant,
    /// Plain text that a client has sent, which counts as the user's own words unless something
    /// indicates otherwise. Also the content of files that were processed before provenance was
    /// determined.
    #[default]
    Document,
    /// Text that another person has written: mails, pages, files, drives, pasted text, quotations.
    External,
}

impl Trust {
    /// Checks whether these are the user's own words, the only ones that may instruct or describe
    /// the user permanently.
    pub fn is_own_words(self) -> bool {
        matches!(self, Self::Client | Self::User | Self::Document)
    }

    /// Returns the lower of two trusts.
    #[must_use]
    pub fn weaker(self, other: Self) -> Self {
        if (!self.is_own_words(), self) < (!other.is_own_words(), other) {
            other
        } else {
            self
        }
    }

    /// Checks whether a statement may replace one with the trust `other`. Words of others never
    /// replace words of the user.
    pub fn may_replace(self, other: Self) -> bool {
        self.is_own_words() || !other.is_own_words()
    }
}

/// The period of an event, from its first to its last moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EventPeriod {
    /// The first moment.
    pub from: Timestamp,
    /// The last moment, which equals `from` for a point in time.
    pub to: Timestamp,
}

/// The topic of a statement that has one answer at a time. A later statement on the same topic
/// replaces an earlier one.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Topic {
    /// The subject, in lower case: `user`, `anna`, `project atlas`.
    pub subject: String,
    /// The property of the subject, in lower case: `residence`, `employer`, `favourite color`,
    /// `likes coffee`.
    pub attribute: String,
    /// The answer, in lower case: `berlin`.
    pub value: String,
    /// `true` if the statement says that the answer is not, or no longer, `value`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub negated: bool,
}

/// The ending of the names of aspects of somebody else's life, in [`Statement::aspects`].
pub const OF_ANOTHER: &str = " of another";

/// One self-contained statement of a document.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Statement {
    /// The sentence, which can be understood on its own.
    pub text: String,
    /// The position of the first character of its source in the canonical text of the document.
    pub start: usize,
    /// The position after the last character of its source.
    pub end: usize,
    /// The kind of the statement.
    pub kind: MemoryKind,
    /// `true` if the statement is lasting: a trait rather than an episode.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_static: bool,
    /// The confidence of the extractor, from 0 to 1.
    pub confidence: f32,
    /// The trust in the statement.
    pub trust: Trust,
    /// The speaker, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub speaker: Option<String>,
    /// The place in which it was read, if that is only a part of its document, such as pasted text
    /// or a quotation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attribution: Option<Attribution>,
    /// The time at which it was said: that of the turn, or else of the document, or else of its
    /// arrival.
    pub said_at: Timestamp,
    /// The time of the event that it describes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub event: Option<EventPeriod>,
    /// The time after which it no longer matters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forget_after: Option<Timestamp>,
    /// The reason for which it no longer matters after that time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forget_reason: Option<String>,
    /// The topic, if it has one answer at a time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub topic: Option<Topic>,
    /// The aspects of the speaker's life that it is about, in lower case: `job`, `residence`. A
    /// later change of one of them takes it back. [`OF_ANOTHER`] ends those of somebody else's life:
    /// `school of another`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub aspects: Vec<String>,
    /// The statements before it that it takes back, if it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retraction: Option<Retraction>,
    /// Separate metadata, for memories that a client wrote.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub metadata: Map<String, Value>,
}

/// The part of a statement that takes back earlier ones.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Retraction {
    /// The effect on the earlier statements.
    pub effect: RetractionEffect,
    /// Words in lower case that mean an earlier statement. `#` stands for any amount of money. An
    /// ending means a statement that has all of them, any other effect one that has one of them.
    pub words: Vec<String>,
    /// Aspects of the speaker's life that have changed or ended: `job`. An earlier statement about
    /// one of them is taken back, whatever its words.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub aspects: Vec<String>,
    /// Words in lower case. An earlier statement that has one of them stays.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub kept_words: Vec<String>,
    /// Parts of the same document, as positions in its canonical text, whose statements are taken
    /// back whatever their words.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub spans: Vec<(usize, usize)>,
}

/// The effect of a retraction on the statements that it takes back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RetractionEffect {
    /// They are no longer true: `I sold the car`. The statement is a memory like others.
    Ends,
    /// Those kept word for word that share a word with it are no longer true: `new slot for physio,
    /// Thursdays`. The statement is a memory like others.
    Replaces,
    /// They are forgotten: `please forget what I told you about my ex`. The statement is no memory.
    Forgets,
    /// Instructions among them are forgotten: `you can drop the summaries`. The statement is no
    /// memory.
    Dismisses,
}

impl Statement {
    /// Checks whether it only takes back what was said before, so that no memory is made of it.
    pub fn only_retracts(&self) -> bool {
        let effect = self.retraction.as_ref().map(|retraction| retraction.effect);
        matches!(
            effect,
            Some(RetractionEffect::Forgets | RetractionEffect::Dismisses)
        )
    }
}

/// The statements of one revision of a document, stored as one immutable blob.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StatementSet {
    /// The version of the format.
    pub v: u8,
    /// The statements, in the order of the text.
    pub statements: Vec<Statement>,
}

impl StatementSet {
    /// The current version of the format.
    pub const VERSION: u8 = 1;
    /// The largest decompressed size of a blob in bytes.
    const MAX_BYTES: u64 = 256 * 1024 * 1024;

    /// Creates statements in the current format.
    pub fn new(statements: Vec<Statement>) -> Self {
        Self {
            v: Self::VERSION,
            statements,
        }
    }

    /// Encodes the statements as a blob: JSON, compressed with zstd.
    pub fn encode(&self) -> Vec<u8> {
        let json = serde_json::to_vec(self).expect("strings and numbers serialize");
        zstd::bulk::compress(&json, 3).expect("compressing into memory does not fail")
    }

    /// Decodes a blob.
    ///
    /// # Errors
    /// Returns [`PortError::Corrupt`] when [`StatementSet::encode`] did not produce the blob.
    pub fn decode(blob: &[u8]) -> Result<Self, PortError> {
        let corrupt =
            |error: &dyn std::fmt::Display| PortError::Corrupt(format!("statements: {error}"));
        let mut json = Vec::new();
        let decoder = zstd::stream::Decoder::new(blob).map_err(|error| corrupt(&error))?;
        decoder
            .take(Self::MAX_BYTES)
            .read_to_end(&mut json)
            .map_err(|error| corrupt(&error))?;
        serde_json::from_slice(&json).map_err(|error| corrupt(&error))
    }
}

/// A caller's decision about an inference.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ReviewDecision {
    /// The inference is correct, and counts like a statement.
    Approve,
    /// The inference is wrong, and is forgotten.
    Decline,
    /// An earlier decision is undone.
    Undo,
}

/// An edit: a caller's change to a memory. It names the memory and its topic only by their ids, which
/// are digests. An edit therefore reveals nothing about a statement whose document is gone, and still
/// keeps that statement from coming back.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "act", rename_all = "lowercase")]
pub enum MemoryEdit {
    /// A new version replaces the memory.
    Update {
        /// The version that it replaces.
        memory: MemoryId,
        /// The topic of the memory.
        topic: TopicId,
        /// The new version.
        version: Box<Statement>,
    },
    /// The memory is forgotten.
    Forget {
        /// The id of the memory.
        memory: MemoryId,
        /// The topic of the memory. Earlier versions did not store it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        topic: Option<TopicId>,
        /// The reason, in the caller's words.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
        /// The time of the edit.
        at: Timestamp,
    },
    /// An inference is reviewed.
    Review {
        /// The id of the memory.
        memory: MemoryId,
        /// The topic of the memory. Earlier versions did not store it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        topic: Option<TopicId>,
        /// The decision.
        review: ReviewDecision,
        /// The time of the edit.
        at: Timestamp,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stored_shape_of_version_1_stays_readable() {
        let golden = r#"{"v":1,"statements":[{"text":"Anna lives in Bonn.","start":0,"end":19,"kind":"fact","confidence":0.5,"trust":"user","said_at":"2025-04-15T00:00:00.000Z","topic":{"subject":"anna","attribute":"residence","value":"bonn"}}]}"#;
        let blob = zstd::bulk::compress(golden.as_bytes(), 3).unwrap();
        let statements = StatementSet::decode(&blob).unwrap();
        assert_eq!(
            statements.statements[0].topic.as_ref().unwrap().value,
            "bonn"
        );
        assert_eq!(
            StatementSet::decode(&statements.encode()).unwrap(),
            statements
        );
    }

    #[test]
    fn edits_without_a_topic_stay_readable() {
        for stored in [
            r#"{"act":"forget","memory":"mmmmmmmmmmmmmmmmmmmmmm","reason":"moved","at":"2025-04-15T00:00:00.000Z"}"#,
            r#"{"act":"review","memory":"mmmmmmmmmmmmmmmmmmmmmm","review":"approve","at":"2025-04-15T00:00:00.000Z"}"#,
        ] {
            let edit: MemoryEdit = serde_json::from_str(stored).unwrap();
            assert!(matches!(
                edit,
                MemoryEdit::Forget { topic: None, .. } | MemoryEdit::Review { topic: None, .. }
            ));
            assert_eq!(serde_json::to_string(&edit).unwrap(), stored);
        }
    }

    #[test]
    fn every_stored_trust_stays_readable_and_keeps_its_meaning() {
        for (stored, is_own) in [
            ("client", true),
            ("user", true),
            ("assistant", false),
            ("document", true),
            ("external", false),
        ] {
            let trust: Trust = serde_json::from_value(stored.into()).unwrap();
            assert_eq!(serde_json::to_value(trust).unwrap(), stored);
            assert_eq!(trust.is_own_words(), is_own, "{stored}");
            for other in [
                Trust::Client,
                Trust::User,
                Trust::Assistant,
                Trust::Document,
                Trust::External,
            ] {
                assert_eq!(
                    trust.may_replace(other),
                    is_own || !other.is_own_words(),
                    "{stored} {other:?}"
                );
            }
        }
    }

    #[test]
    fn garbage_is_corrupt_not_a_panic() {
        for garbage in [
            &b""[..],
            b"x",
            b"{}",
            &StatementSet::new(Vec::new()).encode()[..8],
        ] {
            assert!(matches!(
                StatementSet::decode(garbage),
                Err(PortError::Corrupt(_))
            ));
        }
    }
}
