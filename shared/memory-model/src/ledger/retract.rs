//! Statements that take back what was said before them: requests to forget, and endings.
//!
//! A retraction is a statement like others. It applies to the statements before it, in whatever
//! order their documents arrive, and no longer when its document is deleted.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use domain::{DocumentId, MemoryKind, Retraction, RetractionEffect, Statement, Timestamp};

use super::amounts::has_amount;
use super::compound::{has_clauses, outlasts_words};
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

/// The effects by which a statement is forgotten.
const FORGETTING: [RetractionEffect; 2] = [RetractionEffect::Forgets, RetractionEffect::Dismisses];
/// The effects by which a statement is no longer true.
const ENDING: [RetractionEffect; 2] = [RetractionEffect::Ends, RetractionEffect::Replaces];

/// The place of a retraction among all: the time at which it was said, the id of its document, and its
/// position among the statements of that document.
type RetractionKey = (Timestamp, String, usize);
/// Retractions in their order.
type RetractionKeys = BTreeSet<RetractionKey>;

/// The retractions of a container, and the words, aspects and documents by which a statement finds
/// those that may take it back.
#[derive(Debug, Clone, Default)]
pub(super) struct Retractions {
    placed: BTreeMap<RetractionKey, PlacedRetraction>,
    /// Retractions by the beginnings of their words, as [`stem_key`] returns them.
    by_stem: HashMap<String, RetractionKeys>,
    by_aspect: HashMap<String, RetractionKeys>,
    by_document: HashMap<DocumentId, RetractionKeys>,
    /// Retractions with a word of a script without spaces, which may stand anywhere in a text.
    unspaced: RetractionKeys,
}

impl Retractions {
    /// Adds the retractions among the statements of a document. Returns them.
    pub(super) fn insert_document(
        &mut self,
        document: &Arc<DocumentStatements>,
    ) -> Vec<PlacedRetraction> {
        let retractions = retractions_of(document);
        for placed in &retractions {
            self.for_each_set(placed, |set, key| {
                set.insert(key);
            });
            self.placed.insert(placed.key(), placed.clone());
        }
        retractions
    }

    /// Removes the retractions of a document. Returns them.
    pub(super) fn remove_document(
        &mut self,
        document: &Arc<DocumentStatements>,
    ) -> Vec<PlacedRetraction> {
        let retractions = retractions_of(document);
        for placed in &retractions {
            self.for_each_set(placed, |set, key| {
                set.remove(&key);
            });
            self.placed.remove(&placed.key());
        }
        retractions
    }

    /// Returns the documents that have retractions.
    pub(super) fn documents(&self) -> impl Iterator<Item = &DocumentId> {
        let by_document = self.by_document.iter();
        by_document
            .filter(|(_, keys)| !keys.is_empty())
            .map(|(id, _)| id)
    }

    /// Calls `change` with each set in which a retraction is found, and with the key of the
    /// retraction.
    fn for_each_set(
        &mut self,
        placed: &PlacedRetraction,
        mut change: impl FnMut(&mut RetractionKeys, RetractionKey),
    ) {
        let Some(retraction) = &placed.statement().retraction else {
            return;
        };
        for word in words_to_find(retraction) {
            if is_unspaced(word) {
                change(&mut self.unspaced, placed.key());
            } else {
                change(
                    self.by_stem.entry(stem_key(word)).or_default(),
                    placed.key(),
                );
            }
        }
        for aspect in &retraction.aspects {
            change(
                self.by_aspect.entry(aspect.clone()).or_default(),
                placed.key(),
            );
        }
        let id = placed.document.document.id.clone();
        change(self.by_document.entry(id).or_default(), placed.key());
    }

    /// Returns when and why a statement of a document is forgotten, if a conversation asks for it.
    pub(super) fn find_forget(
        &self,
        statement: &Statement,
        document: &DocumentStatements,
    ) -> Option<ForgetRecord> {
        let found = self.find_first(statement, document, FORGETTING)?;
        Some(ForgetRecord {
            at: found.statement().said_at,
            reason: Some("asked for in a conversation".to_owned()),
        })
    }

    /// Returns the time at which a statement of a document has ended, if a later one says so.
    pub(super) fn find_end(
        &self,
        statement: &Statement,
        document: &DocumentStatements,
    ) -> Option<Timestamp> {
        let found = self.find_first(statement, document, ENDING)?;
        Some(found.statement().said_at)
    }

    /// Returns the first retraction with one of the effects that takes back a statement of a
    /// document.
    fn find_first(
        &self,
        statement: &Statement,
        document: &DocumentStatements,
        effects: [RetractionEffect; 2],
    ) -> Option<&PlacedRetraction> {
        if self.placed.is_empty() {
            return None;
        }

        let stated = StatedWords::of(statement);
        let takes_back = |placed: &PlacedRetraction| {
            placed.has_effect(&effects) && placed.takes_back(statement, &stated, document)
        };

        // In its own document, a statement is before a retraction by its place, whatever the times.
        let own = self.by_document.get(&document.document.id).into_iter();
        let own_keys = own.flatten();
        let mut first = own_keys
            .filter_map(|key| self.placed.get_key_value(key))
            .find(|(_, placed)| takes_back(placed));

        let earliest = (statement.said_at, String::new(), 0);
        for keys in self.sets_that_share(statement, &stated, document) {
            for key in keys.range(&earliest..) {
                if first.is_some_and(|(first_key, _)| first_key <= key) {
                    break;
                }
                let found = self.placed.get_key_value(key);
                if found.is_some_and(|(_, placed)| takes_back(placed)) {
                    first = found;
                    break;
                }
            }
        }
        first.map(|(_, placed)| placed)
    }

