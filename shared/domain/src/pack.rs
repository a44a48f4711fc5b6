//! Packs: the canonical text, the chunks and the embeddings of a revision, as one immutable blob.

use std::io::{Read, Write};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};

use crate::error::PortError;

/// The result of processing one revision.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pack {
    /// The version of the format.
    pub v: u8,
    /// The built-in embedding model that produced the vectors of all chunks.
    pub model: String,
    /// The embedding model that the operator had chosen, which produced `model_vector` of the
    /// chunks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chosen_model: Option<String>,
    /// The canonical text, to which all positions refer.
    pub text: String,
    /// The chunks, in the order of the text.
    pub chunks: Vec<PackedChunk>,
}

/// One chunk: a span of the canonical text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PackedChunk {
    /// The position of the first character.
    pub start: usize,
    /// The position after the last character.
    pub end: usize,
    /// The headings above the chunk, outermost first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub headings: Vec<String>,
    /// The embedding, with one signed byte for each dimension.
    #[serde(with = "vector")]
    pub vector: Vec<i8>,
    /// The embedding by the chosen model, with one signed byte for each dimension. Empty if the
    /// model gave none.
    #[serde(with = "vector", default, skip_serializing_if = "Vec::is_empty")]
    pub model_vector: Vec<i8>,
}

mod vector {
    use super::{Engine, STANDARD};
    use serde::{Deserialize, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(
        vector: &[i8],
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        let bytes: Vec<u8> = vector.iter().map(|code| code.cast_unsigned()).collect();
        serializer.serialize_str(&STANDARD.encode(bytes))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Vec<i8>, D::Error> {
        let text = String::deserialize(deserializer)?;
        let bytes = STANDARD.decode(text).map_err(serde::de::Error::custom)?;
        Ok(bytes.into_iter().map(u8::cast_signed).collect())
    }
}

impl Pack {
    /// The current version of the format.
    pub const VERSION: u8 = 1;
    /// The largest decompressed size of a blob in bytes.
    const MAX_BYTES: usize = 512 * 1024 * 1024;

    /// Checks whether the pack is so large that its blob could not be decoded again.
    pub fn is_too_large(&self) -> bool {
        self.count_json_bytes() > Self::MAX_BYTES
    }

    fn count_json_bytes(&self) -> usize {
        let mut counter = ByteCounter::default();
        serde_json::to_writer(&mut counter, self).expect("strings and numbers serialize");
        counter.bytes
    }

    /// Encodes the pack as a blob: JSON, compressed with zstd.
    pub fn encode(&self) -> Vec<u8> {
        let json = serde_json::to_vec(self).expect("strings and numbers serialize");
        zstd::bulk::compress(&json, 3).expect("compressing into memory does not fail")
    }

    /// Decodes a blob.
    ///
    /// # Errors
    /// Returns [`PortError::Corrupt`] when [`Pack::encode`] did not produce the blob.
    pub fn decode(blob: &[u8]) -> Result<Self, PortError> {
        let corrupt = |error: &dyn std::fmt::Display| PortError::Corrupt(format!("pack: {error}"));
        let mut json = Vec::new();
        let decoder = zstd::stream::Decoder::new(blob).map_err(|error| corrupt(&error))?;
        decoder
            .take(Self::MAX_BYTES as u64 + 1)
            .read_to_end(&mut json)
            .map_err(|error| corrupt(&error))?;
        if json.len() > Self::MAX_BYTES {
            return Err(corrupt(&"larger than any document"));
        }
        serde_json::from_slice(&json).map_err(|error| corrupt(&error))
    }

    /// Returns the text of each chunk, in order, in one pass over the canonical text.
    pub fn chunk_texts(&self) -> Vec<&str> {
        let mut bounds: Vec<usize> = self
            .chunks
            .iter()
            .flat_map(|chunk| [chunk.start, chunk.end])
            .collect();
        bounds.sort_unstable();
        bounds.dedup();
        let offsets = byte_offsets(&self.text, &bounds);
        let byte = |at: usize| {
            bounds
                .binary_search(&at)
                .map_or(self.text.len(), |i| offsets[i])
        };

        self.chunks
            .iter()
            .map(|chunk| {
                self.text
                    .get(byte(chunk.start)..byte(chunk.end))
                    .unwrap_or("")
            })
            .collect()
    }
}

/// A writer that only counts what is written.
#[derive(Default)]
struct ByteCounter {
    bytes: usize,
}

impl Write for ByteCounter {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.bytes += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Converts ascending character offsets to byte offsets. Offsets beyond the end become the end.
fn byte_offsets(text: &str, bounds: &[usize]) -> Vec<usize> {
    let mut offsets = Vec::with_capacity(bounds.len());
    let mut characters = text.char_indices().enumerate();
    let mut next_char = characters.next();
    for &bound in bounds {
        while next_char.is_some_and(|(n, _)| n < bound) {
            next_char = characters.next();
        }
        offsets.push(next_char.map_or(text.len(), |(_, (byte, _))| byte));
    }
    offsets
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pack() -> Pack {
        let chunk = |start, end| PackedChunk {
            start,
            end,
            headings: vec!["Größe".into()],
            vector: vec![-1, 0, 127],
            model_vector: vec![5, -127, 0, 1],
        };
        Pack {
            v: 1,
            model: "static".into(),
            chosen_model: Some("chosen".into()),
            text: "Äpfel und Öl 🍎.".into(),
            chunks: vec![chunk(0, 5), chunk(4, 15)],
        }
    }

    #[test]
    fn round_trip_keeps_everything() {
        assert_eq!(Pack::decode(&pack().encode()).unwrap(), pack());
    }

    #[test]
    fn the_size_of_a_pack_is_that_of_its_json() {
        let json = serde_json::to_vec(&pack()).unwrap();
        assert_eq!(pack().count_json_bytes(), json.len());
        assert!(!pack().is_too_large());
    }

    #[test]
    fn spans_are_characters_and_may_overlap() {
        assert_eq!(pack().chunk_texts(), ["Äpfel", "l und Öl 🍎."]);
    }

    #[test]
    fn garbage_is_corrupt_not_a_panic() {
        for garbage in [&b""[..], b"x", b"{}", &pack().encode()[..20]] {
            assert!(matches!(Pack::decode(garbage), Err(PortError::Corrupt(_))));
        }
    }

    #[test]
    fn the_stored_shape_of_version_1_stays_readable() {
        let golden =
            r#"{"v":1,"model":"m","text":"hi","chunks":[{"start":0,"end":2,"vector":"/wB/"}]}"#;
        let blob = zstd::bulk::compress(golden.as_bytes(), 3).unwrap();
        let pack = Pack::decode(&blob).unwrap();
        assert_eq!(pack.chunks[0].vector, [-1, 0, 127]);
        assert_eq!(pack.chosen_model, None);
        assert!(pack.chunks[0].model_vector.is_empty());
    }
}
