//! The attributes of documents, and the times at which some documents expire.
//!
//! The attributes of most documents are read in pages. Those that are read first are in the core.

use bytes::Bytes;

use super::blocks::{BlockReader, BlockWriter};
use super::format::{StringTable, u32_at};
use crate::error::SegmentError;

/// The number of uncompressed bytes of attributes after which a block is closed. Records of a ledger
/// shrink to 28 % in blocks of this size, to 31 % in blocks of half the size.
const BLOCK_BYTES: usize = 16 * 1024;
/// The number of a document.
const NUMBER_BYTES: usize = 4;
/// The number of a document, and its time as i64.
const EXPIRY_BYTES: usize = 12;

pub(super) struct AttributeWriter {
    blocks: BlockWriter,
    /// The numbers of the documents whose attributes are in the core.
    core_documents: Vec<u8>,
    core_blocks: BlockWriter,
    expiries: Vec<u8>,
    next_document: u32,
}

impl Default for AttributeWriter {
    fn default() -> Self {
        Self {
            blocks: BlockWriter::new(BLOCK_BYTES),
            core_documents: Vec::new(),
            core_blocks: BlockWriter::new(BLOCK_BYTES),
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
        is_in_core: bool,
        expires_at: Option<i64>,
    ) -> Result<(), SegmentError> {
        if is_in_core {
            self.core_documents
                .extend_from_slice(&self.next_document.to_le_bytes());
            self.core_blocks.push_row(&[attributes])?;
        }
        self.blocks
            .push_row(&[if is_in_core { b"" } else { attributes }])?;
        if let Some(time) = expires_at {
            self.expiries
                .extend_from_slice(&self.next_document.to_le_bytes());
            self.expiries.extend_from_slice(&time.to_le_bytes());
        }
        self.next_document += 1;
        Ok(())
    }

    pub(super) fn finish(self) -> Result<AttributeSections, SegmentError> {
        let (table, blocks) = self.blocks.finish()?;
        let (core_table, core_blocks) = self.core_blocks.finish()?;
        Ok(AttributeSections {
            table,
            blocks,
            core_documents: self.core_documents,
            core_table,
            core_blocks,
            expiries: self.expiries,
        })
    }
}

/// The sections of an [`AttributeWriter`]: the tables of blocks, the blocks, and what is beside them.
pub(super) struct AttributeSections {
    pub(super) table: Vec<u8>,
    pub(super) blocks: Vec<u8>,
    pub(super) core_documents: Vec<u8>,
    pub(super) core_table: Vec<u8>,
    pub(super) core_blocks: Vec<u8>,
    pub(super) expiries: Vec<u8>,
}

/// The attributes in the core.
#[derive(Debug)]
pub(super) struct CoreAttributes {
    documents: Bytes,
    blocks: BlockReader<1>,
}

impl CoreAttributes {
    pub(super) fn open(documents: Bytes, blocks: BlockReader<1>) -> Result<Self, SegmentError> {
        let (numbers, rest) = documents.as_chunks::<NUMBER_BYTES>();
        let is_sorted = numbers.is_sorted_by_key(|number| u32::from_le_bytes(*number));
        match is_sorted && rest.is_empty() {
            true => Ok(Self { documents, blocks }),
            false => Err(SegmentError::Corrupt("attributes of the core")),
        }
    }

    /// Returns the row of a document, if its attributes are here.
    fn find(&self, document: u32) -> Option<u32> {
        let numbers = self.documents.as_chunks::<NUMBER_BYTES>().0;
        let row = numbers.binary_search_by_key(&document, |number| u32::from_le_bytes(*number));
        row.ok().map(|row| row as u32)
    }
}

/// Reads the attributes.
#[derive(Debug)]
pub(super) struct AttributeReader {
    pub(super) core: CoreAttributes,
    pub(super) others: OtherAttributes,
}

/// The attributes that are not in the core.
#[derive(Debug)]
pub(super) enum OtherAttributes {
    /// Those of a segment of version 1 or 2.
    Table(StringTable),
    Blocks(BlockReader<1>),
}

impl AttributeReader {
    /// Estimates the memory that decompressed attributes take.
    pub(super) fn recent_bytes(&self) -> usize {
        let others = match &self.others {
            OtherAttributes::Table(_) => 0,
            OtherAttributes::Blocks(blocks) => blocks.recent_bytes(),
        };
        self.core.blocks.recent_bytes() + others
    }

    /// Returns the attributes of a document.
    pub(super) fn read(&self, document: u32) -> Result<Bytes, SegmentError> {
        let [attributes] = match (self.core.find(document), &self.others) {
            (Some(row), _) => self.core.blocks.read_row(row)?,
            (None, OtherAttributes::Table(table)) => [table.bytes(document as usize)],
            (None, OtherAttributes::Blocks(blocks)) => blocks.read_row(document)?,
        };
        Ok(attributes)
    }

    /// Checks whether the attributes of a document are in the core.
    pub(super) fn is_in_core(&self, document: u32) -> bool {
        self.core.find(document).is_some()
    }
}

/// The documents that expire, in the order of their numbers.
#[derive(Debug)]
pub(super) struct ExpiryReader(Bytes);

impl ExpiryReader {
    pub(super) fn open(section: Bytes) -> Result<Self, SegmentError> {
        let (entries, rest) = section.as_chunks::<EXPIRY_BYTES>();
        let number = |entry: &[u8; EXPIRY_BYTES]| u32_at(entry, 0).unwrap_or_default();
        let is_sorted = entries.is_sorted_by(|a, b| number(a) < number(b));
        if is_sorted && rest.is_empty() {
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
