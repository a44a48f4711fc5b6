//! SQS on one SQLite file, with the AWS JSON 1.0 protocol.
//!
//! Standard and FIFO queues, visibility time-outs, delays, long polling, dead-letter queues,
//! deduplication and retention behave as AWS documents them. In addition, a standard queue serves
//! its message groups round robin (see `store`), so that one busy group cannot starve the others.
//!
//! * `wire`, `error`, `digest`: the shapes of requests and answers, errors, digests
//! * `settings`: the attributes of a queue
//! * `store`: the tables, the states of a message, fair ordering
//! * `queues`, `send`, `receive` with `take`, `settle`: the operations

mod digest;
mod error;
mod queues;
mod receive;
mod send;
mod settings;
mod settle;
mod store;
mod take;
mod wire;

use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use http::header::HOST;
use http::{HeaderValue, Request, Response, StatusCode};
use serde::Serialize;
use serde::de::DeserializeOwned;

use self::error::{Failure, Outcome};
use self::store::{ARN_PREFIX, Store};
use self::wire::Outgoing;
use crate::clock::Clock;
use crate::log::Log;
use crate::{Durability, wire as http_wire};

/// The prefix of `x-amz-target` for this service.
pub(crate) const TARGET: &str = "AmazonSQS.";

/// The SQS of one file.
pub(crate) struct Sqs {
    store: Arc<Store>,
    /// The write-ahead log, which brings commits to the disk.
    pub(crate) log: Log,
}

impl Sqs {
    /// Opens or creates the queues in `file`.
    pub(crate) fn open(file: &Path, durability: Durability, clock: Clock) -> anyhow::Result<Self> {
        let store = Arc::new(Store::open(file, clock)?);
        Ok(Self {
            store,
            log: Log::open(file, durability)?,
        })
    }

    /// Answers one request.
    pub(crate) async fn call(&self, operation: &str, request: &Request<Bytes>) -> Response<Bytes> {
        let outcome = match operation {
            // This is the only operation that waits for messages. It does not wait for the disk,
            // because a received message may come again.
            "ReceiveMessage" => match read(request.body()) {
                Ok(query) => receive::receive(&self.store, query)
                    .await
                    .and_then(|answer| write(&answer)),
                Err(failure) => Err(failure),
            },
            _ => {
                let outcome = self.dispatch(operation, request);
                let kept = self
                    .log
                    .answer()
                    .await
                    .map_err(|error| Failure::internal(format!("{error:#}")));
                kept.and(outcome)
            }
        };

        match outcome {
            Ok(answer) => http_wire::json(StatusCode::OK, answer),
            Err(failure) => refusal(operation, &failure),
        }
    }

    /// Calls the function for `operation`.
    fn dispatch(&self, operation: &str, request: &Request<Bytes>) -> Outcome<Vec<u8>> {
        let store = &self.store;
        let body = request.body();

        match operation {
            "SendMessage" => run(body, |q| send::send(store, q)),
            "SendMessageBatch" => run(body, |q| send::send_batch(store, q)),
            "DeleteMessage" => run(body, |q| settle::delete(store, q)),
            "DeleteMessageBatch" => run(body, |q| settle::delete_batch(store, q)),
            "ChangeMessageVisibility" => run(body, |q| settle::change_visibility(store, q)),
            "ChangeMessageVisibilityBatch" => {
                run(body, |q| settle::change_visibility_batch(store, q))
            }
            "CreateQueue" => run(body, |q| queues::create(store, q, &base_url(request))),
            "GetQueueUrl" => run(body, |q| queues::url(store, q, &base_url(request))),
            "ListQueues" => run(body, |q| queues::list(store, q, &base_url(request))),
            "ListDeadLetterSourceQueues" => {
                run(body, |q| queues::list_sources(store, q, &base_url(request)))
            }
            "GetQueueAttributes" => run(body, |q| queues::attributes(store, q)),
            "SetQueueAttributes" => run(body, |q| queues::set_attributes(store, q)),
            "PurgeQueue" => run(body, |q| queues::purge(store, q)),
            "DeleteQueue" => run(body, |q| queues::delete(store, q)),
            _ => Err(Failure::unsupported(format!(
                "The embedded SQS does not implement {operation}"
            ))),
        }
    }

