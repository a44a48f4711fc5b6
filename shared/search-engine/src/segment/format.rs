//! The file layout of a segment: a header, a table of sections with checksums, the sections of the
//! core, and the sections that are read in pages.
//!
//! ```text
//! "RCLSEG\0\0" | version u32 | chunks u32 | documents u32 | sections u32
//! per section: offset u64 | length u64 | crc32 u32 | form (`StoredForm`) u32
//! crc32 of everything above u32
//! sections of the core, each starting at a multiple of 64
//! pages of 4 KiB: sections of the search part, then sections that are read in pages, each starting at a
//! multiple of 64
//! ```
//! All numbers are little endian. The section of page checksums verifies the pages, so what is in them has no
//! crc32 in the table. Files of versions 1 to 7 have no times of documents.
//! Files of versions 1 to 6 have no search part: everything that a search reads of all
//! chunks is in the core. No section is packed in files of versions 1 to 5. Pages of version 4 have 16 KiB.
//! In files of versions 1 to 3, everything is core, and blocks of texts and attributes are verified when
//! they are read.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;

use super::file::{EARLIER_PAGE_BYTES, PAGE_BYTES, PagedSection, SegmentFile, page_checksums};
use super::packing::{self, StoredForm};
use crate::error::SegmentError;

const MAGIC: &[u8; 8] = b"RCLSEG\0\0";
/// The version of files without vectors of chosen models, and with all attributes in one table.
const PLAIN_VERSION: u32 = 1;
/// The version that added such vectors.
const MODEL_VERSION: u32 = 2;
/// The version with attributes in blocks and times of expiry.
const BLOCK_VERSION: u32 = 3;
/// The version with pages behind a core.
const PAGED_VERSION: u32 = 4;
/// The version with codes of vectors, and some attributes in the core.
const CODE_VERSION: u32 = 5;
/// The version with packed sections.
const PACKED_VERSION: u32 = 6;
/// The version with a search part, and with ids in runs.
const SEARCH_PART_VERSION: u32 = 7;
/// The version that is written. It may have the times by which documents are listed.
const VERSION: u32 = 8;
const HEADER_BYTES: usize = 24;
const SECTION_ENTRY_BYTES: usize = 24;
/// The bit of a section's form that tells that it is in the search part.
const IN_SEARCH_PART: u32 = 1 << 8;

/// The sections in the order of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(usize)]
pub(super) enum SectionKind {
    /// The ids; empty if they are in runs.
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
    /// Empty, like the next one: for changed attributes of older segments, which were never stored.
    #[expect(dead_code, reason = "sections have fixed numbers")]
    PatchedIds,
    #[expect(dead_code, reason = "sections have fixed numbers")]
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
    /// The crc32 of each page behind the core.
    PageChecksums,
    /// The codes of the vectors, without the sign bits; empty where the vectors are in the core.
    Magnitudes,
    /// The numbers of the documents whose attributes are in the core.
    CoreDocuments,
    CoreAttributeBlocks,
    CoreAttributes,
    /// The first id of each run of ids; empty, like the next two, if the ids are in a table.
    FirstIds,
    IdHashes,
    /// The ids of the documents whose attributes are in the core.
    CoreIds,
    /// The deleted documents of older segments; empty if these are known by their ids.
    Deletions,
    /// The time of creation of the document of each chunk; empty, like the next one, if no document has any.
    CreationTimes,
    /// The time of its last update.
    UpdateTimes,
}

pub(super) const SECTIONS: usize = 34;
/// The numbers of sections of earlier versions.
const PLAIN_SECTIONS: usize = 16;
const MODEL_SECTIONS: usize = 20;
const BLOCK_SECTIONS: usize = 23;
const PAGED_SECTIONS: usize = 24;
const CODE_SECTIONS: usize = 28;
const SEARCH_PART_SECTIONS: usize = 32;
/// The tables of sorted strings.
const SORTED: [SectionKind; 4] = [
    SectionKind::DocumentIds,
    SectionKind::RemovedIds,
    SectionKind::FirstIds,
    SectionKind::CoreIds,
];

/// The verified header of a file, and its sections.
#[derive(Debug)]
pub(super) struct SegmentHeader {
    pub(super) chunks: u32,
    pub(super) documents: u32,
    pub(super) file: Arc<SegmentFile>,
    /// True if the search part is known.
    pub(super) knows_search_part: bool,
    sections: Vec<StoredSection>,
}

/// A section of a file.
#[derive(Debug)]
enum StoredSection {
    /// It is stored as it is.
    InFile(Range<usize>),
    /// It was packed.
    Unpacked(Bytes),
    /// It is in the search part, in this form.
    InSearchPart(Range<usize>, StoredForm),
}

