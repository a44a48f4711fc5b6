//! Rows of strings in zstd blocks of adjacent rows. A block is decompressed when one of its rows is
//! read.

use std::cell::RefCell;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use zstd::bulk::Decompressor;

use super::file::PagedSection;
use super::format::{put_varint, take_varint, u32_at};
use crate::error::SegmentError;

/// The most bytes that are compressed as one, and the size of the largest block that is read. One row may
/// be longer than a block should be.
pub(super) const MAX_BLOCK_BYTES: usize = 256 << 20;
/// The first row, the offset (two words), the stored bytes, the raw bytes, and the checksum.
const BLOCK_ENTRY_BYTES: usize = 24;
const COMPRESSION_LEVEL: i32 = 3;
/// The bytes of decompressed blocks that a reader keeps for the next rows. Beyond it, they are dropped.
const MAX_RECENT_BYTES: usize = 4 << 20;
/// The size of decompressed blocks in relation to that of stored ones, estimated.
pub(super) const EXPANSION: usize = 4;

thread_local! {
    /// A context of zstd takes longer to create than a block to decompress.
    static DECOMPRESSOR: RefCell<Option<Decompressor<'static>>> = const { RefCell::new(None) };
}

/// Compresses bytes by zstd.
pub(super) fn compress(bytes: &[u8]) -> Result<Vec<u8>, SegmentError> {
    let compressed = zstd::bulk::compress(bytes, COMPRESSION_LEVEL);
    compressed.map_err(|_| SegmentError::TooLarge("block"))
}

/// Decompresses bytes of zstd to at most this size.
pub(super) fn decompress(bytes: &[u8], size: usize) -> std::io::Result<Vec<u8>> {
    DECOMPRESSOR.with_borrow_mut(|decompressor| match decompressor {
        Some(decompressor) => decompressor.decompress(bytes, size),
        None => decompressor
            .insert(Decompressor::new()?)
            .decompress(bytes, size),
    })
}

/// Collects rows into blocks.
pub(super) struct BlockWriter {
    /// The number of uncompressed bytes after which a block is closed.
    block_bytes: usize,
    table: Vec<u8>,
    blocks: Vec<u8>,
    raw: Vec<u8>,
    /// The bytes that are stored in front of the block as they are.
    pub(super) prefix: Vec<u8>,
    first_row: u32,
    next_row: u32,
}

impl BlockWriter {
    pub(super) fn new(block_bytes: usize) -> Self {
        Self {
            block_bytes,
            table: Vec::new(),
            blocks: Vec::new(),
            raw: Vec::new(),
            prefix: Vec::new(),
            first_row: 0,
            next_row: 0,
        }
    }

    /// Makes room for blocks of this many bytes, so that they are not moved while they grow.
    pub(super) fn reserve(&mut self, bytes: usize) {
        self.blocks.reserve_exact(bytes);
    }

    /// Checks whether the next row is the first one of a block.
    pub(super) fn begins_block(&self) -> bool {
        self.first_row == self.next_row
    }

    /// Adds a row. All rows have the same number of strings.
    pub(super) fn push_row(&mut self, strings: &[&[u8]]) -> Result<(), SegmentError> {
        for string in strings {
            let length =
                u32::try_from(string.len()).map_err(|_| SegmentError::TooLarge("string"))?;
            put_varint(length, &mut self.raw);
            self.raw.extend_from_slice(string);
        }

        self.next_row += 1;
        if self.raw.len() >= self.block_bytes {
            self.close_block()
        } else {
            Ok(())
        }
    }

    fn close_block(&mut self) -> Result<(), SegmentError> {
        if self.raw.len() > MAX_BLOCK_BYTES {
            return Err(SegmentError::TooLarge("string"));
        }

        self.blocks.append(&mut self.prefix);
        let stored = compress(&self.raw)?;
        self.table.extend_from_slice(&self.first_row.to_le_bytes());
        self.table
            .extend_from_slice(&(self.blocks.len() as u64).to_le_bytes());
        for number in [
            stored.len() as u32,
            self.raw.len() as u32,
            crc32fast::hash(&stored),
        ] {
            self.table.extend_from_slice(&number.to_le_bytes());
        }

        self.blocks.extend_from_slice(&stored);
        self.raw.clear();
        self.first_row = self.next_row;

        Ok(())
    }

