//! Stop words: words without a meaning of their own. They vote for the language of a text, and are
//! left out of queries.

use std::borrow::Cow;
use std::sync::LazyLock;

use hashbrown::HashMap;

use super::fold::fold_accents;
use super::language::{Language, LanguageSet};
use super::scan::{TextUnit, scan_text};

static WORDS: &str = include_str!("stop_words.txt");
static PHRASES: &str = include_str!("stop_phrases.txt");

/// The size of the vote table: the stemmed languages, then those that are recognized by their
/// script.
const VOTE_SLOTS: usize = 32;

/// The languages of the word list, in the order of their bits. The first fifteen are those of
/// [`Language`].
const LANGUAGE_CODES: [&str; 18] = [
    "en", "de", "es", "fr", "pt", "it", "nl", "sv", "da", "no", "fi", "hu", "ro", "tr", "-", "ru",
    "hi", "ar",
];

/// The languages that do not share their script with another one. Their stop words always count.
const BY_SCRIPT: u32 = 1 << 15 | 1 << 16 | 1 << 17;

fn stop_word_table() -> &'static HashMap<String, u32> {
    static TABLE: LazyLock<HashMap<String, u32>> = LazyLock::new(|| {
        let mut table = HashMap::new();
        for line in WORDS.lines() {
            let Some((code, words)) = line.split_once(':') else {
                continue;
            };
            let Some(bit) = LANGUAGE_CODES
                .iter()
                .position(|known_code| *known_code == code)
            else {
                continue;
            };
            for word in words.split_whitespace() {
                let mut folded = String::new();
                fold_accents(word, &mut folded);
                *table.entry(folded).or_insert(0) |= 1u32 << bit;
            }
        }
        table
    });

    &TABLE
}

fn languages_of_word(word: &str) -> u32 {
    if word.is_ascii() {
        return stop_word_table().get(word).copied().unwrap_or(0);
    }
    let mut folded = String::new();
    fold_accents(word, &mut folded);
    stop_word_table().get(&folded).copied().unwrap_or(0)
}

/// Counts the stop words of each language in `text`.
pub(super) fn count_votes(text: &str) -> [u32; VOTE_SLOTS] {
    let mut votes = [0; VOTE_SLOTS];
    scan_text(text, &mut |unit| {
        if let TextUnit::Word(word) = unit {
            let mut set = languages_of_word(word);
            while set != 0 {
                votes[set.trailing_zeros() as usize] += 1;
                set &= set - 1;
            }
        }
    });
    votes
}

/// Returns the languages whose stop words are left out of a query: those with the most votes among
/// the languages of the searched documents, or among all languages if none of the former has any.
pub(super) fn stop_languages_of(query: &str, used: LanguageSet) -> u32 {
    let votes = count_votes(query);
    let strongest_languages = |allowed: u32| {
        let allowed = |slot: &usize| allowed & (1 << slot) != 0;
        let max_votes = (0..VOTE_SLOTS)
            .filter(allowed)
            .map(|slot| votes[slot])
            .max()
            .unwrap_or(0);
        (0..VOTE_SLOTS)
            .filter(allowed)
            .filter(|&slot| max_votes > 0 && votes[slot] == max_votes)
            .map(|slot| 1u32 << slot)
            .sum()
    };

    let used = used
        .iter()
        .fold(0, |set, language: Language| set | 1 << language as u8);
    let found: u32 = strongest_languages(used);
    let found = if found == 0 {
        strongest_languages(!BY_SCRIPT)
    } else {
        found
    };

    found | BY_SCRIPT
}

/// Checks whether `word` (in lower case) is a stop word of one of `languages`, a set from
/// [`stop_languages_of`].
pub(super) fn is_stop_word(word: &str, languages: u32) -> bool {
    languages_of_word(word) & languages != 0
}

/// Replaces the question phrases of scripts without spaces in `text` by a space.
pub(super) fn remove_question_phrases(text: &str) -> Cow<'_, str> {
    if text.is_ascii() {
        return Cow::Borrowed(text);
    }
    let mut text = Cow::Borrowed(text);
    for phrase in PHRASES.split_whitespace() {
        if text.contains(phrase) {
            text = Cow::Owned(text.replace(phrase, " "));
        }
    }
    text
}
