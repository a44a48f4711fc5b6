//! The documents of older segments that a segment deletes, by their numbers.

use std::collections::{BTreeMap, BTreeSet};

use super::format::{put_varint, take_varint};
use crate::error::SegmentError;

/// The documents of older segments that a segment replaces or removes. An older segment is known by its
/// place among all segments, the oldest first. The newest segments are merged, so the places of older ones
/// stay the same. Where others are, all segments are written anew without deletions.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Deletions(BTreeMap<u32, BTreeSet<u32>>);

impl Deletions {
    /// Adds a document of a segment.
    pub(crate) fn insert(&mut self, segment: usize, document: u32) {
        let documents = self.0.entry(segment as u32).or_default();
        documents.insert(document);
    }

    /// Adds the deletions of `other` in the first `older` segments.
    pub(crate) fn extend_for_older(&mut self, older: usize, other: &Self) {
        for (segment, documents) in other.0.range(..older as u32) {
            self.0.entry(*segment).or_default().extend(documents);
        }
    }

    /// Returns the places of the segments, with the numbers of their documents.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (usize, impl Iterator<Item = u32>)> {
        let segments = self.0.iter();
        segments.map(|(segment, documents)| (*segment as usize, documents.iter().copied()))
    }

    /// Writes the number of segments, and for each its place, the number of documents, and the distance of
    /// each document from the one before it.
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        put_varint(self.0.len() as u32, &mut bytes);
        for (segment, documents) in &self.0 {
            put_varint(*segment, &mut bytes);
            put_varint(documents.len() as u32, &mut bytes);
            let mut previous = 0;
            for document in documents {
                put_varint(document - previous, &mut bytes);
                previous = *document;
            }
        }
        bytes
    }

    /// Reads what [`Self::encode`] has written.
    ///
    /// # Errors
    /// [`SegmentError::Corrupt`] for anything else.
    pub(super) fn decode(mut bytes: &[u8]) -> Result<Self, SegmentError> {
        const CORRUPT: SegmentError = SegmentError::Corrupt("deletions");
        let mut deletions = Self::default();
        for _ in 0..take_varint(&mut bytes) {
            let (segment, count) = (take_varint(&mut bytes), take_varint(&mut bytes));
            if count as usize > bytes.len() {
                return Err(CORRUPT);
            }
            let mut document = 0u32;
            for _ in 0..count {
                let distance = take_varint(&mut bytes);
                document = document.checked_add(distance).ok_or(CORRUPT)?;
                deletions.insert(segment as usize, document);
            }
        }
        match bytes.is_empty() {
            true => Ok(deletions),
            false => Err(CORRUPT),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deletions_are_read_as_they_were_written() {
        let mut deletions = Deletions::default();
        assert_eq!(
            Deletions::decode(&deletions.encode()),
            Ok(deletions.clone())
        );
        for (segment, document) in [(0, 0), (0, 7), (0, u32::MAX), (3, 500)] {
            deletions.insert(segment, document);
        }
        let bytes = deletions.encode();
        assert_eq!(Deletions::decode(&bytes), Ok(deletions.clone()));
        assert!(Deletions::decode(&bytes[..bytes.len() - 2]).is_err());

        let mut within = Deletions::default();
        within.extend_for_older(3, &deletions);
        let segments: Vec<usize> = within.iter().map(|(segment, _)| segment).collect();
        assert_eq!(segments, [0]);
    }
}
