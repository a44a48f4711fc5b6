//! One entry for every format: bytes in, canonical text with title and properties out.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};

use serde::{Deserialize, Serialize};

use crate::canonical::canonical;
use crate::failure::{Failure, FailureCode};
use crate::sniff::{Format, Sniffed, Source, sniff_text};
use crate::{html, markdown, pdf};

/// The most canonical text a document may have, in bytes: more than any file that is allowed in, so only
/// a format that unfolds can reach it.
pub const MAX_TEXT_BYTES: usize = 64 * 1024 * 1024;

/// The longest title kept, in characters.
pub(crate) const MAX_TITLE_CHARS: usize = 300;
/// The longest property kept, in characters.
const MAX_PROPERTY_CHARS: usize = 1000;

/// What a document says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Extracted {
    /// What the bytes were.
    pub format: Format,
    /// Markdown or plain text in canonical form: NFC, `\n` line ends, no control characters, not blank.
    pub text: String,
    /// The title the document gives itself.
    pub title: Option<String>,
    /// What else it says about itself: `author`, `created`, `modified` (as written), `pageCount`,
    /// `language`, `description`, `siteName`, `ogImage`, `url`.
    pub properties: BTreeMap<String, String>,
}

impl Extracted {
    pub(crate) fn new(format: Format, text: String) -> Self {
        Self { format, text, title: None, properties: BTreeMap::new() }
    }

    /// Sets a property, unless the value is blank.
    pub(crate) fn set(&mut self, name: &str, value: Option<&str>) {
        if let Some(value) = value.map(|value| one_line(value, MAX_PROPERTY_CHARS)).filter(|v| !v.is_empty())
        {
            self.properties.insert(name.to_owned(), value);
        }
    }

    /// Sets the title, unless it is blank.
    pub(crate) fn set_title(&mut self, title: Option<&str>) {
        self.title = title.map(|title| one_line(title, MAX_TITLE_CHARS)).filter(|title| !title.is_empty());
    }
}

/// Reads a document of any supported format.
///
/// # Errors
/// A [`Failure`] that repeating cannot heal. A panic inside a parser is one as well (`corrupt`).
pub fn extract(source: &Source) -> Result<Extracted, Failure> {
    let read = catch_unwind(AssertUnwindSafe(|| read(source))).unwrap_or_else(|_| {
        Err(Failure::new(FailureCode::Corrupt, "The file could not be read: its structure broke the reader."))
    });
    let mut extracted = read?;
    if extracted.text.len() > MAX_TEXT_BYTES {
        return Err(too_much_text());
    }
    extracted.text = canonical(&extracted.text);
    if extracted.text.trim().is_empty() {
        return Err(Failure::new(FailureCode::Empty, "The document contains no text."));
    }
    Ok(extracted)
}

/// The failure of a document that unfolds into more text than [`MAX_TEXT_BYTES`].
pub(crate) fn too_much_text() -> Failure {
    let limit = MAX_TEXT_BYTES / 1024 / 1024;
    Failure::new(FailureCode::ContentLimit, format!("The document contains more than {limit} MiB of text."))
}

fn read(source: &Source) -> Result<Extracted, Failure> {
    match sniff_text(source)? {
        Sniffed::Pdf => pdf::read(source.bytes),
        Sniffed::Text { text, format: Format::Html } => html::read(&text),
        Sniffed::Text { text, format: Format::Markdown } => Ok(markdown::read(text)),
        Sniffed::Text { text, format } => Ok(Extracted::new(format, text)),
    }
}

/// Returns `value` canonical, on one line, with single spaces, at most `limit` characters.
pub(crate) fn one_line(value: &str, limit: usize) -> String {
    let words = canonical(value).split_whitespace().collect::<Vec<_>>().join(" ");
    words.chars().take(limit).collect()
}
