//! The client of the collector to which traces are sent.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use async_trait::async_trait;
use bytes::Bytes;
use http::{Request, Response, StatusCode};
use opentelemetry_http::{HttpClient, HttpError};
use remote::ApiClient;
use tokio::runtime::Handle;
use tracing::{info, warn};

/// The longest time for one request.
const TIME_LIMIT: Duration = Duration::from_secs(2);
/// The time after a failure during which spans are dropped. A function waits for its spans to be
/// sent, and must not wait for a collector that is away with each request.
const PAUSE: Duration = Duration::from_secs(30);
/// The largest answer in bytes that is read. A collector answers with a few counts.
const MAX_ANSWER_BYTES: usize = 64 * 1024;

/// A client that sends spans by the runtime of the process. The SDK calls it on a thread of its own,
/// outside of the runtime.
#[derive(Debug)]
pub(crate) struct Collector {
    runtime: Handle,
    client: Arc<ApiClient>,
    /// The time of the last request, if it failed.
    failed_at: Mutex<Option<Instant>>,
}

impl Collector {
    /// Returns a client that sends by the current runtime.
    pub(crate) fn new() -> Self {
        Self {
            runtime: Handle::current(),
            client: Arc::new(ApiClient::new("recollect")),
            failed_at: Mutex::default(),
        }
    }

    /// Logs that the collector does not take spans any more, or takes them again. A collector that
    /// is away would otherwise fill the log.
    fn report(&self, sent: &Result<Response<Bytes>>) {
        let failure = match sent {
            Ok(response) if response.status().is_success() => None,
            Ok(response) => Some(describe_refusal(response.status())),
            Err(error) => Some(format!("{error:#}")),
        };
        let failed_at = failure.is_some().then(Instant::now);
        let was_failing = std::mem::replace(&mut *self.lock(), failed_at).is_some();
        match failure {
            Some(reason) if !was_failing => warn!(reason, "traces cannot be sent to the collector"),
            None if was_failing => info!("traces are sent to the collector again"),
            _ => {}
        }
    }

    fn is_paused(&self) -> bool {
        self.lock()
            .is_some_and(|failed_at| failed_at.elapsed() < PAUSE)
    }

    fn lock(&self) -> MutexGuard<'_, Option<Instant>> {
        // A panic while the lock is held cannot leave the time half-changed.
        self.failed_at
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl HttpClient for Collector {
    async fn send_bytes(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        if self.is_paused() {
            return Err("the collector has just failed".into());
        }
        let client = self.client.clone();
        let sent = self.runtime.spawn(send(client, request)).await;
        let sent = sent.context("the process ends").flatten();
        self.report(&sent);
        sent.map_err(Into::into)
    }
}

async fn send(client: Arc<ApiClient>, request: Request<Bytes>) -> Result<Response<Bytes>> {
    let answer = client.send(request, TIME_LIMIT).await?;
    let mut response = Response::new(Bytes::new());
    *response.status_mut() = answer.status();
    *response.headers_mut() = answer.headers().clone();
    let body = answer.read_body(MAX_ANSWER_BYTES).await?;
    *response.body_mut() = body.unwrap_or_default();
    Ok(response)
}

fn describe_refusal(status: StatusCode) -> String {
    let advice = match status {
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => "; check OTEL_EXPORTER_OTLP_HEADERS",
        StatusCode::NOT_FOUND => "; it expects OTLP over HTTP, usually on port 4318",
        _ => "",
    };
    format!("it answers {status}{advice}")
}
