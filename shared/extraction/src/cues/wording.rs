//! The wording of statements: the sentence on one line, without words that carry no
//! information.

use super::LanguageRules;
use super::answers::strip_word;
use crate::Passage;

/// Returns the text of a statement as it is kept: it begins with a capital, and in Chinese the
/// speaker's name replaces a single "我".
pub(super) fn format_statement(passage: &Passage<'_>, text: &str) -> String {
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
        // Capitalize only if the capital has the same lower case. Otherwise the word would no
        // longer be that of the source.
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

/// Returns the text without its fillers, if the rest can stand alone, and without its label.
/// `lower` is the rest in lower case.
pub(super) fn strip_fillers<'t>(
    language: &LanguageRules,
    line: &'t str,
    text: &'t str,
    lower: &str,
) -> &'t str {
    let starts_with_any =
        |words: &[&'static str]| words.iter().any(|word| strip_word(lower, word).is_some());

    let is_complete = text.starts_with(|c: char| !c.is_lowercase())
        || starts_with_any(&language.first_person)
        || starts_with_any(&language.articles);
    let text = if is_complete { text } else { line };

    match text.split_once([':', '：']) {
        Some((label, rest))
            if language
                .labels
                .iter()
                .any(|word| *word == lowercase_chars(label).trim()) =>
        {
            rest.trim_start()
        }
        _ => text,
    }
}

/// Returns the text on one line, without marks of emphasis.
pub(super) fn normalize_line(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    line.replace("**", "").replace("__", "").replace('’', "'")
}

/// Returns the text without the words with which it begins, if any text remains, and the same in
/// lower case.
pub(super) fn strip_leading_words<'t>(words: &[&'static str], text: &'t str) -> (&'t str, String) {
    let mut rest = text;
    loop {
        let lower = lowercase_chars(rest);
        let longest = words
            .iter()
            .filter(|word| strip_word(&lower, word).is_some())
            .max_by_key(|word| word.len());
        let Some(word) = longest else {
            return (rest, lower);
        };

        let count = word.chars().count();
        let at = rest
            .char_indices()
            .nth(count)
            .map_or(rest.len(), |(at, _)| at);
        let after = rest[at..]
            .trim_start_matches(|c: char| !c.is_alphanumeric() && !"\"„“«「『(（'$€".contains(c));
        if after.is_empty() {
            return (rest, lower);
        }

        rest = after;
    }
}

/// Converts to lower case character by character, so that the number of characters stays the same.
pub(super) fn lowercase_chars(text: &str) -> String {
    text.chars()
        .map(|c| c.to_lowercase().next().unwrap_or(c))
        .collect()
}
