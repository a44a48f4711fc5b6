//! How the sections that are read first are stored: as they are, or packed into fewer bytes. A cold search
//! waits for these bytes, which take longer to arrive than to unpack.

use bytes::Bytes;

use super::blocks::{MAX_BLOCK_BYTES, compress, decompress};
use super::format::{put_varint, take_varint, u32_at};
use super::strings::StringTable;
use crate::error::SegmentError;

/// The bytes in front of what was compressed: its size.
const SIZE_BYTES: usize = 4;
/// The bytes in front of shortened strings: their number, and the bytes of all of them.
const STRINGS_HEADER_BYTES: usize = 8;

/// The form in which a section is stored, as its number in the table of sections. What is in the search
/// part has one more bit there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub(super) enum StoredForm {
    /// As it is.
    Plain,
    /// As it is, behind the core.
    Paged,
    /// Compressed by zstd.
    Compressed,
    /// A table of sorted strings, each without the beginning that it shares with the one before it,
    /// compressed by zstd.
    SortedStrings,
}

impl StoredForm {
    /// Returns the form with this number. Earlier versions have the first two.
    pub(super) fn from_number(number: u32) -> Result<Self, SegmentError> {
        match number {
            0 => Ok(Self::Plain),
            1 => Ok(Self::Paged),
            2 => Ok(Self::Compressed),
            3 => Ok(Self::SortedStrings),
            _ => Err(SegmentError::Corrupt("form of a section")),
        }
    }
}

/// Packs a section of the core or of the search part, of strings in order if `is_sorted`. It stays as it is if that saves less
/// than a quarter, and if it is larger than [`MAX_BLOCK_BYTES`].
///
/// # Errors
/// [`SegmentError::TooLarge`] if it cannot be compressed.
pub(super) fn pack(section: Bytes, is_sorted: bool) -> Result<(StoredForm, Bytes), SegmentError> {
    if section.len() > MAX_BLOCK_BYTES {
        return Ok((StoredForm::Plain, section));
    }

    let (form, content) = match is_sorted {
        true => {
            let strings = StringTable::open(section.clone())?;
            (StoredForm::SortedStrings, shorten_strings(&strings).into())
        }
        false => (StoredForm::Compressed, section.clone()),
    };
    let mut packed = (content.len() as u32).to_le_bytes().to_vec();
    packed.extend(compress(&content)?);
    match packed.len() <= section.len() / 4 * 3 {
        true => Ok((form, packed.into())),
        false => Ok((StoredForm::Plain, section)),
    }
}

/// Returns a packed section as it was, `None` for one that is stored as it is.
///
/// # Errors
/// [`SegmentError::Corrupt`] for bytes that [`pack`] did not write.
pub(super) fn unpack(form: StoredForm, stored: &[u8]) -> Result<Option<Bytes>, SegmentError> {
    if matches!(form, StoredForm::Plain | StoredForm::Paged) {
        return Ok(None);
    }

    let size = u32_at(stored, 0)? as usize;
    if size > 2 * MAX_BLOCK_BYTES {
        return Err(SegmentError::Corrupt("packed section"));
    }
    let content = decompress(&stored[SIZE_BYTES..], size);
    let content = content.ok().filter(|content| content.len() == size);
    let content = content.ok_or(SegmentError::Corrupt("packed section"))?;
    let section = match form {
        StoredForm::SortedStrings => restore_strings(&content)?,
        _ => content,
    };
    Ok(Some(section.into()))
}

/// Writes the number of strings, the bytes of all of them, for each the number of bytes that it shares with
/// the one before it and of those that follow, and then the bytes that follow of all of them.
fn shorten_strings(strings: &StringTable) -> Vec<u8> {
    let (mut lengths, mut rest, mut total) = (Vec::new(), Vec::new(), 0);
    let mut previous: &[u8] = b"";
    for index in 0..strings.len() {
        let string = strings.get(index);
        let pairs = previous.iter().zip(string);
        let shared = pairs.take_while(|(a, b)| a == b).count();
        put_varint(shared as u32, &mut lengths);
        put_varint((string.len() - shared) as u32, &mut lengths);
        rest.extend_from_slice(&string[shared..]);
        total += string.len() as u32;
        previous = string;
    }

    let mut shortened = (strings.len() as u32).to_le_bytes().to_vec();
    shortened.extend(total.to_le_bytes());
    shortened.extend(lengths);
    shortened.extend(rest);
    shortened
}

