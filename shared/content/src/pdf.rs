//! The text layer of a PDF as paragraphs, with the headings of its outline.

use std::collections::HashMap;

use docling_pdf::info::document_info;
use docling_pdf::outline::extract_outline;
use docling_pdf::pdf_meta::PdfMeta;
use docling_pdf::textparse::PageTextParser;
use docling_pdf::{PdfError, TextOptions, convert_text_layer_pages_opts};
use unpdf::Unpdf;

use crate::extract::{ExtractedDocument, MAX_TEXT_BYTES, is_human_title, too_much_text};
use crate::failure::{ContentFailure, FailureCode};
use crate::format::Format;
use crate::markdown::parse_atx_heading;

/// The most pages that are read.
pub const MAX_PAGES: usize = 5_000;

/// The number of pages that are read at once.
const PART_PAGES: usize = 50;

pub(crate) fn read_pdf(bytes: &[u8]) -> Result<ExtractedDocument, ContentFailure> {
    let result = parse_pdf(bytes);
    // The encryption of some producers is unknown to the reader, but the key is in clear text.
    if let Err(failure) = &result
        && failure.code == FailureCode::Corrupt
        && bytes.windows(8).any(|window| window == b"/Encrypt")
    {
        return Err(unknown_encryption_failure());
    }

    result
}

fn parse_pdf(bytes: &[u8]) -> Result<ExtractedDocument, ContentFailure> {
    let pages = count_pages(bytes)?;
    let mut markdown = read_text_layer(bytes, pages)?;
    if markdown.trim().is_empty() {
        markdown = read_sparse_text(bytes);
    }

    if markdown.trim().is_empty() {
        markdown = read_with_fallback(bytes);
    }

    if markdown.len() > MAX_TEXT_BYTES {
        return Err(too_much_text());
    }

    if markdown.trim().is_empty() {
        let message = "The PDF has no text layer that can be read: its pages are probably images.";
        return Err(ContentFailure::new(FailureCode::Empty, message));
    }

    let mut extracted = ExtractedDocument::new(Format::Pdf, restore_headings(&markdown, bytes));
    extracted.set_property("pageCount", Some(&pages.to_string()));
    set_metadata(bytes, &mut extracted);

    Ok(extracted)
}

/// Returns the text layer, part by part for a long document. The reader joins paragraphs across
/// pages, in time that grows with the square of the text it joins.
fn read_text_layer(bytes: &[u8], pages: usize) -> Result<String, ContentFailure> {
    if pages <= PART_PAGES {
        return convert_pages(bytes, None);
    }

    let mut markdown = convert_pages(bytes, Some((1, PART_PAGES)))?;
    if markdown.trim().is_empty() {
        // The document may be a scan, in which case each part would process all pages again.
        return convert_pages(bytes, None);
    }

    for first in (1..=pages).step_by(PART_PAGES).skip(1) {
        let last = pages.min(first + PART_PAGES - 1);
        // The pages that the file counts do not always exist.
        let Ok(next) = convert_pages(bytes, Some((first, last))) else {
            break;
        };
        markdown.push_str("\n\n");
        markdown.push_str(&next);
        if markdown.len() > MAX_TEXT_BYTES {
            return Err(too_much_text());
        }
    }

    Ok(markdown)
}

/// Returns the text layer of these pages, or of all.
fn convert_pages(bytes: &[u8], pages: Option<(usize, usize)>) -> Result<String, ContentFailure> {
    let options = TextOptions {
        word_gap: None,
        keep_typography: true,
    };
    match convert_text_layer_pages_opts(bytes, "", pages, options) {
        Ok(document) => Ok(document.export_to_markdown()),
        Err(error) => Err(failure_from_error(error)),
    }
}

fn count_pages(bytes: &[u8]) -> Result<usize, ContentFailure> {
    let meta = match PdfMeta::open_with_password(bytes, None) {
        Ok(Some(meta)) => meta,
        Ok(None) => return Err(corrupt_failure()),
        Err(error) => return Err(failure_from_error(error)),
    };
    match meta.page_count() {
        0 => Err(corrupt_failure()),
        pages if pages > MAX_PAGES => {
            let message = format!("The PDF has {pages} pages; at most {MAX_PAGES} are read.");
            Err(ContentFailure::new(FailureCode::ContentLimit, message))
        }
        pages => Ok(pages),
    }
}