impl StoredSection {
    fn len(&self) -> usize {
        match self {
            Self::InFile(range) | Self::InSearchPart(range, _) => range.len(),
            Self::Unpacked(bytes) => bytes.len(),
        }
    }
}

impl SegmentHeader {
    /// Returns a section, which is read when it is needed.
    pub(super) fn paged(&self, section: SectionKind) -> PagedSection {
        match self.sections.get(section as usize) {
            Some(StoredSection::InFile(range)) => {
                PagedSection::new(self.file.clone(), range.clone())
            }
            Some(StoredSection::Unpacked(bytes)) => PagedSection::whole(bytes.clone()),
            Some(StoredSection::InSearchPart(..)) | None => {
                PagedSection::new(self.file.clone(), 0..0)
            }
        }
    }

    /// Returns a section of the search part, or of the core in files without one.
    ///
    /// # Errors
    /// [`SegmentError::NotFetched`] if it is not known, and [`SegmentError::Corrupt`] if it cannot be
    /// unpacked.
    pub(super) fn search_section(&self, section: SectionKind) -> Result<Bytes, SegmentError> {
        let Some(StoredSection::InSearchPart(range, form)) = self.sections.get(section as usize)
        else {
            return self.section(section);
        };
        let stored = self.file.read(range.clone())?;
        let unpacked = packing::unpack(*form, &stored)?;
        Ok(unpacked.unwrap_or(stored))
    }

    /// Checks whether a section is in the search part.
    pub(super) fn is_in_search_part(&self, section: SectionKind) -> bool {
        let section = self.sections.get(section as usize);
        matches!(section, Some(StoredSection::InSearchPart(..)))
    }

    /// Checks whether [`Self::search_section`] copies a section of the search part.
    pub(super) fn copies(&self, section: SectionKind) -> bool {
        match self.sections.get(section as usize) {
            Some(StoredSection::InSearchPart(_, form)) => {
                *form != StoredForm::Plain || !self.knows_search_part
            }
            _ => false,
        }
    }

    /// Returns the bytes that a section takes in the file, or unpacked if it was unpacked.
    pub(super) fn section_len(&self, section: SectionKind) -> usize {
        self.sections
            .get(section as usize)
            .map_or(0, StoredSection::len)
    }

    /// Returns the bytes of the sections that were unpacked.
    pub(super) fn unpacked_bytes(&self) -> usize {
        let sections = self.sections.iter();
        let sizes = sections.map(|section| match section {
            StoredSection::InFile(_) | StoredSection::InSearchPart(..) => 0,
            StoredSection::Unpacked(bytes) => bytes.len(),
        });
        sizes.sum()
    }

    /// Returns a section of the core.
    ///
    /// # Errors
    /// [`SegmentError::NotFetched`] for a section behind the core of a file that is not whole.
    pub(super) fn section(&self, section: SectionKind) -> Result<Bytes, SegmentError> {
        let section = self.paged(section);
        section.read(0..section.len())
    }
}

/// The sections that are not in the core.
pub(super) struct Placement<'a> {
    /// Those of the search part, in the order of the file.
    pub(super) searched: &'a [SectionKind],
    /// Those that are read in pages, in the order of the file.
    pub(super) paged: &'a [SectionKind],
}

/// A section as it is written.
struct PlacedSection {
    form: u32,
    /// The bytes of a section of the core; empty for others.
    stored: Bytes,
    /// The place of any other section behind the core.
    place: Range<usize>,
}

/// Joins the sections, given in order, into a file.
///
/// # Errors
/// [`SegmentError::TooLarge`] if a section cannot be packed.
pub(super) fn write_file(
    chunks: u32,
    documents: u32,
    mut sections: [Vec<u8>; SECTIONS],
    placement: &Placement<'_>,
) -> Result<Vec<u8>, SegmentError> {
    let (pages, placed) = place_behind_core(&mut sections, placement)?;
    sections[SectionKind::PageChecksums as usize] = page_checksums(&pages, PAGE_BYTES);

    let table_end = HEADER_BYTES + SECTIONS * SECTION_ENTRY_BYTES + 4;
    let mut core_len = table_end.next_multiple_of(64);
    let mut entries = Vec::with_capacity(SECTIONS);
    for (index, (section, place)) in sections.into_iter().zip(placed).enumerate() {
        // An empty section may be anywhere.
        let behind = place.filter(|section| !section.place.is_empty());
        let entry = match behind {
            Some(section) => section,
            None => {
                let (form, stored) = pack_section(index, section)?;
                PlacedSection {
                    form: form as u32,
                    stored,
                    place: 0..0,
                }
            }
        };
        core_len = (core_len + entry.stored.len()).next_multiple_of(64);
        entries.push(entry);
    }

    let mut core = Vec::with_capacity(core_len);
    core.extend_from_slice(MAGIC);
    for number in [VERSION, chunks, documents, SECTIONS as u32] {
        core.extend_from_slice(&number.to_le_bytes());
    }
    let mut offset = table_end.next_multiple_of(64);
    for entry in &entries {
        let (start, len) = match entry.place.is_empty() {
            true => (offset, entry.stored.len()),
            false => (core_len + entry.place.start, entry.place.len()),
        };
        core.extend_from_slice(&(start as u64).to_le_bytes());
        core.extend_from_slice(&(len as u64).to_le_bytes());
        core.extend_from_slice(&crc32fast::hash(&entry.stored).to_le_bytes());
        core.extend_from_slice(&entry.form.to_le_bytes());
        offset = (offset + entry.stored.len()).next_multiple_of(64);
    }
    let crc = crc32fast::hash(&core);
    core.extend_from_slice(&crc.to_le_bytes());

    for entry in &entries {
        core.resize(core.len().next_multiple_of(64), 0);
        core.extend_from_slice(&entry.stored);
    }
    core.resize(core_len, 0);
    // The pages are moved in place, because a second copy of a large file is too much.
    let mut file = pages;
    file.reserve_exact(core_len);
    file.splice(0..0, core);
    Ok(file)
}

