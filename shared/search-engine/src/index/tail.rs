//! Recent documents in memory, which can be searched at once.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

use hashbrown::HashMap;

use super::{ChunkAnalyzer, ChunkInput, Document, ListedTime};
use crate::analysis::LatinStemmer;
use crate::segment::{ChunkText, ChunkTimes, PostingList};
use crate::vector::ModelRow;

#[derive(Debug, Clone)]
struct TailDocument {
    document: Arc<Document>,
    first_chunk: u32,
    stemmer: LatinStemmer,
}

#[derive(Debug, Clone, Default)]
struct TailPostings {
    chunks: Vec<u32>,
    frequencies: Vec<u32>,
}

/// The inverted index of the documents written since the last segment. It is cloned on a write
/// while a reader still holds it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Tail {
    documents: Vec<TailDocument>,
    by_id: HashMap<String, u32>,
    postings: HashMap<Box<str>, TailPostings>,
    lengths: Vec<u16>,
    vectors: Vec<i8>,
    inverse_norms: Vec<f32>,
    /// The models whose vectors some chunks have.
    model_names: BTreeSet<Arc<str>>,
    bytes: usize,
}

impl Tail {
    /// Appends `document` and returns its number. An earlier document of the same id can no longer
    /// be found by id.
    pub(super) fn push_document(&mut self, document: Arc<Document>) -> u32 {
        let stemmer = document.stemmer();
        let first_chunk = self.lengths.len() as u32;

        let mut analyzer = ChunkAnalyzer::default();
        for (chunk, number) in document.chunks.iter().zip(first_chunk..) {
            let (length, terms) = analyzer.chunk(chunk, stemmer);
            for (term, frequency) in terms {
                let list = self.postings.entry_ref(term).or_default();
                list.chunks.push(number);
                list.frequencies.push(frequency);
                self.bytes += 10;
            }
            self.lengths.push(length);
            self.vectors.extend_from_slice(&chunk.vector.0);
            self.inverse_norms.push(chunk.vector.inverse_norm());
            if let Some(vector) = &chunk.model_vector {
                self.model_names.insert(vector.model().clone());
                self.bytes += vector.codes().len();
            }
            self.bytes += 600 + chunk.text.len() + chunk.headings.len();
        }

        let number = self.documents.len() as u32;
        self.bytes += document.id.len() * 2 + document.attributes.len() + 100;
        self.by_id.insert(document.id.clone(), number);
        self.documents.push(TailDocument {
            document,
            first_chunk,
            stemmer,
        });

        number
    }

    pub(super) fn forget_id(&mut self, id: &str) -> Option<u32> {
        self.by_id.remove(id)
    }

    pub(super) fn find_document(&self, id: &str) -> Option<u32> {
        self.by_id.get(id).copied()
    }

    pub(super) fn len_documents(&self) -> usize {
        self.documents.len()
    }

    pub(super) fn estimated_bytes(&self) -> usize {
        self.bytes
    }

    pub(super) fn document(&self, index: u32) -> &Arc<Document> {
        &self.documents[index as usize].document
    }

    pub(super) fn id(&self, index: u32) -> &str {
        &self.document(index).id
    }

    /// Returns the numbers of the documents that expire, with their times.
    pub(super) fn expiries(&self) -> impl Iterator<Item = (u32, i64)> {
        let numbered = (0..).zip(&self.documents);
        numbered.filter_map(|(number, entry)| Some((number, entry.document.expires_at?)))
    }

    /// Returns a time of the document of each chunk.
    pub(super) fn listed_times(&self, time: ListedTime) -> ChunkTimes {
        let mut times = Vec::with_capacity(self.lengths.len());
        for TailDocument { document, .. } in &self.documents {
            let listed = document.times.map(|times| time.of(times));
            times.extend(document.chunks.iter().map(|_| listed));
        }
        ChunkTimes::Tail(times)
    }

    pub(super) fn stemmer(&self, index: u32) -> LatinStemmer {
        self.documents[index as usize].stemmer
    }

    pub(super) fn chunks_of(&self, index: u32) -> Range<u32> {
        let entry = &self.documents[index as usize];
        entry.first_chunk..entry.first_chunk + entry.document.chunks.len() as u32
    }

    pub(super) fn document_of(&self, chunk: u32) -> u32 {
        let mut index = self
            .documents
            .partition_point(|entry| entry.first_chunk <= chunk)
            - 1;
        while self.chunks_of(index as u32).is_empty() {
            index -= 1;
        }
        index as u32
    }

    fn chunk(&self, chunk: u32) -> &ChunkInput {
        let document = self.document_of(chunk);
        let offset = chunk - self.chunks_of(document).start;
        &self.document(document).chunks[offset as usize]
    }

    /// Returns the position, start and end of a chunk.
    pub(super) fn chunk_place(&self, chunk: u32) -> [u32; 3] {
        let chunk = self.chunk(chunk);
        [chunk.position, chunk.start, chunk.end]
    }

    pub(super) fn text(&self, chunk: u32) -> ChunkText<'_> {
        let ChunkInput { headings, text, .. } = self.chunk(chunk);
        ChunkText { headings, text }
    }

    pub(super) fn lengths(&self) -> &[u16] {
        &self.lengths
    }

    pub(super) fn vectors(&self) -> &[i8] {
        &self.vectors
    }

    pub(super) fn model_names(&self) -> impl Iterator<Item = &Arc<str>> {
        self.model_names.iter()
    }

    pub(super) fn model_row(&self, chunk: u32) -> Option<ModelRow<'_>> {
        if self.model_names.is_empty() {
            return None;
        }
        Some(self.chunk(chunk).model_vector.as_ref()?.row())
    }

    pub(super) fn inverse_norms(&self) -> &[f32] {
        &self.inverse_norms
    }

    /// Returns the terms in arbitrary order.
    pub(super) fn terms(&self) -> impl Iterator<Item = &str> {
        self.postings.keys().map(|term| &**term)
    }

    pub(super) fn postings(&self, term: &str) -> Option<PostingList<'_>> {
        let list = self.postings.get(term)?;
        Some(PostingList::Plain {
            chunks: &list.chunks,
            frequencies: &list.frequencies,
        })
    }
}
