//! The search part of a segment: the sections that a search reads of all chunks, and readers of documents do
//! not need.

use bytes::Bytes;

use super::format::{SectionKind, SegmentHeader, u32_at};
use crate::error::{FirstError, SegmentError};
use crate::kernel::SIGN_BYTES;
use crate::vector_code::{MAGNITUDE_BYTES, RotatedQuery};

/// The bytes of the place of a chunk: the position, start and end.
const PLACE_BYTES: usize = 12;

/// The search part, which is read as a whole. In segments without one, its sections are in the core.
#[derive(Debug)]
pub(super) struct SearchPart {
    places: Bytes,
    /// The sign bits, 32 bytes per chunk; empty in small segments and in some of earlier versions.
    pub(super) signs: Bytes,
    magnitudes: Bytes,
    pub(super) terms: fst::Map<Bytes>,
    /// The posting lists, unless they are read by themselves.
    pub(super) postings: Option<Bytes>,
    /// The bytes of the sections that are not parts of what was read.
    pub(super) unpacked_bytes: usize,
}

impl SearchPart {
    /// Opens the search part of a file with this many chunks.
    ///
    /// # Errors
    /// [`SegmentError::NotFetched`] if some of it is missing; all of it was asked for.
    /// [`SegmentError::Corrupt`] if it does not fit the chunks.
    pub(super) fn open(header: &SegmentHeader, chunks: usize) -> Result<Self, SegmentError> {
        let mut first_error = FirstError::default();
        let mut unpacked_bytes = 0;
        let mut read = |section| {
            let content = first_error.ok(header.search_section(section));
            let content = content.unwrap_or_default();
            if header.copies(section) {
                unpacked_bytes += content.len();
            }
            content
        };
        let places = read(SectionKind::ChunkPositions);
        let signs = read(SectionKind::Signs);
        let magnitudes = read(SectionKind::Magnitudes);
        let terms = read(SectionKind::Terms);
        let has_postings = header.is_in_search_part(SectionKind::Postings);
        let postings = has_postings.then(|| read(SectionKind::Postings));
        first_error.into_result()?;

        let part = Self {
            places,
            signs,
            magnitudes,
            terms: fst::Map::new(terms).map_err(|_| SegmentError::Corrupt("terms"))?,
            postings,
            unpacked_bytes,
        };
        part.check(chunks)?;
        Ok(part)
    }

    fn check(&self, chunks: usize) -> Result<(), SegmentError> {
        let is_consistent = self.places.len() == chunks * PLACE_BYTES
            && (self.signs.is_empty() || self.signs.len() == chunks * SIGN_BYTES)
            && (self.magnitudes.is_empty()
                || self.magnitudes.len() == chunks * MAGNITUDE_BYTES && !self.signs.is_empty());
        match is_consistent {
            true => Ok(()),
            false => Err(SegmentError::Corrupt("sections disagree")),
        }
    }

    /// Returns the position, start and end of a chunk.
    pub(super) fn place(&self, chunk: u32) -> [u32; 3] {
        let start = chunk as usize * PLACE_BYTES;
        [0, 4, 8].map(|offset| u32_at(&self.places, start + offset).unwrap_or_default())
    }

    /// Estimates the cosine of a chunk's vector with `query` from its code.
    pub(super) fn estimate_cosine(&self, query: &RotatedQuery, chunk: u32) -> f32 {
        let row = |bytes: usize| chunk as usize * bytes..(chunk as usize + 1) * bytes;
        let signs = &self.signs[row(SIGN_BYTES)];
        query.estimate_cosine(signs, &self.magnitudes[row(MAGNITUDE_BYTES)])
    }
}
