//! `recollect serve`.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use anyhow::{Context, Result};
use axum::Router;
use axum::extract::{ConnectInfo, Request};
use axum::middleware::{Next, from_fn};
use axum::response::Response;
use domain::OrgId;
use domain::usecase::Authenticator;
use edge::{App, LoopbackPeer};
use tokio::net::TcpListener;
use tokio::sync::watch;

use super::{interrupted, log_to_stderr, outside};
use crate::cli::Serve;
use crate::outside::Outside;
use crate::routes::{bucket_routes, routes};
use crate::system::System;
use crate::workers::Workers;

/// The organization behind the key `local`.
pub(super) const LOCAL_ORG: &str = "local";
/// How long requests may go on once the server was asked to end: a client that never finishes its own must not keep it.
const GRACE: Duration = Duration::from_secs(5);

pub(super) async fn serve(options: Serve) -> Result<()> {
    log_to_stderr(&options.log)?;
    let address = SocketAddr::new(options.bind, options.port);
    let listener = TcpListener::bind(address).await.with_context(|| {
        format!("listen on {address}; another server may run there: choose another with --port")
    })?;
    let public = options.public_url.clone().unwrap_or_else(|| own_address(&listener, options.port));
    let (data, durability) = (&options.data.data, options.data.power_cut.durability);
    let system = System::open(data, durability, Some(public.trim_end_matches('/'))).await?;
    let public = public.trim_end_matches('/').to_owned();
    let outside = outside(&options.models, &options.drive, Some(public))?;
    outside.readers.log_walls().await;
    let workers = Workers::start(&system, &outside).await?;
    let service = service(&system, &outside, options.cache_mb * 1024 * 1024, is_loopback(options.bind))?;
    greet(listener.local_addr()?, &options);
    let service = service.into_make_service_with_connect_info::<SocketAddr>();
    let (ask, mut asked) = watch::channel(false);
    let server = axum::serve(listener, service).with_graceful_shutdown(async move {
        interrupted().await;
        ask.send(true).ok();
    });
    tokio::select! {
        served = server => served?,
        () = async { asked.wait_for(|asked| *asked).await.ok(); tokio::time::sleep(GRACE).await } => {}
    }
    workers.stop().await;
    Ok(())
}

/// The address at which this machine reaches the server.
fn own_address(listener: &TcpListener, port: u16) -> String {
    let address = listener.local_addr().unwrap_or_else(|_| SocketAddr::from(([127, 0, 0, 1], port)));
    let ip = match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => IpAddr::from([127, 0, 0, 1]),
        IpAddr::V6(ip) if ip.is_unspecified() => IpAddr::from([127, 0, 0, 1]),
        ip => ip,
    };
    format!("http://{}", SocketAddr::new(ip, address.port()))
}

/// All routes, with `local_key` also for the key `local` of peers on this machine: only where nobody else can connect,
/// or a proxy on this machine would let everybody in.
pub(super) fn service(
    system: &System,
    outside: &Outside,
    cache_bytes: usize,
    local_key: bool,
) -> Result<Router> {
    let ctx = system.ctx.clone();
    let authenticator = Authenticator::new(ctx.keys.clone(), ctx.clock.clone());
    let authenticator =
        if local_key { authenticator.with_local_key(OrgId::parse(LOCAL_ORG)?) } else { authenticator };
    let bucket = bucket_routes(system.services.clone());
    let app = App::new(ctx, authenticator);
    let routes = routes(&app, cache_bytes, outside.connectors.clone(), outside.public_url.clone());
    Ok(routes.merge(bucket).layer(from_fn(mark_loopback)))
}

/// Marks requests from this machine to this machine. The name that the client used counts as well: a web page whose
/// own name was made to point to loopback sends that name.
async fn mark_loopback(mut request: Request, next: Next) -> Response {
    let peer = request.extensions().get::<ConnectInfo<SocketAddr>>().map(|peer| peer.0.ip());
    let host = request.headers().get(http::header::HOST).and_then(|host| host.to_str().ok());
    if peer.is_some_and(is_loopback) && host.is_none_or(names_loopback) {
        request.extensions_mut().insert(LoopbackPeer);
    }
    next.run(request).await
}

fn is_loopback(ip: IpAddr) -> bool {
    match ip {
        IpAddr::V4(ip) => ip.is_loopback(),
        IpAddr::V6(ip) => ip.is_loopback() || ip.to_ipv4_mapped().is_some_and(|ip| ip.is_loopback()),
    }
}

fn names_loopback(host: &str) -> bool {
    let name = match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => host.split(':').next().unwrap_or_default(),
    };
    name.eq_ignore_ascii_case("localhost") || name.parse().is_ok_and(is_loopback)
}

#[expect(clippy::print_stdout, reason = "this is what a person who starts the server reads")]
fn greet(address: SocketAddr, options: &Serve) {
    let loopback = is_loopback(address.ip());
    let key = if loopback { "local" } else { "<key>" };
    println!("Recollect listens on http://{address}  (data: {})", options.data.data.display());
    if loopback {
        println!("API key on this machine: local");
    } else {
        println!("Create an API key:  recollect keys create --data {}", options.data.data.display());
    }
    println!();
    println!("Try it:");
    println!(
        "  curl http://{address}/v3/documents -H 'authorization: Bearer {key}' -H 'content-type: application/json' \\"
    );
    println!(
        "    -d '{{\"content\": \"Ada wrote the first program in 1843.\", \"containerTag\": \"demo\"}}'"
    );
    println!(
        "  curl http://{address}/v4/search -H 'authorization: Bearer {key}' -H 'content-type: application/json' \\"
    );
    println!(
        "    -d '{{\"q\": \"who wrote the first program?\", \"containerTag\": \"demo\", \"searchMode\": \"hybrid\"}}'"
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_of_this_machine_count_as_loopback() {
        for good in ["localhost", "localhost:8787", "127.0.0.1:80", "[::1]:8787", "LOCALHOST"] {
            assert!(names_loopback(good), "{good}");
        }
        for bad in
            ["evil.example", "evil.example:8787", "127.0.0.1.evil.example", "", "10.0.0.1", "[2001:db8::1]"]
        {
            assert!(!names_loopback(bad), "{bad}");
        }
    }
}
