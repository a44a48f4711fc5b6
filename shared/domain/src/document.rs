//! Documents: what was accepted, how far its processing has come, and what search serves.

mod kind;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use kind::DocumentType;

use crate::blob::BlobRef;
use crate::connection::DocumentOrigin;
use crate::ids::{ContainerId, CustomId, DocumentId, Revision};
use crate::memory::Statement;
use crate::metadata::Metadata;
use crate::provenance::{Authorship, Provenance};
use crate::tag::ContainerTag;
use crate::time::Timestamp;

/// The status of a document. `done` and `failed` are final until its content changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum DocumentStatus {
    /// Accepted and recorded.
    Queued,
    /// A worker is extracting the text.
    Extracting,
    /// The text is being cut into chunks.
    Chunking,
    /// The chunks are being embedded.
    Embedding,
    /// Everything is computed and waits for the commit of the container.
    Indexing,
    /// Searchable.
    Done,
    /// Processing failed. The document stays, with the reason.
    Failed,
}

impl DocumentStatus {
    /// Returns the name on the wire.
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

    /// Parses a name that [`DocumentStatus::as_str`] returned.
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

    /// Checks whether the status is final: no worker processes the document again unless it is
    /// asked to.
    pub fn is_final(self) -> bool {
        matches!(self, Self::Done | Self::Failed)
    }
}

/// The time at which memories are formed. Either way, chunks are searchable as soon as the document
/// is `done`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Dreaming {
    /// At a convenient time, possibly for several documents together.
    #[default]
    Dynamic,
    /// Immediately.
    Instant,
}

/// The kinds of results that processing produces.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum TaskType {
    /// Chunks and memories.
    #[default]
    Memory,
    /// Chunks only.
    Superrag,
}

/// The raw bytes of a document: their location and their form.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DocumentBody {
    /// The reference to the bytes.
    pub blob: BlobRef,
    /// The form in which the bytes are to be read.
    pub form: BodyForm,
    /// The SHA-256 of the bytes and of everything else that processing reads, in hex. If it is
    /// equal, nothing has to be processed.
    pub hash: String,
    /// The number of bytes, or 0 while it is unknown.
    pub size: u64,
    /// The time until which the client may store the bytes with a pre-signed form, or `None` when
    /// they have already been stored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub awaited_until: Option<Timestamp>,
    /// The time at which the client sent them. Unknown for bytes from before this time was
    /// recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sent_at: Option<Timestamp>,
}

/// The last component of the path at which a client stores a file with a form. The object store
/// reports when the file has arrived.
pub const UPLOAD_NAME: &str = "upload";
/// The last component of the path to which such a file is copied once it has arrived. No form can
/// write to it.
const PROTECTED_NAME: &str = "kept";

impl DocumentBody {
    /// Returns the other of the two locations of a file that was uploaded with a form, or `None`
    /// for any other file.
    pub fn other_upload_location(&self) -> Option<BlobRef> {
        let (folder, name) = self.blob.path().rsplit_once('/')?;
        let other_name = match name {
            UPLOAD_NAME => PROTECTED_NAME,
            PROTECTED_NAME => UPLOAD_NAME,
            _ => return None,
        };
        Some(BlobRef::Object(format!("{folder}/{other_name}")))
    }
}

/// The form in which a body is to be read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "form", rename_all = "lowercase")]
pub enum BodyForm {
    /// UTF-8 text sent in a JSON field.
    Text,
    /// A file, with what the client said about it.
    File {
        /// The name of the file.
        name: Option<String>,
        /// The declared MIME type or file type of the API.
        declared: Option<String>,
    },
    /// A JSON list of [`crate::conversation::ConversationTurn`].
    Conversation,
    /// The address of a page, whose content is fetched each time the document is processed.
    Url,
}

