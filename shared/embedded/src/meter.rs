//! Counts the requests to the services in the units that AWS bills.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};

use aws_smithy_runtime_api::client::http::{
    HttpClient, HttpConnector, HttpConnectorFuture, HttpConnectorSettings, SharedHttpConnector,
};
use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse};
use aws_smithy_runtime_api::client::runtime_components::RuntimeComponents;
use aws_smithy_types::body::SdkBody;
use serde_json::Value;

use crate::InProcessTransport;
use crate::blocking::lock_mutex;
use crate::network::Service;
use crate::transport::{collect_body, user_error};

/// The counts of a meter.
#[derive(Debug, Clone, Copy, Default)]
pub struct RequestCounts {
    /// Requests of any kind.
    pub requests: u64,
    /// DynamoDB read request units.
    pub read_units: f64,
    /// DynamoDB write request units, of tables and indexes.
    pub write_units: f64,
    /// DynamoDB write request units of the index that took the most. All entries of a container in one index are
    /// one partition, which takes 1,000 a second.
    pub busiest_index_write_units: f64,
    /// S3 requests that write.
    pub s3_puts: u64,
    /// S3 requests that read.
    pub s3_gets: u64,
    /// SQS requests.
    pub sqs: u64,
    /// KMS requests.
    pub kms: u64,
    /// The bytes of the answers of S3.
    pub s3_bytes: u64,
    /// The bytes of the requests to S3.
    pub s3_sent_bytes: u64,
    /// The length of the longest chain of requests that waited for each other: each one began after
    /// the answer to the one before.
    pub longest_chain: u64,
}

/// List prices of us-east-1 in dollars per million: on-demand read and write units, requests of S3,
/// SQS and KMS.
const READ_UNIT_PRICE: f64 = 0.125;
const WRITE_UNIT_PRICE: f64 = 0.625;
const S3_PUT_PRICE: f64 = 5.0;
const S3_GET_PRICE: f64 = 0.4;
const SQS_REQUEST_PRICE: f64 = 0.4;
const KMS_REQUEST_PRICE: f64 = 3.0;

impl RequestCounts {
    /// Returns the price, in dollars, of a million times these counts.
    pub fn dollars_per_million(&self) -> f64 {
        self.read_units * READ_UNIT_PRICE
            + self.write_units * WRITE_UNIT_PRICE
            + self.s3_puts as f64 * S3_PUT_PRICE
            + self.s3_gets as f64 * S3_GET_PRICE
            + self.sqs as f64 * SQS_REQUEST_PRICE
            + self.kms as f64 * KMS_REQUEST_PRICE
    }
}

/// A transport that counts requests.
#[derive(Debug, Clone)]
pub struct MeteredTransport {
    inner: InProcessTransport,
    counts: Arc<Mutex<RequestCounts>>,
    /// The write units of each index, by the names of its table and of itself.
    index_write_units: Arc<Mutex<BTreeMap<(String, String), f64>>>,
    is_counting: Arc<std::sync::atomic::AtomicBool>,
}

impl MeteredTransport {
    /// Creates a meter in front of a transport. It counts nothing until
    /// [`MeteredTransport::start_counting`].
    pub fn new(inner: InProcessTransport) -> Self {
        Self {
            inner,
            counts: Arc::default(),
            index_write_units: Arc::default(),
            is_counting: Arc::default(),
        }
    }

    /// Starts counting from zero. Counting asks DynamoDB for consumed capacity, which takes time,
    /// so do not measure times while counting.
    pub fn start_counting(&self) {
        self.is_counting
            .store(true, std::sync::atomic::Ordering::SeqCst);
        *self.lock_counts() = RequestCounts::default();
        lock_mutex(&self.index_write_units).clear();
    }

    /// Stops counting and returns the counts since the start.
    pub fn take_counts(&self) -> RequestCounts {
        self.is_counting
            .store(false, std::sync::atomic::Ordering::SeqCst);
        let mut counts = std::mem::take(&mut *self.lock_counts());
        let units = std::mem::take(&mut *lock_mutex(&self.index_write_units));
        counts.busiest_index_write_units = units.into_values().fold(0.0, f64::max);
        counts
    }

