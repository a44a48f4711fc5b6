//! The texts and headings of chunks.

use super::blocks::{BlockCursor, BlockReader, BlockWriter};
use crate::error::SegmentError;

/// The number of uncompressed bytes of texts after which a block is closed.
pub(super) const TEXT_BLOCK_BYTES: usize = 12 * 1024;

/// The headings and text of a chunk.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ChunkText<'a> {
    pub(crate) headings: &'a str,
    pub(crate) text: &'a str,
}

impl ChunkText<'_> {
    pub(super) fn write(&self, writer: &mut BlockWriter) -> Result<(), SegmentError> {
        writer.push_row(&[self.headings.as_bytes(), self.text.as_bytes()])
    }
}

/// Reads the texts of chunks. Adjacent chunks are cheap.
pub(crate) struct TextCursor<'a>(BlockCursor<'a, 2>);

impl<'a> TextCursor<'a> {
    pub(super) fn new(reader: &'a BlockReader<2>) -> Self {
        Self(BlockCursor::new(reader))
    }

    /// Returns the text of a chunk.
    pub(crate) fn read(&mut self, chunk: u32) -> Result<ChunkText<'_>, SegmentError> {
        let [headings, text] = self.0.read(chunk)?;
        let decode = |bytes| std::str::from_utf8(bytes).map_err(|_| SegmentError::Corrupt("text"));
        Ok(ChunkText {
            headings: decode(headings)?,
            text: decode(text)?,
        })
    }
}
