//! The ids of a segment's documents, in order: a table in the core, or runs in pages.
//!
//! Runs are for segments of many small documents, whose ids would be most of the core. A run has the ids of
//! the documents of a block of attributes, and is stored in front of it. The core has the first id of each
//! run and a hash of each id. With these, a reader knows which document may have an id before it has read
//! any, and reads the id together with the attributes.

use std::borrow::Cow;
use std::ops::Range;

use bytes::Bytes;

use super::attributes::AttributeReader;
use super::blocks::BlockReader;
use super::format::{SectionKind, SegmentHeader, put_varint, take_varint};
use super::strings::{SortedTable, StringTable};
use crate::error::{FirstError, SegmentError};

const HASH_BYTES: usize = 2;

/// Returns a hash of an id. Among 64 other ids, the chance that one has the same hash is about 1 in 1,000.
pub(crate) fn id_hash(id: &str) -> u16 {
    crc32fast::hash(id.as_bytes()) as u16
}

/// Collects the ids of documents for runs.
#[derive(Default)]
pub(super) struct IdRunWriter {
    first_ids: Vec<String>,
    hashes: Vec<u8>,
    /// The ids of the documents whose attributes are in the core.
    core_ids: Vec<String>,
    previous: String,
}

impl IdRunWriter {
    /// Adds the id of the next document. The first one of a run is only in the core. Of each other one,
    /// `run` gets the number of bytes that it shares with the one before it, the number of bytes that
    /// follow, and these.
    pub(super) fn push(&mut self, id: &str, is_in_core: bool, is_first: bool, run: &mut Vec<u8>) {
        self.hashes.extend_from_slice(&id_hash(id).to_le_bytes());
        if is_in_core {
            self.core_ids.push(id.to_owned());
        }
        if is_first {
            self.first_ids.push(id.to_owned());
        } else {
            let pairs = self.previous.bytes().zip(id.bytes());
            let shared = pairs.take_while(|(a, b)| a == b).count();
            put_varint(shared as u32, run);
            put_varint((id.len() - shared) as u32, run);
            run.extend_from_slice(&id.as_bytes()[shared..]);
        }
        id.clone_into(&mut self.previous);
    }

    pub(super) fn finish(self) -> Result<IdRunSections, SegmentError> {
        Ok(IdRunSections {
            first_ids: StringTable::write(self.first_ids.iter())?,
            hashes: self.hashes,
            core_ids: StringTable::write(self.core_ids.iter())?,
        })
    }
}

/// The sections beside runs of ids; empty if the ids are in a table.
#[derive(Default)]
pub(super) struct IdRunSections {
    pub(super) first_ids: Vec<u8>,
    pub(super) hashes: Vec<u8>,
    pub(super) core_ids: Vec<u8>,
}

/// Reads the ids.
#[derive(Debug)]
pub(super) enum DocumentIds {
    Table(StringTable),
    Runs(IdRuns),
}

impl DocumentIds {
    /// Opens the ids of a file with this many documents.
    pub(super) fn open(header: &SegmentHeader, documents: usize) -> Result<Self, SegmentError> {
        let table = header.section(SectionKind::DocumentIds)?;
        let ids = match table.is_empty() {
            true => Self::Runs(IdRuns::open(header)?),
            false => Self::Table(StringTable::open(table)?),
        };
        match ids.len() == documents {
            true => Ok(ids),
            false => Err(SegmentError::Corrupt("sections disagree")),
        }
    }

    /// Checks that the ids fit the attributes, whose tables have the numbers of documents.
    pub(super) fn check(&self, attributes: &AttributeReader) -> Result<(), SegmentError> {
        let Self::Runs(runs) = self else {
            return Ok(());
        };
        let (core, blocks) = (attributes.core_documents(), &attributes.blocks);
        let is_document = |document: u32| (document as usize) < self.len();
        let first_rows: Vec<u32> = (0..blocks.len_blocks())
            .map(|block| blocks.first_row_of(block))
            .collect();
        let is_consistent = runs.first_ids.len() == first_rows.len()
            && first_rows.first().is_none_or(|first| *first == 0)
            && first_rows.is_sorted_by(|a, b| a < b)
            && first_rows.last().is_none_or(|last| is_document(*last))
            && runs.core_ids.len() == core.len()
            && core.last().is_none_or(|last| is_document(*last));
        match is_consistent {
            true => Ok(()),
            false => Err(SegmentError::Corrupt("ids")),
        }
    }

    pub(super) fn len(&self) -> usize {
        match self {
            Self::Table(table) => table.len(),
            Self::Runs(runs) => runs.hashes.len() / HASH_BYTES,
        }
    }

    /// Returns the bytes in memory that are not parts of the file.
    pub(super) fn computed_bytes(&self) -> usize {
        match self {
            Self::Table(_) => 0,
            Self::Runs(runs) => runs.first_ids.computed_bytes(),
        }
    }

