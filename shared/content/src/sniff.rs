//! What the bytes are. Trusted in this order: the bytes, the file name, the declared type.

use serde::{Deserialize, Serialize};

use crate::encoding::{charset_of, decode, utf16_without_mark};
use crate::failure::{Failure, FailureCode};
use crate::html::{charset_in_head, is_html_document, is_html_fragment};
use crate::markdown::looks_like_markdown;

/// How many bytes are looked at to tell text from binary.
const SAMPLE_BYTES: usize = 64 * 1024;
/// How far from the start a PDF may begin: readers accept a kilobyte of anything before it.
const PDF_HEADER_BYTES: usize = 1024;

/// Bytes as they arrived, with what was said about them.
#[derive(Debug, Clone, Copy, Default)]
pub struct Source<'a> {
    /// The content itself.
    pub bytes: &'a [u8],
    /// The file name or path, if there was one.
    pub name: Option<&'a str>,
    /// A media type (`text/html; charset=koi8-r`) or the contract's `fileType` (`pdf`, `webpage`).
    pub declared: Option<&'a str>,
}

/// A format that [`crate::extract`] reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Format {
    /// Plain text, source code and data.
    Text,
    /// Markdown.
    Markdown,
    /// A web page or a fragment of one.
    Html,
    /// PDF.
    Pdf,
}

impl Format {
    /// Returns the contract's document type.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Text | Self::Markdown => "text",
            Self::Html => "webpage",
            Self::Pdf => "pdf",
        }
    }

    /// Whether reading it is cheap and cannot harm the process: no parser is involved.
    pub fn is_plain(self) -> bool {
        matches!(self, Self::Text | Self::Markdown)
    }
}

/// Returns the format of a document.
///
/// # Errors
/// `UnsupportedType` for a binary that is no PDF, naming what was found.
pub fn sniff(source: &Source) -> Result<Format, Failure> {
    sniff_text(source).map(|sniffed| match sniffed {
        Sniffed::Pdf => Format::Pdf,
        Sniffed::Text { format, .. } => format,
    })
}

/// The format, with the decoded text where it had to be decoded to tell.
pub(crate) enum Sniffed {
    Pdf,
    Text { text: String, format: Format },
}

pub(crate) fn sniff_text(source: &Source) -> Result<Sniffed, Failure> {
    let bytes = source.bytes;
    let hints = [source.name.and_then(hint_of_name), source.declared.and_then(hint_of_declared)];
    if is_pdf(bytes) {
        return Ok(Sniffed::Pdf);
    }
    if bytes.starts_with(b"{\\rtf") {
        return Err(unsupported("an RTF document"));
    }
    if !is_text(bytes) {
        // Something that should be a PDF and is nothing else is a damaged PDF.
        return match binary_type(bytes) {
            None if hints.contains(&Some(Hint::Pdf)) => Ok(Sniffed::Pdf),
            found => Err(unsupported(&found.map_or("an unknown binary file".to_owned(), name_of))),
        };
    }
    let in_declared = source.declared.and_then(charset_of);
    let text = decode(bytes, in_declared.or_else(|| charset_in_head(bytes)));
    let format = text_format(&text, hints);
    Ok(Sniffed::Text { text, format })
}

/// What a name or a declaration promises.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Hint {
    Text,
    Markdown,
    Html,
    Pdf,
}

fn text_format(text: &str, hints: [Option<Hint>; 2]) -> Format {
    if is_html_document(text) {
        return Format::Html;
    }
    let [name, declared] = hints;
    match name.or(declared) {
        Some(Hint::Html) if text.contains('<') => Format::Html,
        Some(Hint::Markdown) => Format::Markdown,
        // A name such as `notes.py` says that `# this` is no heading; a declared `text/plain` says little.
        Some(Hint::Text) if name.is_some() => Format::Text,
        _ if is_html_fragment(text) => Format::Html,
        _ if looks_like_markdown(text) => Format::Markdown,
        _ => Format::Text,
    }
}

fn hint_of_name(name: &str) -> Option<Hint> {
    let file = name.rsplit(['/', '\\']).next()?;
    let (_, extension) = file.rsplit_once('.')?;
    match extension.to_ascii_lowercase().as_str() {
        "pdf" => Some(Hint::Pdf),
        "html" | "htm" | "xhtml" | "xht" => Some(Hint::Html),
        "md" | "markdown" | "mdown" | "mkd" | "mdx" | "qmd" => Some(Hint::Markdown),
        // A text file may well hold markdown: `README.txt`.
        "txt" | "text" | "" => None,
        _ => Some(Hint::Text),
    }
}

fn hint_of_declared(declared: &str) -> Option<Hint> {
    let essence = declared.split(';').next()?.trim().to_ascii_lowercase();
    match essence.as_str() {
        "pdf" | "application/pdf" | "application/x-pdf" => Some(Hint::Pdf),
        "webpage" | "text/html" | "application/xhtml+xml" => Some(Hint::Html),
        "text/markdown" | "text/x-markdown" | "github_markdown" => Some(Hint::Markdown),
        _ => None,
    }
}

fn is_pdf(bytes: &[u8]) -> bool {
    let head = &bytes[..bytes.len().min(PDF_HEADER_BYTES)];
    let header = head.windows(5).position(|window| window == b"%PDF-");
    // Later than the very start, only in a binary: a text may speak about the header.
    header.is_some_and(|at| head[..at].trim_ascii().is_empty() || !is_text(bytes))
}

/// Whether the bytes read as text in some encoding: no control characters to speak of, or UTF-16.
fn is_text(bytes: &[u8]) -> bool {
    let sample = &bytes[..bytes.len().min(SAMPLE_BYTES)];
    let has_utf16_mark = sample.starts_with(b"\xFF\xFE") || sample.starts_with(b"\xFE\xFF");
    if has_utf16_mark && binary_type(bytes).is_none() {
        return true;
    }
    let strange = sample.iter().filter(|byte| is_strange(**byte)).count();
    if strange == 0 {
        return true;
    }
    if utf16_without_mark(bytes).is_some() {
        return true;
    }
    // A stray control character (terminal logs, form data) does not make text a binary.
    let zeros = sample.iter().filter(|byte| **byte == 0).count();
    binary_type(bytes).is_none() && strange <= 1 + sample.len() / 50 && zeros <= 1 + sample.len() / 500
}

/// Control characters that no encoding of text uses. Escape is not among them: ISO-2022 and terminals.
fn is_strange(byte: u8) -> bool {
    matches!(byte, 0..=8 | 0x0E..=0x1A | 0x1C..=0x1F | 0x7F)
}

/// Returns the type of a known binary format. The texts that the table knows are no binaries.
fn binary_type(bytes: &[u8]) -> Option<infer::Type> {
    infer::get(bytes).filter(|kind| kind.matcher_type() != infer::MatcherType::Text)
}

fn unsupported(what: &str) -> Failure {
    let message = format!("This is {what}, a type that cannot be read here.");
    Failure::new(FailureCode::UnsupportedType, message)
}

fn name_of(kind: infer::Type) -> String {
    let family = match kind.matcher_type() {
        infer::MatcherType::Image => "an image",
        infer::MatcherType::Audio => "an audio recording",
        infer::MatcherType::Video => "a video",
        infer::MatcherType::Archive => "an archive",
        infer::MatcherType::Doc => "an office document",
        infer::MatcherType::Book => "an e-book",
        infer::MatcherType::Font => "a font",
        infer::MatcherType::App => "a program",
        _ => "a binary file",
    };
    format!("{family} ({})", kind.mime_type())
}
