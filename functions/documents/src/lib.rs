//! Adding, reading, listing, changing, retrying and deleting documents: `/v3/documents*`, the older
//! paths `/v3/memories*`, and `/v4/conversations`.

mod add;
mod batch;
mod common_fields;
mod conversations;
mod delete_bulk;
mod document;
mod files;
mod list;
mod memories;
mod namespaces;
mod processing;
mod update;
mod upload;
mod wait;
mod wire;
mod with_memories;

use std::sync::Arc;

use axum::extract::{DefaultBodyLimit, FromRef};
use axum::routing::{delete, get, post};
use axum::{Extension, Router};
use container_index::{
    CacheSettings, IndexedDocuments, IndexedMemories, SegmentReading, ViewCache,
};
use domain::{Result, Tenant};
use edge::App;
use openapi::Operation;
use service::{DocumentPage, ListQuery, ServedDocuments, list_documents};

pub use upload::MAX_FILE_BYTES;
use upload::{DirectFileBytes, FORM_BYTES};

/// The most bytes of a file in a request to a Lambda function: 6 MB as base64, less the form around
/// it.
pub const LAMBDA_FILE_BYTES: usize = 4 * 1024 * 1024;
/// The bytes of warm memories that fit into a function of 512 MB besides everything else.
const LEDGER_BYTES: usize = 128 * 1024 * 1024;
/// The bytes of the cache of indexes that lists read.
const DOCUMENT_INDEX_BYTES: usize = 64 * 1024 * 1024;

/// The state of these routes: the ports, the warm memories for answers that include them, and the warm indexes
/// for lists.
#[derive(Clone)]
struct DocumentsState {
    app: App,
    ledgers: Arc<ViewCache<IndexedMemories<()>>>,
    document_indexes: Arc<ViewCache<IndexedDocuments>>,
}

impl DocumentsState {
    /// Lists documents, those of large containers by their indexes.
    async fn list_documents(&self, tenant: &Tenant, query: &ListQuery) -> Result<DocumentPage> {
        let indexes = Some(&*self.document_indexes as &dyn ServedDocuments);
        list_documents(&self.app.ctx, tenant, query, indexes).await
    }
}

impl FromRef<DocumentsState> for App {
    fn from_ref(state: &DocumentsState) -> Self {
        state.app.clone()
    }
}

/// Returns the routes of this function, which accept files of up to `direct_file_bytes` in a
/// request. Larger files have to be uploaded. `reading` chooses the parts of segments that are read when
/// the memories of a container are opened.
pub fn router(app: App, direct_file_bytes: usize, reading: SegmentReading) -> Router {
    let document_routes = || {
        get(document::get_document)
            .patch(update::patch_document)
            .delete(document::delete_document)
    };

    let file_limit = DefaultBodyLimit::max(direct_file_bytes + FORM_BYTES);
    let batch_limit = DefaultBodyLimit::max(batch::MAX_BODY_BYTES);
    let file_routes = || post(upload::add_file).layer(file_limit);
    let batch_routes = || post(batch::add_batch).layer(batch_limit);

    Router::new()
        .route("/health", get(|| async { "ok" }))
        .route("/healthz", get(|| async { "ok" }))
        .route("/v3/documents", post(add::add_document))
        .route("/v3/documents/batch", batch_routes())
        .route("/v3/documents/bulk", delete(delete_bulk::delete_bulk))
        .route(
            "/v3/documents/documents",
            post(with_memories::list_with_memories),
        )
        .route(
            "/v3/documents/documents/by-ids",
            post(with_memories::get_by_ids),
        )
        .route("/v3/documents/file", file_routes())
        .route("/v3/documents/file/uploads", post(files::begin_file_upload))
        .route("/v3/documents/list", post(list::list_documents))
        .route("/v3/documents/processing", get(processing::list_processing))
        .route("/v3/documents/{id}", document_routes())
        .route("/v3/documents/{id}/chunks", get(document::list_chunks))
        .route("/v3/documents/{id}/file-url", get(files::get_file_url))
        .route("/v3/documents/{id}/retry", post(update::post_retry))
        // compat: older TypeScript clients use `memories` in these paths where the others use
        // `documents`.
        .route("/v3/memories", post(add::add_document))
        .route("/v3/memories/batch", batch_routes())
        .route("/v3/memories/bulk", delete(delete_bulk::delete_bulk))
        .route("/v3/memories/file", file_routes())
        .route("/v3/memories/list", post(list::list_documents))
        .route("/v3/memories/{id}", document_routes())
        .route("/v4/conversations", post(conversations::add_conversation))
        .route(
            "/ns/{namespace}/document",
            post(namespaces::add::add_document).delete(namespaces::document::delete_documents),
        )
        .route(
            "/ns/{namespace}/document/batch",
            post(namespaces::batch::add_batch).layer(batch_limit),
        )
        .route(
            "/ns/{namespace}/document/file",
            post(namespaces::files::add_file).layer(file_limit),
        )
        .route(
            "/ns/{namespace}/document/file/{id}",
            post(namespaces::files::replace_with_file)
                .patch(namespaces::files::update_with_file)
                .layer(file_limit),
        )
        .route(
            "/ns/{namespace}/document/{id}",
            get(namespaces::document::get_document).patch(namespaces::update::patch_document),
        )
        .route(
            "/ns/{namespace}/list/documents",
            post(namespaces::list::list_namespace_documents),
        )
        .route(
            "/ns/{namespace}/list/documents/memory-counts",
            post(namespaces::list::count_document_memories),
        )
        .layer(Extension(DirectFileBytes(direct_file_bytes)))
        .with_state(DocumentsState {
            app,
            ledgers: Arc::new(ViewCache::new(CacheSettings::new(LEDGER_BYTES, reading))),
            document_indexes: Arc::new(ViewCache::new(CacheSettings::new(
                DOCUMENT_INDEX_BYTES,
                reading.of_little(),
            ))),
        })
}

/// Describes the operations of this function.
pub fn operations() -> Vec<Operation> {
    [
        add::operations(),
        batch::operations(),
        delete_bulk::operations(),
        conversations::operations(),
        files::operations(),
        list::operations(),
        namespaces::operations(),
        document::operations(),
        processing::operations(),
        update::operations(),
        upload::operations(),
        with_memories::operations(),
    ]
    .concat()
}
