//! The types of files that become documents, and the extensions for their contents.

use domain::document::DocumentType;

/// The media type of folders.
pub(super) const FOLDER_TYPE: &str = "application/vnd.google-apps.folder";
/// The media type of shortcuts.
pub(super) const SHORTCUT_TYPE: &str = "application/vnd.google-apps.shortcut";
/// The prefix of the media types of content that exists only in Google Drive.
const NATIVE_PREFIX: &str = "application/vnd.google-apps.";

/// The format in which sheets are exported.
pub(super) const XLSX: &str = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet";
/// The format in which slides are exported.
pub(super) const PPTX: &str =
    "application/vnd.openxmlformats-officedocument.presentationml.presentation";
const DOCX: &str = "application/vnd.openxmlformats-officedocument.wordprocessingml.document";

/// Returns the document type of a file that exists only in Google Drive and can be exported.
pub(super) fn native_type(media_type: &str) -> Option<DocumentType> {
    match media_type.strip_prefix(NATIVE_PREFIX)? {
        "document" => Some(DocumentType::CloudDoc),
        "spreadsheet" => Some(DocumentType::CloudSheet),
        "presentation" => Some(DocumentType::CloudSlide),
        _ => None,
    }
}

/// Returns the extension for the content of a file, or `None` for a type that is not read.
pub(super) fn extension_of(media_type: &str, name: &str) -> Option<String> {
    let essence = media_type
        .split(';')
        .next()
        .unwrap_or_default()
        .trim()
        .to_ascii_lowercase();
    if essence.starts_with(NATIVE_PREFIX) {
        return None;
    }

    let known_type = TYPE_EXTENSIONS
        .iter()
        .find(|(known_type, _)| *known_type == essence);
    if let Some((_, extension)) = known_type {
        return Some((*extension).to_owned());
    }

    let name_extension = extension_of_name(name);
    if essence.starts_with("text/") {
        return Some(name_extension.unwrap_or_else(|| "txt".to_owned()));
    }

    let is_vague_type = essence.is_empty()
        || essence == "application/octet-stream"
        || essence.starts_with("application/x-");
    if !is_vague_type && essence != "application/javascript" {
        return None;
    }

    name_extension.filter(|extension| READABLE_EXTENSIONS.contains(&extension.as_str()))
}

/// Returns the extension of a name in lower case, if it is short and plain.
fn extension_of_name(name: &str) -> Option<String> {
    let (_, extension) = name.rsplit_once('.')?;
    let is_plain = (1..=10).contains(&extension.len())
        && extension.bytes().all(|byte| byte.is_ascii_alphanumeric());
    is_plain.then(|| extension.to_ascii_lowercase())
}

/// The extensions of the media types that suffice to identify a format.
const TYPE_EXTENSIONS: [(&str, &str); 27] = [
    ("application/pdf", "pdf"),
    ("application/x-pdf", "pdf"),
    (DOCX, "docx"),
    (XLSX, "xlsx"),
    (PPTX, "pptx"),
    ("application/vnd.ms-word.document.macroenabled.12", "docm"),
    ("application/vnd.ms-excel.sheet.macroenabled.12", "xlsm"),
    (
        "application/vnd.ms-powerpoint.presentation.macroenabled.12",
        "pptm",
    ),
    ("application/vnd.oasis.opendocument.text", "odt"),
    ("application/vnd.oasis.opendocument.presentation", "odp"),
    ("application/vnd.oasis.opendocument.spreadsheet", "ods"),
    ("application/msword", "doc"),
    ("application/vnd.ms-excel", "xls"),
    ("application/vnd.ms-powerpoint", "ppt"),
    ("application/rtf", "rtf"),
    ("text/rtf", "rtf"),
    ("application/epub+zip", "epub"),
    ("application/xhtml+xml", "xhtml"),
    ("text/html", "html"),
    ("text/markdown", "md"),
    ("text/x-markdown", "md"),
    ("text/csv", "csv"),
    ("text/tab-separated-values", "tsv"),
    ("application/json", "json"),
    ("application/xml", "xml"),
    ("message/rfc822", "eml"),
    ("application/x-ipynb+json", "ipynb"),
];

/// The extensions that identify a format when the media type is vague.
const READABLE_EXTENSIONS: [&str; 38] = [
    "pdf", "docx", "docm", "xlsx", "xlsm", "pptx", "pptm", "odt", "odp", "ods", "doc", "xls",
    "ppt", "rtf", "epub", "html", "htm", "md", "markdown", "txt", "text", "csv", "tsv", "json",
    "jsonl", "yaml", "yml", "toml", "xml", "eml", "ipynb", "js", "ts", "py", "rs", "sh", "sql",
    "tex",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_read_is_handed_over_by_its_kind_and_never_by_its_name() {
        let cases = [
            ("application/pdf", "Plan", Some("pdf")),
            ("application/pdf", "Plan.docx", Some("pdf")),
            (DOCX, "a.b", Some("docx")),
            ("Text/Markdown; charset=utf-8", "notes", Some("md")),
            ("text/plain", "notes", Some("txt")),
            ("text/plain", "notes.MD", Some("md")),
            ("text/plain", "notes.with spaces", Some("txt")),
            ("text/plain", "ends.", Some("txt")),
            ("text/x-python", "tool.py", Some("py")),
            ("application/octet-stream", "notes.md", Some("md")),
            ("application/x-yaml", "open.yaml", Some("yaml")),
            ("application/octet-stream", "setup.exe", None),
            ("application/octet-stream", "notes", None),
            ("application/zip", "notes.md", None),
            ("application/x-zip-compressed", "all.zip", None),
            ("image/png", "a.png", None),
            ("video/mp4", "a.mp4", None),
            ("application/vnd.google-apps.form", "a.pdf", None),
            ("application/vnd.google-apps.document", "a.md", None),
        ];
        for (media_type, name, expected) in cases {
            assert_eq!(
                extension_of(media_type, name).as_deref(),
                expected,
                "{media_type} {name}"
            );
        }

        assert_eq!(
            native_type("application/vnd.google-apps.spreadsheet"),
            Some(DocumentType::CloudSheet)
        );
        assert_eq!(native_type("application/vnd.google-apps.drawing"), None);
    }
}
