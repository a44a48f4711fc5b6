//! Runs an axum router, a queue worker, a schedule or the answers to other functions as an AWS Lambda
//! function. The `main` of a function is one call.

mod answers;
mod calls;
mod deployment;
mod events;
mod settings;
mod stage;

use anyhow::{Result, anyhow};
use axum::Router;
use bytes::Bytes;
use domain::ports::PortResult;
use domain::{DeliveryOutcome, QueueDelivery, QueueWorker};
use edge::App;
use lambda_http::{LambdaEvent, lambda_runtime, service_fn};
use serde_json::Value;
use service::Ctx;
use telemetry::{LogFormat, TraceSettings, Traces};
use tower::ServiceExt;

use events::{EventMessage, batch_response, parse_messages};

pub use answers::limit_answers;
pub use calls::{TRANSFER_TIMEOUT, answer_call};
pub use deployment::{Deployment, Queues};
pub use settings::{SECRET_SETTINGS, Settings};
pub use stage::strip_stage;

/// Serves the routes of `router`, which gets the ports and the deployment.
///
/// # Errors
/// Fails if the environment is incomplete, if `router` fails, or if the runtime ends.
pub fn run_http(router: impl FnOnce(App, &Deployment) -> Result<Router>) -> Result<()> {
    start_runtime(async move |traces| {
        let deployment = Deployment::from_environment().await?;
        let app = deployment.build_app()?;
        let routes = edge::build_service(router(app.clone(), &deployment)?, &app);
        let clock = deployment.ctx.clock.clone();
        let routes = limit_answers(routes, deployment.answers, clock);
        let routes = strip_stage(routes).then(async move |answer| {
            traces.flush().await;
            answer
        });
        lambda_http::run(routes)
            .await
            .map_err(|error| anyhow!(error))
    })
}

/// Handles the messages of SQS event sources, with partial batch responses.
///
/// # Errors
/// Fails if the environment is incomplete or the runtime ends.
pub fn run_queue<W: QueueWorker>(worker: impl FnOnce(&Deployment) -> Result<W>) -> Result<()> {
    start_runtime(async move |traces| {
        let deployment = Deployment::from_environment().await?;
        let worker = worker(&deployment)?;
        let (worker, queues, traces) = (&worker, &deployment.queues, &traces);
        let handler = service_fn(|event: LambdaEvent<Value>| async move {
            let response = handle_batch(worker, queues, event.payload).await;
            traces.flush().await;
            Ok::<_, lambda_runtime::Error>(response?)
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
pub fn run_queue_and_schedule<W, S, F>(
    worker: impl FnOnce(&Deployment) -> W,
    scheduled: S,
) -> Result<()>
where
    W: QueueWorker,
    S: Fn(Ctx) -> F,
    F: Future<Output = PortResult<()>>,
{
    start_runtime(async move |traces| {
        let deployment = Deployment::from_environment().await?;
        let worker = worker(&deployment);
        let (worker, queues, ctx) = (&worker, &deployment.queues, &deployment.ctx);
        let (scheduled, traces) = (&scheduled, &traces);

        let handle_event = async move |event: Value| {
            if event.get("Records").is_some() {
                return Ok(handle_batch(worker, queues, event).await?);
            }
            let work = scheduled(ctx.clone());
            spans::trace(spans::schedule_span("scheduled work"), work).await?;
            Ok::<_, lambda_runtime::Error>(Value::Null)
        };
        let handler = service_fn(|event: LambdaEvent<Value>| async move {
            let response = handle_event(event.payload).await;
            traces.flush().await;
            response
        });

        lambda_runtime::run(handler)
            .await
            .map_err(|error| anyhow!(error))
    })
}

/// Answers the calls of other functions. `handler` is called once, when the function starts. The
/// function gets no ports, and needs no rights.
///
/// # Errors
/// Fails if the runtime ends.
pub fn run_called<H, F, E>(handler: impl FnOnce() -> H) -> Result<()>
where
    H: Fn(Bytes) -> F,
    F: Future<Output = Result<Bytes, E>>,
    E: std::error::Error + Send + Sync + 'static,
{
    start_runtime(async move |_| {
        let handler = handler();
        let handler = &handler;
        let handler = service_fn(|event: LambdaEvent<Value>| async move {
            let answer = answer_call(event.payload, handler).await;
            answer.map_err(|error| lambda_runtime::Error::from(format!("{error:#}")))
        });
        lambda_runtime::run(handler)
            .await
            .map_err(|error| anyhow!(error))
    })
}

/// Handles an SQS event as every queue function does. A message that has to come again does so after
/// a few seconds. A dead letter that cannot be handled waits for the visibility time-out, because a
/// retry would not help. Tests send recorded events through the same code.
///
/// # Errors
/// Fails if `event` is not an SQS event.
pub async fn handle_batch(
    worker: &impl QueueWorker,
    queues: &Queues,
    event: Value,
) -> Result<Value, serde_json::Error> {
    let messages = parse_messages(event)?;
    let deliveries: Vec<QueueDelivery> = messages.iter().map(EventMessage::to_delivery).collect();
    let outcomes = worker.handle_batch(&deliveries).await;

    for (message, outcome) in messages.iter().zip(&outcomes) {
        if *outcome == DeliveryOutcome::Retry && !message.is_dead_letter() {
            queues.retry_soon(message).await;
        }
    }
    Ok(batch_response(&messages, &outcomes))
}

fn start_runtime(run: impl AsyncFnOnce(Traces) -> Result<()>) -> Result<()> {
    let filter = read_variable("RECOLLECT_LOG").unwrap_or_else(|| "info".into());
    let traces = TraceSettings {
        endpoint: read_variable("OTEL_EXPORTER_OTLP_ENDPOINT"),
        traces_endpoint: read_variable("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"),
        service_name: read_variable("AWS_LAMBDA_FUNCTION_NAME")
            .unwrap_or_else(|| "recollect".into()),
    };
    tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?
        .block_on(async {
            let traces = telemetry::start(&filter, LogFormat::Lambda, &traces)?;
            run(traces).await
        })
}

/// Returns a variable of the function's environment, unless it is empty.
pub fn read_non_empty(name: &str) -> Option<String> {
    read_variable(name).filter(|value| !value.is_empty())
}

/// Returns a variable of the function's environment.
#[expect(
    clippy::disallowed_methods,
    reason = "the environment is read here, once at the start of a function"
)]
pub fn read_variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}
