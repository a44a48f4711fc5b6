//! Requests about one document by its id or customId: read and delete it, and list its chunks.

use axum::extract::State;
use domain::{ContainerTag, Document, DocumentId, Pack, Result, Tenant, Timestamp};
use edge::{
    ApiResult, App, Auth, Json, MemoryVersion, Path, Query, ReadContent, WriteContent, parse_scope,
};
use http::StatusCode;
use memory_model::Memory;
use openapi::{ErrorAnswer, Operation, PathId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use service::{
    ContainerScope, add_documents_with_same_custom_ids, find_document, read_document_text,
    read_served_pack, remove_documents,
};

use crate::DocumentsState;
use crate::memories::read_memories;
use crate::wire::FullDocument;

/// The description of the id in a path.
pub(crate) const DOCUMENT_ID: &str = "The id or the customId of a document.";
/// The description of the error of a document that does not exist.
pub(crate) const NO_DOCUMENT: &str = "There is no such document.";
/// The description of the error of a customId that several containers have.
pub(crate) const SEVERAL_DOCUMENTS: &str = "Several containers have a document with this \
    customId. Add the query parameter `containerTag`.";

/// The container tag that distinguishes equal customIds of several containers.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct DocumentScopeQuery {
    /// The container tag, if documents of several containers have this customId.
    #[schemars(with = "Option<ContainerTag>")]
    container_tag: Option<String>,
}

impl DocumentScopeQuery {
    pub(crate) fn scope(&self) -> domain::Result<ContainerScope> {
        parse_scope(self.container_tag.as_deref(), None)
    }
}

pub(crate) async fn get_document(
    State(state): State<DocumentsState>,
    Auth { tenant, .. }: Auth<ReadContent>,
    Path(id): Path<String>,
    Query(query): Query<DocumentScopeQuery>,
) -> ApiResult<Json<FullDocument>> {
    let ctx = &state.app.ctx;
    let document = find_document(ctx, &tenant, &id, &query.scope()?).await?;
    let (text, memories) = tokio::try_join!(
        read_document_text(ctx, &tenant, &document),
        load_memories(&state, &tenant, &document, MemoryVersion::new),
    )?;
    let names = state.app.provider_names;
    Ok(Json(FullDocument::new(names, &document, text, memories)))
}

/// Returns the present memories from a document, each in the shape that `shape` gives it at this
/// time. The memories of its container are not opened if the document has none to show.
pub(crate) async fn load_memories<T>(
    state: &DocumentsState,
    tenant: &Tenant,
    document: &Document,
    shape: fn(&Memory, Timestamp) -> T,
) -> Result<Vec<T>> {
    let now = state.app.ctx.clock.now();
    let document = std::slice::from_ref(document);
    let memories = read_memories(state, tenant, document, |document, ledger| {
        let memories = ledger.memories_of_document(&document.id).into_iter();
        memories
            .map(|memory| shape(&memory, now))
            .collect::<Vec<T>>()
    })
    .await?;
    Ok(memories.into_iter().flatten().flatten().collect())
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

/// The chunks of a document.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ChunksResponse {
    /// The id of the document.
    document_id: DocumentId,
    /// The chunks, in the order of the text.
    chunks: Vec<WireChunk>,
    /// The number of chunks.
    total: usize,
}

/// A part of the text of a document.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Chunk")]
struct WireChunk {
    /// The id of the document and the position of the chunk.
    #[schemars(regex(pattern = "^[A-Za-z0-9]{22}-[0-9]+$"))]
    id: String,
    /// The position among the chunks, from 0.
    position: usize,
    // compat: the command line of the TypeScript client prints this field.
    /// The same as `position`.
    index: usize,
    /// Its text.
    content: String,
    /// Always `text`.
    #[schemars(extend("const" = "text"))]
    r#type: &'static str,
    /// The place in the text of the document.
    metadata: ChunkPlace,
    /// The time of the last change of the document.
    created_at: Timestamp,
}

/// The place of a chunk in the text of its document.
#[derive(Debug, Serialize, JsonSchema)]
struct ChunkPlace {
    /// The first character.
    start: usize,
    /// The character after the last one.
    end: usize,
    /// The headings above it, the outermost first.
    headings: Vec<String>,
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
        Some(pack) => chunk_shapes(&pack, &document.id, document.updated_at),
        None => Vec::new(),
    };

    Ok(Json(ChunksResponse {
        document_id: document.id,
        total: chunks.len(),
        chunks,
    }))
}

