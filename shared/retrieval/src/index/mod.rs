//! A container's documents: immutable segments, oldest first, and a mutable tail of recent writes.

mod analyzer;
mod container;
mod liveness;
mod part;
mod tail;

use bytes::Bytes;

pub(crate) use analyzer::Analyzer;
pub use container::{ContainerIndex, merge};
pub(crate) use part::Part;

use crate::analysis::{Language, detect};
use crate::vector::Vector;

/// A document to be found: its chunks and what the caller wants back with a hit.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Document {
    /// Unique in a container; a later write of an id replaces the earlier.
    pub id: String,
    /// Opaque to this crate; the filter of a query reads them.
    pub attributes: Bytes,
    /// In reading order: neighbours lend each other score.
    pub chunks: Vec<ChunkInput>,
}

impl Document {
    /// The language whose stemmer the document's Latin words get.
    pub(crate) fn language(&self) -> Language {
        let mut sample = String::new();
        for chunk in &self.chunks {
            sample.push_str(&chunk.text);
            sample.push('\n');
            if sample.len() > 1_500 {
                break;
            }
        }
        detect(&sample)
    }
}

/// A passage of a document.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ChunkInput {
    /// What is found and returned.
    pub text: String,
    /// Title, section headings, date or speakers: found like the text, returned beside it.
    pub headings: String,
    /// The vector of the text (see [`crate::Embedder`]).
    pub vector: Vector,
    /// The caller's number of the chunk, returned with hits.
    pub position: u32,
    /// Where the text starts in its document, in the caller's unit.
    pub start: u32,
    /// Where it ends.
    pub end: u32,
}

/// What a filter sees of a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DocumentView<'a> {
    /// The document's id.
    pub id: &'a str,
    /// Its attributes, as written last.
    pub attributes: &'a [u8],
    /// How many chunks it has.
    pub chunks: u32,
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
    /// Where the text starts in its document.
    pub(crate) start: u32,
    /// Where it ends.
    pub(crate) end: u32,
}