    /// Returns the id of a document.
    ///
    /// # Errors
    /// [`SegmentError::NotFetched`] if it is missing.
    pub(super) fn get(
        &self,
        document: u32,
        attributes: &AttributeReader,
    ) -> Result<Cow<'_, str>, SegmentError> {
        match self {
            Self::Table(table) => Ok(Cow::Borrowed(table.text(document as usize))),
            Self::Runs(runs) => runs.get(document, attributes),
        }
    }

    /// Returns the ids that begin with `prefix`, in order, with their documents.
    ///
    /// # Errors
    /// [`SegmentError::NotFetched`] if some are missing; all that are were asked for.
    pub(super) fn with_prefix(
        &self,
        prefix: &str,
        attributes: &AttributeReader,
    ) -> Result<Vec<(u32, Cow<'_, str>)>, SegmentError> {
        match self {
            Self::Table(table) => {
                let first = table.find(prefix, 0).unwrap_or_else(|place| place);
                let ids = (first..table.len()).map(|index| (index as u32, table.text(index)));
                let ids = ids.take_while(|(_, id)| id.starts_with(prefix));
                Ok(ids.map(|(index, id)| (index, Cow::Borrowed(id))).collect())
            }
            Self::Runs(runs) => runs.with_prefix(prefix, &attributes.blocks),
        }
    }

    /// Returns the hash of the id of a document.
    pub(super) fn hash(&self, document: u32) -> u16 {
        match self {
            Self::Table(table) => id_hash(table.text(document as usize)),
            Self::Runs(runs) => runs.hash(document),
        }
    }

    /// Returns the document with this id, if it is among those that are wanted.
    ///
    /// # Errors
    /// [`SegmentError::NotFetched`] if a wanted document may have it whose id is missing.
    pub(super) fn find(
        &self,
        id: &str,
        attributes: &AttributeReader,
        is_wanted: impl Fn(u32) -> bool,
    ) -> Result<Option<u32>, SegmentError> {
        let found = match self {
            Self::Table(table) => table.find(id, 0).ok().map(|index| index as u32),
            Self::Runs(runs) => runs.find(id, attributes, &is_wanted)?,
        };
        Ok(found.filter(|document| is_wanted(*document)))
    }

    /// Returns the documents whose ids are among those of a `newer` segment. `None` if the ids of one of
    /// them are in runs.
    pub(super) fn in_newer(&self, newer: &Self) -> Option<Vec<u32>> {
        let (Self::Table(older), Self::Table(newer)) = (self, newer) else {
            return None;
        };
        let mut found = Vec::new();
        let mut from = 0;
        for index in 0..newer.len() {
            match older.find(newer.text(index), from) {
                Ok(place) => {
                    found.push(place as u32);
                    from = place + 1;
                }
                Err(place) => from = place,
            }
        }
        Some(found)
    }
}

/// Ids in runs.
#[derive(Debug)]
pub(super) struct IdRuns {
    first_ids: SortedTable,
    hashes: Bytes,
    core_ids: StringTable,
}

impl IdRuns {
    fn open(header: &SegmentHeader) -> Result<Self, SegmentError> {
        let open = |section| StringTable::open(header.section(section)?);
        Ok(Self {
            first_ids: SortedTable::open(open(SectionKind::FirstIds)?),
            hashes: header.section(SectionKind::IdHashes)?,
            core_ids: open(SectionKind::CoreIds)?,
        })
    }

    fn hash(&self, document: u32) -> u16 {
        let hashes = self.hashes.as_chunks::<HASH_BYTES>().0;
        u16::from_le_bytes(hashes[document as usize])
    }

    /// Returns the documents of a run.
    fn documents_of(&self, run: usize, blocks: &BlockReader<1>) -> Range<u32> {
        let count = (self.hashes.len() / HASH_BYTES) as u32;
        blocks.first_row_of(run)..blocks.first_row_of(run + 1).min(count)
    }

    /// Calls `visit` with each document of a run and its id, until it returns `true`.
    fn visit_run(
        &self,
        run: usize,
        blocks: &BlockReader<1>,
        mut visit: impl FnMut(u32, &[u8]) -> bool,
    ) -> Result<(), SegmentError> {
        let stored = blocks.read_prefix(run)?;
        let mut id = self.first_ids.get(run).to_vec();
        let mut rest: &[u8] = &stored;
        for (place, document) in self.documents_of(run, blocks).enumerate() {
            if place > 0 {
                let shared = take_varint(&mut rest) as usize;
                let length = take_varint(&mut rest) as usize;
                let Some((suffix, others)) = rest.split_at_checked(length) else {
                    return Err(SegmentError::Corrupt("ids"));
                };
                id.truncate(shared);
                id.extend_from_slice(suffix);
                rest = others;
            }
            if visit(document, &id) {
                break;
            }
        }
        Ok(())
    }

    fn get(
        &self,
        document: u32,
        attributes: &AttributeReader,
    ) -> Result<Cow<'_, str>, SegmentError> {
        if let Some(row) = attributes.find_in_core(document) {
            return Ok(Cow::Borrowed(self.core_ids.text(row as usize)));
        }
        let blocks = &attributes.blocks;
        let run = blocks.block_of(document);
        if document == blocks.first_row_of(run) {
            return Ok(Cow::Borrowed(self.first_ids.text(run)));
        }

