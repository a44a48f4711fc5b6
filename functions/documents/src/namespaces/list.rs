//! `POST /ns/{namespace}/list/documents` and its `/memory-counts`: lists documents, and counts the
//! memories of some.

use axum::extract::State;
use domain::{ContainerTag, Document, DocumentType, Filter, Metadata, Result, Tenant};
use edge::{
    ApiResult, App, Auth, ItemPage, Json, NoItem, Order, Pagination, Path, Query, ReadContent,
    SortField, deserialize_bool, deserialize_count, deserialize_optional_object, namespace_scope,
    page_and_limit, public_id,
};
use openapi::{ErrorAnswer, Operation};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use service::{ListQuery, read_document_texts};

use super::document::{DocumentSystem, system_example};
use super::{GROUP, NAMESPACE};
use crate::DocumentsState;
use crate::delete_bulk::{MAX_IDS, find_by_ids};
use crate::list::{DEFAULT_LIMIT, MAX_LIMIT};
use crate::memories::read_memories;

/// The page and the order.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct PageQuery {
    /// The number of the page, from 1.
    #[serde(deserialize_with = "deserialize_count")]
    #[schemars(schema_with = "edge::page_schema")]
    #[schemars(extend("default" = 1))]
    page: Option<usize>,
    /// The number of documents on a page.
    #[serde(deserialize_with = "deserialize_count")]
    #[schemars(schema_with = "edge::count_schema::<1, MAX_LIMIT>")]
    #[schemars(extend("default" = DEFAULT_LIMIT))]
    limit: Option<usize>,
    /// The field by which the list is sorted.
    #[schemars(extend("default" = "createdAt"))]
    sort: Option<SortField>,
    /// The direction of the list.
    #[schemars(extend("default" = "desc"))]
    order: Option<Order>,
}

/// The documents to list.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(rename = "ListNamespaceDocumentsRequest")]
pub(crate) struct ListRequest {
    /// Conditions on metadata.
    #[schemars(with = "Value", extend("$ref" = "#/components/schemas/FilterExpression"))]
    filter: Option<Value>,
    /// The additional parts of each document.
    #[serde(deserialize_with = "deserialize_optional_object")]
    include: Option<IncludedParts>,
}

/// The additional parts of a listed document.
#[derive(Debug, Default, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(inline)]
struct IncludedParts {
    /// Its text.
    #[serde(deserialize_with = "deserialize_bool")]
    #[schemars(schema_with = "edge::flexible_boolean_schema")]
    content: bool,
    /// The number of its memories that are neither forgotten nor replaced.
    #[serde(deserialize_with = "deserialize_bool")]
    #[schemars(schema_with = "edge::flexible_boolean_schema")]
    memory_count: bool,
}

/// A document in the list of a namespace.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "NamespaceDocumentItem")]
pub(crate) struct ListedDocument {
    /// The caller's own id, or else that of the document.
    id: String,
    /// The title found in the content, or the name of the file.
    title: Option<String>,
    /// The type of its content.
    r#type: DocumentType,
    /// Its text, if the request includes it.
    #[serde(skip_serializing_if = "Option::is_none")]
    content: Option<String>,
    /// A few sentences of it. Null if there are none.
    summary: Option<String>,
    /// The caller's own keys.
    metadata: Metadata,
    /// The address that it is fetched from, if it is a page.
    url: Option<String>,
    /// Its processing and times.
    system: DocumentSystem,
}

pub(crate) async fn list_namespace_documents(
    State(state): State<DocumentsState>,
    Auth { tenant, .. }: Auth<ReadContent>,
    Path(namespace): Path<String>,
    Query(page_query): Query<PageQuery>,
    Json(request): Json<ListRequest>,
) -> ApiResult<Json<ItemPage<ListedDocument, NoItem, NoItem>>> {
    let (page, limit) =
        page_and_limit(page_query.page, page_query.limit, DEFAULT_LIMIT, MAX_LIMIT)?;
    let query = ListQuery {
        filter: Filter::parse_operators(request.filter.as_ref())?,
        sort: page_query.sort.unwrap_or_default().into(),
        ascending: page_query.order == Some(Order::Asc),
        page,
        limit,
        ..ListQuery::all_documents(namespace_scope(&namespace)?)
    };
    let include = request.include.unwrap_or_default();

    let ctx = &state.app.ctx;
    let found = state.list_documents(&tenant, &query).await?;
    let mut texts = vec![None; found.documents.len()];
    if include.content {
        texts = read_document_texts(ctx, &tenant, &found.documents).await?;
    }
    let mut counts = vec![None; found.documents.len()];
    if include.memory_count {
        let counted = count_memories(&state, &tenant, &found.documents).await?;
        counts = counted.into_iter().map(Some).collect();
    }

    let mut documents = Vec::with_capacity(found.documents.len());
    for ((document, content), memory_count) in found.documents.iter().zip(texts).zip(counts) {
        documents.push(ListedDocument::new(document, content, memory_count));
    }
    Ok(Json(ItemPage {
        documents,
        chunks: Vec::new(),
        memories: Vec::new(),
        pagination: Pagination::new(page, limit, found.total),
    }))
}

