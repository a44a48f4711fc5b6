//! Recall: `/v4/search` and `/v3/search`.

mod engine;
mod v3;
mod v4;

use std::sync::Arc;

use axum::Router;
use axum::extract::FromRef;
use axum::routing::post;
use edge::App;
use index::Cache;

/// The bytes of warm indexes that fit a function of 1.5 GB beside everything else.
pub const LAMBDA_CACHE_BYTES: usize = 1024 * 1024 * 1024;

/// The state of these routes: the ports and the warm indexes.
#[derive(Clone)]
struct Recall {
    app: App,
    cache: Arc<Cache>,
}

impl FromRef<Recall> for App {
    fn from_ref(recall: &Recall) -> Self {
        recall.app.clone()
    }
}

/// The routes of this function, keeping up to `cache_bytes` of indexes warm.
pub fn router(app: App, cache_bytes: usize) -> Router {
    Router::new()
        .route("/v4/search", post(v4::search))
        .route("/v3/search", post(v3::search))
        .with_state(Recall { app, cache: Arc::new(Cache::new(cache_bytes)) })
}
