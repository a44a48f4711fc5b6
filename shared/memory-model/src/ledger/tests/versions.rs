//! Versions of a topic: repetitions, corrections, contradictions and limits.

use domain::{MemoryEdit, Statement, Trust};
use serde_json::json;

use super::{
    day, document_statements, find_memory, forget, ledger, live_texts, lives_in, statement,
};
use crate::ledger::Ledger;

fn no_longer_in(place: &str, said_day: i64) -> Statement {
    let value = format!("!{}", place.to_lowercase());
    let text = format!("User no longer lives in {place}.");
    statement(&text, Some(("user", "residence", &value)), said_day)
}

fn said_by_others(statement: Statement) -> Statement {
    Statement {
        trust: Trust::External,
        ..statement
    }
}

/// Returns a ledger of these statements, one in each document.
fn ledger_of(statements: impl IntoIterator<Item = Statement>) -> Ledger {
    let numbered = statements.into_iter().zip(1..);
    ledger(numbered.map(|(statement, number)| document_statements(number, vec![statement])))
}

#[test]
fn a_forgotten_memory_contradicts_no_other_any_longer() {
    let expiring = Statement {
        forget_after: Some(day(5)),
        ..said_by_others(lives_in("Rome", 2))
    };
    let mut ledger = ledger_of([lives_in("Bonn", 1), expiring]);
    let rome = find_memory(&ledger, "User lives in Rome.").id.clone();
    let contradictions = |ledger: &Ledger, at: i64| {
        let bonn = find_memory(ledger, "User lives in Bonn.");
        assert!(bonn.contradicts.iter().eq([&rome]));
        ledger.present_contradictions(bonn, day(at))
    };
    assert!(contradictions(&ledger, 4).iter().eq([&rome]));
    assert!(contradictions(&ledger, 6).is_empty());

    ledger.apply_edit(&forget(&rome, 4));
    ledger.recompute_memories();
    assert!(contradictions(&ledger, 4).is_empty());
}

#[test]
fn a_repetition_keeps_the_id_of_the_memory() {
    let bonn = |day| lives_in("Bonn", day);
    let single = ledger_of([bonn(1)]);
    let id = &find_memory(&single, "User lives in Bonn.").id;

    let repeated = ledger_of([bonn(1), bonn(2)]);
    assert_eq!(&find_memory(&repeated, "User lives in Bonn.").id, id);
    let confirmed = ledger_of([said_by_others(bonn(1)), bonn(2)]);
    assert_eq!(&find_memory(&confirmed, "User lives in Bonn.").id, id);
    assert_eq!(confirmed.memories().count(), 1);
}

#[test]
fn what_is_said_again_after_it_was_forgotten_is_a_version_of_its_own() {
    let mut ledger = ledger_of([lives_in("Bonn", 1)]);
    let id = find_memory(&ledger, "User lives in Bonn.").id.clone();
    ledger.apply_edit(&forget(&id, 5));
    ledger.insert_document(document_statements(2, vec![lives_in("Bonn", 4)]));
    ledger.recompute_memories();
    assert_eq!(ledger.memories().count(), 1, "said before it was forgotten");
    assert!(live_texts(&ledger).is_empty());

    ledger.insert_document(document_statements(3, vec![lives_in("Bonn", 6)]));
    ledger.recompute_memories();
    assert_eq!(ledger.memories().count(), 2);
    assert_eq!(live_texts(&ledger), ["User lives in Bonn."]);
}

#[test]
fn a_correction_replaces_the_memory_that_it_names() {
    let mut ledger = ledger_of([lives_in("Bonn", 1), said_by_others(lives_in("Oslo", 2))]);
    let oslo = find_memory(&ledger, "User lives in Oslo.").clone();
    ledger.apply_edit(&MemoryEdit::Update {
        memory: oslo.id.clone(),
        topic: oslo.topic.clone(),
        version: Box::new(Statement {
            trust: Trust::Client,
            ..lives_in("Rome", 3)
        }),
    });
    ledger.recompute_memories();

    let rome = find_memory(&ledger, "User lives in Rome.");
    assert_eq!(rome.parent, Some(oslo.id));
    assert!(find_memory(&ledger, "User lives in Bonn.").is_latest);
}

#[test]
fn different_answers_and_an_answer_and_its_denial_contradict_each_other() {
    let contradicts = |statements: [Statement; 2]| {
        let texts = statements
            .each_ref()
            .map(|statement| statement.text.clone());
        let ledger = ledger_of(statements);
        let [first, second] = texts.each_ref().map(|text| find_memory(&ledger, text));
        assert!(first.is_latest && second.is_latest, "{texts:?}");
        let is_mutual = first.contradicts == [second.id.clone()];
        assert_eq!(second.contradicts == [first.id.clone()], is_mutual);
        assert!(is_mutual || first.contradicts.is_empty() && second.contradicts.is_empty());
        is_mutual
    };
    let by_others = said_by_others;
    assert!(contradicts([
        lives_in("Bonn", 1),
        by_others(lives_in("Oslo", 2))
    ]));
    assert!(contradicts([
        lives_in("Bonn", 1),
        by_others(no_longer_in("Bonn", 2))
    ]));
    assert!(!contradicts([lives_in("Rome", 1), no_longer_in("Bonn", 2)]));
}

#[test]
fn a_topic_has_at_most_64_memories_beside_each_other() {
    // None of these denials takes back another.
    let denials = (0..70).map(|number| no_longer_in(&format!("Place{number}"), 1));
    let ledger = ledger([document_statements(1, denials.collect())]);
    assert_eq!(ledger.memories().count(), 70);
    assert_eq!(live_texts(&ledger).len(), 64);
    let newest = find_memory(&ledger, "User no longer lives in Place69.");
    assert!(newest.is_latest);
    assert_eq!(newest.version, 7);
}

#[test]
fn a_memory_has_the_metadata_of_its_newest_document_with_any() {
    let mut with_metadata = document_statements(1, vec![lives_in("Bonn", 1)]);
    with_metadata
        .document
        .metadata
        .insert("project".into(), json!("atlas"));
    let without = document_statements(2, vec![lives_in("Bonn", 2)]);
    let ledger = ledger([with_metadata.clone(), without]);
    let memory = find_memory(&ledger, "User lives in Bonn.");
    assert_eq!(memory.metadata, with_metadata.document.metadata);
}
