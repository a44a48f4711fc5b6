//! Requests about one document by its id or customId: read and delete it, and list its chunks.

use axum::extract::State;
use domain::{Document, Pack, Result, TaskType, Tenant, Timestamp};
use edge::{
    ApiResult, App, Auth, Json, MemoryVersion, Path, Query, ReadContent, WriteContent, parse_scope,
};
use http::StatusCode;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use service::{
    ContainerScope, add_documents_with_same_custom_ids, find_document, read_document_text,
    read_served_pack, remove_documents,
};

use crate::DocumentsState;
use crate::wire::FullDocument;

/// The container tag that distinguishes equal customIds of several containers.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct DocumentScopeQuery {
    container_tag: Option<String>,
}

impl DocumentScopeQuery {
    pub(crate) fn scope(&self) -> domain::Result<ContainerScope> {
        parse_scope(self.container_tag.as_deref(), None)
    }
}

pub(crate) async fn get_document(
    State(service): State<DocumentsState>,
    Auth { tenant, .. }: Auth<ReadContent>,
    Path(id): Path<String>,
    Query(query): Query<DocumentScopeQuery>,
) -> ApiResult<Json<FullDocument>> {
    let ctx = &service.app.ctx;
    let document = find_document(ctx, &tenant, &id, &query.scope()?).await?;
    let text = read_document_text(ctx, &tenant, &document).await?;
    let memories = load_memories(&service, &tenant, &document).await?;
    Ok(Json(FullDocument::new(&document, text, memories)))
}

/// Returns the present memories from a document. The memories of its container are not opened if
/// the document has none to show.
async fn load_memories(
    service: &DocumentsState,
    tenant: &Tenant,
    document: &Document,
) -> Result<Vec<MemoryVersion>> {
    if !shows_memories(document) {
        return Ok(Vec::new());
    }

    let ctx = &service.app.ctx;
    let memories = service
        .ledgers
        .open(ctx, tenant, &document.container)
        .await?;
    let now = ctx.clock.now();
    let document_memories = memories.ledger().memories_of_document(&document.id);

    Ok(document_memories
        .into_iter()
        .map(|memory| MemoryVersion::new(memory, now))
        .collect())
}

/// Checks whether search serves statements of the document. A document that is processed into
/// chunks only shows no memories, even if it had some before.
pub(crate) fn shows_memories(document: &Document) -> bool {
    let Some(indexed) = &document.indexed else {
        return false;
    };
    indexed.statements_blob().is_some() && document.task_type == TaskType::Memory
}

pub(crate) async fn delete_document(
    State(app): State<App>,
    Auth { tenant, .. }: Auth<WriteContent>,
    Path(id): Path<String>,
    Query(query): Query<DocumentScopeQuery>,
) -> ApiResult<StatusCode> {
    let document = find_document(&app.ctx, &tenant, &id, &query.scope()?).await?;
    let documents = add_documents_with_same_custom_ids(&app.ctx, &tenant, vec![document]).await?;
    remove_documents(&app.ctx, &tenant, documents, |_| true).await?;
    Ok(StatusCode::NO_CONTENT)
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ChunksResponse {
    document_id: String,
    chunks: Vec<WireChunk>,
    total: usize,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct WireChunk {
    id: String,
    position: usize,
    content: String,
    r#type: &'static str,
    metadata: Value,
    created_at: Timestamp,
}

pub(crate) async fn list_chunks(
    State(app): State<App>,
    Auth { tenant, .. }: Auth<ReadContent>,
    Path(id): Path<String>,
    Query(query): Query<DocumentScopeQuery>,
) -> ApiResult<Json<ChunksResponse>> {
    let document = find_document(&app.ctx, &tenant, &id, &query.scope()?).await?;
    let pack = read_served_pack(&app.ctx, &tenant, &document).await?;
    let chunks = match pack {
        Some(pack) => chunk_shapes(&pack, document.id.as_str(), document.updated_at),
        None => Vec::new(),
    };

    Ok(Json(ChunksResponse {
        document_id: document.id.to_string(),
        total: chunks.len(),
        chunks,
    }))
}

fn chunk_shapes(pack: &Pack, document: &str, created_at: Timestamp) -> Vec<WireChunk> {
    let mut shapes = Vec::with_capacity(pack.chunks.len());
    for (position, (chunk, text)) in pack.chunks.iter().zip(pack.chunk_texts()).enumerate() {
        shapes.push(WireChunk {
            id: format!("{document}-{position}"),
            position,
            content: text.to_owned(),
            r#type: "text",
            metadata: json!({"start": chunk.start, "end": chunk.end, "headings": chunk.headings}),
            created_at,
        });
    }

    shapes
}
