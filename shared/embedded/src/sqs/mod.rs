//! SQS on one SQLite file, with the AWS JSON 1.0 protocol.
//!
//! Standard and FIFO queues, visibility time-outs, delays, long polling, dead-letter queues,
//! deduplication and retention behave as AWS documents them. In addition, a standard queue serves
//! its message groups round robin (see `store`), so that one busy group cannot starve the others.
//!
//! * `wire`, `error`, `digest`: the shapes of requests and answers, errors, digests
//! * `settings`: the attributes of a queue
//! * `store`: the tables, the states of a message, fair ordering
//! * `queues`, `send`, `receive` with `take`, `receipts`: the operations

mod digest;
mod error;
mod queues;
mod receipts;
mod receive;
mod send;
mod settings;
mod store;
mod take;
mod wire;

use std::path::Path;
use std::sync::Arc;

use anyhow::bail;
use bytes::Bytes;
use http::header::HOST;
use http::{HeaderValue, Request, Response, StatusCode};
use serde::Serialize;
use serde::de::DeserializeOwned;

use self::error::{SqsError, SqsResult};
use self::store::{ARN_PREFIX, QueueStore};
use self::wire::OutgoingMessage;
use crate::clock::Clock;
use crate::log::CommitLog;
use crate::{Durability, wire as http_wire};

/// The prefix of `x-amz-target` for this service.
pub(crate) const TARGET_PREFIX: &str = "AmazonSQS.";

/// The SQS of one file.
pub(crate) struct Sqs {
    store: Arc<QueueStore>,
    /// The write-ahead log, which brings commits to the disk.
    pub(crate) log: CommitLog,
}

impl Sqs {
    /// Opens or creates the queues in `file`.
    pub(crate) fn open(file: &Path, durability: Durability, clock: Clock) -> anyhow::Result<Self> {
        let store = Arc::new(QueueStore::open(file, clock)?);
        Ok(Self {
            store,
            log: CommitLog::open(file, durability)?,
        })
    }

    /// Answers one request.
    pub(crate) async fn handle_request(
        &self,
        operation: &str,
        request: &Request<Bytes>,
    ) -> Response<Bytes> {
        let outcome = match operation {
            // This is the only operation that waits for messages. It does not wait for the disk,
            // because a received message may come again.
            "ReceiveMessage" => self.receive_messages(request.body()).await,
            _ => {
                let outcome = self.dispatch_operation(operation, request);
                match self.log.sync_before_answer().await {
                    Ok(()) => outcome,
                    Err(error) => Err(SqsError::internal_failure(format!("{error:#}"))),
                }
            }
        };

        match outcome {
            Ok(answer) => http_wire::json_response(StatusCode::OK, answer),
            Err(failure) => error_response(operation, &failure),
        }
    }

    async fn receive_messages(&self, body: &[u8]) -> SqsResult<Vec<u8>> {
        let request = parse_request(body)?;
        let answer = receive::receive_messages(&self.store, request).await?;
        serialize_answer(&answer)
    }

    /// Calls the function for `operation`.
    fn dispatch_operation(&self, operation: &str, request: &Request<Bytes>) -> SqsResult<Vec<u8>> {
        let store = &self.store;
        let body = request.body();

        match operation {
            "SendMessage" => run_operation(body, |q| send::send_message(store, q)),
            "SendMessageBatch" => run_operation(body, |q| send::send_batch(store, q)),
            "DeleteMessage" => run_operation(body, |q| receipts::delete(store, q)),
            "DeleteMessageBatch" => run_operation(body, |q| receipts::delete_batch(store, q)),
            "ChangeMessageVisibility" => {
                run_operation(body, |q| receipts::change_visibility(store, q))
            }
            "ChangeMessageVisibilityBatch" => {
                run_operation(body, |q| receipts::change_visibility_batch(store, q))
            }
            "CreateQueue" => {
                run_operation(body, |q| queues::create_queue(store, q, &base_url(request)))
            }
            "GetQueueUrl" => run_operation(body, |q| {
                queues::get_queue_url(store, q, &base_url(request))
            }),
            "ListQueues" => {
                run_operation(body, |q| queues::list_queues(store, q, &base_url(request)))
            }
            "ListDeadLetterSourceQueues" => {
                run_operation(body, |q| queues::list_sources(store, q, &base_url(request)))
            }
            "GetQueueAttributes" => run_operation(body, |q| queues::get_attributes(store, q)),
            "SetQueueAttributes" => run_operation(body, |q| queues::set_attributes(store, q)),
            "PurgeQueue" => run_operation(body, |q| queues::purge_queue(store, q)),
            "DeleteQueue" => run_operation(body, |q| queues::delete_queue(store, q)),
            _ => Err(SqsError::unsupported_operation(format!(
                "The embedded SQS does not implement {operation}"
            ))),
        }
    }