    fn lock_counts(&self) -> MutexGuard<'_, RequestCounts> {
        lock_mutex(&self.counts)
    }

    fn count_request(&self, service: Service, method: &http::Method) {
        let mut counts = self.lock_counts();
        counts.requests += 1;
        match service {
            Service::DynamoDb => {}
            Service::Sqs => counts.sqs += 1,
            Service::Kms => counts.kms += 1,
            Service::S3 if [http::Method::GET, http::Method::HEAD].contains(method) => {
                counts.s3_gets += 1;
            }
            Service::S3 if *method != http::Method::DELETE => counts.s3_puts += 1,
            Service::S3 => {}
        }
    }

    fn add_dynamodb(&self, operation: &str, body: &[u8]) {
        let body: Value = serde_json::from_slice(body).unwrap_or_default();
        let units_of = |part: &Value| part["CapacityUnits"].as_f64().unwrap_or_default();
        let tables = match &body["ConsumedCapacity"] {
            Value::Array(tables) => tables.as_slice(),
            table => std::slice::from_ref(table),
        };
        let units: f64 = tables.iter().map(units_of).sum();

        if ["GetItem", "Query", "BatchGetItem"].contains(&operation) {
            self.lock_counts().read_units += units;
            return;
        }
        self.lock_counts().write_units += units;
        let mut index_write_units = lock_mutex(&self.index_write_units);
        for table in tables {
            let name = table["TableName"].as_str().unwrap_or_default();
            for (index, part) in table["GlobalSecondaryIndexes"]
                .as_object()
                .into_iter()
                .flatten()
            {
                let index = (name.to_owned(), index.clone());
                *index_write_units.entry(index).or_default() += units_of(part);
            }
        }
    }
}

impl HttpClient for MeteredTransport {
    fn http_connector(
        &self,
        _: &HttpConnectorSettings,
        _: &RuntimeComponents,
    ) -> SharedHttpConnector {
        SharedHttpConnector::new(self.clone())
    }
}

impl HttpConnector for MeteredTransport {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        if !self.is_counting.load(std::sync::atomic::Ordering::SeqCst) {
            return self.inner.call(request);
        }

        let this = self.clone();
        HttpConnectorFuture::new(async move {
            let begun_after = this.lock_counts().longest_chain;
            // Requests that begin together are all seen before the first of them is answered.
            tokio::task::yield_now().await;

            let request = request.try_into_http1x().map_err(user_error)?;
            let (mut parts, body) = request.into_parts();
            let mut body = collect_body(body).await?;
            let target = parts.headers.get("x-amz-target").cloned();
            let service = Service::of_target(target.as_ref());
            this.count_request(service, &parts.method);
            if service == Service::DynamoDb
                && let Ok(mut json) = serde_json::from_slice::<Value>(&body)
            {
                json["ReturnConsumedCapacity"] = "INDEXES".into();
                body = json.to_string().into();
                // The new body is longer, so the length is no longer right. S3 signs the length, so
                // it stays there.
                parts.headers.remove(http::header::CONTENT_LENGTH);
            }
            if service == Service::S3 {
                this.lock_counts().s3_sent_bytes += body.len() as u64;
            }
            let request = http::Request::from_parts(parts, SdkBody::from(body));
            let response = this
                .inner
                .call(HttpRequest::try_from(request).map_err(user_error)?)
                .await?;
            let response = response.try_into_http1x().map_err(user_error)?;
            let (parts, body) = response.into_parts();
            let body = collect_body(body).await?;
            match (service, target) {
                (Service::DynamoDb, Some(target)) => {
                    let target = target.to_str().unwrap_or_default();
                    let operation = target.rsplit('.').next().unwrap_or_default();
                    this.add_dynamodb(operation, &body);
                }
                (Service::S3, _) => this.lock_counts().s3_bytes += body.len() as u64,
                _ => {}
            }
            let mut counts = this.lock_counts();
            counts.longest_chain = counts.longest_chain.max(begun_after + 1);
            drop(counts);

            HttpResponse::try_from(http::Response::from_parts(parts, SdkBody::from(body)))
                .map_err(user_error)
        })
    }
}
