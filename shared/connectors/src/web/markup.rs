//! A tokenizer for the tags and texts of pages and sitemaps. It makes a single pass in time linear
//! in the length, because pages come from strangers and this code does not run in the sandbox of
//! the other parsers.

/// The most attributes of a tag that are kept.
const MAX_ATTRIBUTES: usize = 32;
/// The elements whose content is neither markup nor text for people.
const RAW_ELEMENTS: [&str; 4] = ["script", "style", "noscript", "template"];

/// A token of markup.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum MarkupToken {
    /// The start tag of an element, whose name is in lower case.
    Start(StartTag),
    /// The end tag of an element.
    End(String),
    /// Text between tags, with entities resolved.
    Text(String),
}

/// The start tag of an element.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct StartTag {
    pub(super) name: String,
    attributes: Vec<(String, String)>,
}

impl StartTag {
    /// Returns the value of an attribute.
    pub(super) fn attribute(&self, name: &str) -> Option<&str> {
        self.attributes
            .iter()
            .find(|(known, _)| known == name)
            .map(|(_, value)| value.as_str())
    }
}

/// An iterator over the tokens of markup.
pub(super) struct MarkupTokens<'a> {
    rest: &'a str,
    /// `true` if elements such as `script` have ordinary content, as in XML.
    is_xml: bool,
}

impl<'a> MarkupTokens<'a> {
    pub(super) fn html(text: &'a str) -> Self {
        Self {
            rest: text,
            is_xml: false,
        }
    }

    pub(super) fn xml(text: &'a str) -> Self {
        Self {
            rest: text,
            is_xml: true,
        }
    }

    /// Returns the text up to `delimiter`, and skips it. Returns the rest if there is none.
    fn take_until(&mut self, delimiter: &str) -> &'a str {
        match self.rest.split_once(delimiter) {
            Some((before, after)) => {
                self.rest = after;
                before
            }
            None => std::mem::take(&mut self.rest),
        }
    }

    fn read_text(&mut self) -> MarkupToken {
        // A `<` that begins no tag is text.
        let search_start = usize::from(self.rest.starts_with('<'));
        let end = self.rest[search_start..]
            .find('<')
            .map_or(self.rest.len(), |at| at + search_start);
        let (text, rest) = self.rest.split_at(end);
        self.rest = rest;
        MarkupToken::Text(resolve_entities(text))
    }

    /// Reads a tag up to its `>`, respecting quotes.
    fn read_tag(&mut self) -> MarkupToken {
        let is_end = self.rest.starts_with("</");
        self.rest = &self.rest[if is_end { 2 } else { 1 }..];
        let name = self
            .read_word(|c| c.is_whitespace() || matches!(c, '/' | '>'))
            .to_ascii_lowercase();
        let attributes = self.read_attributes();
        if is_end {
            return MarkupToken::End(name);
        }

        if !self.is_xml && RAW_ELEMENTS.contains(&name.as_str()) {
            self.skip_raw(&name);
        }

        MarkupToken::Start(StartTag { name, attributes })
    }

    fn read_word(&mut self, is_end: impl Fn(char) -> bool) -> &'a str {
        let end = self.rest.find(is_end).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest;
        word
    }

    fn read_attributes(&mut self) -> Vec<(String, String)> {
        let mut attributes = Vec::new();
        loop {
            self.rest = self
                .rest
                .trim_start_matches(|c: char| c.is_whitespace() || c == '/');
            if self.rest.is_empty() {
                return attributes;
            }
            if let Some(rest) = self.rest.strip_prefix('>') {
                self.rest = rest;
                return attributes;
            }

            let first_length = self.rest.chars().next().map_or(0, char::len_utf8);
            // A name has at least one character, whichever that is.
            let end = self.rest[first_length..]
                .find(|c: char| c.is_whitespace() || matches!(c, '/' | '>' | '='));
            let (name, rest) = self
                .rest
                .split_at(end.map_or(self.rest.len(), |at| at + first_length));
            self.rest = rest;

            let value = self.read_value();
            if attributes.len() < MAX_ATTRIBUTES {
                attributes.push((name.to_ascii_lowercase(), resolve_entities(value)));
            }
        }
    }

    fn read_value(&mut self) -> &'a str {
        let Some(rest) = self.rest.trim_start().strip_prefix('=') else {
            return "";
        };
        self.rest = rest.trim_start();
        for quote in ["\"", "'"] {
            if let Some(rest) = self.rest.strip_prefix(quote) {
                self.rest = rest;
                return self.take_until(quote);
            }
        }
        self.read_word(|c| c.is_whitespace() || c == '>')
    }

    /// Skips the content of an element up to its end tag.
    fn skip_raw(&mut self, name: &str) {
        loop {
            self.take_until("</");
            let is_end_tag = self
                .rest
                .get(..name.len())
                .is_some_and(|end_name| end_name.eq_ignore_ascii_case(name));
            if self.rest.is_empty() || is_end_tag {
                self.take_until(">");
                return;
            }
        }
    }
}

