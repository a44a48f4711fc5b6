//! The document: what was accepted, how far its processing has come, and what search serves of it.

mod kind;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

pub use kind::DocumentType;

use crate::blob::BlobRef;
use crate::connection::Origin;
use crate::ids::{ContainerId, CustomId, DocumentId, Revision};
use crate::metadata::Metadata;
use crate::provenance::{Authorship, Provenance};
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

/// When memories are to form. Chunks are searchable as soon as the document is `done`, either way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Dreaming {
    /// When it suits; several documents may be looked at together.
    #[default]
    Dynamic,
    /// At once.
    Instant,
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
    /// How many bytes; 0 while nobody knows.
    pub size: u64,
    /// Until when the client may store the bytes by a pre-signed form; none when they are there already.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub awaited_until: Option<Timestamp>,
    /// When the client sent them; unknown of those from before this was kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sent_at: Option<Timestamp>,
}

/// The last part of the path at which a client stores a file by a form; the object store tells when it has arrived.
pub(crate) const UPLOAD: &str = "upload";
/// The last part of the path at which such a file is kept once it has arrived: no form reaches it.
const KEPT: &str = "kept";

impl Body {
    /// Of a file that comes by a form: the other of the two places where it may lie.
    pub(crate) fn twin(&self) -> Option<BlobRef> {
        let (folder, name) = self.blob.path().rsplit_once('/')?;
        let twin = match name {
            UPLOAD => KEPT,
            KEPT => UPLOAD,
            _ => return None,
        };
        Some(BlobRef::Object(format!("{folder}/{twin}")))
    }
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
    /// A JSON list of [`crate::conversation::Turn`].
    Conversation,
    /// The address of a page; its content is fetched each time it is processed.
    Url,
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
    /// The address may not be fetched: it is not on the public internet.
    FetchBlocked,
    /// The page could not be fetched.
    FetchFailed,
    /// The file was never stored by the form that was handed out for it.
    UploadMissing,
    /// Processing gave up after repeated faults of ours.
    ProcessingFailed,
    /// What was stored of the document cannot be read any more.
    Damaged,
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
            Self::FetchBlocked => "fetch_blocked",
            Self::FetchFailed => "fetch_failed",
            Self::UploadMissing => "upload_missing",
            Self::ProcessingFailed => "processing_failed",
            Self::Damaged => "damaged",
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

/// What was learned from a revision: where its statements lie and who found them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Learned {
    /// Its [`crate::Statements`]; none when it states nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub statements: Option<BlobRef>,
    /// How many.
    pub count: u32,
    /// Which extractor found them: `builtin`, `client`, or the name of a model.
    pub extractor: String,
    /// Why the built-in extractor had to do what a model was asked for; never content.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fallback_reason: Option<String>,
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
    /// The kind of that content.
    #[serde(default)]
    pub kind: DocumentType,
    /// The title of that content.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What was learned from that content; none for chunks only, and for revisions from before memories.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub learned: Option<Learned>,
    /// Whose words that content is; none for revisions from before this was looked at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub authorship: Option<Authorship>,
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
    /// What was learned from that content; none for chunks only, and for revisions from before memories.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub learned: Option<Learned>,
    /// Whose words that content is; none for revisions from before this was looked at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub authorship: Option<Authorship>,
}

impl Indexed {
    /// Where the statements lie.
    pub fn statements(&self) -> Option<&BlobRef> {
        statements(self.learned.as_ref())
    }

    /// Everything that search needs of the revision, and the bytes it came from.
    pub fn blobs(&self) -> impl Iterator<Item = &BlobRef> {
        [&self.pack, &self.body]
            .into_iter()
            .chain(statements(self.learned.as_ref()))
    }
}

impl Extracted {
    /// What processing has made of the revision.
    pub fn blobs(&self) -> impl Iterator<Item = &BlobRef> {
        std::iter::once(&self.pack).chain(statements(self.learned.as_ref()))
    }

    /// Where the statements lie.
    pub fn statements(&self) -> Option<&BlobRef> {
        statements(self.learned.as_ref())
    }
}

fn statements(learned: Option<&Learned>) -> Option<&BlobRef> {
    learned.and_then(|learned| learned.statements.as_ref())
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
    /// The title found in the content, else the file's name.
    pub title: Option<String>,
    /// What else the content says about itself, as in `author`, `created`, `pageCount`, `ogImage`.
    pub properties: BTreeMap<String, String>,
    /// The address that the content is fetched from.
    pub url: Option<String>,
    /// The caller's metadata.
    pub metadata: Metadata,
    /// The caller's path for it.
    pub filepath: Option<String>,
    /// Counts changes of what the caller says about it (metadata, path) while the content stays: the fence of those.
    pub edits: u64,
    /// The metadata that other documents must have for their memories to be considered beside this one's.
    pub filter_by_metadata: Option<Metadata>,
    /// Chunks only, or memories as well.
    pub task_type: TaskType,
    /// When its memories are to form.
    pub dreaming: Dreaming,
    /// When the content is from, if the caller said so.
    pub document_date: Option<Timestamp>,
    /// Whose words the content is, if the caller said so.
    pub provenance: Option<Provenance>,
    /// The item elsewhere that it was made of, when a connection made it.
    pub origin: Option<Origin>,
    /// The newer document of the same customId that a merge has put in its place: this one is kept, and neither listed
    /// nor found.
    pub superseded_by: Option<DocumentId>,
    /// First acceptance.
    pub created_at: Timestamp,
    /// Last change of anything a caller can see.
    pub updated_at: Timestamp,
}

impl Document {
    /// Its title for people: an item's name there, else what its content says.
    pub fn shown_title(&self) -> Option<&str> {
        self.origin
            .as_ref()
            .map(|origin| origin.title.as_str())
            .or(self.title.as_deref())
    }

    /// Its kind for people: what an item is there, else what its content is.
    pub fn shown_kind(&self) -> DocumentType {
        self.origin
            .as_ref()
            .and_then(|origin| origin.kind)
            .unwrap_or(self.kind)
    }

    /// How new its content is: when it was sent, then its id, so that any two differ. One that failed and has nothing that
    /// search could serve is behind all that have or may come to have something.
    pub fn newness(&self) -> (bool, Timestamp, DocumentId) {
        let has_content = self.indexed.is_some() || self.status != Status::Failed;
        (
            has_content,
            self.body.sent_at.unwrap_or(self.created_at),
            self.id.clone(),
        )
    }

    /// Whose words a processed revision is.
    pub(crate) fn authorship_of(&self, revision: &Revision) -> Option<&Authorship> {
        let extracted = self
            .extracted
            .iter()
            .filter(|found| found.revision == *revision);
        let indexed = self
            .indexed
            .iter()
            .filter(|served| served.revision == *revision);
        let known = extracted
            .map(|found| &found.authorship)
            .chain(indexed.map(|served| &served.authorship));
        known.flatten().next()
    }

    /// Whether `revision` is still the newest content.
    pub fn is_current(&self, revision: &Revision) -> bool {
        self.revision == *revision
    }
}