fn chunk_shapes(pack: &Pack, document: &DocumentId, created_at: Timestamp) -> Vec<WireChunk> {
    let mut shapes = Vec::with_capacity(pack.chunks.len());
    for (position, (chunk, text)) in pack.chunks.iter().zip(pack.chunk_texts()).enumerate() {
        shapes.push(WireChunk {
            id: document.chunk_id(position),
            position,
            index: position,
            content: text.to_owned(),
            r#type: "text",
            metadata: ChunkPlace {
                start: chunk.start,
                end: chunk.end,
                headings: chunk.headings.clone(),
            },
            created_at,
        });
    }

    shapes
}

/// Describes the operations of this module.
pub(crate) fn operations() -> Vec<Operation> {
    let get = Operation::get("/v3/documents/{id}", "get_document")
        .group("Documents")
        .summary("Get a document by id or customId.")
        .description("A document can be read as soon as it is accepted.")
        .path_parameter::<PathId>("id", DOCUMENT_ID)
        .query::<DocumentScopeQuery>()
        .answer::<FullDocument>(
            "The document with its text.",
            json!({
                "id": "acxV5LHMEsG2hMSNb4umbn",
                "customId": null,
                "connectionId": null,
                "title": "Survey of the north bank",
                "summary": null,
                "status": "failed",
                "type": "pdf",
                "metadata": null,
                "filepath": null,
                "createdAt": "2026-03-01T09:30:00.000Z",
                "updatedAt": "2026-03-01T09:30:02.120Z",
                "containerTag": "user_42",
                "containerTags": ["user_42"],
                "errorCode": "encrypted",
                "errorMessage": "The file is protected by a password.",
                "content": null,
                "raw": null,
                "source": null,
                "ogImage": null,
                "properties": {"pageCount": "12"},
                "taskType": "memory",
                "dreamingStatus": "done",
                "latestRevision": 1,
            }),
        )
        .error(ErrorAnswer::Invalid, "")
        .error(ErrorAnswer::NotFound, NO_DOCUMENT)
        .error(ErrorAnswer::Conflict, SEVERAL_DOCUMENTS);
    let delete = Operation::delete("/v3/documents/{id}", "delete_document")
        .group("Content Management")
        .summary("Delete a document in whatever state it is.")
        .description("No search that starts after the answer finds it.")
        .path_parameter::<PathId>("id", DOCUMENT_ID)
        .query::<DocumentScopeQuery>()
        .empty_answer(204, "The document is deleted.")
        .error(ErrorAnswer::Invalid, "")
        .error(ErrorAnswer::NotFound, NO_DOCUMENT)
        .error(ErrorAnswer::Conflict, SEVERAL_DOCUMENTS);
    let chunks = Operation::get("/v3/documents/{id}/chunks", "list_chunks")
        .group("Documents")
        .summary("List the chunks that search serves of a document.")
        .description("There are none before the document is first `done`.")
        .path_parameter::<PathId>("id", DOCUMENT_ID)
        .query::<DocumentScopeQuery>()
        .answer::<ChunksResponse>(
            "The chunks, in the order of the text.",
            json!({
                "documentId": "acxV5LHMEsG2hMSNb4umbn",
                "chunks": [
                    {
                        "id": "acxV5LHMEsG2hMSNb4umbn-0",
                        "position": 0,
                        "index": 0,
                        "content": "The heron waits in the reeds of the north bank.",
                        "type": "text",
                        "metadata": {"start": 0, "end": 47, "headings": ["Birds"]},
                        "createdAt": "2026-03-01T09:30:02.120Z",
                    },
                ],
                "total": 1,
            }),
        )
        .error(ErrorAnswer::Invalid, "")
        .error(ErrorAnswer::NotFound, NO_DOCUMENT)
        .error(ErrorAnswer::Conflict, SEVERAL_DOCUMENTS);

    let aliases = [&get, &delete].map(|operation| operation.alias("/v3/memories/{id}"));
    [vec![get, delete, chunks], aliases.to_vec()].concat()
}
