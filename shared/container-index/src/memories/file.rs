//! The memory file that is stored beside a segment.

use std::collections::BTreeMap;
use std::io::Read;

use domain::ports::BlobContent;
use domain::{DocumentId, MemoryEdit};
use memory_model::{DocumentStatements, Ledger};
use serde::{Deserialize, Serialize};

/// The statements of documents and the edits of callers between two points of the log, as one
/// immutable blob beside a segment.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub(crate) struct MemoryFile {
    /// The version of this format.
    pub(super) v: u8,
    /// The documents that have statements.
    pub(super) told: Vec<DocumentStatements>,
    /// The documents that no longer have statements.
    pub(super) gone: Vec<DocumentId>,
    /// The edits of callers.
    #[serde(rename = "actions")]
    pub(super) edits: Vec<MemoryEdit>,
}

impl MemoryFile {
    pub(super) const VERSION: u8 = 1;
    /// The largest unpacked size of a blob, in bytes.
    const MAX_BYTES: u64 = 2 * 1024 * 1024 * 1024;

    pub(super) fn is_empty(&self) -> bool {
        self.told.is_empty() && self.gone.is_empty() && self.edits.is_empty()
    }

    /// Encodes the file as JSON compressed with zstd.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let json = serde_json::to_vec(self).expect("our own types have string keys");
        zstd::bulk::compress(&json, 3).expect("compressing into memory does not fail")
    }

    /// Returns a file with only the callers' edits, or `None` if there are none.
    pub(crate) fn only_edits(&self) -> Option<Self> {
        let edits_only = Self {
            v: Self::VERSION,
            edits: self.edits.clone(),
            ..Self::default()
        };
        (!edits_only.is_empty()).then_some(edits_only)
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
        for id in &self.gone {
            ledger.remove_document(id);
        }
        for stated in self.told {
            ledger.insert_document(stated);
        }
        for edit in &self.edits {
            ledger.apply_edit(edit);
        }
    }

    /// Merges two files. If `is_oldest` is set, nothing older exists, so documents without
    /// statements are left out.
    pub(crate) fn merge(older: Self, newer: Self, is_oldest: bool) -> Self {
        let mut documents: BTreeMap<DocumentId, Option<DocumentStatements>> = BTreeMap::new();
        for file in [&older, &newer] {
            for id in &file.gone {
                documents.insert(id.clone(), None);
            }
            for stated in &file.told {
                documents.insert(stated.document.id.clone(), Some(stated.clone()));
            }
        }

        let mut merged = Self {
            v: Self::VERSION,
            ..Self::default()
        };

        for (id, stated) in documents {
            match stated {
                Some(stated) => merged.told.push(stated),
                None if is_oldest => {}
                None => merged.gone.push(id),
            }
        }

        merged.edits = older.edits.into_iter().chain(newer.edits).collect();
        merged
    }
}
