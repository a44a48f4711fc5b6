//! `POST /v3/documents/documents` and `/by-ids`: returns documents with the memories that come from
//! them.

use std::collections::HashMap;

use axum::extract::State;
use container_index::IndexedMemories;
use domain::{ContainerId, Document, Error, Metadata, Result, Tenant, Timestamp};
use edge::{
    ApiResult, Auth, Json, MAX_ENTRIES, MemoryEntry, Order, Pagination, ReadContent, SortField,
    check_length, deserialize_count, parse_scope,
};
use memory_model::{Ledger, Memory};
use serde::{Deserialize, Serialize};
use service::{DocumentNameKind, ListQuery, find_documents, list_documents};

use crate::DocumentsState;
use crate::list::{DEFAULT_LIMIT, page_and_limit, parse_providers};
use crate::one::shows_memories;
use crate::wire::ListedDocument;

/// The most ids of one request.
const MAX_IDS: usize = 200;

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct DocumentsRequest {
    container_tag: Option<String>,
    container_tags: Option<Vec<String>>,
    /// The providers from which the documents came.
    sources: Option<Vec<String>>,
    #[serde(deserialize_with = "deserialize_count")]
    limit: Option<usize>,
    #[serde(deserialize_with = "deserialize_count")]
    page: Option<usize>,
    sort: Option<SortField>,
    order: Option<Order>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct ByIdsRequest {
    ids: Vec<String>,
    by: IdKind,
    container_tags: Option<Vec<String>>,
}

#[derive(Debug, Default, Clone, Copy, Deserialize)]
#[serde(rename_all = "camelCase")]
enum IdKind {
    #[default]
    Id,
    CustomId,
}

#[derive(Debug, Serialize)]
pub(crate) struct DocumentsResponse {
    documents: Vec<DocumentWithMemories>,
    pagination: Pagination,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct DocumentWithMemories {
    #[serde(flatten)]
    document: ListedDocument,
    /// The memories from the document, in the order of its text.
    memory_entries: Vec<SourcedEntry>,
}

/// A memory, with fields about the document in which it is shown.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct SourcedEntry {
    #[serde(flatten)]
    entry: MemoryEntry,
    source_added_at: Timestamp,
    source_relevance_score: f32,
    source_metadata: Option<Metadata>,
    space_container_tag: String,
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
            space_container_tag: document.tag.to_string(),
        }
    }
}

/// Adds memories to documents. The memories of a container are opened once for all of its
/// documents.
async fn add_memories(
    service: &DocumentsState,
    tenant: &Tenant,
    documents: &[Document],
) -> Result<Vec<DocumentWithMemories>> {
    let ctx = &service.app.ctx;
    let mut memories_by_container: HashMap<ContainerId, IndexedMemories<()>> = HashMap::new();
    for document in documents {
        if shows_memories(document) && !memories_by_container.contains_key(&document.container) {
            let memories = service
                .ledgers
                .open(ctx, tenant, &document.container)
                .await?;
            memories_by_container.insert(document.container.clone(), memories);
        }
    }

    let now = ctx.clock.now();
    let mut with_memories = Vec::with_capacity(documents.len());
    for document in documents {
        let mut memory_entries = Vec::new();
        if shows_memories(document)
            && let Some(memories) = memories_by_container.get(&document.container)
        {
            let ledger = memories.ledger();
            for memory in ledger.memories_of_document(&document.id) {
                memory_entries.push(SourcedEntry::new(document, ledger, memory, tenant, now));
            }
        }

        with_memories.push(DocumentWithMemories {
            document: ListedDocument::new(document, None),
            memory_entries,
        });
    }

    Ok(with_memories)
}

pub(crate) async fn list_with_memories(
    State(service): State<DocumentsState>,
    Auth { tenant, .. }: Auth<ReadContent>,
    Json(request): Json<DocumentsRequest>,
) -> ApiResult<Json<DocumentsResponse>> {
    let (page, limit) = page_and_limit(request.page, request.limit, DEFAULT_LIMIT)?;
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

    let found = list_documents(&service.app.ctx, &tenant, &query).await?;
    let documents = add_memories(&service, &tenant, &found.documents).await?;

    Ok(Json(DocumentsResponse {
        documents,
        pagination: Pagination::new(page, limit, found.total),
    }))
}

pub(crate) async fn get_by_ids(
    State(service): State<DocumentsState>,
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
    for found in find_documents(&service.app.ctx, &tenant, &request.ids, name_kind, &scope).await? {
        match found {
            Ok(document) if documents.iter().any(|other| other.id == document.id) => {}
            Ok(document) => documents.push(document),
            // Skip documents that do not exist, and names that only a tag could make unambiguous.
            Err(Error::NotFound(_) | Error::Conflict(_)) => {}
            Err(error) => return Err(error.into()),
        }
    }

    let count = documents.len();
    let documents = add_memories(&service, &tenant, &documents).await?;

    Ok(Json(DocumentsResponse {
        documents,
        pagination: Pagination::new(1, count.max(1), count),
    }))
}
