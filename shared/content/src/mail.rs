//! Mail messages: headers as lines, then the body.

use mail_parser::{Address, MessageParser, MimeHeaders, PartType};

use crate::extract::ExtractedDocument;
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
const COMMON_HEADERS: [&str; 5] = ["from", "to", "subject", "date", "content-type"];

/// Checks whether a text begins with the headers of a mail: two common ones, and one that only
/// transport adds. If a mail is expected, any one of them is enough.
pub(crate) fn is_message(bytes: &[u8], is_expected: bool) -> bool {
    let head = String::from_utf8_lossy(&bytes[..bytes.len().min(LOOK_BYTES)]);
    let (mut common, mut transport) = (0, 0);
    for line in head.lines().take_while(|line| !line.trim().is_empty()) {
        if line.starts_with([' ', '\t']) {
            continue;
        }
        let Some((name, _)) = line.split_once(':') else {
            // Mailboxes put such a line before each message.
            if line.starts_with("From ") || line.starts_with(">From ") {
                continue;
            }
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

pub(crate) fn read_message(bytes: &[u8]) -> Result<ExtractedDocument, ContentFailure> {
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
