//! Writing of documents to a segment.

use bytes::Bytes;
use hashbrown::HashMap;

use super::format::{self, StringTable};
use super::models::ModelVectorWriter;
use super::postings::PostingsBuilder;
use super::texts::TextWriter;
use crate::error::SegmentError;
use crate::index::{ChunkAnalyzer, Document};
use crate::kernel::SIGN_BYTES;

/// The number of chunks from which a segment has sign bits. The vectors of smaller ones are scanned
/// whole.
const MIN_SIGNED_CHUNKS: usize = 32_768;

/// Collects documents, removals and changed attributes, and writes them as one immutable segment.
#[derive(Debug, Default)]
pub struct SegmentBuilder {
    documents: Vec<Document>,
    removed: Vec<String>,
    patches: Vec<(String, Bytes)>,
}

impl SegmentBuilder {
    /// Creates a builder without documents.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a document. Of several with the same id, the last one is kept.
    pub fn add(&mut self, document: Document) {
        self.documents.push(document);
    }

    /// Records that the document `id` of older segments is removed.
    pub fn remove(&mut self, id: impl Into<String>) {
        self.removed.push(id.into());
    }

    /// Records new attributes of the document `id` of older segments.
    pub fn patch_attributes(&mut self, id: impl Into<String>, attributes: Bytes) {
        self.patches.push((id.into(), attributes));
    }

    /// Sorts everything by id, and keeps the last of equal ids.
    fn dedup_by_id(&mut self) {
        self.documents.reverse();
        self.documents.sort_by(|a, b| a.id.cmp(&b.id));
        self.documents.dedup_by(|a, b| a.id == b.id);
        self.removed.sort();
        self.removed.dedup();
        self.patches.reverse();
        self.patches.sort_by(|a, b| a.0.cmp(&b.0));
        self.patches.dedup_by(|a, b| a.0 == b.0);
    }

    /// Returns the bytes of the file.
    ///
    /// # Errors
    /// [`SegmentError::TooLarge`] if the documents do not fit into one segment.
    pub fn build(mut self) -> Result<Vec<u8>, SegmentError> {
        self.dedup_by_id();
        let chunk_count: usize = self.documents.iter().map(|d| d.chunks.len()).sum();
        if chunk_count >= 1 << 31 {
            return Err(SegmentError::TooLarge("chunks"));
        }

        let mut writer = SectionWriter::new(chunk_count);
        for document in &self.documents {
            writer.push(document)?;
        }

        let ids = StringTable::write(self.documents.iter().map(|d| d.id.as_bytes()))?;
        let attributes = StringTable::write(self.documents.iter().map(|d| &d.attributes))?;
        let removed = StringTable::write(self.removed.iter().map(String::as_bytes))?;
        let patched = StringTable::write(self.patches.iter().map(|p| p.0.as_bytes()))?;
        let patches = StringTable::write(self.patches.iter().map(|p| &p.1))?;
        let (terms, postings) = writer.terms()?;
        let (text_blocks, texts) = writer.texts.finish()?;
        let [model_names, model_dimensions, chunk_models, model_vectors] =
            writer.models.finish()?;
        let sections = [
            ids,
            attributes,
            writer.document_chunks,
            writer.stemmers,
            writer.chunk_positions,
            writer.lengths,
            writer.vectors,
            writer.norms,
            writer.signs,
            terms,
            postings,
            removed,
            patched,
            patches,
            text_blocks,
            texts,
            model_names,
            model_dimensions,
            chunk_models,
            model_vectors,
        ];

        Ok(format::write_file(
            writer.next_chunk,
            self.documents.len() as u32,
            sections,
        ))
    }
}

/// The sections while they are written.
struct SectionWriter {
    analyzer: ChunkAnalyzer,
    postings: HashMap<Box<str>, PostingsBuilder>,
    document_chunks: Vec<u8>,
    stemmers: Vec<u8>,
    chunk_positions: Vec<u8>,
    lengths: Vec<u8>,
    vectors: Vec<u8>,
    norms: Vec<u8>,
    signs: Vec<u8>,
    has_signs: bool,
    models: ModelVectorWriter,
    texts: TextWriter,
    next_chunk: u32,
}

impl SectionWriter {
    fn new(chunks: usize) -> Self {
        let has_signs = chunks >= MIN_SIGNED_CHUNKS;
        Self {
            analyzer: ChunkAnalyzer::default(),
            postings: HashMap::new(),
            document_chunks: 0u32.to_le_bytes().to_vec(),
            stemmers: Vec::new(),
            chunk_positions: Vec::with_capacity(chunks * 12),
            lengths: Vec::with_capacity(chunks * 2),
            vectors: Vec::with_capacity(chunks * 256),
            norms: Vec::with_capacity(chunks * 4),
            signs: Vec::with_capacity(if has_signs { chunks * SIGN_BYTES } else { 0 }),
            has_signs,
            models: ModelVectorWriter::default(),
            texts: TextWriter::default(),
            next_chunk: 0,
        }
    }

    fn push(&mut self, document: &Document) -> Result<(), SegmentError> {
        let stemmer = document.stemmer();
        self.stemmers.push(stemmer as u8);
        for chunk in &document.chunks {
            let (length, terms) = self.analyzer.chunk(chunk, stemmer);
            for (term, frequency) in terms {
                self.postings
                    .entry_ref(term)
                    .or_default()
                    .push(self.next_chunk, frequency);
            }
            self.lengths.extend_from_slice(&length.to_le_bytes());
            for number in [chunk.position, chunk.start, chunk.end] {
                self.chunk_positions
                    .extend_from_slice(&number.to_le_bytes());
            }
            self.vectors
                .extend_from_slice(pulp::bytemuck::cast_slice(&chunk.vector.0));
            self.norms
                .extend_from_slice(&chunk.vector.inverse_norm().to_le_bytes());
            if self.has_signs {
                self.signs.extend_from_slice(&chunk.vector.sign_bits());
            }
            self.models.push(chunk.model_vector.as_ref());
            self.texts.push_chunk(&chunk.headings, &chunk.text)?;
            self.next_chunk += 1;
        }

        self.document_chunks
            .extend_from_slice(&self.next_chunk.to_le_bytes());
        Ok(())
    }

    fn terms(&mut self) -> Result<(Vec<u8>, Vec<u8>), SegmentError> {
        let mut terms: Vec<(Box<str>, PostingsBuilder)> =
            std::mem::take(&mut self.postings).into_iter().collect();
        terms.sort_unstable_by(|a, b| a.0.cmp(&b.0));
        let mut postings = Vec::new();
        let mut table = fst::MapBuilder::memory();
        for (term, builder) in &terms {
            table
                .insert(term.as_bytes(), postings.len() as u64)
                .map_err(|_| SegmentError::TooLarge("terms"))?;
            builder.write(&mut postings);
        }

        let table = table
            .into_inner()
            .map_err(|_| SegmentError::TooLarge("terms"))?;
        Ok((table, postings))
    }
}
