//! The times by which documents are listed: two columns with a row for each chunk, which a list reads as a
//! whole.

use bytes::Bytes;

use super::file::PagedSection;
use super::format::{SectionKind, SegmentHeader};
use crate::error::SegmentError;
use crate::index::{DocumentTimes, ListedTime};

/// A time in milliseconds as i64.
const TIME_BYTES: usize = 8;
/// The row of a document that has no times. No document is that old.
const NO_TIME: i64 = i64::MIN;

/// Collects the times of documents.
#[derive(Default)]
pub(super) struct TimesWriter {
    created: Vec<u8>,
    updated: Vec<u8>,
    has_times: bool,
}

impl TimesWriter {
    /// Adds the times of the next document, whose chunks end before `end`.
    pub(super) fn push_document(&mut self, end: u32, times: Option<DocumentTimes>) {
        self.has_times |= times.is_some();
        let created = times.map_or(NO_TIME, |times| times.created_at);
        let updated = times.map_or(NO_TIME, |times| times.updated_at);
        while self.created.len() < end as usize * TIME_BYTES {
            self.created.extend_from_slice(&created.to_le_bytes());
            self.updated.extend_from_slice(&updated.to_le_bytes());
        }
    }

    /// Returns the sections of the times of creation and of update.
    pub(super) fn finish(self) -> [Vec<u8>; 2] {
        match self.has_times {
            true => [self.created, self.updated],
            false => [Vec::new(), Vec::new()],
        }
    }
}

/// Reads the times of documents.
#[derive(Debug)]
pub(super) struct TimesReader {
    created: PagedSection,
    updated: PagedSection,
}

impl TimesReader {
    pub(super) fn new(header: &SegmentHeader) -> Self {
        Self {
            created: header.paged(SectionKind::CreationTimes),
            updated: header.paged(SectionKind::UpdateTimes),
        }
    }

    /// Checks whether these can be the times of the documents of this many chunks.
    pub(super) fn fit(&self, chunks: usize) -> bool {
        let (created, updated) = (self.created.len(), self.updated.len());
        created == updated && (created == 0 || created == chunks * TIME_BYTES)
    }

    /// Returns the times of the document of a chunk, if it has any.
    pub(super) fn read(&self, chunk: u32) -> Result<Option<DocumentTimes>, SegmentError> {
        if self.created.len() == 0 {
            return Ok(None);
        }
        let start = chunk as usize * TIME_BYTES;
        let row = start..start + TIME_BYTES;
        let created = ChunkTimes::Segment(self.created.read(row.clone())?).get(0);
        let updated = ChunkTimes::Segment(self.updated.read(row)?).get(0);
        let times = created.zip(updated);
        Ok(times.map(|(created_at, updated_at)| DocumentTimes {
            created_at,
            updated_at,
        }))
    }

    /// Returns a time of the document of each chunk.
    pub(super) fn read_all(&self, time: ListedTime) -> Result<ChunkTimes, SegmentError> {
        let section = match time {
            ListedTime::Created => &self.created,
            ListedTime::Updated => &self.updated,
        };
        section.read(0..section.len()).map(ChunkTimes::Segment)
    }
}

/// A time of the document of each chunk.
pub(crate) enum ChunkTimes {
    /// The rows of a segment.
    Segment(Bytes),
    /// Those of a tail.
    Tail(Vec<Option<i64>>),
}

impl ChunkTimes {
    /// Returns the time of the document of a chunk, if it has one.
    pub(crate) fn get(&self, chunk: u32) -> Option<i64> {
        match self {
            Self::Segment(rows) => decode_time(rows.as_chunks().0.get(chunk as usize)?),
            Self::Tail(times) => times.get(chunk as usize).copied().flatten(),
        }
    }
}

fn decode_time(row: &[u8; TIME_BYTES]) -> Option<i64> {
    let time = i64::from_le_bytes(*row);
    (time != NO_TIME).then_some(time)
}