fn unknown_encryption_failure() -> ContentFailure {
    ContentFailure::new(
        FailureCode::Encrypted,
        "The PDF is encrypted in a way that cannot be read here.",
    )
}

fn corrupt_failure() -> ContentFailure {
    ContentFailure::new(
        FailureCode::Corrupt,
        "The PDF is damaged or incomplete: its structure could not be read.",
    )
}

fn failure_from_error(error: PdfError) -> ContentFailure {
    match error {
        PdfError::Encrypted(reason) if reason.needs_password() => ContentFailure::new(
            FailureCode::Encrypted,
            "The PDF is encrypted: it opens only with a password.",
        ),
        PdfError::Encrypted(_) => unknown_encryption_failure(),
        _ => corrupt_failure(),
    }
}

/// Returns the lines of a document with next to no text, which the converter takes for a scan.
fn read_sparse_text(bytes: &[u8]) -> String {
    let Some(mut parser) = PageTextParser::open(bytes) else {
        return String::new();
    };

    let mut lines = String::new();
    for page in 0..parser.page_count() {
        for cell in parser.text_page(page).cells {
            lines.push_str(cell.text.trim());
            lines.push('\n');
        }
    }

    lines
}

/// Returns the text that another reader finds, which supports more fonts.
fn read_with_fallback(bytes: &[u8]) -> String {
    let reader = Unpdf::new().sequential().with_images(false);
    match reader.parse_bytes(bytes) {
        Ok(document) => document.to_markdown().unwrap_or_default(),
        Err(_) => String::new(),
    }
}

/// Sets the title and the properties from the document information dictionary.
fn set_metadata(bytes: &[u8], extracted: &mut ExtractedDocument) {
    for (key, value) in document_info(bytes, None) {
        match key.as_str() {
            "Title" if is_human_title(&value) => extracted.set_title(Some(&value)),
            "Author" if is_human_title(&value) => extracted.set_property("author", Some(&value)),
            "Subject" if is_human_title(&value) => {
                extracted.set_property("description", Some(&value))
            }
            "CreationDate" => extracted.set_property("created", Some(&value)),
            "ModDate" => extracted.set_property("modified", Some(&value)),
            _ => {}
        }
    }
}

/// Marks the paragraphs that are in the outline of the file as headings, and removes the escapes of
/// the Markdown export, which protect characters that have no meaning in a chunk or to a reader.
fn restore_headings(markdown: &str, bytes: &[u8]) -> String {
    let mut levels: HashMap<String, usize> = HashMap::new();
    for item in extract_outline(bytes) {
        let title = comparable_title(&item.title);
        if !title.is_empty() {
            levels.entry(title).or_insert(item.level);
        }
    }

    let mut out = String::with_capacity(markdown.len());
    for line in markdown.lines() {
        let line = unescape_markdown(line);
        match levels.remove(&comparable_title(&line)) {
            Some(level) if !line.starts_with('#') => {
                out.push_str(&"#".repeat((level + 1).min(6)));
                out.push(' ');
            }
            // This is running text that would be read as a heading.
            None if parse_atx_heading(&line).is_some() => out.push('\\'),
            _ => {}
        }
        out.push_str(&line);
        out.push('\n');
    }

    out
}

/// Returns the letters and digits of a title, so that the dots and spaces of numbering do not
/// matter in comparisons.
fn comparable_title(title: &str) -> String {
    title
        .chars()
        .filter(|character| character.is_alphanumeric())
        .flat_map(char::to_lowercase)
        .collect()
}

fn unescape_markdown(line: &str) -> String {
    let line = line
        .replace("\\_", "_")
        .replace("\\*", "*")
        .replace("&lt;", "<")
        .replace("&gt;", ">");
    line.replace("&amp;", "&")
}
