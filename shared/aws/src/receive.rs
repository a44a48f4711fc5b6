//! Receiving from a queue without an event source mapping, for the workers of one machine, and
//! early retries of messages, which event source mappings do not have.

use std::time::Duration;

use aws_sdk_sqs::types::{
    DeleteMessageBatchRequestEntry, Message, MessageSystemAttributeName, QueueAttributeName,
};
use domain::ports::PortResult;
use domain::{PortError, QueueDelivery};

use crate::error::{build_error, port_error};

/// A received message.
#[derive(Debug, Clone)]
pub struct ReceivedMessage {
    /// The text of the message.
    pub body: String,
    /// The receipt handle, which deletes the message.
    receipt: String,
    /// The number of times that the message was received, including this one.
    pub receive_count: u32,
    /// The context of the trace in which the message was sent.
    pub trace_parent: Option<String>,
}

impl ReceivedMessage {
    /// Returns a message that an event source mapping has received.
    pub fn from_event(
        body: String,
        receipt: String,
        receive_count: u32,
        trace_parent: Option<String>,
    ) -> Self {
        Self {
            body,
            receipt,
            receive_count,
            trace_parent,
        }
    }

    /// Returns the message as workers get it. `is_dead_letter` says whether its queue is one of dead
    /// letters.
    pub fn to_delivery(&self, is_dead_letter: bool) -> QueueDelivery {
        QueueDelivery {
            body: self.body.clone(),
            is_dead_letter,
            trace_parent: self.trace_parent.clone(),
        }
    }

    /// Returns the pause before the next attempt at a message that could not be handled: 2, 4, 8, 16
    /// and 32 seconds.
    pub fn retry_delay(&self) -> Duration {
        Duration::from_secs(1 << self.receive_count.clamp(1, 5))
    }
}

/// The messages of a queue. SQS calls both numbers approximate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueueDepth {
    /// The messages that wait for a worker.
    pub waiting: u64,
    /// The messages that a worker has received and not deleted.
    pub in_progress: u64,
}

/// A receiver of one queue.
#[derive(Debug, Clone)]
pub struct QueueReceiver {
    client: aws_sdk_sqs::Client,
    queue: String,
    /// The most messages that are taken at a time.
    batch_size: i32,
}

impl QueueReceiver {
    /// Creates a receiver of the queue at the address `queue`. It takes up to ten messages at a
    /// time.
    pub fn new(client: aws_sdk_sqs::Client, queue: String) -> Self {
        Self {
            client,
            queue,
            batch_size: 10,
        }
    }

    /// Returns the number of messages in the queue.
    ///
    /// # Errors
    /// Returns the error of the port.
    pub async fn depth(&self) -> PortResult<QueueDepth> {
        let waiting = QueueAttributeName::ApproximateNumberOfMessages;
        let in_progress = QueueAttributeName::ApproximateNumberOfMessagesNotVisible;
        let response = self
            .client
            .get_queue_attributes()
            .queue_url(&self.queue)
            .attribute_names(waiting.clone())
            .attribute_names(in_progress.clone())
            .send()
            .await
            .map_err(port_error)?;

        let attributes = response.attributes.unwrap_or_default();
        let count = |name| {
            let text = attributes.get(&name);
            text.and_then(|text| text.parse().ok()).unwrap_or_default()
        };
        Ok(QueueDepth {
            waiting: count(waiting),
            in_progress: count(in_progress),
        })
    }

    /// Returns a receiver that takes one message at a time, so that no message waits for the work
    /// of another.
    #[must_use]
    pub fn one_at_a_time(self) -> Self {
        Self {
            batch_size: 1,
            ..self
        }
    }

    /// Receives messages. Waits up to `wait` for the first one, at most 20 seconds.
    ///
    /// # Errors
    /// Fails if the queue does not answer.
    pub async fn receive(&self, wait: Duration) -> PortResult<Vec<ReceivedMessage>> {
        let seconds = i32::try_from(wait.as_secs().min(20)).unwrap_or(20);
        let request = self
            .client
            .receive_message()
            .queue_url(&self.queue)
            .max_number_of_messages(self.batch_size);
        let request = request
            .message_system_attribute_names(MessageSystemAttributeName::ApproximateReceiveCount)
            .message_attribute_names(spans::TRACE_PARENT);
        let request = request.wait_time_seconds(seconds);
        let response = request.send().await.map_err(port_error)?;

        let mut received = Vec::new();
        for message in response.messages.unwrap_or_default() {
            received.push(ReceivedMessage {
                receive_count: receive_count(&message).unwrap_or(1),
                trace_parent: trace_parent(&message),
                body: message.body.unwrap_or_default(),
                receipt: message.receipt_handle.unwrap_or_default(),
            });
        }

        Ok(received)
    }

    /// Deletes messages that were handled: those of one batch.
    ///
    /// # Errors
    /// Fails if the queue does not answer, or keeps some of them. These come again, which their handler
    /// must accept.
    pub async fn delete(&self, messages: &[&ReceivedMessage]) -> PortResult<()> {
        if messages.is_empty() {
            return Ok(());
        }
        let mut request = self.client.delete_message_batch().queue_url(&self.queue);
        for (number, message) in messages.iter().enumerate() {
            let entry = DeleteMessageBatchRequestEntry::builder()
                .id(number.to_string())
                .receipt_handle(&message.receipt);
            request = request.entries(entry.build().map_err(build_error)?);
        }

        let response = request.send().await.map_err(port_error)?;
        match response.failed() {
            [] => Ok(()),
            _ => Err(PortError::Unavailable(
                "the queue kept part of a batch".into(),
            )),
        }
    }

    /// Makes a message visible again after `delay` instead of after the visibility time-out of the
    /// queue.
    ///
    /// # Errors
    /// Fails if the queue does not answer. The message then comes again later.
    pub async fn retry_after(&self, message: &ReceivedMessage, delay: Duration) -> PortResult<()> {
        let seconds = i32::try_from(delay.as_secs()).unwrap_or(i32::MAX);
        let request = self
            .client
            .change_message_visibility()
            .queue_url(&self.queue);
        let request = request
            .receipt_handle(&message.receipt)
            .visibility_timeout(seconds);
        request.send().await.map_err(port_error)?;
        Ok(())
    }
}

/// Returns the number of times that a message was received, if the queue states it.
fn receive_count(message: &Message) -> Option<u32> {
    let attributes = message.attributes.as_ref()?;
    let count = attributes.get(&MessageSystemAttributeName::ApproximateReceiveCount)?;
    count.parse().ok()
}

/// Returns the trace context that a message carries.
fn trace_parent(message: &Message) -> Option<String> {
    let attributes = message.message_attributes.as_ref()?;
    attributes.get(spans::TRACE_PARENT)?.string_value.clone()
}
