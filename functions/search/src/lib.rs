//! Search and profiles: `/v4/search`, `/v3/search`, `/v4/profile`, the profile of a container tag,
//! and the same of a namespace.

mod boosts;
mod engine;
mod mask;
mod namespaces;
mod profile;
mod questions;
mod rank;
mod recall_service;
mod related;
mod rerank;
mod rerank_model;
mod rows;
mod run;
mod summaries;
mod v3;
mod v4;

use std::sync::Arc;

use axum::Router;
use axum::extract::FromRef;
use axum::routing::{get, post};
use container_index::{CacheSettings, IndexedChunks, IndexedMemories, SegmentReading, ViewCache};
use edge::App;
use lambda::Deployment;
use openapi::Operation;

pub use rank::MEMORY_SHARE;
pub use recall_service::{RecallService, task_routes};
pub use v4::DEFAULT_THRESHOLD;

/// The bytes of warm indexes that fit into a function of 1.5 GB besides everything else.
pub const LAMBDA_CACHE_BYTES: usize = 1024 * 1024 * 1024;

/// The state of these routes: the ports and the warm indexes.
#[derive(Clone)]
struct SearchState {
    app: App,
    chunks: Arc<ViewCache<IndexedChunks>>,
    memories: Arc<ViewCache<IndexedMemories>>,
    sorters: Arc<profile::SorterCache>,
    questions: Arc<questions::QuestionEmbedder>,
    reranker: Arc<dyn rerank::Reranker>,
}

impl FromRef<SearchState> for App {
    fn from_ref(state: &SearchState) -> Self {
        state.app.clone()
    }
}

/// Returns the settings of a cache of so many bytes for a process on AWS, which reads segments over a
/// network.
pub fn network_cache(bytes: usize) -> CacheSettings {
    CacheSettings::new(bytes, SegmentReading::OVER_NETWORK)
}

/// Adds the models of the deployment to the state of the routers.
pub fn with_models(app: App, deployment: &Deployment) -> App {
    let models = deployment.model_client();
    app.with_embedder(models.embedder())
        .with_rerank_model(models.rerank_model())
}

/// Returns the routes of this function, which keep indexes warm.
pub fn router(app: App, cache: impl Into<CacheSettings>) -> Router {
    let cache = cache.into();
    let half = cache.with_bytes(cache.bytes / 2);
    Router::new()
        .route("/v4/search", post(v4::search_memories))
        .route("/v3/search", post(v3::search_documents))
        .route("/v4/profile", post(profile::get_profile))
        .route("/v4/profile/buckets", post(profile::list_buckets))
        .route(
            "/v3/container-tags/{tag}/profile",
            get(profile::get_tag_profile),
        )
        .route(
            "/ns/{namespace}/search",
            post(namespaces::search::search_namespace),
        )
        .route(
            "/ns/{namespace}/profile",
            post(namespaces::profile::get_namespace_profile),
        )
        .route(
            "/ns/{namespace}/list/chunks",
            post(namespaces::chunks::list_namespace_chunks),
        )
        .with_state(SearchState {
            questions: Arc::new(questions::QuestionEmbedder::new(app.embedder.clone())),
            reranker: rerank_model::build_reranker(app.rerank_model.clone()),
            app,
            chunks: Arc::new(ViewCache::new(half)),
            memories: Arc::new(ViewCache::new(half)),
            sorters: Arc::default(),
        })
}

/// Describes the operations of this function.
pub fn operations() -> Vec<Operation> {
    [
        v4::operations(),
        v3::operations(),
        profile::operations(),
        namespaces::operations(),
    ]
    .concat()
}
