//! The attributes of documents, and the times at which some documents expire.
//!
//! The attributes of most documents are read in pages. Those that are read first are in the core.

use bytes::Bytes;

use super::blocks::{BlockReader, BlockWriter};
use super::decode_numbers;
use super::file::PagedSection;
use super::format::u32_at;
use super::ids::{IdRunSections, IdRunWriter};
use super::strings::StringTable;
use crate::error::SegmentError;

/// The number of uncompressed bytes of attributes after which a block is closed. Records of a ledger
/// shrink to 28 % in blocks of this size, to 31 % in blocks of half the size.
const BLOCK_BYTES: usize = 16 * 1024;
/// The number of a document, and its time as i64.
const EXPIRY_BYTES: usize = 12;

pub(super) struct AttributeWriter {
    pub(super) blocks: BlockWriter,
    /// The numbers of the documents whose attributes are in the core.
    core_documents: Vec<u8>,
    core_blocks: BlockWriter,
    /// The ids, if they are stored in runs.
    ids: Option<IdRunWriter>,
    expiries: Vec<u8>,
    next_document: u32,
}

impl AttributeWriter {
    /// Creates a writer, also of the ids if they are stored in runs.
    pub(super) fn new(has_id_runs: bool) -> Self {
        Self {
            blocks: BlockWriter::new(BLOCK_BYTES),
            ids: has_id_runs.then(IdRunWriter::default),
            core_documents: Vec::new(),
            core_blocks: BlockWriter::new(BLOCK_BYTES),
            expiries: Vec::new(),
            next_document: 0,
        }
    }

    /// Adds the next document.
    pub(super) fn push(
        &mut self,
        id: &str,
        attributes: &[u8],
        is_in_core: bool,
        expires_at: Option<i64>,
    ) -> Result<(), SegmentError> {
        if let Some(ids) = &mut self.ids {
            let begins_run = self.blocks.begins_block();
            ids.push(id, is_in_core, begins_run, &mut self.blocks.prefix);
        }
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
            ids: self.ids.map(IdRunWriter::finish).transpose()?,
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
    pub(super) ids: Option<IdRunSections>,
    pub(super) table: Vec<u8>,
    pub(super) blocks: Vec<u8>,
    pub(super) core_documents: Vec<u8>,
    pub(super) core_table: Vec<u8>,
    pub(super) core_blocks: Vec<u8>,
    pub(super) expiries: Vec<u8>,
}

/// The attributes in the core.
#[derive(Debug)]
struct CoreAttributes {
    documents: Vec<u32>,
    blocks: BlockReader<1>,
}

impl CoreAttributes {
    fn open(documents: &[u8], blocks: BlockReader<1>) -> Result<Self, SegmentError> {
        let documents = decode_numbers(documents, u32::from_le_bytes);
        match documents.is_sorted() {
            true => Ok(Self { documents, blocks }),
            false => Err(SegmentError::Corrupt("attributes of the core")),
        }
    }

    /// Returns the row of a document, if its attributes are here.
    fn find(&self, document: u32) -> Option<u32> {
        let row = self.documents.binary_search(&document);
        row.ok().map(|row| row as u32)
    }
}

/// Reads the attributes.
#[derive(Debug)]
pub(super) struct AttributeReader {
    core: CoreAttributes,
    /// Those of a segment of version 1 or 2.
    table: Option<StringTable>,
    /// Those of later versions that are not in the core.
    pub(super) blocks: BlockReader<1>,
}

impl AttributeReader {
    /// Opens the attributes of the core, and the others unless they are in a table, each with its table of
    /// blocks.
    pub(super) fn open(
        core_documents: &[u8],
        [core, others]: [(Bytes, PagedSection); 2],
        table: Option<StringTable>,
    ) -> Result<Self, SegmentError> {
        Ok(Self {
            core: CoreAttributes::open(core_documents, BlockReader::open(core.0, core.1)?)?,
            table,
            blocks: BlockReader::open(others.0, others.1)?,
        })
    }

    /// Checks whether the attributes can be those of this many documents.
    pub(super) fn fit(&self, documents: usize) -> bool {
        self.table
            .as_ref()
            .is_none_or(|table| table.len() == documents)
    }

    /// Estimates the memory that decompressed attributes take.
    pub(super) fn recent_bytes(&self) -> usize {
        self.core.blocks.recent_bytes() + self.blocks.recent_bytes()
    }

    /// Returns the attributes of a document.
    pub(super) fn read(&self, document: u32) -> Result<Bytes, SegmentError> {
        if let Some(row) = self.core.find(document) {
            let [attributes] = self.core.blocks.read_row(row)?;
            return Ok(attributes);
        }
        match &self.table {
            Some(table) => Ok(table.bytes(document as usize)),
            None => {
                let [attributes] = self.blocks.read_row(document)?;
                Ok(attributes)
            }
        }
    }

    /// Returns the place of a document among those whose attributes are in the core.
    pub(super) fn find_in_core(&self, document: u32) -> Option<u32> {
        self.core.find(document)
    }

    /// Returns the documents whose attributes are in the core.
    pub(super) fn core_documents(&self) -> &[u32] {
        &self.core.documents
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
