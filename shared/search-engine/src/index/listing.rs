//! Lists of documents by their times, without reading the documents.

use super::part::PartSource;
use super::{ContainerIndex, DocumentView, IndexPart};
use crate::error::SegmentError;
use crate::segment::ChunkTimes;

/// The times by which a document is listed, in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DocumentTimes {
    /// The time of its creation.
    pub created_at: i64,
    /// The time of its last update.
    pub updated_at: i64,
}

/// The time by which a list is sorted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ListedTime {
    /// The time of creation.
    Created,
    /// The time of the last update.
    Updated,
}

impl ListedTime {
    /// Returns this one of the times of a document.
    pub(super) fn of(self, times: DocumentTimes) -> i64 {
        match self {
            Self::Created => times.created_at,
            Self::Updated => times.updated_at,
        }
    }
}

/// The place of a document in an index, and in clones of it that were not changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DocumentPlace {
    part: u32,
    number: u32,
}

/// A document of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ListedDocument {
    /// Its place.
    pub place: DocumentPlace,
    /// The time by which it is listed; `None` if it has no times.
    pub time: Option<i64>,
}

impl ContainerIndex {
    /// Returns all documents that have chunks, with a time of each, in the order of their places.
    ///
    /// # Errors
    /// [`SegmentError::NotFetched`] if times are missing; all that are were asked for.
    pub fn list_documents(
        &self,
        time: ListedTime,
    ) -> Result<impl Iterator<Item = ListedDocument>, SegmentError> {
        let columns: Vec<_> = self.parts().map(|part| part.listed_times(time)).collect();
        let columns = columns.into_iter().collect::<Result<Vec<_>, _>>()?;
        let parts = (0..).zip(self.parts().zip(columns));
        Ok(parts.flat_map(|(number, (part, times))| {
            part.living().filter_map(move |document| {
                let first_chunk = part.chunks_of(document).next()?;
                let place = DocumentPlace {
                    part: number,
                    number: document,
                };
                let time = times.get(first_chunk);
                Some(ListedDocument { place, time })
            })
        }))
    }

    /// Returns the document at a place of this index.
    ///
    /// # Panics
    /// If the place is not one of this index.
    #[must_use]
    pub fn document_at(&self, place: DocumentPlace) -> DocumentView<'_> {
        let mut parts = self.parts();
        let part = parts.nth(place.part as usize);
        part.expect("the place is in this index").view(place.number)
    }

    /// Returns the place of the document `id`. While its id is missing in a segment, it seems not to exist.
    #[must_use]
    pub fn place_of(&self, id: &str) -> Option<DocumentPlace> {
        let (part, _, number) = self.find(id)?;
        Some(DocumentPlace { part, number })
    }
}

impl IndexPart {
    /// Returns a time of the document of each chunk.
    fn listed_times(&self, time: ListedTime) -> Result<ChunkTimes, SegmentError> {
        match &self.source {
            PartSource::Segment(segment) => segment.listed_times(time),
            PartSource::Tail(tail) => Ok(tail.listed_times(time)),
        }
    }
}
