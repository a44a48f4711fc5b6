//! The cost of serializing a page as HTML, which the readability heuristic does with the part it
//! selects.

use dom_query::NodeRef;

/// The most bytes that are searched while a page is serialized, which takes less than half a
/// second.
const MAX_SEARCHED: u64 = 4 << 30;

/// Checks whether serializing a page searches at most [`MAX_SEARCHED`] bytes.
///
/// The serializer searches the rest of a text again after each character that it may have to escape
/// (`&`, and the first byte of U+0080 to U+00BF), so the time for a text full of them grows with
/// the square of its length.
pub(super) fn is_fast_to_serialize(root: &NodeRef) -> bool {
    let mut searched = 0;
    for node in root.descendants_it() {
        if node.is_text() {
            searched += searched_bytes(&node.text());
            continue;
        }
        for attribute in node.attrs() {
            searched += searched_bytes(&attribute.value);
        }
    }

    searched <= MAX_SEARCHED
}

/// Returns the number of bytes that the serializer searches in a text.
fn searched_bytes(text: &str) -> u64 {
    let escape_count = text
        .bytes()
        .filter(|byte| matches!(byte, b'&' | 0xC2))
        .count()
        + 1;
    text.len() as u64 * escape_count as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::html::tree;

    fn is_quick(body: &str) -> bool {
        is_fast_to_serialize(&tree::parse_html(&format!("<!doctype html><body>{body}")).root())
    }

    #[test]
    fn a_page_of_one_text_full_of_escapes_is_not_written() {
        for escape in ["&amp;", "\u{a7}", "\u{a0}"] {
            assert!(is_quick(&escape.repeat(40_000)), "{escape}");
            assert!(!is_quick(&escape.repeat(100_000)), "{escape}");
            assert!(
                !is_quick(&format!("<p title='{}'>x", escape.repeat(100_000))),
                "{escape}"
            );
            assert!(
                is_quick(&format!("<p>{escape}</p>").repeat(10_000)),
                "each in a text of its own: {escape}"
            );
        }
    }

    #[test]
    fn a_long_page_of_prose_is_written() {
        assert!(is_quick(
            &"<p>Salt &amp; pepper cost £2 in May.</p>\n".repeat(5_000)
        ));
        assert!(is_quick(&format!(
            "<pre>{}</pre>",
            "A line of a log with & in it, of eighty characters.\n".repeat(8_000)
        )));
        assert!(is_quick(&format!(
            "<img src='data:image/png;base64,{}'>",
            "iVBORw0KGgo".repeat(100_000)
        )));
    }
}
