//! The routes of every function in one router. Lambda serves the same routers.

use aws::layout::BUCKET;
use axum::Router;
use axum::body::Body;
use axum::extract::{DefaultBodyLimit, Request, State};
use axum::response::{IntoResponse, Response};
use axum::routing::any;
use container_index::CacheSettings;
use domain::ports::Connectors;
use edge::App;
use embedded::EmbeddedServices;

/// Returns all routes, which keep search indexes and memories warm in a cache with these settings.
/// Connections reach their providers through `connectors`, and users' browsers use `public_url`.
/// `has_model` is `true` if a model decides by filter prompts.
pub fn all_routes(
    app: &App,
    cache: impl Into<CacheSettings>,
    connectors: Connectors,
    public_url: Option<String>,
    has_model: bool,
) -> Router {
    let cache = cache.into();
    let documents = documents::router(app.clone(), documents::MAX_FILE_BYTES, cache.reading);
    let memory_cache = cache.with_bytes(cache.bytes / 4);
    let memories = memories::router(app.clone(), memory_cache);
    let search_cache = cache.with_bytes(cache.bytes - memory_cache.bytes);
    let search = search::router(app.clone(), search_cache);
    let settings = settings::router(app.clone(), has_model);
    let tags = container_tags::router(app.clone(), cache.reading);
    let analytics = analytics::router(app.clone(), cache.reading);
    let connections = connections::router(app.clone(), connectors, public_url.clone());
    let routes = documents
        .merge(memories)
        .merge(search)
        .merge(settings)
        .merge(tags)
        .merge(analytics);

    // The tools of the protocol call the same routes as everybody else, with warm indexes in common.
    let api = edge::build_service(routes.clone(), app);
    let mcp = mcp::router(app.clone(), api, public_url);

    edge::build_service(routes.merge(connections).merge(mcp), app)
}

/// Returns the routes of the bucket, for clients with a signed URL or form. On AWS, S3 itself
/// serves these.
pub fn bucket_routes(services: EmbeddedServices) -> Router {
    Router::new()
        .route(&format!("/{BUCKET}"), any(serve_bucket))
        .route(&format!("/{BUCKET}/"), any(serve_bucket))
        .route(&format!("/{BUCKET}/{{*key}}"), any(serve_bucket))
        .layer(DefaultBodyLimit::disable())
        .with_state(services)
}

async fn serve_bucket(State(services): State<EmbeddedServices>, request: Request) -> Response {
    services
        .handle_public_body(request)
        .await
        .map(Body::from)
        .into_response()
}