/// The reasons for which a document cannot be processed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FailureCode {
    /// The content exceeds a limit on size, pages, memory or time.
    ContentLimit,
    /// The file is protected by a password.
    Encrypted,
    /// The file is damaged, or is not of the type that it claims to be.
    Corrupt,
    /// The type of the file is not supported.
    UnsupportedType,
    /// The content has no text.
    Empty,
    /// The address may not be fetched, because it is not on the public internet.
    FetchBlocked,
    /// The page could not be fetched.
    FetchFailed,
    /// The client never stored the file with the form that it was given.
    UploadMissing,
    /// Processing gave up after repeated internal faults.
    ProcessingFailed,
    /// What was stored of the document can no longer be read. Its content has to be sent again.
    Damaged,
}

impl FailureCode {
    /// Returns the `errorCode` of the API.
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
pub struct ProcessingFailure {
    /// The code of the failure.
    pub code: FailureCode,
    /// One sentence for a person. It never has any of the content.
    pub message: String,
}

/// The result of extracting statements from a revision.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StatementsRef {
    /// The blob of the [`crate::StatementSet`], or `None` when there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub statements: Option<BlobRef>,
    /// The number of statements.
    pub count: u32,
    /// The number of requests to forget something, which are not counted among the statements.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub forget_requests: u32,
    /// The extractor that found them: `builtin`, `client`, or the name of a model.
    pub extractor: String,
    /// The reason for which the built-in extractor was used in place of a model. It never has any
    /// of the content.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fallback_reason: Option<String>,
}

impl StatementsRef {
    /// Creates a record of statements that are not stored yet.
    pub fn new(statements: &[Statement], extractor: &str, fallback_reason: Option<String>) -> Self {
        let requests = statements
            .iter()
            .filter(|statement| statement.only_retracts());
        let forget_requests = u32::try_from(requests.count()).unwrap_or(u32::MAX);
        let count = u32::try_from(statements.len()).unwrap_or(u32::MAX);

        Self {
            statements: None,
            count: count.saturating_sub(forget_requests),
            forget_requests,
            extractor: extractor.to_owned(),
            fallback_reason,
        }
    }
}

/// Checks whether a count is left out of the stored form.
fn is_zero(count: &u32) -> bool {
    *count == 0
}

/// The most bytes of a short text.
const MAX_SHORT_TEXT_BYTES: u64 = 32 * 1024;

/// The most characters of a summary.
pub const MAX_SUMMARY_CHARS: usize = 400;
/// The most bytes of a summary, because the records of all documents in a list are read. A script
/// with three bytes a character says in 200 characters what others say in 400.
pub const MAX_SUMMARY_BYTES: usize = 600;

/// Checks whether a text is short enough for the summary of a document.
pub fn fits_summary(text: &str) -> bool {
    text.len() <= MAX_SUMMARY_BYTES && text.chars().count() <= MAX_SUMMARY_CHARS
}

/// The indexed content of a document: one complete revision, which search serves.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct IndexedRevision {
    /// The revision whose chunks are in the index.
    pub revision: Revision,
    /// The blob with its chunks, embeddings and canonical text.
    pub pack: BlobRef,
    /// The bytes that the revision was made from, kept so that they can be deleted when it is
    /// replaced.
    pub body: BlobRef,
    /// The number of chunks.
    pub chunks: u32,
    /// The type of that content.
    #[serde(default)]
    pub kind: DocumentType,
    /// The title of that content.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The statements of that content, or `None` for a document with chunks only and for revisions
    /// from before memories were introduced.
    #[serde(rename = "learned", default, skip_serializing_if = "Option::is_none")]
    pub statements_ref: Option<StatementsRef>,
    /// The authorship of that content, or `None` for revisions from before it was determined.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub authorship: Option<Authorship>,
    /// The summary of that content, or `None` if it has none, and for revisions from before
    /// summaries were made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
}

