//! The head of a container's index.

use serde::{Deserialize, Serialize};

use crate::blob::BlobRef;
use crate::container::DocumentChange;

/// The current state of a container's index, read with strong consistency before each search.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct IndexHead {
    /// The sequence number of the newest log record, or 0 if nothing has been committed.
    pub seq: u64,
    /// The immutable segments, oldest first.
    pub segments: Vec<SegmentRef>,
    /// The number of changes of `segments`. It is the fence of compaction.
    pub generation: u64,
    /// The number of documents that search serves. Unknown for heads from before they were counted.
    pub document_count: Option<u64>,
    /// The number of memories at the last compaction, or `None` before the first one.
    pub memories: Option<u64>,
    /// The newest log record that removed content, unless [`crate::ports::Index::record_erasure`]
    /// has covered it.
    pub last_removal: Option<u64>,
    /// Set if [`crate::ports::Documents::list_pending`] finds every unfinished or failed document of
    /// the container. It misses some that were accepted before such documents were listed.
    pub pending_listed: bool,
    /// A random token that the first commit gives to the head. After a deletion, an import may make the
    /// same container again, whose head then counts from the beginning under another token. `None`
    /// for heads from before there were tokens.
    pub incarnation: Option<String>,
}

impl IndexHead {
    /// Returns the number of documents that search serves once `changes` are committed on this
    /// head.
    pub fn document_count_after(&self, changes: &[DocumentChange]) -> Option<u64> {
        let before = if self.seq == 0 {
            Some(0)
        } else {
            self.document_count
        };
        before.map(|before| {
            before
                .saturating_add_signed(changes.iter().map(DocumentChange::served_count_delta).sum())
        })
    }

    /// Returns the newest sequence number that the segments cover.
    pub fn covered_through(&self) -> u64 {
        self.segments.last().map_or(0, |segment| segment.through)
    }

    /// Returns the number of log records that the segments do not cover.
    pub fn uncovered_records(&self) -> u64 {
        self.seq.saturating_sub(self.covered_through())
    }

    /// Checks whether the container should be compacted once `changes` are committed on this head.
    /// A message may be lost or arrive too early, so the answer is `true` again every few records.
    pub fn needs_compaction(&self, changes: &[DocumentChange]) -> bool {
        /// The largest number of records without chunks that a cold reader reads.
        const COMPACT_AFTER_RECORDS: u64 = 64;
        /// The number of chunks that cost a reader as much as a record without any: their pack, their
        /// statements, and the memories that it computes.
        const CHUNKS_PER_RECORD_COST: u64 = 8;
        /// The fewest records that are compacted, however many chunks they have.
        const MIN_RECORDS: u64 = 4;

        // Records of a container are mostly alike, so the cost of this one is taken for all.
        let added = changes.iter().filter_map(DocumentChange::published_results);
        let chunks: u64 = added.map(|new| u64::from(new.chunks)).sum();
        let cost = 1 + chunks / CHUNKS_PER_RECORD_COST;
        let threshold = (COMPACT_AFTER_RECORDS / cost).max(MIN_RECORDS);

        let uncovered = self.uncovered_records() + 1;
        uncovered >= threshold && uncovered.is_multiple_of((threshold / 4).max(MIN_RECORDS))
    }
}

/// A reference to an immutable segment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SegmentRef {
    /// The blob of the segment.
    pub blob: BlobRef,
    /// The newest log record in the segment.
    pub through: u64,
    /// The number of chunks.
    pub chunks: u64,
    /// The size in bytes.
    pub bytes: u64,
    /// The size of its core in bytes, the beginning that every reader needs first. `None` for segments of
    /// earlier versions, which are read as a whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub core_bytes: Option<u64>,
    /// The size in bytes of the beginning that a search needs first: the core, and what a search reads of
    /// all chunks. `None` for segments of earlier versions, which have both in the core.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub search_bytes: Option<u64>,
    /// The statements of its documents and the edits of memories, if an earlier version of the program
    /// wrote the segment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memories: Option<BlobRef>,
    /// The edits of memories, stored a second time because they cannot be derived from the
    /// documents.
    #[serde(default, rename = "actions", skip_serializing_if = "Option::is_none")]
    pub edits: Option<BlobRef>,
    /// The memories and the other records of the ledger that have changed since the segment before.
    /// `None` if nothing has changed, and for segments from before they were stored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_index: Option<MemoryIndexRef>,
}

/// A reference to a ledger that was computed from the statements and edits of a segment and all
/// segments before it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryIndexRef {
    /// The blob.
    pub blob: BlobRef,
    /// The version of the rules that computed them.
    pub rules: u32,
    /// The size in bytes; 0 if an earlier version wrote it.
    #[serde(default)]
    pub bytes: u64,
    /// The size of its core in bytes, as for [`SegmentRef::core_bytes`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub core_bytes: Option<u64>,
    /// The size of what a search needs first, as for [`SegmentRef::search_bytes`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub search_bytes: Option<u64>,
}

impl SegmentRef {
    /// Returns all blobs of the segment.
    pub fn blobs(&self) -> impl Iterator<Item = &BlobRef> {
        let index = self.memory_index.as_ref().map(|index| &index.blob);
        std::iter::once(&self.blob)
            .chain(&self.memories)
            .chain(&self.edits)
            .chain(index)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_records_wait_for_many() {
        let compacting_seqs = (0..100).filter(|seq| {
            IndexHead {
                seq: *seq,
                ..IndexHead::default()
            }
            .needs_compaction(&[])
        });
        assert_eq!(compacting_seqs.collect::<Vec<_>>(), [63, 79, 95]);
    }
}
