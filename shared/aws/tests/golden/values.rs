//! Fixed values: ids, times and documents.

use std::collections::BTreeMap;

use domain::connection::{DocumentOrigin, Provider};
use domain::document::{IndexedRevision, MAX_SUMMARY_BYTES, ProcessingResult, StatementsRef};
use domain::{
    Attribution, Authorship, BlobRef, BodyForm, ConnectionId, ContainerId, ContainerTag, CustomId,
    Document, DocumentBody, DocumentId, DocumentStatus, DocumentType, Dreaming, Metadata, OrgId,
    ProcessingFailure, Provenance, Revision, SourceMedium, TaskId, TaskType, Tenant, Timestamp,
    Trust,
};
use serde_json::Value;

/// The time of everything that is not about another time.
pub(crate) const NOW: Timestamp = Timestamp::from_millis(1_767_225_600_500);
/// The last time that can be written as text, at the end of the year 9999.
pub(crate) const LAST_TIME: Timestamp = Timestamp::from_millis(253_402_207_199_999);
/// The first time.
pub(crate) const FIRST_TIME: Timestamp = Timestamp::from_millis(0);

/// Returns an id of 22 characters that begins with `name` and ends with zeros.
fn padded(name: &str) -> String {
    format!("{name:0<22}")
}

pub(crate) fn tenant() -> Tenant {
    Tenant::for_operator(OrgId::parse("acme").expect("an organization"))
}

/// Returns the tenant with the longest name.
pub(crate) fn longest_tenant() -> Tenant {
    Tenant::for_operator(OrgId::parse(&"z-9".repeat(14)[..40]).expect("an organization"))
}

/// Returns the tenant whose settings have only those of the picker.
pub(crate) fn tenant_with_picker() -> Tenant {
    Tenant::for_operator(OrgId::parse("picker").expect("an organization"))
}

pub(crate) fn document_id(name: &str) -> DocumentId {
    DocumentId::parse(&padded(name)).expect("a document id")
}

pub(crate) fn container_id(name: &str) -> ContainerId {
    ContainerId::parse(&padded(name)).expect("a container id")
}

pub(crate) fn connection_id(name: &str) -> ConnectionId {
    ConnectionId::parse(&padded(name)).expect("a connection id")
}

pub(crate) fn task_id(name: &str) -> TaskId {
    TaskId::parse(&padded(name)).expect("a task id")
}

pub(crate) fn revision(name: &str) -> Revision {
    Revision::parse(&padded(name)).expect("a revision")
}

pub(crate) fn tag(name: &str) -> ContainerTag {
    ContainerTag::parse(name).expect("a container tag")
}

/// Reads a value of a type with a stored form of its own.
pub(crate) fn from_json<T: serde::de::DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).expect("a value of this type")
}

/// Returns a new document without anything optional.
pub(crate) fn smallest_document(name: &str) -> Document {
    Document {
        id: document_id(name),
        container: container_id("box"),
        tag: tag("notes"),
        further_tags: Vec::new(),
        custom_id: None,
        revision: revision(name),
        revision_number: 1,
        status: DocumentStatus::Queued,
        failure: None,
        attempts: 0,
        lease_until: FIRST_TIME,
        body: DocumentBody {
            blob: BlobRef::Inline(format!("{name}/body")),
            form: BodyForm::Text,
            hash: "00".to_owned(),
            size: 0,
            awaited_until: None,
            sent_at: None,
        },
        extracted: None,
        indexed: None,
        kind: DocumentType::Text,
        title: None,
        properties: BTreeMap::new(),
        url: None,
        metadata: Metadata::default(),
        filepath: None,
        description_changes: 0,
        filter_by_metadata: None,
        task_type: TaskType::Memory,
        dreaming: Dreaming::Dynamic,
        document_date: None,
        provenance: None,
        origin: None,
        superseded_by: None,
        created_at: NOW,
        updated_at: NOW,
    }
}

/// Returns a document that is served, whose optional fields are empty.
pub(crate) fn empty_document(name: &str) -> Document {
    Document {
        status: DocumentStatus::Done,
        indexed: Some(smallest_indexed_revision(name)),
        title: Some(String::new()),
        url: Some(String::new()),
        filepath: Some(String::new()),
        filter_by_metadata: Some(Metadata::default()),
        created_at: FIRST_TIME,
        updated_at: FIRST_TIME,
        ..smallest_document(name)
    }
}

