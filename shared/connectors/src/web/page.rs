//! The parts of a page that a crawler needs: its links, its title, and a digest of its visible
//! text.

use encoding_rs::{Encoding, UTF_8};
use markup::{MarkupKind, MarkupToken, StartTag, read_tokens};
use sha2::{Digest, Sha256};

/// The most bytes of a page that the crawler reads. Reading it for search has other limits.
const MAX_BYTES: usize = 4 * 1024 * 1024;
/// The most links of a page that are followed.
const MAX_LINKS: usize = 5_000;
/// The most characters of a title.
const MAX_TITLE_CHARS: usize = 200;
/// The directives that have a value after a colon.
const VALUE_DIRECTIVES: [&str; 4] = [
    "max-snippet",
    "max-image-preview",
    "max-video-preview",
    "unavailable_after",
];
/// The number of bytes at the beginning in which a page may name its encoding.
const ENCODING_SEARCH_BYTES: usize = 1024;

/// A page as a crawler sees it.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct PageSummary {
    /// The content of `<title>`, or the first heading if there is none.
    pub(super) title: Option<String>,
    /// The base of relative addresses, if the page states one.
    pub(super) base: Option<String>,
    /// The canonical address, if the page states one.
    pub(super) canonical: Option<String>,
    /// The links, except for those marked `nofollow`.
    pub(super) links: Vec<String>,
    /// `true` if the page asks not to be indexed.
    pub(super) no_index: bool,
    /// `true` if the page asks that none of its links are followed.
    pub(super) no_follow: bool,
    /// The SHA-256 digest of the text in hexadecimal, or `None` if there is no text. Markup is left
    /// out because tokens in forms and scripts differ with each request.
    pub(super) digest: Option<String>,
}

/// Reads a page. `media_type` is the media type from the server.
pub(super) fn read_page(bytes: &[u8], media_type: &str) -> PageSummary {
    let bytes = &bytes[..bytes.len().min(MAX_BYTES)];
    let text = encoding_of(bytes, media_type).decode(bytes).0;
    let mut reader = PageReader::default();
    read_tokens(&text, MarkupKind::Html, |token| reader.take_token(token));
    reader.finish_summary()
}

/// Returns the encoding that the server or the page names, or UTF-8.
fn encoding_of(bytes: &[u8], media_type: &str) -> &'static Encoding {
    let find_encoding = |text: &str| {
        let text = text.to_ascii_lowercase();
        let label = text
            .split_once("charset=")?
            .1
            .trim_start_matches(['"', '\'']);
        let end = label.find(|c: char| !(c.is_ascii_alphanumeric() || "-_:".contains(c)));
        Encoding::for_label(&label.as_bytes()[..end.unwrap_or(label.len())])
    };
    let head = String::from_utf8_lossy(&bytes[..bytes.len().min(ENCODING_SEARCH_BYTES)]);
    find_encoding(media_type)
        .or_else(|| find_encoding(&head))
        .unwrap_or(UTF_8)
}

#[derive(Default)]
struct PageReader {
    summary: PageSummary,
    heading: String,
    title: String,
    /// The current element, if its text is needed separately.
    current_element: Option<&'static str>,
    hasher: Sha256,
    has_text: bool,
}

impl PageReader {
    fn take_token(&mut self, token: MarkupToken) {
        match token {
            MarkupToken::Start(tag) => self.take_start_tag(&tag),
            MarkupToken::End(name) => {
                if self.current_element == Some(name.as_str()) {
                    self.current_element = None;
                }
            }
            MarkupToken::Text(text) => self.take_text(&text),
        }
    }

    fn take_start_tag(&mut self, tag: &StartTag) {
        let has_word = |name: &str, word: &str| {
            let mut words = tag
                .attribute(name)
                .unwrap_or_default()
                .split_ascii_whitespace();
            words.any(|known| known.eq_ignore_ascii_case(word))
        };

        match tag.name() {
            "title" if self.title.is_empty() => self.current_element = Some("title"),
            "h1" if self.heading.is_empty() => self.current_element = Some("h1"),
            "base" if self.summary.base.is_none() => {
                self.summary.base = tag.attribute("href").map(str::to_owned)
            }
            "link" if has_word("rel", "canonical") && self.summary.canonical.is_none() => {
                self.summary.canonical = tag.attribute("href").map(str::to_owned);
            }
            "meta" if addresses_crawler(tag.attribute("name").unwrap_or_default()) => {
                let (no_index, no_follow) =
                    parse_directives(tag.attribute("content").unwrap_or_default());
                self.summary.no_index |= no_index;
                self.summary.no_follow |= no_follow;
            }
            "a" | "area"
                if !has_word("rel", "nofollow") && self.summary.links.len() < MAX_LINKS =>
            {
                if let Some(address) = tag.attribute("href") {
                    self.summary.links.push(address.to_owned());
                }
            }
            _ => {}
        }
    }

    fn take_text(&mut self, text: &str) {
        for word in text.split_whitespace() {
            self.has_text = true;
            self.hasher.update(word);
            self.hasher.update([0]);
        }
        match self.current_element {
            Some("title") => self.title.push_str(text),
            Some(_) => self.heading.push_str(text),
            None => {}
        }
    }

    fn finish_summary(self) -> PageSummary {
        let digest = hex::encode(self.hasher.finalize());
        PageSummary {
            title: title_line(&self.title).or_else(|| title_line(&self.heading)),
            digest: self.has_text.then_some(digest),
            ..self.summary
        }
    }
}