/// The results of processing, before or after their commit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessingResult {
    /// The revision that the results were computed from.
    pub revision: Revision,
    /// The blob with the chunks, embeddings and canonical text.
    pub pack: BlobRef,
    /// The number of chunks.
    pub chunks: u32,
    /// The statements of that content, or `None` for a document with chunks only and for revisions
    /// from before memories were introduced.
    #[serde(rename = "learned", default, skip_serializing_if = "Option::is_none")]
    pub statements_ref: Option<StatementsRef>,
    /// The authorship of that content, or `None` for revisions from before it was determined.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub authorship: Option<Authorship>,
    /// The summary of that content, or `None` if it has none, and for revisions from before
    /// summaries were made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
}

impl IndexedRevision {
    /// Returns the blob of the statements.
    pub fn statements_blob(&self) -> Option<&BlobRef> {
        statements_blob(self.statements_ref.as_ref())
    }

    /// Returns all blobs that search needs of the revision, and the bytes that it was made from.
    pub fn all_blobs(&self) -> impl Iterator<Item = &BlobRef> {
        [&self.pack, &self.body]
            .into_iter()
            .chain(statements_blob(self.statements_ref.as_ref()))
    }
}

impl ProcessingResult {
    /// Returns the blobs that processing has made from the revision.
    pub fn blobs(&self) -> impl Iterator<Item = &BlobRef> {
        std::iter::once(&self.pack).chain(statements_blob(self.statements_ref.as_ref()))
    }

    /// Returns the blob of the statements.
    pub fn statements(&self) -> Option<&BlobRef> {
        statements_blob(self.statements_ref.as_ref())
    }
}

fn statements_blob(statements_ref: Option<&StatementsRef>) -> Option<&BlobRef> {
    statements_ref?.statements.as_ref()
}

/// The record of a document.
#[derive(Debug, Clone, PartialEq)]
pub struct Document {
    /// The id.
    pub id: DocumentId,
    /// The physical container that the document belongs to.
    pub container: ContainerId,
    /// The tag with which it was sent. If there are several, the first one, whose settings apply.
    pub tag: ContainerTag,
    /// The other tags under which it is found. The record does not have them: they are those of the
    /// physical container, as far as the caller may see them.
    pub further_tags: Vec<ContainerTag>,
    /// The caller's own identifier.
    pub custom_id: Option<CustomId>,
    /// The newest accepted content.
    pub revision: Revision,
    /// The number of accepted contents, from 1; `latestRevision` on the wire.
    pub revision_number: u64,
    /// The status of the newest content.
    pub status: DocumentStatus,
    /// The reason for which processing failed, if it did.
    pub failure: Option<ProcessingFailure>,
    /// The number of times that a worker has started on this revision.
    pub attempts: u32,
    /// The end of the lease of the worker that processes it.
    pub lease_until: Timestamp,
    /// The newest bytes.
    pub body: DocumentBody,
    /// The results of processing the newest bytes.
    pub extracted: Option<ProcessingResult>,
    /// The content that search serves: the newest complete revision.
    pub indexed: Option<IndexedRevision>,
    /// The type of the content, as far as it is known.
    pub kind: DocumentType,
    /// The title found in the content, or else the name of the file.
    pub title: Option<String>,
    /// Other properties found in the content, such as `author`, `created`, `pageCount` and
    /// `ogImage`.
    pub properties: BTreeMap<String, String>,
    /// The address from which the content is fetched.
    pub url: Option<String>,
    /// The caller's metadata.
    pub metadata: Metadata,
    /// The caller's path for the document.
    pub filepath: Option<String>,
    /// The number of changes to the caller's information (metadata, path) without a change of
    /// content. It is the fence of such changes.
    pub description_changes: u64,
    /// The metadata that other documents must have for their memories to be considered together
    /// with the memories of this one.
    pub filter_by_metadata: Option<Metadata>,
    /// Chunks only, or memories as well.
    pub task_type: TaskType,
    /// The time at which its memories are formed.
    pub dreaming: Dreaming,
    /// The date of the content, if the caller gave one.
    pub document_date: Option<Timestamp>,
    /// The provenance of the content, if the caller gave one.
    pub provenance: Option<Provenance>,
    /// The provider's item that the document was made from, if a connection created it.
    pub origin: Option<DocumentOrigin>,
    /// The newer document with the same `customId` that superseded this one in a merge. A
    /// superseded document is kept, but neither listed nor found.
    pub superseded_by: Option<DocumentId>,
    /// The time at which the document was first accepted.
    pub created_at: Timestamp,
    /// The time at which anything that a caller can see last changed.
    pub updated_at: Timestamp,
}

