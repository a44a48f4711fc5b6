//! Sentences and smaller pieces of running text.

use std::ops::Range;

use unicode_segmentation::{GraphemeCursor, UnicodeSegmentation};

/// Returns the sentences of `text[range]` as consecutive byte ranges that cover it completely.
///
/// The boundaries are those of Unicode (UAX #29), which support the punctuation of every script. A
/// single line break inside a paragraph does not end a sentence.
pub(crate) fn split_sentences(text: &str, range: Range<usize>) -> Vec<Range<usize>> {
    // A line break is a boundary to Unicode, and one byte long like the space that replaces it.
    let paragraph = text[range.clone()].replace('\n', " ");
    let bounds = paragraph.split_sentence_bound_indices();
    bounds
        .map(|(at, part)| range.start + at..range.start + at + part.len())
        .collect()
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
    use super::*;

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