/// Takes the sections that are not in the core, and returns the pages with them, and their places.
fn place_behind_core(
    sections: &mut [Vec<u8>; SECTIONS],
    placement: &Placement<'_>,
) -> Result<(Vec<u8>, [Option<PlacedSection>; SECTIONS]), SegmentError> {
    let behind_core = placement.searched.iter().chain(placement.paged);
    let lengths = behind_core.map(|&section| sections[section as usize].len() + PAGE_BYTES);
    let mut pages = Vec::with_capacity(lengths.sum());
    let mut placed: [Option<PlacedSection>; SECTIONS] = [const { None }; SECTIONS];
    for &section in placement.searched {
        let content = std::mem::take(&mut sections[section as usize]);
        let (form, stored) = pack_section(section as usize, content)?;
        let place = append(&mut pages, &stored);
        placed[section as usize] = Some(PlacedSection {
            form: form as u32 | IN_SEARCH_PART,
            stored: Bytes::new(),
            place,
        });
    }
    // The first section behind the search part begins a new page.
    pages.resize(pages.len().next_multiple_of(PAGE_BYTES), 0);
    for &section in placement.paged {
        let content = std::mem::take(&mut sections[section as usize]);
        let place = append(&mut pages, &content);
        placed[section as usize] = Some(PlacedSection {
            form: StoredForm::Paged as u32,
            stored: Bytes::new(),
            place,
        });
    }
    Ok((pages, placed))
}

/// Packs the section of this index.
fn pack_section(index: usize, section: Vec<u8>) -> Result<(StoredForm, Bytes), SegmentError> {
    let is_sorted = !section.is_empty() && SORTED.iter().any(|kind| *kind as usize == index);
    packing::pack(section.into(), is_sorted)
}

/// Appends a section, and returns its place.
fn append(pages: &mut Vec<u8>, section: &[u8]) -> Range<usize> {
    pages.resize(pages.len().next_multiple_of(64), 0);
    let start = pages.len();
    pages.extend_from_slice(section);
    start..pages.len()
}

/// An entry of the table of sections.
struct SectionEntry {
    range: Range<usize>,
    crc: u32,
    form: StoredForm,
    is_in_search_part: bool,
}

impl SectionEntry {
    fn is_in_core(&self) -> bool {
        self.form != StoredForm::Paged && !self.is_in_search_part
    }
}

/// Reads the table of sections of a file, or of its core.
fn read_table(file: &[u8]) -> Result<Vec<SectionEntry>, SegmentError> {
    if file.get(..8) != Some(MAGIC) {
        return Err(SegmentError::Corrupt("not a segment"));
    }

    let version = u32_at(file, 8)?;
    let count = match version {
        PLAIN_VERSION => PLAIN_SECTIONS,
        MODEL_VERSION => MODEL_SECTIONS,
        BLOCK_VERSION => BLOCK_SECTIONS,
        PAGED_VERSION => PAGED_SECTIONS,
        CODE_VERSION | PACKED_VERSION => CODE_SECTIONS,
        SEARCH_PART_VERSION => SEARCH_PART_SECTIONS,
        VERSION => SECTIONS,
        _ if version < 1_000 => return Err(SegmentError::UnknownVersion(version)),
        _ => return Err(SegmentError::Corrupt("header")),
    };
    let table_end = HEADER_BYTES + count * SECTION_ENTRY_BYTES;

    if file.len() < table_end + 4 || u32_at(file, table_end)? != crc32fast::hash(&file[..table_end])
    {
        return Err(SegmentError::Corrupt("header"));
    }

    let mut entries = Vec::with_capacity(count);
    for entry in (HEADER_BYTES..table_end).step_by(SECTION_ENTRY_BYTES) {
        let (start, length) = (u64_at(file, entry)?, u64_at(file, entry + 8)?);
        let end = start
            .checked_add(length)
            .and_then(|end| usize::try_from(end).ok());
        let Some(end) = end else {
            return Err(SegmentError::Corrupt("cut off"));
        };
        let form = u32_at(file, entry + 20)?;
        entries.push(SectionEntry {
            range: end - length as usize..end,
            crc: u32_at(file, entry + 16)?,
            form: StoredForm::from_number(form & !IN_SEARCH_PART)?,
            is_in_search_part: form & IN_SEARCH_PART != 0,
        });
    }
    Ok(entries)
}

