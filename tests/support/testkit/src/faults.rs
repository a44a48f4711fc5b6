//! A transport that fails as real services do. A seed determines the failures, so that each of them
//! can be reproduced.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use aws_smithy_runtime_api::client::http::{
    HttpClient, HttpConnector, HttpConnectorFuture, HttpConnectorSettings, SharedHttpConnector,
};
use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse};
use aws_smithy_runtime_api::client::result::ConnectorError;
use aws_smithy_runtime_api::client::runtime_components::RuntimeComponents;
use aws_smithy_types::body::SdkBody;
use bytes::Bytes;
use embedded::EmbeddedServices;
use http_body_util::BodyExt;
use rand::rngs::StdRng;
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use serde_json::Value;
use tokio::sync::Notify;

use crate::rights::find_missing_rights;

/// The probability of each kind of fault, from 0 to 1 per call.
#[derive(Debug, Clone, Copy, Default)]
pub struct FaultRates {
    /// The service answers that it is busy, and does nothing.
    pub throttle: f64,
    /// The request never arrives.
    pub lost_request: f64,
    /// The service handles the request, but the answer never arrives.
    pub lost_answer: f64,
    /// A queue loses the deletion of a message, so that it delivers the message again.
    pub duplicate: f64,
    /// A standard queue delivers a batch in a different order.
    pub reorder: f64,
    /// The most times that a call yields to other tasks.
    pub yields: u32,
}

impl FaultRates {
    /// The rates at which every kind of fault happens occasionally.
    pub const OCCASIONAL: Self = Self {
        throttle: 0.03,
        lost_request: 0.03,
        lost_answer: 0.03,
        duplicate: 0.1,
        reorder: 0.5,
        yields: 6,
    };
}

/// The faults of one transport.
#[derive(Clone)]
pub struct FaultyTransport {
    services: EmbeddedServices,
    state: Arc<Mutex<State>>,
    resume: Arc<Notify>,
}

struct State {
    random: StdRng,
    rates: FaultRates,
    calls: u64,
    crash_at: Option<u64>,
    pause_at: Option<u64>,
    refused_operation: Option<&'static str>,
    /// What functions have done without a right in the template.
    missing_rights: BTreeSet<String>,
}

enum CallOutcome {
    Pass,
    Throttle,
    LoseRequest,
    LoseAnswer,
}

impl std::fmt::Debug for FaultyTransport {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FaultyTransport")
            .field("calls", &self.call_count())
            .finish_non_exhaustive()
    }
}

impl FaultyTransport {
    /// Creates a transport to `services` without faults. `seed` determines its later faults.
    pub fn new(services: EmbeddedServices, seed: u64) -> Self {
        let random = StdRng::seed_from_u64(seed);
        let state = State {
            random,
            rates: FaultRates::default(),
            calls: 0,
            crash_at: None,
            pause_at: None,
            refused_operation: None,
            missing_rights: BTreeSet::new(),
        };

        Self {
            services,
            state: Arc::new(Mutex::new(state)),
            resume: Arc::default(),
        }
    }

    /// Sets the rates of faults from now on.
    pub fn set_rates(&self, rates: FaultRates) {
        self.lock().rates = rates;
    }

    /// Crashes the process at its call number `call`, counted from 0 over the life of the
    /// transport. That call and all later ones are never sent.
    pub fn crash_at(&self, call: Option<u64>) {
        self.lock().crash_at = call;
    }

    /// Throttles every call of the operation with this name, such as `Query`, from now on; `None`
    /// lifts this.
    pub fn refuse_operation(&self, operation: Option<&'static str>) {
        self.lock().refused_operation = operation;
    }

    /// Pauses the process before its call number `call` until [`FaultyTransport::resume_calls`].
    pub fn pause_at(&self, call: u64) {
        self.lock().pause_at = Some(call);
    }

    /// Resumes a paused process with all of its calls, and cancels a pause that has not begun.
    pub fn resume_calls(&self) {
        self.lock().pause_at = None;
        self.resume.notify_waiters();
    }

    /// Returns the number of calls so far.
    pub fn call_count(&self) -> u64 {
        self.lock().calls
    }

