//! A memory as readers see it.

use std::collections::BTreeMap;

use domain::memory::{EventPeriod, ReviewDecision};
use domain::{Attribution, DocumentId, MemoryId, MemoryKind, Timestamp, Topic, TopicId, Trust};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::ledger::Ledger;

/// The relation of one memory to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MemoryRelation {
    /// It replaces the other.
    Updates,
    /// It adds to the other, which stays true.
    Extends,
    /// It follows from the other.
    Derives,
}

impl MemoryRelation {
    /// Returns the name on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Updates => "updates",
            Self::Extends => "extends",
            Self::Derives => "derives",
        }
    }
}

/// The origin of a memory: a span of a document's canonical text, in characters.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SupportingSpan {
    /// The document.
    pub document: DocumentId,
    /// The first character.
    pub start: usize,
    /// The character after the last.
    pub end: usize,
}

/// The time at which a memory was forgotten, and the reason.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ForgetRecord {
    /// The time from which the memory is hidden.
    pub at: Timestamp,
    /// The reason, in the caller's words.
    pub reason: Option<String>,
}

/// One version of what is known about a topic.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Memory {
    /// The id, which is derived from the topic, the answer and the number of earlier versions with
    /// that answer. The same statements therefore give the same ids.
    pub id: MemoryId,
    /// The topic.
    pub topic: TopicId,
    /// The answer that it gives, if the topic has one answer at a time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub topic_answer: Option<Topic>,
    /// The aspects of a person's life that it changes or ends, mostly without a word for them:
    /// `job` of `User quit today`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changed_aspects: Vec<String>,
    /// The sentence.
    pub text: String,
    /// The kind.
    pub kind: MemoryKind,
    /// True if it describes a lasting trait.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_static: bool,
    /// True if it was inferred from other memories and no caller has approved it.
    /// [`Memory::is_derived`] is also true after the approval.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_inference: bool,
    /// The decision of a caller about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub review: Option<ReviewDecision>,
    /// Between 0 and 1. More sources raise it.
    pub confidence: f32,
    /// The highest trust of its sources.
    pub trust: Trust,
    /// The first speaker.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub speaker: Option<String>,
    /// The place where it was read, if it is not in the user's own words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attribution: Option<Attribution>,
    /// The number of the version, counted from 1.
    pub version: u32,
    /// True if no other version has replaced it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_latest: bool,
    /// The previous version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<MemoryId>,
    /// The first version.
    pub first_version: MemoryId,
    /// Its relations to other memories.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub relations: BTreeMap<MemoryId, MemoryRelation>,
    /// The relations of other memories to it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub reverse_relations: BTreeMap<MemoryId, MemoryRelation>,
    /// Current memories of the same topic that contradict it, also forgotten ones.
    /// [`Ledger::present_contradictions`] leaves these out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub contradicts: Vec<MemoryId>,
    /// Spans that state it, at most 32: those with which it began, and the newest. Empty for versions that
    /// callers wrote.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sources: Vec<SupportingSpan>,
    /// The number of other documents that state it. A document that states it twice, far apart, may count
    /// twice.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unlisted_sources: usize,
    /// The forget that hides it, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forgotten: Option<ForgetRecord>,
    /// The time from which readers leave it out, because it no longer matters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forget_after: Option<Timestamp>,
    /// The reason why it no longer matters then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forget_reason: Option<String>,
    /// The time of the event that it describes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub event: Option<EventPeriod>,
    /// The time at which it was first said. It is taken to be true from then on.
    pub said_at: Timestamp,
    /// The time at which its successor was first said. It was true until then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replaced_at: Option<Timestamp>,
    /// The time at which it was first recorded.
    pub created_at: Timestamp,
    /// The time of the last record about it.
    pub updated_at: Timestamp,
    /// Its own metadata, or else that of its newest document with metadata.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub metadata: Map<String, Value>,
}

impl Memory {
    /// Checks whether readers find it at `now` by default: it is the latest version, neither
    /// forgotten nor expired.
    pub fn is_live(&self, now: Timestamp) -> bool {
        self.is_latest && !self.is_forgotten(now)
    }

    /// Checks whether it is forgotten at `now`, by a caller or because it has expired.
    pub fn is_forgotten(&self, now: Timestamp) -> bool {
        self.forgotten.is_some() || self.forget_after.is_some_and(|after| after <= now)
    }

    /// Checks whether another version has replaced it.
    pub(super) fn is_replaced(&self) -> bool {
        self.reverse_relations
            .values()
            .any(|relation| *relation == MemoryRelation::Updates)
    }

    /// Checks whether it was inferred from other memories, also if a caller has approved it since.
    pub fn is_derived(&self) -> bool {
        self.relations
            .values()
            .any(|relation| *relation == MemoryRelation::Derives)
    }

    /// Returns the sentence in a form that needs no context: words of others come with their
    /// attribution.
    pub fn display_text(&self) -> String {
        match &self.attribution {
            Some(attribution) => format!("According to {attribution}: {}", self.text),
            None => self.text.clone(),
        }
    }

    /// Returns the number of documents that state it.
    pub fn source_count(&self) -> usize {
        let mut documents: Vec<&DocumentId> =
            self.sources.iter().map(|source| &source.document).collect();
        documents.sort();
        documents.dedup();
        documents.len() + self.unlisted_sources
    }
}

/// Checks for 0, which is left out of JSON.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
pub(super) fn is_zero(number: &usize) -> bool {
    *number == 0
}

impl Ledger {
    /// Returns the time at which a memory was last said. It may be in the future, because callers
    /// choose the dates.
    pub fn last_said_at(&self, memory: &Memory) -> Timestamp {
        let mut last_said_at = memory.said_at;
        for source in &memory.sources {
            let Some(document_statements) = self.document_statements(&source.document) else {
                continue;
            };
            for statement in &document_statements.statements {
                if statement.start == source.start {
                    last_said_at = last_said_at.max(statement.said_at);
                }
            }
        }

        last_said_at
    }

    /// Returns the ids of the memories that contradict a memory and are not forgotten at `now`.
    pub fn present_contradictions(&self, memory: &Memory, now: Timestamp) -> Vec<MemoryId> {
        let mut present = Vec::new();
        for id in &memory.contradicts {
            if let Some(other) = self.get(id)
                && !other.is_forgotten(now)
            {
                present.push(id.clone());
            }
        }

        present
    }
}
