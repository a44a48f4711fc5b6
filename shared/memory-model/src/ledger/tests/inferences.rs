//! Inferences from a relationship and a fact, and extensions.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use domain::{Attribution, Retraction, RetractionEffect, SourceMedium, Statement, Trust};

use super::histories::store_and_restore;
use super::topics::CountingStore;
use super::{day, document_statements, find_memory, ledger, lives_in, statement};
use crate::ledger::derive::MAX_INFERENCES;
use crate::ledger::records::MapStore;
use crate::ledger::{Ledger, MemoryRelation};

fn sister() -> Statement {
    let topic = Some(("user", "sister", "anna"));
    statement("User's sister is Anna.", topic, 1)
}

fn anna_lives_in(place: &str, said_day: i64) -> Statement {
    let value = place.to_lowercase();
    let topic = Some(("anna", "residence", value.as_str()));
    statement(&format!("Anna lives in {place}."), topic, said_day)
}

/// Returns the texts of all inferences from these statements, one in each document.
fn inferences(statements: impl IntoIterator<Item = Statement>) -> Vec<String> {
    let documents = statements
        .into_iter()
        .zip(1..)
        .map(|(statement, number)| document_statements(number, vec![statement]));
    let ledger = ledger(documents);
    let inferred = ledger.memories().filter(|memory| memory.is_inference);
    inferred.map(|memory| memory.text.clone()).collect()
}

#[test]
fn an_inference_is_as_certain_and_as_recent_as_what_it_follows_from() {
    let relationship = Statement {
        trust: Trust::Assistant,
        attribution: Some(Attribution::new(SourceMedium::Assistant, None)),
        forget_after: Some(day(50)),
        confidence: 0.5,
        ..statement(
            "User's sister is Anna.",
            Some(("user", "sister", "anna")),
            20,
        )
    };
    let fact = Statement {
        forget_after: Some(day(60)),
        retraction: Some(Retraction {
            effect: RetractionEffect::Replaces,
            words: Vec::new(),
            aspects: vec!["residence of another".to_owned()],
            kept_words: Vec::new(),
            spans: Vec::new(),
        }),
        ..anna_lives_in("Rome", 3)
    };
    let denial = Statement {
        trust: Trust::Assistant,
        ..statement(
            "Anna does not live in Rome.",
            Some(("anna", "residence", "!rome")),
            4,
        )
    };
    let ledger = ledger([
        document_statements(1, vec![relationship]),
        document_statements(2, vec![anna_lives_in("Bonn", 2)]),
        document_statements(3, vec![fact, denial]),
    ]);

    let fact = find_memory(&ledger, "Anna lives in Rome.");
    assert_eq!((fact.version, fact.parent.is_some()), (2, true));
    assert!(!fact.changed_aspects.is_empty());
    assert!(!fact.contradicts.is_empty());

    let relationship = find_memory(&ledger, "User's sister is Anna.");
    let inferred = find_memory(&ledger, "User's sister lives in Rome.");
    assert_eq!((inferred.version, &inferred.parent), (1, &None));
    assert_eq!(inferred.first_version, inferred.id);
    assert!(inferred.changed_aspects.is_empty());
    assert!(inferred.contradicts.is_empty() && inferred.reverse_relations.is_empty());
    assert_eq!(inferred.trust, Trust::Assistant);
    assert_eq!(inferred.attribution, relationship.attribution);
    assert_eq!(inferred.forget_after, Some(day(50)));
    let times = [inferred.said_at, inferred.created_at, inferred.updated_at];
    assert_eq!(times, [day(20); 3]);
}

#[test]
fn words_of_others_and_of_other_people_give_no_inference() {
    let inferred = "User's sister lives in Bonn.";
    assert_eq!(inferences([sister(), anna_lives_in("Bonn", 2)]), [inferred]);

    let external = |statement| Statement {
        trust: Trust::External,
        ..statement
    };
    let fact = || anna_lives_in("Bonn", 2);
    assert!(inferences([external(sister()), fact()]).is_empty());
    assert!(inferences([sister(), external(fact())]).is_empty());

    // The text has to begin with the name, as a whole word.
    let about_anna = |text: &str| statement(text, Some(("anna", "residence", "bonn")), 2);
    assert!(inferences([sister(), about_anna("Emma lives in Bonn.")]).is_empty());
    assert!(inferences([sister(), about_anna("Annabel lives in Bonn.")]).is_empty());

    let namesake = statement(
        "Anna's sister is Anna.",
        Some(("anna", "sister", "anna")),
        1,
    );
    assert!(inferences([namesake, fact()]).is_empty());
}

