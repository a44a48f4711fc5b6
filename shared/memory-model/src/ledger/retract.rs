//! Statements that take back what was said before them: requests to forget, and endings.
//!
//! A retraction is a statement like others. It applies to the statements before it, in whatever
//! order their documents arrive, and no longer when its document is deleted.

use std::sync::Arc;

use domain::{MemoryKind, Retraction, RetractionEffect, Statement, Timestamp};

use super::{DocumentStatements, ForgetRecord};
use crate::words::{own_aspect, split_words};

/// The word of a retraction that stands for an amount of money.
const AMOUNT: &str = "#";
/// The fewest characters that two words must begin with alike to be forms of one word.
const MIN_STEM_CHARS: usize = 4;
/// The most characters by which two forms of a word differ at their ends.
const MAX_ENDING_CHARS: usize = 3;
/// The most characters between a statement that is taken back and one that continues it.
const MAX_CONTINUATION_GAP: usize = 4;

/// A statement that takes back others, with its document.
#[derive(Debug, Clone)]
pub(super) struct PlacedRetraction {
    pub(super) document: Arc<DocumentStatements>,
    pub(super) index: usize,
}

impl PlacedRetraction {
    fn statement(&self) -> &Statement {
        &self.document.statements[self.index]
    }

    /// Checks whether it takes back a statement of a document, with one of the effects.
    fn takes_back(
        &self,
        statement: &Statement,
        document: &DocumentStatements,
        effects: &[RetractionEffect],
    ) -> bool {
        let retracting = self.statement();
        let Some(retraction) = &retracting.retraction else {
            return false;
        };
        let is_same_document = self.document.document.id == document.document.id;
        let is_earlier = if is_same_document {
            statement.start < retracting.start
        } else {
            statement.said_at <= retracting.said_at
        };
        let may_affect = effects.contains(&retraction.effect)
            && retracting.trust.is_own_words()
            && is_earlier
            && is_affected(retraction, retracting, statement);
        if !may_affect {
            return false;
        }

        let stated = StatedWords::of(statement);
        !stated.has_any(&retraction.kept_words)
            && (is_same_document && is_within_spans(retraction, statement)
                || is_meant(retracting, statement, &stated, document))
    }
}

/// Returns when and why a statement of a document is forgotten, if a conversation asks for it.
pub(super) fn find_forget(
    retractions: &[PlacedRetraction],
    statement: &Statement,
    document: &DocumentStatements,
) -> Option<ForgetRecord> {
    let effects = [RetractionEffect::Forgets, RetractionEffect::Dismisses];
    let found = retractions
        .iter()
        .find(|placed| placed.takes_back(statement, document, &effects))?;

    Some(ForgetRecord {
        at: found.statement().said_at,
        reason: Some("asked for in a conversation".to_owned()),
    })
}

/// Returns the time at which a statement of a document has ended, if a later one says so.
pub(super) fn find_end(
    retractions: &[PlacedRetraction],
    statement: &Statement,
    document: &DocumentStatements,
) -> Option<Timestamp> {
    let effects = [RetractionEffect::Ends, RetractionEffect::Replaces];
    let found = retractions
        .iter()
        .find(|placed| placed.takes_back(statement, document, &effects))?;
    Some(found.statement().said_at)
}

/// Checks whether a retraction may affect a statement at all.
fn is_affected(retraction: &Retraction, retracting: &Statement, statement: &Statement) -> bool {
    match retraction.effect {
        RetractionEffect::Forgets => !statement.only_retracts(),
        RetractionEffect::Dismisses => statement.kind == MemoryKind::Instruction,
        // A past event stays true, and so does an earlier ending, but neither is the last word on an
        // aspect.
        RetractionEffect::Ends | RetractionEffect::Replaces => {
            let has_passed = statement.kind == MemoryKind::Event
                && statement
                    .event
                    .is_none_or(|event| event.to < retracting.said_at);
            statement.kind != MemoryKind::Instruction
                && (!has_passed && !is_ending(statement) || has_aspect(retraction, statement))
                && statement.speaker == retracting.speaker
        }
    }
}

/// Checks whether a statement says that something is over.
fn is_ending(statement: &Statement) -> bool {
    let retraction = statement.retraction.as_ref();
    retraction.is_some_and(|retraction| retraction.effect == RetractionEffect::Ends)
}

