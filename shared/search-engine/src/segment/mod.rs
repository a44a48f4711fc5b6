//! Immutable sets of documents, each as one file: written once, opened without parsing, searched in
//! place. A search of a large file needs its core, its search part and some pages of the rest.

mod attributes;
mod blocks;
mod deletions;
mod file;
mod format;
mod ids;
mod models;
mod packing;
mod postings;
mod search_part;
mod strings;
mod texts;
mod times;
mod writer;

use std::borrow::Cow;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use fst::{IntoStreamer, Streamer};

pub(crate) use deletions::Deletions;
pub use format::FirstReads;
pub(crate) use ids::id_hash;
pub(crate) use postings::PostingList;
pub(crate) use texts::{ChunkText, TextCursor};
pub(crate) use times::ChunkTimes;
pub(crate) use writer::{ChunkRow, DocumentRow, ReplacedDocuments, SegmentWriter};

/// A document as a segment returns it.
pub type StoredDocument = Document;

use crate::analysis::LatinStemmer;
use crate::error::SegmentError;
use crate::index::{ChunkInput, Document, DocumentTimes, ListedTime};
use crate::vector::{DIMENSIONS, ModelRow, QuantizedVector};
use crate::vector_code::RotatedQuery;
use attributes::{AttributeReader, ExpiryReader};
use blocks::BlockReader;
pub use file::PageSource;
use file::PagedSection;
use format::{SectionKind, SegmentHeader};
use ids::DocumentIds;
use models::ModelVectorReader;
use search_part::SearchPart;
use strings::StringTable;
use times::TimesReader;

/// An opened segment. It is cheap to share, and holds the bytes of the file that are known, sections that
/// were packed, about 6 bytes for each chunk, 4 for each document, 16 for each run of ids, and up to 12 MB of texts and attributes that were read.
///
/// Of a file of which only the beginning is known, reads fail with [`SegmentError::NotFetched`] until the
/// caller has fetched what [`Segment::missing`] returns.
#[derive(Debug)]
pub struct Segment {
    header: SegmentHeader,
    ids: DocumentIds,
    attributes: AttributeReader,
    expiries: ExpiryReader,
    times: TimesReader,
    /// The first chunk of each document, then the number of chunks.
    document_chunks: Vec<u32>,
    stemmers: Bytes,
    lengths: Vec<u16>,
    vectors: PagedSection,
    /// The inverse norms of the vectors, once they were read.
    inverse_norms: OnceLock<Vec<f32>>,
    model_vectors: ModelVectorReader,
    /// The search part, once it was read.
    search_part: OnceLock<SearchPart>,
    /// The posting lists, unless they are in the search part.
    postings: PagedSection,
    removed: StringTable,
    /// The deleted documents of older segments; empty if these are known by their ids.
    deletions: Bytes,
    texts: BlockReader<2>,
}

impl Segment {
    /// Opens the file of a segment. Verifies every section. In files of earlier versions, blocks of
    /// texts and attributes are verified when they are read.
    ///
    /// # Errors
    /// [`SegmentError::Corrupt`] for anything else, and [`SegmentError::UnknownVersion`] for a file of a
    /// newer version.
    pub fn open(file: Bytes) -> Result<Self, SegmentError> {
        let len = file.len();
        Self::open_header(format::open_file(file, len)?)
    }

    /// Opens a file of `len` bytes of which only the beginning is known: the core, or the search part too.
    ///
    /// # Errors
    /// As [`Segment::open`].
    pub fn open_beginning(beginning: Bytes, len: usize) -> Result<Self, SegmentError> {
        Self::open_header(format::open_file(beginning, len)?)
    }

    /// Returns the lengths of the beginnings of a file that [`Segment::open_beginning`] takes.
    ///
    /// # Errors
    /// As [`Segment::open`].
    pub fn first_reads(file: &[u8]) -> Result<FirstReads, SegmentError> {
        format::first_reads(file)
    }