    /// Returns the sets of the retractions that share a word or an aspect with a statement. Outside of
    /// its document, no other can take it back.
    fn sets_that_share(
        &self,
        statement: &Statement,
        stated: &StatedWords,
        document: &DocumentStatements,
    ) -> Vec<&RetractionKeys> {
        let mut sets = vec![&self.unspaced];
        for aspect in &statement.aspects {
            sets.extend(self.by_aspect.get(aspect));
        }

        let mut add_words = |stated: &StatedWords| {
            for word in &stated.words {
                sets.extend(self.by_stem.get(&stem_key(word)));
            }
            if stated.has_amount {
                sets.extend(self.by_stem.get(AMOUNT));
            }
        };
        add_words(stated);
        if let Some(continued) = continued_statement(statement, document) {
            add_words(&StatedWords::of(continued));
        }
        sets
    }
}

/// Returns the retractions among the statements of a document.
fn retractions_of(document: &Arc<DocumentStatements>) -> Vec<PlacedRetraction> {
    let mut retractions = Vec::new();
    for (index, statement) in document.statements.iter().enumerate() {
        if statement.retraction.is_some() {
            retractions.push(PlacedRetraction {
                document: Arc::clone(document),
                index,
            });
        }
    }
    retractions
}

/// Returns the words of which a statement has one if the words of the retraction mean it. An ending
/// means statements with all of its words, so its longest word is enough.
fn words_to_find(retraction: &Retraction) -> Vec<&String> {
    let words = retraction.words.iter();
    match retraction.effect {
        RetractionEffect::Ends => words.max_by_key(|word| word.len()).into_iter().collect(),
        _ => words.collect(),
    }
}

/// Returns the beginning that all forms of a word share, as [`is_same_word`] compares them.
fn stem_key(word: &str) -> String {
    word.chars().take(MIN_STEM_CHARS).collect()
}

/// A statement that takes back others, with its document.
#[derive(Debug, Clone)]
pub(super) struct PlacedRetraction {
    document: Arc<DocumentStatements>,
    index: usize,
}

impl PlacedRetraction {
    fn statement(&self) -> &Statement {
        &self.document.statements[self.index]
    }

    fn key(&self) -> RetractionKey {
        let id = self.document.document.id.to_string();
        (self.statement().said_at, id, self.index)
    }

    fn has_effect(&self, effects: &[RetractionEffect]) -> bool {
        let retraction = self.statement().retraction.as_ref();
        retraction.is_some_and(|retraction| effects.contains(&retraction.effect))
    }

    /// Checks whether it takes back a statement of a document, with whatever effect.
    pub(super) fn affects(&self, statement: &Statement, document: &DocumentStatements) -> bool {
        self.takes_back(statement, &StatedWords::of(statement), document)
    }

    /// Checks whether it takes back a statement of a document that has these words.
    fn takes_back(
        &self,
        statement: &Statement,
        stated: &StatedWords,
        document: &DocumentStatements,
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
        let may_affect = retracting.trust.is_own_words()
            && is_earlier
            && is_affected(retraction, retracting, statement);
        if !may_affect {
            return false;
        }

        !stated.has_any(&retraction.kept_words)
            && (is_same_document && is_within_spans(retraction, statement)
                || is_meant(retracting, statement, stated, document))
    }
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

/// Checks whether a statement is about an aspect that has changed, and about nothing else. What is yet to
/// come changes nothing: `moving to Portland on September 1`.
fn changes_aspect(
    retracting: &Statement,
    retraction: &Retraction,
    statement: &Statement,
    stated: &StatedWords,
) -> bool {
    let has_happened = retracting
        .event
        .is_none_or(|event| event.from <= retracting.said_at);
    has_happened && has_aspect(retraction, statement) && !has_clauses(&stated.text)
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
            changes_aspect(retracting, retraction, statement, stated)
                || !words.is_empty()
                    && words.iter().all(|word| stated.has(word))
                    && !outlasts_words(&stated.text, |part| {
                        let part = StatedWords::of_text(part.to_owned());
                        words.iter().all(|word| part.has(word))
                    })
        }
        RetractionEffect::Replaces => {
            let is_replaceable = is_replaceable(statement) || share_aspect(retracting, statement);
            changes_aspect(retracting, retraction, statement, stated)
                || is_replaceable
                    && stated.has_any(words)
                    && !outlasts_words(&stated.text, |part| {
                        StatedWords::of_text(part.to_owned()).has_any(words)
                    })
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
    /// True if an amount of money is among the words.
    has_amount: bool,
}

impl StatedWords {
    fn of(statement: &Statement) -> Self {
        let mut stated = Self::of_text(statement.text.to_lowercase());
        if let Some(topic) = &statement.topic {
            stated.words.extend(split_words(&topic.attribute));
        }
        stated
    }

