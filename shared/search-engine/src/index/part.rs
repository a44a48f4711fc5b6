//! The unit of a search: a segment or the tail, with the documents in it that were deleted since.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;

use super::liveness::Liveness;
use super::tail::Tail;
use super::{ChunkView, Document, DocumentTimes, DocumentView};
use crate::analysis::LatinStemmer;
use crate::error::SegmentError;
use crate::segment::{ChunkText, PostingList, Segment, TextCursor, id_hash};
use crate::vector::{ModelRow, QuantizedVector};
use crate::vector_code::RotatedQuery;

#[derive(Debug, Clone)]
pub(crate) enum PartSource {
    Segment(Arc<Segment>),
    Tail(Arc<Tail>),
}

/// A part of the index. Clones are cheap: everything is shared until it is changed.
#[derive(Debug, Clone)]
pub(crate) struct IndexPart {
    pub(super) source: PartSource,
    pub(crate) liveness: Arc<Liveness>,
}

macro_rules! of_source {
    ($part:expr, $source:ident => $value:expr) => {
        match &$part.source {
            PartSource::Segment($source) => $value,
            PartSource::Tail($source) => $value,
        }
    };
}

impl IndexPart {
    pub(super) fn new(source: PartSource) -> Self {
        let mut part = Self {
            source,
            liveness: Arc::default(),
        };

        let mut liveness = Liveness::default();
        for document in 0..part.len_documents() {
            let range = part.chunks_of(document);
            liveness.add_document(
                part.stemmer(document),
                &part.lengths()[range.start as usize..range.end as usize],
            );
        }

        part.liveness = Arc::new(liveness);
        part
    }

    pub(crate) fn len_documents(&self) -> u32 {
        of_source!(self, source => source.len_documents() as u32)
    }

    /// Returns the number of chunk slots, deleted ones included.
    pub(crate) fn len_chunks(&self) -> usize {
        self.lengths().len()
    }

    pub(crate) fn lengths(&self) -> &[u16] {
        of_source!(self, source => source.lengths())
    }

