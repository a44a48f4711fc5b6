//! Runs an axum router, a queue worker, a schedule or the answers to other functions as an AWS Lambda
//! function. The `main` of a function is one call.

mod answers;
mod calls;
mod events;
mod settings;
mod stage;

use std::str::FromStr;
use std::sync::Arc;

use anyhow::{Context, Result, anyhow};
use aws::{
    AnswerStore, Clients, LambdaFunction, QueueReceiver, ResourceNames, SdkConfig, SystemClock,
};
use axum::Router;
use bytes::Bytes;
use domain::ports::{PortResult, RemoteFunction};
use domain::{DeliveryOutcome, QueueDelivery, QueueWorker};
use edge::App;
use lambda_http::{LambdaEvent, lambda_runtime, service_fn};
use serde_json::Value;
use service::Authenticator;
use service::Ctx;
use telemetry::{LogFormat, TraceSettings, Traces};
use tower::ServiceExt;
use tracing::warn;

use events::{EventMessage, batch_response, parse_messages};

pub use answers::limit_answers;
pub use calls::{TRANSFER_TIMEOUT, answer_call};
pub use settings::{SECRET_SETTINGS, Settings};
pub use stage::strip_stage;

/// Serves the routes of `router`, which gets the ports.
///
/// # Errors
/// Fails if the environment is incomplete or the runtime ends.
pub fn run_http(router: impl FnOnce(App) -> Router) -> Result<()> {
    start_runtime(async move |traces| {
        let Deployment { ctx, answers, .. } = Deployment::from_environment().await?;
        let clock = ctx.clock.clone();
        let authenticator = Authenticator::new(ctx.keys.clone(), ctx.clock.clone());
        let app = App::new(ctx, authenticator)
            .with_allowed_origins(read_setting("RECOLLECT_CORS_ORIGINS")?)
            .with_provider_names(read_setting("RECOLLECT_PROVIDER_NAMES")?);
        let routes = edge::build_service(router(app.clone()), &app);
        let routes = limit_answers(routes, answers, clock);
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
pub fn run_queue_and_schedule<W, S, F>(worker: impl FnOnce(Ctx) -> W, scheduled: S) -> Result<()>
where
    W: QueueWorker,
    S: Fn(Ctx) -> F,
    F: Future<Output = PortResult<()>>,
{
    start_runtime(async move |traces| {
        let Deployment { ctx, queues, .. } = Deployment::from_environment().await?;
        let worker = worker(ctx.clone());
        let (worker, queues, ctx) = (&worker, &queues, &ctx);
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

/// The queues of a deployment, to which messages return for another attempt.
#[derive(Debug, Clone)]
pub struct Queues {
    clients: Clients,
    names: ResourceNames,
}

impl Queues {
    /// Returns the queues beside those in `names`.
    pub fn new(clients: Clients, names: ResourceNames) -> Self {
        Self { clients, names }
    }

    /// Makes a message visible again after a few seconds. Otherwise it would come again after the
    /// visibility time-out of its queue, which is six times the time-out of the function.
    async fn retry_soon(&self, message: &EventMessage) {
        let Some(address) = self.names.queue_address(&message.queue) else {
            return;
        };
        let receiver = QueueReceiver::new(self.clients.sqs.clone(), address);
        let delay = message.message.retry_delay();
        if let Err(error) = receiver.retry_after(&message.message, delay).await {
            warn!(
                error = &error as &dyn std::error::Error,
                "a message comes again only after the visibility time-out"
            );
        }
    }
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

/// Returns a setting of the environment, or its default if it is not set.
fn read_setting<T: Default + FromStr<Err = domain::Error>>(name: &str) -> Result<T> {
    match read_variable(name) {
        Some(text) => Ok(text.parse()?),
        None => Ok(T::default()),
    }
}

/// The deployment that a function belongs to, as its environment describes it.
pub struct Deployment {
    /// The ports.
    pub ctx: Ctx,
    queues: Queues,
    answers: AnswerStore,
    config: SdkConfig,
}

impl Deployment {
    async fn from_environment() -> Result<Self> {
        let config = aws::load_config().await;
        let clients = Clients::new(&config);
        let names = ResourceNames::from_environment(read_variable)?;
        Ok(Self {
            ctx: aws::build_context(&clients, &names, Arc::new(SystemClock)),
            answers: AnswerStore::new(&clients, &names),
            queues: Queues::new(clients, names),
            config,
        })
    }

    /// Returns the function whose name is in a variable of the environment, or `None` if the variable
    /// is empty.
    ///
    /// # Errors
    /// Fails if the variable is not set.
    pub fn function(&self, variable: &str) -> Result<Option<Arc<dyn RemoteFunction>>> {
        let name = read_variable(variable).with_context(|| format!("set {variable}"))?;
        if name.is_empty() {
            return Ok(None);
        }
        let Queues { clients, names } = &self.queues;
        let clock = self.ctx.clock.clone();
        let function = LambdaFunction::new(&self.config, clients, names, clock, name);
        Ok(Some(Arc::new(function)))
    }
}

/// Returns a variable of the function's environment.
#[expect(
    clippy::disallowed_methods,
    reason = "the environment is read here, once at the start of a function"
)]
pub fn read_variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}