/// Checks whether a statement is about one of the aspects that a retraction names.
fn has_aspect(retraction: &Retraction, statement: &Statement) -> bool {
    let aspects = &retraction.aspects;
    aspects
        .iter()
        .any(|aspect| statement.aspects.contains(aspect))
}

/// Checks whether two statements are about one aspect, of whosever life.
fn share_aspect(left: &Statement, right: &Statement) -> bool {
    let is_of_right = |aspect: &str| {
        right
            .aspects
            .iter()
            .any(|other| own_aspect(other) == aspect)
    };
    left.aspects
        .iter()
        .any(|aspect| is_of_right(own_aspect(aspect)))
}

/// Checks whether a change may replace a statement that it does not name: one that no rule has
/// understood, or a plan.
fn is_replaceable(statement: &Statement) -> bool {
    statement.kind == MemoryKind::Plan || statement.topic.is_none() && !statement.is_static
}

fn is_within_spans(retraction: &Retraction, statement: &Statement) -> bool {
    let is_within = |&(from, to): &(usize, usize)| from <= statement.start && statement.start < to;
    retraction.spans.iter().any(is_within)
}

/// Checks whether the words of a retraction mean a statement, or the one that it continues.
fn is_meant(
    retracting: &Statement,
    statement: &Statement,
    stated: &StatedWords,
    document: &DocumentStatements,
) -> bool {
    let Some(retraction) = &retracting.retraction else {
        return false;
    };
    let words = &retraction.words;
    match retraction.effect {
        RetractionEffect::Ends => {
            has_aspect(retraction, statement)
                || !words.is_empty() && words.iter().all(|word| stated.has(word))
        }
        RetractionEffect::Replaces => {
            let is_replaceable = is_replaceable(statement) || share_aspect(retracting, statement);
            has_aspect(retraction, statement) || is_replaceable && stated.has_any(words)
        }
        RetractionEffect::Dismisses => stated.has_any(words),
        RetractionEffect::Forgets => {
            has_aspect(retraction, statement)
                || stated.has_any(words)
                || continued_statement(statement, document)
                    .is_some_and(|continued| StatedWords::of(continued).has_any(words))
        }
    }
}

/// Returns the statement right before one that names nobody: `Hearing is on July 8.`
fn continued_statement<'d>(
    statement: &Statement,
    document: &'d DocumentStatements,
) -> Option<&'d Statement> {
    let names_speaker = |statement: &Statement| statement.text.contains("User");
    if names_speaker(statement) {
        return None;
    }

    let before = document.statements.iter().rev();
    let previous = before
        .filter(|other| other.start < statement.start)
        .max_by_key(|other| other.start)?;
    let is_near = statement.start <= previous.end + MAX_CONTINUATION_GAP;
    (is_near && names_speaker(previous)).then_some(previous)
}

/// The words of a statement and of its topic.
struct StatedWords {
    /// The statement in lower case.
    text: String,
    words: Vec<String>,
}

impl StatedWords {
    fn of(statement: &Statement) -> Self {
        let text = statement.text.to_lowercase();
        let mut words = split_words(&text);
        if let Some(topic) = &statement.topic {
            words.extend(split_words(&topic.attribute));
        }

        Self { text, words }
    }

    fn has_any(&self, words: &[String]) -> bool {
        words.iter().any(|word| self.has(word))
    }

    /// Checks whether a word of a retraction is among the words.
    fn has(&self, word: &str) -> bool {
        if word == AMOUNT {
            return self.words.iter().any(|stated| is_amount(stated));
        }
        if is_unspaced(word) {
            return self.text.contains(word);
        }
        self.words.iter().any(|stated| is_same_word(word, stated))
    }
}

/// Checks whether two words are forms of one word: `debt` and `debts`.
fn is_same_word(left: &str, right: &str) -> bool {
    if left == right {
        return true;
    }

    let common = left
        .chars()
        .zip(right.chars())
        .take_while(|(a, b)| a == b)
        .count();
    let longest = left.chars().count().max(right.chars().count());
    common >= MIN_STEM_CHARS && longest - common <= MAX_ENDING_CHARS
}

/// Checks for an amount of money: `61k`, `2,300`.
fn is_amount(word: &str) -> bool {
    let digits = word.chars().filter(char::is_ascii_digit).count();
    digits >= 3 || digits > 0 && word.ends_with('k')
}

/// Checks for a word of a script without spaces.
fn is_unspaced(word: &str) -> bool {
    word.starts_with(|c: char| matches!(c, '\u{2e80}'..='\u{9fff}'))
}
