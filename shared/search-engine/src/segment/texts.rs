//! The texts and headings of chunks in zstd blocks of adjacent chunks. A block is decompressed when
//! one of its chunks is requested.

use bytes::Bytes;

use super::format::{put_varint, take_varint, u32_at};
use crate::error::SegmentError;

/// The number of uncompressed bytes after which a block is closed.
const BLOCK_BYTES: usize = 12 * 1024;
/// The size of the largest block that is read. One chunk may be longer than [`BLOCK_BYTES`].
const MAX_BLOCK_BYTES: usize = 256 << 20;
/// The first chunk, the offset (two words), the stored bytes, the raw bytes, and the checksum.
const BLOCK_ENTRY_BYTES: usize = 24;
const COMPRESSION_LEVEL: i32 = 3;

/// The headings and text of a chunk.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ChunkText<'a> {
    pub(crate) headings: &'a str,
    pub(crate) text: &'a str,
}

#[derive(Default)]
pub(super) struct TextWriter {
    blocks: Vec<u8>,
    data: Vec<u8>,
    raw: Vec<u8>,
    first_chunk: u32,
    next_chunk: u32,
}

impl TextWriter {
    pub(super) fn push_chunk(&mut self, chunk: ChunkText<'_>) -> Result<(), SegmentError> {
        for part in [chunk.headings, chunk.text] {
            put_varint(
                u32::try_from(part.len()).map_err(|_| SegmentError::TooLarge("chunk"))?,
                &mut self.raw,
            );
            self.raw.extend_from_slice(part.as_bytes());
        }

        self.next_chunk += 1;
        if self.raw.len() >= BLOCK_BYTES {
            self.close_block()
        } else {
            Ok(())
        }
    }

    fn close_block(&mut self) -> Result<(), SegmentError> {
        if self.raw.len() > MAX_BLOCK_BYTES {
            return Err(SegmentError::TooLarge("chunk"));
        }

        let stored = zstd::bulk::compress(&self.raw, COMPRESSION_LEVEL)
            .map_err(|_| SegmentError::TooLarge("text block"))?;
        self.blocks
            .extend_from_slice(&self.first_chunk.to_le_bytes());
        self.blocks
            .extend_from_slice(&(self.data.len() as u64).to_le_bytes());
        for number in [
            stored.len() as u32,
            self.raw.len() as u32,
            crc32fast::hash(&stored),
        ] {
            self.blocks.extend_from_slice(&number.to_le_bytes());
        }

        self.data.extend_from_slice(&stored);
        self.raw.clear();
        self.first_chunk = self.next_chunk;

        Ok(())
    }

    /// Returns the block table and the blocks.
    pub(super) fn finish(mut self) -> Result<(Vec<u8>, Vec<u8>), SegmentError> {
        if !self.raw.is_empty() {
            self.close_block()?;
        }
        Ok((self.blocks, self.data))
    }
}

#[derive(Debug, Clone)]
pub(super) struct TextReader {
    blocks: Bytes,
    data: Bytes,
}

impl TextReader {
    pub(super) fn open(blocks: Bytes, data: Bytes) -> Result<Self, SegmentError> {
        if !blocks.len().is_multiple_of(BLOCK_ENTRY_BYTES) {
            return Err(SegmentError::Corrupt("text blocks"));
        }
        Ok(Self { blocks, data })
    }

    fn first_chunk_of(&self, block: usize) -> u32 {
        u32_at(&self.blocks, block * BLOCK_ENTRY_BYTES).unwrap_or(u32::MAX)
    }

    /// Returns the block of `chunk`.
    fn block_of(&self, chunk: u32) -> usize {
        let (mut low, mut high) = (0, self.blocks.len() / BLOCK_ENTRY_BYTES);
        while low < high {
            let middle = low + (high - low) / 2;
            if self.first_chunk_of(middle) <= chunk {
                low = middle + 1
            } else {
                high = middle
            }
        }
        low.saturating_sub(1)
    }

    /// Decompresses a block.
    fn read_block(&self, block: usize) -> Result<TextBlock, SegmentError> {
        let at = block * BLOCK_ENTRY_BYTES;
        let number = |index: usize| u32_at(&self.blocks, at + index * 4);
        let start = u64::from(number(1)?) | u64::from(number(2)?) << 32;
        let (stored, raw, crc) = (number(3)? as usize, number(4)? as usize, number(5)?);
        let start = usize::try_from(start).map_err(|_| SegmentError::Corrupt("text blocks"))?;
        let end = start
            .checked_add(stored)
            .ok_or(SegmentError::Corrupt("text blocks"))?;
        let bytes = self
            .data
            .get(start..end)
            .ok_or(SegmentError::Corrupt("text blocks"))?;
        if crc32fast::hash(bytes) != crc || raw > MAX_BLOCK_BYTES {
            return Err(SegmentError::Corrupt("text block checksum"));
        }

        let raw =
            zstd::bulk::decompress(bytes, raw).map_err(|_| SegmentError::Corrupt("text block"))?;
        let mut rest = raw.as_slice();
        let mut chunks = Vec::new();
        while !rest.is_empty() {
            chunks.push([take_text(&mut rest)?, take_text(&mut rest)?]);
        }

        Ok(TextBlock {
            first_chunk: self.first_chunk_of(block),
            chunks,
        })
    }
}

/// The headings and texts of adjacent chunks.
struct TextBlock {
    first_chunk: u32,
    chunks: Vec<[String; 2]>,
}

impl TextBlock {
    fn get(&self, chunk: u32) -> Option<ChunkText<'_>> {
        let index = chunk.checked_sub(self.first_chunk)?;
        let [headings, text] = self.chunks.get(index as usize)?;
        Some(ChunkText { headings, text })
    }
}

/// Reads the texts of chunks. The last block stays decompressed, so adjacent chunks are cheap.
pub(crate) struct TextCursor<'a> {
    reader: &'a TextReader,
    block: Option<TextBlock>,
}

impl<'a> TextCursor<'a> {
    pub(super) fn new(reader: &'a TextReader) -> Self {
        Self {
            reader,
            block: None,
        }
    }

    /// Returns the text of a chunk.
    pub(crate) fn read(&mut self, chunk: u32) -> Result<ChunkText<'_>, SegmentError> {
        let is_read = match &self.block {
            Some(block) => block.get(chunk).is_some(),
            None => false,
        };
        if !is_read {
            self.block = Some(self.reader.read_block(self.reader.block_of(chunk))?);
        }

        let block = self.block.as_ref();
        block
            .and_then(|block| block.get(chunk))
            .ok_or(SegmentError::Corrupt("text blocks"))
    }
}

fn take_text(rest: &mut &[u8]) -> Result<String, SegmentError> {
    let length = take_varint(rest) as usize;
    let (text, after) = rest
        .split_at_checked(length)
        .ok_or(SegmentError::Corrupt("text"))?;
    *rest = after;
    String::from_utf8(text.to_vec()).map_err(|_| SegmentError::Corrupt("text"))
}