/// The lengths of the beginnings of a file that are read first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FirstReads {
    /// The length of the core. The whole file if nothing is read in pages.
    pub core: usize,
    /// The length of the core and the search part, up to the end of a page.
    pub search: usize,
}

/// Returns the lengths of the beginnings of a file.
///
/// # Errors
/// [`SegmentError`] if the file is not one that this version reads.
pub(super) fn first_reads(file: &[u8]) -> Result<FirstReads, SegmentError> {
    Ok(measure_beginnings(&read_table(file)?, file.len()))
}

/// Returns the lengths of the beginnings of a file of `len` bytes.
fn measure_beginnings(entries: &[SectionEntry], len: usize) -> FirstReads {
    let behind_core = entries.iter().filter(|entry| !entry.is_in_core());
    let core = behind_core.map(|entry| entry.range.start).min();
    let core = core.unwrap_or(len);
    let searched = entries.iter().filter(|entry| entry.is_in_search_part);
    let search = match searched.map(|entry| entry.range.end).max() {
        Some(end) => len.min(core + end.saturating_sub(core).next_multiple_of(PAGE_BYTES)),
        None => core,
    };
    FirstReads { core, search }
}

/// Opens a file of `len` bytes, of which `known` is the beginning: the core, or the search part too, or
/// everything. Verifies everything that is known.
pub(super) fn open_file(known: Bytes, len: usize) -> Result<SegmentHeader, SegmentError> {
    let entries = read_table(&known)?;
    let FirstReads {
        core: core_len,
        search: search_len,
    } = measure_beginnings(&entries, len);
    let is_whole = known.len() == len;
    let is_beginning = known.len() == core_len || known.len() == search_len;
    if known.len() < core_len || !is_whole && !is_beginning {
        return Err(SegmentError::Corrupt("cut off"));
    }
    let knows_search_part = known.len() >= search_len;

    let mut sections = Vec::with_capacity(entries.len());
    for (index, entry) in entries.into_iter().enumerate() {
        let end = if entry.is_in_core() { core_len } else { len };
        if entry.range.end > end {
            return Err(SegmentError::Corrupt("cut off"));
        }
        if !entry.is_in_core() {
            sections.push(match entry.is_in_search_part {
                true => StoredSection::InSearchPart(entry.range, entry.form),
                false => StoredSection::InFile(entry.range),
            });
            continue;
        }

        let stored = &known[entry.range.clone()];
        if !has_own_checksums(index) && crc32fast::hash(stored) != entry.crc {
            return Err(SegmentError::Corrupt("section checksum"));
        }
        let unpacked = packing::unpack(entry.form, stored)?;
        sections.push(unpacked.map_or(StoredSection::InFile(entry.range), StoredSection::Unpacked));
    }

    let checksums = match sections.get(SectionKind::PageChecksums as usize) {
        Some(StoredSection::InFile(range)) if range.end <= core_len => known.slice(range.clone()),
        Some(StoredSection::InFile(_) | StoredSection::InSearchPart(..)) => {
            return Err(SegmentError::Corrupt("page checksums"));
        }
        Some(StoredSection::Unpacked(checksums)) => checksums.clone(),
        None => Bytes::new(),
    };
    let page_bytes = match u32_at(&known, 8)? {
        PAGED_VERSION => EARLIER_PAGE_BYTES,
        _ => PAGE_BYTES,
    };
    if is_whole && page_checksums(&known[core_len..], page_bytes) != checksums {
        return Err(SegmentError::Corrupt("page checksum"));
    }
    Ok(SegmentHeader {
        chunks: u32_at(&known, 12)?,
        documents: u32_at(&known, 16)?,
        file: Arc::new(match is_whole {
            true => SegmentFile::whole(known),
            false => SegmentFile::partial(known, core_len, len, page_bytes, checksums)?,
        }),
        knows_search_part,
        sections,
    })
}

/// Checks whether the section of this index consists of blocks with checksums, in files without pages.
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