impl ListedDocument {
    fn new(document: &Document, content: Option<String>, memory_count: Option<usize>) -> Self {
        Self {
            id: public_id(&document.id, document.custom_id.as_ref()),
            title: document.display_title().map(str::to_owned),
            r#type: document.display_type(),
            content,
            summary: document.summary().map(str::to_owned),
            metadata: document.metadata.clone(),
            url: document.url.clone(),
            system: DocumentSystem::new(document, memory_count),
        }
    }
}

/// Returns the number of memories from each document that are neither forgotten nor replaced.
async fn count_memories(
    state: &DocumentsState,
    tenant: &Tenant,
    documents: &[Document],
) -> Result<Vec<usize>> {
    let now = state.app.ctx.clock.now();
    let counts = read_memories(state, tenant, documents, |document, ledger| {
        let from_document = ledger.memories_of_document(&document.id);
        let live = from_document.iter().filter(|memory| memory.is_live(now));
        live.count()
    })
    .await?;
    Ok(counts.into_iter().map(Option::unwrap_or_default).collect())
}

/// The documents whose memories are counted.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "CountMemoriesRequest")]
pub(crate) struct CountRequest {
    /// Ids or the caller's own ids.
    #[schemars(length(min = 1, max = MAX_IDS))]
    ids: Vec<String>,
}

/// The numbers of memories.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "CountMemoriesResponse")]
pub(crate) struct CountResponse {
    /// One entry for each document that was found.
    counts: Vec<MemoryCount>,
}

/// The number of memories from one document.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
struct MemoryCount {
    /// The caller's own id, or else that of the document.
    id: String,
    /// The number of its memories that are neither forgotten nor replaced.
    memory_count: usize,
}

pub(crate) async fn count_document_memories(
    State(state): State<DocumentsState>,
    State(app): State<App>,
    Auth { tenant, .. }: Auth<ReadContent>,
    Path(namespace): Path<String>,
    Json(request): Json<CountRequest>,
) -> ApiResult<Json<CountResponse>> {
    let scope = namespace_scope(&namespace)?;
    let (documents, _) = find_by_ids(&app, &tenant, &request.ids, &scope).await?;
    let memory_counts = count_memories(&state, &tenant, &documents).await?;

    let mut counts = Vec::with_capacity(documents.len());
    for (document, memory_count) in documents.iter().zip(memory_counts) {
        counts.push(MemoryCount {
            id: public_id(&document.id, document.custom_id.as_ref()),
            memory_count,
        });
    }
    Ok(Json(CountResponse { counts }))
}

/// Describes the operations of this module.
pub(super) fn operations() -> Vec<Operation> {
    vec![
        Operation::post("/ns/{namespace}/list/documents", "list_namespace_documents")
            .group(GROUP)
            .summary("List the documents of a namespace, newest first unless asked otherwise.")
            .description("The lists of chunks and memories are empty.")
            .path_parameter::<ContainerTag>("namespace", NAMESPACE)
            .query::<PageQuery>()
            .optional_body::<ListRequest>(json!({
                "filter": {"field": "year", "operator": "gte", "value": 2020},
                "include": {"memoryCount": true},
            }))
            .answer::<ItemPage<ListedDocument, NoItem, NoItem>>(
                "A page of documents.",
                json!({
                    "documents": [{
                        "id": "note-17",
                        "title": null,
                        "type": "text",
                        "summary": null,
                        "metadata": {"source": "diary"},
                        "url": null,
                        "system": system_example(),
                    }],
                    "chunks": [],
                    "memories": [],
                    "pagination": {
                        "currentPage": 1,
                        "limit": 10,
                        "totalItems": 1,
                        "totalPages": 1,
                    },
                }),
            )
            .error(ErrorAnswer::Invalid, ""),
        Operation::post(
            "/ns/{namespace}/list/documents/memory-counts",
            "count_namespace_memories",
        )
        .group(GROUP)
        .summary("Count the memories of some documents of a namespace.")
        .description("Documents that are not found are left out.")
        .path_parameter::<ContainerTag>("namespace", NAMESPACE)
        .body::<CountRequest>(json!({"ids": ["note-17"]}))
        .answer::<CountResponse>(
            "The numbers of memories.",
            json!({"counts": [{"id": "note-17", "memoryCount": 3}]}),
        )
        .error(ErrorAnswer::Invalid, ""),
    ]
}
