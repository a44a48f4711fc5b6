//! A memory as readers see it.

use std::collections::BTreeMap;

use domain::memory::{Period, Review};
use domain::{Attribution, DocumentId, MemoryId, MemoryKind, Timestamp, Topic, TopicId, Trust};
use serde_json::{Map, Value};

use crate::ledger::Ledger;

/// How one memory stands to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Relation {
    /// It takes the other's place.
    Updates,
    /// It adds to the other, which stays true.
    Extends,
    /// It follows from the other.
    Derives,
}

impl Relation {
    /// The name on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Updates => "updates",
            Self::Extends => "extends",
            Self::Derives => "derives",
        }
    }
}

/// Where a memory comes from: characters of a document's canonical text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Support {
    /// The document.
    pub document: DocumentId,
    /// First character.
    pub start: usize,
    /// Character after the last.
    pub end: usize,
}

/// That and why a memory is no longer to be found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Forgotten {
    /// Since when.
    pub at: Timestamp,
    /// Why, in the caller's words.
    pub reason: Option<String>,
}

/// One version of what is known about a topic.
#[derive(Debug, Clone, PartialEq)]
pub struct Memory {
    /// Identity: the same for the same statement in the same place of its topic.
    pub id: MemoryId,
    /// Its topic.
    pub topic: TopicId,
    /// What it answers, where there is one answer at a time.
    pub answers: Option<Topic>,
    /// The sentence.
    pub text: String,
    /// The kind.
    pub kind: MemoryKind,
    /// Whether it is lasting.
    pub is_static: bool,
    /// Whether it was concluded from other memories and nobody has approved it.
    pub is_inference: bool,
    /// What a caller decided about it.
    pub review: Option<Review>,
    /// 0 to 1; more sources make it surer.
    pub confidence: f32,
    /// The best of its sources.
    pub trust: Trust,
    /// Who said it first.
    pub speaker: Option<String>,
    /// Where it was read, when it is not the user's own.
    pub attribution: Option<Attribution>,
    /// Counts from 1.
    pub version: u32,
    /// No other version has taken its place.
    pub is_latest: bool,
    /// The version before it.
    pub parent: Option<MemoryId>,
    /// The first version.
    pub root: MemoryId,
    /// What it does to other memories.
    pub relations: BTreeMap<MemoryId, Relation>,
    /// What other memories do to it.
    pub related_by: BTreeMap<MemoryId, Relation>,
    /// Present memories of the same topic that say otherwise.
    pub contradicts: Vec<MemoryId>,
    /// Where it was stated; empty for what callers wrote over a memory and for conclusions.
    pub sources: Vec<Support>,
    /// That it is no longer to be found.
    pub forgotten: Option<Forgotten>,
    /// When it stops to matter; readers leave it out from then on.
    pub forget_after: Option<Timestamp>,
    /// Why it stops to matter then.
    pub forget_reason: Option<String>,
    /// When what it tells of happens.
    pub event: Option<Period>,
    /// When it was first said: from then on it was true as far as is known.
    pub said_at: Timestamp,
    /// When its successor was first said: until then it was true.
    pub superseded_at: Option<Timestamp>,
    /// When it was first recorded.
    pub created_at: Timestamp,
    /// When something was last recorded about it.
    pub updated_at: Timestamp,
    /// Its own metadata, else its newest document's.
    pub metadata: Map<String, Value>,
}

impl Memory {
    /// Whether readers find it at `now` without asking for more: the latest version, not forgotten, not expired.
    pub fn is_live(&self, now: Timestamp) -> bool {
        self.is_latest && !self.is_forgotten(now)
    }

    /// Whether it is forgotten at `now`, by somebody or because its time is over.
    pub fn is_forgotten(&self, now: Timestamp) -> bool {
        self.forgotten.is_some() || self.forget_after.is_some_and(|after| after <= now)
    }

    /// Whether it was concluded from other memories.
    pub fn is_derived(&self) -> bool {
        self.relations
            .values()
            .any(|relation| *relation == Relation::Derives)
    }

    /// The sentence as it can be shown without anything beside it: what others say comes with where they say it.
    pub fn shown(&self) -> String {
        match &self.attribution {
            Some(attribution) => format!("According to {attribution}: {}", self.text),
            None => self.text.clone(),
        }
    }

    /// How many documents state it.
    pub fn source_count(&self) -> usize {
        let mut documents: Vec<&DocumentId> =
            self.sources.iter().map(|source| &source.document).collect();
        documents.sort();
        documents.dedup();
        documents.len()
    }
}

impl Ledger {
    /// When a memory was last said, which may be in the future: dates are the caller's.
    pub fn last_said(&self, memory: &Memory) -> Timestamp {
        let said = memory.sources.iter().filter_map(|source| {
            let statements = self.told(&source.document)?.statements.iter();
            let here = statements.filter(|statement| statement.start == source.start);
            here.map(|statement| statement.said_at).max()
        });
        said.max().unwrap_or(memory.said_at).max(memory.said_at)
    }
}