    /// Returns the table of the blocks, and the blocks.
    pub(super) fn finish(mut self) -> Result<(Vec<u8>, Vec<u8>), SegmentError> {
        if !self.begins_block() {
            self.close_block()?;
        }
        Ok((self.table, self.blocks))
    }
}

/// Reads rows of `N` strings.
#[derive(Debug)]
pub(super) struct BlockReader<const N: usize> {
    table: Bytes,
    blocks: PagedSection,
    recent: Mutex<RecentBlocks<N>>,
}

/// The blocks that [`BlockReader::read_row`] has read.
#[derive(Debug, Default)]
struct RecentBlocks<const N: usize> {
    by_number: HashMap<usize, Arc<Block<N>>>,
    bytes: usize,
}

impl<const N: usize> RecentBlocks<N> {
    fn insert(&mut self, number: usize, block: Arc<Block<N>>) {
        let bytes = block.raw.len();
        if bytes > MAX_RECENT_BYTES {
            return;
        }
        if self.bytes + bytes > MAX_RECENT_BYTES {
            *self = Self::default();
        }
        // Another thread may have read the same block.
        if self.by_number.insert(number, block).is_none() {
            self.bytes += bytes;
        }
    }
}

impl<const N: usize> BlockReader<N> {
    pub(super) fn open(table: Bytes, blocks: PagedSection) -> Result<Self, SegmentError> {
        if !table.len().is_multiple_of(BLOCK_ENTRY_BYTES) {
            return Err(SegmentError::Corrupt("blocks"));
        }
        Ok(Self {
            table,
            blocks,
            recent: Mutex::default(),
        })
    }

    /// Returns the number of blocks.
    pub(super) fn len_blocks(&self) -> usize {
        self.table.len() / BLOCK_ENTRY_BYTES
    }

    /// Returns the first row of a block, or the largest number behind the last one.
    pub(super) fn first_row_of(&self, block: usize) -> u32 {
        u32_at(&self.table, block * BLOCK_ENTRY_BYTES).unwrap_or(u32::MAX)
    }

    /// Returns the number of the block that has `row`.
    pub(super) fn block_of(&self, row: u32) -> usize {
        let (mut low, mut high) = (0, self.len_blocks());
        while low < high {
            let middle = low + (high - low) / 2;
            if self.first_row_of(middle) <= row {
                low = middle + 1
            } else {
                high = middle
            }
        }
        low.saturating_sub(1)
    }

    /// Returns the place of a block among the blocks, without its prefix.
    fn place_of(&self, block: usize) -> Result<Range<usize>, SegmentError> {
        let at = block * BLOCK_ENTRY_BYTES;
        let number = |index: usize| u32_at(&self.table, at + index * 4);
        let start = u64::from(number(1)?) | u64::from(number(2)?) << 32;
        let start = usize::try_from(start).map_err(|_| SegmentError::Corrupt("blocks"))?;
        let end = start.checked_add(number(3)? as usize);
        Ok(start..end.ok_or(SegmentError::Corrupt("blocks"))?)
    }

    /// Returns the prefix of a block. If it is missing, all of the block is asked for.
    pub(super) fn read_prefix(&self, block: usize) -> Result<Bytes, SegmentError> {
        let start = match block.checked_sub(1) {
            Some(before) => self.place_of(before)?.end,
            None => 0,
        };
        let place = self.place_of(block)?;
        let stored = self.blocks.read(start..place.end)?;
        let prefix = place.start.checked_sub(start);
        Ok(stored.slice(..prefix.ok_or(SegmentError::Corrupt("blocks"))?))
    }

