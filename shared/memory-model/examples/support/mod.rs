//! Statements and documents for the measurements.

use domain::{
    DocumentId, DocumentType, IndexedDocument, MemoryKind, Revision, Statement, Timestamp, Trust,
};
use memory_model::DocumentStatements;

/// The things that statements are about.
pub(crate) const NOUNS: [&str; 10] = [
    "ferry", "soup", "hospital", "sister", "project", "hotel", "violin", "garden", "meeting",
    "flight",
];

/// Returns the fact that a text states, said a minute after that of the number before.
pub(crate) fn fact(text: String, number: usize) -> Statement {
    Statement {
        start: number * 100,
        end: number * 100 + text.chars().count(),
        text,
        kind: MemoryKind::Fact,
        is_static: false,
        confidence: 0.8,
        trust: Trust::User,
        speaker: None,
        attribution: None,
        said_at: Timestamp::from_millis(i64::try_from(number).unwrap_or(0) * 60_000),
        event: None,
        forget_after: None,
        forget_reason: None,
        topic: None,
        aspects: Vec::new(),
        retraction: None,
        metadata: serde_json::Map::new(),
    }
}

/// Returns a document with these statements.
pub(crate) fn document(statements: Vec<Statement>) -> DocumentStatements {
    let document = IndexedDocument {
        id: DocumentId::random(),
        revision: Revision::random(),
        tag: "bench".into(),
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
