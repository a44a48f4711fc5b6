//! The stored form of a ledger: its records, and a summary of what every reader needs.

use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

use domain::{ContainerId, DocumentId, MemoryId, Timestamp, TopicId};
use serde::{Deserialize, Serialize};

use super::records::{LedgerStore, Record, Records};
use super::shortlists::SHORTLIST_LEN;
use super::topics::TopicEntry;
use super::{DirtyTopics, Ledger, Memory, Retractions};

/// The beginnings of the keys, by kind of record. A memory has its id as the key, because its record is
/// what a search finds.
const MEMORIES: &str = "";
const DOCUMENTS: &str = "documents/";
const TOPICS: &str = "topics/";
const BLOCKS: &str = "settled/";
const EDITS: &str = "edits/";
const GROUPS: &str = "groups/";
const SUBJECTS: &str = "subjects/";
const SHORTLISTS: &str = "shortlists/";
/// The key of the summary.
const SUMMARY: &str = "summary/";

/// The bytes in front of the JSON of a memory: the time until which it is live.
const LIVE_UNTIL_BYTES: usize = 8;

/// The parts of a ledger that are in memory as a whole.
#[derive(Debug, Default, Serialize, Deserialize)]
struct LedgerSummary {
    has_edits: bool,
    relationship_topics: BTreeSet<TopicId>,
    inferences: Vec<MemoryId>,
    /// The documents with statements that take back others.
    retracting_documents: BTreeSet<DocumentId>,
    masked_documents: BTreeSet<DocumentId>,
    /// Earlier versions did not store it.
    #[serde(default = "default_has_filepaths")]
    has_filepaths: bool,
}

fn default_has_filepaths() -> bool {
    true
}

impl Record for LedgerSummary {}

impl Record for Memory {
    /// Returns the time until which the memory is live as a little-endian i64, then the memory as JSON.
    fn encode(&self) -> Vec<u8> {
        let mut bytes = self.live_until().to_le_bytes().to_vec();
        serde_json::to_writer(&mut bytes, self).expect("our own types have string keys");
        bytes
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        let (_, json) = bytes.split_at_checked(LIVE_UNTIL_BYTES)?;
        serde_json::from_slice(json).ok()
    }

    fn estimated_bytes(&self) -> usize {
        800 + self.text.len()
    }
}

impl Memory {
    /// Returns the record in which a ledger stores the memory.
    pub fn to_record(&self) -> Vec<u8> {
        self.encode()
    }

    /// Reads a record of [`Memory::to_record`]. Returns `None` for anything else.
    pub fn from_record(record: &[u8]) -> Option<Self> {
        Self::decode(record)
    }

    /// Returns the time until which the memory is live, in milliseconds: the smallest number if it is
    /// forgotten or not the latest version, and the largest if it never ends.
    pub fn live_until(&self) -> i64 {
        if !self.is_latest || self.forgotten.is_some() {
            return i64::MIN;
        }
        match self.forget_after {
            Some(forget_after) => forget_after.as_millis(),
            None => i64::MAX,
        }
    }
}

impl Ledger {
    /// Restores a ledger that was stored, by the same rules ([`Ledger::RULES_VERSION`]). Returns `None`
    /// if `store` has no ledger.
    pub fn restore(container: ContainerId, store: Arc<dyn LedgerStore>) -> Option<Self> {
        let summary = LedgerSummary::decode(&store.get(SUMMARY)?)?;
        let mut ledger = Self::with_store(container, Some(store));
        if !summary.has_edits {
            ledger.edits = Records::new(EDITS, None);
        }
        // All are asked for before one is missed, so that a store can fetch them together.
        let documents = summary.retracting_documents.iter();
        let documents: Vec<_> = documents.map(|id| ledger.documents.fetch(id)).collect();
        for statements in documents {
            ledger.retractions.insert_document(&statements?);
        }

        ledger.relationship_topics = summary.relationship_topics;
        ledger.inferences = summary.inferences;
        ledger.masked_documents = summary.masked_documents;
        ledger.has_filepaths = summary.has_filepaths;
        ledger.dirty = DirtyTopics::Some(BTreeSet::new());
        Some(ledger)
    }

