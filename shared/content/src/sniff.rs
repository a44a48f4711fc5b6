//! Recognition of the format of bytes. The bytes count most, then the file name, then the declared
//! type.

use crate::encoding::{charset_of, decode_text, detect_utf16};
use crate::failure::{ContentFailure, FailureCode};
use crate::format::Format;
use crate::html::{find_charset, is_html_document, is_html_fragment};
use crate::markdown::looks_like_markdown;
use crate::{compound, data, mail, notebook, package};

/// The number of bytes that are examined to distinguish text from binary data.
const SAMPLE_BYTES: usize = 64 * 1024;
/// The number of bytes at the start in which a PDF may begin. Readers accept a kilobyte of anything
/// before it.
const PDF_HEADER_BYTES: usize = 1024;
/// The first bytes of rich text.
const RTF: &[u8] = b"{\\rtf";

/// Bytes as they arrived, with their name and declared type.
#[derive(Debug, Clone, Copy, Default)]
pub struct ContentSource<'a> {
    /// The content itself.
    pub bytes: &'a [u8],
    /// The file name or path, if there is one.
    pub name: Option<&'a str>,
    /// A media type (`text/html; charset=koi8-r`) or the `fileType` of the API (`pdf`, `webpage`).
    pub declared_type: Option<&'a str>,
}

impl ContentSource<'_> {
    /// Checks whether the name or the declared type indicates a format.
    pub(crate) fn is_expected(&self, format: Format) -> bool {
        self.format_hints().contains(&Some(format))
    }

    /// Returns the formats that the name and the declared type indicate.
    fn format_hints(&self) -> [Option<Format>; 2] {
        [
            self.name.and_then(Format::from_file_name),
            self.declared_type.and_then(Format::from_declared_type),
        ]
    }
}

/// Returns the format of a document.
///
/// # Errors
/// `UnsupportedType` for a binary format without a reader, naming it. `Corrupt`, `Encrypted` or
/// `ContentLimit` for a package whose format cannot be determined.
pub fn detect_format(source: &ContentSource) -> Result<Format, ContentFailure> {
    match sniff_content(source)? {
        SniffedContent::Binary(format) | SniffedContent::Text { format, .. } => Ok(format),
    }
}

/// Returns the kind and the media type of an image or a recording, according to its bytes. Does not
/// run a parser.
pub fn detect_media(source: &ContentSource) -> Option<(Format, &'static str)> {
    // A text may begin like an image: `BM`.
    if is_document(source.bytes) || is_text(source.bytes) {
        None
    } else {
        detect_media_type(source)
    }
}

/// Checks whether a document is read without any parser: text, Markdown, code or data. Does not run
/// a parser.
pub fn is_plain_text(source: &ContentSource) -> bool {
    !is_document(source.bytes)
        && is_text(source.bytes)
        && detect_format(source).is_ok_and(Format::is_plain)
}

/// The format, with the decoded text if decoding was necessary to determine it.
pub(crate) enum SniffedContent {
    Binary(Format),
    Text { text: String, format: Format },
}

pub(crate) fn sniff_content(source: &ContentSource) -> Result<SniffedContent, ContentFailure> {
    let bytes = source.bytes;
    let hints = source.format_hints();
    if let Some(format) = detect_binary_format(bytes, hints)? {
        return Ok(SniffedContent::Binary(format));
    }

    if !is_text(bytes) {
        if let Some((format, _)) = detect_media_type(source) {
            return Ok(SniffedContent::Binary(format));
        }
        let hinted_format = hints.into_iter().flatten().find(|hint| hint.is_binary());
        // Something that should be a PDF and is not another known format is a damaged PDF.
        return match (binary_type(bytes), hinted_format) {
            (None, Some(format)) => Ok(SniffedContent::Binary(format)),
            (None, None) => Err(unsupported_failure("an unknown binary file")),
            (Some(found), _) => Err(unsupported_failure(&describe_type(found))),
        };
    }

    if mail::is_message(bytes, hints.contains(&Some(Format::Email))) {
        return Ok(SniffedContent::Binary(Format::Email));
    }

    let declared_charset = source.declared_type.and_then(charset_of);
    let text = decode_text(bytes, declared_charset.or_else(|| find_charset(bytes)));
    let format = detect_text_format(&text, hints);

    Ok(SniffedContent::Text { text, format })
}

/// Checks whether the first bytes are those of a format that has a parser.
fn is_document(bytes: &[u8]) -> bool {
    is_pdf(bytes)
        || bytes.starts_with(RTF)
        || package::is_package(bytes)
        || compound::is_compound(bytes)
}

/// Recognizes the formats whose first bytes are sufficient.
fn detect_binary_format(
    bytes: &[u8],
    hints: [Option<Format>; 2],
) -> Result<Option<Format>, ContentFailure> {
    if is_pdf(bytes) {
        return Ok(Some(Format::Pdf));
    }

    if bytes.starts_with(RTF) {
        return Ok(Some(Format::Rtf));
    }

    if package::is_package(bytes) {
        return Ok(Some(package::detect_format(bytes, hints)?));
    }

    if compound::is_compound(bytes) {
        return Ok(Some(compound::detect_format(bytes, hints)?));
    }

    Ok(None)
}

