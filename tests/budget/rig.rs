//! The product in this process, with a meter between it and the services.

use std::sync::Arc;

use anyhow::{Result, ensure};
use aws::Clients;
use axum::Router;
use axum::body::Body;
use cli::{LocalSystem, QueueSet};
use domain::{OrgId, Timestamp};
use edge::{App, LoopbackPeer};
use embedded::{ACCESS_KEY_ID, InProcessTransport, MeteredTransport, REGION, SECRET_ACCESS_KEY};
use http::Request;
use http_body_util::BodyExt;
use serde_json::Value;
use service::Authenticator;
use testkit::TestEnvironment;
use tower::ServiceExt;

use crate::MeasuredOperation;

const CACHE_BYTES: usize = 64 * 1024 * 1024;

/// A running system in a temporary folder, and its measurements.
pub(crate) struct MeteredSystem {
    pub(crate) measured: Vec<MeasuredOperation>,
    system: LocalSystem,
    meter: MeteredTransport,
    routes: Router,
    queues: QueueSet,
    _world: TestEnvironment,
}

impl MeteredSystem {
    pub(crate) async fn new() -> Result<Self> {
        // The clock of a world begins at a full hour, so that the current hour is the same in every
        // run.
        let world = TestEnvironment::new()?;
        let meter = MeteredTransport::new(InProcessTransport::new(world.services.clone()));
        let config = aws::config_through(meter.clone(), ACCESS_KEY_ID, SECRET_ACCESS_KEY, REGION);
        let clock = Arc::new(world.clock.clone());
        let system = LocalSystem::over_services(
            world.services.clone(),
            &Clients::in_process(&config),
            clock,
            None,
        )
        .await?;
        let ctx = system.ctx.clone();
        let authenticator = Authenticator::new(ctx.keys.clone(), ctx.clock.clone());
        let authenticator = authenticator.with_local_key(OrgId::parse("local")?);
        let outside = world.external_systems()?;
        let app = App::new(ctx, authenticator);
        let routes = cli::all_routes(
            &app,
            CACHE_BYTES,
            outside.connectors.clone(),
            outside.public_url.clone(),
            outside.readers.models.reads_memories(),
        );
        let queues = QueueSet::open(&system, &outside)
            .await?
            .with_batches_of_aws();

        Ok(Self {
            measured: Vec::new(),
            system,
            meter,
            routes,
            queues,
            _world: world,
        })
    }

    /// Sends a request and returns its answer.
    pub(crate) async fn send_request(&self, method: &str, path: &str, body: &Value) -> Value {
        let request = Request::builder()
            .method(method)
            .uri(path)
            .extension(LoopbackPeer);
        let request = request
            .header("authorization", "Bearer local")
            .header("content-type", "application/json");
        let body = if body.is_null() {
            String::new()
        } else {
            body.to_string()
        };
        let request = request
            .body(Body::from(body))
            .expect("a request of plain parts");
        let response = self
            .routes
            .clone()
            .oneshot(request)
            .await
            .expect("routes never fail");
        let status = response.status();
        let bytes = response
            .into_body()
            .collect()
            .await
            .expect("a whole answer")
            .to_bytes();
        assert!(
            status.is_success(),
            "{method} {path}: {status} {}",
            String::from_utf8_lossy(&bytes)
        );

        serde_json::from_slice(&bytes).unwrap_or_default()
    }

    /// Sends requests that differ by their number, records the average cost of one, and returns the
    /// answers.
    pub(crate) async fn measure_requests(
        &mut self,
        operation: &'static str,
        times: usize,
        request: impl Fn(usize) -> (&'static str, String, Value),
    ) -> Vec<Value> {
        let mut answers = Vec::new();
        self.meter.start_counting();
        for number in 0..times {
            let (method, path, body) = request(number);
            answers.push(self.send_request(method, &path, &body).await);
        }

        self.measured.push(MeasuredOperation {
            operation,
            calls: times,
            count: self.meter.take_counts(),
        });

        answers
    }

    /// Runs the workers until the queues are empty, and records the average cost for one of
    /// `documents`. Polls of the queues are not counted: on AWS, the event source mappings make
    /// them at no charge.
    pub(crate) async fn measure_processing(
        &mut self,
        operation: &'static str,
        documents: usize,
    ) -> Result<()> {
        self.meter.start_counting();
        while self.queues.handle_one_batch_each().await? > 0 {}
        let mut count = self.meter.take_counts();
        count.sqs = 0;
        // The workers handle one queue after the other here, and at the same time on AWS.
        count.longest_chain = 0;
        self.measured.push(MeasuredOperation {
            operation,
            calls: documents,
            count,
        });

        self.check_nothing_is_left().await
    }

    /// Runs the workers until the queues are empty.
    pub(crate) async fn run_workers(&self) -> Result<()> {
        while self.queues.handle_one_batch_each().await? > 0 {}
        self.check_nothing_is_left().await
    }

    async fn check_nothing_is_left(&self) -> Result<()> {
        let all = Timestamp::from_millis(i64::MAX);
        let left = self.system.ctx.documents.list_overdue(all, 1000).await?;
        let document = left
            .iter()
            .find(|work| matches!(work, domain::ports::OverdueWork::Document(..)));
        ensure!(document.is_none(), "{document:?} is unfinished");
        Ok(())
    }
}