    /// Decompresses a block.
    fn read_block(&self, block: usize) -> Result<Block<N>, SegmentError> {
        let bytes = self.blocks.read(self.place_of(block)?)?;
        let number = |index: usize| u32_at(&self.table, block * BLOCK_ENTRY_BYTES + index * 4);
        let (raw, crc) = (number(4)? as usize, number(5)?);
        if crc32fast::hash(&bytes) != crc || raw > MAX_BLOCK_BYTES {
            return Err(SegmentError::Corrupt("block checksum"));
        }

        let raw = decompress(&bytes, raw).map_err(|_| SegmentError::Corrupt("block"))?;
        Block::parse(self.first_row_of(block), raw)
    }

    /// Returns a row, wherever it is. Readers of adjacent rows use a [`BlockCursor`].
    pub(super) fn read_row(&self, row: u32) -> Result<[Bytes; N], SegmentError> {
        let number = self.block_of(row);
        let recent = self.lock_recent().by_number.get(&number).cloned();
        if let Some(block) = recent {
            return block.row(row);
        }

        let block = Arc::new(self.read_block(number)?);
        self.lock_recent().insert(number, block.clone());
        block.row(row)
    }

    /// Returns the bytes of all blocks.
    pub(super) fn len_bytes(&self) -> usize {
        self.blocks.len()
    }

    /// Estimates the memory that the blocks take that stay decompressed.
    pub(super) fn recent_bytes(&self) -> usize {
        MAX_RECENT_BYTES.min(self.blocks.len() * EXPANSION)
    }

    fn lock_recent(&self) -> MutexGuard<'_, RecentBlocks<N>> {
        // A panic while the lock is held cannot leave the map in an inconsistent state.
        self.recent.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The strings of adjacent rows.
#[derive(Debug)]
struct Block<const N: usize> {
    first_row: u32,
    raw: Bytes,
    rows: Vec<[Range<usize>; N]>,
}

impl<const N: usize> Block<N> {
    fn parse(first_row: u32, raw: Vec<u8>) -> Result<Self, SegmentError> {
        let mut rows = Vec::new();
        let mut rest = raw.as_slice();
        while !rest.is_empty() {
            let mut row = [const { 0..0 }; N];
            for string in &mut row {
                let length = take_varint(&mut rest) as usize;
                let start = raw.len() - rest.len();
                rest = rest.get(length..).ok_or(SegmentError::Corrupt("block"))?;
                *string = start..start + length;
            }
            rows.push(row);
        }

        Ok(Self {
            first_row,
            raw: raw.into(),
            rows,
        })
    }

    fn ranges(&self, row: u32) -> Option<&[Range<usize>; N]> {
        self.rows.get(row.checked_sub(self.first_row)? as usize)
    }

    fn contains(&self, row: u32) -> bool {
        self.ranges(row).is_some()
    }

    fn row(&self, row: u32) -> Result<[Bytes; N], SegmentError> {
        let ranges = self.ranges(row).ok_or(SegmentError::Corrupt("blocks"))?;
        Ok(ranges.clone().map(|range| self.raw.slice(range)))
    }
}

/// Reads rows in turn. The last block stays decompressed, so adjacent rows are cheap.
pub(super) struct BlockCursor<'a, const N: usize> {
    reader: &'a BlockReader<N>,
    block: Option<Block<N>>,
}

impl<'a, const N: usize> BlockCursor<'a, N> {
    pub(super) fn new(reader: &'a BlockReader<N>) -> Self {
        Self {
            reader,
            block: None,
        }
    }

    /// Returns the strings of a row.
    pub(super) fn read(&mut self, row: u32) -> Result<[&[u8]; N], SegmentError> {
        if !self.block.as_ref().is_some_and(|block| block.contains(row)) {
            self.block = Some(self.reader.read_block(self.reader.block_of(row))?);
        }

        let Some(block) = &self.block else {
            return Err(SegmentError::Corrupt("blocks"));
        };
        let ranges = block.ranges(row).ok_or(SegmentError::Corrupt("blocks"))?;
        Ok(ranges.each_ref().map(|range| &block.raw[range.clone()]))
    }
}