    /// Checks whether a queue has this ARN.
    pub(crate) fn has_queue(&self, arn: &str) -> anyhow::Result<bool> {
        let Some(name) = arn.strip_prefix(ARN_PREFIX) else {
            return Ok(false);
        };
        match store::find_queue(&self.store.lock_connection(), name) {
            Ok(queue) => Ok(queue.is_some()),
            Err(failure) => bail!("cannot find a queue: {failure}"),
        }
    }

    /// Sends a message from inside the process to the queue with this ARN. The message is on the
    /// disk afterwards. Returns `false` if there is no such queue.
    pub(crate) fn deliver_message(&self, arn: &str, body: String) -> anyhow::Result<bool> {
        if !self.has_queue(arn)? {
            return Ok(false);
        }
        let message = OutgoingMessage {
            message_body: Some(body),
            ..OutgoingMessage::default()
        };
        let queue_url = arn.rsplit(':').next().unwrap_or(arn).to_owned();
        let request = wire::SendRequest { queue_url, message };
        if let Err(failure) = send::send_message(&self.store, request) {
            bail!("cannot send a message: {failure}");
        }

        self.log.sync_commits()?;
        Ok(true)
    }

    /// Releases the groups of FIFO queues that have messages in flight.
    pub(crate) fn release_groups(&self) -> anyhow::Result<()> {
        match receipts::release_groups(&self.store) {
            Ok(()) => Ok(()),
            Err(failure) => bail!("cannot release groups: {failure}"),
        }
    }

    /// Deletes the messages past their retention and the deduplication ids past their window.
    pub(crate) fn sweep_expired(&self) -> anyhow::Result<()> {
        match receipts::sweep_expired(&self.store) {
            Ok(()) => Ok(()),
            Err(failure) => bail!("cannot sweep queues: {failure}"),
        }
    }
}

/// Parses the request, runs the operation and serializes the answer.
fn run_operation<Q, A>(body: &[u8], operation: impl FnOnce(Q) -> SqsResult<A>) -> SqsResult<Vec<u8>>
where
    Q: DeserializeOwned,
    A: Serialize,
{
    serialize_answer(&operation(parse_request(body)?)?)
}

fn parse_request<Q: DeserializeOwned>(body: &[u8]) -> SqsResult<Q> {
    serde_json::from_slice(body).map_err(|error| SqsError::malformed_input(&error))
}

fn serialize_answer(answer: &impl Serialize) -> SqsResult<Vec<u8>> {
    serde_json::to_vec(answer).map_err(SqsError::internal_failure)
}

/// Returns the scheme and authority under which the caller reached this service. The queue URLs in
/// answers begin with them.
fn base_url(request: &Request<Bytes>) -> String {
    let uri = request.uri();
    let authority = match uri.authority() {
        Some(authority) => Some(authority.as_str()),
        None => match request.headers().get(HOST) {
            Some(host) => host.to_str().ok(),
            None => None,
        },
    };

    format!(
        "{}://{}",
        uri.scheme_str().unwrap_or("http"),
        authority.unwrap_or("localhost")
    )
}

/// Returns the answer of a failed request. The SDKs take the error code from `x-amzn-query-error`,
/// for compatibility with the older protocol.
fn error_response(operation: &str, failure: &SqsError) -> Response<Bytes> {
    let status = if failure.sender_fault {
        StatusCode::BAD_REQUEST
    } else {
        StatusCode::INTERNAL_SERVER_ERROR
    };
    if !failure.sender_fault {
        tracing::error!(operation, error = %failure, "embedded SQS failed in {operation}: {failure}");
    }

    let body = serde_json::json!({ "__type": failure.shape_name(), "message": failure.message });
    let mut response = http_wire::json_response(status, body.to_string());

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
