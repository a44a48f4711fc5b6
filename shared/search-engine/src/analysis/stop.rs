//! Stop words: words without a meaning of their own, which are left out of queries.

use std::borrow::Cow;
use std::sync::LazyLock;

use hashbrown::HashMap;
use text::Language;
use text::file::LanguageFileError;

use super::fold::fold_accents;
use super::latin_stemmer::StemmerSet;
use super::scan::{TextUnit, scan_text};

static PHRASES: &str = include_str!("stop_phrases.txt");

/// The number of languages.
const LANGUAGE_COUNT: usize = Language::ALL.len();

/// The languages that do not share their script with another one, as bits. Their stop words always
/// count.
const BY_SCRIPT: u32 =
    bit_of(Language::Russian) | bit_of(Language::Hindi) | bit_of(Language::Arabic);

const fn bit_of(language: Language) -> u32 {
    1 << language as u32
}

/// The languages of each stop word, as bits.
type StopWordTable = HashMap<String, u32>;

/// Returns the stop words of all languages. The files are read once.
///
/// They are a part of the program, and a test loads them, so there is no fault to report here.
fn stop_word_table() -> &'static StopWordTable {
    static TABLE: LazyLock<StopWordTable> = LazyLock::new(|| load_stop_words().unwrap_or_default());
    &TABLE
}

fn load_stop_words() -> Result<StopWordTable, LanguageFileError> {
    let mut table = StopWordTable::new();
    for language in Language::ALL {
        for word in language.stop_words()? {
            let mut folded = String::new();
            fold_accents(word, &mut folded);
            *table.entry(folded).or_insert(0) |= bit_of(*language);
        }
    }

    Ok(table)
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
fn count_votes(text: &str) -> [u32; LANGUAGE_COUNT] {
    let mut votes = [0; LANGUAGE_COUNT];
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
pub(super) fn stop_languages_of(query: &str, used: StemmerSet) -> u32 {
    let votes = count_votes(query);
    let strongest_languages = |allowed: u32| {
        let allowed = |slot: &usize| allowed & (1 << slot) != 0;
        let max_votes = (0..LANGUAGE_COUNT)
            .filter(allowed)
            .map(|slot| votes[slot])
            .max()
            .unwrap_or(0);
        (0..LANGUAGE_COUNT)
            .filter(allowed)
            .filter(|&slot| max_votes > 0 && votes[slot] == max_votes)
            .map(|slot| 1u32 << slot)
            .sum()
    };

    let used = used
        .iter()
        .fold(0, |set, stemmer| set | bit_of(stemmer.language()));
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

/// Characters of Chinese that are mostly grammar: pronouns, particles, prepositions and auxiliaries.
const GRAMMATICAL_CHARACTERS: &str =
    "我你他她它们們您的了是在有和跟与對对被把不没沒也都就很会會要去到个個这這那";

/// Checks whether one of two adjacent characters is mostly grammar. In Japanese, such a pair crosses
/// the border of a word and its particle: Hiragana beside Kanji or Katakana.
pub(super) fn is_weak_gram(gram: &str) -> bool {
    let is_hiragana = |c: char| ('\u{3041}'..='\u{309F}').contains(&c);
    let hiragana_count = gram.chars().filter(|&c| is_hiragana(c)).count();

    hiragana_count == 1 || gram.chars().any(|c| GRAMMATICAL_CHARACTERS.contains(c))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_languages_are_loaded() {
        let table = load_stop_words().unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(table.get("nicht"), Some(&bit_of(Language::German)));
        assert_eq!(table.get("что"), Some(&bit_of(Language::Russian)));
    }
}
