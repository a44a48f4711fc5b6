//! Ingestion and listing: `/v3/documents*` and `/v4/conversations`.

mod add;
mod conversations;
mod list;
mod one;
mod processing;
mod upload;
mod wire;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::routing::{get, post};
use edge::App;

/// The routes of this function.
pub fn router(app: App) -> Router {
    let file = post(upload::add_file).layer(DefaultBodyLimit::max(upload::MAX_BODY_BYTES));
    Router::new()
        .route("/health", get(|| async { "ok" }))
        .route("/v3/documents", post(add::add_document))
        .route("/v3/documents/file", file)
        .route("/v3/documents/list", post(list::list_documents))
        .route("/v3/documents/processing", get(processing::list_processing))
        .route("/v3/documents/{id}", get(one::get_document).delete(one::delete_document))
        .route("/v3/documents/{id}/chunks", get(one::list_chunks))
        .route("/v4/conversations", post(conversations::add_conversation))
        .with_state(app)
}
