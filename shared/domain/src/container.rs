//! Containers and the log that their search index is built from.
//!
//! A container tag maps to physical containers. Each physical container has an append-only log: every commit is one
//! record with the next sequence number. The index is a fold over that log; older records are folded into immutable
//! segments, so a reader needs the segments and the few records after them.

use serde::{Deserialize, Serialize};

use crate::blob::BlobRef;
use crate::document::{Document, DocumentType, Extracted};
use crate::ids::{ContainerId, CustomId, DocumentId, Revision};
use crate::tag::ContainerTag;
use crate::time::Timestamp;

/// A container tag and the physical containers it reads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Container {
    /// The caller's name.
    pub tag: ContainerTag,
    /// Physical containers; the first takes the writes.
    pub ids: Vec<ContainerId>,
    /// When the tag was first used.
    pub created_at: Timestamp,
    /// What the caller says that its content is about: guidance for extraction, never a source of facts.
    pub entity_context: Option<String>,
}

impl Container {
    /// The physical container that new documents go to.
    pub fn primary(&self) -> &ContainerId {
        &self.ids[0]
    }
}

/// The present state of a container's index, read strongly consistent before each search.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct IndexHead {
    /// The sequence number of the newest log record; 0 when nothing was ever committed.
    pub seq: u64,
    /// Immutable segments, oldest first.
    pub segments: Vec<SegmentRef>,
    /// Counts changes of `segments`: the fence of compaction.
    pub generation: u64,
}

impl IndexHead {
    /// The newest sequence number that the segments cover.
    pub fn through(&self) -> u64 {
        self.segments.last().map_or(0, |segment| segment.through)
    }

    /// Whether the container is worth compacting once `changes` are committed on this head. A message may be lost or
    /// come too early, so the answer is yes again every few records.
    pub fn wants_compaction(&self, changes: &[Change]) -> bool {
        /// A cold reader reads no more than about this many records and their packs.
        const AFTER_RECORDS: u64 = 64;
        /// A record of this many chunks costs a reader as much as many small ones.
        const LARGE_RECORD_CHUNKS: u32 = 256;
        let added = changes.iter().filter_map(Change::published);
        let chunks: u32 = added.map(|new| new.chunks).sum();
        let after = if chunks >= LARGE_RECORD_CHUNKS { AFTER_RECORDS / 8 } else { AFTER_RECORDS };
        let behind = self.seq + 1 - self.through();
        behind >= after && behind.is_multiple_of(after / 4)
    }
}

/// An immutable segment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SegmentRef {
    /// Where it lies.
    pub blob: BlobRef,
    /// The newest log record folded into it.
    pub through: u64,
    /// How many chunks it holds.
    pub chunks: u64,
    /// Its size in bytes.
    pub bytes: u64,
}

/// One commit.
#[derive(Debug, Clone, PartialEq)]
pub struct LogRecord {
    /// Its place in the log, from 1 without gaps.
    pub seq: u64,
    /// What it did.
    pub entries: Vec<LogEntry>,
}

/// What a log record does to one document.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "op", rename_all = "lowercase")]
pub enum LogEntry {
    /// This revision is what search serves from now on.
    Put {
        /// The chunks and vectors.
        pack: BlobRef,
        /// What results show and filters read.
        document: Box<SearchDocument>,
    },
    /// The document is gone.
    Remove {
        /// Which.
        id: DocumentId,
    },
}

/// A document as the index carries it: enough to filter and to show a result without reading its record.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SearchDocument {
    /// Identity.
    pub id: DocumentId,
    /// The revision that the chunks were made of.
    pub revision: Revision,
    /// The tag it was sent with.
    pub tag: String,
    /// The caller's own identifier.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub custom_id: Option<CustomId>,
    /// The kind.
    pub kind: DocumentType,
    /// The title.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The caller's metadata.
    #[serde(default, skip_serializing_if = "serde_json::Map::is_empty")]
    pub metadata: serde_json::Map<String, serde_json::Value>,
    /// The caller's path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filepath: Option<String>,
    /// Milliseconds since the epoch.
    pub created_at: i64,
    /// Milliseconds since the epoch.
    pub updated_at: i64,
}