/// Returns a superseded document with everything that a document may have, as large as it may be.
pub(crate) fn largest_document(name: &str) -> Document {
    let metadata = || {
        Metadata::from_stored(from_json(serde_json::json!({
            "text": "Ü \"quoted\" \\ \n 日本",
            "list": ["b", "a"],
            "number": -1.5,
            "flag": true,
        })))
    };

    Document {
        custom_id: Some(CustomId::parse_conversation_id(&"ü#/ ".repeat(63)).expect("an id")),
        revision_number: u64::MAX,
        status: DocumentStatus::Indexing,
        attempts: u32::MAX,
        lease_until: LAST_TIME,
        body: DocumentBody {
            blob: BlobRef::Object(format!("{name}/body")),
            form: BodyForm::File {
                name: Some("a \"file\".pdf".to_owned()),
                declared: Some("application/pdf".to_owned()),
            },
            hash: "f".repeat(64),
            size: u64::MAX,
            awaited_until: Some(LAST_TIME),
            sent_at: Some(LAST_TIME),
        },
        extracted: Some(ProcessingResult {
            revision: revision(name),
            pack: BlobRef::Object("pack".to_owned()),
            chunks: u32::MAX,
            statements_ref: Some(largest_statements()),
            authorship: Some(Authorship::external_words(Attribution::new(
                SourceMedium::Mail,
                Some("ann@example.org"),
            ))),
            summary: None,
        }),
        indexed: Some(IndexedRevision {
            title: Some("The title before".to_owned()),
            statements_ref: Some(largest_statements()),
            authorship: Some(Authorship::own_words(Trust::User)),
            chunks: u32::MAX,
            ..smallest_indexed_revision(name)
        }),
        kind: DocumentType::CloudSheet,
        title: Some("A file of a drive".to_owned()),
        properties: BTreeMap::from([
            ("author".to_owned(), "Änne".to_owned()),
            ("pageCount".to_owned(), String::new()),
        ]),
        url: Some("https://example.org/ü?q=#x".to_owned()),
        metadata: metadata(),
        filepath: Some("/a folder/日本.md".to_owned()),
        description_changes: u64::MAX,
        filter_by_metadata: Some(metadata()),
        task_type: TaskType::Superrag,
        dreaming: Dreaming::Instant,
        document_date: Some(Timestamp::from_millis(-1)),
        provenance: Some(Provenance::External),
        origin: Some(DocumentOrigin {
            provider: Provider::CloudDrive,
            connection: connection_id("drive"),
            title: "A file of a drive".to_owned(),
            kind: Some(DocumentType::CloudSheet),
            content_version: "7".to_owned(),
        }),
        superseded_by: Some(document_id("newer")),
        created_at: LAST_TIME,
        updated_at: LAST_TIME,
        ..smallest_document(name)
    }
}

/// Returns the results of processing the revision `name`, without anything optional.
pub(crate) fn smallest_result(name: &str) -> ProcessingResult {
    ProcessingResult {
        revision: revision(name),
        pack: BlobRef::Inline(format!("{name}/pack")),
        chunks: 0,
        statements_ref: None,
        authorship: None,
        summary: None,
    }
}

/// Returns the served content of the revision `name`, without anything optional.
pub(crate) fn smallest_indexed_revision(name: &str) -> IndexedRevision {
    IndexedRevision {
        revision: revision(name),
        pack: BlobRef::Inline(format!("{name}/pack")),
        body: BlobRef::Inline(format!("{name}/body")),
        chunks: 0,
        kind: DocumentType::Text,
        title: None,
        statements_ref: None,
        authorship: None,
        summary: None,
    }
}

/// Returns the longest summary, in a script with two bytes a letter.
pub(crate) fn longest_summary() -> String {
    "Ü".repeat(MAX_SUMMARY_BYTES / 2)
}

fn largest_statements() -> StatementsRef {
    StatementsRef {
        statements: Some(BlobRef::Object("statements".to_owned())),
        count: u32::MAX,
        extractor: "builtin".to_owned(),
        forget_requests: 0,
        fallback_reason: Some("the model did not answer".to_owned()),
    }
}

pub(crate) fn failure() -> ProcessingFailure {
    from_json(serde_json::json!({"code": "content_limit", "message": "too \"large\""}))
}
