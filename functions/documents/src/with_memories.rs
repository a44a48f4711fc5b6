//! `POST /v3/documents/documents` and `/by-ids`: returns documents with the memories that come from
//! them.

use axum::extract::State;
use domain::{ContainerTag, Document, Error, Metadata, Result, Tenant, Timestamp};
use edge::{
    ApiResult, Auth, Json, MAX_ENTRIES, MemoryEntry, Order, Pagination, ReadContent, SortField,
    check_length, deserialize_count, page_and_limit, parse_scope,
};
use memory_model::{Ledger, Memory};
use openapi::{ErrorAnswer, Operation};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use service::{DocumentNameKind, ListQuery, find_documents};

use crate::DocumentsState;
use crate::list::{DEFAULT_LIMIT, MAX_LIMIT, parse_providers};
use crate::memories::read_memories;
use crate::wire::{DocumentRecord, record_example};

/// The most ids of one request.
const MAX_IDS: usize = 200;

/// The documents to list, their order and the page.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(rename = "ListDocumentsWithMemoriesRequest")]
pub(crate) struct DocumentsRequest {
    /// A container tag, in addition to `containerTags`.
    #[schemars(with = "Option<ContainerTag>")]
    container_tag: Option<String>,
    /// Container tags. Without any, all that the key reaches.
    #[schemars(with = "Option<Vec<ContainerTag>>", length(max = MAX_ENTRIES))]
    container_tags: Option<Vec<String>>,
    /// The providers from which the documents came.
    #[schemars(length(max = MAX_ENTRIES))]
    sources: Option<Vec<String>>,
    /// The number of documents on a page.
    #[serde(deserialize_with = "deserialize_count")]
    #[schemars(schema_with = "edge::count_schema::<1, MAX_LIMIT>")]
    #[schemars(extend("default" = DEFAULT_LIMIT))]
    limit: Option<usize>,
    /// The number of the page, from 1.
    #[serde(deserialize_with = "deserialize_count")]
    #[schemars(schema_with = "edge::page_schema")]
    #[schemars(extend("default" = 1))]
    page: Option<usize>,
    /// The field by which the list is sorted.
    #[schemars(extend("default" = "createdAt"))]
    sort: Option<SortField>,
    /// The direction of the list.
    #[schemars(extend("default" = "desc"))]
    order: Option<Order>,
}

/// The documents to get.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(rename = "GetDocumentsByIdsRequest", extend("required" = ["ids"]))]
pub(crate) struct ByIdsRequest {
    /// Ids or customIds.
    #[schemars(length(min = 1, max = MAX_IDS))]
    ids: Vec<String>,
    /// The kind of the ids.
    #[schemars(extend("default" = "id"))]
    by: IdKind,
    /// Container tags. Without any, all that the key reaches.
    #[schemars(with = "Option<Vec<ContainerTag>>", length(max = MAX_ENTRIES))]
    container_tags: Option<Vec<String>>,
}

/// The kind of the ids in a request.
#[derive(Debug, Default, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
enum IdKind {
    #[default]
    Id,
    CustomId,
}

/// Documents with their memories.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "DocumentsWithMemoriesResponse")]
pub(crate) struct DocumentsResponse {
    /// The documents.
    documents: Vec<DocumentWithMemories>,
    /// The position of the page.
    pagination: Pagination,
}

/// A document with the memories from it.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct DocumentWithMemories {
    #[serde(flatten)]
    document: DocumentRecord,
    /// The memories from the document, in the order of its text.
    memory_entries: Vec<SourcedEntry>,
}

/// A memory, with fields about the document in which it is shown.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "SourcedMemory")]
struct SourcedEntry {
    #[serde(flatten)]
    entry: MemoryEntry,
    /// The time at which the document was created.
    source_added_at: Timestamp,
    /// The certainty of the memory.
    #[schemars(range(min = 0, max = 1))]
    source_relevance_score: f32,
    /// The caller's own keys of the document.
    source_metadata: Option<Metadata>,
    /// The container tag of the document.
    space_container_tag: ContainerTag,
}

impl SourcedEntry {
    fn new(
        document: &Document,
        ledger: &Ledger,
        memory: &Memory,
        tenant: &Tenant,
        now: Timestamp,
    ) -> Self {
        Self {
            entry: MemoryEntry::new(ledger, memory, &document.container, tenant.org(), now),
            source_added_at: document.created_at,
            source_relevance_score: memory.confidence,
            source_metadata: (!document.metadata.is_empty()).then(|| document.metadata.clone()),
            space_container_tag: document.tag.clone(),
        }
    }
}

/// Adds memories to documents.
async fn add_memories(
    state: &DocumentsState,
    tenant: &Tenant,
    documents: &[Document],
) -> Result<Vec<DocumentWithMemories>> {
    let now = state.app.ctx.clock.now();
    let entries = read_memories(state, tenant, documents, |document, ledger| {
        let memories = ledger.memories_of_document(&document.id).into_iter();
        memories
            .map(|memory| SourcedEntry::new(document, ledger, &memory, tenant, now))
            .collect()
    })
    .await?;

    let mut with_memories = Vec::with_capacity(documents.len());
    for (document, memory_entries) in documents.iter().zip(entries) {
        with_memories.push(DocumentWithMemories {
            document: DocumentRecord::new(state.app.provider_names, document),
            memory_entries: memory_entries.unwrap_or_default(),
        });
    }

    Ok(with_memories)
}

