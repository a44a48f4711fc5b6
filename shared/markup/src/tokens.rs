//! The tags and texts of pages and XML files, without a tree.

use std::cell::{Cell, RefCell};

use html5ever::tokenizer::states::RawKind;
use html5ever::tokenizer::{Tag, TagKind, Token, TokenSink, TokenSinkResult};

use crate::tokenizer::tokenize;

/// The elements whose content is neither markup nor text for people.
const HIDDEN_ELEMENTS: [&str; 4] = ["script", "style", "noscript", "template"];

/// A language of markup.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MarkupKind {
    /// A page, in which scripts, styles and templates are left out.
    Html,
    /// An XML file, in which all elements are alike and may have character sections. It need not be
    /// well-formed.
    Xml,
}

/// A token of markup.
#[derive(Debug)]
pub enum MarkupToken {
    /// The start tag of an element.
    Start(StartTag),
    /// The end tag of an element, with its name in lower case.
    End(String),
    /// The text between two tags or comments, with character references resolved.
    Text(String),
}

/// The start tag of an element.
#[derive(Debug)]
pub struct StartTag(Tag);

impl StartTag {
    /// Returns the name in lower case.
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// Returns the value of an attribute, whose name is in lower case.
    pub fn attribute(&self, name: &str) -> Option<&str> {
        let mut attributes = self.0.attrs.iter();
        let attribute = attributes.find(|attribute| &*attribute.name.local == name)?;
        Some(&attribute.value)
    }
}

/// Calls `take_token` with each token of a text.
pub fn read_tokens(text: &str, kind: MarkupKind, mut take_token: impl FnMut(MarkupToken)) {
    tokenize(text, FlatSink::new(kind, &mut take_token));
}

/// A sink that joins the characters between two tags to one text.
struct FlatSink<'a> {
    kind: MarkupKind,
    text: RefCell<String>,
    /// Set while the content of an element is left out.
    is_hidden: Cell<bool>,
    take_token: RefCell<&'a mut dyn FnMut(MarkupToken)>,
}

impl<'a> FlatSink<'a> {
    fn new(kind: MarkupKind, take_token: &'a mut dyn FnMut(MarkupToken)) -> Self {
        Self {
            kind,
            text: RefCell::default(),
            is_hidden: Cell::default(),
            take_token: RefCell::new(take_token),
        }
    }

    fn emit(&self, token: MarkupToken) {
        (self.take_token.borrow_mut())(token);
    }

    fn flush_text(&self) {
        let text = self.text.take();
        if !text.is_empty() {
            self.emit(MarkupToken::Text(text));
        }
    }

    fn process_tag(&self, tag: Tag) -> TokenSinkResult<()> {
        if self.is_hidden.take() {
            // The first tag after raw text is the end tag of its element.
            return TokenSinkResult::Continue;
        }

        let is_hidden = self.kind == MarkupKind::Html
            && tag.kind == TagKind::StartTag
            && HIDDEN_ELEMENTS.contains(&&*tag.name);
        let raw_kind = match &*tag.name {
            "script" => RawKind::ScriptData,
            _ => RawKind::Rawtext,
        };

        self.is_hidden.set(is_hidden);
        self.emit(match tag.kind {
            TagKind::StartTag => MarkupToken::Start(StartTag(tag)),
            TagKind::EndTag => MarkupToken::End(tag.name.to_string()),
        });

        if is_hidden {
            TokenSinkResult::RawData(raw_kind)
        } else {
            TokenSinkResult::Continue
        }
    }
}

