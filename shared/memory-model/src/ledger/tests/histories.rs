//! Property test: any history of a container gives the same memories as inserting its statements at
//! once.

use std::sync::Arc;

use domain::{ContainerId, MemoryEdit, RetractionEffect, Statement};
use proptest::prelude::*;
use proptest::sample::select;

use super::forgets::forget_on_topic;
use super::retractions::retracting;
use super::{DocumentStatements, day, document_statements, forget, lives_in, statement};
use crate::ledger::records::MapStore;
use crate::ledger::{Ledger, LedgerChanges, Memory, ProfileGroup};

const EFFECTS: [RetractionEffect; 3] = [
    RetractionEffect::Ends,
    RetractionEffect::Replaces,
    RetractionEffect::Forgets,
];

fn any_statement() -> impl Strategy<Value = Statement> {
    let place = prop_oneof![Just("Bonn"), Just("Rome"), Just("Oslo")];
    let said = 0..6i64;
    prop_oneof![
        (place.clone(), said.clone()).prop_map(|(place, said)| lives_in(place, said)),
        (place, said.clone()).prop_map(|(place, said)| {
            let value = format!("!{}", place.to_lowercase());
            statement(
                &format!("User left {place}."),
                Some(("user", "residence", &value)),
                said,
            )
        }),
        said.clone().prop_map(|said| statement(
            "User's sister is Anna.",
            Some(("user", "sister", "anna")),
            said
        )),
        said.clone().prop_map(|said| statement(
            "Anna lives in Bonn.",
            Some(("anna", "residence", "bonn")),
            said
        )),
        said.clone()
            .prop_map(|said| statement("Anna plays guitar.", None, said)),
        said.clone()
            .prop_map(|said| statement("Anna plays guitar in a band.", None, said)),
        said.clone()
            .prop_map(|said| statement("Anna does not play guitar.", None, said)),
        (
            select(&EFFECTS[..]),
            select(&["guitar", "bonn", "anna"][..]),
            said
        )
            .prop_map(|(effect, word, said)| retracting(
                "Anna changed her mind.",
                effect,
                &[word],
                said
            )),
    ]
}

/// Brings a store up to date with a ledger whose changes were computed, and restores a ledger from it.
pub(super) fn store_and_restore(ledger: &Ledger, store: &mut MapStore) -> Ledger {
    for (key, record) in ledger.changed_records(day(9)) {
        match record {
            Some(record) => store.0.insert(key, record),
            None => store.0.remove(&key),
        };
    }
    store.0.retain(|key, _| key.contains('/'));
    for memory in ledger.memories() {
        store.0.insert(memory.id.to_string(), memory.to_record());
    }

    let mut read_first = store.clone();
    let core_keys = ledger.core_keys();
    read_first.0.retain(|key, _| core_keys.contains(key));
    let by_core = Ledger::restore(ledger.container.clone(), Arc::new(read_first)).unwrap();
    assert_eq!(by_core.shortlists.all().count(), ProfileGroup::ALL.len());

    let mut restored = Ledger::restore(ledger.container.clone(), Arc::new(store.clone())).unwrap();
    assert_eq!(restored.recompute_memories(), LedgerChanges::default());
    assert!(restored.memories().eq(ledger.memories()));
    assert_eq!(restored.changed_memories().count(), 0);

    let mut computed_anew =
        Ledger::restore_statements(ledger.container.clone(), Arc::new(store.clone())).unwrap();
    computed_anew.recompute_memories();
    assert!(computed_anew.memories().eq(ledger.memories()));
    for document in ledger.all_document_statements() {
        let id = &document.document.id;
        assert_eq!(restored.forgotten_spans(id), ledger.forgotten_spans(id));
        assert_eq!(restored.stated_memories(id), ledger.stated_memories(id));
        assert_eq!(
            computed_anew.stated_memories(id),
            ledger.stated_memories(id)
        );
    }
    restored
}

/// Returns the correction of a memory by a caller.
fn correct(memory: &Memory, said: i64) -> MemoryEdit {
    MemoryEdit::Update {
        memory: memory.id.clone(),
        topic: memory.topic.clone(),
        version: Box::new(statement("Anna plays guitar and cello.", None, said)),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    /// Checks that any order of arrival, with repetitions, replacements and deletions, with memories that
    /// are recomputed at any point, and stored and restored at any point, ends in the state of a ledger into
    /// which the remaining documents were inserted at once. Each recomputation reports exactly the changes.
    /// Corrections are said one after another, because those of one moment apply in the order of the log.
    /// An edit has the same effect whether or not it names its topic.
    #[test]
    fn memories_depend_on_nothing_but_what_is_stated(
        documents in prop::collection::vec(prop::collection::vec(any_statement(), 0..4), 1..6),
        steps in prop::collection::vec((0usize..6, 0u8..6, any::<bool>()), 0..24),
    ) {
        let all: Vec<DocumentStatements> = documents.into_iter().enumerate().map(|(i, said)| document_statements(i as u8, said)).collect();
        let mut moved = Ledger::new(ContainerId::parse("cccccccccccccccccccccc").unwrap());
        let mut seen = std::collections::BTreeMap::new();
        let mut acts = Vec::new();
        let mut store = MapStore::default();
        for (which, step, recomputes) in steps {
            let told = &all[which % all.len()];
            let mut reopens = false;
            match step {
                0 => moved.remove_document(&told.document.id),
                1 => {
                    let memory = moved.memories().nth(which).cloned();
                    if let Some(memory) = memory {
                        moved.apply_edit(&forget_on_topic(&memory, which as i64));
                        acts.push(forget(&memory.id, which as i64));
                    }
                }
                2 => reopens = true,
                3 => {
                    let memory = moved.memories().filter(|memory| !memory.is_derived()).nth(which);
                    let act = memory.map(|memory| correct(memory, acts.len() as i64));
                    act.iter().for_each(|act| moved.apply_edit(act));
                    acts.extend(act);
                }
                _ => moved.insert_document(told.clone()),
            }
            if recomputes || reopens {
                let changed = moved.recompute_memories();
                for id in &changed.removed {
                    prop_assert!(seen.remove(id).is_some());
                }
                for id in changed.updated {
                    let memory = moved.get(&id);
                    prop_assert!(memory.is_some());
                    seen.insert(id, memory.unwrap());
                }
                prop_assert!(seen.values().eq(moved.memories()), "every change is reported");
            }
            if reopens {
                moved = store_and_restore(&moved, &mut store);
            }
        }

        all.iter().for_each(|told| moved.insert_document(told.clone()));
        moved.recompute_memories();
        let mut straight = Ledger::new(ContainerId::parse("cccccccccccccccccccccc").unwrap());
        acts.iter().rev().for_each(|act| straight.apply_edit(act));
        all.iter().rev().for_each(|told| straight.insert_document(told.clone()));
        straight.recompute_memories();
        prop_assert!(moved.memories().eq(straight.memories()));
    }
}
