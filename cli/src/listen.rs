//! Serves the routes of one machine on a listening socket.

use std::net::SocketAddr;

use anyhow::Result;
use axum::Router;
use axum::body::Body;
use axum::extract::ConnectInfo;
use axum::middleware::{from_fn, from_fn_with_state};
use domain::OrgId;
use edge::App;
use http::Request;
use server::{RequestBody, ServerLimits};
use service::Authenticator;
use tokio::net::TcpListener;
use tower::ServiceExt;

use crate::flight::{BytesInFlight, limit_bytes_in_flight};
use crate::origin::note_origin;
use crate::outside::ExternalServices;
use crate::routes::{all_routes, bucket_routes};
use crate::system::LocalSystem;

/// The organization behind the key `local`.
const LOCAL_ORG: &str = "local";
/// The default limit on the bytes of bodies in transit: five of the largest files.
pub const DEFAULT_BODY_BYTES: usize = 256 * 1024 * 1024;
/// The open files that are reserved for databases, objects and fetched pages.
const RESERVED_FILES: u64 = 1024;

/// The options for serving the routes of one machine.
#[derive(Debug, Clone, Copy)]
pub struct ServingOptions {
    /// The bytes of warm search indexes and memories.
    pub cache_bytes: usize,
    /// The most bytes of bodies in transit at a time.
    pub body_bytes: usize,
    /// Accepts the key `local` in requests from this machine. Set it only if nobody else can
    /// connect, not even through a proxy.
    pub local_key: bool,
}

/// Returns all routes, including those of the bucket.
///
/// # Errors
/// None in practice: the organization of the key `local` has a valid name.
pub fn build_service(
    system: &LocalSystem,
    outside: &ExternalServices,
    serving: ServingOptions,
) -> Result<Router> {
    let ctx = system.ctx.clone();
    let authenticator = Authenticator::new(ctx.keys.clone(), ctx.clock.clone());
    let authenticator = if serving.local_key {
        authenticator.with_local_key(OrgId::parse(LOCAL_ORG)?)
    } else {
        authenticator
    };

    let app = App::new(ctx, authenticator);
    let routes = all_routes(
        &app,
        serving.cache_bytes,
        outside.connectors.clone(),
        outside.public_url.clone(),
    );
    let routes = routes.merge(bucket_routes(system.services.clone()));
    let in_flight = BytesInFlight::new(serving.body_bytes);

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
    let answer = move |peer: SocketAddr, request: Request<RequestBody>| {
        let mut request = request.map(Body::new);
        request.extensions_mut().insert(ConnectInfo(peer));
        let answered = service.clone().oneshot(request);
        async move {
            match answered.await {
                Ok(response) => response,
                Err(never) => match never {},
            }
        }
    };

    server::serve_http(listener, limits, answer, shutdown).await;
}

/// Returns the limits of this process: the usual number of connections, or fewer if its open files
/// permit no more.
pub(crate) fn process_limits() -> ServerLimits {
    let usual = ServerLimits::default();
    let wanted = usual.max_connections as u64 + RESERVED_FILES;
    // If the limit cannot be read, the usual default of 1,024 is assumed.
    let files = rlimit::increase_nofile_limit(wanted).unwrap_or(1024);
    let connections = files.saturating_sub(RESERVED_FILES).max(files / 2);
    ServerLimits {
        max_connections: usize::try_from(connections)
            .unwrap_or(usize::MAX)
            .min(usual.max_connections),
        ..usual
    }
}
