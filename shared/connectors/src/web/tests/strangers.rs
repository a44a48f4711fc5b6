//! Tests that input from strangers is always read: no page, sitemap or list of rules makes the
//! crawler panic or hang.

use markup::{MarkupKind, read_tokens};
use proptest::collection::vec;
use proptest::prelude::*;
use robotxt::Robots;
use url::Url;

use crate::web::site::{address_on_site, normalize_address};
use crate::web::{CRAWLER_NAME, page, sitemap};

/// Generates sequences of fragments that are meaningful to one of the parsers, and of arbitrary
/// ones.
fn fragments() -> impl Strategy<Value = Vec<u8>> {
    const KNOWN: [&str; 34] = [
        "<",
        ">",
        "</",
        "/>",
        "<!--",
        "-->",
        "<![CDATA[",
        "]]>",
        "<script>",
        "</script",
        "<a href=",
        "\"",
        "'",
        "=",
        "&",
        "&#x41;",
        "&#99999999;",
        ";",
        "<title>",
        "<base href=",
        "<loc>",
        "</loc>",
        "<url>",
        "</url>",
        "<sitemap>",
        "<lastmod>2026-03-01T10:00:00+99:00",
        "charset=",
        "utf-16le",
        "\u{feff}",
        "User-agent: *\n",
        "Disallow: /*$*?",
        "Crawl-delay: 1e999\n",
        "http://[::1",
        "//\u{200d}@:99999/%zz",
    ];
    let piece = prop_oneof![
        4 => proptest::sample::select(&KNOWN[..]).prop_map(|known| known.as_bytes().to_vec()),
        1 => any::<String>().prop_map(String::into_bytes),
        1 => vec(any::<u8>(), 0..8),
    ];

    vec(piece, 0..60).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn whatever_is_sent_is_read(bytes in fragments(), media_type in "(text/html)?;? ?(charset=)?.{0,12}") {
        let text = String::from_utf8_lossy(&bytes);
        for kind in [MarkupKind::Html, MarkupKind::Xml] {
            let mut count = 0;
            read_tokens(&text, kind, |_| count += 1);
            prop_assert!(count <= text.len());
        }
        let site = Url::parse("https://tides.example/a/b").expect("an address");
        let seen = page::read_page(&bytes, &media_type);
        let listed = sitemap::parse_sitemap(&bytes).unwrap_or_default();
        let addresses = seen.links.iter().chain(seen.canonical.as_ref()).chain(listed.pages.iter().map(|(at, _)| at));
        for url in addresses.filter_map(|href| address_on_site(&site, normalize_address(&site, href)?)) {
            prop_assert_eq!(url.host_str(), site.host_str());
        }
        let robots = Robots::parse(&bytes, CRAWLER_NAME);
        let _ = (robots.is_url_allowed(&site), robots.crawl_delay());
    }
}
