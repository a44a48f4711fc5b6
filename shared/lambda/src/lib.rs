//! Runs an axum router, a queue worker or a schedule as an AWS Lambda function. The `main` of a
//! function is one call.

mod events;
mod stage;

use std::str::FromStr;
use std::sync::Arc;

use anyhow::{Result, anyhow};
use aws::{Clients, ResourceNames, SystemClock};
use axum::Router;
use domain::QueueWorker;
use domain::ports::PortResult;
use edge::App;
use lambda_http::{LambdaEvent, lambda_runtime, service_fn};
use serde_json::Value;
use service::Authenticator;
use service::Ctx;

pub use events::{batch_response, parse_deliveries};
pub use stage::strip_stage;

/// Serves the routes of `router`, which gets the ports.
///
/// # Errors
/// Fails if the environment is incomplete or the runtime ends.
pub fn run_http(router: impl FnOnce(App) -> Router) -> Result<()> {
    start_runtime(async move {
        let ctx = connect_context().await?;
        let authenticator = Authenticator::new(ctx.keys.clone(), ctx.clock.clone());
        let app = App::new(ctx, authenticator)
            .with_allowed_origins(read_setting("RECOLLECT_CORS_ORIGINS")?)
            .with_provider_names(read_setting("RECOLLECT_PROVIDER_NAMES")?);
        let service = stage::strip_stage(edge::build_service(router(app.clone()), &app));
        lambda_http::run(service)
            .await
            .map_err(|error| anyhow!(error))
    })
}

/// Handles the messages of SQS event sources, with partial batch responses.
///
/// # Errors
/// Fails if the environment is incomplete or the runtime ends.
pub fn run_queue<W: QueueWorker>(worker: impl FnOnce(Ctx) -> W) -> Result<()> {
    start_runtime(async move {
        let worker = worker(connect_context().await?);
        let worker = &worker;
        let handler = service_fn(|event: LambdaEvent<Value>| async move {
            let response = handle_batch(worker, event.payload).await?;
            Ok::<_, lambda_runtime::Error>(response)
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
pub fn run_queue_and_schedule<W, S, F>(worker: impl FnOnce(Ctx) -> W, scheduled: S) -> Result<()>
where
    W: QueueWorker,
    S: Fn(Ctx) -> F,
    F: Future<Output = PortResult<()>>,
{
    start_runtime(async move {
        let ctx = connect_context().await?;
        let worker = worker(ctx.clone());
        let (worker, ctx, scheduled) = (&worker, &ctx, &scheduled);

        let handler = service_fn(|event: LambdaEvent<Value>| async move {
            if event.payload.get("Records").is_some() {
                return Ok(handle_batch(worker, event.payload).await?);
            }
            scheduled(ctx.clone()).await?;
            Ok::<_, lambda_runtime::Error>(Value::Null)
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
pub async fn handle_batch(
    worker: &impl QueueWorker,
    event: Value,
) -> Result<Value, serde_json::Error> {
    let (ids, deliveries) = parse_deliveries(event)?;
    let outcomes = worker.handle_batch(&deliveries).await;
    Ok(batch_response(&ids, &outcomes))
}

fn start_runtime(run: impl Future<Output = Result<()>>) -> Result<()> {
    let filter = read_variable("RECOLLECT_LOG").unwrap_or_else(|| "info".into());
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

/// Returns a setting of the environment, or its default if it is not set.
fn read_setting<T: Default + FromStr<Err = domain::Error>>(name: &str) -> Result<T> {
    match read_variable(name) {
        Some(text) => Ok(text.parse()?),
        None => Ok(T::default()),
    }
}

async fn connect_context() -> Result<Ctx> {
    let clients = Clients::new(&aws::load_config().await);
    let names = ResourceNames::from_environment(read_variable)?;
    Ok(aws::build_context(&clients, &names, Arc::new(SystemClock)))
}

/// Returns a variable of the function's environment.
#[expect(
    clippy::disallowed_methods,
    reason = "the environment is read here, once at the start of a function"
)]
pub fn read_variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}
