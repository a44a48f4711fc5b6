//! Tables of byte strings that are read in place: the offsets, then the bytes.

use std::ops::Range;

use bytes::Bytes;

use super::format::u32_at;
use crate::error::SegmentError;

/// A table of byte strings that is read in place: the offsets, then the bytes.
#[derive(Debug, Clone)]
pub(super) struct StringTable {
    count: usize,
    data: Bytes,
}

/// Collects the strings of a table.
pub(super) struct StringTableWriter {
    /// The starts of the strings, and the end of the last one.
    offsets: Vec<u32>,
    strings: Vec<u8>,
}

impl Default for StringTableWriter {
    fn default() -> Self {
        Self {
            offsets: vec![0],
            strings: Vec::new(),
        }
    }
}

impl StringTableWriter {
    /// Adds a string.
    ///
    /// # Errors
    /// [`SegmentError::TooLarge`] if all strings together have 4 GiB.
    pub(super) fn push(&mut self, string: &[u8]) -> Result<(), SegmentError> {
        self.strings.extend_from_slice(string);
        let end = u32::try_from(self.strings.len());
        self.offsets
            .push(end.map_err(|_| SegmentError::TooLarge("strings"))?);
        Ok(())
    }

    pub(super) fn finish(self) -> Vec<u8> {
        StringTable::join(&self.offsets, &self.strings)
    }
}

impl StringTable {
    pub(super) fn write<T: AsRef<[u8]>>(
        items: impl Iterator<Item = T>,
    ) -> Result<Vec<u8>, SegmentError> {
        let mut writer = StringTableWriter::default();
        for item in items {
            writer.push(item.as_ref())?;
        }
        Ok(writer.finish())
    }

    /// Returns the bytes of a table of strings that follow each other in `strings`, from their starts and
    /// the end of the last one.
    pub(super) fn join(offsets: &[u32], strings: &[u8]) -> Vec<u8> {
        let mut out = Vec::with_capacity(4 + offsets.len() * 4 + strings.len());
        out.extend_from_slice(&(offsets.len().saturating_sub(1) as u32).to_le_bytes());
        for offset in offsets {
            out.extend_from_slice(&offset.to_le_bytes());
        }
        out.extend_from_slice(strings);
        out
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

    fn range(&self, index: usize) -> Range<usize> {
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
        self.find_within(key, from..self.count)
    }

    /// Returns the index of `key` as [`Self::find`] does, searched within `places`.
    fn find_within(&self, key: &str, places: Range<usize>) -> Result<usize, usize> {
        let (mut low, mut high) = (places.start, places.end);
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

/// A table sorted by bytes, with the beginnings of its strings side by side in memory, so that a search for a
/// key reads few strings of the table.
#[derive(Debug)]
pub(super) struct SortedTable {
    table: StringTable,
    beginnings: Vec<u128>,
}

impl SortedTable {
    pub(super) fn open(table: StringTable) -> Self {
        let strings = (0..table.len()).map(|index| table.get(index));
        Self {
            beginnings: strings.map(beginning_of).collect(),
            table,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.table.len()
    }

    pub(super) fn get(&self, index: usize) -> &[u8] {
        self.table.get(index)
    }

    pub(super) fn text(&self, index: usize) -> &str {
        self.table.text(index)
    }

    /// Returns the bytes in memory beside the table.
    pub(super) fn computed_bytes(&self) -> usize {
        size_of_val(self.beginnings.as_slice())
    }

    /// Returns the index of `key`. `Err` has the index at which it would be inserted.
    pub(super) fn find(&self, key: &str) -> Result<usize, usize> {
        let beginning = beginning_of(key.as_bytes());
        let first = self.beginnings.partition_point(|other| *other < beginning);
        let same = self.beginnings[first..].partition_point(|other| *other == beginning);
        self.table.find_within(key, first..first + same)
    }
}

/// Returns the first bytes of a string as a number of the same order.
fn beginning_of(string: &[u8]) -> u128 {
    let mut bytes = [0; 16];
    let len = string.len().min(bytes.len());
    bytes[..len].copy_from_slice(&string[..len]);
    u128::from_be_bytes(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sorted_table_finds_what_a_binary_search_finds() {
        let mut strings: Vec<String> = (0..300)
            .map(|number| {
                format!(
                    "{}{}",
                    "documents/same/".repeat(number % 3),
                    number * 7 % 101
                )
            })
            .chain(["", "a", "a\0", "a\0b", "é"].map(str::to_owned))
            .collect();
        strings.sort_unstable();
        strings.dedup();
        let table = StringTable::write(strings.iter()).unwrap();
        let table = SortedTable::open(StringTable::open(table.into()).unwrap());
        let others = ["b", "documents/", "documents/same/documents/same/5x", "~"];
        let others = others.map(str::to_owned);
        for key in strings.iter().chain(&others) {
            assert_eq!(table.find(key), strings.binary_search(key), "{key}");
        }
    }
}
