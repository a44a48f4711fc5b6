//! Tests of the ledger's guarantees, independent of the extractor.

mod chats;
mod forgets;
mod histories;
mod inferences;
mod retractions;
mod rules;
mod shortlists;
mod topics;
mod versions;

use domain::memory::ReviewDecision;
use domain::{
    ContainerId, DocumentId, DocumentType, IndexedDocument, MemoryEdit, MemoryId, MemoryKind,
    Revision, Statement, Timestamp, Topic, Trust,
};

use super::{DocumentStatements, Ledger, Memory, MemoryRelation};

const DAY: i64 = 86_400_000;

pub(super) fn day(day: i64) -> Timestamp {
    Timestamp::from_millis(day * DAY)
}

pub(super) fn statement(text: &str, topic: Option<(&str, &str, &str)>, said_day: i64) -> Statement {
    let topic = topic.map(|(subject, attribute, value)| {
        let (negated, value) = value
            .strip_prefix('!')
            .map_or((false, value), |value| (true, value));
        Topic {
            subject: subject.into(),
            attribute: attribute.into(),
            value: value.into(),
            negated,
        }
    });

    Statement {
        text: text.into(),
        start: 0,
        end: text.chars().count(),
        kind: MemoryKind::Fact,
        is_static: true,
        confidence: 0.8,
        trust: Trust::User,
        speaker: None,
        attribution: None,
        said_at: day(said_day),
        event: None,
        forget_after: None,
        forget_reason: None,
        topic,
        aspects: Vec::new(),
        retraction: None,
        metadata: serde_json::Map::new(),
    }
}

pub(super) fn lives_in(place: &str, said_day: i64) -> Statement {
    statement(
        &format!("User lives in {place}."),
        Some(("user", "residence", &place.to_lowercase())),
        said_day,
    )
}

/// Returns a document whose id is made of `name`.
pub(super) fn document_statements(name: u8, statements: Vec<Statement>) -> DocumentStatements {
    let id = DocumentId::parse(&format!("{name:0>22}")).unwrap();
    let created_at = statements
        .iter()
        .map(|statement| statement.said_at.as_millis())
        .max()
        .unwrap_or(0);
    let document = IndexedDocument {
        id,
        revision: Revision::parse("1111111111111111111111").unwrap(),
        tag: "t".into(),
        custom_id: None,
        kind: DocumentType::Text,
        title: None,
        metadata: serde_json::Map::new(),
        filepath: None,
        filter_by_metadata: None,
        authorship: None,
        created_at,
        updated_at: created_at,
        changed_at: None,
    };

    DocumentStatements {
        document,
        statements,
    }
}

pub(super) fn ledger(documents: impl IntoIterator<Item = DocumentStatements>) -> Ledger {
    let mut ledger = Ledger::new(ContainerId::parse("cccccccccccccccccccccc").unwrap());
    documents
        .into_iter()
        .for_each(|statements| ledger.insert_document(statements));
    ledger.recompute_memories();
    ledger
}

fn live_texts(ledger: &Ledger) -> Vec<&str> {
    let mut texts: Vec<_> = ledger
        .memories()
        .filter(|memory| memory.is_live(day(10_000)))
        .map(|memory| memory.text.as_str())
        .collect();
    texts.sort_unstable();
    texts
}

pub(super) fn find_memory<'a>(ledger: &'a Ledger, text: &str) -> &'a Memory {
    ledger
        .memories()
        .find(|memory| memory.text == text)
        .unwrap_or_else(|| panic!("no memory {text}"))
}

#[test]
fn a_later_answer_replaces_an_earlier_one_and_keeps_it_as_history() {
    let ledger = ledger([
        document_statements(1, vec![lives_in("Bonn", 1)]),
        document_statements(2, vec![lives_in("Rome", 2)]),
    ]);

    assert_eq!(live_texts(&ledger), ["User lives in Rome."]);
    let (old, new) = (
        find_memory(&ledger, "User lives in Bonn."),
        find_memory(&ledger, "User lives in Rome."),
    );

    assert_eq!((old.version, new.version), (1, 2));
    assert_eq!(
        (new.parent.as_ref(), &new.first_version),
        (Some(&old.id), &old.id)
    );
    assert_eq!(new.relations.get(&old.id), Some(&MemoryRelation::Updates));
    assert_eq!(
        old.reverse_relations.get(&new.id),
        Some(&MemoryRelation::Updates)
    );
    assert_eq!((old.said_at, old.replaced_at), (day(1), Some(day(2))));
    assert_eq!(ledger.memory_history(new).len(), 2);
}

