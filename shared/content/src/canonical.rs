//! The canonical form of text, which is stored, shown, chunked and measured in characters.

use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfc_quick};

/// Returns `text` in canonical form: NFC, `\n` line ends, no byte order mark, no control character
/// but newline and tab, and no blank lines at either end. White space at the start of the first
/// line stays, because it may be the indentation of code. Applying it twice changes nothing.
pub(crate) fn to_canonical(text: &str) -> String {
    let mut clean = String::with_capacity(text.len());
    let mut previous = '\0';
    for character in text.chars() {
        match character {
            '\n' if previous == '\r' => {}
            '\r' | '\n' | '\u{0B}' | '\u{0C}' | '\u{85}' | '\u{2028}' | '\u{2029}' => {
                clean.push('\n')
            }
            '\t' => clean.push('\t'),
            '\u{FEFF}' => {}
            _ if character.is_control() => {}
            _ => clean.push(character),
        }
        previous = character;
    }

    if is_nfc_quick(clean.chars()) != IsNormalized::Yes {
        clean = clean.nfc().collect();
    }

    trim_blank_lines(clean)
}

/// Removes trailing white space and leading blank lines.
fn trim_blank_lines(mut text: String) -> String {
    text.truncate(text.trim_end().len());
    let first = text.len() - text.trim_start().len();
    if let Some(newline) = text[..first].rfind('\n') {
        text.drain(..=newline);
    }

    text
}

#[cfg(test)]
mod tests {
    use super::to_canonical;

    #[test]
    fn line_ends_become_newlines_and_controls_vanish() {
        assert_eq!(
            to_canonical("\u{FEFF}a\r\nb\rc\u{0C}d\0e\u{7}\tf  \n\n"),
            "a\nb\nc\nde\tf"
        );
    }

    #[test]
    fn letters_are_composed() {
        assert_eq!(to_canonical("cafe\u{301}"), "café");
    }

    #[test]
    fn leading_blank_lines_go_but_indentation_stays() {
        assert_eq!(to_canonical("\n  \n    let x;\n"), "    let x;");
    }

    proptest::proptest! {
        #[test]
        fn is_idempotent(text in "\\PC*|[\\r\\n\\t\\x00-\\x20a\u{301}\u{85}]*") {
            let once = to_canonical(&text);
            proptest::prop_assert_eq!(&to_canonical(&once), &once);
        }
    }
}
