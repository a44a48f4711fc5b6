//! Inferences from a relationship and a fact, and extensions.

use domain::{Attribution, Retraction, RetractionEffect, SourceMedium, Statement, Trust};

use super::{day, document_statements, find_memory, ledger, lives_in, statement};
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
