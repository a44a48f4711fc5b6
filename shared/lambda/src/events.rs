//! Conversion of SQS events to deliveries, and of outcomes to partial batch responses.

use aws::ReceivedMessage;
use aws_lambda_events::sqs::{SqsEvent, SqsMessage};
use domain::{DeliveryOutcome, QueueDelivery};
use serde_json::{Value, json};

/// The attribute with the number of times that a message was received.
const RECEIVE_COUNT: &str = "ApproximateReceiveCount";

/// A message of an SQS event.
#[derive(Debug, Clone)]
pub(crate) struct EventMessage {
    /// Its id, which names it in the response.
    pub(crate) id: String,
    /// The name of its queue.
    pub(crate) queue: String,
    pub(crate) message: ReceivedMessage,
}

impl EventMessage {
    fn new(message: SqsMessage) -> Self {
        let source = message.event_source_arn.unwrap_or_default();
        let count = message.attributes.get(RECEIVE_COUNT);
        let trace_parent = message.message_attributes.get(spans::TRACE_PARENT);
        Self {
            id: message.message_id.unwrap_or_default(),
            queue: source.rsplit(':').next().unwrap_or_default().to_owned(),
            message: ReceivedMessage::from_event(
                message.body.unwrap_or_default(),
                message.receipt_handle.unwrap_or_default(),
                count.and_then(|count| count.parse().ok()).unwrap_or(1),
                trace_parent.and_then(|attribute| attribute.string_value.clone()),
            ),
        }
    }

    /// Checks whether the message comes from a queue of dead letters, whose name ends with `-dead`
    /// or `-dead.fifo`.
    pub(crate) fn is_dead_letter(&self) -> bool {
        self.queue.trim_end_matches(".fifo").ends_with("-dead")
    }

    pub(crate) fn to_delivery(&self) -> QueueDelivery {
        self.message.to_delivery(self.is_dead_letter())
    }
}

/// Returns the messages of an SQS event, in order.
///
/// # Errors
/// Fails if `event` is not an SQS event.
pub(crate) fn parse_messages(event: Value) -> Result<Vec<EventMessage>, serde_json::Error> {
    let event: SqsEvent = serde_json::from_value(event)?;
    Ok(event.records.into_iter().map(EventMessage::new).collect())
}

/// Returns the response that names the messages to be received again. SQS deletes the others.
pub(crate) fn batch_response(messages: &[EventMessage], outcomes: &[DeliveryOutcome]) -> Value {
    let mut failures = Vec::new();
    for (message, outcome) in messages.iter().zip(outcomes) {
        if *outcome == DeliveryOutcome::Retry {
            failures.push(json!({"itemIdentifier": message.id}));
        }
    }

    json!({"batchItemFailures": failures})
}
