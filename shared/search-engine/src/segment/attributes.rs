//! The attributes of documents, and the times at which some documents expire.

use bytes::Bytes;

use super::blocks::{BlockReader, BlockWriter};
use super::format::{StringTable, u32_at};
use crate::error::SegmentError;

/// The number of uncompressed bytes of attributes after which a block is closed. Records of a ledger
/// shrink to 28 % in blocks of this size, to 31 % in blocks of half the size.
const BLOCK_BYTES: usize = 16 * 1024;
/// The number of a document, and its time as i64.
const EXPIRY_BYTES: usize = 12;

pub(super) struct AttributeWriter {
    blocks: BlockWriter,
    expiries: Vec<u8>,
    next_document: u32,
}

impl Default for AttributeWriter {
    fn default() -> Self {
        Self {
            blocks: BlockWriter::new(BLOCK_BYTES),
            expiries: Vec::new(),
            next_document: 0,
        }
    }
}

impl AttributeWriter {
    /// Adds the attributes of the next document.
    pub(super) fn push(
        &mut self,
        attributes: &[u8],
        expires_at: Option<i64>,
    ) -> Result<(), SegmentError> {
        self.blocks.push_row(&[attributes])?;
        if let Some(time) = expires_at {
            self.expiries
                .extend_from_slice(&self.next_document.to_le_bytes());
            self.expiries.extend_from_slice(&time.to_le_bytes());
        }
        self.next_document += 1;
        Ok(())
    }

    /// Returns the table of the blocks, the blocks, and the expiries.
    pub(super) fn finish(self) -> Result<[Vec<u8>; 3], SegmentError> {
        let (table, blocks) = self.blocks.finish()?;
        Ok([table, blocks, self.expiries])
    }
}

/// Reads the attributes.
#[derive(Debug)]
pub(super) enum AttributeReader {
    /// Those of a segment of version 1 or 2.
    Table(StringTable),
    Blocks(BlockReader<1>),
}

impl AttributeReader {
    /// Estimates the memory that decompressed attributes take.
    pub(super) fn recent_bytes(&self) -> usize {
        match self {
            Self::Table(_) => 0,
            Self::Blocks(blocks) => blocks.recent_bytes(),
        }
    }

    /// Returns the attributes of a document.
    pub(super) fn read(&self, document: u32) -> Result<Bytes, SegmentError> {
        match self {
            Self::Table(table) => Ok(table.bytes(document as usize)),
            Self::Blocks(blocks) => {
                let [attributes] = blocks.read_row(document)?;
                Ok(attributes)
            }
        }
    }
}

/// The documents that expire, in the order of their numbers.
#[derive(Debug)]
pub(super) struct ExpiryReader(Bytes);

impl ExpiryReader {
    pub(super) fn open(section: Bytes) -> Result<Self, SegmentError> {
        if section.len().is_multiple_of(EXPIRY_BYTES) {
            Ok(Self(section))
        } else {
            Err(SegmentError::Corrupt("expiries"))
        }
    }

    /// Returns the numbers of the documents with their times.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u32, i64)> {
        self.0.as_chunks::<EXPIRY_BYTES>().0.iter().map(|entry| {
            let time = entry.last_chunk().copied().unwrap_or_default();
            let document = u32_at(entry, 0).unwrap_or_default();
            (document, i64::from_le_bytes(time))
        })
    }

    /// Returns the time at which a document expires.
    pub(super) fn get(&self, document: u32) -> Option<i64> {
        let entries = self.0.as_chunks::<EXPIRY_BYTES>().0;
        let number = |entry: &[u8; EXPIRY_BYTES]| u32_at(entry, 0).unwrap_or_default();
        let index = entries.binary_search_by_key(&document, number).ok()?;
        Some(i64::from_le_bytes(*entries[index].last_chunk()?))
    }
}