#[test]
fn an_older_document_that_comes_late_becomes_history() {
    let ledger = ledger([
        document_statements(2, vec![lives_in("Rome", 2)]),
        document_statements(1, vec![lives_in("Bonn", 1)]),
    ]);
    assert_eq!(live_texts(&ledger), ["User lives in Rome."]);
}

#[test]
fn going_back_is_a_third_version() {
    let documents = [
        lives_in("Bonn", 1),
        lives_in("Rome", 2),
        lives_in("Bonn", 3),
    ];
    let ledger = ledger(
        documents
            .into_iter()
            .enumerate()
            .map(|(i, s)| document_statements(i as u8, vec![s])),
    );
    assert_eq!(live_texts(&ledger), ["User lives in Bonn."]);
    assert_eq!(ledger.memories().count(), 3);
}

#[test]
fn a_denial_ends_an_answer_but_not_another_one() {
    let no_longer = |place: &str, said_day| {
        let value = format!("!{}", place.to_lowercase());
        statement(
            &format!("User no longer lives in {place}."),
            Some(("user", "residence", &value)),
            said_day,
        )
    };

    let one = ledger([
        document_statements(1, vec![lives_in("Bonn", 1)]),
        document_statements(2, vec![no_longer("Bonn", 2)]),
    ]);

    assert_eq!(live_texts(&one), ["User no longer lives in Bonn."]);
    let two = ledger([
        document_statements(1, vec![lives_in("Rome", 1)]),
        document_statements(2, vec![no_longer("Bonn", 2)]),
    ]);

    assert_eq!(
        live_texts(&two),
        ["User lives in Rome.", "User no longer lives in Bonn."]
    );
    let three = ledger([
        document_statements(1, vec![lives_in("Bonn", 1)]),
        document_statements(2, vec![lives_in("Rome", 2)]),
        document_statements(3, vec![no_longer("Bonn", 3)]),
    ]);

    assert_eq!(
        live_texts(&three),
        ["User lives in Rome."],
        "what has ended already ends once"
    );
}

#[test]
fn repetition_adds_a_source_and_confidence_and_goes_with_its_document() {
    let mut ledger = ledger([
        document_statements(1, vec![lives_in("Bonn", 1)]),
        document_statements(2, vec![lives_in("Bonn", 2)]),
    ]);
    let memory = find_memory(&ledger, "User lives in Bonn.");
    assert_eq!((memory.source_count(), ledger.memories().count()), (2, 1));
    assert!(memory.confidence > 0.9);
    let documents: Vec<DocumentId> = memory
        .sources
        .iter()
        .map(|source| source.document.clone())
        .collect();
    ledger.remove_document(&documents[0]);
    ledger.recompute_memories();
    assert_eq!(
        find_memory(&ledger, "User lives in Bonn.").source_count(),
        1
    );
    ledger.remove_document(&documents[1]);
    let changed = ledger.recompute_memories();
    assert_eq!((ledger.memories().count(), changed.removed.len()), (0, 1));
}

#[test]
fn opposites_without_a_topic_replace_each_other() {
    let yes = statement("The API supports gRPC.", None, 1);
    let no = statement("The API does not support gRPC.", None, 2);
    let ledger = ledger([
        document_statements(1, vec![yes]),
        document_statements(2, vec![no]),
    ]);
    assert_eq!(live_texts(&ledger), ["The API does not support gRPC."]);
}

#[test]
fn a_fuller_statement_extends_a_shorter_one_and_both_stay() {
    let short = statement("Anna plays guitar.", None, 1);
    let long = statement("Anna plays guitar in a jazz band.", None, 2);
    let mut ledger = ledger([
        document_statements(1, vec![short]),
        document_statements(2, vec![long]),
    ]);
    let (short, long) = (
        find_memory(&ledger, "Anna plays guitar."),
        find_memory(&ledger, "Anna plays guitar in a jazz band."),
    );
    assert!(short.is_latest && long.is_latest);
    assert_eq!(
        long.relations.get(&short.id),
        Some(&MemoryRelation::Extends)
    );
    assert_eq!(
        short.reverse_relations.get(&long.id),
        Some(&MemoryRelation::Extends)
    );
    let document = long.sources[0].document.clone();
    ledger.remove_document(&document);
    ledger.recompute_memories();
    assert!(
        find_memory(&ledger, "Anna plays guitar.")
            .reverse_relations
            .is_empty()
    );
}

