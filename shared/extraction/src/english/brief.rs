//! Requests to an assistant that people type briefly: `turn off the lights`, `pasta recipe without
//! eggs`.

use super::grammar::{SubjectKind, parse_clause, skip_adverbs};
use super::lexicon::{VerbForm, is_auxiliary, is_preposition, parse_verb};
use super::vocabulary::vocabulary;
use super::words::{Clause, split_words};
use crate::dates::is_weekday;

/// The most words of a brief request.
const MAX_WORDS: usize = 12;
/// The most words before the thing that is asked for: `cheap family hotels`.
const MAX_WORDS_BEFORE_THING: usize = 3;

/// Words of a clause that tells what is done again and again, or was done.
const TELLING_WORDS: [&str; 16] = [
    "ago",
    "already",
    "always",
    "daily",
    "each",
    "every",
    "last",
    "lot",
    "often",
    "own",
    "times",
    "twice",
    "usually",
    "weekly",
    "when",
    "yesterday",
];

/// Checks whether a text only asks for something to be done or found. An answer may be a thing: `a
/// poem about cats`.
pub(crate) fn is_brief_request(text: &str, is_answer: bool) -> bool {
    let lower = text.to_ascii_lowercase();
    let words = split_words(text, &lower);
    let clause = Clause { words: &words };
    let has_subject = clause.contains_any(&["i", "we", ":"]);
    clause.len() <= MAX_WORDS
        && !has_subject
        && (begins_with_order(clause) || !is_answer && names_request(clause))
}

/// Checks whether a clause begins with an order. What is done again and again is a habit: `cook
/// something new every week`.
fn begins_with_order(clause: Clause<'_>) -> bool {
    let is_told = clause.words.iter().any(|word| {
        is_weekday(word.lower) && word.lower.ends_with("days")
            || TELLING_WORDS.contains(&word.lower)
    });
    !is_told && vocabulary().brief_orders.end(clause, 0).is_some()
}

/// Checks whether a clause is only the name of something that an assistant finds or writes.
fn names_request(clause: Clause<'_>) -> bool {
    let has_subject =
        parse_clause(clause).is_some_and(|parsed| parsed.subject_kind != SubjectKind::Elided);
    let tells = clause.words.iter().any(|word| {
        is_auxiliary(word.lower)
            || word.lower == "'s"
            || matches!(parse_verb(word.lower), Some((_, VerbForm::Past)))
            || matches!(word.lower, "me" | "my" | "our" | "us")
    });
    let tells_taste = matches!(
        clause.lower_at(skip_adverbs(clause, 0)),
        "enjoy" | "hate" | "like" | "love" | "need" | "prefer" | "want"
    );
    let is_thing = |at: usize| {
        let end = vocabulary().requested_things.end(clause, at);
        end.is_some_and(|end| {
            let next = clause.lower_at(end);
            next.is_empty() || is_preposition(next) && next != "to"
        })
    };
    !has_subject && !tells && !tells_taste && (0..=MAX_WORDS_BEFORE_THING).any(is_thing)
}
