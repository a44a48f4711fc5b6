//! Topics with many statements, of which most are settled, and groups of many topics.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use domain::memory::ReviewDecision;
use domain::{ContainerId, DocumentId, MemoryEdit, RetractionEffect, Statement, Trust};
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::json;

use super::forgets::forget_on_topic;
use super::histories::store_and_restore;
use super::retractions::retracting;
use super::{
    DocumentStatements, day, document_statements, find_memory, forget, lives_in, statement,
};
use crate::ledger::extend::MAX_GROUP_TOPICS;
use crate::ledger::records::{LedgerStore, MapStore};
use crate::ledger::{Ledger, LedgerChanges, MemoryRelation};

fn any_statement() -> impl Strategy<Value = Statement> {
    let place = select(&["Bonn", "Bonn", "Bonn", "Rome", "Oslo"][..]);
    let trust = select(&[Trust::User, Trust::User, Trust::External, Trust::Assistant][..]);
    (place, trust, 0u8..40).prop_map(|(place, trust, kind)| {
        let word = place.to_lowercase();
        let stated = match kind {
            0 => retracting("Forget it.", RetractionEffect::Forgets, &[&word], 0),
            1 => retracting("No more.", RetractionEffect::Ends, &[&word], 0),
            2..=4 => {
                let value = format!("!{word}");
                let text = format!("User left {place}.");
                statement(&text, Some(("user", "residence", &value)), 0)
            }
            // No retraction takes this back.
            5 => statement("User is at home.", Some(("user", "residence", &word)), 0),
            6..=8 => statement("User plays guitar.", None, 0),
            _ => lives_in(place, 0),
        };
        Statement { trust, ..stated }
    })
}

/// A document that is said on a day, and perhaps considers only documents with the same metadata.
fn any_document() -> impl Strategy<Value = (Vec<Statement>, i64, bool)> {
    let statements = prop::collection::vec(any_statement(), 1..3);
    (statements, -3i64..3, prop::bool::weighted(0.05))
}

/// Returns documents that are said one after another, except for a few days.
fn build_documents(described: Vec<(Vec<Statement>, i64, bool)>) -> Vec<DocumentStatements> {
    let numbered = (0i64..).zip(described);
    let documents = numbered.map(|(number, (mut statements, shift, is_filtered))| {
        for (index, statement) in statements.iter_mut().enumerate() {
            statement.start = 100 * index;
            statement.end += 100 * index;
            statement.said_at = day(number + shift);
        }
        let mut document = document_statements(u8::try_from(number).unwrap(), statements);
        let project = json!(number % 2);
        document.document.metadata.insert("project".into(), project);
        if is_filtered {
            document.document.filter_by_metadata = Some(document.document.metadata.clone());
        }
        document
    });
    documents.collect()
}

#[derive(Debug, Clone)]
enum Step {
    /// Inserts the next documents, in the order of their numbers.
    InsertNext(usize),
    /// Inserts a document that was left out or removed before.
    Insert(usize),
    Remove(usize),
    Forget(usize),
    /// A caller writes a new version of a memory.
    Correct(usize),
    /// Stores the ledger and restores it.
    Restore,
}