fn detect_text_format(text: &str, hints: [Option<Format>; 2]) -> Format {
    if is_html_document(text) {
        return Format::Html;
    }

    if notebook::is_notebook(text) {
        return Format::Notebook;
    }

    let [name, declared_format] = hints;
    match name.or(declared_format) {
        Some(Format::Html) if text.contains('<') => Format::Html,
        Some(format @ (Format::Markdown | Format::Code | Format::Csv | Format::Data)) => format,
        // A name such as `notes.log` shows that `# this` is not a heading, whereas a declared
        // `text/plain` says little.
        Some(Format::Text) if name.is_some() => Format::Text,
        _ if data::is_json(text) => Format::Data,
        _ if text.starts_with("#!/") => Format::Code,
        _ if is_html_fragment(text) => Format::Html,
        _ if looks_like_markdown(text) => Format::Markdown,
        _ => Format::Text,
    }
}

fn is_pdf(bytes: &[u8]) -> bool {
    let head = &bytes[..bytes.len().min(PDF_HEADER_BYTES)];
    let Some(at) = head.windows(5).position(|window| window == b"%PDF-") else {
        return false;
    };
    // After the very start, the header counts only in binary data, because a text may mention it.
    head[..at].trim_ascii().is_empty() || !is_text(bytes)
}

/// Recognizes images and recordings. Some containers hold audio or video; for these, the name and
/// the declared type decide.
fn detect_media_type(source: &ContentSource) -> Option<(Format, &'static str)> {
    let found = binary_type(source.bytes)?;
    let is_audio = is_named_audio(source);
    match (found.matcher_type(), found.mime_type()) {
        (infer::MatcherType::Image, media_type) => Some((Format::Image, media_type)),
        (infer::MatcherType::Audio, media_type) => Some((Format::Audio, media_type)),
        (infer::MatcherType::Video, "video/webm" | "video/x-matroska") if is_audio => {
            Some((Format::Audio, "audio/webm"))
        }
        (infer::MatcherType::Video, "video/mp4") if is_audio => Some((Format::Audio, "audio/mp4")),
        (infer::MatcherType::Video, media_type) => Some((Format::Video, media_type)),
        _ => None,
    }
}

/// Checks whether the declared type or the name is that of a recording without pictures.
fn is_named_audio(source: &ContentSource) -> bool {
    let declared = source.declared_type.unwrap_or_default();
    if declared.trim().to_ascii_lowercase().starts_with("audio/") {
        return true;
    }

    let name = source.name.unwrap_or_default().to_ascii_lowercase();
    [".weba", ".mka", ".m4a", ".oga"]
        .iter()
        .any(|end| name.ends_with(end))
}

/// Checks whether the bytes are text in some encoding: almost no control characters, or UTF-16.
fn is_text(bytes: &[u8]) -> bool {
    let sample = &bytes[..bytes.len().min(SAMPLE_BYTES)];
    let has_utf16_mark = sample.starts_with(b"\xFF\xFE") || sample.starts_with(b"\xFE\xFF");
    if has_utf16_mark && binary_type(bytes).is_none() {
        return true;
    }

    let strange_count = sample.iter().filter(|byte| is_strange(**byte)).count();
    if strange_count == 0 {
        return true;
    }

    if detect_utf16(bytes).is_some() {
        return true;
    }

    // A stray control character (terminal logs, form data) does not make a text binary.
    let zero_count = sample.iter().filter(|byte| **byte == 0).count();
    binary_type(bytes).is_none()
        && strange_count <= 1 + sample.len() / 50
        && zero_count <= 1 + sample.len() / 500
}

/// Checks for a control character that no text encoding uses. Escape is not among them, because
/// ISO-2022 and terminals use it.
fn is_strange(byte: u8) -> bool {
    matches!(byte, 0..=8 | 0x0E..=0x1A | 0x1C..=0x1F | 0x7F)
}

/// Returns the type of a known binary format. Text formats of the table are left out.
fn binary_type(bytes: &[u8]) -> Option<infer::Type> {
    infer::get(bytes).filter(|kind| kind.matcher_type() != infer::MatcherType::Text)
}

/// Returns the failure for a format that is recognized but not read.
pub(crate) fn unsupported_failure(description: &str) -> ContentFailure {
    let message = format!("This is {description}, a type that cannot be read here.");
    ContentFailure::new(FailureCode::UnsupportedType, message)
}

fn describe_type(kind: infer::Type) -> String {
    let family = match kind.matcher_type() {
        infer::MatcherType::Archive => "an archive",
        infer::MatcherType::Doc => "an office document",
        infer::MatcherType::Book => "an e-book",
        infer::MatcherType::Font => "a font",
        infer::MatcherType::App => "a program",
        _ => "a binary file",
    };
    format!("{family} ({})", kind.mime_type())
}
