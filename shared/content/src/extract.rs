//! The entry point for all formats: from bytes to canonical text with title and properties.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};

use serde::{Deserialize, Serialize};

use crate::canonical::to_canonical;
use crate::encoding::decode_text;
use crate::failure::{ContentFailure, FailureCode};
use crate::format::Format;
use crate::sniff::{ContentSource, SniffedContent, sniff_content};
use crate::{csv, html, mail, markdown, notebook, office, pdf, sheets};

/// The most canonical text of a document, in bytes. It is more than any accepted file, so only a
/// format that is compressed can reach it.
pub const MAX_TEXT_BYTES: usize = 64 * 1024 * 1024;

/// The longest title that is kept, in characters.
pub(crate) const MAX_TITLE_CHARS: usize = 300;
/// The longest property that is kept, in characters.
const MAX_PROPERTY_CHARS: usize = 1000;

/// The text of a document, with its title and properties.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExtractedDocument {
    /// The format of the bytes.
    pub format: Format,
    /// Markdown or plain text in canonical form: NFC, `\n` line ends, no control characters, not
    /// blank.
    pub text: String,
    /// The title in the document's own metadata or headings.
    pub title: Option<String>,
    /// The document's other metadata. Any format: `author`, `created`, `modified` (dates as
    /// written), `language`, `description`. Text documents and PDF: `pageCount`; presentations:
    /// `slideCount`; workbooks: `sheetCount`. Web pages: `siteName`, `ogImage`, `url`.
    pub properties: BTreeMap<String, String>,
}

impl ExtractedDocument {
    pub(crate) fn new(format: Format, text: String) -> Self {
        Self {
            format,
            text,
            title: None,
            properties: BTreeMap::new(),
        }
    }

    /// Sets a property, unless the value is blank.
    pub(crate) fn set_property(&mut self, name: &str, value: Option<&str>) {
        let value = one_line(value.unwrap_or_default(), MAX_PROPERTY_CHARS);
        if !value.is_empty() {
            self.properties.insert(name.to_owned(), value);
        }
    }

    /// Sets the title, unless it is blank.
    pub(crate) fn set_title(&mut self, title: Option<&str>) {
        let title = one_line(title.unwrap_or_default(), MAX_TITLE_CHARS);
        self.title = (!title.is_empty()).then_some(title);
    }
}

/// Extracts the text of a document in any supported format.
///
/// # Errors
/// A permanent [`ContentFailure`], which a retry does not change. A panic inside a parser is one as
/// well (`corrupt`).
pub fn extract_document(source: &ContentSource) -> Result<ExtractedDocument, ContentFailure> {
    run_guarded(|| read_sniffed(sniff_content(source)?, source))
}

/// Extracts the text with the reader of a given format, whatever the bytes look like. It serves to
/// test a reader with any bytes.
///
/// # Errors
/// As [`extract_document`].
pub fn extract_document_as(
    format: Format,
    bytes: &[u8],
) -> Result<ExtractedDocument, ContentFailure> {
    let is_text =
        format.is_plain() || matches!(format, Format::Csv | Format::Html | Format::Notebook);
    let text = || SniffedContent::Text {
        text: decode_text(bytes, None),
        format,
    };

    let sniffed = if is_text {
        text()
    } else {
        SniffedContent::Binary(format)
    };

    run_guarded(|| {
        read_sniffed(
            sniffed,
            &ContentSource {
                bytes,
                ..ContentSource::default()
            },
        )
    })
}

/// Runs a reader, and brings its text into canonical form.
fn run_guarded(
    extract: impl FnOnce() -> Result<ExtractedDocument, ContentFailure>,
) -> Result<ExtractedDocument, ContentFailure> {
    let Ok(result) = catch_unwind(AssertUnwindSafe(extract)) else {
        return Err(ContentFailure::new(
            FailureCode::Corrupt,
            "The file could not be read: its structure broke the reader.",
        ));
    };

    let mut extracted = result?;
    if extracted.text.len() > MAX_TEXT_BYTES {
        return Err(too_much_text());
    }

    extracted.text = to_canonical(&extracted.text);
    if extracted.text.trim().is_empty() {
        return Err(ContentFailure::new(
            FailureCode::Empty,
            "The document contains no text.",
        ));
    }

    Ok(extracted)
}

/// Returns the failure of a document that expands to more text than [`MAX_TEXT_BYTES`].
pub(crate) fn too_much_text() -> ContentFailure {
    let limit = MAX_TEXT_BYTES / 1024 / 1024;
    ContentFailure::new(
        FailureCode::ContentLimit,
        format!("The document contains more than {limit} MiB of text."),
    )
}

fn read_sniffed(
    sniffed: SniffedContent,
    source: &ContentSource,
) -> Result<ExtractedDocument, ContentFailure> {
    match sniffed {
        SniffedContent::Binary(format) => read_binary(format, source.bytes),
        SniffedContent::Text {
            text,
            format: Format::Html,
        } => html::read_page(&text),
        SniffedContent::Text {
            text,
            format: Format::Markdown,
        } => Ok(markdown::read_markdown(text)),
        SniffedContent::Text {
            text,
            format: Format::Csv,
        } => csv::read_table(text, source.name),
        SniffedContent::Text {
            text,
            format: Format::Notebook,
        } => match notebook::read_notebook(&text) {
            // Other data may contain a notebook, or describe notebooks.
            Err(_) if !source.is_expected(Format::Notebook) => {
                Ok(ExtractedDocument::new(Format::Data, text))
            }
            result => result,
        },
        SniffedContent::Text { text, format } => Ok(ExtractedDocument::new(format, text)),
    }
}

fn read_binary(format: Format, bytes: &[u8]) -> Result<ExtractedDocument, ContentFailure> {
    match format {
        Format::Pdf => pdf::read_pdf(bytes),
        Format::Xlsx | Format::Xls | Format::Ods => sheets::read_workbook(format, bytes),
        Format::Email => mail::read_mail(bytes),
        Format::Image | Format::Audio | Format::Video => {
            let message = format!(
                "This is {}, which has no text that could be extracted.",
                describe_media(format)
            );
            Err(ContentFailure::new(FailureCode::UnsupportedType, message))
        }
        _ => office::read_document(format, bytes),
    }
}

fn describe_media(format: Format) -> &'static str {
    match format {
        Format::Image => "an image",
        Format::Audio => "an audio recording",
        _ => "a video",
    }
}

/// Returns `value` in canonical form on one line, with single spaces and at most `limit`
/// characters.
pub(crate) fn one_line(value: &str, limit: usize) -> String {
    let words = to_canonical(value)
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ");
    words.chars().take(limit).collect()
}

/// Checks whether a title or a name was meant for people. Many programs write a placeholder or the
/// name of their input.
pub(crate) fn is_human_title(value: &str) -> bool {
    const PLACEHOLDERS: [&str; 8] = [
        "untitled",
        "anonymous",
        "unspecified",
        "(anonymous)",
        "none",
        "powerpoint presentation",
        "slide 1",
        "presentation1",
    ];
    let value = value.trim().to_lowercase();
    let file_extensions = [
        ".doc", ".docx", ".dvi", ".tex", ".indd", ".qxd", ".ppt", ".pptx", ".xls",
    ];

    !PLACEHOLDERS.contains(&&*value)
        && !file_extensions
            .iter()
            .any(|extension| value.ends_with(extension))
}
