//! The memory index that is stored beside a segment: the memories that have changed since the segment
//! before, in the format of a segment of chunks.

use std::io::Read;

use domain::ports::BlobContent;
use search_engine::Segment;

/// The largest unpacked size of a blob, in bytes.
const MAX_BYTES: u64 = 2 * 1024 * 1024 * 1024;
/// The level of zstd. The vectors are most of the file, and a higher level gains nothing on them.
const COMPRESSION_LEVEL: i32 = 1;

/// Encodes the file of a segment as a blob, compressed with zstd.
pub(crate) fn encode_index(file: &[u8]) -> Vec<u8> {
    zstd::bulk::compress(file, COMPRESSION_LEVEL).expect("compressing into memory does not fail")
}

/// Opens a stored memory index, unless its blob is missing or damaged.
pub(crate) fn open_index(stored: BlobContent) -> Option<Segment> {
    let bytes = stored.into_intact_bytes()?;
    let decoder = zstd::stream::Decoder::new(&*bytes).ok()?;
    let mut file = Vec::new();
    decoder.take(MAX_BYTES).read_to_end(&mut file).ok()?;
    Segment::open(file.into()).ok()
}
