//! Statements of English sentences.

mod activity;
pub(crate) mod classes;
mod classify;
mod condition;
mod decision;
mod event;
mod fact;
mod grammar;
pub(crate) mod hash;
mod identity;
mod instruction;
mod lead;
pub(crate) mod lexicon;
mod lists;
mod naming;
mod occasion;
mod opening;
mod piece;
mod plan;
mod preference;
mod property;
mod reader;
mod render;
mod split;
mod state;
mod topic;
mod verb_group;
mod verbs;
pub(crate) mod words;

use domain::{MemoryKind, Timestamp, Trust};

use grammar::{Reading, Who};
pub(crate) use reader::Reader;
use topic::Known;

/// What the rules know besides the clause.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Env<'a> {
    /// The speaker's name in topics.
    pub(crate) key: &'a str,
    /// The one spoken to, in topics.
    pub(crate) listener: Option<&'a str>,
    /// When it was said.
    pub(crate) said_at: Timestamp,
    /// People talk with each other.
    pub(crate) chat: bool,
    /// A person says it in a conversation.
    pub(crate) said: bool,
    /// The sentence was announced as a fact.
    pub(crate) marked: bool,
    /// It is the first of its passage.
    pub(crate) first: bool,
    /// An opinion was stated shortly before.
    pub(crate) after_opinion: bool,
    /// A sentence before was announced as a fact.
    pub(crate) listing: bool,
    /// A person says it in a conversation.
    pub(crate) talk: bool,
    /// What a pronoun at the beginning means.
    pub(crate) anchor: Option<&'a Anchor>,
}

impl Env<'_> {
    /// The key of what the pronoun at the beginning of a clause means.
    pub(crate) fn antecedent_key(&self, reading: Reading<'_>) -> Option<String> {
        let anchor = self.anchor?;
        anchor
            .fits(reading.clause.low(0))
            .then(|| anchor.key.clone())
    }
}

/// The subject of an earlier sentence, for pronouns.
#[derive(Debug, Clone)]
pub(crate) struct Anchor {
    text: String,
    key: String,
    who: Who,
    start: usize,
}

impl Anchor {
    /// Whether a pronoun can mean it.
    fn fits(&self, pronoun: &str) -> bool {
        match pronoun {
            "he" | "she" | "his" | "her" => matches!(self.who, Who::Named | Who::Owned),
            "it" | "its" => matches!(self.who, Who::Definite | Who::Named),
            "they" | "their" => matches!(self.who, Who::Definite | Who::Named | Who::Plain),
            _ => false,
        }
    }
}

/// A statement in the making.
#[derive(Debug, Clone)]
pub(crate) struct Draft {
    kind: MemoryKind,
    confidence: f32,
    is_static: bool,
    opinion: bool,
    known: Option<Known>,
}

impl Draft {
    pub(crate) fn new(kind: MemoryKind, confidence: f32) -> Self {
        Self {
            kind,
            confidence,
            is_static: false,
            opinion: false,
            known: None,
        }
    }

    /// Whether it is a trait, not an episode.
    pub(crate) fn lasting(self, is_static: bool) -> Self {
        Self { is_static, ..self }
    }

    /// It is an opinion, that following sentences may go on with.
    pub(crate) fn opinion(self) -> Self {
        Self {
            opinion: true,
            ..self
        }
    }

    /// With a topic.
    pub(crate) fn known(self, known: Known) -> Self {
        Self {
            known: Some(known),
            ..self
        }
    }
}

/// Who speaks to whom in a source.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Scene<'a> {
    pub(crate) speaker: &'a str,
    pub(crate) key: &'a str,
    pub(crate) listener: Option<&'a str>,
    pub(crate) chat: bool,
    pub(crate) trust: Trust,
}

/// What the sentences before have stated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    None,
    /// An opinion, that these many more sentences may go on with.
    Opinion(u8),
    /// A decision.
    Decision,
}

impl State {
    /// After a sentence that stated nothing.
    fn waned(self) -> Self {
        match self {
            Self::Opinion(more @ 2..) => Self::Opinion(more - 1),
            _ => Self::None,
        }
    }
}

#[cfg(test)]
mod tests;
