//! Every function's routes in one router: the same routers that Lambda serves.

use axum::Router;
use edge::App;

/// All routes, keeping up to `cache_bytes` of search indexes warm.
pub fn routes(app: &App, cache_bytes: usize) -> Router {
    let documents = documents::router(app.clone());
    let recall = recall::router(app.clone(), cache_bytes);
    edge::finish(documents.merge(recall))
}
