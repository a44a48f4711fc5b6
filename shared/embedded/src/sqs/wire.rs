//! The shapes of requests and answers, named as in the SQS API reference.

use std::borrow::Cow;
use std::collections::BTreeMap;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};

use super::error::{SqsError, SqsResult};

/// A typed message attribute. Binary values are sent and stored in base64.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct MessageAttribute {
    pub(super) data_type: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) string_value: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) binary_value: Option<String>,
}

impl MessageAttribute {
    /// Returns the transport byte of the digest (1 text, 2 binary) and the bytes of the value.
    pub(super) fn transport_value(&self) -> (u8, Cow<'_, [u8]>) {
        match &self.binary_value {
            Some(base64) => (2, STANDARD.decode(base64).unwrap_or_default().into()),
            None => (
                1,
                self.string_value
                    .as_deref()
                    .unwrap_or_default()
                    .as_bytes()
                    .into(),
            ),
        }
    }

    /// Returns the number of bytes by which this attribute counts towards the size limit of a
    /// message.
    pub(super) fn size_bytes(&self) -> usize {
        self.data_type.len() + self.transport_value().1.len()
    }
}

/// A message to send: `SendMessage`, and an entry of `SendMessageBatch` (which has an `id`).
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct OutgoingMessage {
    #[serde(default)]
    pub(super) id: String,
    pub(super) message_body: Option<String>,
    pub(super) delay_seconds: Option<i64>,
    #[serde(default)]
    pub(super) message_attributes: BTreeMap<String, MessageAttribute>,
    #[serde(default)]
    pub(super) message_system_attributes: BTreeMap<String, MessageAttribute>,
    pub(super) message_deduplication_id: Option<String>,
    pub(super) message_group_id: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct SendRequest {
    #[serde(default)]
    pub(super) queue_url: String,
    #[serde(flatten)]
    pub(super) message: OutgoingMessage,
}

/// A sent message: the answer to `SendMessage`, and a successful entry of `SendMessageBatch`.
#[derive(Debug, Serialize)]
pub(super) struct SentMessage {
    #[serde(rename = "MessageId")]
    pub(super) message_id: String,
    #[serde(rename = "MD5OfMessageBody")]
    pub(super) md5_of_body: String,
    #[serde(
        rename = "MD5OfMessageAttributes",
        skip_serializing_if = "Option::is_none"
    )]
    pub(super) md5_of_attributes: Option<String>,
    #[serde(
        rename = "MD5OfMessageSystemAttributes",
        skip_serializing_if = "Option::is_none"
    )]
    pub(super) md5_of_system_attributes: Option<String>,
    #[serde(rename = "SequenceNumber", skip_serializing_if = "Option::is_none")]
    pub(super) sequence_number: Option<String>,
}

/// A batch request.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct BatchEntries<E> {
    #[serde(default)]
    pub(super) queue_url: String,
    #[serde(default = "Vec::new")]
    pub(super) entries: Vec<E>,
}

/// The answer to a batch request. Each entry is in one of the lists.
#[derive(Debug, Serialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct BatchAnswer<A> {
    pub(super) successful: Vec<BatchSuccess<A>>,
    pub(super) failed: Vec<BatchFailure>,
}

#[derive(Debug, Serialize)]
pub(super) struct BatchSuccess<A> {
    #[serde(rename = "Id")]
    pub(super) id: String,
    #[serde(flatten)]
    pub(super) answer: A,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct BatchFailure {
    pub(super) id: String,
    pub(super) code: &'static str,
    pub(super) message: String,
    pub(super) sender_fault: bool,
}

impl<A> BatchAnswer<A> {
    pub(super) fn new() -> Self {
        Self {
            successful: Vec::new(),
            failed: Vec::new(),
        }
    }

    /// Adds the outcome of the entry `id` to its list.
    pub(super) fn push_outcome(&mut self, id: String, outcome: SqsResult<A>) {
        match outcome {
            Ok(answer) => self.successful.push(BatchSuccess { id, answer }),
            Err(SqsError {
                code,
                message,
                sender_fault,
            }) => {
                self.failed.push(BatchFailure {
                    id,
                    code,
                    message,
                    sender_fault,
                });
            }
        }
    }
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct ReceiveRequest {
    #[serde(default)]
    pub(super) queue_url: String,
    #[serde(default)]
    pub(super) attribute_names: Vec<String>,
    #[serde(default)]
    pub(super) message_system_attribute_names: Vec<String>,
    #[serde(default)]
    pub(super) message_attribute_names: Vec<String>,
    pub(super) max_number_of_messages: Option<i64>,
    pub(super) visibility_timeout: Option<i64>,
    pub(super) wait_time_seconds: Option<i64>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct ReceiveAnswer {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) messages: Vec<WireMessage>,
}

/// A received message.
#[derive(Debug, Serialize)]
pub(super) struct WireMessage {
    #[serde(rename = "MessageId")]
    pub(super) message_id: String,
    #[serde(rename = "ReceiptHandle")]
    pub(super) receipt_handle: String,
    #[serde(rename = "MD5OfBody")]
    pub(super) md5_of_body: String,
    #[serde(rename = "Body")]
    pub(super) body: String,
    #[serde(rename = "Attributes", skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) attributes: BTreeMap<&'static str, String>,
    #[serde(
        rename = "MD5OfMessageAttributes",
        skip_serializing_if = "Option::is_none"
    )]
    pub(super) md5_of_attributes: Option<String>,
    #[serde(
        rename = "MessageAttributes",
        skip_serializing_if = "BTreeMap::is_empty"
    )]
    pub(super) message_attributes: BTreeMap<String, MessageAttribute>,
}

/// A request about a received message: `DeleteMessage`, `ChangeMessageVisibility`, and the entries
/// of their batches (which have an `id`).
#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct ReceiptRequest {
    #[serde(default)]
    pub(super) queue_url: String,
    #[serde(default)]
    pub(super) id: String,
    #[serde(default)]
    pub(super) receipt_handle: String,
    pub(super) visibility_timeout: Option<i64>,
}

/// An answer without members.
#[derive(Debug, Serialize)]
pub(super) struct EmptyAnswer {}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct QueueNameRequest {
    pub(super) queue_name: String,
    #[serde(default)]
    pub(super) attributes: BTreeMap<String, String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct QueueAttributesRequest {
    #[serde(default)]
    pub(super) queue_url: String,
    #[serde(default)]
    pub(super) attribute_names: Vec<String>,
    #[serde(default)]
    pub(super) attributes: BTreeMap<String, String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct ListQueuesRequest {
    #[serde(default)]
    pub(super) queue_url: String,
    #[serde(default)]
    pub(super) queue_name_prefix: String,
    pub(super) max_results: Option<usize>,
    #[serde(default)]
    pub(super) next_token: String,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct QueueUrlAnswer {
    pub(super) queue_url: String,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct AttributesAnswer {
    pub(super) attributes: BTreeMap<String, String>,
}

#[derive(Debug, Serialize)]
pub(super) struct QueueUrlsAnswer {
    #[serde(rename = "QueueUrls")]
    pub(super) queue_urls: Vec<String>,
    #[serde(rename = "NextToken", skip_serializing_if = "Option::is_none")]
    pub(super) next_token: Option<String>,
}

/// The answer to `ListDeadLetterSourceQueues`, whose only member begins with a lower-case letter.
#[derive(Debug, Serialize)]
pub(super) struct SourceQueueUrlsAnswer {
    #[serde(rename = "queueUrls")]
    pub(super) queue_urls: Vec<String>,
}
