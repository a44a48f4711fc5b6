//! Writes a segment: the chunks of all documents, then the terms, then the documents.

use bytes::Bytes;

use super::Segment;
use super::attributes::AttributeWriter;
use super::blocks::BlockWriter;
use super::deletions::Deletions;
use super::format::{self, Placement, SECTIONS, SectionKind};
use super::models::ModelVectorWriter;
use super::postings::write_postings;
use super::strings::{StringTable, StringTableWriter};
use super::texts::{ChunkText, TEXT_BLOCK_BYTES};
use super::times::TimesWriter;
use crate::error::SegmentError;
use crate::index::{DocumentTimes, Replacing};
use crate::kernel::SIGN_BYTES;
use crate::vector::{DIMENSIONS, ModelRow, QuantizedVector};
use crate::vector_code::{MAGNITUDE_BYTES, RotatedVector};

/// The number of chunks from which a segment has a search part, and vectors are read in pages. Searches of
/// such segments estimate the cosines from codes, and read the vectors of the best chunks.
const MIN_PAGED_VECTORS: usize = 1_024;
/// The most bytes of posting lists in the search part. Longer ones are read in pages: to fetch a few of them
/// takes less time than to read all of them.
const MAX_SEARCHED_POSTINGS: usize = 1536 * 1024;
/// The sections of the search part, in the order of the file.
const SEARCHED: [SectionKind; 5] = [
    SectionKind::Terms,
    SectionKind::Postings,
    SectionKind::Signs,
    SectionKind::Magnitudes,
    SectionKind::ChunkPositions,
];
/// The sections that may be read in pages, in the order of the file.
const PAGED: [SectionKind; 7] = [
    SectionKind::Vectors,
    SectionKind::InverseNorms,
    SectionKind::Postings,
    SectionKind::Texts,
    SectionKind::Attributes,
    SectionKind::CreationTimes,
    SectionKind::UpdateTimes,
];

/// A chunk to write.
pub(crate) struct ChunkRow<'a> {
    /// The position, start and end.
    pub(crate) place: [u32; 3],
    /// The length in words.
    pub(crate) length: u16,
    pub(crate) vector: QuantizedVector,
    pub(crate) inverse_norm: f32,
    pub(crate) model_row: Option<ModelRow<'a>>,
    pub(crate) text: ChunkText<'a>,
}

/// A document to write, after its chunks.
pub(crate) struct DocumentRow<'a> {
    pub(crate) id: &'a str,
    pub(crate) stemmer_number: u8,
    pub(crate) attributes: Bytes,
    pub(crate) is_in_core: bool,
    pub(crate) expires_at: Option<i64>,
    pub(crate) times: Option<DocumentTimes>,
}

/// The documents of older segments that a segment replaces or removes.
pub(crate) enum ReplacedDocuments<'a> {
    /// The sorted ids of those that were removed. Those that are replaced have the ids of its documents.
    Ids(Vec<&'a str>),
    /// The numbers of all of them.
    Numbers(Deletions),
}

impl ReplacedDocuments<'_> {
    /// Returns no documents.
    pub(crate) fn none(replacing: Replacing) -> Self {
        match replacing {
            Replacing::ById => Self::Ids(Vec::new()),
            Replacing::ByNumber => Self::Numbers(Deletions::default()),
        }
    }
}

/// The sections of a segment while they are written.
pub(crate) struct SegmentWriter<'a> {
    replaced: ReplacedDocuments<'a>,
    /// The ids, if they are stored in a table.
    id_table: StringTableWriter,
    document_chunks: Vec<u8>,
    stemmers: Vec<u8>,
    chunk_positions: Vec<u8>,
    lengths: Vec<u8>,
    vectors: Vec<u8>,
    norms: Vec<u8>,
    signs: Vec<u8>,
    magnitudes: Vec<u8>,
    has_codes: bool,
    models: ModelVectorWriter,
    texts: BlockWriter,
    attributes: AttributeWriter,
    times: TimesWriter,
    terms: fst::MapBuilder<Vec<u8>>,
    postings: Vec<u8>,
    next_chunk: u32,
}

impl<'a> SegmentWriter<'a> {
    /// Creates a writer for this many chunks. The ids of the documents are in runs if those that the
    /// segment replaces are known by their numbers.
    ///
    /// # Errors
    /// [`SegmentError::TooLarge`] if they do not fit into one segment.
    pub(crate) fn new(
        chunks: usize,
        replaced: ReplacedDocuments<'a>,
    ) -> Result<Self, SegmentError> {
        if chunks >= 1 << 31 {
            return Err(SegmentError::TooLarge("chunks"));
        }

        let has_codes = chunks >= MIN_PAGED_VECTORS;
        let coded = if has_codes { chunks } else { 0 };
        Ok(Self {
            id_table: StringTableWriter::default(),
            document_chunks: 0u32.to_le_bytes().to_vec(),
            stemmers: Vec::new(),
            chunk_positions: Vec::with_capacity(chunks * 12),
            lengths: Vec::with_capacity(chunks * 2),
            vectors: Vec::with_capacity(chunks * DIMENSIONS),
            norms: Vec::with_capacity(chunks * 4),
            signs: Vec::with_capacity(coded * SIGN_BYTES),
            magnitudes: Vec::with_capacity(coded * MAGNITUDE_BYTES),
            has_codes,
            models: ModelVectorWriter::default(),
            texts: BlockWriter::new(TEXT_BLOCK_BYTES),
            attributes: AttributeWriter::new(matches!(replaced, ReplacedDocuments::Numbers(_))),
            times: TimesWriter::default(),
            terms: fst::MapBuilder::memory(),
            postings: Vec::new(),
            next_chunk: 0,
            replaced,
        })
    }

