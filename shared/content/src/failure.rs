//! The reason why a document has no text, worded for the person who sent it.

use serde::{Deserialize, Serialize};

/// The reason of a [`ContentFailure`], as the `errorCode` of the API.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureCode {
    /// Too many pages, too much text, memory or time.
    ContentLimit,
    /// A password is needed to read it.
    Encrypted,
    /// The bytes are not a readable file of their format.
    Corrupt,
    /// No reader supports the format.
    UnsupportedType,
    /// The file can be read, but has no text.
    Empty,
}

impl FailureCode {
    /// Returns the code on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ContentLimit => "content_limit",
            Self::Encrypted => "encrypted",
            Self::Corrupt => "corrupt",
            Self::UnsupportedType => "unsupported_type",
            Self::Empty => "empty",
        }
    }
}

/// A permanent failure to read a document: the same bytes fail in the same way again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{message}")]
pub struct ContentFailure {
    /// The reason, for programs.
    pub code: FailureCode,
    /// One sentence for the person who sent the file. It never contains any of its content.
    pub message: String,
}

impl ContentFailure {
    /// Creates a failure with its sentence.
    pub fn new(code: FailureCode, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
        }
    }
}
