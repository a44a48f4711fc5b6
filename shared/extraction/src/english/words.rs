//! Division of a sentence into words with their positions.

use std::ops::Range;

use text::{find_words, join_words};

use crate::word_list::WordList;

/// A word or mark of a sentence.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Word<'a> {
    /// The word as it is written.
    pub(crate) raw: &'a str,
    /// The word in lower case. Endings of contractions have one form, whatever the apostrophe:
    /// `'s`, `n't`.
    pub(crate) lower: &'a str,
    /// The index of the first byte in the sentence.
    pub(crate) start: usize,
    /// The index after the last byte.
    pub(crate) end: usize,
    /// True if it is punctuation.
    pub(crate) is_punctuation: bool,
}

impl Word<'_> {
    /// Checks whether it begins with a capital letter.
    pub(crate) fn is_capitalized(&self) -> bool {
        self.raw.chars().next().is_some_and(char::is_uppercase)
    }

    /// Checks whether it begins with a digit.
    pub(crate) fn is_number(&self) -> bool {
        self.raw
            .bytes()
            .next()
            .is_some_and(|byte| byte.is_ascii_digit())
    }
}

/// A range of a sentence's words.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Clause<'w> {
    /// The words.
    pub(crate) words: &'w [Word<'w>],
}

impl<'w> Clause<'w> {
    pub(crate) fn len(self) -> usize {
        self.words.len()
    }

    /// Returns the word in lower case, or an empty string past the end.
    pub(crate) fn lower_at(self, at: usize) -> &'w str {
        self.words.get(at).map_or("", |word| word.lower)
    }

    pub(crate) fn from(self, at: usize) -> Self {
        Self {
            words: self.words.get(at..).unwrap_or_default(),
        }
    }

    pub(crate) fn until_index(self, end: usize) -> Self {
        Self {
            words: &self.words[..end.min(self.words.len())],
        }
    }

    /// Returns the index after `phrase`, words separated by spaces, if it stands at `at`.
    pub(crate) fn match_phrase(self, at: usize, phrase: &str) -> Option<usize> {
        // A cheap test first: most phrases differ from most words in their first letter.
        if self.lower_at(at).bytes().next() != phrase.bytes().next() {
            return None;
        }
        let mut index = at;
        for expected_word in phrase.split(' ') {
            if self.lower_at(index) != expected_word {
                return None;
            }
            index += 1;
        }
        Some(index)
    }

    /// Returns the index after the first of `phrases` that stands at `at`.
    pub(crate) fn match_any(self, at: usize, phrases: &[&str]) -> Option<usize> {
        phrases
            .iter()
            .find_map(|phrase| self.match_phrase(at, phrase))
    }

    /// Returns the index at which `phrase` first stands, and the index after it.
    pub(crate) fn find_phrase(self, phrase: &str) -> Option<(usize, usize)> {
        (0..self.len()).find_map(|at| self.match_phrase(at, phrase).map(|end| (at, end)))
    }

    /// Returns the first index at which one of `phrases` stands, and the index after it.
    pub(crate) fn find_any(self, phrases: &[&str]) -> Option<(usize, usize)> {
        (0..self.len()).find_map(|at| self.match_any(at, phrases).map(|end| (at, end)))
    }

    /// Checks whether one of `words` occurs.
    pub(crate) fn contains_any(self, words: &[&str]) -> bool {
        self.words.iter().any(|word| words.contains(&word.lower))
    }

    /// Checks whether a word of a list occurs.
    pub(crate) fn has_word_in(self, list: &WordList) -> bool {
        self.words.iter().any(|word| list.has(word.lower))
    }

    /// Returns the first index from `at` at which one of `words` stands, or the end.
    pub(crate) fn index_of_any(self, at: usize, words: &[&str]) -> usize {
        (at..self.len())
            .find(|&index| words.contains(&self.lower_at(index)))
            .unwrap_or(self.len())
    }
}

/// Checks whether a mark, which a word of the Unicode segmentation may contain, is a mark of its own
/// in a clause. A colon ends a label, and invisible controls of the text are no part of a word.
fn is_dividing_mark(c: char) -> bool {
    matches!(
        c,
        ':' | ';'
            | '·'
            | '\u{ad}'
            | '\u{200b}'..='\u{200f}'
            | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{feff}'
    )
}

/// Divides `text` into words and marks. `lower` is the text in ASCII lower case, so that positions
/// agree.
///
/// The words are those of [`find_words`], changed in three ways that a clause needs. Words with a
/// hyphen or another inner mark are one, because an answer such as `well-known` or `a.b@c.de` is
/// quoted as a whole. Colons, invisible controls and the low lines of emphasis are marks. The ending
/// of a contraction is a word of its own.
pub(crate) fn split_words<'a>(text: &'a str, lower: &'a str) -> Vec<Word<'a>> {
    let mut words = Vec::with_capacity(text.len() / 5 + 2);
    let mut end = 0;
    let parts = find_words(text).flat_map(split_at_dividing_marks);
    for word in join_words(text, parts, joins_words) {
        push_marks(&mut words, text, end..word.start);
        push_word(&mut words, text, lower, word.start, word.end());
        end = word.end();
    }
    push_marks(&mut words, text, end..text.len());

    words
}