/// Returns a title in one line, cut to the longest permitted, or `None` if it is empty.
fn title_line(text: &str) -> Option<String> {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.is_empty() {
        return None;
    }
    Some(line.chars().take(MAX_TITLE_CHARS).collect())
}

/// Checks whether a `meta` element with this name addresses this crawler.
fn addresses_crawler(name: &str) -> bool {
    name.eq_ignore_ascii_case("robots") || name.eq_ignore_ascii_case(super::CRAWLER_NAME)
}

/// Checks whether the name before a colon is not that of a crawler: it is a directive with a value,
/// or a part of its value, as in `unavailable_after: Sat, 25-Jun-30 15:00:00 GMT`.
fn has_value(name: &str) -> bool {
    VALUE_DIRECTIVES
        .iter()
        .any(|directive| name.eq_ignore_ascii_case(directive))
        || name.contains(char::is_whitespace)
}

/// Parses a list of directives such as `noindex, nofollow`, and returns whether it forbids indexing
/// and following links. In a header, directives may be meant for another crawler, as in `other:
/// none`.
pub(super) fn parse_directives(list: &str) -> (bool, bool) {
    let mut directives = (false, false);
    let mut is_addressed = true;
    for part in list.split(',') {
        let word = match part.split_once(':') {
            Some((name, _)) if has_value(name.trim()) => continue,
            Some((agent, word)) => {
                is_addressed = addresses_crawler(agent.trim());
                word
            }
            None => part,
        };
        let has_directive =
            |directive: &str| is_addressed && word.trim().eq_ignore_ascii_case(directive);
        directives.0 |= has_directive("noindex") || has_directive("none");
        directives.1 |= has_directive("nofollow") || has_directive("none");
    }

    directives
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(html: &str) -> PageSummary {
        read_page(html.as_bytes(), "text/html")
    }

    #[test]
    fn a_page_says_where_it_leads_and_what_it_is_called() {
        let summary = of(r#"<html><head><title> Tides &amp;
            moons </title><base href="/en/"><link rel="alternate canonical" href="/tides"></head>
            <body><h1>Other</h1><a href="a?x=1&amp;y=2">A</a><a name=x>no</a><a rel="ugc nofollow" href=b>B</a>
            <AREA HREF=c><script>document.write('<a href="d">')</script></body></html>"#);

        assert_eq!(summary.title.as_deref(), Some("Tides & moons"));
        assert_eq!(
            (summary.base.as_deref(), summary.canonical.as_deref()),
            (Some("/en/"), Some("/tides"))
        );
        assert_eq!(summary.links, ["a?x=1&y=2", "c"]);
        assert!(!summary.no_index && !summary.no_follow);

        assert_eq!(
            of("<h1>The <b>tide</b></h1><h1>two</h1>").title.as_deref(),
            Some("The tide")
        );
    }

    #[test]
    fn only_another_text_is_another_content() {
        let first =
            of("<p>High tide</p><form><input name=token value=1></form><script>t=1</script>");
        let second = of(
            "<p>High\n tide</p><form><input name=token value=2></form><script>t=2</script><!-- 3 -->",
        );
        assert_eq!(first.digest, second.digest);
        assert_ne!(first.digest, of("<p>Low tide</p>").digest);
        assert_eq!(of("<div id=app></div><script>x</script> ").digest, None);
    }

    #[test]
    fn pages_say_what_they_allow() {
        for (html, expected) in [
            ("<meta name=robots content='noindex'>", (true, false)),
            (
                "<meta name=ROBOTS content='index, NoFollow'>",
                (false, true),
            ),
            ("<meta name=recollect content=none>", (true, true)),
            ("<meta name=other content=none>", (false, false)),
            ("<meta name=robots content=all>", (false, false)),
            (
                "<meta name=robots content='max-image-preview:large, noindex, follow'>",
                (true, false),
            ),
        ] {
            let summary = of(html);
            assert_eq!((summary.no_index, summary.no_follow), expected, "{html}");
        }

        for (header, expected) in [
            ("", (false, false)),
            ("noindex,nofollow", (true, true)),
            (
                "otherbot: noindex, nofollow,recollect: nofollow",
                (false, true),
            ),
            ("otherbot: none", (false, false)),
            ("max-snippet: 50, noindex", (true, false)),
            ("Max-Video-Preview:-1,nofollow", (false, true)),
            (
                "unavailable_after: Sat, 25-Jun-30 15:00:00 GMT, noindex",
                (true, false),
            ),
            ("otherbot: max-snippet: 50, noindex", (false, false)),
            (
                "otherbot: noindex, max-snippet: 50, nofollow",
                (false, false),
            ),
            (
                "unavailable_after: 25 Jun 2030 15:00:00 PST",
                (false, false),
            ),
        ] {
            assert_eq!(parse_directives(header), expected, "{header}");
        }
    }

    #[test]
    fn a_title_is_read_in_the_encoding_of_its_page() {
        let latin = b"<title>K\xfcste</title>";
        assert_eq!(
            read_page(latin, "text/html; charset=ISO-8859-1")
                .title
                .as_deref(),
            Some("Küste")
        );

        let declared_bytes = [b"<meta charset='windows-1252'>".as_slice(), latin].concat();
        assert_eq!(
            read_page(&declared_bytes, "text/html").title.as_deref(),
            Some("Küste")
        );
        assert_eq!(
            read_page("<title>Küste</title>".as_bytes(), "text/html")
                .title
                .as_deref(),
            Some("Küste")
        );
    }
}
