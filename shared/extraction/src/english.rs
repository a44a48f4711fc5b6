//! Extraction of statements from English sentences.

mod activity;
mod brief;
pub(crate) mod classes;
mod classify;
mod condition;
mod decision;
mod event;
mod fact;
mod gender;
mod grammar;
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
mod remark;
mod render;
mod split;
mod state;
mod topic;
mod verb_group;
mod verbs;
pub(crate) mod vocabulary;
pub(crate) mod words;

use domain::{MemoryKind, Timestamp, Trust};
use jiff::civil::Date;

pub(crate) use brief::is_brief_request;
pub(crate) use gender::{Gender, gender_in, gender_of_person, gender_of_pronoun};
use grammar::{ParsedClause, SubjectKind};
pub(crate) use instruction::{is_open_standing_phrase, is_order};
pub(crate) use lead::{announces_message, announces_text, asks_to_edit};
pub(crate) use reader::SentenceReader;
pub(crate) use remark::{
    RemarkContext, add_speaker, is_clause, is_relative, is_telling_answer, render_instruction,
    render_remark,
};
use topic::KnownTopic;

use crate::dates::SaidAt;

/// The context in which the rules read a clause.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ClauseContext<'a> {
    /// The speaker's name as it appears in topics.
    pub(crate) speaker_key: &'a str,
    /// The name of the person spoken to as it appears in topics.
    pub(crate) listener: Option<&'a str>,
    /// The time at which it was said.
    pub(crate) said_at: SaidAt,
    /// True if people talk with each other, without an assistant.
    pub(crate) is_group_chat: bool,
    /// True if a person says it in a conversation.
    pub(crate) is_spoken: bool,
    /// True if the sentence was announced as a fact.
    pub(crate) is_announced: bool,
    /// True for the first sentence of a passage and for every sentence of a user's turn.
    pub(crate) is_first: bool,
    /// True if an opinion was stated shortly before.
    pub(crate) after_opinion: bool,
    /// True if an earlier sentence was announced as a fact.
    pub(crate) follows_announcement: bool,
    /// True if a person says it in a conversation.
    pub(crate) is_conversation: bool,
    /// The persons and things to which a pronoun at the beginning may refer.
    pub(crate) antecedents: &'a [Antecedent],
}

impl ClauseContext<'_> {
    /// Returns the topic key of the subject to which the pronoun at the beginning of a clause
    /// refers.
    pub(crate) fn antecedent_key(&self, parsed: ParsedClause<'_>) -> Option<String> {
        let antecedent = find_antecedent(self.antecedents, parsed.clause.lower_at(0))?;
        Some(antecedent.key.clone())
    }
}

/// The subject of an earlier sentence, or a person whom it names, to which a pronoun may refer.
#[derive(Debug, Clone)]
pub(crate) struct Antecedent {
    text: String,
    key: String,
    subject_kind: SubjectKind,
    /// The gender of the person, if the words tell it.
    gender: Option<Gender>,
    /// True for a person whom the sentence names after its verb.
    is_object: bool,
    start: usize,
}

impl Antecedent {
    /// Checks whether a pronoun can refer to it.
    fn fits(&self, pronoun: &str) -> bool {
        match pronoun {
            // "My mother's number" is nobody, although its owner is.
            "he" | "she" | "his" | "her" => {
                let is_person = match self.subject_kind {
                    SubjectKind::Named => true,
                    SubjectKind::Owned => self.is_object || self.text.matches("'s").count() < 2,
                    _ => false,
                };
                is_person && (self.gender.is_none() || self.gender == gender_of_pronoun(pronoun))
            }
            "it" | "its" => {
                !self.is_object
                    && matches!(
                        self.subject_kind,
                        SubjectKind::Definite | SubjectKind::Named
                    )
            }
            "they" | "their" => {
                !self.is_object
                    && matches!(
                        self.subject_kind,
                        SubjectKind::Definite | SubjectKind::Named | SubjectKind::Plain
                    )
            }
            _ => false,
        }
    }
}

/// Returns the only one of some antecedents to which a pronoun can refer.
fn find_antecedent<'a>(antecedents: &'a [Antecedent], pronoun: &str) -> Option<&'a Antecedent> {
    let mut fitting = antecedents
        .iter()
        .filter(|antecedent| antecedent.fits(pronoun));
    let found = fitting.next()?;
    fitting.next().is_none().then_some(found)
}

/// A draft of a statement.
#[derive(Debug, Clone)]
pub(crate) struct StatementDraft {
    kind: MemoryKind,
    confidence: f32,
    is_static: bool,
    is_opinion: bool,
    known_topic: Option<KnownTopic>,
}

impl StatementDraft {
    pub(crate) fn new(kind: MemoryKind, confidence: f32) -> Self {
        Self {
            kind,
            confidence,
            is_static: false,
            is_opinion: false,
            known_topic: None,
        }
    }

    /// Sets whether it is a lasting trait rather than an episode.
    pub(crate) fn lasting(self, is_static: bool) -> Self {
        Self { is_static, ..self }
    }

    /// Marks it as an opinion, which the following sentences may continue.
    pub(crate) fn opinion(self) -> Self {
        Self {
            is_opinion: true,
            ..self
        }
    }

    /// Sets the topic.
    pub(crate) fn known(self, known_topic: KnownTopic) -> Self {
        Self {
            known_topic: Some(known_topic),
            ..self
        }
    }
}

/// The speaker and the listener of a passage.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Conversation<'a> {
    pub(crate) speaker: &'a str,
    pub(crate) speaker_key: &'a str,
    pub(crate) listener: Option<&'a str>,
    pub(crate) is_group_chat: bool,
    pub(crate) trust: Trust,
    /// A day that was named before, from which the end of a span counts.
    pub(crate) named_day: Option<Date>,
    /// The question of the assistant, or of another person, that the passage answers.
    pub(crate) question: Option<&'a str>,
    /// True for a note of an author, who speaks to nobody.
    pub(crate) is_note: bool,
}

impl Conversation<'_> {
    /// Returns the time of a passage with the day that was named before it.
    pub(crate) fn said_at(self, time: Timestamp) -> SaidAt {
        SaidAt {
            time,
            named_day: self.named_day,
        }
    }

    /// Checks whether the passage answers a question about somebody other than the speaker.
    pub(crate) fn is_about_other(self) -> bool {
        const OTHERS: [&str; 7] = ["he", "she", "him", "her", "his", "he's", "she's"];
        const LISTENER: [&str; 4] = ["you", "your", "you're", "yours"];
        let question = self.question.unwrap_or_default().to_lowercase();
        let has_any = |words: &[&str]| {
            let mut found = question.split(|c: char| !c.is_alphanumeric() && c != '\'');
            found.any(|word| words.contains(&word))
        };
        has_any(&OTHERS) && !has_any(&LISTENER)
    }
}

/// The kind of statement that the preceding sentences made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PrecedingStatement {
    None,
    /// An opinion, which this many further sentences may continue.
    Opinion(u8),
    /// A decision.
    Decision,
}

impl PrecedingStatement {
    /// Returns the state after a sentence that stated nothing.
    fn waned(self) -> Self {
        match self {
            Self::Opinion(remaining @ 2..) => Self::Opinion(remaining - 1),
            _ => Self::None,
        }
    }
}

#[cfg(test)]
mod tests;
