//! Serves the routes of one machine on a listening socket.

use std::net::SocketAddr;

use anyhow::{Context, Result};
use axum::body::Body;
use axum::extract::ConnectInfo;
use axum::middleware::{from_fn, from_fn_with_state};
use axum::{Extension, Router};
use domain::OrgId;
use edge::{AllowedOrigins, App, LoopbackPeer, ProviderNames};
use http::Request;
use server::{RequestBody, ServerLimits};
use service::Authenticator;
use tokio::net::TcpListener;
use tower::ServiceExt;

use crate::bytes_in_flight::{BytesInFlight, limit_bytes_in_flight};
use crate::external_services::ExternalServices;
use crate::request_origin::note_origin;
use crate::routes::{all_routes, bucket_routes};
use crate::system::LocalSystem;

/// The organization behind the key `local`.
const LOCAL_ORG: &str = "local";
/// The default limit on the bytes of bodies in transit: five of the largest files.
pub const DEFAULT_BODY_BYTES: usize = 256 * 1024 * 1024;
/// The open files that are reserved for databases, objects and fetched pages.
const RESERVED_FILES: u64 = 1024;

/// The options for serving the routes of one machine.
#[derive(Debug, Clone)]
pub struct ServingOptions {
    /// The bytes of warm search indexes and memories.
    pub cache_bytes: usize,
    /// The most bytes of bodies in transit at a time.
    pub body_bytes: usize,
    /// Accepts the key `local` in requests from this machine. Set it only if nobody else can
    /// connect, not even through a proxy.
    pub accepts_local_key: bool,
    /// The origins whose web pages may call the API with an API key.
    pub allowed_origins: AllowedOrigins,
    /// The names that answers have for the cloud drive.
    pub provider_names: ProviderNames,
}

impl ServingOptions {
    /// Returns the options of a process that only this machine calls.
    pub(crate) const fn for_this_machine(cache_bytes: usize) -> Self {
        Self {
            cache_bytes,
            body_bytes: DEFAULT_BODY_BYTES,
            accepts_local_key: true,
            allowed_origins: AllowedOrigins::Any,
            provider_names: ProviderNames::Cloud,
        }
    }
}

/// Marks every request to `routes` as one of this machine, for a process that calls them itself.
pub(crate) fn mark_as_own(routes: Router) -> Router {
    routes.layer(Extension(LoopbackPeer))
}

/// Returns all routes, including those of the bucket.
///
/// # Errors
/// None in practice: the organization of the key `local` has a valid name.
pub fn build_service(
    system: &LocalSystem,
    external_services: &ExternalServices,
    options: ServingOptions,
) -> Result<Router> {
    build_service_with(system, external_services, options, Router::new())
}

/// Returns the routes of [`build_service`] and `further_routes`, which are told the origin of each
/// request as well.
pub(crate) fn build_service_with(
    system: &LocalSystem,
    external_services: &ExternalServices,
    options: ServingOptions,
    further_routes: Router,
) -> Result<Router> {
    let ctx = system.ctx.clone();
    let authenticator = Authenticator::new(ctx.keys.clone(), ctx.clock.clone());
    let authenticator = if options.accepts_local_key {
        authenticator.with_local_key(OrgId::parse(LOCAL_ORG)?)
    } else {
        authenticator
    };

    let allowed_origins = options.allowed_origins;
    let for_pages = allowed_origins.layer();
    let app = App::new(ctx, authenticator)
        .with_embedder(external_services.readers.embedder.clone())
        .with_rerank_model(external_services.readers.models.rerank_model())
        .with_allowed_origins(allowed_origins)
        .with_provider_names(options.provider_names);
    let routes = all_routes(
        &app,
        options.cache_bytes,
        external_services.connectors.clone(),
        external_services.public_url.clone(),
        external_services.readers.models.reads_memories(),
    );
    let routes = routes
        .merge(bucket_routes(system.services.clone()).layer(for_pages))
        .merge(further_routes);
    let in_flight = BytesInFlight::new(options.body_bytes);

    Ok(routes
        .layer(from_fn_with_state(in_flight, limit_bytes_in_flight))
        .layer(from_fn(note_origin)))
}

/// Serves `service` on `listener` until `shutdown` resolves.
pub async fn serve_until(
    listener: TcpListener,
    service: Router,
    limits: ServerLimits,
    shutdown: impl Future<Output = ()>,
) {
    let handler = move |peer: SocketAddr, request: Request<RequestBody>| {
        let mut request = request.map(Body::new);
        request.extensions_mut().insert(ConnectInfo(peer));
        let response_future = service.clone().oneshot(request);
        async move {
            match response_future.await {
                Ok(response) => response,
                Err(never) => match never {},
            }
        }
    };

    server::serve_http(listener, limits, handler, shutdown).await;
}

/// Listens on an address that `--port` chooses.
///
/// # Errors
/// Fails if another program listens there, or the address is none of this machine.
pub(crate) async fn listen_on(address: SocketAddr) -> Result<TcpListener> {
    TcpListener::bind(address).await.with_context(|| {
        format!(
            "cannot listen on {address}; if another server runs there, choose another port with --port"
        )
    })
}

/// Returns the limits of this process: the usual number of connections, or fewer if its open files
/// permit no more.
pub(crate) fn process_limits() -> ServerLimits {
    let defaults = ServerLimits::default();
    let wanted_files = defaults.max_connections as u64 + RESERVED_FILES;
    // If the limit cannot be read, the usual default of 1,024 is assumed.
    let file_limit = rlimit::increase_nofile_limit(wanted_files).unwrap_or(1024);
    let connections = file_limit
        .saturating_sub(RESERVED_FILES)
        .max(file_limit / 2);
    ServerLimits {
        max_connections: usize::try_from(connections)
            .unwrap_or(usize::MAX)
            .min(defaults.max_connections),
        ..defaults
    }
}
