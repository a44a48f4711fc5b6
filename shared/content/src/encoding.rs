//! Decoding of bytes in any encoding to text.

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE};

/// The number of bytes that the detector examines. More take longer and do not change its result.
const DETECT_BYTES: usize = 256 * 1024;

/// Decodes text. The encoding is determined by, in this order, a byte order mark, the zero bytes of
/// UTF-16, validity as UTF-8, the declared charset, and the detection that browsers use. Malformed
/// sequences become U+FFFD.
pub(crate) fn decode_text(bytes: &[u8], charset: Option<&str>) -> String {
    if let Some((encoding, mark_length)) = Encoding::for_bom(bytes) {
        return encoding
            .decode_without_bom_handling(&bytes[mark_length..])
            .0
            .into_owned();
    }

    if let Some(encoding) = detect_utf16(bytes) {
        return encoding.decode_without_bom_handling(bytes).0.into_owned();
    }

    if let Ok(text) = std::str::from_utf8(bytes) {
        // ISO-2022-JP is pure ASCII with escape sequences.
        if !bytes.contains(&0x1B) {
            return text.to_owned();
        }
    }

    let declared_encoding = charset.and_then(|label| Encoding::for_label(label.as_bytes()));
    // A document that is declared as UTF-8 but invalid either has a few broken bytes, or its
    // declaration is wrong.
    let encoding = match declared_encoding {
        Some(encoding) if encoding != UTF_8 || mostly_utf8(bytes) => encoding,
        _ => guess_encoding(bytes),
    };

    encoding.decode_without_bom_handling(bytes).0.into_owned()
}

/// Returns the `charset` parameter of a media type.
pub(crate) fn charset_of(media_type: &str) -> Option<&str> {
    for parameter in media_type.split(';').skip(1) {
        if let Some((name, value)) = parameter.split_once('=')
            && name.trim().eq_ignore_ascii_case("charset")
        {
            return Some(value.trim().trim_matches('"'));
        }
    }

    None
}

/// Recognizes UTF-16 by zero bytes that are all on one side. Spaces, newlines and Latin letters
/// have one in every language.
pub(crate) fn detect_utf16(bytes: &[u8]) -> Option<&'static Encoding> {
    if !bytes.len().is_multiple_of(2) {
        return None;
    }

    let sample = &bytes[..bytes.len().min(DETECT_BYTES)];
    let (mut even, mut odd) = (0usize, 0usize);
    for pair in sample.chunks_exact(2) {
        even += usize::from(pair[0] == 0 && pair[1] != 0);
        odd += usize::from(pair[1] == 0 && pair[0] != 0);
    }

    let encoding = match (even, odd) {
        (0, odd) if odd > 0 => UTF_16LE,
        (even, 0) if even > 0 => UTF_16BE,
        _ => return None,
    };

    let text = encoding.decode_without_bom_handling(sample).0;
    let is_strange = |character: char| character == '\u{FFFD}' || is_non_text_char(character);
    // The sample may end between two surrogates.
    let is_cut = sample.len() < bytes.len();

    (!text.chars().rev().skip(usize::from(is_cut)).any(is_strange)).then_some(encoding)
}

/// Checks for a character that does not occur in any text.
fn is_non_text_char(character: char) -> bool {
    matches!(character, '\0'..='\u{8}' | '\u{E}'..='\u{1F}' | '\u{7F}'..='\u{9F}' | '\u{E000}'..='\u{F8FF}')
}

/// Checks whether the bytes are UTF-8 except for a few damaged places.
fn mostly_utf8(bytes: &[u8]) -> bool {
    let (mut valid, mut damaged) = (0usize, 0usize);
    for part in bytes.utf8_chunks() {
        valid += part.valid().bytes().filter(|byte| !byte.is_ascii()).count();
        damaged += part.invalid().len();
    }
    damaged * 20 <= valid
}

fn guess_encoding(bytes: &[u8]) -> &'static Encoding {
    if mostly_utf8(bytes) && !bytes.is_ascii() {
        return UTF_8;
    }
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Allow);
    let sample = &bytes[..bytes.len().min(DETECT_BYTES)];
    detector.feed(sample, sample.len() == bytes.len());
    detector.guess(None, Utf8Detection::Deny)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn byte_order_marks_are_obeyed() {
        assert_eq!(decode_text(b"\xEF\xBB\xBFhi", None), "hi");
        assert_eq!(decode_text(b"\xFF\xFEh\0i\0", None), "hi");
        assert_eq!(decode_text(b"\xFE\xFF\0h\0i", None), "hi");
    }

    #[test]
    fn declared_charset_decides_when_the_bytes_are_not_utf8() {
        assert_eq!(
            decode_text(b"\xCC\xE0\xFF\xEA", Some("windows-1251")),
            "Маяк"
        );
        assert_eq!(decode_text("Маяк".as_bytes(), Some("windows-1251")), "Маяк");
        assert_eq!(decode_text(b"caf\xE9", Some("utf-8")), "café");
    }

    #[test]
    fn a_damaged_byte_does_not_turn_utf8_into_another_encoding() {
        let mut bytes = "Маяк на мысе был построен в прошлом веке"
            .as_bytes()
            .to_vec();
        bytes.push(0xD0);
        assert!(decode_text(&bytes, None).starts_with("Маяк на мысе"));
    }

    #[test]
    fn iso_2022_jp_is_read() {
        assert_eq!(decode_text(b"\x1b$B$3$s\x1b(B", None), "こん");
    }

    #[test]
    fn charset_parameter_is_found() {
        assert_eq!(
            charset_of("text/html; q=1; Charset=\"koi8-r\""),
            Some("koi8-r")
        );
        assert_eq!(charset_of("text/html"), None);
    }
}