fn any_step() -> impl Strategy<Value = Step> {
    prop_oneof![
        8 => (1usize..12).prop_map(Step::InsertNext),
        2 => (0usize..90).prop_map(Step::Insert),
        2 => (0usize..90).prop_map(Step::Remove),
        1 => (0usize..40).prop_map(Step::Forget),
        1 => (0usize..40).prop_map(Step::Correct),
        3 => Just(Step::Restore),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    /// Checks that settled statements make no difference: after each step, the memories are those of a
    /// ledger into which the same documents were inserted at once, and the changes are reported exactly.
    #[test]
    fn settled_statements_give_what_open_ones_do(
        described in prop::collection::vec(any_document(), 20..90),
        steps in prop::collection::vec((any_step(), prop::bool::weighted(0.6)), 4..24),
    ) {
        let documents = build_documents(described);
        let container = ContainerId::parse("cccccccccccccccccccccc").unwrap();
        let mut ledger = Ledger::new(container.clone());
        let mut store = MapStore::default();
        let mut is_present = vec![false; documents.len()];
        let mut next = 0;
        let mut edits: Vec<MemoryEdit> = Vec::new();
        let mut seen = BTreeMap::new();

        for (step, computes) in steps {
            match &step {
                Step::InsertNext(count) => {
                    let end = documents.len().min(next + count);
                    // One of five is left out, and may arrive later.
                    for number in (next..end).filter(|number| number % 5 != 3) {
                        ledger.insert_document(documents[number].clone());
                        is_present[number] = true;
                    }
                    next = end;
                }
                Step::Insert(number) => {
                    let number = number % documents.len();
                    ledger.insert_document(documents[number].clone());
                    is_present[number] = true;
                }
                Step::Remove(number) => {
                    let number = number % documents.len();
                    ledger.remove_document(&documents[number].document.id);
                    is_present[number] = false;
                }
                Step::Forget(number) => {
                    let memory = ledger.memories().nth(*number).cloned();
                    if let Some(memory) = memory {
                        ledger.apply_edit(&forget_on_topic(&memory, *number as i64));
                        edits.push(forget(&memory.id, *number as i64));
                    }
                }
                Step::Correct(number) => {
                    let mut memories = ledger.memories().filter(|memory| !memory.is_derived());
                    let memory = memories.nth(*number).cloned();
                    drop(memories);
                    if let Some(memory) = memory {
                        let edit = MemoryEdit::Update {
                            memory: memory.id.clone(),
                            topic: memory.topic.clone(),
                            version: Box::new(lives_in("Turin", edits.len() as i64)),
                        };
                        ledger.apply_edit(&edit);
                        edits.push(edit);
                    }
                }
                Step::Restore => {}
            }

            // Several changes may be computed at once.
            if !computes && !matches!(step, Step::Restore) {
                continue;
            }
            let changes = ledger.recompute_memories();
            for id in &changes.removed {
                prop_assert!(seen.remove(id).is_some());
            }
            for id in changes.updated {
                let memory = ledger.get(&id).unwrap();
                prop_assert!(seen.insert(id, memory.clone()) != Some(memory), "nothing changed");
            }
            prop_assert!(seen.values().eq(ledger.memories()), "each change is reported");
            if matches!(step, Step::Restore) {
                ledger = store_and_restore(&ledger, &mut store);
            }

            let mut at_once = Ledger::new(container.clone());
            for (document, _) in documents.iter().zip(&is_present).filter(|(_, present)| **present) {
                at_once.insert_document(document.clone());
            }
            edits.iter().for_each(|edit| at_once.apply_edit(edit));
            at_once.recompute_memories();
            prop_assert!(ledger.memories().eq(at_once.memories()));
            for document in &documents {
                let id = &document.document.id;
                prop_assert_eq!(ledger.stated_memories(id), at_once.stated_memories(id));
                prop_assert_eq!(ledger.forgotten_spans(id), at_once.forgotten_spans(id));
            }
            for memory in ledger.memories() {
                prop_assert_eq!(ledger.memory_history(memory), at_once.memory_history(memory));
            }
        }
    }
}

#[test]
fn statements_that_begin_like_too_many_others_extend_none() {
    let plays = |number: usize| format!("Anna plays guitar at place{number}.");
    let extends_shorter = |ledger: &Ledger| {
        let relations = &find_memory(ledger, &plays(0)).relations;
        relations
            .values()
            .any(|relation| *relation == MemoryRelation::Extends)
    };
    let shorter = document_statements(0, vec![statement("Anna plays guitar.", None, 0)]);
    let longer = (0..MAX_GROUP_TOPICS - 1).map(|number| statement(&plays(number), None, 0));
    let mut ledger = Ledger::new(ContainerId::parse("cccccccccccccccccccccc").unwrap());
    ledger.insert_document(shorter);
    ledger.insert_document(document_statements(1, longer.collect()));
    ledger.recompute_memories();
    assert!(extends_shorter(&ledger));

    let mut store = MapStore::default();
    for number in MAX_GROUP_TOPICS..MAX_GROUP_TOPICS + 3 {
        let name = u8::try_from(number - MAX_GROUP_TOPICS).unwrap() + 2;
        ledger.insert_document(document_statements(
            name,
            vec![statement(&plays(number), None, 0)],
        ));
        ledger.recompute_memories();
        assert!(!extends_shorter(&ledger));
        ledger = store_and_restore(&ledger, &mut store);
    }

    for (name, is_small_again) in [(2, false), (4, false), (3, true)] {
        ledger.remove_document(&document_statements(name, Vec::new()).document.id);
        ledger.recompute_memories();
        assert_eq!(extends_shorter(&ledger), is_small_again);
        ledger = store_and_restore(&ledger, &mut store);
    }
}

/// A store that counts the records that are read.
#[derive(Debug)]
pub(super) struct CountingStore {
    pub(super) records: MapStore,
    pub(super) reads: AtomicUsize,
}

impl LedgerStore for CountingStore {
    fn get(&self, key: &str) -> Option<Bytes> {
        self.reads.fetch_add(1, Ordering::Relaxed);
        self.records.get(key)
    }

    fn contains(&self, key: &str) -> bool {
        self.records.contains(key)
    }

    fn keys(&self, prefix: &str) -> Vec<String> {
        self.records.keys(prefix)
    }
}

#[test]
fn a_statement_costs_the_same_however_many_a_topic_has() {
    let container = ContainerId::parse("cccccccccccccccccccccc").unwrap();
    let reads_of_one_more = |place: &dyn Fn(usize) -> String, count: usize| {
        let mut ledger = Ledger::new(container.clone());
        for number in 0..count {
            let statement = lives_in(&place(number), number as i64);
            ledger.insert_document(document_statements(number as u8, vec![statement]));
        }
        ledger.recompute_memories();
        let mut records = MapStore::default();
        store_and_restore(&ledger, &mut records);

        let store = Arc::new(CountingStore {
            records,
            reads: AtomicUsize::new(0),
        });
        let mut restored = Ledger::restore(container.clone(), store.clone()).unwrap();
        let next = lives_in("Turin", count as i64);
        restored.insert_document(document_statements(255, vec![next]));
        restored.recompute_memories();
        let reads = store.reads.load(Ordering::Relaxed);
        assert!(find_memory(&restored, "User lives in Turin.").is_latest);
        reads
    };

    // Many answers, or one that is repeated. Both numbers leave the same number of open statements.
    for place in [
        &(|number| format!("place{number}")) as &dyn Fn(usize) -> String,
        &|_| "Bonn".to_owned(),
    ] {
        let (few, many) = (reads_of_one_more(place, 50), reads_of_one_more(place, 250));
        assert!(few < 100, "{few} records");
        assert_eq!(many, few);
    }
}

/// A store that has a record once it was asked for and then fetched.
#[derive(Debug, Default)]
struct FetchingStore {
    records: MapStore,
    fetched: Mutex<BTreeSet<String>>,
    missing: Mutex<BTreeSet<String>>,
}

impl FetchingStore {
    fn has(&self, key: &str) -> bool {
        let has = self.fetched.lock().unwrap().contains(key);
        if !has {
            self.missing.lock().unwrap().insert(key.to_owned());
        }
        has
    }

    /// Calls `read` until nothing is missing. Returns its last result, and the number of times that something
    /// was fetched.
    fn read_fetching<T>(&self, read: impl Fn() -> T) -> (T, usize) {
        for rounds in 0.. {
            let result = read();
            let mut missing = self.missing.lock().unwrap();
            if missing.is_empty() {
                return (result, rounds);
            }
            self.fetched.lock().unwrap().append(&mut missing);
        }
        unreachable!("the loop returns")
    }
}

impl LedgerStore for FetchingStore {
    fn get(&self, key: &str) -> Option<Bytes> {
        self.records.get(key).filter(|_| self.has(key))
    }

    fn contains(&self, key: &str) -> bool {
        self.records.contains(key) && self.has(key)
    }

    fn keys(&self, prefix: &str) -> Vec<String> {
        self.records.keys(prefix)
    }
}

/// Returns a ledger with `places` statements, each about another place, and the same ledger restored from a store
/// that has fetched only what the restoration needs.
fn restored_by_fetching(places: u8) -> (Ledger, Ledger, Arc<FetchingStore>) {
    let container = ContainerId::parse("cccccccccccccccccccccc").unwrap();
    let mut ledger = Ledger::new(container.clone());
    for number in 0..places {
        let statement = lives_in(&format!("place{number}"), i64::from(number));
        ledger.insert_document(document_statements(number, vec![statement]));
    }
    ledger.recompute_memories();
    let (restored, store) = restore_by_fetching(&ledger);
    (ledger, restored, store)
}

/// Restores a ledger from a store that has fetched only what the restoration needs.
fn restore_by_fetching(ledger: &Ledger) -> (Ledger, Arc<FetchingStore>) {
    let mut records = MapStore::default();
    store_and_restore(ledger, &mut records);
    let store = Arc::new(FetchingStore {
        records,
        ..FetchingStore::default()
    });
    let container = ledger.container();
    let (restored, _) = store.read_fetching(|| Ledger::restore(container.clone(), store.clone()));
    (restored.unwrap(), store)
}

/// Returns a ledger with 200 topics of one statement each.
fn ledger_of_many_topics() -> Ledger {
    let documents = (0..200).map(|number: u8| {
        let name = format!("person{number}");
        let text = format!("{name} lives in Bonn.");
        let lives = statement(&text, Some((&name, "residence", "bonn")), 1);
        document_statements(number, vec![lives])
    });
    super::ledger(documents)
}

#[test]
fn an_edit_that_names_its_topic_fetches_no_other() {
    let ledger = ledger_of_many_topics();
    let memory = find_memory(&ledger, "person7 lives in Bonn.").clone();
    let review = MemoryEdit::Review {
        memory: memory.id.clone(),
        topic: Some(memory.topic.clone()),
        review: ReviewDecision::Approve,
        at: day(5),
    };
    for edit in [forget_on_topic(&memory, 5), review] {
        let mut expected = ledger.clone();
        expected.apply_edit(&edit);
        expected.recompute_memories();

        let (restored, store) = restore_by_fetching(&ledger);
        let (memory, _) = store.read_fetching(|| {
            let mut edited = restored.clone();
            edited.apply_edit(&edit);
            edited.recompute_memories();
            edited.get(&memory.id)
        });
        assert_eq!(memory, expected.get(&memory.as_ref().unwrap().id));
        let fetched = store.fetched.lock().unwrap().len();
        assert!(fetched < 10, "{fetched} records");
    }
}

#[test]
fn forgetting_what_no_document_states_any_longer_fetches_no_other_topic() {
    let ledger = ledger_of_many_topics();
    let memory = find_memory(&ledger, "person7 lives in Bonn.").clone();
    let document = &memory.sources[0].document;
    let (restored, store) = restore_by_fetching(&ledger);
    let (changes, _) = store.read_fetching(|| {
        let mut edited = restored.clone();
        edited.remove_document(document);
        let removed = edited.recompute_memories().removed;
        edited.apply_edit(&forget_on_topic(&memory, 5));
        (removed, edited.recompute_memories())
    });
    let removed = BTreeSet::from([memory.id]);
    assert_eq!(changes, (removed, LedgerChanges::default()));
    let fetched = store.fetched.lock().unwrap().len();
    assert!(fetched < 10, "{fetched} records");
}

#[test]
fn a_long_history_is_fetched_in_few_rounds() {
    let (ledger, restored, store) = restored_by_fetching(120);
    let latest = find_memory(&ledger, "User lives in place119.");
    let expected = ledger.memory_history(latest);
    assert_eq!(expected.len(), 100);

    let (history, rounds) = store.read_fetching(|| restored.memory_history(latest));
    assert_eq!(history, expected);
    assert!(rounds <= 6, "{rounds} rounds");
}

#[test]
fn the_memories_of_a_document_are_fetched_in_few_rounds() {
    for number in [0, 50, 130, 249] {
        let (ledger, restored, store) = restored_by_fetching(250);
        let document = document_statements(number, Vec::new()).document.id;
        let expected = ledger.memories_of_document(&document);
        assert_eq!(expected.len(), 1);

        let read = || restored.memories_of_document(&document);
        let (memories, rounds) = store.read_fetching(read);
        assert_eq!(memories, expected);
        // The statements, the topic, two rounds for the block, and the memory.
        assert!(rounds <= 5, "{rounds} rounds");
    }
}

#[test]
fn a_memory_names_the_sources_with_which_it_began_and_the_newest() {
    let by_others = |number: u8| {
        let statement = Statement {
            trust: if number == 4 {
                Trust::User
            } else {
                Trust::External
            },
            ..lives_in("Bonn", i64::from(number))
        };
        document_statements(number, vec![statement])
    };
    let mut ledger = Ledger::new(ContainerId::parse("cccccccccccccccccccccc").unwrap());
    for number in 0..100 {
        ledger.insert_document(by_others(number));
        ledger.recompute_memories();
    }
    let memory = find_memory(&ledger, "User lives in Bonn.");
    let sources = memory.sources.iter();
    let sources: Vec<&DocumentId> = sources.map(|source| &source.document).collect();
    let expected = [0, 4].into_iter().chain(70..100).map(by_others);
    let expected: Vec<DocumentId> = expected.map(|document| document.document.id).collect();
    assert!(sources.into_iter().eq(&expected));
    assert_eq!((memory.source_count(), memory.trust), (100, Trust::User));

    let unlisted = by_others(40).document.id;
    let stated = ledger.memories_of_document(&unlisted);
    assert_eq!(stated[0].id, memory.id);
    let id = memory.id.clone();
    ledger.apply_edit(&forget(&id, 200));
    ledger.recompute_memories();
    assert_eq!(ledger.forgotten_spans(&unlisted).len(), 1);
}

/// Checks that each document has the same forgotten parts as in a ledger that is computed from scratch.
/// Returns the number of documents with such a part.
fn count_masked(ledger: &Ledger) -> usize {
    let mut from_scratch = ledger.without_memories();
    from_scratch.recompute_memories();
    let mut masked = 0;
    for document in ledger.all_document_statements() {
        let spans = ledger.forgotten_spans(&document.document.id);
        assert_eq!(spans, from_scratch.forgotten_spans(&document.document.id));
        assert!(spans.is_empty() || ledger.has_masked(&document.document.id));
        masked += usize::from(!spans.is_empty());
    }
    masked
}

#[test]
fn a_denial_of_what_is_settled_and_forgotten_is_masked() {
    let mut ledger = Ledger::new(ContainerId::parse("cccccccccccccccccccccc").unwrap());
    ledger.insert_document(document_statements(0, vec![lives_in("Rome", 0)]));
    for number in 1..30 {
        let oslo = lives_in("Oslo", i64::from(number));
        ledger.insert_document(document_statements(number, vec![oslo]));
    }
    ledger.recompute_memories();
    let rome = find_memory(&ledger, "User lives in Rome.").id.clone();
    ledger.apply_edit(&forget(&rome, 30));
    ledger.recompute_memories();
    assert_eq!(count_masked(&ledger), 1);

    let denial = statement("User left Rome.", Some(("user", "residence", "!rome")), 31);
    ledger.insert_document(document_statements(31, vec![denial]));
    ledger.recompute_memories();
    assert_eq!(count_masked(&ledger), 2);
}

#[test]
fn all_documents_of_a_settled_version_are_masked_when_it_is_forgotten() {
    let mut ledger = Ledger::new(ContainerId::parse("cccccccccccccccccccccc").unwrap());
    for number in 0..60 {
        let bonn = lives_in("Bonn", i64::from(number));
        ledger.insert_document(document_statements(number, vec![bonn]));
    }
    // The request to forget does not mean this one, so the memory stays.
    let other_words = statement("User is at home.", Some(("user", "residence", "bonn")), 60);
    let other_words = document_statements(60, vec![other_words]);
    ledger.insert_document(other_words.clone());
    let request = retracting("Forget it.", RetractionEffect::Forgets, &["bonn"], 61);
    ledger.insert_document(document_statements(61, vec![request]));
    ledger.recompute_memories();
    assert!(
        find_memory(&ledger, "User lives in Bonn.")
            .forgotten
            .is_none()
    );
    assert_eq!(count_masked(&ledger), 1);

    ledger.remove_document(&other_words.document.id);
    ledger.recompute_memories();
    assert!(
        find_memory(&ledger, "User lives in Bonn.")
            .forgotten
            .is_some()
    );
    assert_eq!(count_masked(&ledger), 61);
}
