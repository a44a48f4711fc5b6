//! Mail messages, alone or in a mailbox file: headers as lines, then the body.

use std::borrow::Cow;

use mail_parser::{Address, MessageParser, MimeHeaders, PartType};

use crate::extract::{ExtractedDocument, MAX_TEXT_BYTES, too_much_text};
use crate::failure::ContentFailure;
use crate::format::Format;
use crate::{html, package};

/// The number of bytes at the start in which headers are searched.
const LOOK_BYTES: usize = 16 * 1024;
/// Headers that only mail has, and headers that people also write in other texts.
const TRANSPORT_HEADERS: [&str; 5] = [
    "received",
    "return-path",
    "message-id",
    "mime-version",
    "delivered-to",
];
/// The start of the line that mailbox files put before each message.
const MAILBOX_LINE: &str = "From ";
const COMMON_HEADERS: [&str; 5] = ["from", "to", "subject", "date", "content-type"];

/// Checks whether a text begins with the headers of a mail: two common ones, and one that only
/// transport adds. If a mail is expected, any one of them is enough.
pub(crate) fn is_message(bytes: &[u8], is_expected: bool) -> bool {
    let head = String::from_utf8_lossy(&bytes[..bytes.len().min(LOOK_BYTES)]);
    let (mut common, mut transport) = (0, 0);
    for line in head.lines().take_while(|line| !line.trim().is_empty()) {
        let is_mailbox_line = line.starts_with(MAILBOX_LINE) || line.starts_with(">From ");
        if line.starts_with([' ', '\t']) || is_mailbox_line {
            continue;
        }
        let Some((name, _)) = line.split_once(':') else {
            return false;
        };
        let name = name.to_ascii_lowercase();
        if !name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
        {
            return false;
        }
        common += usize::from(COMMON_HEADERS.contains(&&*name));
        transport += usize::from(TRANSPORT_HEADERS.contains(&&*name));
    }

    if is_expected {
        common + transport > 0
    } else {
        common >= 2 && transport >= 1
    }
}

/// Reads a message, or all messages of a mailbox file. Those of a mailbox are divided by rules, and
/// the file has no author, because there are several.
pub(crate) fn read_mail(bytes: &[u8]) -> Result<ExtractedDocument, ContentFailure> {
    let messages = split_mailbox(bytes);
    if let [message] = messages.as_slice() {
        return read_message(message);
    }

    let mut text = String::new();
    for message in &messages {
        if !text.is_empty() {
            text.push_str("\n---\n\n");
        }
        text.push_str(&read_message(message)?.text);
        if text.len() > MAX_TEXT_BYTES {
            return Err(too_much_text());
        }
    }

    Ok(ExtractedDocument::new(Format::Email, text))
}

/// Returns the messages of a mailbox file, or the only one of any other file. Each begins after a line
/// with `From `, at the start or after a blank line. Within messages, such lines begin with `>From `,
/// or are recognized by not being followed by a header.
fn split_mailbox(bytes: &[u8]) -> Vec<Cow<'_, [u8]>> {
    if !bytes.starts_with(MAILBOX_LINE.as_bytes()) {
        return vec![Cow::Borrowed(bytes)];
    }

    let mut messages = vec![Vec::new()];
    let mut is_after_blank = false;
    let mut lines = bytes
        .split_inclusive(|byte| *byte == b'\n')
        .skip(1)
        .peekable();
    while let Some(line) = lines.next() {
        let is_divider = is_after_blank
            && line.starts_with(MAILBOX_LINE.as_bytes())
            && lines.peek().is_some_and(|next| is_header(next));
        is_after_blank = line.trim_ascii().is_empty();
        if is_divider {
            messages.push(Vec::new());
        } else if let Some(message) = messages.last_mut() {
            message.extend_from_slice(unquote_line(line));
        }
    }

    messages.into_iter().map(Cow::Owned).collect()
}

/// Checks whether a line begins with the name of a header.
fn is_header(line: &[u8]) -> bool {
    let is_name_byte = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'-';
    let name_len = line.iter().take_while(|byte| is_name_byte(byte)).count();
    name_len > 0 && line.get(name_len) == Some(&b':')
}

/// Removes the mark that mailbox files put before lines that begin like [`MAILBOX_LINE`].
fn unquote_line(line: &[u8]) -> &[u8] {
    let marks = line.iter().take_while(|byte| **byte == b'>').count();
    if marks > 0 && line[marks..].starts_with(MAILBOX_LINE.as_bytes()) {
        &line[1..]
    } else {
        line
    }
}

fn read_message(bytes: &[u8]) -> Result<ExtractedDocument, ContentFailure> {
    let Some(message) = MessageParser::default().parse(bytes) else {
        return Err(package::corrupt_failure());
    };
    let from = message.from().map(format_addresses);
    let to = message.to().map(format_addresses);
    let cc = message.cc().map(format_addresses);
    let date = message.date().map(mail_parser::DateTime::to_rfc3339);
    let headers = [
        ("From", from.as_deref()),
        ("To", to.as_deref()),
        ("Cc", cc.as_deref()),
        ("Date", date.as_deref()),
        ("Subject", message.subject()),
    ];

    let mut text = String::new();
    for (name, value) in headers {
        let words: Vec<&str> = value.unwrap_or_default().split_whitespace().collect();
        if !words.is_empty() {
            text.push_str(&format!("{name}: {}\n", words.join(" ")));
        }
    }

    for part in message.text_bodies() {
        let body = match &part.body {
            PartType::Text(body) => body.trim().to_owned(),
            PartType::Html(body) => html::render_fragment(body),
            _ => continue,
        };
        text.push_str(&format!("\n{body}\n"));
    }

    let attachments = message.attachments();
    let names: Vec<&str> = attachments
        .map(|part| part.attachment_name().unwrap_or("unnamed"))
        .collect();
    if !names.is_empty() {
        text.push_str(&format!("\nAttachments: {}\n", names.join(", ")));
    }

    let mut extracted = ExtractedDocument::new(Format::Email, text);
    extracted.set_title(message.subject());
    extracted.set_property("author", from.as_deref());
    extracted.set_property("created", date.as_deref());
    Ok(extracted)
}

/// Returns names and addresses on one line.
fn format_addresses(address: &Address) -> String {
    let mut people = Vec::new();
    for person in address.iter() {
        people.push(match (person.name(), person.address()) {
            (Some(name), Some(address)) => format!("{name} <{address}>"),
            (Some(text), None) | (None, Some(text)) => text.to_owned(),
            (None, None) => String::new(),
        });
    }

    people.join(", ")
}
