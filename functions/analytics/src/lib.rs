//! Statistics on the requests of an organization's keys and the growth of its content:
//! `/v3/analytics/*`.

mod errors;
mod logs;
mod memory;
mod params;
mod rate_limited_tenant;
mod totals;
mod usage;

use std::sync::Arc;

use axum::Router;
use axum::extract::FromRef;
use axum::routing::get;
use container_index::{CacheSettings, IndexedMemories, SegmentReading, ViewCache};
use edge::App;
use openapi::Operation;

/// The bytes of memories that are kept warm for counting.
const CACHE_BYTES: usize = 64 * 1024 * 1024;

/// The state of these routes: the ports and the warm memories.
#[derive(Clone)]
struct AnalyticsState {
    app: App,
    ledgers: Arc<ViewCache<IndexedMemories<()>>>,
}

impl FromRef<AnalyticsState> for App {
    fn from_ref(state: &AnalyticsState) -> Self {
        state.app.clone()
    }
}

/// Returns the routes of this function.
pub fn router(app: App, reading: SegmentReading) -> Router {
    let settings = CacheSettings::new(CACHE_BYTES, reading);
    let ledgers = Arc::new(ViewCache::new(settings));
    Router::new()
        .route("/v3/analytics/usage", get(usage::get_usage))
        .route("/v3/analytics/errors", get(errors::get_errors))
        .route("/v3/analytics/logs", get(logs::list_logs))
        .route("/v3/analytics/requests", get(logs::list_requests))
        .route("/v3/analytics/memory", get(memory::get_memory))
        .with_state(AnalyticsState { app, ledgers })
}

/// Describes the operations of this function.
pub fn operations() -> Vec<Operation> {
    [
        usage::operations(),
        errors::operations(),
        logs::operations(),
        memory::operations(),
    ]
    .concat()
}
