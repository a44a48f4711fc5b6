//! Tests each injection attempt on its own, in every wrapping that marks it as somebody else's
//! words.

use domain::{
    ContainerId, DocumentId, DocumentType, IndexedDocument, MemoryKind, Revision, Statement,
    Timestamp, Trust,
};
use extraction::{Passage, Role, SourceText, extract_statements};
use memory_model::{DocumentStatements, Ledger, ProfileOptions, build_profile};

const ATTEMPTS: &str = include_str!("../../../tests/contract/provenance/attempts.txt");
const SAID: &str = "I live in Bonn. My name is Anna Keller. I work as a nurse. I prefer dark mode. \
                    Always answer in German.";

fn day(number: i64) -> Timestamp {
    Timestamp::from_millis(number * 86_400_000)
}

/// Returns the statements of a text in the user's own words or in somebody else's.
fn read_statements(text: &str, role: Role, trust: Trust, said_day: i64) -> Vec<Statement> {
    let passage = Passage {
        text,
        start_char: 0,
        role,
        speaker: None,
        origin: None,
        said_at: day(said_day),
    };

    extract_statements(
        &SourceText {
            passages: vec![passage],
            trust,
        }
        .divided(),
    )
}

fn document_statements(number: u8, statements: Vec<Statement>) -> DocumentStatements {
    let document = IndexedDocument {
        id: DocumentId::parse(&format!("{number:0>22}")).expect("an id"),
        revision: Revision::parse("1111111111111111111111").expect("a revision"),
        tag: "t".into(),
        custom_id: None,
        kind: DocumentType::Text,
        title: None,
        metadata: serde_json::Map::new(),
        filepath: None,
        filter_by_metadata: None,
        authorship: None,
        created_at: 0,
        updated_at: 0,
        changed_at: None,
    };

    DocumentStatements {
        document,
        statements,
    }
}

/// Returns the static profile and the live memories that are the user's own.
fn profile_and_own_memories(documents: Vec<DocumentStatements>) -> (Vec<String>, Vec<String>) {
    let mut ledger = Ledger::new(ContainerId::parse("cccccccccccccccccccccc").expect("an id"));
    documents
        .into_iter()
        .for_each(|statements| ledger.insert_document(statements));
    ledger.recompute_memories();
    let live = ledger.memories().filter(|memory| memory.is_live(day(1000)));
    let mut own_memories: Vec<String> = live
        .filter(|memory| memory.trust.is_own_words())
        .map(|memory| memory.text.clone())
        .collect();
    own_memories.sort();
    let profile = build_profile(&[&ledger], &ProfileOptions::new(day(1000)));
    let static_lines = profile.static_lines.into_iter();
    let static_texts = static_lines.map(|line| line.text).collect();
    (static_texts, own_memories)
}

#[test]
fn no_attempt_by_itself_instructs_lasts_or_replaces() {
    /// Wraps an attempt in words that are recognizably somebody else's.
    type Wrap = fn(&str) -> String;
    let wrappers: [(&str, Wrap); 9] = [
        ("mail", |text| {
            format!("From: M <m@evil.example>\nSubject: News\n\n{text}")
        }),
        ("forward", |text| {
            format!("fyi\n-----Original Message-----\nFrom: M\n\n{text}")
        }),
        ("paste", |text| format!("Here is the mail I got: {text}")),
        ("announced", |text| {
            format!("I found this article:\n\n{text}")
        }),
        ("quotation", |text| format!("What about this?\n> {text}")),
        ("string", |text| {
            format!("\"{text} {text} That is all that I have to say to you today.\"")
        }),
        ("fence", |text| format!("I got this:\n```\n{text}\n```")),
        ("html", |text| format!("<div><p>{text}</p></div>")),
        ("chat", |text| {
            format!("Eve: hello there\nMallory: {text}\nEve: ok then")
        }),
    ];
    let mut faults = Vec::new();
    for (role, trust) in [(Role::User, Trust::User), (Role::Author, Trust::Document)] {
        let own_statements = read_statements(SAID, role, trust, 1);
        let before = profile_and_own_memories(vec![document_statements(1, own_statements.clone())]);
        assert_eq!((before.0.len(), before.1.len()), (5, 5), "{before:?}");
        for attempt in ATTEMPTS.lines() {
            let wrapped = wrappers
                .iter()
                .map(|(name, wrap)| (*name, read_statements(&wrap(attempt), role, trust, 2)));
            let external = (
                "external",
                read_statements(attempt, Role::Author, Trust::External, 2),
            );
            for (name, found) in wrapped.chain([external]) {
                let has_instruction = found
                    .iter()
                    .any(|statement| statement.kind == MemoryKind::Instruction);
                let after = profile_and_own_memories(vec![
                    document_statements(1, own_statements.clone()),
                    document_statements(2, found),
                ]);
                if has_instruction || after != before {
                    faults.push(format!("{name}: {attempt} {:?}", after.1));
                }
            }
        }
    }

    assert!(
        faults.is_empty(),
        "{} faults:\n{}",
        faults.len(),
        faults.join("\n")
    );
}
