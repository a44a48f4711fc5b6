//! Memories: what documents state, and what callers have said about it.
//!
//! A document's [`Statements`] are found once, when it is processed, and never change with other documents. The memories
//! of a container are computed from the statements of its documents and the [`MemoryAction`]s of its callers alone, so
//! neither the order of commits nor a repeated one can change them, and a document takes what only it supported with it.

use std::io::Read;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::error::PortError;
use crate::ids::{MemoryId, TopicId};
use crate::provenance::Attribution;
use crate::time::Timestamp;

/// The most characters of a memory. Contract.
pub const MAX_MEMORY_CHARS: usize = 10_000;

/// What kind of statement a memory is.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(rename_all = "lowercase")]
pub enum MemoryKind {
    /// How something or somebody is.
    #[default]
    Fact,
    /// What somebody likes, wants or thinks.
    Preference,
    /// What the assistant is always to do.
    Instruction,
    /// What was decided.
    Decision,
    /// What somebody will do or has promised.
    Plan,
    /// What happened or will happen at a time.
    Event,
}

/// How far a statement can be relied on, by where it comes from; most trusted first.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(rename_all = "lowercase")]
pub enum Trust {
    /// Written as a memory by a client.
    Client,
    /// Said by a person in a conversation.
    User,
    /// Said by an assistant in a conversation.
    Assistant,
    /// Read in plain text that a client has sent: the user's own words, unless something says otherwise. Also what was read
    /// in files before provenance was looked at.
    #[default]
    Document,
    /// Read in what somebody else has written: mails, pages, files, drives, pasted text, quotations.
    External,
}

impl Trust {
    /// Whether these are the user's own words, which alone may instruct and describe the user for good.
    pub fn is_own(self) -> bool {
        matches!(self, Self::Client | Self::User | Self::Document)
    }

    /// The one of two that can be relied on less.
    #[must_use]
    pub fn weaker(self, other: Self) -> Self {
        if (!self.is_own(), self) < (!other.is_own(), other) {
            other
        } else {
            self
        }
    }

    /// Whether a statement may take the place of one that is trusted as `other`: what others say never replaces what the
    /// user says.
    pub fn may_replace(self, other: Self) -> bool {
        self.is_own() || !other.is_own()
    }
}

/// When something happens: from the first moment to the last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Period {
    /// The first moment.
    pub from: Timestamp,
    /// The last moment; equal to `from` for a point in time.
    pub to: Timestamp,
}

/// What a statement is about, where there can be one answer at a time: a later statement of the same topic replaces an
/// earlier one.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Topic {
    /// Of whom or what, in lower case: `user`, `anna`, `project atlas`.
    pub subject: String,
    /// Which property, in lower case: `residence`, `employer`, `favourite color`, `likes coffee`.
    pub attribute: String,
    /// The answer, in lower case: `berlin`.
    pub value: String,
    /// The statement says that the answer is not, or no longer, `value`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub negated: bool,
}

/// One self-contained statement of a document.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Statement {
    /// The sentence, readable alone.
    pub text: String,
    /// First character of its source in the document's canonical text.
    pub start: usize,
    /// Character after the last.
    pub end: usize,
    /// The kind.
    pub kind: MemoryKind,
    /// Whether it is lasting: a trait, not an episode.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_static: bool,
    /// How sure the extractor is, 0 to 1.
    pub confidence: f32,
    /// Where it comes from.
    pub trust: Trust,
    /// Who said it, if it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub speaker: Option<String>,
    /// Where it was read, when that is only a part of its document: a paste, a quotation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attribution: Option<Attribution>,
    /// When it was said: the time of the turn, else the document's date, else of its arrival.
    pub said_at: Timestamp,
    /// When what it tells of happens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub event: Option<Period>,
    /// When it stops to matter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forget_after: Option<Timestamp>,
    /// Why it stops to matter then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forget_reason: Option<String>,
    /// What it answers, where there is one answer at a time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub topic: Option<Topic>,
    /// Metadata of its own, of memories that a client wrote.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub metadata: Map<String, Value>,
}

/// What one revision of a document states, as one immutable blob.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Statements {
    /// Version of this shape.
    pub v: u8,
    /// The statements, in the order of the text.
    pub statements: Vec<Statement>,
}

impl Statements {
    /// The present version of the shape.
    pub const VERSION: u8 = 1;
    /// The most bytes that a blob may unpack to.
    const MAX_BYTES: u64 = 256 * 1024 * 1024;

    /// Statements in the present shape.
    pub fn new(statements: Vec<Statement>) -> Self {
        Self {
            v: Self::VERSION,
            statements,
        }
    }

    /// The blob: JSON under zstd.
    pub fn encode(&self) -> Vec<u8> {
        let json = serde_json::to_vec(self).expect("strings and numbers serialize");
        zstd::bulk::compress(&json, 3).expect("compressing into memory does not fail")
    }

    /// Reads a blob.
    ///
    /// # Errors
    /// [`PortError::Corrupt`] when it is not one that [`Statements::encode`] wrote.
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

/// What a caller decided about an inferred memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Review {
    /// It is right, and counts like what was said.
    Approve,
    /// It is wrong, and is forgotten.
    Decline,
    /// As if it had not been reviewed.
    Undo,
}

/// What a caller did to a memory. It names the memory by its id alone, which is a digest: an action tells nothing of a
/// statement whose document is gone, and still keeps it from coming back.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "act", rename_all = "lowercase")]
pub enum MemoryAction {
    /// A new version takes the memory's place.
    Update {
        /// The version that it replaces.
        memory: MemoryId,
        /// Its topic.
        topic: TopicId,
        /// The new version.
        version: Box<Statement>,
    },
    /// The memory is no longer to be found.
    Forget {
        /// Which.
        memory: MemoryId,
        /// Why, in the caller's words.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
        /// When.
        at: Timestamp,
    },
    /// An inferred memory was reviewed.
    Review {
        /// Which.
        memory: MemoryId,
        /// The decision.
        review: Review,
        /// When.
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
        let statements = Statements::decode(&blob).unwrap();
        assert_eq!(
            statements.statements[0].topic.as_ref().unwrap().value,
            "bonn"
        );
        assert_eq!(
            Statements::decode(&statements.encode()).unwrap(),
            statements
        );
    }

    #[test]
    fn every_stored_trust_stays_readable_and_keeps_its_authority() {
        for (stored, own) in [
            ("client", true),
            ("user", true),
            ("assistant", false),
            ("document", true),
            ("external", false),
        ] {
            let trust: Trust = serde_json::from_value(stored.into()).unwrap();
            assert_eq!(serde_json::to_value(trust).unwrap(), stored);
            assert_eq!(trust.is_own(), own, "{stored}");
            for other in [
                Trust::Client,
                Trust::User,
                Trust::Assistant,
                Trust::Document,
                Trust::External,
            ] {
                assert_eq!(
                    trust.may_replace(other),
                    own || !other.is_own(),
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
            &Statements::new(Vec::new()).encode()[..8],
        ] {
            assert!(matches!(
                Statements::decode(garbage),
                Err(PortError::Corrupt(_))
            ));
        }
    }
}