/// Splits a word at the marks that a clause treats as such.
fn split_at_dividing_marks(word: text::Word<'_>) -> impl Iterator<Item = text::Word<'_>> {
    let mut next_start = word.start;
    let parts = word.text.split_inclusive(is_dividing_mark);
    parts.filter_map(move |part| {
        let start = next_start;
        next_start += part.len();

        let bare = part.trim_start_matches('_');
        let text = bare.trim_end_matches(|c| c == '_' || is_dividing_mark(c));
        let start = start + part.len() - bare.len();
        (!text.is_empty()).then_some(text::Word { text, start })
    })
}

/// Checks whether the text between two words joins them: nothing, an apostrophe, a hyphen, or a mark
/// within a number or an address.
fn joins_words(gap: &str, next: &str) -> bool {
    match gap {
        "" | "'" | "’" | "-" | "." | "@" | "_" | "/" | "&" => true,
        "," | ":" => next.starts_with(|c: char| c.is_ascii_digit()),
        _ => false,
    }
}

/// Adds the marks of a part of the text without words. A full stop that belongs to a title (`Mrs.`)
/// is left out.
fn push_marks<'a>(words: &mut Vec<Word<'a>>, text: &'a str, range: Range<usize>) {
    for (at, mark) in text[range.clone()].char_indices() {
        let start = range.start + at;
        let ends_title = mark == '.'
            && words
                .last()
                .is_some_and(|word| word.end == start && is_title(word.lower));
        if !mark.is_whitespace() && !ends_title {
            let end = start + mark.len_utf8();
            words.push(mark_word(&text[start..end], start, end));
        }
    }
}

/// Checks whether a full stop after the word belongs to it: `Mrs.`.
fn is_title(lower: &str) -> bool {
    matches!(lower, "mr" | "mrs" | "ms" | "mx" | "dr" | "prof" | "st")
}

fn mark_word<'a>(raw: &'a str, start: usize, end: usize) -> Word<'a> {
    let lower = match raw {
        "“" | "”" | "«" | "»" => "\"",
        "’" | "‘" => "'",
        "–" => "—",
        _ => raw,
    };

    Word {
        raw,
        lower,
        start,
        end,
        is_punctuation: true,
    }
}

/// Adds a word. The ending of a contraction becomes a word of its own.
fn push_word<'a>(
    words: &mut Vec<Word<'a>>,
    text: &'a str,
    lower: &'a str,
    start: usize,
    end: usize,
) {
    let contraction =
        split_contraction(&lower[start..end]).map(|(at, word_lower)| (start + at, word_lower));
    let contraction_start = contraction.map_or(end, |(at, _)| at);
    let make_word = |from: usize, to: usize, word_lower: &'a str| Word {
        raw: &text[from..to],
        lower: word_lower,
        start: from,
        end: to,
        is_punctuation: false,
    };

    if contraction_start > start {
        let word_lower = match (&lower[start..contraction_start], contraction) {
            ("wo", Some((_, "n't"))) => "will",
            ("ca", Some((_, "n't"))) => "can",
            (word_lower, _) => word_lower,
        };
        words.push(make_word(start, contraction_start, word_lower));
    }

    if let Some((at, word_lower)) = contraction {
        words.push(make_word(at, end, word_lower));
    }
}

/// Returns the position in a lower-case word at which the ending of a contraction begins, and the
/// plain form of the ending.
fn split_contraction(lower: &str) -> Option<(usize, &'static str)> {
    // Many people leave the apostrophe out.
    match lower {
        "im" => return Some((1, "'m")),
        "ive" => return Some((1, "'ve")),
        "dont" | "isnt" | "cant" | "wont" => return Some((2, "n't")),
        "didnt" | "wasnt" => return Some((3, "n't")),
        "doesnt" => return Some((4, "n't")),
        _ => {}
    }

    let apostrophe = lower.rfind(['\'', '’'])?;
    let after = lower[apostrophe..].trim_start_matches(['\'', '’']);
    let ending = match after {
        "s" => "'s",
        "m" => "'m",
        "re" => "'re",
        "ve" => "'ve",
        "ll" => "'ll",
        "d" => "'d",
        "t" if lower[..apostrophe].ends_with('n') => return Some((apostrophe - 1, "n't")),
        _ => return None,
    };

    Some((apostrophe, ending))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_keep_their_places_and_contractions_come_apart() {
        let cases = [
            ("I don’t live here.", "i do n't live here ."),
            ("Ann's 19°C, at 9:30", "ann 's 19 ° c , at 9:30"),
            ("won't can't we'll", "will n't can n't we 'll"),
            ("re-run a.b@c.de – ok", "re-run a.b@c.de — ok"),
            (
                "job:nurse, 1/2 _now_; R&D",
                "job : nurse , 1/2 _ now _ ; r&d",
            ),
            ("Dr. Ray's e-mail.", "dr ray 's e-mail ."),
            ("moved\u{202e} to", "moved \u{202e} to"),
        ];
        for (text, expected) in cases {
            let lower = text.to_ascii_lowercase();
            let words = split_words(text, &lower);
            assert_eq!(
                words
                    .iter()
                    .map(|word| word.lower)
                    .collect::<Vec<_>>()
                    .join(" "),
                expected
            );
            assert!(
                words
                    .iter()
                    .all(|word| &text[word.start..word.end] == word.raw),
                "{text}"
            );
        }
    }
}