impl SearchDocument {
    /// What the index shows of a document while it serves `revision` of it.
    pub fn of(document: &Document, revision: &Revision) -> Self {
        Self {
            id: document.id.clone(),
            revision: revision.clone(),
            tag: document.tag.as_str().to_owned(),
            custom_id: document.custom_id.clone(),
            kind: document.kind,
            title: document.title.clone(),
            metadata: document.metadata.as_object().clone(),
            filepath: document.filepath.clone(),
            created_at: document.created_at.as_millis(),
            updated_at: document.updated_at.as_millis(),
        }
    }
}

/// One document's part in a commit.
#[derive(Debug, Clone)]
pub enum Change {
    /// The document's extracted revision becomes what search serves, and the document `done`.
    Publish(Box<Document>),
    /// What the caller says about the document has changed (metadata, path); what search serves of its content stays.
    Describe(Box<Document>),
    /// The document and its place in the index disappear.
    Remove(Box<Document>),
    /// The document disappears here, as it was read, and begins under a new id, perhaps in another container.
    Move {
        /// What was read.
        from: Box<Document>,
        /// What it becomes: queued, its bytes stored, its id not taken.
        to: Box<Document>,
    },
}

impl Change {
    /// The document that is changed.
    pub fn document(&self) -> &Document {
        match self {
            Self::Publish(document) | Self::Describe(document) | Self::Remove(document) => document,
            Self::Move { from, .. } => from,
        }
    }

    /// What the change puts in place of what search served.
    fn published(&self) -> Option<&Extracted> {
        match self {
            Self::Publish(document) => document.extracted.as_ref(),
            Self::Describe(_) | Self::Remove(_) | Self::Move { .. } => None,
        }
    }

    /// The bytes that nobody needs once the change has happened.
    pub fn garbage(&self) -> Vec<BlobRef> {
        let document = self.document();
        let old = document.indexed.iter().flat_map(|old| [old.pack.clone(), old.body.clone()]);
        let mut blobs: Vec<BlobRef> = match self {
            Self::Publish(_) => old.filter(|blob| !document.uses(blob)).collect(),
            Self::Describe(_) => Vec::new(),
            Self::Remove(_) | Self::Move { .. } => old.chain(document.unserved()).collect(),
        };
        blobs.sort();
        blobs.dedup();
        blobs
    }
}

impl Document {
    /// Where the bytes of the newest revision are stored.
    pub fn body_path(&self) -> String {
        format!("{}/{}/{}/body", self.container, self.id, self.revision)
    }

    /// Where the newest revision's pack lies, once it is made.
    pub fn pack_path(&self) -> String {
        format!("{}/{}/{}/pack", self.container, self.id, self.revision)
    }

    /// The bytes of the newest revision that search does not serve (yet). A worker may have stored a pack and not
    /// recorded it, so it is named in both places where it may lie.
    pub fn unserved(&self) -> Vec<BlobRef> {
        let served: Vec<&BlobRef> =
            self.indexed.iter().flat_map(|indexed| [&indexed.pack, &indexed.body]).collect();
        let pack = self.pack_path();
        let all = [BlobRef::Inline(pack.clone()), BlobRef::Object(pack), self.body.blob.clone()];
        all.into_iter().filter(|blob| !served.contains(&blob)).collect()
    }

    /// Whether the newest revision needs these bytes.
    pub fn uses(&self, blob: &BlobRef) -> bool {
        self.body.blob == *blob || self.extracted.as_ref().is_some_and(|new| new.pack == *blob)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_records_wait_for_many() {
        let asked =
            (0..100).filter(|seq| IndexHead { seq: *seq, ..IndexHead::default() }.wants_compaction(&[]));
        assert_eq!(asked.collect::<Vec<_>>(), [63, 79, 95]);
    }
}
