//! The record of an inline blob.

use bytes::Bytes;
use domain::Timestamp;
use domain::ports::BlobContent;

use super::{Item, Millis, read_record};

/// The most bytes of an inline blob as it is stored.
const INLINE_BYTES: usize = 8 * 1024;
/// The most bytes of a blob that is worth a try to compress. Text compresses to about a third, so
/// larger blobs go to S3 at once.
const COMPRESSIBLE_BYTES: usize = 6 * INLINE_BYTES;

record! {
    /// An inline blob, compressed if that is smaller.
    struct BlobRecord, BlobAttributes {
        #[serde(rename = "b")]
        plain: Option<Bytes>,
        #[serde(rename = "z")]
        compressed: Option<Bytes>,
        /// The CRC-32 of the bytes. Older blobs have none.
        #[serde(rename = "c")]
        checksum: Option<u32>,
        /// The time at which the blob was stored. Older blobs have none.
        #[serde(rename = "at")]
        stored_at: Option<Millis>,
    }
}

impl BlobRecord {
    /// Returns the record of a blob, or `None` if the blob is too large even when it is compressed.
    pub(crate) fn new(bytes: &[u8], stored_at: Timestamp) -> Option<Self> {
        if bytes.len() > COMPRESSIBLE_BYTES {
            return None;
        }

        let compressed = match zstd::bulk::compress(bytes, 3) {
            Ok(compressed) if compressed.len() < bytes.len() => Some(compressed),
            _ => None,
        };
        let (plain, compressed) = match compressed {
            Some(compressed) if compressed.len() <= INLINE_BYTES => {
                (None, Some(Bytes::from(compressed)))
            }
            None if bytes.len() <= INLINE_BYTES => (Some(Bytes::copy_from_slice(bytes)), None),
            _ => return None,
        };

        Some(Self {
            plain,
            compressed,
            checksum: Some(crc32fast::hash(bytes)),
            stored_at: Some(stored_at.into()),
        })
    }

    /// Returns the bytes of the blob, if they match the checksum.
    fn into_content(self) -> BlobContent {
        let bytes = match (self.plain, self.compressed) {
            (Some(plain), _) => Some(plain),
            (None, Some(compressed)) => decompress(&compressed),
            (None, None) => None,
        };

        match (bytes, self.checksum) {
            (Some(bytes), None) => BlobContent::Intact(bytes),
            (Some(bytes), Some(checksum)) if checksum == crc32fast::hash(&bytes) => {
                BlobContent::Intact(bytes)
            }
            _ => BlobContent::Damaged,
        }
    }
}

fn decompress(compressed: &[u8]) -> Option<Bytes> {
    let bytes = zstd::bulk::decompress(compressed, COMPRESSIBLE_BYTES).ok()?;
    Some(Bytes::from(bytes))
}

/// Reads the bytes of an inline blob from its item. An item that cannot be read is a damaged blob.
pub(crate) fn read_blob(item: Option<Item>) -> BlobContent {
    let Some(item) = item else {
        return BlobContent::Missing;
    };
    match read_record::<BlobRecord>(item) {
        Ok(record) => record.into_content(),
        Err(_) => BlobContent::Damaged,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::records::add_record;

    const NOW: Timestamp = Timestamp::from_millis(1_767_225_600_500);

    fn stored(bytes: &[u8]) -> Option<Bytes> {
        let mut item = Item::new();
        add_record(&mut item, &BlobRecord::new(bytes, NOW)?).unwrap();
        read_blob(Some(item)).into_intact_bytes()
    }

    /// Returns bytes that do not compress, from a xorshift generator.
    fn noise(length: usize) -> Vec<u8> {
        let mut state = 0x9E37_79B9_7F4A_7C15_u64;
        let mut next = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state.to_le_bytes()[3]
        };
        (0..length).map(|_| next()).collect()
    }

    #[test]
    fn what_is_stored_inline_comes_back() {
        let noise = noise(3000);
        let text = "the same words again ".repeat(1000);
        for bytes in [&b""[..], b"x", &noise, text.as_bytes()] {
            assert_eq!(stored(bytes).unwrap(), bytes);
        }
    }

    #[test]
    fn other_bytes_than_those_of_the_checksum_are_damaged() {
        let item = |bytes: &[u8], checksum| {
            let record = BlobRecord {
                checksum,
                ..BlobRecord::new(bytes, NOW).unwrap()
            };
            let mut item = Item::new();
            add_record(&mut item, &record).unwrap();
            Some(item)
        };
        let checksum = Some(crc32fast::hash(b"what was stored"));

        let intact = BlobContent::Intact("what was stored".into());
        assert_eq!(read_blob(item(b"what was stored", checksum)), intact);
        assert_eq!(read_blob(item(b"what was stored", None)), intact);
        assert_eq!(
            read_blob(item(b"what was st0red", checksum)),
            BlobContent::Damaged
        );
        assert_eq!(read_blob(Some(Item::new())), BlobContent::Damaged);
        assert_eq!(read_blob(None), BlobContent::Missing);
    }

    #[test]
    fn what_does_not_fit_goes_to_the_bucket() {
        assert!(stored(&noise(INLINE_BYTES + 1)).is_none());
        assert!(stored(&vec![b'a'; COMPRESSIBLE_BYTES + 1]).is_none());
    }
}