    /// Checks whether a queue has this ARN.
    pub(crate) fn has_queue(&self, arn: &str) -> anyhow::Result<bool> {
        let Some(name) = arn.strip_prefix(ARN_PREFIX) else {
            return Ok(false);
        };
        let queue = store::queue_named(&self.store.read(), name);
        Ok(queue
            .map_err(|failure| anyhow::anyhow!("cannot find a queue: {failure}"))?
            .is_some())
    }

    /// Sends a message from inside the process to the queue with this ARN. The message is on the
    /// disk afterwards. Returns `false` if there is no such queue.
    pub(crate) fn deliver(&self, arn: &str, body: String) -> anyhow::Result<bool> {
        if !self.has_queue(arn)? {
            return Ok(false);
        }
        let message = Outgoing {
            message_body: Some(body),
            ..Outgoing::default()
        };
        let queue_url = arn.rsplit(':').next().unwrap_or(arn).to_owned();
        let sent = send::send(&self.store, wire::Send { queue_url, message });
        sent.map_err(|failure| anyhow::anyhow!("cannot send a message: {failure}"))?;
        self.log.settle()?;
        Ok(true)
    }

    /// Releases the groups of FIFO queues that have messages in flight.
    pub(crate) fn release_groups(&self) -> anyhow::Result<()> {
        settle::release_groups(&self.store)
            .map_err(|failure| anyhow::anyhow!("cannot release groups: {failure}"))
    }

    /// Deletes the messages past their retention and the deduplication ids past their window.
    pub(crate) fn sweep_expired(&self) -> anyhow::Result<()> {
        settle::sweep_expired(&self.store)
            .map_err(|failure| anyhow::anyhow!("cannot sweep queues: {failure}"))
    }
}

/// Parses the request, runs the operation and serializes the answer.
fn run<Q, A>(body: &[u8], operation: impl FnOnce(Q) -> Outcome<A>) -> Outcome<Vec<u8>>
where
    Q: DeserializeOwned,
    A: Serialize,
{
    write(&operation(read(body)?)?)
}

fn read<Q: DeserializeOwned>(body: &[u8]) -> Outcome<Q> {
    serde_json::from_slice(body).map_err(|error| Failure::unreadable(&error))
}

fn write(answer: &impl Serialize) -> Outcome<Vec<u8>> {
    serde_json::to_vec(answer).map_err(Failure::internal)
}

/// Returns the scheme and authority under which the caller reached this service. The queue URLs in
/// answers begin with them.
fn base_url(request: &Request<Bytes>) -> String {
    let uri = request.uri();
    let authority = match uri.authority() {
        Some(authority) => Some(authority.as_str()),
        None => request
            .headers()
            .get(HOST)
            .and_then(|host| host.to_str().ok()),
    };

    format!(
        "{}://{}",
        uri.scheme_str().unwrap_or("http"),
        authority.unwrap_or("localhost")
    )
}

/// Returns the answer of a failed request. The SDKs take the error code from `x-amzn-query-error`,
/// for compatibility with the older protocol.
fn refusal(operation: &str, failure: &Failure) -> Response<Bytes> {
    let status = if failure.sender_fault {
        StatusCode::BAD_REQUEST
    } else {
        StatusCode::INTERNAL_SERVER_ERROR
    };
    if !failure.sender_fault {
        tracing::error!(operation, error = %failure, "embedded SQS failed in {operation}: {failure}");
    }

    let body = serde_json::json!({ "__type": failure.kind(), "message": failure.message });
    let mut response = http_wire::json(status, body.to_string());

    let fault = if failure.sender_fault {
        "Sender"
    } else {
        "Receiver"
    };
    if let Ok(code) = HeaderValue::try_from(format!("{};{fault}", failure.code)) {
        response.headers_mut().insert("x-amzn-query-error", code);
    }

    response
}
