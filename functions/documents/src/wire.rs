//! Documents in the shape of the API.

use std::collections::BTreeMap;

use domain::document::{ProcessingFailure, StatementsRef};
use domain::{
    Attribution, Document, DocumentStatus, DocumentType, Metadata, Provenance, TaskType, Timestamp,
    Trust,
};
use edge::MemoryVersion;
use serde::Serialize;
use serde_json::Value;

/// A document in a listing.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ListedDocument {
    id: String,
    custom_id: Option<String>,
    /// The connection that added or updated it last.
    connection_id: Option<String>,
    title: Option<String>,
    summary: Option<String>,
    status: DocumentStatus,
    r#type: DocumentType,
    metadata: Option<Metadata>,
    filepath: Option<String>,
    created_at: Timestamp,
    updated_at: Timestamp,
    container_tags: [String; 1],
    #[serde(skip_serializing_if = "Option::is_none")]
    url: Option<String>,
    #[serde(flatten)]
    failure: Option<FailureShape>,
    #[serde(skip_serializing_if = "Option::is_none")]
    content: Option<String>,
}

/// The reason why a document failed.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct FailureShape {
    error_code: &'static str,
    error_message: String,
}

/// A document in an answer of its own.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct FullDocument {
    #[serde(flatten)]
    listed: ListedDocument,
    /// Unlike in a listing, present even if there is no text yet.
    #[serde(rename = "content")]
    text: Option<String>,
    raw: Option<Value>,
    /// The provider from which it came.
    source: Option<&'static str>,
    og_image: Option<String>,
    /// The newer document with its customId that has replaced it in a merge.
    #[serde(skip_serializing_if = "Option::is_none")]
    superseded_by: Option<String>,
    /// Properties from the content itself: author, dates, number of pages.
    properties: BTreeMap<String, String>,
    task_type: TaskType,
    /// The author of the content, if the caller has declared it.
    #[serde(skip_serializing_if = "Option::is_none")]
    provenance: Option<Provenance>,
    /// The trust in its statements and the place where it was read. Absent until the document has
    /// been processed.
    #[serde(skip_serializing_if = "Option::is_none")]
    trust: Option<Trust>,
    #[serde(skip_serializing_if = "Option::is_none")]
    origin: Option<Attribution>,
    dreaming_status: &'static str,
    /// compat: the Python client requires this field.
    latest_revision: u64,
    /// The memories from it, in the order of its text. Absent if it is processed into chunks only.
    #[serde(skip_serializing_if = "Option::is_none")]
    memories: Option<Vec<MemoryVersion>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    memory_extraction: Option<MemoryExtraction>,
}

/// The extractor of the statements in the content that is served, and their number.
#[derive(Debug, Serialize)]
struct MemoryExtraction {
    extractor: String,
    count: u32,
    /// The reason why the built-in extractor was used in place of a model.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
}

impl MemoryExtraction {
    fn new(statements_ref: &StatementsRef) -> Self {
        Self {
            extractor: statements_ref.extractor.clone(),
            count: statements_ref.count,
            reason: statements_ref.fallback_reason.clone(),
        }
    }
}

impl ListedDocument {
    pub(crate) fn new(document: &Document, content: Option<String>) -> Self {
        let failure = document
            .failure
            .as_ref()
            .map(|ProcessingFailure { code, message }| FailureShape {
                error_code: code.as_str(),
                error_message: message.clone(),
            });

        Self {
            id: document.id.to_string(),
            custom_id: document.custom_id.as_ref().map(ToString::to_string),
            connection_id: document
                .origin
                .as_ref()
                .map(|origin| origin.connection.to_string()),
            title: document.display_title().map(str::to_owned),
            summary: None,
            status: document.status,
            r#type: document.display_type(),
            metadata: (!document.metadata.is_empty()).then(|| document.metadata.clone()),
            filepath: document.filepath.clone(),
            created_at: document.created_at,
            updated_at: document.updated_at,
            container_tags: [document.tag.to_string()],
            url: document.url.clone(),
            failure,
            content,
        }
    }
}

impl FullDocument {
    pub(crate) fn new(
        document: &Document,
        text: Option<String>,
        memories: Vec<MemoryVersion>,
    ) -> Self {
        let has_memories = document.task_type == TaskType::Memory;
        let (authorship, statements_ref) = match &document.indexed {
            Some(indexed) => (indexed.authorship.as_ref(), indexed.learned.as_ref()),
            None => (None, None),
        };
        let memory_extraction = match statements_ref {
            Some(statements_ref) if has_memories => Some(MemoryExtraction::new(statements_ref)),
            _ => None,
        };

        Self {
            listed: ListedDocument::new(document, None),
            text,
            raw: None,
            source: document
                .origin
                .as_ref()
                .map(|origin| origin.provider.as_str()),
            og_image: document.properties.get("ogImage").cloned(),
            superseded_by: document.superseded_by.as_ref().map(ToString::to_string),
            properties: document.properties.clone(),
            task_type: document.task_type,
            provenance: document.provenance,
            trust: authorship.map(|authorship| authorship.trust),
            origin: authorship.and_then(|authorship| authorship.attribution.clone()),
            dreaming_status: if document.status.is_final() {
                "done"
            } else {
                "dreaming"
            },
            latest_revision: document.revision_number,
            memories: has_memories.then_some(memories),
            memory_extraction,
        }
    }
}
