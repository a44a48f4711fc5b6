//! Memories that callers forget, say again and forget again.

use domain::memory::ReviewDecision;
use domain::{MemoryEdit, MemoryId};
use serde_json::json;

use super::histories::store_and_restore;
use super::{
    DocumentStatements, day, document_statements, find_memory, forget, ledger, live_texts,
    lives_in, statement,
};
use crate::ledger::records::{MapStore, Record};
use crate::ledger::{Ledger, Memory, MemoryEdits};

/// Returns the edit that forgets a memory, with its topic.
pub(super) fn forget_on_topic(memory: &Memory, at: i64) -> MemoryEdit {
    MemoryEdit::Forget {
        memory: memory.id.clone(),
        topic: Some(memory.topic.clone()),
        reason: None,
        at: day(at),
    }
}

/// Returns a ledger whose memory was forgotten on day 5, said again on day 6 by another document under
/// the same id, and forgotten again on day 10.
fn ledger_of_two_forgets() -> (Ledger, MemoryId) {
    let former = document_statements(1, vec![lives_in("Bonn", 1)]);
    let mut ledger = ledger([former.clone()]);
    let id = find_memory(&ledger, "User lives in Bonn.").id.clone();
    ledger.apply_edit(&forget(&id, 5));
    ledger.remove_document(&former.document.id);
    ledger.insert_document(document_statements(2, vec![lives_in("Bonn", 6)]));
    ledger.recompute_memories();
    assert_eq!(live_texts(&ledger), ["User lives in Bonn."]);
    assert_eq!(find_memory(&ledger, "User lives in Bonn.").id, id);

    ledger.apply_edit(&forget(&id, 10));
    ledger.recompute_memories();
    (ledger, id)
}

/// Returns the id of the only live memory.
fn live_id(ledger: &Ledger) -> MemoryId {
    let live = ledger
        .memories()
        .filter(|memory| memory.is_live(day(10_000)));
    let live: Vec<&MemoryId> = live.map(|memory| &memory.id).collect();
    assert_eq!(live.len(), 1, "{live:?}");
    live[0].clone()
}

#[test]
fn a_memory_can_be_forgotten_again_after_it_was_said_again() {
    let (ledger, id) = ledger_of_two_forgets();
    assert!(live_texts(&ledger).is_empty());
    assert_eq!(ledger.list_edits(), [forget(&id, 5), forget(&id, 10)]);
    assert_eq!(ledger.forgets_and_reviews(), ledger.list_edits());

    let at = |at| ledger.snapshot_as_of(day(at), day(at));
    assert_eq!(live_texts(&at(8)), ["User lives in Bonn."]);
    assert!(live_texts(&at(10)).is_empty());
    assert_eq!(at(8).list_edits(), [forget(&id, 5)]);
}

#[test]
fn the_topic_that_an_edit_names_is_stored_and_listed() {
    let mut ledger = ledger([document_statements(1, vec![lives_in("Bonn", 1)])]);
    let memory = find_memory(&ledger, "User lives in Bonn.").clone();
    let edits = [
        forget_on_topic(&memory, 5),
        MemoryEdit::Review {
            memory: memory.id.clone(),
            topic: Some(memory.topic.clone()),
            review: ReviewDecision::Approve,
            at: day(6),
        },
    ];
    for edit in &edits {
        ledger.apply_edit(edit);
    }
    ledger.recompute_memories();
    assert_eq!(ledger.list_edits(), edits);

    let restored = store_and_restore(&ledger, &mut MapStore::default());
    assert_eq!(restored.forgets_and_reviews(), edits);
    assert_eq!(ledger.without_memories().list_edits(), edits);
}

#[test]
fn what_is_said_and_forgotten_three_times_is_forgotten() {
    let mut ledger = ledger([]);
    for (number, said_day) in [(1, 1), (2, 6), (3, 12)] {
        let document = document_statements(number, vec![lives_in("Bonn", said_day)]);
        ledger.insert_document(document);
        ledger.recompute_memories();
        let id = live_id(&ledger);
        ledger.apply_edit(&forget(&id, said_day + 3));
        ledger.recompute_memories();
        assert!(live_texts(&ledger).is_empty(), "day {said_day}");
    }
}

#[test]
fn the_order_and_the_repetition_of_forgets_change_nothing() {
    let (mut ledger, id) = ledger_of_two_forgets();
    let edits = ledger.edits.get(&id);
    for at in [10, 5, 10] {
        ledger.apply_edit(&forget(&id, at));
    }
    // Of two at the same time, the first one stays.
    ledger.apply_edit(&MemoryEdit::Forget {
        memory: id.clone(),
        topic: None,
        reason: Some("again".to_owned()),
        at: day(5),
    });
    assert_eq!(ledger.edits.get(&id), edits);

    let mut other = super::ledger([]);
    for at in [10, 5] {
        other.apply_edit(&forget(&id, at));
    }
    assert_eq!(other.edits.get(&id), edits);
}

