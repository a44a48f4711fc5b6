//! The documents of a container: immutable segments, oldest first, and a mutable tail of recent
//! writes.

mod analyzer;
mod container;
mod listing;
mod liveness;
mod merge;
mod part;
mod tail;

use std::borrow::Cow;

use bytes::Bytes;

pub(crate) use analyzer::ChunkAnalyzer;
pub use container::{ContainerIndex, DocumentCount, Replacing, merge_segments};
pub use listing::{DocumentPlace, DocumentTimes, ListedDocument, ListedTime};
pub(crate) use liveness::BitSet;
pub use merge::Piece;
pub(crate) use part::IndexPart;

use crate::analysis::LatinStemmer;
use crate::error::SegmentError;
use crate::vector::{ModelVector, QuantizedVector};

/// A document to index: its chunks, and the attributes that come back with a hit.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Document {
    /// Its id, unique within a container. A later write of the same id replaces the earlier one.
    pub id: String,
    /// The attributes, opaque to this crate; the filter of a query reads them.
    pub attributes: Bytes,
    /// True if the attributes are read before others, so that they are in the core of a segment.
    pub is_in_core: bool,
    /// The time in milliseconds from which queries that have a time do not find the document.
    pub expires_at: Option<i64>,
    /// The times by which the document is listed. A segment has them only of documents with chunks.
    pub times: Option<DocumentTimes>,
    /// The chunks in reading order. Neighbours raise each other's scores.
    pub chunks: Vec<ChunkInput>,
}

impl Document {
    /// Returns the stemmer for the document's words in Latin script.
    pub(crate) fn stemmer(&self) -> LatinStemmer {
        let mut sample = String::new();
        for chunk in &self.chunks {
            sample.push_str(&chunk.text);
            sample.push('\n');
            if sample.len() > 1_500 {
                break;
            }
        }
        LatinStemmer::for_text(&sample)
    }
}

/// A chunk of a document.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ChunkInput {
    /// The text that is searched and returned.
    pub text: String,
    /// Title, section headings, date or speakers: searched like the text, and returned beside it.
    pub headings: String,
    /// The vector of the text by the built-in embedder (see [`crate::Embedder`]).
    pub vector: QuantizedVector,
    /// The vector of the text by the model that the operator has chosen, if there is one. It takes
    /// the place of `vector` for queries that have a vector of the same model.
    pub model_vector: Option<ModelVector>,
    /// The caller's number of the chunk, returned with hits.
    pub position: u32,
    /// The start of the text in its document, in the caller's unit.
    pub start: u32,
    /// The end of the text.
    pub end: u32,
}

/// A document as a filter sees it.
#[derive(Debug, Clone, Copy)]
pub struct DocumentView<'a> {
    /// The number of its chunks.
    pub chunks: u32,
    part: &'a IndexPart,
    number: u32,
}

impl<'a> DocumentView<'a> {
    /// Returns the document's id.
    ///
    /// # Errors
    /// [`SegmentError::NotFetched`] if it is missing.
    pub fn id(&self) -> Result<Cow<'a, str>, SegmentError> {
        self.part.id(self.number)
    }

    /// Returns the document's attributes, as last written.
    ///
    /// # Errors
    /// [`SegmentError::Corrupt`] if the stored attributes cannot be read.
    pub fn attributes(&self) -> Result<Bytes, SegmentError> {
        self.part.attributes_of(self.number)
    }

    /// Returns the time in milliseconds from which the document is not found, if it expires.
    #[must_use]
    pub fn expires_at(&self) -> Option<i64> {
        self.part.expires_at(self.number)
    }
}

/// A chunk as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ChunkView {
    /// The caller's number of the chunk.
    pub(crate) position: u32,
    /// The chunk's text.
    pub(crate) text: String,
    /// Its headings.
    pub(crate) headings: String,
    /// The start of the text in its document.
    pub(crate) start: u32,
    /// The end of the text.
    pub(crate) end: u32,
}
