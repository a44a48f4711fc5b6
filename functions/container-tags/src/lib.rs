//! Descriptions of containers, and operations on whole containers: `/v3/container-tags` and `/ns`.

mod delete;
mod list;
mod merge;
mod namespaces;
mod one;

use std::sync::Arc;

use axum::Router;
use axum::extract::FromRef;
use axum::routing::{get, post};
use container_index::{CacheSettings, IndexedMemories, SegmentReading, ViewCache};
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

/// Returns the routes of this function. `reading` chooses the parts of segments that are read when the
/// memories of a container are counted.
pub fn router(app: App, reading: SegmentReading) -> Router {
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
            "/v3/container-tags/deletions/{deletionId}/report",
            get(delete::get_erasure_report),
        )
        .route(
            "/v3/container-tags/{tag}",
            one.delete(delete::delete_container_tag),
        )
        .route("/ns", get(namespaces::list::list_namespaces))
        .route(
            "/ns/{namespace}",
            get(namespaces::one::get_namespace)
                .patch(namespaces::one::update_namespace)
                .delete(namespaces::delete::delete_namespace),
        )
        .route(
            "/ns/{namespace}/profile/buckets",
            get(namespaces::buckets::get_buckets)
                .put(namespaces::buckets::set_buckets)
                .delete(namespaces::buckets::delete_buckets),
        )
        .with_state(TagsState {
            app,
            ledgers: Arc::new(ViewCache::new(CacheSettings {
                bytes: CACHE_BYTES,
                reading,
            })),
        })
}

/// Describes the operations of this function.
pub fn operations() -> Vec<Operation> {
    [
        list::operations(),
        one::operations(),
        delete::operations(),
        merge::operations(),
        namespaces::operations(),
    ]
    .concat()
}
