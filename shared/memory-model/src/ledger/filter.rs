//! Filters of memories by metadata.

use std::collections::HashSet;

use domain::{DocumentId, Filter, Metadata};
use serde_json::{Map, Value};

use super::{DocumentStatements, Ledger, Memory};

impl Ledger {
    /// Checks whether the metadata of the memory, or of one of its documents, satisfies a filter.
    pub fn matches_filter(&self, filter: &Filter, memory: &Memory) -> bool {
        let mut sources = memory.sources.iter();
        matches_metadata(filter, &memory.metadata)
            || sources.any(|source| {
                let statements = self.document_statements(&source.document);
                statements.is_some_and(|statements| statements.matches_filter(filter))
            })
    }

    /// Prepares a filter for many memories, for which [`Self::matches_filter`] would read documents again and
    /// again.
    pub fn prepare_filter<'f>(&self, filter: &'f Filter) -> MemoryFilter<'f> {
        let mut documents = HashSet::new();
        for statements in self.all_document_statements() {
            if statements.matches_filter(filter) {
                documents.insert(statements.document.id.clone());
            }
        }
        MemoryFilter { filter, documents }
    }
}

impl DocumentStatements {
    /// Checks whether the metadata of the document satisfies a filter. A document without metadata does not
    /// count if its statements have some: a client wrote its memories with their own metadata, and no metadata
    /// would satisfy every negated filter.
    fn matches_filter(&self, filter: &Filter) -> bool {
        let metadata = &self.document.metadata;
        let mut statements = self.statements.iter();
        if metadata.is_empty() && statements.any(|statement| !statement.metadata.is_empty()) {
            return false;
        }
        matches_metadata(filter, metadata)
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

    #[test]
    fn a_negated_filter_asks_for_the_metadata_that_a_client_wrote() {
        let mut written = Vec::new();
        for (text, source) in [("User owns a boat.", "diary"), ("User sings.", "mail")] {
            let mut own = statement(text, None, 1);
            own.metadata = metadata(&json!({"source": source}));
            written.push(own);
        }
        written.push(statement("User paints.", None, 1));
        let document = document_statements(2, vec![lives_in("Bonn", 2)]);
        let ledger = ledger([document_statements(1, written), document]);

        let filter = json!({"AND": [{"key": "source", "value": "diary", "negate": true}]});
        let filter = Filter::parse_optional(Some(&filter)).unwrap().unwrap();
        let prepared = ledger.prepare_filter(&filter);
        for (text, expected) in [
            ("User owns a boat.", false),
            ("User sings.", true),
            ("User paints.", true),
            ("User lives in Bonn.", true),
        ] {
            let memory = find_memory(&ledger, text);
            assert_eq!(ledger.matches_filter(&filter, memory), expected, "{text}");
            assert_eq!(prepared.matches(memory), expected, "{text}");
        }
    }
}
