//! What a rich text says about itself; its text is read by the reader of office documents.

use encoding_rs::WINDOWS_1252;

use crate::extract::Extracted;

/// How far from the start the information group is looked for.
const LOOK_BYTES: usize = 256 * 1024;

/// Fills in title, author and subject from the information group.
pub(crate) fn describe(bytes: &[u8], extracted: &mut Extracted) {
    let head = String::from_utf8_lossy(&bytes[..bytes.len().min(LOOK_BYTES)]);
    let Some((_, info)) = head.split_once("{\\info") else {
        return;
    };
    extracted.set_title(value(info, "{\\title ").as_deref());
    extracted.set("author", value(info, "{\\author ").as_deref());
    extracted.set("description", value(info, "{\\subject ").as_deref());
}

/// Returns the text of a group without groups inside.
fn value(info: &str, start: &str) -> Option<String> {
    let (_, rest) = info.split_once(start)?;
    let mut value = String::new();
    let mut parts = rest.split('}').next()?.split('\\');
    value.push_str(parts.next()?);
    for part in parts {
        value.push_str(&unescaped(part));
    }
    Some(value)
}

/// Returns what an escape and the text after it mean: `'e9` is a byte, `u8211?` a character with its substitute.
fn unescaped(part: &str) -> String {
    let byte = part
        .strip_prefix('\'')
        .and_then(|hex| Some((u8::from_str_radix(hex.get(..2)?, 16).ok()?, &hex[2..])));
    if let Some((byte, rest)) = byte {
        return format!("{}{rest}", WINDOWS_1252.decode_without_bom_handling(&[byte]).0);
    }
    let digits =
        part.strip_prefix('u').map(|rest| &rest[..rest.bytes().take_while(u8::is_ascii_digit).count()]);
    let letter = digits.and_then(|digits| digits.parse().ok()).and_then(char::from_u32);
    match (letter, digits) {
        (Some(letter), Some(digits)) => {
            let rest: String = part[1 + digits.len()..].chars().skip(1).collect();
            format!("{letter}{rest}")
        }
        // A control word ends at its blank.
        _ => part.split_once(' ').map_or("", |(_, rest)| rest).to_owned(),
    }
}
