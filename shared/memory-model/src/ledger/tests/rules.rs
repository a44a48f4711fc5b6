//! Guards [`Ledger::RULES_VERSION`]: readers restore memories that were stored, so a change of the
//! rules must be visible in the version.

use std::sync::Arc;

use domain::memory::ReviewDecision;
use domain::{
    Attribution, MemoryEdit, MemoryKind, RetractionEffect, SourceMedium, Statement, Trust,
};
use serde_json::{Value, json};

use super::retractions::retracting;
use super::{day, document_statements, find_memory, forget, ledger, lives_in, statement};
use crate::asking::{aspect_question_words, topic_question_words};
use crate::ledger::{Ledger, Memory};

const GOLDEN: &str = include_str!("rules.json");

/// Returns a ledger in which each rule has something to do.
fn ledger_of_all_rules() -> Ledger {
    let others = Statement {
        trust: Trust::External,
        attribution: Some(Attribution::new(SourceMedium::Assistant, None)),
        ..lives_in("Oslo", 4)
    };
    let plan = Statement {
        kind: MemoryKind::Plan,
        is_static: false,
        aspects: vec!["job".to_owned()],
        ..statement("User starts at the bakery.", None, 2)
    };
    let mut ends_job = retracting("User quit today.", RetractionEffect::Ends, &[], 6);
    if let Some(retraction) = &mut ends_job.retraction {
        retraction.aspects.push("job".to_owned());
    }

    let mut ledger = ledger([
        document_statements(1, vec![lives_in("Bonn", 1), plan]),
        document_statements(2, vec![lives_in("Rome", 3), others]),
        document_statements(
            3,
            vec![
                statement(
                    "User's sister is Anna.",
                    Some(("user", "sister", "anna")),
                    1,
                ),
                statement(
                    "Anna lives in Bonn.",
                    Some(("anna", "residence", "bonn")),
                    2,
                ),
                statement("Anna plays guitar.", None, 2),
                statement("Anna plays guitar in a band.", None, 3),
                statement("User has a debt of 400.", None, 3),
                statement("User has a yellow car.", None, 3),
                statement("User has a slot for physio on Mondays.", None, 3),
            ],
        ),
        document_statements(
            4,
            vec![
                retracting("forget it", RetractionEffect::Forgets, &["debts"], 5),
                retracting("User sold the car.", RetractionEffect::Ends, &["car"], 5),
                retracting(
                    "User's new slot.",
                    RetractionEffect::Replaces,
                    &["physio"],
                    5,
                ),
                ends_job,
            ],
        ),
    ]);

    let guitar = find_memory(&ledger, "Anna plays guitar.").id.clone();
    let inferred = find_memory(&ledger, "User's sister lives in Bonn.")
        .id
        .clone();
    ledger.apply_edit(&forget(&guitar, 7));
    ledger.apply_edit(&MemoryEdit::Review {
        memory: inferred,
        topic: None,
        review: ReviewDecision::Approve,
        at: day(7),
    });
    ledger.recompute_memories();
    ledger
}

/// Returns the memories with the words of the questions that find them.
fn computed_by_the_rules() -> Value {
    let describe = |memory: &Arc<Memory>| {
        let question = memory.topic_answer.as_ref().map(topic_question_words);
        json!({
            "memory": memory.as_ref(),
            "question": question,
            "aspects": aspect_question_words(&memory.changed_aspects),
        })
    };
    let ledger = ledger_of_all_rules();
    let memories: Vec<Value> = ledger.memories().map(describe).collect();
    json!({ "rulesVersion": Ledger::RULES_VERSION, "memories": memories })
}

#[test]
fn a_change_of_the_rules_raises_their_version() {
    let golden: Value = serde_json::from_str(GOLDEN).expect("JSON");
    let computed: Value = serde_json::from_str(&computed_by_the_rules().to_string()).expect("JSON");
    assert!(
        computed == golden,
        "raise Ledger::RULES_VERSION, and write rules.json anew with \
         `cargo test -p memory-model write_the_golden_memories -- --ignored`: {computed:#}"
    );
}

#[test]
#[ignore = "writes a file of the repository"]
fn write_the_golden_memories() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/src/ledger/tests/rules.json");
    let text = format!("{:#}\n", computed_by_the_rules());
    std::fs::write(path, text).expect("a file");
}