pub(crate) async fn list_with_memories(
    State(state): State<DocumentsState>,
    Auth { tenant, .. }: Auth<ReadContent>,
    Json(request): Json<DocumentsRequest>,
) -> ApiResult<Json<DocumentsResponse>> {
    let (page, limit) = page_and_limit(request.page, request.limit, DEFAULT_LIMIT, MAX_LIMIT)?;
    let scope = parse_scope(
        request.container_tag.as_deref(),
        request.container_tags.as_deref(),
    )?;
    check_length(
        "sources",
        request.sources.as_deref().unwrap_or_default(),
        MAX_ENTRIES,
    )?;
    let providers = match request.sources.as_deref() {
        None | Some([]) => None,
        Some(names) => Some(parse_providers(names)),
    };
    let query = ListQuery {
        sort: request.sort.unwrap_or_default().into(),
        ascending: request.order == Some(Order::Asc),
        providers,
        page,
        limit,
        ..ListQuery::all_documents(scope)
    };

    let found = state.list_documents(&tenant, &query).await?;
    let documents = add_memories(&state, &tenant, &found.documents).await?;

    Ok(Json(DocumentsResponse {
        documents,
        pagination: Pagination::new(page, limit, found.total),
    }))
}

pub(crate) async fn get_by_ids(
    State(state): State<DocumentsState>,
    Auth { tenant, .. }: Auth<ReadContent>,
    Json(request): Json<ByIdsRequest>,
) -> ApiResult<Json<DocumentsResponse>> {
    if !(1..=MAX_IDS).contains(&request.ids.len()) {
        return Err(Error::invalid_field("ids", format!("1 to {MAX_IDS} ids")).into());
    }

    let scope = parse_scope(None, request.container_tags.as_deref())?;
    let name_kind = match request.by {
        IdKind::Id => DocumentNameKind::Id,
        IdKind::CustomId => DocumentNameKind::CustomId,
    };

    let mut documents: Vec<Document> = Vec::new();
    for found in find_documents(&state.app.ctx, &tenant, &request.ids, name_kind, &scope).await? {
        match found {
            Ok(document) if documents.iter().any(|other| other.id == document.id) => {}
            Ok(document) => documents.push(document),
            // Skip documents that do not exist, and names that cannot be found without a tag.
            Err(Error::NotFound(_) | Error::Conflict(_) | Error::Invalid { .. }) => {}
            Err(error) => return Err(error.into()),
        }
    }

    let count = documents.len();
    let documents = add_memories(&state, &tenant, &documents).await?;

    Ok(Json(DocumentsResponse {
        documents,
        pagination: Pagination::new(1, count.max(1), count),
    }))
}

/// Returns an example of documents with their memories.
fn documents_example() -> Value {
    let mut document = record_example();
    document["memoryEntries"] = json!([memory_example()]);
    json!({
        "documents": [document],
        "pagination": {"currentPage": 1, "limit": 10, "totalItems": 1, "totalPages": 1},
    })
}

/// Returns an example of a memory of a document.
fn memory_example() -> Value {
    json!({
        "id": "5Hd1p8aGkT9mYwqZrLcXv2",
        "memory": "Mara counts the herons every spring.",
        "version": 1,
        "isLatest": true,
        "isForgotten": false,
        "isStatic": false,
        "isInference": false,
        "createdAt": "2026-03-01T09:30:02.120Z",
        "updatedAt": "2026-03-01T09:30:02.120Z",
        "sourceCount": 1,
        "parentMemoryId": null,
        "rootMemoryId": "5Hd1p8aGkT9mYwqZrLcXv2",
        "metadata": {"source": "diary"},
        "trust": "document",
        "spaceId": "Vt3mE9xq6mVb2P8hZc1KRe",
        "orgId": "acme",
        "forgetAfter": null,
        "forgetReason": null,
        "temporalContext": {
            "documentDate": "2026-03-01T00:00:00.000Z",
            "eventDate": [],
        },
        "memoryRelations": {},
        "history": [],
        "documentIds": ["acxV5LHMEsG2hMSNb4umbn"],
        "kind": "fact",
        "confidence": 0.9,
        "speaker": null,
        "eventDate": null,
        "sources": [
            {"documentId": "acxV5LHMEsG2hMSNb4umbn", "start": 0, "end": 36},
        ],
        "contradicts": [],
        "reviewStatus": null,
        "sourceAddedAt": "2026-03-01T09:30:00.000Z",
        "sourceRelevanceScore": 0.9,
        "sourceMetadata": {"source": "diary"},
        "spaceContainerTag": "user_42",
    })
}

/// Describes the operations of this module.
pub(crate) fn operations() -> Vec<Operation> {
    vec![
        Operation::post("/v3/documents/documents", "list_documents_with_memories")
            .group("Documents")
            .summary("List documents with the memories that came from them.")
            .description("Old versions and forgotten memories are among them and say so.")
            .optional_body::<DocumentsRequest>(json!({"containerTags": ["user_42"], "limit": 20}))
            .answer::<DocumentsResponse>(
                "Documents with the memories that came from them.",
                documents_example(),
            )
            .error(ErrorAnswer::Invalid, ""),
        Operation::post("/v3/documents/documents/by-ids", "get_documents_by_ids")
            .group("Documents")
            .summary("Get several documents with the memories that came from them.")
            .description(
                "Documents that do not exist are left out, and so are those of several containers \
                 that have the same customId: name the container tag to get one of them.",
            )
            .body::<ByIdsRequest>(json!({"ids": ["note-17"], "by": "customId"}))
            .answer::<DocumentsResponse>(
                "Documents with the memories that came from them.",
                documents_example(),
            )
            .error(ErrorAnswer::Invalid, ""),
    ]
}
