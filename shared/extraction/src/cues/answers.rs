//! Subjects and answers as topics name them.

use super::LanguageRules;
use super::cue::{is_letter, is_unspaced, joins_word};

/// The longest answer of a topic, in characters.
const MAX_ANSWER_CHARS: usize = 60;

/// Checks whether a character ends a clause.
pub(super) fn ends_clause(text: &str, at: usize, c: char) -> bool {
    match c {
        // Only the last full stop of a text ends a clause. Others belong to abbreviations and
        // ordinals.
        '.' => !text[at..].contains(char::is_alphanumeric),
        ',' | ':' => {
            let is_digit = |c: Option<char>| c.is_some_and(|c| c.is_ascii_digit());
            !(is_digit(text[..at].chars().next_back()) && is_digit(text[at + 1..].chars().next()))
        }
        '-' => text[..at].ends_with(' '),
        _ => ";!?()[]\"\n–—…，。；：！？、（）「」『』“”„«»।".contains(c),
    }
}

/// Returns the answer at the beginning of a capture, in the form used by topics.
pub(super) fn parse_answer(language: &LanguageRules, captured: &str) -> Option<String> {
    let mut parts = captured
        .char_indices()
        .filter(|(at, c)| ends_clause(captured, *at, *c));
    let clause = if language.is_verb_last {
        // The object stands right before the verb: "先月、福岡に引っ越しました".
        let trimmed = captured.trim_end_matches(|c: char| !is_letter(c));
        let last = trimmed
            .char_indices()
            .rev()
            .find(|(at, c)| ends_clause(trimmed, *at, *c));
        &trimmed[last.map_or(0, |(at, c)| at + c.len_utf8())..]
    } else {
        &captured[..parts.next().map_or(captured.len(), |(at, _)| at)]
    };

    let mut text = strip_articles(language, clause.trim());
    let stop_positions = language
        .answer_ends
        .iter()
        .filter_map(|stop| find_word(text, stop));
    if let Some(stop) = stop_positions.filter(|at| *at > 0).min() {
        text = text[..stop].trim();
    }

    normalize_name(text)
}

/// Returns the subject at the end of a capture, or `None` if the capture is too long to be a name.
pub(super) fn parse_subject(language: &LanguageRules, captured: &str) -> Option<String> {
    let captured = captured.trim_end_matches(|c: char| !is_letter(c));
    let mut clause_ends = captured
        .char_indices()
        .filter(|(at, c)| ends_clause(captured, *at, *c));
    let start = clause_ends
        .next_back()
        .map_or(0, |(at, c)| at + c.len_utf8());
    normalize_name(strip_articles(language, captured[start..].trim()))
}

/// Checks whether a subject is a clause, too long for a name or beginning with the speaker. Such a
/// clause is not what the sentence is about.
pub(super) fn is_clause(language: &LanguageRules, subject: &str) -> bool {
    let is_long = subject.chars().filter(|c| is_unspaced(*c)).count() > 8;
    is_long
        || language
            .first_person
            .iter()
            .any(|word| strip_word(subject, word).is_some_and(|rest| !rest.is_empty()))
}

/// Checks whether the subject is a word for the speaker.
pub(super) fn is_speaker(language: &LanguageRules, subject: &str) -> bool {
    language.first_person.contains(&subject)
}

fn normalize_name(text: &str) -> Option<String> {
    let text = text.trim_matches(|c: char| !is_letter(c) && !"+#%°€$".contains(c));
    let count = text.chars().count();
    let unspaced_count = text.chars().filter(|c| is_unspaced(*c)).count();
    let is_short =
        count <= MAX_ANSWER_CHARS && unspaced_count <= 16 && text.split_whitespace().count() <= 6;
    (is_short && count > 0).then(|| text.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// Returns the text without the articles and small words at its beginning.
fn strip_articles<'t>(language: &LanguageRules, mut text: &'t str) -> &'t str {
    while let Some(rest) = language
        .articles
        .iter()
        .find_map(|word| strip_word(text, word))
    {
        text = rest;
    }
    text
}

/// Returns the rest of a text that begins with a word, or `None` if it does not.
pub(super) fn strip_word<'t>(text: &'t str, word: &str) -> Option<&'t str> {
    let rest = text.strip_prefix(word).filter(|_| !word.is_empty())?;
    let is_open = word.ends_with(|c: char| !c.is_alphanumeric() || is_unspaced(c));
    (is_open || rest.starts_with(|c: char| !is_letter(c))).then(|| rest.trim_start())
}

/// Returns the position at which a text contains a word as a whole word.
pub(super) fn find_word(text: &str, word: &str) -> Option<usize> {
    let is_boundary = |outside: Option<char>, inside: Option<char>| {
        !(outside.is_some_and(joins_word) && inside.is_some_and(joins_word))
    };
    let hits = text.match_indices(word).filter(|_| !word.is_empty());
    let mut hits = hits.filter(|(at, _)| {
        is_boundary(text[..*at].chars().next_back(), word.chars().next())
            && is_boundary(
                text[at + word.len()..].chars().next(),
                word.chars().next_back(),
            )
    });
    hits.next().map(|(at, _)| at)
}