#[test]
fn only_relationships_lead_to_what_is_known_of_a_name() {
    let about_bonn = statement(
        "Bonn lies on the Rhine.",
        Some(("bonn", "position", "on the rhine")),
        2,
    );
    assert!(inferences([lives_in("Bonn", 1), about_bonn]).is_empty());
}

/// Returns statements by which several people have the boss John, and statements about John.
fn bosses_and_facts(bosses: usize, facts: usize, trust: Trust) -> (Vec<Statement>, Vec<Statement>) {
    let boss = |number| {
        let subject = format!("x{number}");
        let text = format!("X{number}'s boss is John.");
        let stated = statement(&text, Some((&subject, "boss", "john")), 1);
        Statement { trust, ..stated }
    };
    let fact = |number| {
        let attribute = format!("number {number}");
        let text = format!("John has the number {number}.");
        let stated = statement(&text, Some(("john", &attribute, "yes")), 1);
        Statement { trust, ..stated }
    };
    (
        (0..bosses).map(boss).collect(),
        (0..facts).map(fact).collect(),
    )
}

#[test]
fn a_container_has_a_limited_number_of_inferences() {
    let (bosses, facts) = bosses_and_facts(40, 40, Trust::User);
    let ledger = ledger([
        document_statements(1, bosses),
        document_statements(2, facts),
    ]);
    assert_eq!(ledger.inferences().count(), MAX_INFERENCES);
}

#[test]
fn external_statements_are_not_paired() {
    // Relationships and facts of a size at which their pairs would take minutes.
    let (bosses, facts) = bosses_and_facts(4_000, 4_000, Trust::External);
    let own = statement("Zoe's boss is John.", Some(("zoe", "boss", "john")), 1);
    let fact = statement("John likes jazz.", Some(("john", "music", "jazz")), 1);
    let ledger = ledger([
        document_statements(1, bosses),
        document_statements(2, facts),
        document_statements(3, vec![own, fact]),
    ]);
    let inferred: Vec<String> = ledger.inferences().map(|it| it.text.clone()).collect();
    assert_eq!(inferred, ["Zoe's boss likes jazz."]);
}

#[test]
fn an_external_relationship_reads_no_facts() {
    let reads_with = |fact_count: usize| {
        let (bosses, facts) = bosses_and_facts(1, fact_count, Trust::External);
        let ledger = ledger([
            document_statements(1, bosses),
            document_statements(2, facts),
        ]);
        let mut records = MapStore::default();
        store_and_restore(&ledger, &mut records);

        let reads = AtomicUsize::new(0);
        let store = Arc::new(CountingStore { records, reads });
        let mut restored = Ledger::restore(ledger.container.clone(), store.clone()).unwrap();
        restored.insert_document(document_statements(3, vec![lives_in("Bonn", 2)]));
        restored.recompute_memories();
        store.reads.load(Ordering::Relaxed)
    };
    assert_eq!(reads_with(1), reads_with(30));
}

fn has_extensions(ledger: &Ledger) -> bool {
    ledger.memories().any(|memory| {
        let mut relations = memory.relations.values();
        relations.any(|relation| *relation == MemoryRelation::Extends)
    })
}

#[test]
fn only_statements_that_begin_alike_extend_each_other() {
    let extended_by = |text: &str| {
        let shorter = statement("Anna plays guitar.", None, 1);
        let longer = statement(text, None, 2);
        has_extensions(&ledger([document_statements(1, vec![shorter, longer])]))
    };
    assert!(extended_by("Anna plays guitar in a jazz band."));
    assert!(!extended_by("On Mondays, Anna plays guitar."));
}

#[test]
fn a_beginning_that_too_many_statements_share_means_nothing() {
    let group_of = |size: usize| {
        let mut statements = vec![statement("Anna plays guitar.", None, 1)];
        for number in 1..size {
            let text = format!("Anna plays guitar with friend{number}.");
            statements.push(statement(&text, None, 1));
        }
        ledger([document_statements(1, statements)])
    };
    assert!(has_extensions(&group_of(200)));
    assert!(!has_extensions(&group_of(201)));
}
