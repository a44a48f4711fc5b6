//! `GET /ns/{namespace}/document/{id}` and `DELETE /ns/{namespace}/document`: reads a document, and
//! deletes several.

use axum::extract::State;
use domain::{ContainerTag, Document, DocumentStatus, DocumentType, Metadata, Pack, Timestamp};
use edge::{
    ApiResult, App, Auth, CreatedAt, IncludeQuery, Json, NamespaceChunk, NamespaceMemory, Path,
    ReadContent, WriteContent, namespace_scope, public_id,
};
use openapi::{ErrorAnswer, Operation, PathId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use service::{find_document, read_document_text, read_served_pack, remove_documents};

use super::{GROUP, NAMESPACE};
use crate::DocumentsState;
use crate::delete_bulk::{BulkError, MAX_IDS, find_by_ids};
use crate::document::{DOCUMENT_ID, NO_DOCUMENT, load_memories};
use crate::wire::dreaming_status;

/// The parts that are included in the answer.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "describes what `IncludeQuery` reads")]
pub(crate) struct IncludedParts {
    /// `chunks`, `memories`, or both with a comma between them.
    include: Option<String>,
}

/// A document with its text.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "NamespaceDocument")]
pub(crate) struct FullDocument {
    /// The caller's own id, or else that of the document.
    id: String,
    /// The title found in the content, or the name of the file.
    title: Option<String>,
    /// The type of its content.
    r#type: DocumentType,
    /// A few sentences of it. Null if there are none.
    summary: Option<String>,
    /// The text that was extracted from the content. Before that, the text or the address that was
    /// sent; null if there is none.
    content: Option<String>,
    /// The caller's own keys.
    metadata: Metadata,
    /// Its processing and times.
    system: DocumentSystem,
    /// Its chunks, if the request includes them.
    #[serde(skip_serializing_if = "Option::is_none")]
    chunks: Option<Vec<NamespaceChunk>>,
    /// The memories from it, if the request includes them.
    #[serde(skip_serializing_if = "Option::is_none")]
    memories: Option<Vec<NamespaceMemory>>,
}

/// The processing and the times of a document.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "NamespaceDocumentSystem")]
pub(super) struct DocumentSystem {
    /// The status of its processing.
    status: DocumentStatus,
    /// `dreaming` while memories may still form.
    #[schemars(extend("enum" = ["dreaming", "done"]))]
    dreaming_status: &'static str,
    /// The number of its memories, in a list that includes it.
    #[serde(skip_serializing_if = "Option::is_none")]
    memory_count: Option<usize>,
    /// The time of creation.
    created_at: Timestamp,
    /// The time of the last change.
    updated_at: Timestamp,
}

impl DocumentSystem {
    pub(super) fn new(document: &Document, memory_count: Option<usize>) -> Self {
        Self {
            status: document.status,
            dreaming_status: dreaming_status(document),
            memory_count,
            created_at: document.created_at,
            updated_at: document.updated_at,
        }
    }
}

pub(crate) async fn get_document(
    State(state): State<DocumentsState>,
    Auth { tenant, .. }: Auth<ReadContent>,
    Path((namespace, id)): Path<(String, String)>,
    include: IncludeQuery,
) -> ApiResult<Json<FullDocument>> {
    let ctx = &state.app.ctx;
    let document = find_document(ctx, &tenant, &id, &namespace_scope(&namespace)?).await?;
    let content = read_document_text(ctx, &tenant, &document);
    let chunks = async {
        if !include.contains("chunks") {
            return Ok(None);
        }
        let pack = read_served_pack(ctx, &tenant, &document).await?;
        let chunks = pack.map_or_else(Vec::new, |pack| chunk_shapes(&document, &pack));
        Ok(Some(chunks))
    };
    let memories = async {
        if !include.contains("memories") {
            return Ok(None);
        }
        let shape = NamespaceMemory::new;
        let memories = load_memories(&state, &tenant, &document, shape).await?;
        Ok(Some(memories))
    };
    let (content, chunks, memories) = tokio::try_join!(content, chunks, memories)?;

    Ok(Json(FullDocument {
        id: public_id(&document.id, document.custom_id.as_ref()),
        title: document.display_title().map(str::to_owned),
        r#type: document.display_type(),
        summary: document.summary().map(str::to_owned),
        content,
        metadata: document.metadata.clone(),
        system: DocumentSystem::new(&document, None),
        chunks,
        memories,
    }))
}

fn chunk_shapes(document: &Document, pack: &Pack) -> Vec<NamespaceChunk> {
    let mut shapes = Vec::with_capacity(pack.chunks.len());
    for (position, (chunk, text)) in pack.chunks.iter().zip(pack.chunk_texts()).enumerate() {
        shapes.push(NamespaceChunk {
            id: document.id.chunk_id(position),
            position,
            content: text.to_owned(),
            r#type: "text",
            metadata: NamespaceChunk::place(chunk.start, chunk.end, &chunk.headings),
            system: CreatedAt {
                created_at: document.updated_at,
            },
        });
    }
    shapes
}

/// The documents to delete.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "DeleteNamespaceDocumentsRequest")]
pub(crate) struct DeleteRequest {
    /// Ids or the caller's own ids.
    #[schemars(length(min = 1, max = MAX_IDS))]
    ids: Vec<String>,
}

/// The number of documents that were deleted, and the ids that were not found.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "DeleteNamespaceDocumentsResponse")]
pub(crate) struct DeleteResponse {
    /// The number of documents that were deleted.
    count: usize,
    /// The ids that were not found.
    errors: Vec<BulkError>,
}

pub(crate) async fn delete_documents(
    State(app): State<App>,
    Auth { tenant, .. }: Auth<WriteContent>,
    Path(namespace): Path<String>,
    Json(request): Json<DeleteRequest>,
) -> ApiResult<Json<DeleteResponse>> {
    let scope = namespace_scope(&namespace)?;
    let (documents, errors) = find_by_ids(&app, &tenant, &request.ids, &scope).await?;
    let count = remove_documents(&app.ctx, &tenant, documents, |_| true).await?;
    Ok(Json(DeleteResponse { count, errors }))
}

/// Describes the operations of this module.
pub(super) fn operations() -> Vec<Operation> {
    vec![
        Operation::get("/ns/{namespace}/document/{id}", "get_namespace_document")
            .group(GROUP)
            .summary("Get a document of a namespace.")
            .description("A document can be read as soon as it is accepted.")
            .path_parameter::<ContainerTag>("namespace", NAMESPACE)
            .path_parameter::<PathId>("id", DOCUMENT_ID)
            .query::<IncludedParts>()
            .answer::<FullDocument>(
                "The document with its text.",
                json!({
                    "id": "note-17",
                    "title": null,
                    "type": "text",
                    "summary": null,
                    "content": "The heron waits in the reeds of the north bank.",
                    "metadata": {"source": "diary"},
                    "system": system_example(),
                }),
            )
            .error(ErrorAnswer::Invalid, "")
            .error(ErrorAnswer::NotFound, NO_DOCUMENT),
        Operation::delete("/ns/{namespace}/document", "delete_namespace_documents")
            .group(GROUP)
            .summary("Delete documents of a namespace.")
            .description(
                "Ids that are not found are listed as errors, and the others are deleted. No search \
                 that starts after the answer finds them.",
            )
            .path_parameter::<ContainerTag>("namespace", NAMESPACE)
            .body::<DeleteRequest>(json!({"ids": ["note-17"]}))
            .answer::<DeleteResponse>(
                "The number of documents that were deleted.",
                json!({"count": 1, "errors": []}),
            )
            .error(ErrorAnswer::Invalid, ""),
    ]
}

/// Returns an example of the processing and the times of a document.
pub(super) fn system_example() -> serde_json::Value {
    json!({
        "status": "done",
        "dreamingStatus": "done",
        "createdAt": "2026-03-01T09:30:00.000Z",
        "updatedAt": "2026-03-01T09:30:02.120Z",
    })
}