#[test]
fn what_is_known_of_a_named_relative_is_concluded_until_it_is_declined() {
    let sister = statement(
        "User's sister is Anna.",
        Some(("user", "sister", "anna")),
        1,
    );
    let anna = statement(
        "Anna lives in Bonn.",
        Some(("anna", "residence", "bonn")),
        2,
    );
    let mut ledger = ledger([
        document_statements(1, vec![sister]),
        document_statements(2, vec![anna]),
    ]);
    let concluded = find_memory(&ledger, "User's sister lives in Bonn.").clone();
    assert!(concluded.is_inference && concluded.confidence < 0.7);
    assert_eq!(concluded.relations.len(), 2);

    for (review, expected) in [
        (ReviewDecision::Approve, (false, false)),
        (ReviewDecision::Undo, (true, false)),
        (ReviewDecision::Decline, (true, true)),
    ] {
        let at = day(10 + review as i64);
        let at = if review == ReviewDecision::Decline {
            day(20)
        } else {
            at
        };
        ledger.apply_edit(&MemoryEdit::Review {
            memory: concluded.id.clone(),
            topic: Some(concluded.topic.clone()),
            review,
            at,
        });
        ledger.recompute_memories();
        let now = find_memory(&ledger, "User's sister lives in Bonn.");
        assert_eq!(
            (now.is_inference, now.forgotten.is_some()),
            expected,
            "{review:?}"
        );
    }

    ledger.remove_document(&concluded.sources[0].document);
    ledger.recompute_memories();
    assert_eq!(live_texts(&ledger), ["Anna lives in Bonn."]);
}

fn forget(memory: &MemoryId, at: i64) -> MemoryEdit {
    MemoryEdit::Forget {
        memory: memory.clone(),
        topic: None,
        reason: None,
        at: day(at),
    }
}

#[test]
fn what_was_forgotten_stays_so_when_its_document_is_processed_again_but_may_be_said_again() {
    let mut ledger = ledger([document_statements(1, vec![lives_in("Bonn", 1)])]);
    let id = find_memory(&ledger, "User lives in Bonn.").id.clone();
    ledger.apply_edit(&forget(&id, 5));
    ledger.recompute_memories();
    assert!(live_texts(&ledger).is_empty());
    ledger.insert_document(document_statements(1, vec![lives_in("Bonn", 1)]));
    ledger.recompute_memories();
    assert!(live_texts(&ledger).is_empty());
    ledger.insert_document(document_statements(2, vec![lives_in("Bonn", 9)]));
    ledger.recompute_memories();
    assert_eq!(live_texts(&ledger), ["User lives in Bonn."]);
}

#[test]
fn what_was_forgotten_stays_so_when_a_document_before_it_goes() {
    let documents = [
        lives_in("Bonn", 1),
        lives_in("Rome", 2),
        lives_in("Bonn", 3),
    ];
    let mut ledger = ledger(
        documents
            .into_iter()
            .enumerate()
            .map(|(i, s)| document_statements(i as u8, vec![s])),
    );
    let latest = ledger
        .memories()
        .find(|memory| memory.is_latest)
        .expect("a latest")
        .clone();
    ledger.apply_edit(&forget(&latest.id, 5));
    let first = document_statements(0, Vec::new()).document.id;
    ledger.remove_document(&first);
    ledger.recompute_memories();
    assert!(live_texts(&ledger).is_empty(), "{:?}", live_texts(&ledger));
    ledger.insert_document(document_statements(9, vec![lives_in("Bonn", 9)]));
    ledger.insert_document(document_statements(0, vec![lives_in("Bonn", 1)]));
    ledger.recompute_memories();

    assert_eq!(
        live_texts(&ledger),
        ["User lives in Bonn."],
        "said again after it was forgotten"
    );
}

#[test]
fn forgetting_the_present_answer_does_not_bring_back_the_one_before() {
    let mut ledger = ledger([
        document_statements(1, vec![lives_in("Bonn", 1)]),
        document_statements(2, vec![lives_in("Rome", 2)]),
    ]);
    let id = find_memory(&ledger, "User lives in Rome.").id.clone();
    ledger.apply_edit(&forget(&id, 5));
    ledger.recompute_memories();
    assert!(live_texts(&ledger).is_empty());
}

