//! Descriptions of containers, and operations on whole containers: `/v3/container-tags`.

mod delete;
mod list;
mod merge;
mod one;

use std::sync::Arc;

use axum::Router;
use axum::extract::FromRef;
use axum::routing::{get, post};
use container_index::{IndexedMemories, ViewCache};
use edge::App;
use openapi::Operation;

/// The bytes of warm memories. This function only counts memories, and rarely.
const CACHE_BYTES: usize = 64 * 1024 * 1024;

/// The state of these routes: the ports and the warm memories.
#[derive(Clone)]
struct TagsState {
    app: App,
    ledgers: Arc<ViewCache<IndexedMemories<()>>>,
}

impl FromRef<TagsState> for App {
    fn from_ref(state: &TagsState) -> Self {
        state.app.clone()
    }
}

/// Returns the routes of this function.
pub fn router(app: App) -> Router {
    let one = get(one::get_container_tag).patch(one::update_container_tag);
    Router::new()
        .route("/v3/container-tags/list", get(list::list_container_tags))
        .route(
            "/v3/container-tags/merge",
            post(merge::merge_container_tags),
        )
        .route("/v3/container-tags/merge/{mergeId}", get(merge::get_merge))
        .route(
            "/v3/container-tags/deletions/{deletionId}",
            get(delete::get_deletion),
        )
        .route(
            "/v3/container-tags/{tag}",
            one.delete(delete::delete_container_tag),
        )
        .with_state(TagsState {
            app,
            ledgers: Arc::new(ViewCache::new(CACHE_BYTES)),
        })
}

/// Describes the operations of this function.
pub fn operations() -> Vec<Operation> {
    [
        list::operations(),
        one::operations(),
        delete::operations(),
        merge::operations(),
    ]
    .concat()
}