#[test]
fn earlier_and_later_programs_read_stored_forgets() {
    let stored_before = json!({
        "forgotten": { "at": day(5), "reason": "moved" },
        "reviews": [],
    });
    let bytes = stored_before.to_string().into_bytes();
    let edits = MemoryEdits::decode(&bytes).expect("a record of an earlier program");
    let forgets: Vec<_> = edits.forgets().map(|forget| forget.at).collect();
    assert_eq!(forgets, [day(5)]);
    let written: serde_json::Value = serde_json::from_slice(&edits.encode()).expect("JSON");
    assert_eq!(written, stored_before);

    // An earlier program reads only this field, and hides what a later forget hides.
    let (ledger, id) = ledger_of_two_forgets();
    let edits = ledger.edits.get(&id).expect("the edits of the memory");
    let written: serde_json::Value = serde_json::from_slice(&edits.encode()).expect("JSON");
    assert_eq!(written["forgotten"]["at"], json!(day(10)));
    assert_eq!(MemoryEdits::decode(&edits.encode()).as_ref(), Some(&*edits));
}

/// Returns documents that say in turn that the build is broken and that it is not, one a day. Those of
/// the even days say that it is broken.
fn changing_builds(days: std::ops::Range<u8>) -> Vec<DocumentStatements> {
    let documents = days.map(|number| {
        let text = match number % 2 {
            0 => "The build is broken.",
            _ => "The build is not broken.",
        };
        let stated = statement(text, None, i64::from(number));
        document_statements(number, vec![stated])
    });
    documents.collect()
}

#[test]
fn the_ninth_time_that_something_is_said_can_be_forgotten() {
    // The build was broken 8, 9, 13 and 41 times.
    for end in [15, 17, 25, 81] {
        let mut ledger = ledger(changing_builds(0..end));
        let id = live_id(&ledger);
        ledger.apply_edit(&forget(&id, 100));
        ledger.recompute_memories();
        assert!(live_texts(&ledger).is_empty(), "day {end}");
        assert!(ledger.get(&id).is_some_and(|it| it.forgotten.is_some()));

        // Said again, it is a new memory.
        let again = statement("The build is broken.", None, 101);
        ledger.insert_document(document_statements(200, vec![again]));
        ledger.recompute_memories();
        assert_eq!(live_texts(&ledger), ["The build is broken."]);
    }
}

#[test]
fn a_late_occurrence_stays_forgotten_when_documents_before_it_go_or_come() {
    for (first, end) in [(0, 23), (0, 81), (10, 41)] {
        let documents = changing_builds(0..end);
        let mut ledger = ledger(documents[first..].to_vec());
        let id = live_id(&ledger);
        ledger.apply_edit(&forget(&id, 100));
        ledger.recompute_memories();

        let early = documents.iter().take(first.max(6));
        for document in early.clone() {
            ledger.remove_document(&document.document.id);
        }
        ledger.recompute_memories();
        assert!(live_texts(&ledger).is_empty(), "{first}..{end}");
        for document in early {
            ledger.insert_document(document.clone());
        }
        ledger.recompute_memories();
        assert!(live_texts(&ledger).is_empty(), "{first}..{end}");
    }
}

#[test]
fn a_restored_ledger_forgets_a_late_occurrence() {
    let mut ledger = ledger(changing_builds(0..41));
    let mut store = MapStore::default();
    // An edit of another memory, so that the stored ledger has edits.
    let other = document_statements(100, vec![lives_in("Bonn", 1)]);
    ledger.insert_document(other);
    ledger.recompute_memories();
    let bonn = find_memory(&ledger, "User lives in Bonn.").id.clone();
    ledger.apply_edit(&forget(&bonn, 50));
    ledger.recompute_memories();
    let mut restored = store_and_restore(&ledger, &mut store);

    let id = live_id(&restored);
    restored.apply_edit(&forget(&id, 60));
    restored.recompute_memories();
    assert!(live_texts(&restored).is_empty());
    let mut restored = store_and_restore(&restored, &mut store);
    for (number, said_day) in [(101, 42), (102, 61)] {
        let again = statement("The build is broken.", None, said_day);
        restored.insert_document(document_statements(number, vec![again]));
        restored.recompute_memories();
        let is_live = !live_texts(&restored).is_empty();
        assert_eq!(is_live, said_day > 60, "day {said_day}");
        restored = store_and_restore(&restored, &mut store);
    }
}
