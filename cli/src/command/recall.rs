//! `recollect recall`: answers searches of a deployment on AWS, as a task of its recall service.

use std::net::SocketAddr;

use anyhow::{Context, Result};
use axum::Router;
use axum::routing::get;
use lambda::Deployment;

use super::wait_for_interrupt;
use crate::arguments::Recall;
use crate::listen::{listen_on, process_limits, serve_until};

pub(super) async fn run_recall(options: Recall) -> Result<()> {
    let traces = options.output.start(&options.log)?;
    let limits = process_limits();
    let address = SocketAddr::new(options.bind, options.port);
    let listener = listen_on(address).await?;

    let deployment = Deployment::from_environment()
        .await
        .context("this command needs the environment of the function `search`")?;
    let app = search::with_models(deployment.build_app()?, &deployment);
    let cache = search::network_cache(options.cache_mb * 1024 * 1024);
    let routes = edge::build_service(search::router(app.clone(), cache), &app);
    let health = Router::new().route("/health", get(|| async { "ok" }));

    let interrupted = wait_for_interrupt()?;
    print_line!(
        "Recollect answers searches at http://{}",
        listener.local_addr()?
    );
    let routes = search::task_routes(routes).merge(health);
    serve_until(listener, routes, limits, interrupted).await;
    traces.stop().await;

    Ok(())
}