    /// Reads the statements and edits of a ledger that was stored, perhaps by other rules. Its memories
    /// are computed anew. Returns `None` if `store` has no ledger, or one with records that cannot be
    /// decoded.
    ///
    /// Every version must read the statements, corrections and edits that an earlier one stored.
    pub fn restore_statements(container: ContainerId, store: Arc<dyn LedgerStore>) -> Option<Self> {
        store.get(SUMMARY)?;
        let stored = Self::with_store(container, Some(store));
        let is_readable = stored.documents.are_readable()
            && stored.topics.are_readable()
            && stored.edits.are_readable();
        is_readable.then(|| stored.without_memories())
    }

    pub(super) fn with_store(container: ContainerId, store: Option<Arc<dyn LedgerStore>>) -> Self {
        Self {
            container,
            documents: Records::new(DOCUMENTS, store.clone()),
            topics: Records::new(TOPICS, store.clone()),
            blocks: Records::new(BLOCKS, store.clone()),
            edits: Records::new(EDITS, store.clone()),
            memories: Records::new(MEMORIES, store.clone()),
            groups: Records::new(GROUPS, store.clone()),
            subjects: Records::new(SUBJECTS, store.clone()),
            shortlists: Records::new(SHORTLISTS, store),
            relationship_topics: BTreeSet::new(),
            inferences: Vec::new(),
            retractions: Retractions::default(),
            masked_documents: BTreeSet::new(),
            has_filepaths: false,
            new_retractions: Vec::new(),
            dirty: DirtyTopics::All,
        }
    }

    /// Returns the container whose memories these are.
    pub fn container(&self) -> &ContainerId {
        &self.container
    }

    /// Fetches the records of these topics, and of the documents and memories that are computed with
    /// them.
    pub(super) fn fetch_topics(&mut self, topics: &BTreeSet<TopicId>) {
        let entries = topics.iter().map(|topic| self.topics.fetch(topic));
        let entries: Vec<Arc<TopicEntry>> = entries.flatten().collect();
        let statements = entries.iter().flat_map(|entry| entry.computed_statements());
        self.documents
            .fetch_all(statements.map(|(document, _)| document).collect());
        let memories = entries.iter().flat_map(|entry| &entry.memories);
        self.memories.fetch_all(memories.collect());
    }

    /// Returns a ledger with the same statements and edits and without memories, so that all of them
    /// are computed anew.
    #[must_use]
    pub fn without_memories(&self) -> Self {
        let mut ledger = Self::new(self.container.clone());
        for document in self.all_document_statements() {
            ledger.insert_document(Arc::unwrap_or_clone(document));
        }
        for edit in &self.list_edits() {
            ledger.apply_edit(edit);
        }
        ledger
    }

    /// Returns the records other than memories that differ from the store, with their keys; `None` for
    /// a record that was removed. Together with the memories that [`Ledger::recompute_memories`]
    /// reported, whose keys are their ids, they are what a store lacks. The shortlists have what is live
    /// at `now`.
    pub fn changed_records(&self, now: Timestamp) -> Vec<(String, Option<Vec<u8>>)> {
        let summary = LedgerSummary {
            has_edits: !self.edits.is_known_empty(),
            relationship_topics: self.relationship_topics.clone(),
            inferences: self.inferences.clone(),
            retracting_documents: self.retractions.documents().cloned().collect(),
            masked_documents: self.masked_documents.clone(),
            has_filepaths: self.has_filepaths,
        };
        let mut records = vec![(SUMMARY.to_owned(), Some(summary.encode()))];
        records.extend(self.documents.changes());
        records.extend(self.topics.changes());
        records.extend(self.blocks.changes());
        records.extend(self.edits.changes());
        records.extend(self.groups.changes());
        records.extend(self.subjects.changes());
        let shortlists = self.shortlist_records(now, SHORTLIST_LEN).into_iter();
        records.extend(shortlists.map(|(key, record)| (key, Some(record))));
        records
    }

    /// Returns the keys of the records that are read before others: those that [`Ledger::restore`] reads,
    /// and the shortlists, from which a profile is chosen.
    pub fn core_keys(&self) -> HashSet<String> {
        let documents = self.retractions.documents();
        let mut keys: HashSet<String> = documents.map(|id| format!("{DOCUMENTS}{id}")).collect();
        keys.insert(SUMMARY.to_owned());
        keys.extend(self.shortlist_keys());
        keys
    }

    /// Returns the ids of the memories that differ from the store, with the memories; `None` for one that was
    /// removed.
    pub fn changed_memories(&self) -> impl Iterator<Item = (&MemoryId, Option<&Arc<Memory>>)> {
        self.memories.changed_or_removed()
    }
}

