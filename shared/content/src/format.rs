//! The formats, and the format that a file name or a declared type indicates.

use serde::{Deserialize, Serialize};

/// A format that [`crate::sniff`] recognizes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Format {
    /// Plain text.
    Text,
    /// Source code.
    Code,
    /// JSON, YAML, TOML, XML and similar formats.
    Data,
    /// A table as text: CSV, TSV.
    Csv,
    /// Markdown.
    Markdown,
    /// A web page or a fragment of one.
    Html,
    /// PDF.
    Pdf,
    /// A text document of Word since 2007.
    Docx,
    /// A presentation of `PowerPoint` since 2007.
    Pptx,
    /// A workbook of Excel since 2007, including the binary format.
    Xlsx,
    /// A text document of Word until 2003.
    Doc,
    /// A presentation of `PowerPoint` until 2003.
    Ppt,
    /// A workbook of Excel until 2003.
    Xls,
    /// An `OpenDocument` text.
    Odt,
    /// An `OpenDocument` presentation.
    Odp,
    /// An `OpenDocument` workbook.
    Ods,
    /// An EPUB e-book.
    Epub,
    /// Rich text.
    Rtf,
    /// A mail message.
    Email,
    /// A Jupyter notebook.
    Notebook,
    /// An image. It is left to a model; no reader of this crate supports it.
    Image,
    /// An audio recording. It is left to a model; no reader of this crate supports it.
    Audio,
    /// A video. It is left to a model; no reader of this crate supports it.
    Video,
}

impl Format {
    /// Returns the document type of the API.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Html => "webpage",
            Self::Pdf => "pdf",
            Self::Image => "image",
            Self::Audio => "audio",
            Self::Video => "video",
            _ => "text",
        }
    }

    /// Checks whether reading it is cheap and cannot harm the process. Its text is its bytes, so no
    /// parser is involved, and the memory that it takes is a few times its size.
    pub fn is_plain(self) -> bool {
        matches!(self, Self::Text | Self::Markdown | Self::Code | Self::Data)
    }

    /// Checks for an image or a recording, which has no text to extract.
    pub fn is_media(self) -> bool {
        matches!(self, Self::Image | Self::Audio | Self::Video)
    }

    /// Checks for a format whose bytes are never text, so that unknown bytes under its name are a
    /// damaged file.
    pub(crate) fn is_binary(self) -> bool {
        !self.is_plain()
            && !self.is_media()
            && !matches!(self, Self::Csv | Self::Html | Self::Email | Self::Notebook)
    }

    /// Returns the format that the extension of a file name indicates. `.txt` indicates nothing,
    /// because such a file may contain Markdown.
    pub(crate) fn from_file_name(name: &str) -> Option<Self> {
        let file = name.rsplit(['/', '\\']).next()?;
        let extension = file
            .rsplit_once('.')
            .map(|(_, extension)| extension.to_ascii_lowercase());
        match extension.as_deref() {
            Some("txt" | "text" | "") => None,
            Some(extension) => Some(format_of_extension(extension).unwrap_or(Self::Text)),
            None => CODE_FILES.contains(&file).then_some(Self::Code),
        }
    }

    /// Returns the format that a media type, or the `fileType` of the API, indicates.
    pub fn from_declared_type(declared: &str) -> Option<Self> {
        let media_type = declared.split(';').next()?.trim().to_ascii_lowercase();

        match media_type.as_str() {
            "pdf" | "application/pdf" | "application/x-pdf" => Some(Self::Pdf),
            "webpage" | "text/html" | "application/xhtml+xml" => Some(Self::Html),
            "text/markdown" | "text/x-markdown" | "github_markdown" => Some(Self::Markdown),
            "text/csv" | "text/tab-separated-values" => Some(Self::Csv),
            "application/json" | "application/yaml" | "application/toml" => Some(Self::Data),
            "application/x-yaml" | "text/yaml" | "application/xml" | "text/xml" => Some(Self::Data),
            "message/rfc822" | "application/mbox" => Some(Self::Email),
            "application/rtf" | "text/rtf" => Some(Self::Rtf),
            "application/epub+zip" => Some(Self::Epub),
            "application/msword" => Some(Self::Doc),
            "application/vnd.ms-excel" => Some(Self::Xls),
            "application/vnd.ms-powerpoint" => Some(Self::Ppt),
            "application/x-ipynb+json" => Some(Self::Notebook),
            _ => format_of_office_type(&media_type),
        }
    }
}

fn format_of_office_type(media_type: &str) -> Option<Format> {
    let kinds = [
        (
            "application/vnd.openxmlformats-officedocument.wordprocessingml",
            Format::Docx,
        ),
        (
            "application/vnd.openxmlformats-officedocument.presentationml",
            Format::Pptx,
        ),
        (
            "application/vnd.openxmlformats-officedocument.spreadsheetml",
            Format::Xlsx,
        ),
        ("application/vnd.oasis.opendocument.text", Format::Odt),
        (
            "application/vnd.oasis.opendocument.presentation",
            Format::Odp,
        ),
        (
            "application/vnd.oasis.opendocument.spreadsheet",
            Format::Ods,
        ),
    ];

    for (prefix, format) in kinds {
        if media_type.starts_with(prefix) {
            return Some(format);
        }
    }

    None
}

/// Names of code files without an extension.
const CODE_FILES: [&str; 6] = [
    "Makefile",
    "Dockerfile",
    "Jenkinsfile",
    "Rakefile",
    "Gemfile",
    "Vagrantfile",
];

fn format_of_extension(extension: &str) -> Option<Format> {
    Some(match extension {
        "pdf" => Format::Pdf,
        "html" | "htm" | "xhtml" | "xht" => Format::Html,
        "md" | "markdown" | "mdown" | "mkd" | "mdx" | "qmd" => Format::Markdown,
        "csv" | "tsv" | "tab" => Format::Csv,
        "json" | "jsonl" | "ndjson" | "json5" | "geojson" | "yaml" | "yml" | "toml" | "xml" => {
            Format::Data
        }
        "docx" | "docm" | "dotx" | "dotm" => Format::Docx,
        "pptx" | "pptm" | "ppsx" | "ppsm" | "potx" => Format::Pptx,
        "xlsx" | "xlsm" | "xltx" | "xlsb" => Format::Xlsx,
        "doc" | "dot" => Format::Doc,
        "ppt" | "pps" => Format::Ppt,
        "xls" | "xlt" => Format::Xls,
        "odt" | "ott" => Format::Odt,
        "odp" | "otp" => Format::Odp,
        "ods" | "ots" => Format::Ods,
        "epub" => Format::Epub,
        "rtf" => Format::Rtf,
        "eml" | "mbox" => Format::Email,
        "ipynb" => Format::Notebook,
        "bash" | "bat" | "c" | "cc" | "clj" | "cpp" | "cs" | "css" | "cts" | "cxx" | "dart"
        | "el" | "erl" | "ex" | "exs" | "f90" | "fs" | "go" | "gradle" | "groovy" | "h" | "hh"
        | "hpp" | "hs" | "hxx" | "java" | "jl" | "js" | "jsx" | "kt" | "kts" | "less" | "lua"
        | "m" | "mjs" | "ml" | "mm" | "mts" | "nim" | "php" | "pl" | "pm" | "proto" | "ps1"
        | "py" | "pyi" | "r" | "rb" | "rs" | "sass" | "scala" | "scss" | "sh" | "sol" | "sql"
        | "svelte" | "swift" | "tf" | "ts" | "tsx" | "v" | "vb" | "vue" | "zig" | "zsh" => {
            Format::Code
        }
        _ => return None,
    })
}
