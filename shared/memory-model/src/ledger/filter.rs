//! Filters of memories by metadata.

use std::collections::HashSet;

use domain::{DocumentId, Filter, Metadata};
use serde_json::{Map, Value};

use super::{Ledger, Memory};

impl Ledger {
    /// Checks whether the metadata of the memory, or of one of its documents, satisfies a filter.
    pub fn matches_filter(&self, filter: &Filter, memory: &Memory) -> bool {
        matches_metadata(filter, &memory.metadata)
            || self
                .documents_of(memory)
                .iter()
                .any(|document| matches_metadata(filter, &document.metadata))
    }

    /// Prepares a filter for many memories, for which [`Self::matches_filter`] would read documents again and
    /// again.
    pub fn prepare_filter<'f>(&self, filter: &'f Filter) -> MemoryFilter<'f> {
        let mut documents = HashSet::new();
        for statements in self.all_document_statements() {
            let document = &statements.document;
            if matches_metadata(filter, &document.metadata) {
                documents.insert(document.id.clone());
            }
        }
        MemoryFilter { filter, documents }
    }
}

/// A filter with the documents that match it.
#[derive(Debug)]
pub struct MemoryFilter<'f> {
    filter: &'f Filter,
    documents: HashSet<DocumentId>,
}

impl MemoryFilter<'_> {
    /// Checks whether a memory matches the filter, as [`Ledger::matches_filter`] does.
    pub fn matches(&self, memory: &Memory) -> bool {
        let mut sources = memory.sources.iter();
        matches_metadata(self.filter, &memory.metadata)
            || sources.any(|source| self.documents.contains(&source.document))
    }
}

fn matches_metadata(filter: &Filter, metadata: &Map<String, Value>) -> bool {
    filter.matches(&Metadata::from_stored(metadata.clone()))
}

#[cfg(test)]
mod tests {
    use domain::Filter;
    use serde_json::{Map, Value, json};

    use crate::ledger::Memory;
    use crate::ledger::tests::{document_statements, find_memory, ledger, lives_in, statement};

    fn metadata(value: &Value) -> Map<String, Value> {
        value.as_object().unwrap().clone()
    }

    #[test]
    fn a_prepared_filter_matches_the_same_memories() {
        let mut first = document_statements(1, vec![lives_in("Bonn", 1)]);
        first.document.metadata = metadata(&json!({"source": "diary"}));
        let mut second = document_statements(2, vec![lives_in("Bonn", 2)]);
        second.document.metadata = metadata(&json!({"source": "mail"}));
        let mut own = statement("User owns a boat.", None, 3);
        own.metadata = metadata(&json!({"source": "diary"}));
        let third = document_statements(3, vec![own, statement("User sings.", None, 3)]);
        let ledger = ledger([first, second, third]);

        let filter = json!({"AND": [{"key": "source", "value": "diary"}]});
        let filter = Filter::parse_optional(Some(&filter)).unwrap().unwrap();
        let prepared = ledger.prepare_filter(&filter);
        let matches = |memory: &Memory| {
            let matches = ledger.matches_filter(&filter, memory);
            assert_eq!(prepared.matches(memory), matches, "{}", memory.text);
            matches
        };
        assert!(matches(find_memory(&ledger, "User lives in Bonn.")));
        assert!(matches(find_memory(&ledger, "User owns a boat.")));
        assert!(!matches(find_memory(&ledger, "User sings.")));
    }
}
