//! Runs an axum router, a queue worker or a schedule as an AWS Lambda function. The `main` of a
//! function is one call.

mod events;
mod stage;

use std::sync::Arc;

use anyhow::{Result, anyhow};
use aws::{Clients, Names, SystemClock};
use axum::Router;
use domain::ports::PortResult;
use domain::usecase::Authenticator;
use domain::{Ctx, Worker};
use edge::App;
use lambda_http::{LambdaEvent, lambda_runtime, service_fn};
use serde_json::Value;

pub use events::{batch_response, deliveries};
pub use stage::service;

/// Serves the routes of `router`, which gets the ports.
///
/// # Errors
/// Fails if the environment is incomplete or the runtime ends.
pub fn http(router: impl FnOnce(App) -> Router) -> Result<()> {
    start(async move {
        let ctx = connect().await?;
        let authenticator = Authenticator::new(ctx.keys.clone(), ctx.clock.clone());
        let app = App::new(ctx, authenticator);
        let service = stage::service(edge::finish(router(app.clone()), &app));
        lambda_http::run(service)
            .await
            .map_err(|error| anyhow!(error))
    })
}

/// Handles the messages of SQS event sources, with partial batch responses.
///
/// # Errors
/// Fails if the environment is incomplete or the runtime ends.
pub fn queue<W: Worker>(worker: impl FnOnce(Ctx) -> W) -> Result<()> {
    start(async move {
        let worker = worker(connect().await?);
        let worker = &worker;
        let handler = service_fn(|event: LambdaEvent<Value>| async move {
            handle_batch(worker, event.payload)
                .await
                .map_err(lambda_runtime::Error::from)
        });
        lambda_runtime::run(handler)
            .await
            .map_err(|error| anyhow!(error))
    })
}

/// Handles the messages of SQS event sources, and calls `scheduled` for every other event.
///
/// # Errors
/// Fails if the environment is incomplete or the runtime ends.
pub fn queue_and_schedule<W, S, F>(worker: impl FnOnce(Ctx) -> W, scheduled: S) -> Result<()>
where
    W: Worker,
    S: Fn(Ctx) -> F,
    F: Future<Output = PortResult<()>>,
{
    start(async move {
        let ctx = connect().await?;
        let worker = worker(ctx.clone());
        let (worker, ctx, scheduled) = (&worker, &ctx, &scheduled);

        let handler = service_fn(|event: LambdaEvent<Value>| async move {
            if event.payload.get("Records").is_some() {
                return handle_batch(worker, event.payload)
                    .await
                    .map_err(lambda_runtime::Error::from);
            }
            scheduled(ctx.clone())
                .await
                .map_err(lambda_runtime::Error::from)?;
            Ok(Value::Null)
        });

        lambda_runtime::run(handler)
            .await
            .map_err(|error| anyhow!(error))
    })
}

/// Handles an SQS event as every queue function does. Tests send recorded events through the same
/// code.
///
/// # Errors
/// Fails if `event` is not an SQS event.
pub async fn handle_batch(worker: &impl Worker, event: Value) -> Result<Value, serde_json::Error> {
    let (ids, deliveries) = deliveries(event)?;
    let outcomes = worker.handle(&deliveries).await;
    Ok(batch_response(&ids, &outcomes))
}

fn start(run: impl Future<Output = Result<()>>) -> Result<()> {
    let filter = variable("RECOLLECT_LOG").unwrap_or_else(|| "info".into());
    let filter = tracing_subscriber::EnvFilter::try_new(filter)?;
    tracing_subscriber::fmt()
        .json()
        .with_env_filter(filter)
        .with_ansi(false)
        .without_time()
        .init();
    tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?
        .block_on(run)
}

async fn connect() -> Result<Ctx> {
    let clients = Clients::new(&aws::from_environment().await);
    let names = Names::from_environment(variable)?;
    Ok(aws::ctx(&clients, &names, Arc::new(SystemClock)))
}

/// Returns a variable of the function's environment.
#[expect(
    clippy::disallowed_methods,
    reason = "the environment is read here, once at the start of a function"
)]
pub fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}
