//! Containers and the log that their search index is built from.
//!
//! A container tag maps to physical containers. Each physical container has an append-only log: every commit is one
//! record with the next sequence number. The index is a fold over that log; older records are folded into immutable
//! segments, so a reader needs the segments and the few records after them.

use serde::{Deserialize, Serialize};

use crate::blob::BlobRef;
use crate::document::{Document, DocumentType, Extracted, Indexed};
use crate::ids::{ContainerId, CustomId, DocumentId, Revision};
use crate::memory::MemoryAction;
use crate::patch::Patch;
use crate::settings::Bucket;
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
    /// When the caller last changed something here.
    pub updated_at: Timestamp,
    /// The caller's name for people.
    pub name: Option<String>,
    /// What the caller says that its content is about: guidance for extraction, never a source of facts.
    pub entity_context: Option<String>,
    /// Topics that its profile is sorted into, beside those of the organization.
    pub profile_buckets: Vec<Bucket>,
    /// Memories are made only of documents whose path lies here; `None` is everywhere.
    pub memory_paths: Option<Vec<String>>,
}

/// What a caller changes about a container tag.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ContainerChange {
    /// [`Container::name`].
    pub name: Patch<String>,
    /// [`Container::entity_context`].
    pub entity_context: Patch<String>,
    /// [`Container::profile_buckets`].
    pub profile_buckets: Patch<Vec<Bucket>>,
    /// [`Container::memory_paths`].
    pub memory_paths: Patch<Vec<String>>,
}

impl Container {
    /// Whether memories are made of a document with this path. One without a path lies nowhere, so never outside.
    pub fn learns_from(&self, path: Option<&str>) -> bool {
        let (Some(folders), Some(path)) = (&self.memory_paths, path) else {
            return true;
        };
        // `/notes` and `/notes/` both name the folder, and not `/notes-old`.
        folders.iter().any(|folder| {
            let inside = path.strip_prefix(folder.trim_end_matches('/'));
            inside.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        })
    }

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
    /// What its documents state and what callers did to memories; none where nothing is stated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memories: Option<BlobRef>,
}

impl SegmentRef {
    /// Everything that is stored of it.
    pub fn into_blobs(self) -> impl Iterator<Item = BlobRef> {
        std::iter::once(self.blob).chain(self.memories)
    }
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
        /// What it states, if anything.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        statements: Option<BlobRef>,
        /// What results show and filters read.
        document: Box<SearchDocument>,
    },
    /// The document is gone.
    Remove {
        /// Which.
        id: DocumentId,
    },
    /// A caller did something to a memory.
    Act {
        /// What.
        action: MemoryAction,
    },
}

impl LogEntry {
    /// The document that it is about, if it is about one.
    pub fn document(&self) -> Option<&DocumentId> {
        match self {
            Self::Put { document, .. } => Some(&document.id),
            Self::Remove { id } => Some(id),
            Self::Act { .. } => None,
        }
    }
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
    /// The metadata that other documents must have for its statements to replace theirs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filter_by_metadata: Option<serde_json::Map<String, serde_json::Value>>,
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
            filter_by_metadata: document.filter_by_metadata.as_ref().map(|wanted| wanted.as_object().clone()),
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
    /// A document that is made, processed and served at once: memories that a client wrote.
    Create(Box<Document>),
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
    /// A caller does something to a memory. No document changes.
    Act(MemoryAction),
}

impl Change {
    /// The document that is changed, if one is.
    pub fn document(&self) -> Option<&Document> {
        match self {
            Self::Publish(document)
            | Self::Create(document)
            | Self::Describe(document)
            | Self::Remove(document) => Some(document),
            Self::Move { from, .. } => Some(from),
            Self::Act(_) => None,
        }
    }

    /// What the change puts in place of what search served.
    fn published(&self) -> Option<&Extracted> {
        match self {
            Self::Publish(document) => document.extracted.as_ref(),
            Self::Create(_) | Self::Describe(_) | Self::Remove(_) | Self::Move { .. } | Self::Act(_) => None,
        }
    }

    /// The bytes that nobody needs once the change has happened.
    pub fn garbage(&self) -> Vec<BlobRef> {
        let old = |document: &Document| -> Vec<BlobRef> {
            document.indexed.iter().flat_map(Indexed::blobs).cloned().collect()
        };
        let mut blobs: Vec<BlobRef> = match self {
            Self::Publish(document) => {
                old(document).into_iter().filter(|blob| !document.uses(blob)).collect()
            }
            Self::Create(_) | Self::Describe(_) | Self::Act(_) => Vec::new(),
            Self::Remove(document) | Self::Move { from: document, .. } => {
                old(document).into_iter().chain(document.unserved()).collect()
            }
        };
        blobs.sort();
        blobs.dedup();
        blobs
    }
}

impl Document {
    /// Where the newest revision's pack lies, once it is made.
    pub fn pack_path(&self) -> String {
        format!("{}/{}/{}/pack", self.container, self.id, self.revision)
    }

    /// Where the newest revision's statements lie, once they are found.
    pub fn statements_path(&self) -> String {
        format!("{}/{}/{}/statements", self.container, self.id, self.revision)
    }

    /// The bytes of the newest revision that search does not serve (yet). A worker may have stored what it made and not
    /// recorded it, so that is named in both places where it may lie.
    pub fn unserved(&self) -> Vec<BlobRef> {
        let served: Vec<&BlobRef> = self.indexed.iter().flat_map(Indexed::blobs).collect();
        let made = [self.pack_path(), self.statements_path()];
        let made = made.into_iter().flat_map(|path| [BlobRef::Inline(path.clone()), BlobRef::Object(path)]);
        made.chain([self.body.blob.clone()]).filter(|blob| !served.contains(&blob)).collect()
    }

    /// Whether the newest revision needs these bytes.
    pub fn uses(&self, blob: &BlobRef) -> bool {
        self.body.blob == *blob || self.extracted.iter().flat_map(Extracted::blobs).any(|made| made == blob)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memories_are_made_of_what_lies_in_the_folders() {
        let mut container = Container {
            tag: ContainerTag::default_tag(),
            ids: Vec::new(),
            created_at: Timestamp::from_millis(0),
            updated_at: Timestamp::from_millis(0),
            name: None,
            entity_context: None,
            profile_buckets: Vec::new(),
            memory_paths: None,
        };
        assert!(container.learns_from(Some("/a")) && container.learns_from(None));
        container.memory_paths = Some(vec!["/notes".into(), "/diary/2025/".into(), "log.md".into()]);
        for inside in ["/notes", "/notes/", "/notes/a/b.md", "/diary/2025/x", "/diary/2025", "log.md"] {
            assert!(container.learns_from(Some(inside)), "{inside}");
        }
        for outside in ["/notes-old/a", "/diary/2024/x", "/", "", "notes/a", "log.md.bak", "/a/notes/b"] {
            assert!(!container.learns_from(Some(outside)), "{outside}");
        }
        assert!(container.learns_from(None), "without a path");
        container.memory_paths = Some(vec!["/".into()]);
        assert!(container.learns_from(Some("/a")) && !container.learns_from(Some("a")));
        container.memory_paths = Some(Vec::new());
        assert!(!container.learns_from(Some("/a")));
    }

    #[test]
    fn small_records_wait_for_many() {
        let asked =
            (0..100).filter(|seq| IndexHead { seq: *seq, ..IndexHead::default() }.wants_compaction(&[]));
        assert_eq!(asked.collect::<Vec<_>>(), [63, 79, 95]);
    }
}
