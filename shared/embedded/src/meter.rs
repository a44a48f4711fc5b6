//! Counts the requests to the services in the units that AWS bills.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use aws_smithy_runtime_api::client::http::{
    HttpClient, HttpConnector, HttpConnectorFuture, HttpConnectorSettings, SharedHttpConnector,
};
use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse};
use aws_smithy_runtime_api::client::result::ConnectorError;
use aws_smithy_runtime_api::client::runtime_components::RuntimeComponents;
use aws_smithy_types::body::SdkBody;
use http_body_util::BodyExt;
use serde_json::Value;

use crate::Transport;

/// The counts of a meter.
#[derive(Debug, Clone, Copy, Default)]
pub struct Count {
    /// Requests of any kind.
    pub requests: u64,
    /// DynamoDB read request units.
    pub reads: f64,
    /// DynamoDB write request units, of tables and indexes.
    pub writes: f64,
    /// S3 requests that write.
    pub s3_puts: u64,
    /// S3 requests that read.
    pub s3_gets: u64,
    /// SQS requests.
    pub sqs: u64,
    /// KMS requests.
    pub kms: u64,
}

/// List prices of us-east-1 in dollars per million: on-demand read and write units, requests of S3,
/// SQS and KMS.
const READ: f64 = 0.125;
const WRITE: f64 = 0.625;
const S3_PUT: f64 = 5.0;
const S3_GET: f64 = 0.4;
const SQS: f64 = 0.4;
const KMS: f64 = 3.0;

impl Count {
    /// Returns the price, in dollars, of a million times these counts.
    pub fn dollars_per_million(&self) -> f64 {
        self.reads * READ
            + self.writes * WRITE
            + self.s3_puts as f64 * S3_PUT
            + self.s3_gets as f64 * S3_GET
            + self.sqs as f64 * SQS
            + self.kms as f64 * KMS
    }
}

/// A transport that counts requests.
#[derive(Debug, Clone)]
pub struct Meter {
    inner: Transport,
    count: Arc<Mutex<Count>>,
    on: Arc<std::sync::atomic::AtomicBool>,
}

impl Meter {
    /// Creates a meter in front of a transport. It counts nothing until [`Meter::start`].
    pub fn new(inner: Transport) -> Self {
        Self {
            inner,
            count: Arc::default(),
            on: Arc::default(),
        }
    }

    /// Starts counting from zero. Counting asks DynamoDB for consumed capacity, which takes time,
    /// so do not measure times while counting.
    pub fn start(&self) {
        self.on.store(true, std::sync::atomic::Ordering::SeqCst);
        *self.lock() = Count::default();
    }

    /// Stops counting and returns the counts since the start.
    pub fn take(&self) -> Count {
        self.on.store(false, std::sync::atomic::Ordering::SeqCst);
        std::mem::take(&mut *self.lock())
    }

    fn lock(&self) -> MutexGuard<'_, Count> {
        self.count.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add_dynamodb(&self, operation: &str, answer: &[u8]) {
        let answer: Value = serde_json::from_slice(answer).unwrap_or_default();
        let units = match &answer["ConsumedCapacity"] {
            Value::Array(tables) => tables
                .iter()
                .filter_map(|table| table["CapacityUnits"].as_f64())
                .sum(),
            one => one["CapacityUnits"].as_f64().unwrap_or_default(),
        };

        let mut count = self.lock();
        if ["GetItem", "Query", "BatchGetItem"].contains(&operation) {
            count.reads += units;
        } else {
            count.writes += units;
        }
    }
}

impl HttpClient for Meter {
    fn http_connector(
        &self,
        _: &HttpConnectorSettings,
        _: &RuntimeComponents,
    ) -> SharedHttpConnector {
        SharedHttpConnector::new(self.clone())
    }
}

impl HttpConnector for Meter {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        if !self.on.load(std::sync::atomic::Ordering::SeqCst) {
            return self.inner.call(request);
        }

        let this = self.clone();
        HttpConnectorFuture::new(async move {
            let user =
                |error: aws_smithy_runtime_api::http::HttpError| ConnectorError::user(error.into());
            let request = request.try_into_http1x().map_err(user)?;
            let (parts, body) = request.into_parts();
            let mut body = body
                .collect()
                .await
                .map_err(ConnectorError::user)?
                .to_bytes();
            let target = parts
                .headers
                .get("x-amz-target")
                .and_then(|value| value.to_str().ok());
            let target = target.unwrap_or_default().to_owned();
            let operation = target.strip_prefix("DynamoDB_20120810.").map(str::to_owned);
            this.lock().requests += 1;
            if operation.is_some()
                && let Ok(mut json) = serde_json::from_slice::<Value>(&body)
            {
                json["ReturnConsumedCapacity"] = "TOTAL".into();
                body = json.to_string().into();
            } else if target.starts_with("AmazonSQS") {
                this.lock().sqs += 1;
            } else if target.starts_with("TrentService") {
                this.lock().kms += 1;
            } else if parts.method == http::Method::GET || parts.method == http::Method::HEAD {
                this.lock().s3_gets += 1;
            } else if parts.method != http::Method::DELETE {
                this.lock().s3_puts += 1;
            }
            let mut request = http::Request::from_parts(parts, SdkBody::from(body));
            if operation.is_some() {
                // The new body of a DynamoDB request is longer, so its length is no longer right.
                // S3 signs the length, so it stays there.
                request.headers_mut().remove(http::header::CONTENT_LENGTH);
            }
            let response = this
                .inner
                .call(HttpRequest::try_from(request).map_err(user)?)
                .await?;
            let response = response.try_into_http1x().map_err(user)?;
            let (parts, body) = response.into_parts();
            let body = body
                .collect()
                .await
                .map_err(ConnectorError::user)?
                .to_bytes();
            if let Some(operation) = operation {
                this.add_dynamodb(&operation, &body);
            }
            HttpResponse::try_from(http::Response::from_parts(parts, SdkBody::from(body)))
                .map_err(user)
        })
    }
}