        let mut found = None;
        self.visit_run(run, blocks, |other, id| {
            let is_found = other == document;
            if is_found {
                found = Some(to_text(id));
            }
            is_found
        })?;
        found.ok_or(SegmentError::Corrupt("ids"))
    }

    fn with_prefix(
        &self,
        prefix: &str,
        blocks: &BlockReader<1>,
    ) -> Result<Vec<(u32, Cow<'_, str>)>, SegmentError> {
        let first = self.first_ids.find(prefix);
        let first = first.unwrap_or_else(|next| next.saturating_sub(1));
        let mut ids = Vec::new();
        let mut first_error = FirstError::default();
        for run in first..self.first_ids.len() {
            let first_id = self.first_ids.text(run);
            if first_id > prefix && !first_id.starts_with(prefix) {
                break;
            }
            first_error.ok(self.visit_run(run, blocks, |document, id| {
                if id.starts_with(prefix.as_bytes()) {
                    ids.push((document, to_text(id)));
                }
                false
            }));
        }
        first_error.into_result()?;
        Ok(ids)
    }

    fn find(
        &self,
        id: &str,
        attributes: &AttributeReader,
        is_wanted: &impl Fn(u32) -> bool,
    ) -> Result<Option<u32>, SegmentError> {
        let blocks = &attributes.blocks;
        let run = match self.first_ids.find(id) {
            Ok(run) => return Ok(Some(blocks.first_row_of(run))),
            Err(0) => return Ok(None),
            Err(next) => next - 1,
        };
        let hash = id_hash(id);
        let may_be = |document| self.hash(document) == hash && is_wanted(document);
        if !self.documents_of(run, blocks).any(may_be) {
            return Ok(None);
        }

        if let Ok(row) = self.core_ids.find(id, 0) {
            return Ok(attributes.core_documents().get(row).copied());
        }
        let mut found = None;
        self.visit_run(run, blocks, |document, other| {
            let is_found = other == id.as_bytes();
            if is_found {
                found = Some(document);
            }
            is_found
        })?;
        Ok(found)
    }
}

fn to_text(id: &[u8]) -> Cow<'static, str> {
    Cow::Owned(String::from_utf8_lossy(id).into_owned())
}

#[cfg(test)]
mod tests {
    use super::super::attributes::AttributeWriter;
    use super::super::file::PagedSection;
    use super::*;

    /// Writes documents with these ids, of which each eighth has its attributes in the core.
    fn write(ids: &[String]) -> (IdRuns, AttributeReader) {
        let mut writer = AttributeWriter::new(true);
        for (index, id) in ids.iter().enumerate() {
            let attributes = id.repeat(40);
            let is_in_core = index % 8 == 5;
            writer
                .push(id, attributes.as_bytes(), is_in_core, None)
                .unwrap();
        }
        let sections = writer.finish().unwrap();
        let ids = sections.ids.unwrap();
        let runs = IdRuns {
            first_ids: SortedTable::open(StringTable::open(ids.first_ids.into()).unwrap()),
            hashes: ids.hashes.into(),
            core_ids: StringTable::open(ids.core_ids.into()).unwrap(),
        };
        let blocks = [
            (sections.core_table, sections.core_blocks),
            (sections.table, sections.blocks),
        ];
        let blocks =
            blocks.map(|(table, blocks)| (table.into(), PagedSection::whole(blocks.into())));
        let attributes = AttributeReader::open(&sections.core_documents, blocks, None);
        (runs, attributes.unwrap())
    }

    #[test]
    fn every_id_is_found_and_no_other() {
        for count in [0, 1, 2, 70, 500] {
            let ids: Vec<String> = (0..count).map(|n| format!("id-{:04}é", n * 2)).collect();
            let (runs, attributes) = write(&ids);
            for prefix in ["", "id-00", "id-010", "id-0998é", "z"] {
                let found = runs.with_prefix(prefix, &attributes.blocks).unwrap();
                let expected = (0..).zip(&ids).filter(|(_, id)| id.starts_with(prefix));
                let expected = expected.map(|(document, id)| (document, id.as_str()));
                assert!(
                    found
                        .iter()
                        .map(|(document, id)| (*document, &**id))
                        .eq(expected)
                );
            }
            for (index, id) in ids.iter().enumerate() {
                let document = index as u32;
                assert_eq!(
                    runs.find(id, &attributes, &|_| true),
                    Ok(Some(document)),
                    "{id} of {count}"
                );
                assert_eq!(runs.get(document, &attributes).as_deref(), Ok(id.as_str()));
                assert_eq!(runs.hash(document), id_hash(id));
                assert_eq!(attributes.read(document).unwrap(), id.repeat(40));
            }
            for other in ["", "id", "id-0001é", "id-0064", "id-0999é", "z"] {
                let expected = ids.iter().position(|id| id == other);
                let expected = expected.map(|index| index as u32);
                assert_eq!(
                    runs.find(other, &attributes, &|_| true),
                    Ok(expected),
                    "{other} of {count}"
                );
            }
        }
    }
}