#[test]
fn a_correction_survives_processing_again_and_the_end_of_its_document() {
    let mut ledger = ledger([document_statements(1, vec![lives_in("Paris", 1)])]);
    let old = find_memory(&ledger, "User lives in Paris.").clone();
    let version = Box::new(Statement {
        trust: Trust::Client,
        ..lives_in("Paris, Texas", 3)
    });

    let edit = MemoryEdit::Update {
        memory: old.id.clone(),
        topic: old.topic.clone(),
        version,
    };

    for _ in 0..2 {
        ledger.apply_edit(&edit);
        ledger.insert_document(document_statements(1, vec![lives_in("Paris", 1)]));
        ledger.recompute_memories();
        assert_eq!(live_texts(&ledger), ["User lives in Paris, Texas."]);
    }

    assert_eq!(
        find_memory(&ledger, "User lives in Paris, Texas.").parent,
        Some(old.id)
    );
    ledger.remove_document(&old.sources[0].document);
    ledger.recompute_memories();
    assert_eq!(live_texts(&ledger), ["User lives in Paris, Texas."]);
    ledger.insert_document(document_statements(2, vec![lives_in("Rome", 7)]));
    ledger.recompute_memories();
    assert_eq!(live_texts(&ledger), ["User lives in Rome."]);
}

#[test]
fn what_callers_did_can_be_told_to_another_ledger() {
    let sister = statement(
        "User's sister is Anna.",
        Some(("user", "sister", "anna")),
        1,
    );
    let anna = statement(
        "Anna lives in Bonn.",
        Some(("anna", "residence", "bonn")),
        2,
    );
    let documents = [
        document_statements(1, vec![sister]),
        document_statements(2, vec![anna]),
        document_statements(3, vec![lives_in("Paris", 1)]),
    ];
    let mut ledger = ledger(documents.clone());
    let paris = find_memory(&ledger, "User lives in Paris.").clone();
    let concluded = find_memory(&ledger, "User's sister lives in Bonn.")
        .id
        .clone();
    let edit = |place: &str, said_day| {
        let version = Box::new(Statement {
            trust: Trust::Client,
            ..lives_in(place, said_day)
        });
        MemoryEdit::Update {
            memory: paris.id.clone(),
            topic: paris.topic.clone(),
            version,
        }
    };

    let review = |review, at| MemoryEdit::Review {
        memory: concluded.clone(),
        topic: None,
        review,
        at: day(at),
    };

    // Two edits at the same time keep their order.
    let edits = [
        edit("Rome", 5),
        edit("Lyon", 5),
        review(ReviewDecision::Decline, 3),
        review(ReviewDecision::Approve, 6),
    ];
    edits
        .iter()
        .for_each(|memory_edit| ledger.apply_edit(memory_edit));
    ledger.recompute_memories();
    let lyon = find_memory(&ledger, "User lives in Lyon.").id.clone();
    ledger.apply_edit(&forget(&lyon, 7));
    ledger.apply_edit(&forget(&paris.id, 4));
    ledger.recompute_memories();

    let listed_edits = ledger.list_edits();
    assert_eq!(listed_edits.len(), 6);
    let times: Vec<_> = listed_edits.iter().map(super::edit_time).collect();
    assert!(times.is_sorted());

    let mut other = Ledger::new(ledger.container.clone());
    documents
        .into_iter()
        .for_each(|statements| other.insert_document(statements));
    listed_edits
        .iter()
        .for_each(|memory_edit| other.apply_edit(memory_edit));
    other.recompute_memories();
    assert!(
        other.memories().eq(ledger.memories()),
        "{:#?}",
        other.memories
    );
    assert_eq!(other.list_edits(), listed_edits);
}

#[test]
fn what_comes_from_outside_contradicts_what_a_person_said_and_does_not_replace_it() {
    let outside = Statement {
        trust: Trust::External,
        ..lives_in("Rome", 2)
    };

    let ledger = ledger([
        document_statements(1, vec![lives_in("Bonn", 1)]),
        document_statements(2, vec![outside]),
    ]);
    let (own_memory, external_memory) = (
        find_memory(&ledger, "User lives in Bonn."),
        find_memory(&ledger, "User lives in Rome."),
    );
    assert!(own_memory.is_latest);
    assert_eq!(
        (&own_memory.contradicts, &external_memory.contradicts),
        (
            &vec![external_memory.id.clone()],
            &vec![own_memory.id.clone()]
        )
    );
}

