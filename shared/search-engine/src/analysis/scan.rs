//! Splitting of a text into words, identifiers and character pairs.

use std::borrow::Cow;

use text::find_words;
use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfkc_quick};

/// A unit of a text.
pub(super) enum TextUnit<'a> {
    /// A word in lower case, composed, with its accents.
    Word(&'a str),
    /// Two adjacent characters of a script without spaces.
    Gram(&'a str),
    /// One such character; `is_alone` if it has no neighbour.
    Single { text: &'a str, is_alone: bool },
    /// A whole identifier, as written.
    Identifier(&'a str),
}

/// Visits the units of `text` in order.
pub(super) fn scan_text(text: &str, visit: &mut dyn FnMut(TextUnit<'_>)) {
    let text: Cow<'_, str> = if text.is_ascii() || is_nfkc_quick(text.chars()) == IsNormalized::Yes
    {
        Cow::Borrowed(text)
    } else {
        Cow::Owned(text.nfkc().collect())
    };

    let mut rest = text.as_ref();
    while let Some(first) = rest.chars().next() {
        let unspaced = is_unspaced(first);
        let end = rest
            .find(|c| is_unspaced(c) != unspaced)
            .unwrap_or(rest.len());
        let (run, after) = rest.split_at(end);
        if unspaced {
            scan_unspaced(run, visit)
        } else {
            scan_spaced(run, visit)
        }
        rest = after;
    }
}

/// Checks for a script that is written without spaces, or for Hangul, whose particles are attached
/// to words.
fn is_unspaced(c: char) -> bool {
    let c = u32::from(c);
    c >= 0xE01
        && matches!(c,
        0xE01..=0xE3A | 0xE40..=0xE4E | 0xE81..=0xEDF | 0x1000..=0x109F | 0x1100..=0x11FF | 0x1780..=0x17D3
        | 0x3005..=0x3007 | 0x3041..=0x309F | 0x30A1..=0x30FA | 0x30FC..=0x30FF | 0x3400..=0x4DBF
        | 0x4E00..=0x9FFF | 0xAC00..=0xD7A3 | 0xF900..=0xFAFF | 0x20000..=0x3FFFF)
}

fn scan_unspaced(run: &str, visit: &mut dyn FnMut(TextUnit<'_>)) {
    let char_starts: Vec<usize> = run
        .char_indices()
        .map(|(at, _)| at)
        .chain([run.len()])
        .collect();
    let is_alone = char_starts.len() == 2;
    for pair in char_starts.windows(2) {
        visit(TextUnit::Single {
            text: &run[pair[0]..pair[1]],
            is_alone,
        });
    }

    for gram in char_starts.windows(3) {
        visit(TextUnit::Gram(&run[gram[0]..gram[2]]));
    }
}

fn scan_spaced(run: &str, visit: &mut dyn FnMut(TextUnit<'_>)) {
    for token in run.split_whitespace() {
        let token = token.trim_matches(|c: char| !c.is_alphanumeric());
        let identifier = is_identifier(token).then_some(token);
        if let Some(identifier) = identifier {
            visit(TextUnit::Identifier(identifier));
        }
        for word in find_words(token).map(|word| word.text) {
            if identifier != Some(word) && is_identifier(word) {
                visit(TextUnit::Identifier(word));
            }
            scan_word(word, visit);
        }
    }
}

/// Checks whether a token names something exactly: letters with digits, the inner punctuation of
/// codes, paths and addresses, or a long number.
fn is_identifier(token: &str) -> bool {
    let (mut has_letters, mut digit_count, mut has_joiner, mut has_code_char) =
        (false, 0, false, false);
    let mut previous = ' ';
    for c in token.chars() {
        has_letters |= c.is_alphabetic();
        digit_count += usize::from(c.is_ascii_digit());
        has_code_char |= matches!(c, '_' | '/' | '\\' | '@' | '#') || (c == ':' && previous == ':');
        has_code_char |= previous == '.' && c.is_alphanumeric();
        has_joiner |= matches!(c, '-' | ':' | '+' | '.');
        previous = c;
    }
    let is_mixed = has_letters && digit_count > 0;
    token.len() >= 2
        && (has_code_char || is_mixed || (digit_count > 0 && has_joiner) || digit_count >= 5)
}

/// Splits one word of the Unicode segmentation at apostrophes, at inner dots and underscores, and
/// at inner capitals.
fn scan_word(word: &str, visit: &mut dyn FnMut(TextUnit<'_>)) {
    if word.bytes().all(|b| b.is_ascii_lowercase()) {
        return visit(TextUnit::Word(word));
    }
    for part in word
        .split(['.', '_', ':', '·'])
        .filter(|part| !part.is_empty())
    {
        scan_apostrophes(part, visit);
    }
}

fn scan_apostrophes(part: &str, visit: &mut dyn FnMut(TextUnit<'_>)) {
    let Some((left, right)) = part.split_once(['\'', '’']) else {
        return scan_capitals(part, visit);
    };
    let (left_size, right_size) = (left.chars().count(), right.chars().count());
    if right_size > 2 {
        scan_apostrophes(right, visit);
    }
    if left_size > 2 || (right_size <= 2 && left_size > 0) {
        scan_capitals(left, visit);
    }
}

fn scan_capitals(part: &str, visit: &mut dyn FnMut(TextUnit<'_>)) {
    let lower: String = part.replace(',', "").to_lowercase();
    visit(TextUnit::Word(&lower));
    let mut start = 0;
    let mut previous = 'A';
    for (at, c) in part.char_indices() {
        if c.is_uppercase() && previous.is_lowercase() {
            visit(TextUnit::Word(&part[start..at].to_lowercase()));
            start = at;
        }
        previous = c;
    }

    if start > 0 {
        visit(TextUnit::Word(&part[start..].to_lowercase()));
    }
}