impl TokenSink for FlatSink<'_> {
    type Handle = ();

    fn process_token(&self, token: Token, _: u64) -> TokenSinkResult<()> {
        match token {
            Token::CharacterTokens(characters) => {
                if !self.is_hidden.get() {
                    self.text.borrow_mut().push_str(&characters);
                }
            }
            Token::NullCharacterToken | Token::ParseError(_) => {}
            Token::TagToken(tag) => {
                self.flush_text();
                return self.process_tag(tag);
            }
            Token::CommentToken(_) | Token::DoctypeToken(_) | Token::EOFToken => self.flush_text(),
        }
        TokenSinkResult::Continue
    }

    fn adjusted_current_node_present_but_not_in_html_namespace(&self) -> bool {
        // This is the condition for character sections.
        self.kind == MarkupKind::Xml
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use MarkupKind::{Html, Xml};

    /// Formats tokens briefly as `+a`, `-a` and texts.
    fn format_tokens(text: &str, kind: MarkupKind) -> Vec<String> {
        let mut lines = Vec::new();
        read_tokens(text, kind, |token| {
            lines.push(match token {
                MarkupToken::Start(tag) => {
                    let attributes =
                        tag.0.attrs.iter().map(|attribute| {
                            format!(" {}={}", attribute.name.local, attribute.value)
                        });
                    format!("+{}{}", tag.name(), attributes.collect::<String>())
                }
                MarkupToken::End(name) => format!("-{name}"),
                MarkupToken::Text(text) => text,
            });
        });
        lines
    }

    fn count_tokens(text: &str, kind: MarkupKind) -> usize {
        let mut count = 0;
        read_tokens(text, kind, |_| count += 1);
        count
    }

    #[test]
    fn markup_is_tags_and_texts() {
        for (text, expected) in [
            ("", vec![]),
            (
                "plain &amp; <b>bold</B >",
                vec!["plain & ", "+b", "bold", "-b"],
            ),
            (
                "<A HREF='x>y' rel=\"no follow\" data-x=1 y>t",
                vec!["+a href=x>y rel=no follow data-x=1 y=", "t"],
            ),
            ("<br/><a href=/b/ >", vec!["+br", "+a href=/b/"]),
            ("a < b <3 </ x>y", vec!["a < b <3 ", "y"]),
            ("<!doctype html><!-- <a> --><?x y?>t", vec!["t"]),
            (
                "a<!-- x -->b<!-->c<!--->d<!-- --!>e<!-- -->",
                vec!["a", "b", "c", "d", "e"],
            ),
            (
                "<script>if (a < b) '<a href=x>' </scr </SCRIPT >t",
                vec!["+script", "t"],
            ),
            (
                "<template><a></template>t<noscript><a></noscript>",
                vec!["+template", "t", "+noscript"],
            ),
            ("<style>a</style", vec!["+style"]),
            (
                "<title>a<b>c</title>",
                vec!["+title", "a", "+b", "c", "-title"],
            ),
            ("<![CDATA[a]]>b", vec!["b"]),
            ("<!-- never closed <a>", vec![]),
            ("<a href=\"never closed>", vec![]),
            ("<a =x>", vec!["+a =x="]),
            (
                "&#65;&#x42;&nope;&#x110000;&copy; &eacute;t&eacute; &rsquo; & ;",
                vec!["AB&nope;\u{fffd}© été ’ & ;"],
            ),
            (
                "<a href='?x=1&copy=2&amp;y=3'>",
                vec!["+a href=?x=1&copy=2&y=3"],
            ),
            ("<ä>é&", vec!["<ä>é&"]),
        ] {
            assert_eq!(format_tokens(text, Html), expected, "{text}");
        }

        assert_eq!(
            format_tokens("<x:Loc a=1><![CDATA[a&b<c>]]></loc><script>x<y/>", Xml),
            ["+x:loc a=1", "a&b<c>", "-loc", "+script", "x", "+y"]
        );
    }

    #[test]
    fn a_tag_keeps_its_first_attributes() {
        let attributes: String = (0..1000).map(|n| format!(" a{n}=v")).collect();
        let text = format!("<p{attributes}>text</p>");
        let mut count = 0;
        read_tokens(&text, Html, |token| {
            if let MarkupToken::Start(tag) = token {
                count = tag.0.attrs.len();
                assert_eq!(tag.attribute("a0"), Some("v"));
                assert_eq!(tag.attribute("a999"), None);
            }
        });
        assert_eq!(count, crate::MAX_ATTRIBUTES);
    }

    #[test]
    fn the_time_for_hostile_markup_grows_with_its_length() {
        let length = 100_000;
        let attributes: String = (0..length).map(|n| format!("a{n} ")).collect();

        for text in [
            "<".repeat(length),
            "<a ".repeat(length),
            format!("<a {}>", "x ".repeat(length)),
            format!("<a {attributes}>"),
            "<script>".repeat(length),
            "<script></script>".repeat(length),
            "<!--".repeat(length),
            "<!---->".repeat(length),
            "<!-- > -->".repeat(length),
            "<![CDATA[".repeat(length),
            "<?".repeat(length),
            "&".repeat(length),
            "&am".repeat(length),
            "<a href=\"".repeat(length),
            format!("<script>{}", "</".repeat(length)),
            format!("<script>{}", "<!--".repeat(length)),
            "=".repeat(length),
        ] {
            for kind in [Html, Xml] {
                let started = std::time::Instant::now();
                assert!(count_tokens(&text, kind) <= length * 2);
                let elapsed = started.elapsed();
                assert!(elapsed.as_secs() < 10, "{} {elapsed:?}", &text[..20]);
            }
        }
    }
}