/// Returns the table of strings that [`shorten_strings`] has shortened.
fn restore_strings(shortened: &[u8]) -> Result<Vec<u8>, SegmentError> {
    const CORRUPT: SegmentError = SegmentError::Corrupt("packed strings");
    let (count, total) = (u32_at(shortened, 0)? as usize, u32_at(shortened, 4)?);
    let mut rest = &shortened[STRINGS_HEADER_BYTES..];
    if count > rest.len() || total as usize > MAX_BLOCK_BYTES {
        return Err(CORRUPT);
    }
    let lengths: Vec<[usize; 2]> = (0..count)
        .map(|_| [take_varint(&mut rest), take_varint(&mut rest)].map(|length| length as usize))
        .collect();

    let mut strings: Vec<u8> = Vec::with_capacity(total as usize);
    let mut offsets = Vec::with_capacity(count + 1);
    let mut previous = 0;
    for [shared, own] in lengths {
        let start = strings.len();
        let (own, others) = rest.split_at_checked(own).ok_or(CORRUPT)?;
        if shared > start - previous || shared + own.len() > total as usize - start {
            return Err(CORRUPT);
        }
        strings.extend_from_within(previous..previous + shared);
        strings.extend_from_slice(own);
        offsets.push(start as u32);
        (rest, previous) = (others, start);
    }
    if !rest.is_empty() || strings.len() != total as usize {
        return Err(CORRUPT);
    }
    offsets.push(total);
    Ok(StringTable::join(&offsets, &strings))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn table(mut strings: Vec<String>) -> Bytes {
        strings.sort();
        StringTable::write(strings.iter()).unwrap().into()
    }

    proptest! {
        #[test]
        fn a_packed_section_comes_back(
            strings in proptest::collection::vec("[a-d]{0,6}(/[a-zA-Z0-9]{22})?", 0..200),
            bytes in proptest::collection::vec(0u8..4, 0..2_000),
        ) {
            for (section, is_sorted) in [(table(strings), true), (Bytes::from(bytes), false)] {
                let (form, stored) = pack(section.clone(), is_sorted).unwrap();
                prop_assert!(stored.len() <= section.len());
                let unpacked = unpack(form, &stored).unwrap();
                prop_assert_eq!(unpacked.unwrap_or(stored), section);
            }
        }

        #[test]
        fn a_changed_byte_is_an_error_or_gives_other_strings(
            strings in proptest::collection::vec("[a-d]{0,6}", 1..20),
            place in any::<prop::sample::Index>(),
            flip in 1u8..,
        ) {
            let strings = StringTable::open(table(strings)).unwrap();
            let mut shortened = shorten_strings(&strings);
            let place = place.index(shortened.len());
            shortened[place] ^= flip;
            if let Ok(restored) = restore_strings(&shortened) {
                prop_assert!(StringTable::open(restored.into()).is_ok());
            }
        }
    }

    #[test]
    fn strings_grow_to_no_more_than_was_written() {
        // The number of strings, their bytes, and the lengths of three strings of which each shares all
        // of the one before.
        let shortened = |total: u8| [3, 0, 0, 0, total, 0, 0, 0, 0, 2, 2, 0, 2, 0, b'a', b'b'];
        assert!(restore_strings(&shortened(6)).is_ok());
        for total in [0, 4, 5, 7] {
            assert!(restore_strings(&shortened(total)).is_err(), "{total}");
        }
    }

    #[test]
    fn a_section_of_another_size_is_an_error() {
        for stored in [&[5, 0, 0, 0][..], &[0, 0], b"no section of anybody"] {
            assert!(
                unpack(StoredForm::Compressed, stored).is_err(),
                "{stored:?}"
            );
        }
    }

    #[test]
    fn ids_shrink_by_more_than_a_third() {
        const LETTERS: &[u8; 58] = b"123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";
        let mut random = 1u64;
        let mut letter = || {
            random = random
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            char::from(LETTERS[(random >> 33) as usize % LETTERS.len()])
        };
        let ids = (0..1_000).map(|_| (0..22).map(|_| letter()).collect());
        let section = table(ids.collect());
        let (form, stored) = pack(section.clone(), true).unwrap();
        assert_eq!(form, StoredForm::SortedStrings);
        assert!(
            stored.len() * 3 < section.len() * 2,
            "{} of {}",
            stored.len(),
            section.len()
        );
    }
}
