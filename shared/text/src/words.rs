//! The words of a text.

use std::iter;

use unicode_segmentation::UnicodeSegmentation;

/// A word of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Word<'a> {
    /// The word as it is written.
    pub text: &'a str,
    /// The index of its first byte in the text.
    pub start: usize,
}

impl Word<'_> {
    /// Returns the index after its last byte.
    pub fn end(&self) -> usize {
        self.start + self.text.len()
    }
}

/// Returns the words of a text in order.
///
/// Words are those of the Unicode segmentation (UAX #29) with at least one letter or digit:
///
/// - An apostrophe, a full stop or a colon between letters does not divide a word, and neither does
///   a full stop or a comma between digits: `don't`, `e.g`, `1,000.5`. A low line never does.
/// - A hyphen divides words, and so does every other mark.
/// - A letter and its accents and vowel signs stay together.
/// - Every character of Chinese, of Thai and of hiragana is a word, while a run of katakana or
///   Hangul is one.
///
/// Terms of an index and ids of memories are made of these words, so what they are must not change.
pub fn find_words(text: &str) -> impl Iterator<Item = Word<'_>> {
    let words = text.unicode_word_indices();
    words.map(|(start, text)| Word { text, start })
}

/// Joins words of `text` that follow one another, wherever `joins(gap, next)` holds for the text
/// between two words and the second of them.
///
/// This is the second step of readers that quote compounds such as `e-mail` as a whole.
pub fn join_words<'a>(
    text: &'a str,
    words: impl Iterator<Item = Word<'a>>,
    joins: impl Fn(&str, &str) -> bool,
) -> impl Iterator<Item = Word<'a>> {
    let mut words = words.peekable();
    iter::from_fn(move || {
        let first = words.next()?;
        let mut end = first.end();
        while let Some(next) = words.next_if(|next| joins(&text[end..next.start], next.text)) {
            end = next.end();
        }

        Some(Word {
            text: &text[first.start..end],
            start: first.start,
        })
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn marks_join_or_divide_words() {
        for (text, expected) in [
            ("I don’t, e.g. 1,000.5.", "I|don’t|e.g|1,000.5"),
            ("a well-known a.b@c.de", "a|well|known|a.b|c.de"),
            ("work:nurse at 9:30", "work:nurse|at|9|30"),
            ("snake_case _so_ _", "snake_case|_so_"),
            ("मैं हिन्दी", "मैं|हिन्दी"),
            ("東京の カメラ 서울에", "東|京|の|カメラ|서울에"),
        ] {
            let words: Vec<_> = find_words(text).map(|word| word.text).collect();
            assert_eq!(words.join("|"), expected, "{text}");
        }
    }

    #[test]
    fn joined_words_are_one() {
        let text = "an e-mail - mother-in-law";
        let words = join_words(text, find_words(text), |gap, _| gap == "-");
        let words: Vec<_> = words.map(|word| (word.start, word.text)).collect();
        assert_eq!(words, [(0, "an"), (3, "e-mail"), (12, "mother-in-law")]);
    }

    proptest! {
        #[test]
        fn words_stand_where_they_say(text in "[a-zäé'_:;,.·-Ж東 0-9\u{301}]{0,40}") {
            let mut end = 0;
            for word in find_words(&text) {
                prop_assert!(word.start >= end);
                prop_assert_eq!(&text[word.start..word.end()], word.text);
                end = word.end();
            }
        }
    }
}
