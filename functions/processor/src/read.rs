//! Extracts the canonical text of a document's body, with a reader for each kind of content.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use content::{ContentSource, Format};
use domain::conversation::{self, ConversationTurn};
use domain::ports::TextEmbedder;
use domain::transcript::Transcript;
use domain::{BodyForm, Document, DocumentType, FailureCode, PortError, ProcessingFailure};
use reader::Reader;
use remote::{FetchError, FetchErrorKind, ModelClient, ModelError};
use sandbox::SandboxError;

/// Reads content: a reader of pages and files, and models for pictures, sound and vectors.
#[derive(Clone)]
pub struct ContentReaders {
    /// Fetches pages and runs the parsers.
    pub pages_and_files: Arc<dyn Reader>,
    /// Describes pictures and transcribes recordings.
    pub models: ModelClient,
    /// The model that the operator chose for vectors of texts.
    pub embedder: Option<Arc<dyn TextEmbedder>>,
}

impl ContentReaders {
    /// Checks whether models of the operator read every text, which takes seconds and costs money.
    pub(crate) fn uses_models(&self) -> bool {
        self.models.reads_memories() || self.embedder.is_some()
    }
}

/// A document's canonical text, the data that shapes its chunks, and its own properties.
pub(crate) struct ExtractedText {
    pub(crate) text: String,
    pub(crate) format: Format,
    pub(crate) kind: DocumentType,
    pub(crate) title: Option<String>,
    pub(crate) properties: BTreeMap<String, String>,
    /// The address of a fetched page, after all redirects.
    pub(crate) address: Option<String>,
    /// The turns of a conversation or a transcript and their positions in the text, in characters.
    pub(crate) turns: Vec<(ConversationTurn, Range<usize>)>,
}

impl ExtractedText {
    /// Returns the text of an empty file.
    fn empty() -> Self {
        Self {
            text: String::new(),
            format: Format::Text,
            kind: DocumentType::Text,
            title: None,
            properties: BTreeMap::new(),
            address: None,
            turns: Vec::new(),
        }
    }

    /// Divides a transcript into its turns, as if it had been sent as a conversation. Returns any
    /// other text unchanged.
    fn divided_into_turns(self, body: &[u8]) -> Self {
        let transcript = match self.format {
            Format::Text | Format::Markdown => Transcript::parse(&self.text),
            Format::Data => std::str::from_utf8(body).ok().and_then(Transcript::parse),
            _ => None,
        };
        let Some(transcript) = transcript else {
            return self;
        };

        let (text, turns) = render_turns(transcript.into_turns());
        Self {
            text,
            turns,
            format: Format::Text,
            ..self
        }
    }
}

/// The reason why there is no text.
pub(crate) enum ReadError {
    /// A permanent failure: the document ends as `failed`.
    Failed(ProcessingFailure),
    /// A temporary failure.
    Unavailable(PortError),
}

impl ReadError {
    fn permanent(code: FailureCode, message: impl Into<String>) -> Self {
        Self::Failed(ProcessingFailure {
            code,
            message: message.into(),
        })
    }

    fn unavailable(error: impl std::error::Error + Send + Sync + 'static) -> Self {
        Self::Unavailable(PortError::Unavailable(Box::new(error)))
    }
}

impl ContentReaders {
    /// Reads the body of a document.
    pub(crate) async fn read_body(
        &self,
        document: &Document,
        body: &Bytes,
    ) -> Result<ExtractedText, ReadError> {
        match &document.body.form {
            BodyForm::Conversation => read_turns(body),
            BodyForm::Text if body.trim_ascii().is_empty() => Ok(ExtractedText::empty()),
            BodyForm::Text => {
                let text = self
                    .extract_document(&mark_as_text(body), None, None)
                    .await?;
                Ok(text.divided_into_turns(body))
            }
            BodyForm::Url => {
                self.read_page(document.url.as_deref().unwrap_or_default())
                    .await
            }
            BodyForm::File { name, declared } => {
                let mut text = self
                    .read_bytes(body, name.as_deref(), declared.as_deref())
                    .await?;

                let drive_type = declared.as_deref().and_then(DocumentType::parse_drive_type);
                text.kind = drive_type.unwrap_or(text.kind);
                Ok(text.divided_into_turns(body))
            }
        }
    }

    async fn read_page(&self, url: &str) -> Result<ExtractedText, ReadError> {
        let page = match self.pages_and_files.fetch_page(url).await {
            Ok(page) => page,
            Err(error) => return Err(fetch_error(error)),
        };
        let name = page_file_name(&page.url, page.media_type.as_deref());
        let mut text = self
            .read_bytes(&page.bytes, name, page.media_type.as_deref())
            .await?;
        if text.format.is_plain() || matches!(text.format, Format::Html | Format::Csv) {
            text.kind = DocumentType::Webpage;
        }

        if text.title.as_deref() == name {
            text.title = None;
        }

        text.address = Some(page.url);
        Ok(text)
    }

    /// Reads a file of any kind.
    async fn read_bytes(
        &self,
        bytes: &Bytes,
        name: Option<&str>,
        declared: Option<&str>,
    ) -> Result<ExtractedText, ReadError> {
        let source = ContentSource {
            bytes,
            name,
            declared_type: declared,
        };

        let Some((format, media_type)) = content::detect_media(&source) else {
            return self.extract_document(bytes, name, declared).await;
        };

        let answer = match format {
            Format::Image => self.models.describe_image(bytes, media_type).await,
            _ => {
                self.models
                    .transcribe(bytes.clone(), name.unwrap_or("recording"), media_type)
                    .await
            }
        };

        // The answer of a model is untrusted content as well.
        let description = match answer {
            Ok(answer) => mark_as_text(answer.as_bytes()),
            Err(error) => return Err(model_error(error)),
        };
        let text = self
            .extract_document(&description, Some("description.md"), None)
            .await?;

        Ok(ExtractedText {
            kind: document_type_of(format),
            title: name.map(str::to_owned),
            properties: BTreeMap::new(),
            ..text
        })
    }

