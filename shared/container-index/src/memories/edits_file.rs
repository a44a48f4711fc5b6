//! The file that is stored beside a segment with the callers' edits.

use std::io::Read;

use domain::ports::BlobContent;
use domain::{DocumentId, MemoryEdit};
use memory_model::{DocumentStatements, Ledger};
use serde::{Deserialize, Serialize};

/// The edits of callers between two points of the log. Earlier versions also stored a file with the
/// statements of documents, which are now read from the memory index.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub(crate) struct EditsFile {
    /// The version of this format.
    v: u8,
    /// The documents that have statements; none in files of this version.
    #[serde(rename = "told", default)]
    inserted: Vec<DocumentStatements>,
    /// The documents that no longer have statements; none in files of this version.
    #[serde(rename = "gone", default)]
    removed: Vec<DocumentId>,
    /// The edits of callers.
    #[serde(rename = "actions")]
    pub(crate) edits: Vec<MemoryEdit>,
}

impl EditsFile {
    const VERSION: u8 = 1;
    /// The largest unpacked size of a blob, in bytes.
    const MAX_BYTES: u64 = 2 * 1024 * 1024 * 1024;

    /// Creates a file with these edits, in the order in which they apply.
    pub(crate) fn new(edits: Vec<MemoryEdit>) -> Self {
        Self {
            v: Self::VERSION,
            edits,
            ..Self::default()
        }
    }

    /// Encodes the file as JSON compressed with zstd.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let json = serde_json::to_vec(self).expect("our own types have string keys");
        zstd::bulk::compress(&json, 3).expect("compressing into memory does not fail")
    }

    /// Decodes a stored file, unless its blob is missing or damaged.
    pub(crate) fn read(stored: BlobContent) -> Option<Self> {
        let bytes = stored.into_intact_bytes()?;
        Self::try_decode(&bytes).ok()
    }

    fn try_decode(blob: &[u8]) -> std::io::Result<Self> {
        let decoder = zstd::stream::Decoder::new(blob)?;
        let mut json = Vec::new();
        decoder.take(Self::MAX_BYTES).read_to_end(&mut json)?;
        Ok(serde_json::from_slice(&json)?)
    }

    pub(super) fn apply(self, ledger: &mut Ledger) {
        for id in &self.removed {
            ledger.remove_document(id);
        }
        for stated in self.inserted {
            ledger.insert_document(stated);
        }
        for edit in &self.edits {
            ledger.apply_edit(edit);
        }
    }
}
