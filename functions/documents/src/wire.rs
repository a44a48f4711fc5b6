//! Documents in the shape of the API.

use std::collections::BTreeMap;

use domain::document::{FailureCode, ProcessingFailure, StatementsRef};
use domain::tag::MAX_TAGS_PER_DOCUMENT;
use domain::{
    Attribution, ContainerTag, Document, DocumentId, DocumentStatus, Metadata, Provenance,
    TaskType, Timestamp, Trust,
};
use edge::{MemoryVersion, ProviderName, ProviderNames, TypeName};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};

/// The properties of a document that every answer with it has.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend(
    "dependentRequired" = {"errorCode": ["errorMessage"], "errorMessage": ["errorCode"]},
    "if" = {"properties": {"status": {"const": "failed"}}},
    "then" = {"required": ["errorCode"]},
    "else" = {"not": {"required": ["errorCode"]}},
))]
pub(crate) struct DocumentRecord {
    /// Its id.
    id: DocumentId,
    /// The caller's own identifier, or that of the conversation.
    custom_id: Option<String>,
    /// The connection that added or updated it last.
    connection_id: Option<String>,
    /// The title found in the content, or the name of the file.
    title: Option<String>,
    /// Two or three sentences that say what its content is about. They are sentences of the text, or
    /// those of the model for memories where one is set. Null if there are none.
    summary: Option<String>,
    /// The status of its processing.
    status: DocumentStatus,
    /// The type of its content.
    r#type: TypeName,
    /// The caller's own keys.
    metadata: Option<Metadata>,
    /// Its path in the caller's own tree.
    filepath: Option<String>,
    /// The time of creation.
    created_at: Timestamp,
    /// The time of the last change.
    updated_at: Timestamp,
    // compat: the command line of the TypeScript client prints this field.
    /// The container tag. If there are several, the first one that the key reaches.
    container_tag: ContainerTag,
    /// The container tags that the key reaches, in the order in which they were sent.
    #[schemars(length(min = 1, max = MAX_TAGS_PER_DOCUMENT))]
    container_tags: Vec<ContainerTag>,
    /// The address that it is fetched from, if it is a page.
    #[serde(skip_serializing_if = "Option::is_none")]
    url: Option<String>,
    #[serde(flatten)]
    failure: Option<FailureShape>,
}

/// The reason why a document failed.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct FailureShape {
    /// The reason why it failed.
    error_code: FailureCode,
    /// A sentence that says the same.
    error_message: String,
}

/// A document in a list.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ListedDocument {
    #[serde(flatten)]
    record: DocumentRecord,
    /// Its text, if the request asks for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    content: Option<String>,
}

/// A document with its text.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Document")]
pub(crate) struct FullDocument {
    #[serde(flatten)]
    record: DocumentRecord,
    /// The text that was extracted from the content. Before that, the text or the address that was
    /// sent; null if there is none.
    content: Option<String>,
    /// Always null: it is not kept beside the content.
    #[schemars(with = "()")]
    raw: Option<Value>,
    /// The provider from which it came; null if it came from none.
    source: Option<ProviderName>,
    /// The address of the picture that a page names for itself.
    og_image: Option<String>,
    /// The newer document with its customId that has replaced it in a merge.
    #[serde(skip_serializing_if = "Option::is_none")]
    superseded_by: Option<DocumentId>,
    /// Properties from the content itself: author, dates, number of pages.
    properties: BTreeMap<String, String>,
    /// The results of its processing.
    task_type: TaskType,
    /// The author of the content, if the caller has declared it.
    #[serde(skip_serializing_if = "Option::is_none")]
    provenance: Option<Provenance>,
    /// The trust in its statements. Absent until the document has been processed.
    #[serde(skip_serializing_if = "Option::is_none")]
    trust: Option<Trust>,
    /// The place where it was read, unless it comes from the user.
    #[serde(skip_serializing_if = "Option::is_none")]
    origin: Option<Attribution>,
    /// `dreaming` while memories may still form.
    #[schemars(extend("enum" = ["dreaming", "done"]))]
    dreaming_status: &'static str,
    /// The number of contents that were accepted.
    // compat: the Python client requires this field.
    #[schemars(range(min = 1))]
    latest_revision: u64,
    /// The memories from it, in the order of its text. Absent if it is processed into chunks only.
    #[serde(skip_serializing_if = "Option::is_none")]
    memories: Option<Vec<MemoryVersion>>,
    /// The search for memories in the content that search serves. Absent before that.
    #[serde(skip_serializing_if = "Option::is_none")]
    memory_extraction: Option<MemoryExtraction>,
}