    /// Returns the words of a text in lower case.
    fn of_text(text: String) -> Self {
        let words = split_words(&text);
        let has_amount = has_amount(&text);
        Self {
            text,
            words,
            has_amount,
        }
    }

    fn has_any(&self, words: &[String]) -> bool {
        words.iter().any(|word| self.has(word))
    }

    /// Checks whether a word of a retraction is among the words.
    fn has(&self, word: &str) -> bool {
        if word == AMOUNT {
            return self.has_amount;
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

/// Checks for a word of a script without spaces.
fn is_unspaced(word: &str) -> bool {
    word.starts_with(|c: char| matches!(c, '\u{2e80}'..='\u{9fff}'))
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;
    use proptest::sample::{select, subsequence};

    use super::*;
    use crate::ledger::tests::{document_statements, statement};

    const WORDS: [&str; 10] = [
        "debt",
        "debts",
        "car",
        "cars",
        "mortgage",
        "mortgages",
        "2,300",
        "61k",
        "借金",
        "gym",
    ];
    const ASPECTS: [&str; 3] = ["job", "residence", "school of another"];
    const KINDS: [MemoryKind; 3] = [MemoryKind::Fact, MemoryKind::Instruction, MemoryKind::Plan];
    const EFFECTS: [RetractionEffect; 4] = [
        RetractionEffect::Ends,
        RetractionEffect::Replaces,
        RetractionEffect::Forgets,
        RetractionEffect::Dismisses,
    ];

    /// Statements that name a few words and aspects; some of them take back others.
    fn statements() -> impl Strategy<Value = Statement> {
        let names_user = any::<bool>();
        let words = subsequence(&WORDS[..], 1..3);
        let aspects = subsequence(&ASPECTS[..], 0..2);
        let retracted_words = vec(
            select(&[AMOUNT, "debt", "cars", "mortgage", "借金"][..]),
            0..3,
        );
        let retraction = (select(&EFFECTS[..]), retracted_words, aspects.clone());
        let retraction = proptest::option::of(retraction);
        let kinds = select(&KINDS[..]);

        (names_user, words, aspects, retraction, 1i64..5, kinds).prop_map(
            |(names_user, words, aspects, retraction, said_day, kind)| {
                let subject = if names_user { "User has" } else { "It has" };
                let text = format!("{subject} {}.", words.join(" "));
                Statement {
                    kind,
                    aspects: aspects.iter().map(|&aspect| aspect.to_owned()).collect(),
                    retraction: retraction.map(|(effect, words, aspects)| Retraction {
                        effect,
                        words: words.iter().map(|&word| word.to_owned()).collect(),
                        aspects: aspects.iter().map(|&aspect| aspect.to_owned()).collect(),
                        kept_words: Vec::new(),
                        spans: vec![(0, 10)],
                    }),
                    ..statement(&text, None, said_day)
                }
            },
        )
    }

    fn documents() -> impl Strategy<Value = Vec<Arc<DocumentStatements>>> {
        vec(vec(statements(), 1..5), 1..6).prop_map(|documents| {
            let numbered = documents.into_iter().zip(1..);
            let placed = numbered.map(|(mut statements, number)| {
                for (place, statement) in statements.iter_mut().enumerate() {
                    (statement.start, statement.end) = (place * 8, place * 8 + 7);
                }
                Arc::new(document_statements(number, statements))
            });
            placed.collect()
        })
    }

    #[test]
    fn forms_of_a_word_share_a_stem_and_differ_by_a_short_ending() {
        assert!(is_same_word("debt", "debts") && is_same_word("gym", "gym"));
        assert!(is_same_word("mortgage", "mortgaging"));
        // A stem of three letters, and an ending of four.
        assert!(!is_same_word("gym", "gyms"));
        assert!(!is_same_word("debt", "debtless"));
    }

    proptest! {
        #[test]
        fn a_statement_finds_the_first_of_all_retractions_that_take_it_back(
            documents in documents(),
            removed in any::<prop::sample::Index>(),
        ) {
            let mut retractions = Retractions::default();
            for document in &documents {
                retractions.insert_document(document);
            }
            retractions.remove_document(&documents[removed.index(documents.len())]);

            for document in &documents {
                for statement in &document.statements {
                    for effects in [FORGETTING, ENDING] {
                        let mut all = retractions.placed.values();
                        let expected = all.find(|placed| {
                            placed.has_effect(&effects) && placed.affects(statement, document)
                        });
                        let found = retractions.find_first(statement, document, effects);
                        prop_assert_eq!(
                            found.map(PlacedRetraction::key),
                            expected.map(PlacedRetraction::key)
                        );
                    }
                }
            }
        }
    }
}
