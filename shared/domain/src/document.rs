//! The document: what was accepted, how far its processing has come, and what search serves of it.

use serde::{Deserialize, Serialize};

use crate::blob::BlobRef;
use crate::ids::{ContainerId, CustomId, DocumentId, Revision};
use crate::metadata::Metadata;
use crate::tag::ContainerTag;
use crate::time::Timestamp;

/// Where a document stands. `Done` and `Failed` are final until its content changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// Accepted and recorded.
    Queued,
    /// A worker turns its bytes into text.
    Extracting,
    /// The text is cut into chunks.
    Chunking,
    /// The chunks get their vectors.
    Embedding,
    /// Everything is computed and waits for the container's commit.
    Indexing,
    /// Searchable.
    Done,
    /// Could not be processed; says why and stays.
    Failed,
}

impl Status {
    /// The name on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Extracting => "extracting",
            Self::Chunking => "chunking",
            Self::Embedding => "embedding",
            Self::Indexing => "indexing",
            Self::Done => "done",
            Self::Failed => "failed",
        }
    }

    /// Reads a name that [`Status::as_str`] wrote.
    pub fn parse(text: &str) -> Option<Self> {
        [
            Self::Queued,
            Self::Extracting,
            Self::Chunking,
            Self::Embedding,
            Self::Indexing,
            Self::Done,
            Self::Failed,
        ]
        .into_iter()
        .find(|status| status.as_str() == text)
    }

    /// Whether no worker will touch the document again unless somebody asks.
    pub fn is_final(self) -> bool {
        matches!(self, Self::Done | Self::Failed)
    }
}

/// What the content is, by the contract's names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DocumentType {
    /// Plain text, markdown, conversations.
    Text,
    /// A PDF file.
    Pdf,
    /// A web page.
    Webpage,
}

/// Whether memories are made of a document beside its chunks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TaskType {
    /// Chunks and memories.
    #[default]
    Memory,
    /// Chunks only.
    Superrag,
}

/// What the raw bytes are and where they lie.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Body {
    /// The bytes.
    pub blob: BlobRef,
    /// How the bytes are to be read.
    pub form: BodyForm,
    /// SHA-256 of the bytes and of everything else that processing reads, in hex: equal means nothing to do.
    pub hash: String,
    /// How many bytes.
    pub size: u64,
}

/// How a body is to be read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "form", rename_all = "lowercase")]
pub enum BodyForm {
    /// UTF-8 text sent in a JSON field.
    Text,
    /// A file with what the client said about it.
    File {
        /// The file's name.
        name: Option<String>,
        /// The declared MIME type or contract file type.
        declared: Option<String>,
    },
    /// A JSON list of turns.
    Conversation,
}

/// Why a document could not be processed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureCode {
    /// Over a limit of size, pages, memory or time.
    ContentLimit,
    /// Protected by a password.
    Encrypted,
    /// Damaged, or not what it claims to be.
    Corrupt,
    /// A kind that is not read (yet).
    UnsupportedType,
    /// No text in it.
    Empty,
    /// Processing gave up after repeated faults of ours.
    ProcessingFailed,
}

impl FailureCode {
    /// The contract's `errorCode`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ContentLimit => "content_limit",
            Self::Encrypted => "encrypted",
            Self::Corrupt => "corrupt",
            Self::UnsupportedType => "unsupported_type",
            Self::Empty => "empty",
            Self::ProcessingFailed => "processing_failed",
        }
    }
}

/// A failure with its reason, as the client sees it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// The kind.
    pub code: FailureCode,
    /// One sentence for a person; never content.
    pub message: String,
}

/// What search serves of a document: one revision, complete.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Indexed {
    /// The revision whose chunks are in the index.
    pub revision: Revision,
    /// Its chunks, vectors and canonical text.
    pub pack: BlobRef,
    /// The bytes it came from; kept to know what to delete when it is replaced.
    pub body: BlobRef,
    /// How many chunks.
    pub chunks: u32,
}

/// What processing found out, waiting for the commit or committed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Extracted {
    /// The revision this was computed from.
    pub revision: Revision,
    /// Chunks, vectors and canonical text.
    pub pack: BlobRef,
    /// How many chunks.
    pub chunks: u32,
    /// The kind that the bytes turned out to be.
    pub kind: DocumentType,
    /// A title found in the content.
    pub title: Option<String>,
}

/// A document's record.
#[derive(Debug, Clone, PartialEq)]
pub struct Document {
    /// Identity.
    pub id: DocumentId,
    /// The physical container it lives in.
    pub container: ContainerId,
    /// The tag it was sent with.
    pub tag: ContainerTag,
    /// The caller's own identifier.
    pub custom_id: Option<CustomId>,
    /// The newest accepted content.
    pub revision: Revision,
    /// Counts accepted contents from 1; `latestRevision` on the wire.
    pub revision_number: u64,
    /// Where the newest content stands.
    pub status: Status,
    /// Why it failed, when it did.
    pub failure: Option<Failure>,
    /// How often a worker has begun with this revision.
    pub attempts: u32,
    /// Until when a worker has it for itself.
    pub lease_until: Timestamp,
    /// The newest bytes.
    pub body: Body,
    /// What processing found out about the newest bytes.
    pub extracted: Option<Extracted>,
    /// What search serves: the newest complete revision.
    pub indexed: Option<Indexed>,
    /// Best knowledge of the kind.
    pub kind: DocumentType,
    /// A title given by the client or found in the content.
    pub title: Option<String>,
    /// The caller's metadata.
    pub metadata: Metadata,
    /// The caller's path for it.
    pub filepath: Option<String>,
    /// Chunks only, or memories as well.
    pub task_type: TaskType,
    /// When the content is from, if the caller said so.
    pub document_date: Option<Timestamp>,
    /// First acceptance.
    pub created_at: Timestamp,
    /// Last change of anything a caller can see.
    pub updated_at: Timestamp,
}

impl Document {
    /// Whether `revision` is still the newest content.
    pub fn is_current(&self, revision: &Revision) -> bool {
        self.revision == *revision
    }
}
