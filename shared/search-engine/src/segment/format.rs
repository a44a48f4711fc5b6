//! The file layout of a segment: a header, a table of sections with checksums, and the sections.
//!
//! ```text
//! "RCLSEG\0\0" | version u32 | chunks u32 | documents u32 | sections u32
//! per section: offset u64 | length u64 | crc32 u32 | 0 u32
//! crc32 of everything above u32
//! sections, each starting at a multiple of 64
//! ```
//! All numbers are little endian. Blocks of texts and attributes have their own checksums, which are
//! verified when the blocks are read.

use bytes::Bytes;

use crate::error::SegmentError;

const MAGIC: &[u8; 8] = b"RCLSEG\0\0";
/// The version of files without vectors of chosen models, and with all attributes in one table.
const PLAIN_VERSION: u32 = 1;
/// The version that added such vectors.
const MODEL_VERSION: u32 = 2;
/// The version that is written. Its attributes are in blocks, and it has times of expiry.
const VERSION: u32 = 3;
const HEADER_BYTES: usize = 24;
const SECTION_ENTRY_BYTES: usize = 24;

/// The sections in the order of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(usize)]
pub(super) enum SectionKind {
    DocumentIds,
    /// The attributes in a file of version 1 or 2; empty in later ones.
    AttributeTable,
    DocumentChunks,
    DocumentStemmers,
    ChunkPositions,
    ChunkLengths,
    Vectors,
    InverseNorms,
    Signs,
    Terms,
    Postings,
    RemovedIds,
    PatchedIds,
    PatchedAttributes,
    TextBlocks,
    Texts,
    /// The names of the chosen models.
    ModelNames,
    /// The number of dimensions of each.
    ModelDimensions,
    /// The model of each chunk as u16, from 1; 0 for a chunk without a vector of one.
    ChunkModels,
    /// Those vectors, in the order of the chunks.
    ModelVectors,
    AttributeBlocks,
    Attributes,
    /// The documents that expire.
    Expiries,
}

const SECTIONS: usize = 23;
/// The numbers of sections of earlier versions.
const PLAIN_SECTIONS: usize = 16;
const MODEL_SECTIONS: usize = 20;

pub(super) struct SegmentHeader {
    pub(super) chunks: u32,
    pub(super) documents: u32,
    sections: Vec<Bytes>,
}

impl SegmentHeader {
    pub(super) fn section(&self, section: SectionKind) -> Bytes {
        self.sections
            .get(section as usize)
            .cloned()
            .unwrap_or_default()
    }
}

/// Joins the sections, given in order, into a file.
pub(super) fn write_file(chunks: u32, documents: u32, sections: [Vec<u8>; SECTIONS]) -> Vec<u8> {
    let table_end = HEADER_BYTES + SECTIONS * SECTION_ENTRY_BYTES + 4;
    let total: usize = table_end + sections.iter().map(|s| s.len() + 64).sum::<usize>();
    let mut file = Vec::with_capacity(total);
    file.extend_from_slice(MAGIC);
    for number in [VERSION, chunks, documents, SECTIONS as u32] {
        file.extend_from_slice(&number.to_le_bytes());
    }

    let mut offset = table_end.next_multiple_of(64);
    for section in &sections {
        file.extend_from_slice(&(offset as u64).to_le_bytes());
        file.extend_from_slice(&(section.len() as u64).to_le_bytes());
        file.extend_from_slice(&crc32fast::hash(section).to_le_bytes());
        file.extend_from_slice(&[0; 4]);
        offset = (offset + section.len()).next_multiple_of(64);
    }

    let crc = crc32fast::hash(&file);
    file.extend_from_slice(&crc.to_le_bytes());
    for section in &sections {
        file.resize(file.len().next_multiple_of(64), 0);
        file.extend_from_slice(section);
    }

    file
}

/// Verifies the header and the checksums, and splits `file` into its sections.
pub(super) fn read_header(file: &Bytes) -> Result<SegmentHeader, SegmentError> {
    if file.get(..8) != Some(MAGIC) {
        return Err(SegmentError::Corrupt("not a segment"));
    }

    let version = u32_at(file, 8)?;
    let count = match version {
        PLAIN_VERSION => PLAIN_SECTIONS,
        MODEL_VERSION => MODEL_SECTIONS,
        VERSION => SECTIONS,
        _ if version < 1_000 => return Err(SegmentError::UnknownVersion(version)),
        _ => return Err(SegmentError::Corrupt("header")),
    };
    let table_end = HEADER_BYTES + count * SECTION_ENTRY_BYTES;

    if file.len() < table_end + 4 || u32_at(file, table_end)? != crc32fast::hash(&file[..table_end])
    {
        return Err(SegmentError::Corrupt("header"));
    }

    let mut sections = Vec::with_capacity(count);
    for index in 0..count {
        let entry = HEADER_BYTES + index * SECTION_ENTRY_BYTES;
        let (start, length) = (u64_at(file, entry)?, u64_at(file, entry + 8)?);
        let end = start
            .checked_add(length)
            .filter(|&end| end <= file.len() as u64);
        let Some(end) = end else {
            return Err(SegmentError::Corrupt("cut off"));
        };
        let section = file.slice(start as usize..end as usize);
        if !has_own_checksums(index) && crc32fast::hash(&section) != u32_at(file, entry + 16)? {
            return Err(SegmentError::Corrupt("section checksum"));
        }
        sections.push(section);
    }

    Ok(SegmentHeader {
        chunks: u32_at(file, 12)?,
        documents: u32_at(file, 16)?,
        sections,
    })
}

