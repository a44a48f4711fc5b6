//! The plain text of a sentence in Markdown.

use crate::sentences::is_wide;

/// Returns a sentence in one line, without links, pictures, marks of emphasis and characters that
/// nobody can see.
pub(super) fn to_plain_text(markdown: &str) -> String {
    let unlinked = remove_links(markdown);
    let mut plain = String::with_capacity(unlinked.len());
    let mut gap = Gap::None;
    let mut previous = ' ';
    let mut characters = unlinked.chars().peekable();
    while let Some(mut c) = characters.next() {
        let next = characters.peek().copied().unwrap_or(' ');
        if c.is_whitespace() {
            gap = gap.widened_by(c);
            previous = c;
            continue;
        }

        if c == '\\' && next.is_ascii_punctuation() {
            characters.next();
            c = next;
        } else if is_mark_of_emphasis(previous, c, next) || is_hidden_character(c) {
            previous = c;
            continue;
        }

        if !plain.is_empty() && gap.needs_space(plain.chars().next_back(), c) {
            plain.push(' ');
        }
        plain.push(c);
        (previous, gap) = (c, Gap::None);
    }

    plain
}

/// The white space since the last character.
#[derive(Clone, Copy, PartialEq)]
enum Gap {
    None,
    Blank,
    LineBreak,
}

impl Gap {
    fn widened_by(self, c: char) -> Self {
        if c == '\n' || self == Self::LineBreak {
            Self::LineBreak
        } else {
            Self::Blank
        }
    }

    /// Checks whether the gap is a space. A line break between characters of a script without
    /// spaces is none.
    fn needs_space(self, before: Option<char>, after: char) -> bool {
        match self {
            Self::None => false,
            Self::Blank => true,
            Self::LineBreak => !(before.is_some_and(is_wide) && is_wide(after)),
        }
    }
}

fn is_mark_of_emphasis(previous: char, c: char, next: char) -> bool {
    match c {
        '`' => true,
        '*' => {
            let stands_alone = previous.is_whitespace() && next.is_whitespace();
            let multiplies = previous.is_ascii_digit() && next.is_ascii_digit();
            !stands_alone && !multiplies
        }
        '_' => !(previous.is_alphanumeric() && next.is_alphanumeric()),
        _ => false,
    }
}

/// Checks for a character without a shape, which could hide an order from a person.
pub fn is_hidden_character(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200b}' | '\u{200e}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}')
        || matches!(c, '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}')
}

/// Returns the text with the labels of its links in place of the links, and without pictures and
/// the numbers of notes.
fn remove_links(text: &str) -> String {
    let mut unlinked = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(open) = rest.find('[') {
        let Some(length) = find_closing_bracket(&rest[open..]) else {
            break;
        };
        let (before, label) = (&rest[..open], &rest[open + 1..open + length - 1]);
        let after = &rest[open + length..];
        let target_length = if let Some(target) = after.strip_prefix('(') {
            target.find(')').map(|end| end + 2)
        } else if after.starts_with('[') {
            find_closing_bracket(after)
        } else {
            None
        };

        match target_length {
            Some(_) if before.ends_with('!') => unlinked.push_str(&before[..before.len() - 1]),
            Some(_) => {
                unlinked.push_str(before);
                unlinked.push_str(&remove_links(label));
            }
            None if is_note_number(label) => unlinked.push_str(before),
            None => unlinked.push_str(&rest[..open + length]),
        }
        rest = &after[target_length.unwrap_or(0)..];
    }

    unlinked.push_str(rest);
    unlinked
}

/// Returns the length of the bracketed text with which `text` begins.
fn find_closing_bracket(text: &str) -> Option<usize> {
    let mut depth = 0_usize;
    for (at, c) in text.char_indices() {
        match c {
            '[' => depth += 1,
            ']' if depth == 1 => return Some(at + 1),
            ']' => depth -= 1,
            _ => {}
        }
    }

    None
}

fn is_note_number(label: &str) -> bool {
    let number = label.strip_prefix('^').unwrap_or(label);
    !number.is_empty() && number.len() <= 3 && number.chars().all(|c| c.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_and_links_are_removed_and_words_are_not() {
        for (markdown, plain) in [
            (
                "The **heron** _waits_ at `noon`.",
                "The heron waits at noon.",
            ),
            (
                "See [the map](https://a.example/m.png \"Map\").",
                "See the map.",
            ),
            (
                "A [![badge](b.svg)](c) rest of [rules][1].",
                "A rest of rules.",
            ),
            ("Reeds grow fast[^2] here [12].", "Reeds grow fast here ."),
            (
                "snake_case and 2*3 and 2 * 3",
                "snake_case and 2*3 and 2 * 3",
            ),
            (r"One \* star and [a list\]", r"One * star and [a list]"),
            ("two\n  lines\u{200b}", "two lines"),
            ("一行\n二行", "一行二行"),
            ("[open [[ brackets", "[open [[ brackets"),
            ("", ""),
        ] {
            assert_eq!(to_plain_text(markdown), plain, "{markdown}");
        }
    }
}
