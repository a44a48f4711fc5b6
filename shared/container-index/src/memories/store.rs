//! The store of a ledger: documents without chunks, in the index of its memories.

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

impl LedgerStore for StoredLedger {
    fn get(&self, key: &str) -> Option<&[u8]> {
        let record = self.index.document(key)?;
        Some(record.attributes)
    }

    fn iter(&self) -> Box<dyn Iterator<Item = (&str, &[u8])> + '_> {
        let records = self.index.documents();
        Box::new(records.map(|record| (record.id, record.attributes)))
    }
}
