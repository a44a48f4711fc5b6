//! Words of a text, in the forms in which a proposal and its source are compared.

use std::collections::HashSet;
use std::sync::LazyLock;

use unicode_segmentation::UnicodeSegmentation;

/// Words that say nothing by themselves, in the languages that write them often. Denials are among them: they may be put
/// differently, and are compared on their own.
static EMPTY: LazyLock<HashSet<&str>> =
    LazyLock::new(|| include_str!("empty_words.txt").split_whitespace().collect());

/// Single characters of Chinese and Japanese that only join others.
const EMPTY_CHARACTERS: &str = "的了是在有和与也都会将被于我他她它你们個个着把之为為";

/// Numbers in words: as binding as digits. Without `one`, which is mostly a pronoun.
static NUMBERS: LazyLock<HashSet<&str>> = LazyLock::new(|| {
    include_str!("number_words.txt")
        .split_whitespace()
        .collect()
});

/// Endings that change with number, tense and case; the longest that fits goes.
const ENDINGS: &[&str] = &[
    "ations", "ation", "ments", "ement", "ungen", "ings", "ment", "ness", "ies", "ied", "ing",
    "ung", "ern", "est", "ten", "ly", "ed", "en", "er", "es", "em", "et", "te", "e", "s", "t", "y",
    "a", "o",
];

/// How a word is written, which tells how strictly it has to be in the source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// Joins other words.
    Empty,
    /// Holds digits or is a number in words.
    Number,
    /// Has a capital although no sentence begins with it.
    Name,
    /// Begins a sentence with a capital: a name or any other word.
    Initial,
    /// Any other word of a script with capitals.
    Plain,
    /// Of a script that does not set names apart.
    Uncased,
}

#[derive(Debug, Clone)]
pub(super) struct Word<'a> {
    pub(super) text: &'a str,
    /// In lower case, without the ending of a possessive.
    pub(super) lower: String,
    pub(super) form: Form,
    /// Where it begins, in bytes.
    pub(super) at: usize,
}

/// Returns the words of a text in their order.
pub(super) fn words(text: &str) -> Vec<Word<'_>> {
    let mut end = 0;
    let mut words = Vec::new();
    for (at, word) in text.unicode_word_indices() {
        let between = text.get(end..at).unwrap_or_default();
        let begins =
            words.is_empty() || between.contains(['.', '!', '?', ':', '\n', '。', '！', '？']);
        let lower = singular(&word.to_lowercase());
        words.push(Word {
            text: word,
            form: form(word, &lower, begins),
            lower,
            at,
        });
        end = at + word.len();
    }

    words
}

/// Returns the roots of the words of a text that say something.
pub(super) fn roots(text: &str) -> HashSet<String> {
    let said = words(text)
        .into_iter()
        .filter(|word| word.form != Form::Empty);
    said.map(|word| root(&word.lower)).collect()
}

fn form(word: &str, lower: &str, begins: bool) -> Form {
    let first = word.chars().next().unwrap_or_default();
    let capital = first.is_uppercase() && !begins && word != "I";

    if word.chars().any(char::is_numeric) || NUMBERS.contains(lower) {
        Form::Number
    } else if capital {
        // Even where it looks like a word that joins, as May and Will do.
        Form::Name
    } else if EMPTY.contains(lower) || EMPTY_CHARACTERS.contains(first) || is_hiragana(word) {
        Form::Empty
    } else if word.chars().any(char::is_uppercase) {
        if begins { Form::Initial } else { Form::Name }
    } else if word.chars().any(char::is_lowercase) {
        Form::Plain
    } else {
        Form::Uncased
    }
}

/// Hiragana writes what joins and inflects.
fn is_hiragana(word: &str) -> bool {
    word.chars().all(|c| ('\u{3041}'..='\u{309f}').contains(&c))
}

fn singular(lower: &str) -> String {
    let bare = lower
        .strip_suffix("'s")
        .or_else(|| lower.strip_suffix("’s"))
        .unwrap_or(lower);
    bare.trim_matches(['\'', '’']).to_owned()
}

/// Returns the part of a word in lower case that stays when it is inflected; rough, and the same for all languages.
pub(super) fn root(lower: &str) -> String {
    if lower.chars().any(char::is_numeric) {
        return lower.to_owned();
    }

    if lower
        .chars()
        .all(|c| ('\u{ac00}'..='\u{d7a3}').contains(&c))
    {
        // Particles follow the stem without a space.
        return lower.chars().take(2).collect();
    }

    if !lower.chars().any(|c| c.is_lowercase()) {
        let cut = lower
            .char_indices()
            .nth_back(0)
            .filter(|_| lower.chars().count() > 3);
        return lower
            .get(..cut.map_or(lower.len(), |(at, _)| at))
            .unwrap_or(lower)
            .to_owned();
    }

    let stem = ENDINGS
        .iter()
        .find_map(|ending| lower.strip_suffix(ending).filter(|stem| is_long(stem)));
    let mut stem = stem.unwrap_or(lower).to_owned();
    let mut backwards = stem.chars().rev();
    let (last, other) = (backwards.next(), backwards.next());
    if last == other
        && last.is_some_and(|last| last.is_ascii_alphabetic())
        && stem.chars().count() > 3
    {
        stem.pop();
    }

    stem
}

fn is_long(stem: &str) -> bool {
    stem.chars().count() >= 3
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inflections_share_a_root() {
        for group in [
            &["plan", "plans", "planned", "planning"][..],
            &["move", "moved", "moving", "moves"],
            &["study", "studies", "studied"],
            &["wohne", "wohnt", "wohnen"],
            &["서울에", "서울은"],
            &["रहता", "रहती"],
        ] {
            let roots: HashSet<_> = group.iter().map(|word| root(word)).collect();
            assert_eq!(roots.len(), 1, "{roots:?}");
        }
        assert_ne!(root("tea"), root("team"));
    }

    #[test]
    fn forms_tell_names_and_numbers_from_words() {
        let forms: Vec<_> = words("Tea is what Kira's 3 cats like. 东京 two")
            .into_iter()
            .map(|w| w.form)
            .collect();
        use Form::{Empty, Initial, Name, Number, Plain, Uncased};
        let expected = [
            Initial, Empty, Plain, Name, Number, Plain, Plain, Uncased, Uncased, Number,
        ];
        assert_eq!(forms, expected);
    }
}
