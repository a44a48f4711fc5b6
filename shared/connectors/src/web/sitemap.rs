//! Sitemaps: lists of the pages of a site, and lists of such lists.

use std::io::Read;

use domain::Timestamp;
use flate2::read::MultiGzDecoder;
use markup::{MarkupKind, MarkupToken, read_tokens};

/// The most bytes of a sitemap after decompression. The protocol permits 50 MB, but a crawl uses
/// far less.
const MAX_BYTES: u64 = 16 * 1024 * 1024;
/// The most addresses of one sitemap, which is the limit of the protocol.
const MAX_ADDRESSES: usize = 50_000;

/// The contents of a sitemap.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Sitemap {
    /// The addresses of other sitemaps.
    pub(super) sitemaps: Vec<String>,
    /// The addresses of pages, with the time of the last change if it is stated.
    pub(super) pages: Vec<(String, Option<Timestamp>)>,
}

/// Reads a sitemap in XML or in plain lines, compressed or not. Returns `None` if it cannot be
/// decompressed.
pub(super) fn parse_sitemap(bytes: &[u8]) -> Option<Sitemap> {
    const GZIP: [u8; 2] = [0x1f, 0x8b];
    if bytes.starts_with(&GZIP) {
        let mut decompressed = Vec::new();
        MultiGzDecoder::new(bytes)
            .take(MAX_BYTES)
            .read_to_end(&mut decompressed)
            .ok()?;
        return Some(parse_text(&String::from_utf8_lossy(&decompressed)));
    }

    let bytes = &bytes[..bytes
        .len()
        .min(usize::try_from(MAX_BYTES).unwrap_or(usize::MAX))];
    Some(parse_text(&String::from_utf8_lossy(bytes)))
}

fn parse_text(text: &str) -> Sitemap {
    let text = text.trim_start_matches('\u{feff}').trim_start();
    if text.starts_with('<') {
        parse_xml(text)
    } else {
        parse_lines(text)
    }
}

fn parse_lines(text: &str) -> Sitemap {
    let mut sitemap = Sitemap::default();
    for line in text.lines() {
        let address = line.trim();
        if sitemap.pages.len() == MAX_ADDRESSES {
            break;
        }
        if !address.is_empty() {
            sitemap.pages.push((address.to_owned(), None));
        }
    }

    sitemap
}

fn parse_xml(text: &str) -> Sitemap {
    let mut sitemap = Sitemap::default();
    let (mut address, mut last_modified) = (String::new(), String::new());
    let mut is_location = None;
    read_tokens(text, MarkupKind::Xml, |token| match token {
        MarkupToken::Start(tag) => match tag.name() {
            "url" | "sitemap" => (address, last_modified) = (String::new(), String::new()),
            "loc" => is_location = Some(true),
            "lastmod" => is_location = Some(false),
            _ => {}
        },
        MarkupToken::Text(text) => match is_location {
            Some(true) => address.push_str(&text),
            Some(false) => last_modified.push_str(&text),
            None => {}
        },
        MarkupToken::End(name) => {
            is_location = None;
            let address = address.trim();
            let is_full = sitemap.pages.len() + sitemap.sitemaps.len() >= MAX_ADDRESSES;
            match name.as_str() {
                _ if address.is_empty() || is_full => {}
                "url" => sitemap
                    .pages
                    .push((address.to_owned(), parse_date(last_modified.trim()))),
                "sitemap" => sitemap.sitemaps.push(address.to_owned()),
                _ => {}
            }
        }
    });

    sitemap
}

/// Parses a W3C date: a day, or a time with an offset.
fn parse_date(text: &str) -> Option<Timestamp> {
    let day = text.get(..10)?;
    let timestamp = if text.len() == 10 {
        format!("{day}T00:00:00Z")
    } else {
        text.to_owned()
    };
    let at: jiff::Timestamp = timestamp.parse().ok()?;
    Some(Timestamp::from_millis(at.as_millisecond()))
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    const PAGES: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
        <urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:image="x">
        <url><loc> https://tides.example/a?x=1&amp;y=2 </loc><lastmod>2026-03-01</lastmod>
        <image:image><image:loc>https://tides.example/a.png</image:loc></image:image></url>
        <url><lastmod>2026-03-01T10:00:00+01:00</lastmod><loc><![CDATA[https://tides.example/b]]></loc></url>
        <url><loc>https://tides.example/c</loc><lastmod>soon</lastmod></url><url></url></urlset>"#;

    #[test]
    fn sitemaps_list_pages_or_sitemaps() {
        let at = |millis| Some(Timestamp::from_millis(millis));
        let pages = vec![
            (
                "https://tides.example/a?x=1&y=2".to_owned(),
                at(1_772_323_200_000),
            ),
            ("https://tides.example/b".to_owned(), at(1_772_355_600_000)),
            ("https://tides.example/c".to_owned(), None),
        ];
        assert_eq!(
            parse_sitemap(PAGES.as_bytes()),
            Some(Sitemap {
                sitemaps: Vec::new(),
                pages
            })
        );

        let index = "<sitemapindex><sitemap><loc>https://tides.example/1.xml.gz</loc></sitemap></sitemapindex>";
        let sitemaps = vec!["https://tides.example/1.xml.gz".to_owned()];
        assert_eq!(
            parse_sitemap(index.as_bytes()),
            Some(Sitemap {
                sitemaps,
                pages: Vec::new()
            })
        );

        let lines =
            parse_sitemap("\u{feff}https://a.example/\r\n\r\nhttps://a.example/b\n".as_bytes())
                .expect("lines");
        assert_eq!(lines.pages.len(), 2);
    }

    #[test]
    fn a_packed_sitemap_is_unpacked_within_a_limit() {
        let pack = |bytes: &[u8]| {
            let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
            packer.write_all(bytes).expect("memory");
            packer.finish().expect("memory")
        };
        assert_eq!(
            parse_sitemap(&pack(PAGES.as_bytes())),
            parse_sitemap(PAGES.as_bytes())
        );
        let bomb = pack(&vec![b' '; 20 * 1024 * 1024]);
        assert_eq!(parse_sitemap(&bomb), Some(Sitemap::default()));
        assert_eq!(parse_sitemap(&[0x1f, 0x8b, 0, 0]), None);
    }
}