    pub(crate) fn vectors(&self) -> Result<VectorRows<'_>, SegmentError> {
        match &self.source {
            PartSource::Segment(segment) => segment.vectors().map(VectorRows::Segment),
            PartSource::Tail(tail) => Ok(VectorRows::Tail(tail.vectors())),
        }
    }

    pub(crate) fn vector(&self, chunk: u32) -> Result<QuantizedVector, SegmentError> {
        match &self.source {
            PartSource::Segment(segment) => segment.vector(chunk),
            PartSource::Tail(tail) => Ok(QuantizedVector::row_of(tail.vectors(), chunk)),
        }
    }

    /// Returns the segment of this part, unless it is a tail.
    pub(super) fn segment(&self) -> Option<&Segment> {
        match &self.source {
            PartSource::Segment(segment) => Some(segment),
            PartSource::Tail(_) => None,
        }
    }

    /// Returns the segment of this part if its vectors have codes.
    fn coded_segment(&self) -> Option<&Segment> {
        self.segment().filter(|segment| segment.has_codes())
    }

    /// Checks whether the vectors have codes. The sign bits are then those of rotated vectors.
    pub(crate) fn has_codes(&self) -> bool {
        self.coded_segment().is_some()
    }

    /// Checks whether cosines are estimated: vectors may be missing, and their codes are known.
    pub(crate) fn has_estimates(&self) -> bool {
        self.coded_segment()
            .is_some_and(|segment| !segment.is_whole())
    }

    /// Estimates the cosine of a chunk's vector with `query` in a part that has codes; 0 in any other.
    pub(crate) fn estimate_cosine(
        &self,
        query: &RotatedQuery,
        chunk: u32,
    ) -> Result<f32, SegmentError> {
        let segment = self.coded_segment();
        segment.map_or(Ok(0.0), |segment| segment.estimate_cosine(query, chunk))
    }

    /// Returns the vector of a chunk by a model that the operator chose.
    pub(crate) fn model_row(&self, chunk: u32) -> Option<ModelRow<'_>> {
        of_source!(self, source => source.model_row(chunk))
    }

    /// Returns the models whose vectors some chunks have, those of deleted chunks included.
    pub(crate) fn model_names(&self) -> impl Iterator<Item = &Arc<str>> {
        let (of_segment, of_tail) = match &self.source {
            PartSource::Segment(segment) => (Some(segment.model_names()), None),
            PartSource::Tail(tail) => (None, Some(tail.model_names())),
        };
        of_segment
            .into_iter()
            .flatten()
            .chain(of_tail.into_iter().flatten())
    }

    pub(crate) fn inverse_norms(&self) -> Result<&[f32], SegmentError> {
        match &self.source {
            PartSource::Segment(segment) => segment.inverse_norms(),
            PartSource::Tail(tail) => Ok(tail.inverse_norms()),
        }
    }

    /// Returns the inverse norm of the vector of a chunk, if it is known without the vector.
    pub(crate) fn known_inverse_norm(&self, chunk: u32) -> Option<f32> {
        match &self.source {
            PartSource::Segment(segment) => segment.known_inverse_norm(chunk),
            PartSource::Tail(tail) => tail.inverse_norms().get(chunk as usize).copied(),
        }
    }

    pub(crate) fn signs(&self) -> Result<&[u8], SegmentError> {
        match &self.source {
            PartSource::Segment(segment) => segment.signs(),
            PartSource::Tail(_) => Ok(&[]),
        }
    }

    /// Returns the terms of all chunks, those of deleted ones included, with values for
    /// [`Self::postings_of`].
    pub(super) fn terms(&self) -> Result<fst::Map<Bytes>, SegmentError> {
        match &self.source {
            PartSource::Segment(segment) => segment.terms().cloned(),
            PartSource::Tail(tail) => {
                let mut terms: Vec<&str> = tail.terms().collect();
                terms.sort_unstable();
                fst::Map::from_iter(terms.into_iter().map(|term| (term, 0)))
                    .and_then(|table| table.map_data(Bytes::from))
                    .map_err(|_| SegmentError::TooLarge("terms"))
            }
        }
    }

    /// Returns the list of a term that has this value in [`Self::terms`].
    pub(super) fn postings_of(
        &self,
        term: &str,
        value: u64,
    ) -> Result<Option<PostingList<'_>>, SegmentError> {
        match &self.source {
            PartSource::Segment(segment) => segment.postings_at(value).map(Some),
            PartSource::Tail(tail) => Ok(tail.postings(term)),
        }
    }

    pub(crate) fn postings(&self, term: &str) -> Result<Option<PostingList<'_>>, SegmentError> {
        match &self.source {
            PartSource::Segment(segment) => segment.postings(term),
            PartSource::Tail(tail) => Ok(tail.postings(term)),
        }
    }

    pub(crate) fn chunks_of(&self, document: u32) -> Range<u32> {
        of_source!(self, source => source.chunks_of(document))
    }

    pub(crate) fn document_of(&self, chunk: u32) -> u32 {
        of_source!(self, source => source.document_of(chunk))
    }

    fn stemmer(&self, document: u32) -> LatinStemmer {
        of_source!(self, source => source.stemmer(document))
    }

    /// Returns the number of a document's stemmer, which a later version may have added.
    pub(super) fn stemmer_number(&self, document: u32) -> u8 {
        match &self.source {
            PartSource::Segment(segment) => segment.stemmer_number(document),
            PartSource::Tail(tail) => tail.stemmer(document) as u8,
        }
    }

    pub(crate) fn id(&self, document: u32) -> Result<Cow<'_, str>, SegmentError> {
        match &self.source {
            PartSource::Segment(segment) => segment.id(document),
            PartSource::Tail(tail) => Ok(Cow::Borrowed(tail.id(document))),
        }
    }

    /// Returns the live documents whose ids begin with `prefix`, with their ids.
    ///
    /// # Errors
    /// [`SegmentError::NotFetched`] if some are missing; all that are were asked for.
    pub(super) fn living_with(
        &self,
        prefix: &str,
    ) -> Result<Vec<(u32, Cow<'_, str>)>, SegmentError> {
        let mut found = match &self.source {
            PartSource::Segment(segment) => segment.ids_with(prefix)?,
            PartSource::Tail(tail) => {
                let ids = (0..self.len_documents()).map(|document| (document, tail.id(document)));
                let ids = ids.filter(|(_, id)| id.starts_with(prefix));
                ids.map(|(document, id)| (document, Cow::Borrowed(id)))
                    .collect()
            }
        };
        found.retain(|(document, _)| !self.liveness.is_deleted(*document));
        Ok(found)
    }

    /// Returns the id of a document of the tail.
    pub(super) fn tail_id(&self, document: u32) -> Option<&str> {
        match &self.source {
            PartSource::Segment(_) => None,
            PartSource::Tail(tail) => Some(tail.id(document)),
        }
    }

    /// Returns the hash of the id of a document.
    pub(crate) fn id_hash(&self, document: u32) -> u16 {
        match &self.source {
            PartSource::Segment(segment) => segment.id_hash(document),
            PartSource::Tail(tail) => id_hash(tail.id(document)),
        }
    }

    pub(crate) fn view(&self, document: u32) -> DocumentView<'_> {
        DocumentView {
            chunks: self.chunks_of(document).len() as u32,
            part: self,
            number: document,
        }
    }

    pub(crate) fn attributes_of(&self, document: u32) -> Result<Bytes, SegmentError> {
        match &self.source {
            PartSource::Segment(segment) => segment.attributes_of(document),
            PartSource::Tail(tail) => Ok(tail.document(document).attributes.clone()),
        }
    }

    /// Checks whether the attributes of a document are in the core of a segment, or will be.
    pub(super) fn is_in_core(&self, document: u32) -> bool {
        match &self.source {
            PartSource::Segment(segment) => segment.is_in_core(document),
            PartSource::Tail(tail) => tail.document(document).is_in_core,
        }
    }

    pub(super) fn expires_at(&self, document: u32) -> Option<i64> {
        match &self.source {
            PartSource::Segment(segment) => segment.expires_at(document),
            PartSource::Tail(tail) => tail.document(document).expires_at,
        }
    }

    /// Returns the times by which a document is listed, if it has any.
    pub(super) fn times(&self, document: u32) -> Result<Option<DocumentTimes>, SegmentError> {
        match &self.source {
            PartSource::Segment(segment) => segment.times(document),
            PartSource::Tail(tail) => Ok(tail.document(document).times),
        }
    }

    /// Returns the documents that have expired at `now`, deleted ones included.
    pub(crate) fn expired(&self, now: i64) -> impl Iterator<Item = u32> {
        let (of_segment, of_tail) = match &self.source {
            PartSource::Segment(segment) => (Some(segment.expiries()), None),
            PartSource::Tail(tail) => (None, Some(tail.expiries())),
        };
        let of_segment = of_segment.into_iter().flatten();
        let all = of_segment.chain(of_tail.into_iter().flatten());
        all.filter(move |(_, time)| *time <= now)
            .map(|(document, _)| document)
    }

    /// Returns the position, start and end of a chunk.
    pub(super) fn chunk_place(&self, chunk: u32) -> Result<[u32; 3], SegmentError> {
        match &self.source {
            PartSource::Segment(segment) => segment.chunk_place(chunk),
            PartSource::Tail(tail) => Ok(tail.chunk_place(chunk)),
        }
    }

    /// Returns a reader of the texts of chunks.
    pub(super) fn texts(&self) -> PartTexts<'_> {
        match &self.source {
            PartSource::Segment(segment) => PartTexts::Segment(segment.texts()),
            PartSource::Tail(tail) => PartTexts::Tail(tail),
        }
    }

    pub(crate) fn chunk(&self, chunk: u32) -> Result<ChunkView, SegmentError> {
        let [headings, text] = match &self.source {
            PartSource::Segment(segment) => segment.text_of(chunk)?,
            PartSource::Tail(tail) => {
                let ChunkText { headings, text } = tail.text(chunk);
                [headings.to_owned(), text.to_owned()]
            }
        };
        let [position, start, end] = self.chunk_place(chunk)?;
        Ok(ChunkView {
            position,
            text,
            headings,
            start,
            end,
        })
    }

    /// Returns a whole live document.
    pub(super) fn document(&self, document: u32) -> Result<Document, SegmentError> {
        match &self.source {
            PartSource::Segment(segment) => segment.document(document),
            PartSource::Tail(tail) => Ok(tail.document(document).as_ref().clone()),
        }
    }

    /// Returns the numbers of the live documents.
    pub(crate) fn living(&self) -> impl Iterator<Item = u32> {
        (0..self.len_documents()).filter(|&document| !self.liveness.is_deleted(document))
    }

    /// Returns the number of the live document `id`.
    ///
    /// # Errors
    /// [`SegmentError::NotFetched`] if its id is missing. It was asked for, together with its attributes.
    pub(crate) fn find(&self, id: &str) -> Result<Option<u32>, SegmentError> {
        match &self.source {
            PartSource::Segment(segment) => {
                segment.find_document(id, |document| !self.liveness.is_deleted(document))
            }
            PartSource::Tail(tail) => Ok(tail.find_document(id)),
        }
    }

    pub(super) fn kill(&mut self, document: u32) {
        let (range, stemmer) = (self.chunks_of(document), self.stemmer(document));
        let lengths =
            of_source!(self, source => &source.lengths()[range.start as usize..range.end as usize]);
        Arc::make_mut(&mut self.liveness).delete_document(document, range, stemmer, lengths);
    }

    /// Deletes those of these documents that are live.
    pub(super) fn kill_all(&mut self, documents: Vec<u32>) {
        for document in documents {
            if !self.liveness.is_deleted(document) {
                self.kill(document);
            }
        }
    }

    /// Adds the document that was just appended to the source to the statistics.
    pub(super) fn count_in(&mut self, document: u32) {
        let (range, stemmer) = (self.chunks_of(document), self.stemmer(document));
        let lengths =
            of_source!(self, source => &source.lengths()[range.start as usize..range.end as usize]);
        Arc::make_mut(&mut self.liveness).add_document(stemmer, lengths);
    }
}

/// The vectors of a part, a row for each chunk.
pub(crate) enum VectorRows<'a> {
    Segment(Bytes),
    Tail(&'a [i8]),
}

impl std::ops::Deref for VectorRows<'_> {
    type Target = [i8];

    fn deref(&self) -> &[i8] {
        match self {
            Self::Segment(bytes) => pulp::bytemuck::cast_slice(bytes),
            Self::Tail(rows) => rows,
        }
    }
}

/// Reads the texts of the chunks of a part.
pub(super) enum PartTexts<'a> {
    Segment(TextCursor<'a>),
    Tail(&'a Tail),
}

impl PartTexts<'_> {
    /// Returns the text of a chunk. Reading chunks in ascending order is cheapest.
    pub(super) fn read(&mut self, chunk: u32) -> Result<ChunkText<'_>, SegmentError> {
        match self {
            Self::Segment(texts) => texts.read(chunk),
            Self::Tail(tail) => Ok(tail.text(chunk)),
        }
    }
}