#[cfg(test)]
mod tests {
    use crate::ledger::records::MapStore;
    use crate::ledger::tests::{
        day, document_statements, find_memory, ledger, lives_in, statement,
    };
    use domain::MemoryEdit;

    use super::*;

    /// Returns everything that a store of the ledger would have.
    fn stored_text(ledger: &Ledger) -> String {
        let mut text = String::new();
        for (key, record) in ledger.changed_records(day(9)) {
            if let Some(record) = record {
                text += &format!("{key} {}\n", String::from_utf8_lossy(&record));
            }
        }
        for memory in ledger.memories() {
            text += &String::from_utf8_lossy(&memory.to_record());
        }
        text.to_lowercase()
    }

    #[test]
    fn a_removed_document_leaves_no_word() {
        let sister = statement("Zoe's sister is Anna.", Some(("zoe", "sister", "anna")), 3);
        let removed = document_statements(
            2,
            vec![
                lives_in("Rome", 2),
                statement("Ben likes jazz.", None, 2),
                sister,
            ],
        );
        let mut ledger = ledger([
            document_statements(1, vec![lives_in("Bonn", 1)]),
            removed.clone(),
        ]);
        let words = ["rome", "ben", "jazz", "zoe", "anna"];
        let text = stored_text(&ledger);
        assert!(words.iter().all(|word| text.contains(word)), "{text}");

        ledger.remove_document(&removed.document.id);
        ledger.recompute_memories();
        let text = stored_text(&ledger);
        assert!(!words.iter().any(|word| text.contains(word)), "{text}");
        assert!(text.contains("bonn"), "{text}");
    }

    #[test]
    fn a_correction_outlives_its_document_without_the_words_of_it() {
        let removed = document_statements(2, vec![statement("Ben likes jazz.", None, 2)]);
        let mut ledger = ledger([removed.clone()]);
        let memory = find_memory(&ledger, "Ben likes jazz.").clone();
        ledger.apply_edit(&MemoryEdit::Update {
            memory: memory.id,
            topic: memory.topic,
            version: Box::new(statement("He likes tango.", None, 3)),
        });
        ledger.remove_document(&removed.document.id);
        ledger.recompute_memories();
        let text = stored_text(&ledger);
        assert!(!text.contains("jazz"), "{text}");
        assert!(text.contains("tango"), "{text}");
    }

    /// Returns the records of a ledger other than memories.
    fn store_of(ledger: &Ledger) -> MapStore {
        let mut store = MapStore::default();
        for (key, record) in ledger.changed_records(day(9)) {
            store.0.extend(record.map(|record| (key, record)));
        }
        store
    }

    #[test]
    fn a_restored_ledger_knows_the_paths_of_documents() {
        let mut document = document_statements(1, vec![lives_in("Bonn", 1)]);
        document.document.filepath = Some("/notes/home.md".to_owned());
        let ledger = ledger([document]);
        let memory = ledger.memories().next().unwrap();
        let mut store = store_of(&ledger);
        let path_in = |store: &MapStore| {
            let restored = Ledger::restore(ledger.container.clone(), Arc::new(store.clone()));
            restored.unwrap().filepath_of(memory)
        };
        assert_eq!(path_in(&store).as_deref(), Some("/notes/home.md"));

        // Earlier versions did not store whether there are paths.
        let summary = store.0.get_mut(SUMMARY).unwrap();
        let mut fields: serde_json::Value = serde_json::from_slice(summary).unwrap();
        assert!(
            fields
                .as_object_mut()
                .unwrap()
                .remove("has_filepaths")
                .is_some()
        );
        *summary = fields.to_string().into_bytes();
        assert_eq!(path_in(&store).as_deref(), Some("/notes/home.md"));
    }

    #[test]
    fn without_paths_no_document_is_read_for_them() {
        let ledger = ledger([document_statements(1, vec![lives_in("Bonn", 1)])]);
        let memory = ledger.memories().next().unwrap();
        let store = Arc::new(store_of(&ledger));
        let restored = Ledger::restore(ledger.container.clone(), store).unwrap();
        assert!(!restored.has_filepaths);
        assert_eq!(restored.filepath_of(memory), None);
    }

    #[test]
    fn a_store_without_a_ledger_is_not_restored() {
        let container = ContainerId::parse("cccccccccccccccccccccc").unwrap();
        assert!(Ledger::restore(container, Arc::new(MapStore::default())).is_none());
    }
}