/// Checks whether the section of this index consists of blocks with checksums.
fn has_own_checksums(section: usize) -> bool {
    section == SectionKind::Texts as usize || section == SectionKind::Attributes as usize
}

pub(super) fn u32_at(bytes: &[u8], at: usize) -> Result<u32, SegmentError> {
    let slice = bytes.get(at..at + 4).and_then(|b| b.try_into().ok());
    slice
        .map(u32::from_le_bytes)
        .ok_or(SegmentError::Corrupt("cut off"))
}

fn u64_at(bytes: &[u8], at: usize) -> Result<u64, SegmentError> {
    let slice = bytes.get(at..at + 8).and_then(|b| b.try_into().ok());
    slice
        .map(u64::from_le_bytes)
        .ok_or(SegmentError::Corrupt("cut off"))
}

/// Appends `value` in groups of 7 bits, lowest first.
pub(super) fn put_varint(mut value: u32, out: &mut Vec<u8>) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Reads a number that [`put_varint`] wrote, and advances `bytes` past it. Returns 0 at the end of
/// the input.
#[inline]
pub(super) fn take_varint(bytes: &mut &[u8]) -> u32 {
    let (mut value, mut shift) = (0u32, 0);
    while let Some((&byte, rest)) = bytes.split_first() {
        *bytes = rest;
        value |= u32::from(byte & 0x7F).checked_shl(shift).unwrap_or(0);
        if byte < 0x80 {
            break;
        }
        shift += 7;
    }
    value
}

/// A table of byte strings that is read in place: the offsets, then the bytes.
#[derive(Debug, Clone)]
pub(super) struct StringTable {
    count: usize,
    data: Bytes,
}

impl StringTable {
    pub(super) fn write<T: AsRef<[u8]>>(
        items: impl ExactSizeIterator<Item = T> + Clone,
    ) -> Result<Vec<u8>, SegmentError> {
        let mut out = Vec::with_capacity(8 + items.len() * 8);
        out.extend_from_slice(&(items.len() as u32).to_le_bytes());
        let mut offset = 0u32;
        out.extend_from_slice(&offset.to_le_bytes());
        for item in items.clone() {
            let length =
                u32::try_from(item.as_ref().len()).map_err(|_| SegmentError::TooLarge("string"))?;
            offset = offset
                .checked_add(length)
                .ok_or(SegmentError::TooLarge("strings"))?;
            out.extend_from_slice(&offset.to_le_bytes());
        }

        for item in items {
            out.extend_from_slice(item.as_ref());
        }

        Ok(out)
    }

    pub(super) fn open(data: Bytes) -> Result<Self, SegmentError> {
        let count = u32_at(&data, 0)? as usize;
        let blob = data
            .len()
            .checked_sub(8 + count * 4)
            .ok_or(SegmentError::Corrupt("string table"))?;
        let mut previous = 0;
        for index in 0..=count {
            let offset = u32_at(&data, 4 + index * 4)?;
            if offset < previous || offset as usize > blob {
                return Err(SegmentError::Corrupt("string table"));
            }
            previous = offset;
        }

        Ok(Self { count, data })
    }

    pub(super) fn len(&self) -> usize {
        self.count
    }

    fn range(&self, index: usize) -> std::ops::Range<usize> {
        let at =
            |i: usize| u32_at(&self.data, 4 + i * 4).unwrap_or(0) as usize + 8 + self.count * 4;
        at(index)..at(index + 1)
    }

    pub(super) fn bytes(&self, index: usize) -> Bytes {
        self.data.slice(self.range(index))
    }

    pub(super) fn get(&self, index: usize) -> &[u8] {
        &self.data[self.range(index)]
    }

    pub(super) fn text(&self, index: usize) -> &str {
        std::str::from_utf8(self.get(index)).unwrap_or_default()
    }

    /// Returns the index of `key`, searched from `from` on, in a table sorted by bytes. `Err` has
    /// the index at which it would be inserted.
    pub(super) fn find(&self, key: &str, from: usize) -> Result<usize, usize> {
        let (mut low, mut high) = (from, self.count);
        while low < high {
            let middle = low + (high - low) / 2;
            match self.get(middle).cmp(key.as_bytes()) {
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Equal => return Ok(middle),
                std::cmp::Ordering::Greater => high = middle,
            }
        }
        Err(low)
    }
}
