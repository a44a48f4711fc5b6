//! The tense of the words before a date, which decides on which side of today it lies.

use super::{Clause, DateDirection};
use crate::english::lexicon::{VerbForm, is_adverb, is_modal, parse_verb};

/// Verbs that arrange something to come, so that a count after their past form lies ahead.
const ARRANGING_VERBS: [&str; 18] = [
    "accept", "agree", "arrange", "book", "buy", "enrol", "enter", "expect", "invite", "offer",
    "order", "plan", "promise", "register", "reserve", "schedule", "set", "sign",
];

/// The number of words after a count with which a clause begins, among which its verb is looked for.
const WORDS_WITH_VERB: usize = 3;

/// Checks whether `in three days` at `at` is a length of time that has passed, by the nearest verb
/// before it: a perfect, or a past form in a clause about the past. `I lost 5 kg in two months` and
/// `I haven't smoked in three years` name no day.
pub(super) fn is_length(clause: Clause<'_>, at: usize, direction: DateDirection) -> bool {
    let is_past = direction == DateDirection::Past;
    for index in (0..at).rev() {
        let lower = clause.lower_at(index);
        if points_ahead(clause, index) || begins_clause(clause, index) {
            return false;
        }
        let Some((base, VerbForm::Past)) = parse_verb(lower) else {
            continue;
        };

        let is_arranged = ARRANGING_VERBS.contains(&base);
        match find_auxiliary(clause, index) {
            "am" | "are" | "be" | "being" | "is" | "'m" | "'re" => return false,
            "have" | "has" | "having" | "'ve" | "'s" => return !is_arranged && base != "get",
            _ if is_past => return !is_arranged,
            _ => {}
        }
    }

    // "In two months I lost 5 kg."
    let after = at + 3..at + 3 + WORDS_WITH_VERB;
    let mut verbs = after.filter_map(|index| parse_verb(clause.lower_at(index)));
    is_past && verbs.next().is_some_and(|(_, form)| form == VerbForm::Past)
}

/// Checks whether a date at `at` in a clause about the past has passed, by the nearest verb before it:
/// `we met this Friday`, but not `I heard that the exam is this Friday` or `I booked a table for this
/// Friday`.
pub(super) fn is_past_at(clause: Clause<'_>, at: usize) -> bool {
    if at > 0 && clause.lower_at(at - 1) == "for" {
        return false;
    }

    for index in (0..at).rev() {
        if points_ahead(clause, index) || begins_clause(clause, index) {
            return false;
        }
        if let Some((base, VerbForm::Past)) = parse_verb(clause.lower_at(index)) {
            return !ARRANGING_VERBS.contains(&base);
        }
    }

    true
}

/// Checks whether what follows a word is still to come: `will`, `is`, `to leave`.
fn points_ahead(clause: Clause<'_>, at: usize) -> bool {
    match clause.lower_at(at) {
        "am" | "are" | "is" | "'m" | "'re" | "'ll" | "due" | "going" | "gonna" => {
            let next = parse_verb(clause.lower_at(at + 1));
            next.is_none_or(|(_, form)| form != VerbForm::Past)
        }
        "to" => {
            let previous = clause.lower_at(at.wrapping_sub(1));
            let is_verb = parse_verb(clause.lower_at(at + 1));
            is_verb.is_some_and(|(_, form)| form == VerbForm::Base)
                && !matches!(previous, "able" | "managed" | "used")
        }
        lower => is_modal(lower) && clause.lower_at(at + 1) != "n't",
    }
}

/// Checks whether a clause with a subject of its own begins at a word: `and I leave in two days`.
fn begins_clause(clause: Clause<'_>, at: usize) -> bool {
    let is_joint = matches!(
        clause.lower_at(at),
        "," | ";" | "and" | "but" | "so" | "because"
    );
    is_joint
        && matches!(
            clause.lower_at(at + 1),
            "he" | "i" | "it" | "my" | "our" | "she" | "the" | "they" | "we"
        )
}

/// Returns the auxiliary before a participle, or an empty string.
fn find_auxiliary(clause: Clause<'_>, participle: usize) -> &str {
    let is_between =
        |lower: &str| is_adverb(lower) || matches!(lower, "n't" | "not" | "been" | "never");
    let mut before = (0..participle).rev().map(|index| clause.lower_at(index));
    before.find(|lower| !is_between(lower)).unwrap_or_default()
}