    async fn extract_document(
        &self,
        bytes: &[u8],
        name: Option<&str>,
        declared: Option<&str>,
    ) -> Result<ExtractedText, ReadError> {
        let extracted = match self
            .pages_and_files
            .extract_document(bytes, name, declared)
            .await
        {
            Ok(extracted) => extracted,
            Err(SandboxError::Content(failure)) => return Err(content_error(failure)),
            Err(SandboxError::Unavailable(error)) => return Err(ReadError::unavailable(error)),
        };

        Ok(ExtractedText {
            title: extracted.title.or_else(|| name.map(str::to_owned)),
            text: extracted.text,
            format: extracted.format,
            kind: document_type_of(extracted.format),
            properties: extracted.properties,
            address: None,
            turns: Vec::new(),
        })
    }
}

/// Returns the file name in the address of a page. The address of HTML says nothing about the content:
/// `manual.php` names the program that wrote it.
fn page_file_name<'a>(url: &'a str, media_type: Option<&str>) -> Option<&'a str> {
    if media_type.and_then(Format::from_declared_type) == Some(Format::Html) {
        return None;
    }

    let path = url.split(['?', '#']).next().unwrap_or_default();
    path.rsplit('/').next().filter(|name| !name.is_empty())
}

fn document_type_of(format: Format) -> DocumentType {
    match format {
        Format::Pdf => DocumentType::Pdf,
        Format::Html => DocumentType::Webpage,
        Format::Image => DocumentType::Image,
        Format::Audio => DocumentType::Audio,
        Format::Video => DocumentType::Video,
        _ => DocumentType::Text,
    }
}

/// Marks the text of a JSON field as text. A UTF-8 byte order mark in front keeps a text that
/// begins like a certain file type from being read as one. Control characters, which would make it
/// look like a binary file and are dropped from every text, are removed.
fn mark_as_text(text: &[u8]) -> Vec<u8> {
    const UTF8_BOM: &[u8] = b"\xEF\xBB\xBF";
    let is_kept = |byte: &u8| !byte.is_ascii_control() || byte.is_ascii_whitespace();
    let mut marked = UTF8_BOM.to_vec();
    marked.extend(text.iter().filter(|byte| is_kept(byte)));
    marked
}

fn read_turns(body: &[u8]) -> Result<ExtractedText, ReadError> {
    let Ok(stored) = conversation::parse_turns(body) else {
        return Err(ReadError::permanent(
            FailureCode::Corrupt,
            "the stored turns of the conversation cannot be read",
        ));
    };

    let (text, turns) = render_turns(stored);
    Ok(ExtractedText {
        text,
        turns,
        ..ExtractedText::empty()
    })
}

/// Returns the text of a conversation, and its turns with their positions.
fn render_turns(turns: Vec<ConversationTurn>) -> (String, Vec<(ConversationTurn, Range<usize>)>) {
    let turn = |turn: &ConversationTurn| content::Turn {
        role: turn.role.clone(),
        speaker: turn.name.clone(),
        text: turn.text.clone(),
        date: None,
    };
    let rendered: Vec<_> = turns.iter().map(turn).collect();
    let (text, ranges) = content::render_conversation(&rendered);
    (text, turns.into_iter().zip(ranges).collect())
}

fn content_error(failure: content::ContentFailure) -> ReadError {
    use content::FailureCode as Code;
    let code = match failure.code {
        Code::ContentLimit => FailureCode::ContentLimit,
        Code::Encrypted => FailureCode::Encrypted,
        Code::Corrupt => FailureCode::Corrupt,
        Code::UnsupportedType => FailureCode::UnsupportedType,
        Code::Empty => FailureCode::Empty,
    };
    ReadError::permanent(code, failure.message)
}

fn fetch_error(error: FetchError) -> ReadError {
    let code = match error.kind {
        FetchErrorKind::Unavailable => return ReadError::unavailable(error),
        FetchErrorKind::Blocked => FailureCode::FetchBlocked,
        FetchErrorKind::Failed => FailureCode::FetchFailed,
        FetchErrorKind::TooLarge => FailureCode::ContentLimit,
    };
    ReadError::permanent(code, error.message)
}

fn model_error(error: ModelError) -> ReadError {
    match error {
        ModelError::Unavailable => ReadError::unavailable(error),
        // An expired key or a wrong model name says nothing about the picture.
        ModelError::Refused(401 | 403 | 404) => {
            let message = format!(
                "{error}; check RECOLLECT_MODEL_KEY and the names of the models, then retry"
            );
            ReadError::permanent(FailureCode::ProcessingFailed, message)
        }
        ModelError::NotConfigured { .. } | ModelError::Refused(_) | ModelError::Invalid => {
            ReadError::permanent(FailureCode::UnsupportedType, error.to_string())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_address_of_a_page_names_only_files() {
        let name = |media_type| page_file_name("https://h.example/a/manual.php?id=1", media_type);
        assert_eq!(name(Some("text/html; charset=utf-8")), None);
        assert_eq!(name(Some("Application/XHTML+XML")), None);
        assert_eq!(name(Some("text/plain")), Some("manual.php"));
        assert_eq!(name(None), Some("manual.php"));
        assert_eq!(page_file_name("https://h.example/a/", None), None);
    }
}
