//! Memories: `/v4/memories*`, the inferences from them under `/v3/container-tags`, and the memories
//! of a namespace.

mod container_memories;
mod fields;
mod forget;
mod inferred;
mod list;
mod matching;
mod namespaces;
mod page;
mod update;
mod write;

use std::sync::Arc;

use axum::Router;
use axum::extract::FromRef;
use axum::routing::{delete, get, post};
use container_index::{CacheSettings, IndexedMemories, ViewCache};
use edge::App;
use openapi::Operation;

/// The bytes of warm memories that fit into a function of 1 GB besides everything else.
pub const LAMBDA_CACHE_BYTES: usize = 640 * 1024 * 1024;

/// The state of these routes: the ports and the warm memories.
#[derive(Clone)]
struct MemoriesState {
    app: App,
    ledgers: Arc<ViewCache<IndexedMemories<()>>>,
    /// Memories with an index, for requests that search by a question.
    searchable: Arc<ViewCache<IndexedMemories>>,
}

impl FromRef<MemoriesState> for App {
    fn from_ref(state: &MemoriesState) -> Self {
        state.app.clone()
    }
}

/// Returns the routes of this function, which keep memories warm in a cache with these settings.
pub fn router(app: App, cache: CacheSettings) -> Router {
    let half = cache.with_bytes(cache.bytes / 2);
    let memories = || {
        post(write::create_memories)
            .patch(update::update_memory)
            .delete(forget::forget_memory)
    };

    Router::new()
        .route("/v4/memories", memories())
        .route(
            "/v4/memories/forget-matching",
            post(matching::forget_matching),
        )
        .route("/v4/memories/list", post(list::list_memories))
        .route(
            "/v3/container-tags/{tag}/inferred",
            get(inferred::list_inferred),
        )
        .route(
            "/v3/container-tags/{tag}/inferred/{memoryId}/review",
            post(inferred::review_inferred),
        )
        .route(
            "/ns/{namespace}/list/memories",
            post(namespaces::list::list_namespace_memories),
        )
        .route(
            "/ns/{namespace}/memories",
            delete(namespaces::forget::forget_by_ids),
        )
        .route(
            "/ns/{namespace}/memories/semantic",
            delete(namespaces::forget::forget_by_question),
        )
        .route(
            "/ns/{namespace}/memories/{id}",
            get(namespaces::one::get_namespace_memory),
        )
        .with_state(MemoriesState {
            app,
            ledgers: Arc::new(ViewCache::new(half)),
            searchable: Arc::new(ViewCache::new(half)),
        })
}

/// Describes the operations of this function, other than the list of memories.
pub fn operations() -> Vec<Operation> {
    [
        write::operations(),
        update::operations(),
        forget::operations(),
        matching::operations(),
        inferred::operations(),
        list::operations(),
        namespaces::operations(),
    ]
    .concat()
}