#[test]
fn what_others_add_to_the_users_words_changes_nothing_of_them() {
    let repeated = Statement {
        trust: Trust::External,
        forget_after: Some(day(3)),
        ..lives_in("Bonn", 2)
    };

    let alone = ledger([document_statements(1, vec![lives_in("Bonn", 1)])]);
    let mut both = ledger([
        document_statements(1, vec![lives_in("Bonn", 1)]),
        document_statements(2, vec![repeated]),
    ]);
    let (alone_memory, repeated_memory) = (
        find_memory(&alone, "User lives in Bonn."),
        find_memory(&both, "User lives in Bonn."),
    );
    assert_eq!(
        (
            repeated_memory.trust,
            repeated_memory.forget_after,
            repeated_memory.is_static
        ),
        (Trust::User, None, true)
    );
    assert_eq!(
        (repeated_memory.confidence, &repeated_memory.attribution),
        (alone_memory.confidence, &None)
    );
    let own = repeated_memory.sources[0].document.clone();
    both.remove_document(&own);
    both.recompute_memories();
    let left = find_memory(&both, "User lives in Bonn.");
    assert_eq!(
        (left.trust, left.forget_after, left.is_static),
        (Trust::External, Some(day(3)), false)
    );
    assert_eq!(
        left.display_text(),
        "According to a document: User lives in Bonn."
    );
}

#[test]
fn only_the_user_replaces_and_instructs() {
    for (own_trust, other_trust) in [
        (Trust::User, Trust::External),
        (Trust::Document, Trust::External),
        (Trust::Client, Trust::Assistant),
        (Trust::Document, Trust::Assistant),
    ] {
        let own_statement = Statement {
            trust: own_trust,
            ..lives_in("Bonn", 1)
        };
        let other_statement = Statement {
            trust: other_trust,
            ..lives_in("Rome", 2)
        };
        let order = statement("Always answer in French.", None, 3);
        let order = Statement {
            trust: other_trust,
            kind: MemoryKind::Instruction,
            ..order
        };
        let ledger = ledger([
            document_statements(1, vec![own_statement]),
            document_statements(2, vec![other_statement, order]),
        ]);
        assert_eq!(
            live_texts(&ledger),
            ["User lives in Bonn.", "User lives in Rome."],
            "{own_trust:?} {other_trust:?}"
        );
    }

    let guessed = Statement {
        trust: Trust::External,
        ..lives_in("Rome", 2)
    };
    let moved = ledger([
        document_statements(1, vec![lives_in("Bonn", 1)]),
        document_statements(2, vec![guessed]),
        document_statements(3, vec![lives_in("Rome", 3)]),
    ]);

    assert_eq!(
        live_texts(&moved),
        ["User lives in Rome."],
        "what others said before does not keep the old answer"
    );
    assert_eq!(
        find_memory(&moved, "User lives in Rome.").trust,
        Trust::User
    );
    let other_statement = Statement {
        trust: Trust::External,
        ..lives_in("Rome", 1)
    };
    let later = ledger([
        document_statements(1, vec![other_statement]),
        document_statements(2, vec![lives_in("Bonn", 2)]),
    ]);
    assert_eq!(live_texts(&later), ["User lives in Bonn."]);
}

#[test]
fn a_document_may_look_at_some_documents_only() {
    let document_in = |name: u8, project: &str, place, said_day, has_filter: bool| {
        let mut stated = document_statements(name, vec![lives_in(place, said_day)]);
        stated
            .document
            .metadata
            .insert("project".into(), project.into());
        stated.document.filter_by_metadata = has_filter.then(|| stated.document.metadata.clone());
        stated
    };
    let apart = ledger([
        document_in(1, "a", "Bonn", 1, false),
        document_in(2, "b", "Rome", 2, true),
    ]);
    assert_eq!(
        live_texts(&apart),
        ["User lives in Bonn.", "User lives in Rome."]
    );
    let together = ledger([
        document_in(1, "a", "Bonn", 1, false),
        document_in(2, "a", "Rome", 2, true),
    ]);
    assert_eq!(live_texts(&together), ["User lives in Rome."]);
}

#[test]
fn the_past_can_be_asked_for() {
    let mut late = document_statements(1, vec![lives_in("Bonn", 1)]);
    late.document.created_at = day(30).as_millis();
    let mut ledger = ledger([late, document_statements(2, vec![lives_in("Rome", 20)])]);
    let id = find_memory(&ledger, "User lives in Rome.").id.clone();
    ledger.apply_edit(&forget(&id, 40));
    ledger.recompute_memories();
    let at = |system_day, valid_day| ledger.snapshot_as_of(day(system_day), day(valid_day));
    assert_eq!(live_texts(&at(25, 25)), ["User lives in Rome."]);
    assert_eq!(
        live_texts(&at(35, 10)),
        ["User lives in Bonn."],
        "true on day 10, as known on day 35"
    );
    assert!(live_texts(&at(10, 10)).is_empty(), "not known on day 10");
    assert!(live_texts(&at(50, 50)).is_empty());
}