impl Iterator for MarkupTokens<'_> {
    type Item = MarkupToken;

    fn next(&mut self) -> Option<MarkupToken> {
        loop {
            if self.rest.is_empty() {
                return None;
            }
            if let Some(rest) = self.rest.strip_prefix("<!--") {
                self.rest = rest;
                self.take_until("-->");
            } else if let Some(rest) = self.rest.strip_prefix("<![CDATA[") {
                self.rest = rest;
                return Some(MarkupToken::Text(self.take_until("]]>").to_owned()));
            } else if self.rest.starts_with("<!") || self.rest.starts_with("<?") {
                self.take_until(">");
            } else {
                let name = self
                    .rest
                    .strip_prefix("</")
                    .or_else(|| self.rest.strip_prefix('<'));
                let is_tag =
                    name.is_some_and(|name| name.starts_with(|c: char| c.is_ascii_alphabetic()));
                return Some(if is_tag {
                    self.read_tag()
                } else {
                    self.read_text()
                });
            }
        }
    }
}

/// The longest entity that is resolved, without `&` and `;`.
const LONGEST_ENTITY: usize = 10;

/// Resolves the entities of XML, a few others, and numeric ones, which suffices for addresses and
/// most titles.
fn resolve_entities(text: &str) -> String {
    let mut parts = text.split('&');
    let mut resolved = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let entity = part
            .split_once(';')
            .filter(|(name, _)| name.len() <= LONGEST_ENTITY);
        match entity.and_then(|(name, rest)| Some((entity_char(name)?, rest))) {
            Some((character, rest)) => {
                resolved.push(character);
                resolved.push_str(rest);
            }
            None => {
                resolved.push('&');
                resolved.push_str(part);
            }
        }
    }

    resolved
}

fn entity_char(name: &str) -> Option<char> {
    let number = |text: &str| match text.strip_prefix(['x', 'X']) {
        Some(digits) => u32::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    };

    match name {
        "amp" => Some('&'),
        "lt" => Some('<'),
        "gt" => Some('>'),
        "quot" => Some('"'),
        "apos" => Some('\''),
        "nbsp" => Some('\u{a0}'),
        "ndash" => Some('–'),
        "mdash" => Some('—'),
        _ => name
            .strip_prefix('#')
            .and_then(number)
            .and_then(char::from_u32),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Formats tokens briefly as `+a`, `-a` and texts.
    fn read(markup: MarkupTokens<'_>) -> Vec<String> {
        let show = |event| match event {
            MarkupToken::Start(tag) => {
                let attributes = tag
                    .attributes
                    .iter()
                    .map(|(name, value)| format!(" {name}={value}"));
                format!("+{}{}", tag.name, attributes.collect::<String>())
            }
            MarkupToken::End(name) => format!("-{name}"),
            MarkupToken::Text(text) => text,
        };
        markup.map(show).collect()
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
            ("a < b <3 </ x", vec!["a ", "< b ", "<3 ", "</ x"]),
            ("<!doctype html><!-- <a> --><?x y?>t", vec!["t"]),
            (
                "<script>if (a < b) '<a href=x>' </scr </SCRIPT >t",
                vec!["+script", "t"],
            ),
            ("<style>a</style", vec!["+style"]),
            ("<!-- never closed <a>", vec![]),
            ("<a href=\"never closed>", vec!["+a href=never closed>"]),
            ("<a =x>", vec!["+a =x="]),
            (
                "&#65;&#x42;&nope;&#x110000;&copyright; & ;",
                vec!["AB&nope;&#x110000;&copyright; & ;"],
            ),
            ("<ä>é&", vec!["<ä>é&"]),
        ] {
            assert_eq!(read(MarkupTokens::html(text)), expected, "{text}");
        }

        assert_eq!(
            read(MarkupTokens::xml("<loc><![CDATA[a&b]]></loc><script>x")),
            ["+loc", "a&b", "-loc", "+script", "x"]
        );
    }

    #[test]
    fn the_time_for_hostile_markup_grows_with_its_length() {
        let length = 400_000;

        for text in [
            "<".repeat(length),
            "<a ".repeat(length),
            format!("<a {}>", "x ".repeat(length)),
            "<script>".repeat(length),
            "<!--".repeat(length),
            "&".repeat(length),
            "<a href=\"".repeat(length),
            format!("<script>{}", "</".repeat(length)),
            "=".repeat(length),
        ] {
            let started = std::time::Instant::now();
            assert!(MarkupTokens::html(&text).count() <= length * 2);
            assert!(started.elapsed().as_secs() < 5, "{}", &text[..20]);
        }
    }
}
