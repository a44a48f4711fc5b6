//! Detection of HTML, as opposed to text that only contains a `<`.

use crate::markdown::parse_atx_heading;

/// The number of bytes within which a page must declare its encoding, by the HTML standard.
const CHARSET_BYTES: usize = 1024;

/// Block elements. A text with tags stays text unless it contains one of them, closed.
const BLOCKS: &[&str] = &[
    "p",
    "div",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "ul",
    "ol",
    "dl",
    "table",
    "section",
    "article",
    "main",
    "header",
    "footer",
    "nav",
    "aside",
    "blockquote",
    "pre",
    "figure",
    "form",
    "center",
    "details",
];

/// Elements other than blocks with which a fragment may start.
const FRAGMENT_STARTS: &[&str] = &[
    "a", "b", "strong", "i", "em", "u", "span", "font", "img", "br", "hr", "small", "style",
    "script", "meta", "title", "link",
];

/// Checks whether the text is a whole HTML document: it starts with the doctype or one of the outer
/// elements.
pub(crate) fn is_html_document(text: &str) -> bool {
    let start = skip_prolog(text);
    if starts_with_ignoring_case(start, "<!doctype html") {
        return true;
    }
    let name = leading_tag_name(start).unwrap_or_default();
    ["html", "head", "body"]
        .iter()
        .any(|tag| name.eq_ignore_ascii_case(tag))
}

/// Checks whether the text is a fragment of HTML: tags at both ends, and a closed block element
/// between them. Templates of programming languages, and Markdown with a little HTML, are not.
pub(crate) fn is_html_fragment(text: &str) -> bool {
    let start = skip_prolog(text).trim_end();
    let Some(name) = leading_tag_name(start) else {
        return false;
    };
    let name = name.to_ascii_lowercase();
    let starts_block = BLOCKS.contains(&&*name) || FRAGMENT_STARTS.contains(&&*name);
    starts_block
        && start.ends_with('>')
        && closes_a_block(start)
        && !is_template(start)
        && !has_markdown(start)
}

/// Returns the encoding that the head of a page declares.
pub(crate) fn find_charset(bytes: &[u8]) -> Option<&str> {
    let head = &bytes[..bytes.len().min(CHARSET_BYTES)];
    // The labels are ASCII, so the first other byte belongs to the content.
    let head = head.utf8_chunks().next()?.valid();
    let lower = head.to_ascii_lowercase();
    let declaration = lower.find("<meta").or_else(|| lower.find("<?xml"))?;
    let at = ["charset=", "encoding="].iter().find_map(|key| {
        let found = lower[declaration..].find(key)?;
        Some(declaration + found + key.len())
    })?;

    let value = head[at..].trim_start_matches(['"', '\'', ' ']);
    let end = value.find(|character: char| {
        !character.is_ascii_alphanumeric() && !"-_:.".contains(character)
    })?;

    (end > 0).then(|| &value[..end])
}

/// Skips white space, a byte order mark, comments and an XML declaration.
fn skip_prolog(text: &str) -> &str {
    let mut rest = text;
    loop {
        rest = rest.trim_start_matches(|character: char| {
            character.is_whitespace() || character == '\u{FEFF}'
        });
        let close = if rest.starts_with("<!--") {
            "-->"
        } else if rest.starts_with("<?xml ") {
            "?>"
        } else {
            return rest;
        };
        match rest.find(close) {
            Some(end) => rest = &rest[end + close.len()..],
            None => return rest,
        }
    }
}

/// Checks whether a text starts with an ASCII prefix in upper or lower case.
pub(super) fn starts_with_ignoring_case(text: &str, prefix: &str) -> bool {
    text.get(..prefix.len())
        .is_some_and(|start| start.eq_ignore_ascii_case(prefix))
}

/// Returns the name of the tag with which the text starts.
fn leading_tag_name(text: &str) -> Option<&str> {
    let rest = text.strip_prefix('<')?;
    let end = rest.find(|character: char| !character.is_ascii_alphanumeric())?;
    let has_boundary = rest[end..]
        .starts_with(|character: char| character.is_ascii_whitespace() || "/>".contains(character));
    (has_boundary && end > 0).then(|| &rest[..end])
}

fn closes_a_block(text: &str) -> bool {
    text.match_indices("</").any(|(at, _)| {
        let rest = &text[at + 2..];
        let end = rest
            .find(|character: char| !character.is_ascii_alphanumeric())
            .unwrap_or(rest.len());
        rest[end..].trim_start().starts_with('>')
            && BLOCKS.contains(&&*rest[..end].to_ascii_lowercase())
    })
}

/// Checks whether the text is source code that generates HTML: JSX, PHP, ERB, Vue.
fn is_template(text: &str) -> bool {
    ["className=", "={", "<?php", "<%", "v-if=", "v-for=", "=> {"]
        .iter()
        .any(|mark| text.contains(mark))
}

fn has_markdown(text: &str) -> bool {
    text.lines()
        .any(|line| line.starts_with("```") || parse_atx_heading(line).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_are_recognized() {
        for page in [
            "<!DOCTYPE html><html></html>",
            "\u{FEFF}\n<!-- saved -->\n<HTML lang=en><p>x",
            "<?xml version=\"1.0\"?>\n<html xmlns=\"x\"></html>",
            "<body>hi</body>",
        ] {
            assert!(is_html_document(page), "{page}");
        }

        for other in [
            "<htmlx>",
            "<!doctype book>",
            "<header>x</header>",
            "plain",
            "<",
            "",
        ] {
            assert!(!is_html_document(other), "{other}");
        }
    }

    #[test]
    fn fragments_are_told_from_prose_and_code() {
        for fragment in [
            "<p>Hello</p>",
            " <div class=a><h2>T</h2><p>x</div>\n",
            "<b>Hi</b><ul><li>x</ul >",
        ] {
            assert!(is_html_fragment(fragment), "{fragment}");
        }

        for other in [
            "a < b and c > d",
            "if x <p> y",
            "<T extends Foo>(x: T) => x",
            "<b>only inline</b>",
            "<note><to>x</to></note>",
            "<div className=\"a\">{name}</div>",
            "<div align=center></div>\n\n# Project\n<p>x</p>",
            "<p>Hello</p> is how HTML marks a paragraph",
            "<?php echo '<p>x</p>' ?>",
            "#include <map>\nstd::map<int, int> p;",
        ] {
            assert!(!is_html_fragment(other), "{other}");
        }
    }

    #[test]
    fn declared_charset_of_a_page_is_found() {
        assert_eq!(
            find_charset(b"<html><meta charset=\"koi8-r\">"),
            Some("koi8-r")
        );
        let old = b"<META http-equiv=Content-Type content='text/html; charset=windows-1251'>\xCC";
        assert_eq!(find_charset(old), Some("windows-1251"));
        assert_eq!(find_charset(b"a charset=x is a set"), None);
    }
}