    fn open_header(header: SegmentHeader) -> Result<Self, SegmentError> {
        let (chunks, documents) = (header.chunks as usize, header.documents as usize);
        let section = |section| header.section(section);
        let segment = Self {
            ids: DocumentIds::open(&header, documents)?,
            attributes: open_attributes(&header)?,
            expiries: ExpiryReader::open(section(SectionKind::Expiries)?)?,
            times: TimesReader::new(&header),
            document_chunks: decode_numbers(
                &section(SectionKind::DocumentChunks)?,
                u32::from_le_bytes,
            ),
            stemmers: section(SectionKind::DocumentStemmers)?,
            lengths: decode_numbers(&section(SectionKind::ChunkLengths)?, u16::from_le_bytes),
            vectors: header.paged(SectionKind::Vectors),
            inverse_norms: OnceLock::new(),
            model_vectors: ModelVectorReader::open(
                chunks,
                section(SectionKind::ModelNames)?,
                &section(SectionKind::ModelDimensions)?,
                &section(SectionKind::ChunkModels)?,
                section(SectionKind::ModelVectors)?,
            )?,
            search_part: OnceLock::new(),
            postings: header.paged(SectionKind::Postings),
            removed: StringTable::open(section(SectionKind::RemovedIds)?)?,
            deletions: section(SectionKind::Deletions)?,
            texts: BlockReader::open(
                section(SectionKind::TextBlocks)?,
                header.paged(SectionKind::Texts),
            )?,
            header,
        };

        segment.check_sections(chunks, documents)?;
        if segment.header.knows_search_part {
            segment.search_part()?;
        }
        if segment.is_whole() {
            segment.inverse_norms()?;
        }
        Ok(segment)
    }

    fn check_sections(&self, chunks: usize, documents: usize) -> Result<(), SegmentError> {
        let starts = &self.document_chunks;
        let is_consistent = self.attributes.fit(documents)
            && self.times.fit(chunks)
            && starts.len() == documents + 1
            && starts.first() == Some(&0)
            && starts.last().is_some_and(|&last| last as usize == chunks)
            && starts.is_sorted()
            && self.stemmers.len() == documents
            && self.lengths.len() == chunks
            && self.vectors.len() == chunks * DIMENSIONS
            && self
                .expiries
                .iter()
                .all(|(document, _)| (document as usize) < documents);

        match is_consistent {
            true => self.ids.check(&self.attributes),
            false => Err(SegmentError::Corrupt("sections disagree")),
        }
    }

    /// Returns the search part.
    ///
    /// # Errors
    /// [`SegmentError::NotFetched`] if it is missing, and [`SegmentError::Corrupt`] if it is damaged.
    fn search_part(&self) -> Result<&SearchPart, SegmentError> {
        if let Some(part) = self.search_part.get() {
            return Ok(part);
        }
        let part = SearchPart::open(&self.header, self.len_chunks())?;
        Ok(self.search_part.get_or_init(|| part))
    }

    /// Estimates the memory of the segment in bytes: what is known of the file, its unpacked sections, 6
    /// bytes for each chunk and 4 for each document, 16 for each run of ids, and the blocks that stay
    /// decompressed.
    pub(crate) fn estimated_bytes(&self) -> usize {
        let recent = self.texts.recent_bytes() + self.attributes.recent_bytes();
        let search_part = self.search_part.get();
        let search_part = search_part.map_or(0, |part| part.unpacked_bytes);
        let known = self.header.file.bytes_in_memory() + self.header.unpacked_bytes() + search_part;
        let numbers = self.len_chunks() * 6 + self.len_documents() * 4 + self.ids.computed_bytes();
        known + numbers + recent.min(known * blocks::EXPANSION)
    }

    /// Returns the bytes of the blocks of attributes.
    pub(crate) fn attribute_bytes(&self) -> usize {
        self.attributes.blocks.len_bytes()
    }

