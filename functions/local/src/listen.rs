//! The routes of one machine on a listening socket.

use std::net::SocketAddr;

use anyhow::Result;
use axum::Router;
use axum::body::Body;
use axum::extract::ConnectInfo;
use axum::middleware::{from_fn, from_fn_with_state};
use domain::OrgId;
use domain::usecase::Authenticator;
use edge::App;
use http::Request;
use server::{Limits, RequestBody};
use tokio::net::TcpListener;
use tower::ServiceExt;

use crate::flight::{InFlight, bound};
use crate::origin::mark;
use crate::outside::Outside;
use crate::routes::{bucket_routes, routes};
use crate::system::System;

/// The organization behind the key `local`.
const LOCAL_ORG: &str = "local";
/// The bytes of bodies on their way at a time, where nobody says otherwise: five of the largest files.
pub const BODY_BYTES: usize = 256 * 1024 * 1024;
/// Open files that are kept for databases, objects and what is fetched.
const RESERVED_FILES: u64 = 1024;

/// How the routes of one machine are served.
#[derive(Debug, Clone, Copy)]
pub struct Serving {
    /// Bytes of warm search indexes and memories.
    pub cache_bytes: usize,
    /// Bytes of bodies on their way at a time.
    pub body_bytes: usize,
    /// Whether the key `local` works for requests of this machine: only where nobody else connects, by a proxy neither.
    pub local_key: bool,
}

/// All routes, the bucket's included.
///
/// # Errors
/// Never; the organization of the key `local` has a good name.
pub fn service(system: &System, outside: &Outside, serving: Serving) -> Result<Router> {
    let ctx = system.ctx.clone();
    let authenticator = Authenticator::new(ctx.keys.clone(), ctx.clock.clone());
    let authenticator = if serving.local_key {
        authenticator.with_local_key(OrgId::parse(LOCAL_ORG)?)
    } else {
        authenticator
    };

    let app = App::new(ctx, authenticator);
    let routes = routes(
        &app,
        serving.cache_bytes,
        outside.connectors.clone(),
        outside.public_url.clone(),
    );
    let routes = routes.merge(bucket_routes(system.services.clone()));
    let in_flight = InFlight::new(serving.body_bytes);

    Ok(routes
        .layer(from_fn_with_state(in_flight, bound))
        .layer(from_fn(mark)))
}

/// Serves `service` on `listener` until `shutdown` resolves.
pub async fn listen(
    listener: TcpListener,
    service: Router,
    limits: Limits,
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

    server::serve(listener, limits, answer, shutdown).await;
}

/// The limits of this process: as many connections as usual, or as its open files permit.
pub(crate) fn limits() -> Limits {
    let usual = Limits::default();
    let wanted = usual.connections as u64 + RESERVED_FILES;
    // If the limit cannot be read, 1,024 is assumed, the usual default.
    let files = rlimit::increase_nofile_limit(wanted).unwrap_or(1024);
    let connections = files.saturating_sub(RESERVED_FILES).max(files / 2);
    Limits {
        connections: usize::try_from(connections)
            .unwrap_or(usize::MAX)
            .min(usual.connections),
        ..usual
    }
}
