//! The Lambda function `mcp`.

use axum::Router;
use edge::App;

/// The bytes of warm indexes that fit into the function besides warm memories and everything else.
const SEARCH_CACHE_BYTES: usize = search::LAMBDA_CACHE_BYTES / 2;
/// The bytes of warm memories.
const MEMORY_CACHE_BYTES: usize = memories::LAMBDA_CACHE_BYTES / 4;

fn main() -> anyhow::Result<()> {
    lambda::run_http(|app, deployment| {
        let app = app.with_embedder(deployment.model_client().embedder());
        let public_url = lambda::read_non_empty("RECOLLECT_PUBLIC_URL");
        Ok(mcp::router(app.clone(), build_api(&app), public_url))
    })
}

/// Returns the routes that the tools call.
fn build_api(app: &App) -> Router {
    // The settings are only asked who the caller is. What a model can decide is of no interest.
    let has_model = false;
    let search_cache = search::network_cache(SEARCH_CACHE_BYTES);
    let memory_cache = search_cache.with_bytes(MEMORY_CACHE_BYTES);
    let routes = documents::router(
        app.clone(),
        documents::LAMBDA_FILE_BYTES,
        search_cache.reading,
    )
    .merge(memories::router(app.clone(), memory_cache))
    .merge(search::router(app.clone(), search_cache))
    .merge(container_tags::router(app.clone(), search_cache.reading))
    .merge(settings::router(app.clone(), has_model));

    edge::build_service(routes, app)
}