    /// Checks whether all bytes of the file are known, so that no read fails for lack of them.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.header.file.is_whole()
    }

    /// Returns the number of reads that failed because something was missing. A search that leaves it
    /// unchanged lacked nothing.
    #[must_use]
    pub fn misses(&self) -> usize {
        self.header.file.misses()
    }

    /// Returns the ranges of the file that were asked for and are missing, in order. If there were more than
    /// `max_ranges`, which is at least 1, small gaps between them are among them.
    #[must_use]
    pub fn missing(&self, max_ranges: usize) -> Vec<Range<usize>> {
        self.header.file.missing(max_ranges)
    }

    /// Asks for everything that is not known, so that [`Segment::missing`] returns it.
    pub fn ask_for_all(&self) {
        self.header.file.ask_for_all();
    }

    /// Returns the first range of the file of which the beginning and the end are not known, of at most
    /// `max_bytes` and at least a page. Returns `None` if everything is known.
    #[must_use]
    pub fn first_unfetched(&self, max_bytes: usize) -> Option<Range<usize>> {
        self.header.file.first_unfetched(max_bytes)
    }

    /// Reads pages that are missing from `source` as soon as they are needed. Reads then fail only if it
    /// does.
    pub fn read_pages_from(&self, source: Box<dyn PageSource>) {
        self.header.file.set_source(source);
    }

    /// Returns the bytes that were fetched after the beginning and stay in memory.
    #[must_use]
    pub fn bytes_after_beginning(&self) -> usize {
        self.header.file.bytes_after_beginning()
    }

    /// Returns the size of the whole file in bytes.
    #[must_use]
    pub fn file_bytes(&self) -> usize {
        self.header.file.len()
    }

    /// Takes the bytes of a range that [`Segment::missing`] or [`Segment::first_unfetched`] returned.
    /// Taking them again is harmless.
    ///
    /// # Errors
    /// [`SegmentError::Corrupt`] if these are not the bytes of the file.
    pub fn insert(&self, range: Range<usize>, bytes: &Bytes) -> Result<(), SegmentError> {
        self.header.file.insert(range, bytes)
    }

    /// Returns the number of documents, superseded ones included.
    #[must_use]
    pub fn len_documents(&self) -> usize {
        self.ids.len()
    }

    /// Returns the number of chunks, those of superseded documents included.
    #[must_use]
    pub fn len_chunks(&self) -> usize {
        self.lengths.len()
    }

    /// Checks whether the documents of older segments that this one replaces or removes are known by their
    /// numbers.
    pub(crate) fn replaces_by_number(&self) -> bool {
        !self.deletions.is_empty()
    }

    /// Returns the documents of older segments that this one replaces or removes, if they are known by their
    /// numbers.
    ///
    /// # Errors
    /// [`SegmentError::Corrupt`] if they cannot be decoded.
    pub(crate) fn deletions(&self) -> Result<Deletions, SegmentError> {
        Deletions::decode(&self.deletions)
    }

    /// Returns the ids of the documents of older segments that this one removes, unless it has their
    /// numbers.
    pub fn removed_ids(&self) -> impl ExactSizeIterator<Item = &str> {
        (0..self.removed.len()).map(|index| self.removed.text(index))
    }

    /// Returns all documents in the order of their ids, with texts and vectors.
    pub fn documents(&self) -> impl ExactSizeIterator<Item = Result<StoredDocument, SegmentError>> {
        (0..self.len_documents() as u32).map(|index| self.document(index))
    }

    pub(crate) fn document(&self, index: u32) -> Result<StoredDocument, SegmentError> {
        let mut texts = self.texts();
        let mut chunks = Vec::new();
        for chunk in self.chunks_of(index) {
            chunks.push(self.chunk_input(chunk, texts.read(chunk)?)?);
        }

        Ok(Document {
            id: self.id(index)?.into_owned(),
            attributes: self.attributes_of(index)?,
            is_in_core: self.is_in_core(index),
            expires_at: self.expires_at(index),
            times: self.times(index)?,
            chunks,
        })
    }

    fn chunk_input(&self, chunk: u32, text: ChunkText<'_>) -> Result<ChunkInput, SegmentError> {
        let [position, start, end] = self.chunk_place(chunk)?;
        Ok(ChunkInput {
            text: text.text.to_owned(),
            headings: text.headings.to_owned(),
            vector: self.vector(chunk)?,
            model_vector: self.model_row(chunk).map(ModelRow::to_vector),
            position,
            start,
            end,
        })
    }

    /// Returns the headings and the text of a chunk, wherever it is.
    pub(crate) fn text_of(&self, chunk: u32) -> Result<[String; 2], SegmentError> {
        let [headings, text] = self.texts.read_row(chunk)?;
        let decode = |bytes: Bytes| match std::str::from_utf8(&bytes) {
            Ok(text) => Ok(text.to_owned()),
            Err(_) => Err(SegmentError::Corrupt("text")),
        };
        Ok([decode(headings)?, decode(text)?])
    }

    /// Returns a reader of the texts of adjacent chunks.
    pub(crate) fn texts(&self) -> TextCursor<'_> {
        TextCursor::new(&self.texts)
    }

    /// Returns the id of a document.
    pub(crate) fn id(&self, document: u32) -> Result<Cow<'_, str>, SegmentError> {
        self.ids.get(document, &self.attributes)
    }

    /// Returns the ids that begin with `prefix`, in order, with their documents.
    pub(crate) fn ids_with(&self, prefix: &str) -> Result<Vec<(u32, Cow<'_, str>)>, SegmentError> {
        self.ids.with_prefix(prefix, &self.attributes)
    }

    /// Returns the hash of the id of a document.
    pub(crate) fn id_hash(&self, document: u32) -> u16 {
        self.ids.hash(document)
    }

    /// Returns the number of the document `id`, if it is among those that are wanted.
    ///
    /// # Errors
    /// [`SegmentError::NotFetched`] if its id is missing. It was asked for, together with its attributes.
    pub(crate) fn find_document(
        &self,
        id: &str,
        is_wanted: impl Fn(u32) -> bool,
    ) -> Result<Option<u32>, SegmentError> {
        self.ids.find(id, &self.attributes, is_wanted)
    }

    /// Returns the documents that a `newer` segment has too. `None` if one of them has no table of its ids.
    pub(crate) fn superseded_by(&self, newer: &Self) -> Option<Vec<u32>> {
        self.ids.in_newer(&newer.ids)
    }

    pub(crate) fn attributes_of(&self, document: u32) -> Result<Bytes, SegmentError> {
        self.attributes.read(document)
    }

    /// Checks whether the attributes of a document are in the core.
    pub(crate) fn is_in_core(&self, document: u32) -> bool {
        self.attributes.find_in_core(document).is_some()
    }

    pub(crate) fn expires_at(&self, document: u32) -> Option<i64> {
        self.expiries.get(document)
    }

    /// Returns the numbers of the documents that expire, with their times.
    pub(crate) fn expiries(&self) -> impl Iterator<Item = (u32, i64)> {
        self.expiries.iter()
    }

    /// Returns the times by which a document is listed, if it has any.
    ///
    /// # Errors
    /// [`SegmentError::NotFetched`] if they are missing.
    pub(crate) fn times(&self, document: u32) -> Result<Option<DocumentTimes>, SegmentError> {
        match self.chunks_of(document).next() {
            Some(chunk) => self.times.read(chunk),
            None => Ok(None),
        }
    }

    /// Returns a time of the document of each chunk.
    ///
    /// # Errors
    /// [`SegmentError::NotFetched`] if some are missing; all that are were asked for.
    pub(crate) fn listed_times(&self, time: ListedTime) -> Result<ChunkTimes, SegmentError> {
        self.times.read_all(time)
    }

    pub(crate) fn stemmer(&self, document: u32) -> LatinStemmer {
        LatinStemmer::from_number(self.stemmer_number(document)).unwrap_or(LatinStemmer::None)
    }

    /// Returns the number of a document's stemmer, which a later version may have added.
    pub(crate) fn stemmer_number(&self, document: u32) -> u8 {
        let number = self.stemmers.get(document as usize);
        number.copied().unwrap_or_default()
    }

    pub(crate) fn chunks_of(&self, document: u32) -> std::ops::Range<u32> {
        self.document_chunks[document as usize]..self.document_chunks[document as usize + 1]
    }

    pub(crate) fn document_of(&self, chunk: u32) -> u32 {
        (self
            .document_chunks
            .partition_point(|&first| first <= chunk)
            - 1) as u32
    }

    /// Returns the position, start and end of a chunk.
    pub(crate) fn chunk_place(&self, chunk: u32) -> Result<[u32; 3], SegmentError> {
        Ok(self.search_part()?.place(chunk))
    }

    pub(crate) fn lengths(&self) -> &[u16] {
        &self.lengths
    }

    /// Returns the vectors of all chunks, a row of bytes for each.
    pub(crate) fn vectors(&self) -> Result<Bytes, SegmentError> {
        self.vectors.read(0..self.vectors.len())
    }

    pub(crate) fn vector(&self, chunk: u32) -> Result<QuantizedVector, SegmentError> {
        let start = chunk as usize * DIMENSIONS;
        let row = self.vectors.read(start..start + DIMENSIONS)?;
        Ok(QuantizedVector::row_of(pulp::bytemuck::cast_slice(&row), 0))
    }

    pub(crate) fn model_names(&self) -> impl Iterator<Item = &Arc<str>> {
        self.model_vectors.names()
    }

    pub(crate) fn model_row(&self, chunk: u32) -> Option<ModelRow<'_>> {
        self.model_vectors.row(chunk)
    }

    /// Returns the inverse norms of the vectors of all chunks.
    pub(crate) fn inverse_norms(&self) -> Result<&[f32], SegmentError> {
        if let Some(norms) = self.inverse_norms.get() {
            return Ok(norms);
        }
        let stored = self.header.paged(SectionKind::InverseNorms);
        let stored = stored.read(0..stored.len())?;
        let norms = decode_numbers(&stored, f32::from_le_bytes);
        if norms.len() != self.len_chunks() {
            return Err(SegmentError::Corrupt("sections disagree"));
        }
        Ok(self.inverse_norms.get_or_init(|| norms))
    }

    /// Returns the inverse norm of the vector of a chunk, once the norms of all chunks were read.
    pub(crate) fn known_inverse_norm(&self, chunk: u32) -> Option<f32> {
        self.inverse_norms.get()?.get(chunk as usize).copied()
    }

    /// Returns the sign bits, 32 bytes per chunk; empty in small segments and in some of earlier
    /// versions.
    pub(crate) fn signs(&self) -> Result<&[u8], SegmentError> {
        Ok(&self.search_part()?.signs)
    }

    /// Checks whether the vectors have codes. The sign bits are then those of rotated vectors.
    pub(crate) fn has_codes(&self) -> bool {
        self.header.section_len(SectionKind::Magnitudes) > 0
    }

    /// Estimates the cosine of a chunk's vector with `query` from its code.
    pub(crate) fn estimate_cosine(
        &self,
        query: &RotatedQuery,
        chunk: u32,
    ) -> Result<f32, SegmentError> {
        Ok(self.search_part()?.estimate_cosine(query, chunk))
    }

    /// Returns all terms, each with the offset of its postings.
    pub(crate) fn terms(&self) -> Result<&fst::Map<Bytes>, SegmentError> {
        Ok(&self.search_part()?.terms)
    }

    /// Returns the list of a term.
    pub(crate) fn postings(&self, term: &str) -> Result<Option<PostingList<'_>>, SegmentError> {
        let terms = self.terms()?;
        let Some(start) = terms.get(term) else {
            return Ok(None);
        };
        // Lists are in the order of their terms.
        let mut next = terms.range().gt(term).into_stream();
        let end = match next.next() {
            Some((_, end)) => usize::try_from(end).unwrap_or(usize::MAX),
            None => usize::MAX,
        };
        self.postings_within(start, end).map(Some)
    }

    /// Returns the list of the term that has this value in [`Self::terms`], of a file that is whole.
    pub(crate) fn postings_at(&self, value: u64) -> Result<PostingList<'_>, SegmentError> {
        self.postings_within(value, usize::MAX)
    }

    /// Returns the list within these offsets, of which the second may be behind the end.
    fn postings_within(&self, start: u64, end: usize) -> Result<PostingList<'_>, SegmentError> {
        let start = usize::try_from(start).unwrap_or(usize::MAX);
        let lists = &self.search_part()?.postings;
        let end = end.min(lists.as_ref().map_or(self.postings.len(), Bytes::len));
        if start > end {
            return Err(SegmentError::Corrupt("cut off"));
        }
        Ok(PostingList::open(match lists {
            Some(lists) => lists.slice(start..end),
            None => self.postings.read(start..end)?,
        }))
    }
}

fn open_attributes(header: &SegmentHeader) -> Result<AttributeReader, SegmentError> {
    let blocks = |table, blocks| Ok((header.section(table)?, header.paged(blocks)));
    let core = blocks(
        SectionKind::CoreAttributeBlocks,
        SectionKind::CoreAttributes,
    )?;
    let others = blocks(SectionKind::AttributeBlocks, SectionKind::Attributes)?;
    let table = header.section(SectionKind::AttributeTable)?;
    let table = (!table.is_empty()).then(|| StringTable::open(table));
    AttributeReader::open(
        &header.section(SectionKind::CoreDocuments)?,
        [core, others],
        table.transpose()?,
    )
}

fn decode_numbers<const N: usize, T>(bytes: &[u8], read: impl Fn([u8; N]) -> T) -> Vec<T> {
    bytes
        .as_chunks::<N>()
        .0
        .iter()
        .map(|chunk| read(*chunk))
        .collect()
}
