//! `/metrics`: counts and times of this server, in the text format of Prometheus. The numbers count requests,
//! messages and bytes; none of them names an organization, a container or anything stored.

use std::time::Duration;

use anyhow::Result;
use aws::{QueueReceiver, layout};
use axum::Router;
use axum::extract::{Extension, State};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use domain::{Error, Secret};
use edge::{ApiError, LoopbackPeer, read_bearer_token};
use http::HeaderMap;
use http::header::CONTENT_TYPE;
use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};
use subtle::ConstantTimeEq;
use tracing::warn;

use crate::system::LocalSystem;

/// The upper bounds of the buckets of times, in seconds.
const SECONDS: [f64; 12] = [
    0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0,
];
/// The pause between two rounds of upkeep.
const UPKEEP_INTERVAL: Duration = Duration::from_secs(5);
/// The content type of the format, as Prometheus names it.
const TEXT_FORMAT: &str = "text/plain; version=0.0.4; charset=utf-8";

/// The metrics of a server.
#[derive(Clone)]
struct Metrics {
    recorder: PrometheusHandle,
    system: LocalSystem,
    token: Option<Secret>,
}

/// Begins to record, and returns the route `/metrics`. It is open to this machine itself and, with
/// `token` as a bearer token, to other machines.
///
/// # Errors
/// Fails if this process records already.
pub(crate) fn metrics_routes(system: &LocalSystem, token: Option<Secret>) -> Result<Router> {
    let recorder = PrometheusBuilder::new()
        .set_buckets_for_metric(Matcher::Suffix("_seconds".into()), &SECONDS)?
        .install_recorder()?;
    describe_metrics();
    tokio::spawn(keep_up(recorder.clone()));

    let metrics = Metrics {
        recorder,
        system: system.clone(),
        token,
    };
    Ok(Router::new()
        .route("/metrics", get(show_metrics))
        .with_state(metrics))
}

/// Sums up the recorded times from time to time. Without this, every single one is kept until
/// somebody reads the metrics.
async fn keep_up(recorder: PrometheusHandle) {
    loop {
        tokio::time::sleep(UPKEEP_INTERVAL).await;
        recorder.run_upkeep();
    }
}

async fn show_metrics(
    State(metrics): State<Metrics>,
    peer: Option<Extension<LoopbackPeer>>,
    headers: HeaderMap,
) -> Response {
    if peer.is_none() && !metrics.accepts(&headers) {
        let message = "metrics are for this machine, and for others with RECOLLECT_METRICS_TOKEN \
                       as a bearer token";
        return ApiError(Error::Unauthenticated(message)).into_response();
    }

    record_queue_depths(&metrics.system).await;
    metrics.recorder.run_upkeep();
    let text = metrics.recorder.render();
    ([(CONTENT_TYPE, TEXT_FORMAT)], text).into_response()
}

impl Metrics {
    fn accepts(&self, headers: &HeaderMap) -> bool {
        let Some(token) = &self.token else {
            return false;
        };
        read_bearer_token(headers)
            .is_some_and(|sent| sent.as_bytes().ct_eq(token.expose().as_bytes()).into())
    }
}

/// Reads how many messages wait in each queue, and how many are being handled.
async fn record_queue_depths(system: &LocalSystem) {
    for layout in layout::QUEUES {
        for queue in [layout.name, layout.dead_letter_queue] {
            let Some(address) = system.names.queue_address(queue) else {
                continue;
            };
            let receiver = QueueReceiver::new(system.clients.sqs.clone(), address);
            match receiver.depth().await {
                Ok(depth) => {
                    record_depth(queue, "waiting", depth.waiting);
                    record_depth(queue, "in_progress", depth.in_progress);
                }
                Err(error) => warn!(
                    error = &error as &dyn std::error::Error,
                    queue, "a queue did not tell how many messages it has"
                ),
            }
        }
    }
}

fn record_depth(queue: &'static str, state: &'static str, count: u64) {
    metrics::gauge!("recollect_queue_depth", "queue" => queue, "state" => state).set(count as f64);
}

fn describe_metrics() {
    metrics::describe_histogram!(
        "recollect_http_request_duration_seconds",
        "Requests by method, route and status, with the seconds until their answer"
    );
    metrics::describe_counter!(
        "recollect_documents_total",
        "Documents whose processing ended, by status"
    );
    metrics::describe_counter!(
        "recollect_queue_messages_total",
        "Messages that a worker has handled, by queue and outcome"
    );
    metrics::describe_gauge!(
        "recollect_queue_depth",
        "Messages in each queue: waiting, or in progress"
    );
    metrics::describe_counter!(
        "recollect_cache_opens_total",
        "Containers that requests opened: warm, brought up to date, or loaded"
    );
    metrics::describe_gauge!(
        "recollect_cache_bytes",
        "Bytes of search indexes and memories that are kept warm"
    );
}
