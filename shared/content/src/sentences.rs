//! Sentences and smaller pieces of running text.

use std::ops::Range;

use unicode_segmentation::{GraphemeCursor, UnicodeSegmentation};

/// The most blanks and closing marks after a full stop at which the end of a sentence is searched. The
/// search reads ahead from each of them.
const MAX_MARKS: usize = 16;
/// The full stops of Unicode: they end a sentence unless a small letter follows.
const FULL_STOPS: [char; 4] = ['.', '\u{2024}', '\u{FE52}', '\u{FF0E}'];

/// Returns the sentences of `text[range]` as consecutive byte ranges that cover it completely.
///
/// The boundaries are those of Unicode (UAX #29), which support the punctuation of every script. A
/// single line break inside a paragraph does not end a sentence. A sentence always ends after a full
/// stop with more than 16 blanks and closing marks behind it.
pub(crate) fn split_sentences(text: &str, range: Range<usize>) -> Vec<Range<usize>> {
    // A line break is a boundary to Unicode, and one byte long like the space that replaces it.
    let paragraph = text[range.clone()].replace('\n', " ");
    let mut sentences = Vec::new();
    let mut start = 0;
    for surplus in find_surplus_marks(&paragraph) {
        push_sentences(
            &paragraph,
            start..surplus.start,
            range.start,
            &mut sentences,
        );
        if let Some(last) = sentences.last_mut() {
            last.end = range.start + surplus.end;
        }
        start = surplus.end;
    }

    push_sentences(
        &paragraph,
        start..paragraph.len(),
        range.start,
        &mut sentences,
    );
    sentences
}

/// Adds the sentences of a part of a paragraph that begins at `offset`.
fn push_sentences(
    paragraph: &str,
    part: Range<usize>,
    offset: usize,
    sentences: &mut Vec<Range<usize>>,
) {
    let offset = offset + part.start;
    for (at, sentence) in paragraph[part].split_sentence_bound_indices() {
        sentences.push(offset + at..offset + at + sentence.len());
    }
}

/// Returns the byte ranges of the marks behind the first [`MAX_MARKS`] after a full stop.
fn find_surplus_marks(paragraph: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    for (at, full_stop) in paragraph.match_indices(FULL_STOPS) {
        let after = at + full_stop.len();
        let rest = &paragraph[after..];
        let length = rest.find(|next| !is_mark(next)).unwrap_or(rest.len());
        if let Some((surplus, _)) = rest[..length].char_indices().nth(MAX_MARKS) {
            found.push(after + surplus..after + length);
        }
    }

    found
}

/// Checks whether a character after the end of a sentence still belongs to the sentence: a blank, a
/// closing mark, or an accent on one of them.
fn is_mark(character: char) -> bool {
    if character.is_ascii_alphanumeric() {
        return false;
    }

    let sample = format!("!{character}1");
    let first = sample.split_sentence_bounds().next();
    first.is_some_and(|sentence| sentence.len() == sample.len() - 1)
}

/// Cuts `text[range]` into consecutive pieces of at most `limit` characters: after a line, or else
/// after white space, or else between two characters.
pub(crate) fn split_pieces(text: &str, range: Range<usize>, limit: usize) -> Vec<Range<usize>> {
    let mut pieces = Vec::new();
    let mut start = range.start;
    while start < range.end {
        let rest = &text[start..range.end];
        let Some((window, _)) = rest.char_indices().nth(limit) else {
            pieces.push(start..range.end);
            break;
        };
        let is_torn = matches!(
            GraphemeCursor::new(window, rest.len(), true).is_boundary(rest, 0),
            Ok(false)
        );
        let end = start + find_cut(&rest[..window], is_torn);
        pieces.push(start..end);
        start = end;
    }

    pieces
}

/// Returns the best place to cut a full window. `is_torn` means that its end is inside a grapheme,
/// which readers see as one character.
fn find_cut(window: &str, is_torn: bool) -> usize {
    // An earlier cut would leave many small pieces.
    let earliest = window.floor_char_boundary(window.len() / 3);
    let in_window = |at: usize| earliest + at;
    let tail = &window[earliest..];
    if let Some(newline) = tail.rfind('\n') {
        return in_window(newline + 1);
    }

    let blank = tail
        .char_indices()
        .rfind(|(_, character)| character.is_whitespace());
    if let Some((at, character)) = blank {
        return in_window(at + character.len_utf8());
    }

    match window.grapheme_indices(true).next_back() {
        Some((last, _)) if is_torn && last > earliest => last,
        _ => window.len(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn sentences_of_ordinary_text_are_those_of_unicode(
            words in proptest::collection::vec("[A-Za-z0-9一-龠ि\u{301}]{0,4}[-.!?,;:)\"»” \u{a0}\u{ad}]{0,12}[a-zA-Z1]", 0..20),
        ) {
            let text = words.concat();
            let expected: Vec<&str> = text.split_sentence_bounds().collect();
            prop_assert_eq!(parts(&text), expected);
        }

        #[test]
        fn sentences_cover_any_text(text in "[a-zA-Z1.!) \n\u{301}]{0,80}", marks in 0usize..40) {
            let text = format!("{text}.{}{text}", ") ".repeat(marks));
            prop_assert_eq!(parts(&text).concat(), text);
        }
    }

    fn parts(text: &str) -> Vec<&str> {
        split_sentences(text, 0..text.len())
            .into_iter()
            .map(|range| &text[range])
            .collect()
    }

    #[test]
    fn sentences_of_several_scripts_are_found() {
        assert_eq!(parts("One. Two! Three"), ["One. ", "Two! ", "Three"]);
        assert_eq!(parts("一文。二文！三"), ["一文。", "二文！", "三"]);
        assert_eq!(parts("यह एक है। यह दो है।"), ["यह एक है। ", "यह दो है।"]);
        assert_eq!(
            parts("It costs 6.50\neuro now. Yes"),
            ["It costs 6.50\neuro now. ", "Yes"]
        );
    }

    #[test]
    fn a_sentence_takes_many_blanks_and_closing_marks_with_it() {
        let blanks = " ".repeat(1_000_000);
        let text = format!("Hello.{blanks}1");
        assert_eq!(parts(&text), [&text[..text.len() - 1], "1"]);

        let marks = ")\u{301}".repeat(300_000);
        let text = format!("One. Two.{marks}3 four. Five");
        assert_eq!(
            parts(&text),
            ["One. ", &format!("Two.{marks}"), "3 four. ", "Five"]
        );
    }

    #[test]
    fn pieces_end_at_lines_then_blanks_then_anywhere() {
        let cut = |text: &str| {
            split_pieces(text, 0..text.len(), 8)
                .into_iter()
                .map(|r| text[r].to_owned())
                .collect::<Vec<_>>()
        };

        assert_eq!(cut("line one\nline two"), ["line ", "one\n", "line two"]);
        assert_eq!(cut("abcdefghijkl"), ["abcdefgh", "ijkl"]);
        assert_eq!(cut("日本語日本語日本語日"), ["日本語日本語日本", "語日"]);
        assert_eq!(
            cut("abcdefg\u{1F1E9}\u{1F1EA}!"),
            ["abcdefg", "\u{1F1E9}\u{1F1EA}!"]
        );
    }
}