    /// Makes room for the texts and attributes of these segments, of which this one is one of so many
    /// pieces.
    pub(crate) fn reserve_for<'s>(
        &mut self,
        copied: impl Iterator<Item = &'s Segment>,
        pieces: usize,
    ) {
        let (mut texts, mut attributes) = (0, 0);
        for segment in copied {
            texts += segment.texts.len_bytes();
            attributes += segment.attributes.blocks.len_bytes();
        }
        self.texts.reserve(texts / pieces);
        self.attributes.blocks.reserve(attributes / pieces);
    }

    /// Adds a chunk to the current document, and returns its number.
    ///
    /// # Errors
    /// [`SegmentError::TooLarge`] if its text does not fit.
    pub(crate) fn push_chunk(&mut self, chunk: &ChunkRow<'_>) -> Result<u32, SegmentError> {
        self.lengths.extend_from_slice(&chunk.length.to_le_bytes());
        for number in chunk.place {
            self.chunk_positions
                .extend_from_slice(&number.to_le_bytes());
        }
        self.vectors
            .extend_from_slice(pulp::bytemuck::cast_slice(&chunk.vector.0));
        self.norms
            .extend_from_slice(&chunk.inverse_norm.to_le_bytes());
        if self.has_codes {
            let rotated = RotatedVector::of(&chunk.vector);
            self.signs.extend_from_slice(&rotated.sign_bits());
            self.magnitudes
                .extend_from_slice(&rotated.magnitude_bytes());
        }
        self.models.push(chunk.model_row);
        chunk.text.write(&mut self.texts)?;

        self.next_chunk += 1;
        Ok(self.next_chunk - 1)
    }

    /// Ends the current document. The next chunk belongs to the next document.
    ///
    /// # Errors
    /// [`SegmentError::TooLarge`] if its attributes do not fit.
    pub(crate) fn end_document(&mut self, document: &DocumentRow<'_>) -> Result<(), SegmentError> {
        if let ReplacedDocuments::Ids(_) = self.replaced {
            self.id_table.push(document.id.as_bytes())?;
        }
        self.stemmers.push(document.stemmer_number);
        self.times.push_document(self.next_chunk, document.times);
        self.document_chunks
            .extend_from_slice(&self.next_chunk.to_le_bytes());
        self.attributes.push(
            document.id,
            &document.attributes,
            document.is_in_core,
            document.expires_at,
        )
    }

    /// Adds a term, which must be greater than all before it, with its chunks (ascending) and their
    /// frequencies.
    ///
    /// # Errors
    /// [`SegmentError::TooLarge`] if the terms do not fit.
    pub(crate) fn push_term(
        &mut self,
        term: &[u8],
        postings: &[(u32, u32)],
    ) -> Result<(), SegmentError> {
        self.terms
            .insert(term, self.postings.len() as u64)
            .map_err(|_| SegmentError::TooLarge("terms"))?;
        write_postings(postings, &mut self.postings);
        Ok(())
    }

    /// Returns the bytes of the file.
    ///
    /// # Errors
    /// [`SegmentError::TooLarge`] if the documents do not fit into one segment.
    pub(crate) fn finish(self) -> Result<Vec<u8>, SegmentError> {
        let document_count = self.stemmers.len() as u32;
        let (id_table, removed, deletions) = match self.replaced {
            ReplacedDocuments::Ids(removed) => (self.id_table.finish(), removed, Vec::new()),
            ReplacedDocuments::Numbers(deletions) => (Vec::new(), Vec::new(), deletions.encode()),
        };
        let terms = self
            .terms
            .into_inner()
            .map_err(|_| SegmentError::TooLarge("terms"))?;
        let (text_blocks, texts) = self.texts.finish()?;
        let attributes = self.attributes.finish()?;
        let runs = attributes.ids.unwrap_or_default();
        let [creation_times, update_times] = self.times.finish();
        let [model_names, model_dimensions, chunk_models, model_vectors] = self.models.finish()?;
        let sections: [Vec<u8>; SECTIONS] = [
            id_table,
            Vec::new(),
            self.document_chunks,
            self.stemmers,
            self.chunk_positions,
            self.lengths,
            self.vectors,
            self.norms,
            self.signs,
            terms,
            self.postings,
            StringTable::write(removed.iter())?,
            Vec::new(),
            Vec::new(),
            text_blocks,
            texts,
            model_names,
            model_dimensions,
            chunk_models,
            model_vectors,
            attributes.table,
            attributes.blocks,
            attributes.expiries,
            Vec::new(),
            self.magnitudes,
            attributes.core_documents,
            attributes.core_table,
            attributes.core_blocks,
            runs.first_ids,
            runs.hashes,
            runs.core_ids,
            deletions,
            creation_times,
            update_times,
        ];
        let has_long_lists = sections[SectionKind::Postings as usize].len() > MAX_SEARCHED_POSTINGS;
        let mut searched = match self.has_codes {
            true => Vec::from(SEARCHED),
            false => Vec::new(),
        };
        searched.retain(|section| *section != SectionKind::Postings || !has_long_lists);
        // Vectors come first, so that no row is in two pages.
        let mut paged = Vec::from(PAGED);
        paged.retain(|section| match section {
            SectionKind::Vectors | SectionKind::InverseNorms => self.has_codes,
            SectionKind::Postings => has_long_lists,
            _ => true,
        });

        let placement = Placement {
            searched: &searched,
            paged: &paged,
        };
        format::write_file(self.next_chunk, document_count, sections, &placement)
    }
}
