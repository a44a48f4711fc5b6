//! The metadata of rich text, and its text in the form that the reader of office documents
//! understands.

use encoding_rs::WINDOWS_1252;

use crate::extract::ExtractedDocument;

/// The number of bytes at the start in which the information group is searched.
const LOOK_BYTES: usize = 256 * 1024;

/// Returns the text in control words that the reader understands. A backslash before the end of a
/// line becomes the end of a paragraph, and a footnote stands at its reference. Binary data, which
/// the reader would take for text, is left out.
pub(crate) fn simplify_controls(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len());
    let mut rest = bytes;
    while let Some(at) = rest.iter().position(|byte| *byte == b'\\') {
        out.extend_from_slice(&rest[..at]);
        rest = &rest[at..];
        let length = control_length(rest);
        match &rest[..length] {
            b"\\\n" | b"\\\r" => out.extend_from_slice(b"\\par "),
            b"\\footnote" => out.push(b' '),
            control if is_binary(control) => {}
            control => out.extend_from_slice(control),
        }
        rest = &rest[length..];
    }

    out.extend_from_slice(rest);
    out
}

/// Checks whether a control word announces bytes that belong to it.
fn is_binary(control: &[u8]) -> bool {
    match control.strip_prefix(b"\\bin") {
        Some([next, ..]) => !next.is_ascii_alphabetic(),
        Some([]) => true,
        None => false,
    }
}

/// Returns the length of the control at the start: a symbol, or a word with its number and the
/// bytes that it announces.
fn control_length(control: &[u8]) -> usize {
    let letter_count = control[1..]
        .iter()
        .take_while(|byte| byte.is_ascii_alphabetic())
        .count();
    if letter_count == 0 {
        return control.len().min(2);
    }

    let word_len = 1 + letter_count;
    if !is_binary(&control[..word_len]) {
        return word_len;
    }

    let digit_count = control[word_len..]
        .iter()
        .take_while(|byte| byte.is_ascii_digit())
        .count();
    let digits = str::from_utf8(&control[word_len..word_len + digit_count]).unwrap_or_default();
    let byte_count: usize = digits.parse().unwrap_or(0);
    // A space separates the number from the bytes.
    let blank_len = usize::from(control.get(word_len + digit_count) == Some(&b' '));

    (word_len + digit_count + blank_len)
        .saturating_add(byte_count)
        .min(control.len())
}

/// Sets title, author and subject from the information group.
pub(crate) fn set_metadata(bytes: &[u8], extracted: &mut ExtractedDocument) {
    let head = String::from_utf8_lossy(&bytes[..bytes.len().min(LOOK_BYTES)]);
    let Some((_, info)) = head.split_once("{\\info") else {
        return;
    };
    extracted.set_title(group_text(info, "{\\title ").as_deref());
    extracted.set_property("author", group_text(info, "{\\author ").as_deref());
    extracted.set_property("description", group_text(info, "{\\subject ").as_deref());
}

/// Returns the text of a group that contains no other group.
fn group_text(info: &str, start: &str) -> Option<String> {
    let (_, rest) = info.split_once(start)?;
    let mut value = String::new();
    let mut parts = rest.split('}').next()?.split('\\');
    value.push_str(parts.next()?);
    for part in parts {
        value.push_str(&decode_escape(part));
    }
    Some(value)
}

/// Returns the meaning of an escape and the text after it: `'e9` is a byte, `u8211?` a character
/// with its substitute.
fn decode_escape(part: &str) -> String {
    if let Some((byte, rest)) = split_byte(part) {
        let (character, _) = WINDOWS_1252.decode_without_bom_handling(&byte);
        return format!("{character}{rest}");
    }

    if let Some((character, rest)) = split_character(part) {
        let rest: String = rest.chars().skip(1).collect();
        return format!("{character}{rest}");
    }

    // A control word ends at a space.
    match part.split_once(' ') {
        Some((_, rest)) => rest.to_owned(),
        None => String::new(),
    }
}

/// Splits the byte of an escape from the text after it.
fn split_byte(part: &str) -> Option<([u8; 1], &str)> {
    let hex = part.strip_prefix('\'')?;
    let byte = u8::from_str_radix(hex.get(..2)?, 16).ok()?;
    Some(([byte], &hex[2..]))
}

/// Splits the character of an escape from the text after it, which begins with its substitute. Characters above
/// U+7FFF have negative numbers, because a number has 16 bits and a sign.
fn split_character(part: &str) -> Option<(char, &str)> {
    let number = part.strip_prefix('u')?;
    let (is_negative, number) = match number.strip_prefix('-') {
        Some(number) => (true, number),
        None => (false, number),
    };
    let digit_count = number.bytes().take_while(u8::is_ascii_digit).count();
    let (digits, rest) = number.split_at(digit_count);
    let size: u32 = digits.parse().ok()?;
    let code = if is_negative {
        0x1_0000_u32.checked_sub(size)?
    } else {
        size
    };
    Some((char::from_u32(code)?, rest))
}
