//! The types of document content.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::BodyForm;

/// The type of a document's content, with the names of the API.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum DocumentType {
    /// Everything else: text, markdown, office files, conversations.
    #[default]
    Text,
    /// A PDF file.
    Pdf,
    /// A web page.
    Webpage,
    /// An image.
    Image,
    /// An audio recording.
    Audio,
    /// A video.
    Video,
    /// A text document of Google Drive.
    #[serde(rename = "cloud_doc")]
    CloudDoc,
    /// A presentation of Google Drive.
    #[serde(rename = "cloud_slide")]
    CloudSlide,
    /// A spreadsheet of Google Drive.
    #[serde(rename = "cloud_sheet")]
    CloudSheet,
}

impl DocumentType {
    /// All types.
    pub const ALL: [Self; 9] = [
        Self::Text,
        Self::Pdf,
        Self::Webpage,
        Self::Image,
        Self::Audio,
        Self::Video,
        Self::CloudDoc,
        Self::CloudSlide,
        Self::CloudSheet,
    ];

    /// The types of Google Drive, which cannot be recognized from the content.
    const DRIVE_TYPES: [Self; 3] = [Self::CloudDoc, Self::CloudSheet, Self::CloudSlide];

    /// Returns the name on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Pdf => "pdf",
            Self::Webpage => "webpage",
            Self::Image => "image",
            Self::Audio => "audio",
            Self::Video => "video",
            Self::CloudDoc => "cloud_doc",
            Self::CloudSlide => "cloud_slide",
            Self::CloudSheet => "cloud_sheet",
        }
    }

    /// Returns the type with a name of the wire, or `None` if there is none. The types of Google
    /// Drive are known by both of their names.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|kind| kind.as_str() == name)
            .or_else(|| Self::parse_drive_type(name))
    }

    /// Returns the type of a Google Drive file as declared by a caller who has fetched it there, or
    /// `None` if `declared` is not such a type.
    pub fn parse_drive_type(declared: &str) -> Option<Self> {
        // compat: existing clients know these types by the name of their vendor.
        let kind = declared
            .strip_prefix("cloud_")
            .or_else(|| declared.strip_prefix("google_"))?;
        Self::DRIVE_TYPES
            .into_iter()
            .find(|known| known.as_str().strip_prefix("cloud_") == Some(kind))
    }

    /// Guesses the type of content before its bytes are read: first from the declared type, then
    /// from the name.
    pub fn guess_from_form(form: &BodyForm) -> Self {
        let (name, declared) = match form {
            BodyForm::Url => return Self::Webpage,
            BodyForm::Text | BodyForm::Conversation => return Self::Text,
            BodyForm::File { name, declared } => (name.as_deref(), declared.as_deref()),
        };

        let declared = declared.unwrap_or_default().to_ascii_lowercase();
        let extension = name
            .and_then(|name| name.rsplit_once('.'))
            .map(|(_, end)| end.to_ascii_lowercase());

        if let Some(kind) = Self::parse_drive_type(&declared) {
            return kind;
        }

        match declared.split('/').next().unwrap_or_default() {
            "image" => return Self::Image,
            "audio" => return Self::Audio,
            "video" => return Self::Video,
            _ => {}
        }

        match (declared.as_str(), extension.as_deref().unwrap_or_default()) {
            ("pdf" | "application/pdf", _) | (_, "pdf") => Self::Pdf,
            ("webpage" | "text/html", _) | (_, "html" | "htm" | "xhtml") => Self::Webpage,
            (
                _,
                "png" | "jpg" | "jpeg" | "gif" | "webp" | "bmp" | "tif" | "tiff" | "heic" | "avif",
            ) => Self::Image,
            (_, "mp3" | "wav" | "m4a" | "ogg" | "flac" | "aac" | "opus") => Self::Audio,
            (_, "mp4" | "mov" | "webm" | "mkv" | "avi" | "mpeg") => Self::Video,
            _ => Self::Text,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_of_a_drive_are_known_by_both_names() {
        for (declared, kind) in [
            ("cloud_doc", Some(DocumentType::CloudDoc)),
            ("google_doc", Some(DocumentType::CloudDoc)),
            ("google_sheet", Some(DocumentType::CloudSheet)),
            ("google_slide", Some(DocumentType::CloudSlide)),
            ("google_form", None),
            ("cloud_", None),
            ("doc", None),
            ("text", None),
        ] {
            assert_eq!(DocumentType::parse_drive_type(declared), kind, "{declared}");
            let form = BodyForm::File {
                name: Some("a.md".into()),
                declared: Some(declared.into()),
            };
            assert_eq!(
                DocumentType::guess_from_form(&form),
                kind.unwrap_or_default(),
                "{declared}"
            );
        }

        for kind in DocumentType::ALL {
            assert_eq!(serde_json::json!(kind), kind.as_str());
            assert_eq!(DocumentType::parse(kind.as_str()), Some(kind));
        }
    }
}
