//! `recollect serve`: serves the API on one machine.

use std::net::{IpAddr, SocketAddr};

use anyhow::Result;
use domain::Secret;
use tokio::net::TcpListener;

use super::{build_outside, wait_for_interrupt};
use crate::arguments::{DEFAULT_PORT, Serve};
use crate::listen::{ServingOptions, build_service_with, listen_on, process_limits, serve_until};
use crate::metrics::metrics_routes;
use crate::request_origin::{is_loopback, is_own_address};
use crate::system::LocalSystem;
use crate::workers::Workers;

pub(super) async fn run_server(options: Serve, program: &str) -> Result<()> {
    let traces = options.output.start(&options.log)?;
    let limits = process_limits();
    let address = SocketAddr::new(options.bind, options.port);
    let listener = listen_on(address).await?;

    let public_url = options
        .public_url
        .clone()
        .unwrap_or_else(|| own_address(&listener, options.port));
    let (data, durability) = (&options.data.data, options.data.power_cut.durability);
    let system =
        LocalSystem::open(data, durability, Some(public_url.trim_end_matches('/'))).await?;
    let public_url = public_url.trim_end_matches('/').to_owned();
    let external_services = build_outside(&options.models, &options.drive, Some(public_url))?;
    external_services
        .readers
        .pages_and_files
        .log_isolation()
        .await;
    let workers = Workers::start(&system, &external_services).await?;
    let serving_options = ServingOptions {
        cache_bytes: options.cache_mb * 1024 * 1024,
        body_bytes: options.body_mb * 1024 * 1024,
        accepts_local_key: has_local_key(&options),
        allowed_origins: options.cors_origins.clone(),
        provider_names: options.provider_names,
    };

    let metrics = metrics_routes(&system, options.metrics_token.clone().map(Secret::new))?;
    let service = build_service_with(&system, &external_services, serving_options, metrics)?;
    // A program that reads the printed address may stop the server immediately.
    let interrupted = wait_for_interrupt()?;
    print_greeting(listener.local_addr()?, &options, program);
    serve_until(listener, service, limits, interrupted).await;
    workers.stop().await;
    traces.stop().await;

    Ok(())
}

/// Checks whether the key `local` may work at all. It may not if other machines can connect, or if
/// a proxy is announced.
fn has_local_key(options: &Serve) -> bool {
    is_loopback(options.bind) && options.public_url.as_deref().is_none_or(is_own_address)
}

/// Returns the address at which this machine reaches the server.
fn own_address(listener: &TcpListener, port: u16) -> String {
    let address = listener
        .local_addr()
        .unwrap_or_else(|_| SocketAddr::from(([127, 0, 0, 1], port)));
    let ip = match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => IpAddr::from([127, 0, 0, 1]),
        IpAddr::V6(ip) if ip.is_unspecified() => IpAddr::from([127, 0, 0, 1]),
        ip => ip,
    };
    format!("http://{}", SocketAddr::new(ip, address.port()))
}

fn print_greeting(address: SocketAddr, options: &Serve, program: &str) {
    let is_local_key_accepted = has_local_key(options);
    print_line!(
        "Recollect listens on http://{address}  (data: {})",
        options.data.data.display()
    );
    print_line!("Open the console:  http://{address}/");
    if is_local_key_accepted {
        print_line!(
            "API key on this machine: local  (not through a proxy: see docs/behind-a-proxy.md)"
        );
    } else {
        let reason = if is_loopback(options.bind) {
            "--public-url"
        } else {
            "--bind"
        };
        print_line!("The key `local` does not work with this {reason}.");
        print_line!(
            "Create an API key:  {program} keys create --data {}",
            options.data.data.display()
        );
    }

    print_line!();
    print_line!("Try it in another terminal:");
    for command in example_commands(address, is_local_key_accepted, program) {
        print_line!("  {command}");
    }
    print_line!("The API is described at http://{address}/docs");
}

/// Returns commands that work with this server from another terminal.
fn example_commands(
    address: SocketAddr,
    is_local_key_accepted: bool,
    program: &str,
) -> [String; 2] {
    let key = match is_local_key_accepted {
        true => "",
        false => "RECOLLECT_KEY=KEY ",
    };
    let is_found_without_address = address == SocketAddr::from(([127, 0, 0, 1], DEFAULT_PORT));
    let url = match is_found_without_address {
        true => String::new(),
        false => format!(" --url http://{address}"),
    };
    [
        format!("{key}{program} add --text \"Ada wrote the first program in 1843.\"{url}"),
        format!("{key}{program} ask \"Who wrote the first program?\"{url}"),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_printed_commands_name_the_server_where_they_have_to() {
        let [add, _] = example_commands(([127, 0, 0, 1], 8787).into(), true, "recollect");
        assert!(
            add.starts_with("recollect add") && !add.contains("--url"),
            "{add}"
        );
        let [_, ask] = example_commands(([127, 0, 0, 1], 80).into(), false, "recollect");
        assert!(ask.starts_with("RECOLLECT_KEY=KEY recollect ask"), "{ask}");
        assert!(ask.ends_with("--url http://127.0.0.1:80"), "{ask}");
    }
}