/// The extractor of the statements in the content that is served, and their number.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct MemoryExtraction {
    /// The extractor: `builtin`, `client` or the name of a model.
    extractor: String,
    /// The number of statements.
    count: u32,
    /// The number of requests to forget something that was said before. Absent if there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    forget_requests: Option<u32>,
    /// The reason why the built-in extractor was used in place of a model.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
}

impl MemoryExtraction {
    fn new(statements_ref: &StatementsRef) -> Self {
        Self {
            extractor: statements_ref.extractor.clone(),
            count: statements_ref.count,
            forget_requests: Some(statements_ref.forget_requests).filter(|count| *count > 0),
            reason: statements_ref.fallback_reason.clone(),
        }
    }
}

impl DocumentRecord {
    pub(crate) fn new(names: ProviderNames, document: &Document) -> Self {
        let failure = document
            .failure
            .as_ref()
            .map(|ProcessingFailure { code, message }| FailureShape {
                error_code: *code,
                error_message: message.clone(),
            });

        Self {
            id: document.id.clone(),
            custom_id: document.custom_id.as_ref().map(ToString::to_string),
            connection_id: document
                .origin
                .as_ref()
                .map(|origin| origin.connection.to_string()),
            title: document.display_title().map(str::to_owned),
            summary: document.summary().map(str::to_owned),
            status: document.status,
            r#type: names.of_type(document.display_type()),
            metadata: (!document.metadata.is_empty()).then(|| document.metadata.clone()),
            filepath: document.filepath.clone(),
            created_at: document.created_at,
            updated_at: document.updated_at,
            container_tag: document.tag.clone(),
            container_tags: document.tags().cloned().collect(),
            url: document.url.clone(),
            failure,
        }
    }
}

impl ListedDocument {
    pub(crate) fn new(names: ProviderNames, document: &Document, content: Option<String>) -> Self {
        Self {
            record: DocumentRecord::new(names, document),
            content,
        }
    }
}

impl FullDocument {
    pub(crate) fn new(
        names: ProviderNames,
        document: &Document,
        content: Option<String>,
        memories: Vec<MemoryVersion>,
    ) -> Self {
        let has_memories = document.task_type == TaskType::Memory;
        let (authorship, statements_ref) = match &document.indexed {
            Some(indexed) => (indexed.authorship.as_ref(), indexed.statements_ref.as_ref()),
            None => (None, None),
        };
        let memory_extraction = match statements_ref {
            Some(statements_ref) if has_memories => Some(MemoryExtraction::new(statements_ref)),
            _ => None,
        };

        Self {
            record: DocumentRecord::new(names, document),
            content,
            raw: None,
            source: document
                .origin
                .as_ref()
                .map(|origin| names.of_provider(origin.provider)),
            og_image: document.properties.get("ogImage").cloned(),
            superseded_by: document.superseded_by.clone(),
            properties: document.properties.clone(),
            task_type: document.task_type,
            provenance: document.provenance,
            trust: authorship.map(|authorship| authorship.trust),
            origin: authorship.and_then(|authorship| authorship.attribution.clone()),
            dreaming_status: dreaming_status(document),
            latest_revision: document.revision_number,
            memories: has_memories.then_some(memories),
            memory_extraction,
        }
    }
}

/// Returns `dreaming` while memories may still form from the document, and then `done`.
pub(crate) fn dreaming_status(document: &Document) -> &'static str {
    if document.status.is_final() {
        "done"
    } else {
        "dreaming"
    }
}

/// Returns an example of the properties that every answer with a document has.
pub(crate) fn record_example() -> Value {
    json!({
        "id": "acxV5LHMEsG2hMSNb4umbn",
        "customId": "note-17",
        "connectionId": null,
        "title": null,
        "summary": null,
        "status": "done",
        "type": "text",
        "metadata": {"source": "diary"},
        "filepath": "/notes/heron.md",
        "createdAt": "2026-03-01T09:30:00.000Z",
        "updatedAt": "2026-03-01T09:30:02.120Z",
        "containerTag": "user_42",
        "containerTags": ["user_42"],
    })
}
