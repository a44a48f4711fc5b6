//! The subject of a clause: the speaker, or somebody else.
//!
//! `My sister got married` tells nothing about the speaker's own marriage. The subject is the last
//! person before the phrase in its clause.

use text::Language;

use super::words::{ChatWords, LowerText, Phrases, is_unspaced, words_of};
use crate::cues::is_kinship_word;
use crate::english::is_relative;
use crate::english::lexicon::is_adverb;

/// Marks that end a clause.
const CLAUSE_MARKS: [char; 13] = [
    ',', '.', ';', ':', '!', '?', '(', ')', '\n', '。', '、', '，', '—',
];
/// English words for things as the subject of a clause.
const THINGS: [&str; 11] = [
    "everything",
    "it",
    "it's",
    "its",
    "that",
    "that's",
    "these",
    "this",
    "those",
    "what",
    "which",
];

/// The subject of a clause.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Subject {
    /// The speaker, also when no subject is written.
    Speaker,
    /// The speaker's partner.
    Partner,
    /// Another person.
    Other,
    /// Words that are not known to be a person: `Anna`, `the layoffs`.
    Unknown,
}

/// Returns the part of a text before a position that belongs to the same clause.
pub(super) fn clause_before(text: &str, at: usize) -> &str {
    let before = &text[..at];
    before.rsplit(CLAUSE_MARKS).next().unwrap_or(before)
}

/// Returns the part of a text from a position to the end of the clause.
pub(super) fn clause_after(text: &str, at: usize) -> &str {
    let after = &text[at..];
    after.split(CLAUSE_MARKS).next().unwrap_or(after)
}

/// Returns the subject that the words of a clause before a phrase name.
pub(super) fn find_subject(before: &str, words: &ChatWords, language: Language) -> Subject {
    let lower = LowerText::new(before);
    let speaker = words.first_person_subjects.find_last(&lower);
    let person = find_last_person(&lower, words, language);
    let Some((person_at, subject)) = person else {
        let is_unknown = speaker.is_none()
            && language == Language::English
            && words_of(before).any(|word| is_content(word, words));
        return if is_unknown {
            Subject::Unknown
        } else {
            Subject::Speaker
        };
    };

    // "Me and my sister" begins with the speaker.
    let is_joint = |phrase: &str| phrase.contains(' ');
    match speaker {
        Some(range) if range.start > person_at || is_joint(&lower.text[range.clone()]) => {
            Subject::Speaker
        }
        _ => subject,
    }
}

/// Returns the last person that a text names, and where.
fn find_last_person(
    lower: &LowerText,
    words: &ChatWords,
    language: Language,
) -> Option<(usize, Subject)> {
    let ranges = lower.words.iter().rev();
    let named = ranges
        .map(|range| (range.start, &lower.text[range.clone()]))
        .find_map(|(at, word)| Some((at, person_of(word, words, language)?)));
    let unspaced = || {
        let find = |people: &Phrases| people.find_last(lower).map(|range| range.start);
        let partner = find(&words.partners).map(|at| (at, Subject::Partner));
        let other = find(&words.people).map(|at| (at, Subject::Other));
        partner.into_iter().chain(other).max_by_key(|(at, _)| *at)
    };
    named.or_else(unspaced)
}

/// Returns the person that a word names, if it names one: `husband's`, `parents`.
pub(super) fn person_of(word: &str, words: &ChatWords, language: Language) -> Option<Subject> {
    let owner = word
        .strip_suffix("'s")
        .or_else(|| word.strip_suffix("’s"))
        .unwrap_or(word);
    let singular = owner.trim_end_matches('\'');
    let singular = singular.strip_suffix('s').unwrap_or(singular);
    for form in [word, owner, singular] {
        if words.partners.is(form) {
            return Some(Subject::Partner);
        }
        let is_person = words.people.is(form)
            || words.other_persons.is(form)
            || is_kinship_word(form, language)
            || language == Language::English && is_relative(form);
        if is_person {
            return Some(Subject::Other);
        }
    }
    None
}

/// Checks whether a word before a phrase may be its subject.
fn is_content(word: &str, words: &ChatWords) -> bool {
    let calendar = &words.calendar;
    let is_light = words.stop_words.contains_key(word)
        || words.beside_ending.is(word)
        || words.clause_conjunctions.is(word)
        || is_adverb(word)
        || calendar.weekdays.contains_key(word)
        || calendar.months.contains_key(word)
        || calendar.numbers.contains_key(word)
        || word.starts_with(|c: char| c.is_ascii_digit());
    THINGS.contains(&word) || !is_light
}

/// Checks whether a remark begins with somebody other than the speaker. Returns the person.
pub(super) fn find_opening_person(
    lower: &LowerText,
    words: &ChatWords,
    language: Language,
) -> Option<Subject> {
    let first_words = || words_of(&lower.text).take(3);
    if first_words().any(|word| words.first_person_subjects.is(word)) {
        return None;
    }
    let other = || words.other_persons.opening_len(&lower.text);
    if lower.text.starts_with(is_unspaced) || language != Language::English {
        let named = first_words().take(2);
        let person = named.filter_map(|word| person_of(word, words, language));
        let person = person.last();
        return person.or_else(|| other().map(|_| Subject::Other));
    }

    let is_owned = matches!(first_words().next(), Some("my" | "our" | "the"));
    let people = first_words()
        .skip(1)
        .filter_map(|word| person_of(word, words, language));
    let owned = people.last().filter(|_| is_owned);
    let is_joint = || {
        let start: Vec<&str> = words_of(&lower.text).take(5).collect();
        start.windows(2).any(|pair| {
            pair[0] == "and" && (words.first_person_subjects.is(pair[1]) || pair[1] == "me")
        })
    };
    let person = owned.or_else(|| other().map(|_| Subject::Other));
    person.filter(|_| !is_joint())
}