    /// Returns what functions have done so far that `template.yaml` does not let them do.
    pub(crate) fn missing_rights(&self) -> Vec<String> {
        self.lock().missing_rights.iter().cloned().collect()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn decide_outcome(&self, target: &str) -> CallOutcome {
        let mut state = self.lock();
        let call = state.calls;
        state.calls += 1;
        if state.crash_at.is_some_and(|at| call >= at) {
            return CallOutcome::LoseRequest;
        }

        if state
            .refused_operation
            .is_some_and(|operation| target.split('.').next_back() == Some(operation))
        {
            return CallOutcome::Throttle;
        }

        let rates = state.rates;
        let roll = |state: &mut State, rate: f64| rate > 0.0 && state.random.random_bool(rate);
        if target.starts_with("AmazonSQS.DeleteMessage") && roll(&mut state, rates.duplicate) {
            return CallOutcome::LoseRequest;
        }

        if roll(&mut state, rates.throttle) {
            CallOutcome::Throttle
        } else if roll(&mut state, rates.lost_request) {
            CallOutcome::LoseRequest
        } else if roll(&mut state, rates.lost_answer) {
            CallOutcome::LoseAnswer
        } else {
            CallOutcome::Pass
        }
    }

    fn is_pause_due(&self) -> bool {
        let state = self.lock();
        state.pause_at.is_some_and(|at| state.calls >= at)
    }

    fn random_yields(&self) -> u32 {
        let mut state = self.lock();
        if state.rates.yields == 0 {
            0
        } else {
            let max_yields = state.rates.yields;
            state.random.random_range(0..=max_yields)
        }
    }

    /// Shuffles the messages in an answer of a standard queue.
    fn reorder_messages(&self, body: Bytes) -> Bytes {
        let mut state = self.lock();
        let rate = state.rates.reorder;
        if rate == 0.0 || !state.random.random_bool(rate) {
            return body;
        }
        let Ok(mut response) = serde_json::from_slice::<Value>(&body) else {
            return body;
        };
        let is_grouped = |message: &Value| message["Attributes"]["SequenceNumber"].is_string();

        if let Some(messages) = response["Messages"]
            .as_array_mut()
            .filter(|messages| !messages.iter().any(is_grouped))
        {
            messages.shuffle(&mut state.random);
        }

        response.to_string().into()
    }
}

impl HttpClient for FaultyTransport {
    fn http_connector(
        &self,
        _: &HttpConnectorSettings,
        _: &RuntimeComponents,
    ) -> SharedHttpConnector {
        SharedHttpConnector::new(self.clone())
    }
}

fn connection_lost() -> ConnectorError {
    ConnectorError::io("the connection was lost".into())
}

/// Returns the answer of a busy service to a request for `target`. Only requests to S3 have no
/// target.
fn throttled_response(target: &str) -> http::Response<Bytes> {
    let (status, body) = if target.is_empty() {
        let body = "<Error><Code>SlowDown</Code><Message>Please reduce your request rate.</Message></Error>";
        (http::StatusCode::SERVICE_UNAVAILABLE, body)
    } else {
        let body = r#"{"__type":"com.amazonaws.dynamodb.v20120810#ThrottlingException","message":"slow down"}"#;
        (http::StatusCode::BAD_REQUEST, body)
    };
    let mut response = http::Response::new(Bytes::from_static(body.as_bytes()));
    *response.status_mut() = status;
    response
}

impl HttpConnector for FaultyTransport {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let this = self.clone();
        HttpConnectorFuture::new(async move {
            let request = request
                .try_into_http1x()
                .map_err(|error| ConnectorError::user(error.into()))?;
            let (parts, body) = request.into_parts();
            let body = body
                .collect()
                .await
                .map_err(ConnectorError::user)?
                .to_bytes();

            let missing_rights = find_missing_rights(&parts, &body);
            this.lock().missing_rights.extend(missing_rights);

            let target = parts
                .headers
                .get("x-amz-target")
                .and_then(|value| value.to_str().ok());
            let target = target.unwrap_or_default().to_owned();

            // This is created before the check, so that it notices a resume in between.
            let resumed = this.resume.notified();
            if this.is_pause_due() {
                resumed.await;
            }
            let outcome = this.decide_outcome(&target);

            // Other tasks go first at random, so that concurrent work happens in every order.
            for _ in 0..this.random_yields() {
                tokio::task::yield_now().await;
            }

            let response = match outcome {
                CallOutcome::LoseRequest => return Err(connection_lost()),
                CallOutcome::Throttle => throttled_response(&target),
                CallOutcome::Pass | CallOutcome::LoseAnswer => {
                    this.services
                        .handle_request(http::Request::from_parts(parts, body))
                        .await
                }
            };
            if matches!(outcome, CallOutcome::LoseAnswer) {
                return Err(connection_lost());
            }
            let (parts, mut body) = response.into_parts();
            if target == "AmazonSQS.ReceiveMessage" {
                body = this.reorder_messages(body);
            }
            let mut response = http::Response::from_parts(parts, SdkBody::from(body));
            response.headers_mut().remove(http::header::CONTENT_LENGTH);

            HttpResponse::try_from(response).map_err(|error| ConnectorError::user(error.into()))
        })
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use aws_smithy_runtime_api::http::Request;

    use super::*;

    #[tokio::test]
    async fn all_calls_of_a_process_that_stood_still_go_on() {
        let folder = tempfile::tempdir().expect("a folder");
        let faults =
            FaultyTransport::new(EmbeddedServices::open(folder.path()).expect("services"), 0);
        faults.pause_at(0);
        let call = || {
            let mut request = Request::new(SdkBody::empty());
            request
                .set_uri("http://embedded.test/")
                .expect("an address");
            faults.call(request)
        };
        let calls: Vec<_> = (0..3).map(|_| tokio::spawn(call())).collect();
        tokio::time::sleep(Duration::from_millis(50)).await;
        assert_eq!(faults.call_count(), 0);

        faults.resume_calls();
        let all =
            tokio::time::timeout(Duration::from_secs(20), futures::future::join_all(calls)).await;
        assert_eq!(all.map(|ended| ended.len()), Ok(3));

        // No notification may be left over that would skip a later pause.
        faults.pause_at(3);
        let later = tokio::time::timeout(Duration::from_millis(50), call()).await;
        assert!(later.is_err() && faults.call_count() == 3);
    }
}