impl Document {
    /// Returns all tags under which the caller finds the document.
    pub fn tags(&self) -> impl Iterator<Item = &ContainerTag> {
        std::iter::once(&self.tag).chain(&self.further_tags)
    }

    /// Sets the tags under which the caller finds the document. Without any, nothing changes.
    pub fn set_tags(&mut self, tags: &[ContainerTag]) {
        if let [first, further @ ..] = tags {
            self.tag = first.clone();
            self.further_tags = further.to_vec();
        }
    }

    /// Returns the title to display: the name of the provider's item, or else the title found in
    /// the content.
    pub fn display_title(&self) -> Option<&str> {
        self.origin
            .as_ref()
            .map(|origin| origin.title.as_str())
            .or(self.title.as_deref())
    }

    /// Returns the summary of the content that search serves.
    pub fn summary(&self) -> Option<&str> {
        self.indexed.as_ref()?.summary.as_deref()
    }

    /// Returns the name by which people know the document: its title, or else its summary, its
    /// customId or its address. A document of text alone may have none of these.
    pub fn name(&self) -> Option<&str> {
        self.display_title()
            .or_else(|| self.summary())
            .or_else(|| self.custom_id.as_ref().map(CustomId::as_str))
            .or(self.url.as_deref())
    }

    /// Returns the type to display: that of the provider's item, or else that of the content.
    pub fn display_type(&self) -> DocumentType {
        self.origin
            .as_ref()
            .and_then(|origin| origin.kind)
            .unwrap_or(self.kind)
    }

    /// Returns a key that orders documents by the age of their content: the time at which the
    /// content was sent, then the id, so that no two documents are equal. A failed document that
    /// has nothing to serve sorts before all documents that have, or may yet have, content.
    pub fn content_order(&self) -> (bool, Timestamp, DocumentId) {
        let has_content = self.indexed.is_some() || self.status != DocumentStatus::Failed;
        (
            has_content,
            self.body.sent_at.unwrap_or(self.created_at),
            self.id.clone(),
        )
    }

    /// Returns the authorship of a processed revision.
    pub(crate) fn authorship_of(&self, revision: &Revision) -> Option<&Authorship> {
        let extracted = self
            .extracted
            .iter()
            .filter(|found| found.revision == *revision);
        let indexed = self
            .indexed
            .iter()
            .filter(|served| served.revision == *revision);
        let authorships = extracted
            .map(|found| &found.authorship)
            .chain(indexed.map(|served| &served.authorship));
        authorships.flatten().next()
    }

    /// Checks whether the content is a text that is read in milliseconds: of at most 32 KB.
    pub fn is_short_text(&self) -> bool {
        let is_text = matches!(self.body.form, BodyForm::Text | BodyForm::Conversation);
        is_text && self.body.size <= MAX_SHORT_TEXT_BYTES
    }

    /// Checks whether a commit may add the document with many others, whose descriptions have to fit into
    /// one log record ([`MAX_CHANGES_PER_COMMIT`](crate::ports::MAX_CHANGES_PER_COMMIT)): it has no
    /// filter besides its metadata. A document of a connection cannot, because its title and kind may
    /// be those of the provider.
    pub fn can_share_commit(&self) -> bool {
        self.origin.is_none() && self.filter_by_metadata.is_none()
    }

    /// Checks whether `revision` is the newest content and its processing has not ended.
    pub fn is_unfinished_revision(&self, revision: &Revision) -> bool {
        self.is_newest_revision(revision) && !self.status.is_final()
    }

    /// Checks whether `revision` is still the newest content.
    pub fn is_newest_revision(&self, revision: &Revision) -> bool {
        self.revision == *revision
    }
}
