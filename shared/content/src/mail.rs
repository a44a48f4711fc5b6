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
    let message = MessageParser::default()
        .parse(bytes)
        .ok_or_else(package::corrupt_failure)?;
    let mut extracted = ExtractedDocument::new(Format::Email, String::new());
    let from = message.from().map(format_addresses);
    let date = message.date().map(mail_parser::DateTime::to_rfc3339);
    let headers = [
        ("From", from.clone()),
        ("To", message.to().map(format_addresses)),
        ("Cc", message.cc().map(format_addresses)),
        ("Date", date.clone()),
        ("Subject", message.subject().map(str::to_owned)),
    ];

    let mut text = String::new();
    for (name, value) in headers {
        let value = value.map(|value| value.split_whitespace().collect::<Vec<_>>().join(" "));
        if let Some(value) = value.filter(|value| !value.is_empty()) {
            text.push_str(&format!("{name}: {value}\n"));
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

    let names = message
        .attachments()
        .map(|part| part.attachment_name().unwrap_or("unnamed").to_owned());
    let names: Vec<String> = names.collect();
    if !names.is_empty() {
        text.push_str(&format!("\nAttachments: {}\n", names.join(", ")));
    }

    extracted.text = text;
    extracted.set_title(message.subject());
    extracted.set_property("author", from.as_deref());
    extracted.set_property("created", date.as_deref());
    Ok(extracted)
}

/// Returns names and addresses on one line.
fn format_addresses(address: &Address) -> String {
    let format_address = |person: &mail_parser::Addr| match (person.name(), person.address()) {
        (Some(name), Some(address)) => format!("{name} <{address}>"),
        (name, address) => name.or(address).unwrap_or_default().to_owned(),
    };
    address
        .iter()
        .map(format_address)
        .collect::<Vec<_>>()
        .join(", ")
}
