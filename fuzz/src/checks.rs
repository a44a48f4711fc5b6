//! The guarantees that the documentation of `content` and `remote` gives for every result.

use std::net::IpAddr;
use std::ops::Range;

use content::{Chunk, ExtractedDocument};
use remote::parse_page_url;
use unicode_normalization::is_nfc;
use url::Url;

/// The smallest target that a chunker honours.
const MIN_TARGET: usize = 64;
/// The greatest length of the address of a page.
const MAX_URL: usize = 2048;

/// Checks that the text is canonical and not blank, and that the title and the properties are
/// single lines.
pub fn check_extracted(extracted: &ExtractedDocument) {
    let text = &extracted.text;
    assert!(!text.trim().is_empty(), "blank text is a failure");
    assert!(
        !text.contains(|c: char| c.is_control() && c != '\n' && c != '\t'),
        "a control character"
    );
    assert!(is_nfc(text), "text that is not composed");
    for line in extracted.title.iter().chain(extracted.properties.values()) {
        assert!(
            !line.trim().is_empty() && !line.contains(['\n', '\r']),
            "not one line: {line:?}"
        );
    }
}

/// Checks that chunks are the slices at their offsets, in order and of limited size, and that they
/// cover everything but white space.
pub fn check_chunks(text: &str, chunks: &[Chunk], target: usize) {
    let bytes: Vec<usize> = text
        .char_indices()
        .map(|(at, _)| at)
        .chain([text.len()])
        .collect();
    let blank = |range: Range<usize>| text[bytes[range.start]..bytes[range.end]].trim().is_empty();
    let (mut covered, mut last_start) = (0, None);
    for (index, chunk) in chunks.iter().enumerate() {
        assert_eq!(chunk.position as usize, index);
        assert_eq!(chunk.text, text[bytes[chunk.start]..bytes[chunk.end]]);
        assert!(!chunk.text.trim().is_empty(), "chunk {index} is blank");
        assert!(
            chunk.end - chunk.start <= 2 * target.max(MIN_TARGET),
            "chunk {index} is too long"
        );
        assert!(last_start < Some(chunk.start), "starts must grow");
        assert!(
            chunk.start <= covered || blank(covered..chunk.start),
            "a gap before chunk {index}"
        );
        last_start = Some(chunk.start);
        covered = covered.max(chunk.end);
    }

    assert!(blank(covered..bytes.len() - 1), "the end is in no chunk");
}

/// Checks that the spans of turns follow each other within the text, and that each window contains
/// the turns that it names.
pub fn check_windows(text: &str, places: &[Range<usize>], windows: &[Chunk]) {
    let end = text.chars().count();
    assert!(
        places
            .iter()
            .all(|place| place.start <= place.end && place.end <= end)
    );
    assert!(
        places.windows(2).all(|pair| pair[0].end <= pair[1].start),
        "turns in order"
    );

    for window in windows {
        let turns = window.turns.clone().expect("a window names its turns");
        let (first, last) = (&places[turns.start], &places[turns.end - 1]);
        assert!(
            first.start <= window.start && window.end <= last.end,
            "more than the turns named"
        );
        assert!(
            first.end > window.start && window.end > last.start,
            "less than the turns named"
        );
    }
}

/// Checks that an accepted address is the address of a page, and that its normal form is accepted
/// again.
pub fn check_page_url(url: &Url) {
    assert!(
        ["http", "https"].contains(&url.scheme()) && url.has_host(),
        "{url}"
    );
    // Escapes can make the normal form longer than the limit.
    if url.as_str().len() <= MAX_URL {
        assert_eq!(parse_page_url(url.as_str()).as_ref(), Some(url));
    }
}

/// Checks that a dialed address is none of those that the standard library classifies as special,
/// and that it is not an IPv6 address with an IPv4 address inside.
pub fn check_dialed(ip: IpAddr, port: u16) {
    let special = match ip {
        IpAddr::V4(ip) => {
            let nowhere = ip.is_unspecified()
                || ip.is_broadcast()
                || ip.is_documentation()
                || ip.is_multicast();
            nowhere || ip.is_private() || ip.is_loopback() || ip.is_link_local()
        }
        IpAddr::V6(ip) => {
            let nowhere = ip.is_unspecified()
                || ip.is_multicast()
                || ip.is_loopback()
                || ip.to_ipv4().is_some();
            nowhere || ip.is_unique_local() || ip.is_unicast_link_local()
        }
    };

    assert!(
        !special && [80, 443].contains(&port),
        "{ip} is dialed at port {port}"
    );
}
