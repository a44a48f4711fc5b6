//! The wording of statements: the sentence on one line, without what says nothing.

use super::Language;
use super::answers::strip_word;
use crate::extract::Passage;

/// The statement as it is kept: without its label, beginning with a capital.
pub(super) fn wording(passage: &Passage<'_>, text: &str) -> String {
    let text = match passage.speaker {
        Some(name)
            if text.starts_with('我')
                && !text.starts_with("我们")
                && text.matches('我').count() == 1 =>
        {
            format!("{name}{}", &text['我'.len_utf8()..])
        }
        _ => text.to_owned(),
    };

    let mut chars = text.chars();
    match chars.next() {
        // Where the capital is two letters, or that of another letter, it would not be the word of the source.
        Some(first)
            if first
                .to_uppercase()
                .flat_map(char::to_lowercase)
                .eq(first.to_lowercase()) =>
        {
            first.to_uppercase().chain(chars).collect()
        }
        _ => text,
    }
}

/// The text without its fillers where the rest, `lower` in lower case, can stand alone as it is, and without its label.
pub(super) fn plain<'t>(
    language: &Language,
    whole: &'t str,
    text: &'t str,
    lower: &str,
) -> &'t str {
    let stands = |words: &str| {
        words
            .split('|')
            .any(|word| strip_word(lower, word).is_some())
    };

    let alone = text.starts_with(|c: char| !c.is_lowercase())
        || stands(language.first)
        || stands(language.articles);
    let text = if alone { text } else { whole };

    match text.split_once([':', '：']) {
        Some((label, rest))
            if language
                .labels
                .split('|')
                .any(|word| word == self::lower(label).trim()) =>
        {
            rest.trim_start()
        }
        _ => text,
    }
}

/// The text on one line, without marks of emphasis.
pub(super) fn tidy(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    line.replace("**", "").replace("__", "").replace('’', "'")
}

/// The text without the words that it begins with, if there is more, and the same in lower case.
pub(super) fn without<'t>(words: &str, text: &'t str) -> (&'t str, String) {
    let mut rest = text;
    loop {
        let small = lower(rest);
        let longest = words
            .split('|')
            .filter(|word| strip_word(&small, word).is_some())
            .max_by_key(|word| word.len());
        let Some(word) = longest else {
            return (rest, small);
        };
        let count = word.chars().count();
        let at = rest
            .char_indices()
            .nth(count)
            .map_or(rest.len(), |(at, _)| at);
        let after = rest[at..]
            .trim_start_matches(|c: char| !c.is_alphanumeric() && !"\"„“«「『(（'$€".contains(c));
        if after.is_empty() {
            return (rest, small);
        }
        rest = after;
    }
}

/// Lower case, character by character, so that counts of characters stay.
pub(super) fn lower(text: &str) -> String {
    text.chars()
        .map(|c| c.to_lowercase().next().unwrap_or(c))
        .collect()
}
