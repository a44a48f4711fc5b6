//! The store of a ledger: documents without chunks, in the index of its memories.

use std::borrow::Cow;

use bytes::Bytes;
use memory_model::LedgerStore;
use search_engine::ContainerIndex;

/// The memories and the other records of a ledger, as they were stored with the segments.
#[derive(Debug)]
pub(super) struct StoredLedger {
    index: ContainerIndex,
}

impl StoredLedger {
    /// Creates the store of an index.
    pub(super) fn new(index: ContainerIndex) -> Self {
        Self { index }
    }

    /// Returns the index, which has a document for each record.
    pub(super) fn index(&self) -> &ContainerIndex {
        &self.index
    }
}

/// Everything that was read of the segments was verified. A record whose bytes are not fetched yet seems
/// not to exist, so partial segments are read through [`read_until_fetched`](crate::read_until_fetched).
impl LedgerStore for StoredLedger {
    fn get(&self, key: &str) -> Option<Bytes> {
        self.index.document(key)?.attributes().ok()
    }

    fn contains(&self, key: &str) -> bool {
        self.index.document(key).is_some()
    }

    fn keys(&self, prefix: &str) -> Vec<String> {
        self.index.ids_with(prefix).map(Cow::into_owned).collect()
    }
}
