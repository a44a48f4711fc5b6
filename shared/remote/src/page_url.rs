//! Distinguishes web addresses from text. It does no I/O, so crates that accept content need not
//! link an HTTP client.

use url::{Host, Url};

/// The longest address that common clients and servers accept.
const MAX_CHARACTERS: usize = 2048;

/// Returns the address if the content of a document, apart from surrounding white space, is exactly
/// one absolute http or https URL. It does not decide whether the page may be fetched; the fetcher
/// does.
pub fn parse_page_url(text: &str) -> Option<Url> {
    let text = text.trim();
    let (scheme, _) = text.split_once("://")?;
    if !scheme.eq_ignore_ascii_case("http") && !scheme.eq_ignore_ascii_case("https") {
        return None;
    }

    // A URL parser would drop tabs and line breaks and join the text around them.
    if text.chars().nth(MAX_CHARACTERS).is_some()
        || text.contains(|c: char| c.is_whitespace() || c.is_control())
    {
        return None;
    }

    let url = Url::parse(text).ok()?;
    has_usable_host(&url).then_some(url)
}

/// Checks whether a resolver could know the host. The URL parser also accepts names such as
/// `example.com,and`, which are prose.
pub(crate) fn has_usable_host(url: &Url) -> bool {
    match url.host() {
        None => false,
        Some(Host::Ipv4(_) | Host::Ipv6(_)) => true,
        Some(Host::Domain(name)) => {
            let name = name.strip_suffix('.').unwrap_or(name);
            name.split('.')
                .all(|label| !label.is_empty() && label.bytes().all(is_name_byte))
        }
    }
}

fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_'
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_that_is_one_address_is_an_address() {
        for (text, expected) in [
            ("https://example.com", "https://example.com/"),
            (
                "  http://example.com/a?b=c#d \n",
                "http://example.com/a?b=c#d",
            ),
            ("HTTPS://Example.COM/Path", "https://example.com/Path"),
            (
                "https://bücher.example/straße",
                "https://xn--bcher-kva.example/stra%C3%9Fe",
            ),
            (
                "https://en.wikipedia.org/wiki/Rust_(video_game)",
                "https://en.wikipedia.org/wiki/Rust_(video_game)",
            ),
            ("http://127.0.0.1/", "http://127.0.0.1/"),
            (
                "http://user:word@[2001:db8::1]:8080/x",
                "http://user:word@[2001:db8::1]:8080/x",
            ),
        ] {
            assert_eq!(
                parse_page_url(text).map(String::from).as_deref(),
                Some(expected),
                "{text}"
            );
        }
    }

    #[test]
    fn content_that_is_anything_else_is_text() {
        for text in [
            "",
            "   ",
            "example.com",
            "www.example.com/page",
            "//example.com",
            "http:example.com",
            "https:/example.com",
            "http://",
            "https://?q",
            "ftp://example.com/file",
            "file:///etc/passwd",
            "mailto:a@example.com",
            "see https://example.com",
            "https://example.com is good",
            "https://a.example https://b.example",
            "https://a.example\nhttps://b.example",
            "https://example.com/a\tb",
            "https://example.com/a\u{7}b",
            "https://example.com/a\u{a0}b",
            "https://example.com,and more",
            "https://example.com,and",
            "https://exam..ple.com/",
            "https://[::1",
            "https://example.com:99999/",
            "<https://example.com>",
        ] {
            assert_eq!(parse_page_url(text), None, "{text:?}");
        }
    }

    #[test]
    fn an_address_has_at_most_2048_characters() {
        let start = "https://example.com/";
        let longest = format!("{start}{}", "é".repeat(MAX_CHARACTERS - start.len()));
        assert!(parse_page_url(&longest).is_some());
        assert!(parse_page_url(&format!("{longest}é")).is_none());
    }
}
