//! What several tests of the index need.

use search_engine::{ContainerIndex, Replacing};

/// Builds a segment from the documents of an index alone.
pub(crate) fn build_anew(index: &ContainerIndex, replacing: Replacing) -> Vec<u8> {
    let mut anew = ContainerIndex::new();
    for document in index.documents() {
        let loaded = index.load_document(&document.id().expect("an id"));
        let loaded = loaded.expect("a document");
        anew.upsert_document(loaded.expect("a listed document exists"));
    }
    anew.build_compacted(replacing).expect("a segment")
}
