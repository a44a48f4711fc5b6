//! Property test: whatever was stored and has changed since, shortlists say what all memories say.

use std::sync::Arc;

use domain::{ContainerId, MemoryKind, Statement, Timestamp};
use proptest::prelude::*;
use proptest::sample::select;

use super::{day, document_statements, forget, statement};
use crate::ledger::records::MapStore;
use crate::ledger::{Ledger, Memory, ProfileGroup};

/// A step in the history of a container.
#[derive(Debug, Clone)]
enum Step {
    /// A document is inserted or replaced.
    Insert(u8, Vec<Statement>),
    Remove(u8),
    /// The memory at this position is forgotten.
    Forget(usize),
    /// The ledger is stored with shortlists of this length, and restored.
    Reopen(usize),
    /// A day passes.
    Wait,
}

const KINDS: [MemoryKind; 3] = [
    MemoryKind::Fact,
    MemoryKind::Preference,
    MemoryKind::Instruction,
];

fn any_statement() -> impl Strategy<Value = Statement> {
    (
        0..20u32,
        select(&KINDS[..]),
        any::<bool>(),
        0..6i64,
        0..12i64,
    )
        .prop_map(|(number, kind, is_static, said, forgotten)| Statement {
            kind,
            is_static,
            confidence: 0.5 + number as f32 / 100.0,
            forget_after: (forgotten < 8).then(|| day(forgotten)),
            ..statement(&format!("Bird {number} has a ring."), None, said)
        })
}

fn any_step() -> impl Strategy<Value = Step> {
    prop_oneof![
        3 => (0..8u8, prop::collection::vec(any_statement(), 0..6))
            .prop_map(|(document, statements)| Step::Insert(document, statements)),
        1 => (0..8u8).prop_map(Step::Remove),
        1 => (0..20usize).prop_map(Step::Forget),
        3 => (1..6usize).prop_map(Step::Reopen),
        1 => Just(Step::Wait),
    ]
}

/// Stores a ledger with shortlists of at most this length, and restores it.
fn reopen(ledger: &Ledger, now: Timestamp, len: usize, store: &mut MapStore) -> Ledger {
    for (key, record) in ledger.changed_records(now) {
        match record {
            Some(record) => store.0.insert(key, record),
            None => store.0.remove(&key),
        };
    }
    store.0.extend(ledger.shortlist_records(now, len));
    store.0.retain(|key, _| key.contains('/'));
    for memory in ledger.memories() {
        store.0.insert(memory.id.to_string(), memory.to_record());
    }
    Ledger::restore(ledger.container.clone(), Arc::new(store.clone())).unwrap()
}

/// Chooses the memories that come first in their groups from all memories.
fn choose(ledger: &Ledger, now: Timestamp, limit: usize) -> Vec<Arc<Memory>> {
    let mut chosen = Vec::new();
    for group in ProfileGroup::ALL {
        let all = ledger.memories();
        let mut members: Vec<Arc<Memory>> = all
            .filter(|memory| memory.is_live(now) && ProfileGroup::of(memory) == group)
            .cloned()
            .collect();
        group.truncate(&mut members, limit);
        chosen.append(&mut members);
    }
    chosen
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn shortlists_say_what_all_memories_say(steps in prop::collection::vec(any_step(), 0..24)) {
        let mut ledger = Ledger::new(ContainerId::parse("cccccccccccccccccccccc").unwrap());
        let (mut store, mut now) = (MapStore::default(), day(0));
        for step in steps {
            match step {
                Step::Insert(document, statements) => {
                    ledger.insert_document(document_statements(document, statements));
                }
                Step::Remove(document) => {
                    ledger.remove_document(&document_statements(document, Vec::new()).document.id);
                }
                Step::Forget(position) => {
                    let memory = ledger.memories().nth(position).map(|memory| memory.id.clone());
                    if let Some(memory) = memory {
                        ledger.apply_edit(&forget(&memory, 1));
                    }
                }
                Step::Reopen(len) => {
                    ledger.recompute_memories();
                    ledger = reopen(&ledger, now, len, &mut store);
                    // A new list is full, or has everything.
                    prop_assert!(ledger.shortlisted_memories(now, |_| len / 2).is_some());
                }
                Step::Wait => now = Timestamp::from_millis(now.as_millis() + 86_400_000),
            }
            ledger.recompute_memories();

            for limit in 0..6 {
                let shortlisted = ledger.shortlisted_memories(now, |_| limit);
                let chosen = choose(&ledger, now, limit);
                prop_assert!(shortlisted.is_none_or(|shortlisted| shortlisted == chosen));
            }
        }
    }
}
