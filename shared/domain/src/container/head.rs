//! The head of a container's index.

use serde::{Deserialize, Serialize};

use crate::blob::BlobRef;
use crate::container::Change;

/// The present state of a container's index, read strongly consistent before each search.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct IndexHead {
    /// The sequence number of the newest log record; 0 when nothing was ever committed.
    pub seq: u64,
    /// Immutable segments, oldest first.
    pub segments: Vec<SegmentRef>,
    /// Counts changes of `segments`: the fence of compaction.
    pub generation: u64,
    /// How many documents search serves; unknown of heads from before this was counted.
    pub documents: Option<u64>,
    /// How many memories there were at the last compaction; `None` before the first one.
    pub memories: Option<u64>,
    /// The newest log record that took content away, unless [`crate::ports::Index::erased`] has covered it.
    pub removed: Option<u64>,
}

impl IndexHead {
    /// How many documents search serves once `changes` are committed on this head.
    pub fn documents_after(&self, changes: &[Change]) -> Option<u64> {
        let before = if self.seq == 0 {
            Some(0)
        } else {
            self.documents
        };
        before.map(|before| before.saturating_add_signed(changes.iter().map(Change::served).sum()))
    }

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
        let after = if chunks >= LARGE_RECORD_CHUNKS {
            AFTER_RECORDS / 8
        } else {
            AFTER_RECORDS
        };

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
    /// What callers did to memories, once more: it cannot be found out from the documents.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub actions: Option<BlobRef>,
}

impl SegmentRef {
    /// Everything that is stored of it.
    pub fn into_blobs(self) -> impl Iterator<Item = BlobRef> {
        std::iter::once(self.blob)
            .chain(self.memories)
            .chain(self.actions)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_records_wait_for_many() {
        let asked = (0..100).filter(|seq| {
            IndexHead {
                seq: *seq,
                ..IndexHead::default()
            }
            .wants_compaction(&[])
        });
        assert_eq!(asked.collect::<Vec<_>>(), [63, 79, 95]);
    }
}
