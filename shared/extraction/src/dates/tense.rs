//! The tense of the words before a date, which decides on which side of today it lies.

use super::{Clause, DateDirection, parse_day};
use crate::english::lexicon::{
    VerbForm, is_adverb, is_determiner, is_modal, is_preposition, parse_verb,
};

/// Verbs that arrange something to come, so that a count after their past form lies ahead.
const ARRANGING_VERBS: [&str; 18] = [
    "accept", "agree", "arrange", "book", "buy", "enrol", "enter", "expect", "invite", "offer",
    "order", "plan", "promise", "register", "reserve", "schedule", "set", "sign",
];

/// Verbs that put something on another day.
const MOVING_VERBS: [&str; 9] = [
    "bring",
    "change",
    "delay",
    "move",
    "postpone",
    "push",
    "reschedule",
    "shift",
    "switch",
];

/// Verbs that say when something takes place or somebody goes somewhere.
const COMING_VERBS: [&str; 24] = [
    "arrive", "begin", "close", "come", "depart", "end", "expire", "finish", "fly", "get", "go",
    "graduate", "have", "join", "land", "leave", "marry", "meet", "move", "open", "renew",
    "retire", "start", "travel",
];

/// Nouns for the day of something.
const DAY_NOUNS: [&str; 4] = ["date", "day", "deadline", "slot"];

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

/// Checks whether a date at `at` in a clause about the past is still to come, by the nearest verb
/// before it: `I accepted the offer and start on April 1`, `the visa came, flying out on May 2`.
pub(super) fn is_coming_at(clause: Clause<'_>, at: usize) -> bool {
    let mut nearest_first = (0..at).rev().map(|index| clause.lower_at(index));
    let previous = nearest_first.find(|lower| !matches!(*lower, ":" | "the"));
    let previous = previous.unwrap_or_default();
    let is_new = (at.saturating_sub(3)..at).any(|index| clause.lower_at(index) == "new");
    if is_new && DAY_NOUNS.contains(&previous) {
        return true;
    }

    let mut follows_to = false;
    for index in (0..at).rev() {
        let lower = clause.lower_at(index);
        match parse_verb(lower) {
            _ if matches!(lower, "could" | "would" | "did" | "had" | "was" | "were") => {
                return false;
            }
            _ if matches!(lower, "is" | "are" | "'re" | "'m" | "am") => return true,
            // "She's left" has passed, and "my dad's exam" is no verb.
            _ if lower == "'s" => {
                let next = parse_verb(clause.lower_at(index + 1));
                let has_passed = next.is_some_and(|(_, form)| form == VerbForm::Past);
                let subject = clause.lower_at(index.wrapping_sub(1));
                if matches!(subject, "he" | "it" | "she" | "that") {
                    return !has_passed;
                }
            }
            // The month is no modal verb.
            _ if lower == "may" && parse_day(clause.lower_at(index + 1)).is_some() => {}
            _ if matches!(lower, "'ll" | "gonna") || is_modal(lower) => {
                return clause.lower_at(index + 1) != "n't";
            }
            Some((base, VerbForm::Past)) => {
                return MOVING_VERBS.contains(&base) && matches!(previous, "to" | "until")
                    || ARRANGING_VERBS.contains(&base) && (follows_to || previous == "for");
            }
            Some((base, form)) => {
                follows_to |= clause.lower_at(index.wrapping_sub(1)) == "to";
                if is_finite_at(clause, index, base, form) {
                    return true;
                }
            }
            None => {}
        }
    }

    false
}

/// Checks whether a date at `at` is a day that comes every year: `my birthday is on the 9th of Nov`.
pub(super) fn is_yearly_at(clause: Clause<'_>, at: usize) -> bool {
    let before = clause.until_index(at);
    let is_past = before.words.iter().any(|word| {
        matches!(word.lower, "was" | "were")
            || matches!(parse_verb(word.lower), Some((_, VerbForm::Past)))
    });
    before.contains_any(&["anniversary", "bday", "birthday"]) && !is_past
}

/// Checks whether a verb in the present tense or in -ing at `at` has a subject of its own, or
/// continues a list of clauses. Many of these forms are nouns as well: `blood tests`.
fn is_finite_at(clause: Clause<'_>, at: usize, base: &str, form: VerbForm) -> bool {
    let mut before = (0..at).rev().map(|index| clause.lower_at(index));
    let previous = before.find(|lower| !is_adverb(lower)).unwrap_or_default();
    let is_joined = matches!(previous, "and" | "but" | "," | ";" | "now" | "so");
    match form {
        VerbForm::Ing => is_joined && COMING_VERBS.contains(&base),
        VerbForm::Base => {
            matches!(previous, "i" | "they" | "we" | "you")
                || is_joined && COMING_VERBS.contains(&base)
        }
        VerbForm::Present => {
            let is_noun = is_determiner(previous) || is_preposition(previous);
            matches!(previous, "he" | "it" | "she") || !is_noun && COMING_VERBS.contains(&base)
        }
        VerbForm::Past => false,
    }
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
