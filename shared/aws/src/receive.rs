//! Receiving from a queue where no event source mapping does it: the workers of one machine.

use std::time::Duration;

use aws_sdk_sqs::types::MessageSystemAttributeName;
use domain::ports::PortResult;

use crate::error::port_error;

/// A received message.
#[derive(Debug, Clone)]
pub struct Message {
    /// The text.
    pub body: String,
    /// What deletes it.
    receipt: String,
    /// How often it has been received, this time included.
    pub receive_count: u32,
}

/// A queue being read.
#[derive(Debug, Clone)]
pub struct Receiver {
    client: aws_sdk_sqs::Client,
    queue: String,
    /// How many messages are taken at a time.
    most: i32,
}

impl Receiver {
    /// Reads the queue at this address.
    pub fn new(client: aws_sdk_sqs::Client, queue: String) -> Self {
        Self {
            client,
            queue,
            most: 10,
        }
    }

    /// The same queue, one message at a time: none waits for the work that another one makes.
    #[must_use]
    pub fn one_at_a_time(self) -> Self {
        Self { most: 1, ..self }
    }

    /// Up to ten messages, waiting up to `wait` (at most 20 s) for the first.
    ///
    /// # Errors
    /// When the queue does not answer.
    pub async fn receive(&self, wait: Duration) -> PortResult<Vec<Message>> {
        let seconds = i32::try_from(wait.as_secs().min(20)).unwrap_or(20);
        let request = self
            .client
            .receive_message()
            .queue_url(&self.queue)
            .max_number_of_messages(self.most);
        let request = request
            .message_system_attribute_names(MessageSystemAttributeName::ApproximateReceiveCount);
        let answer = request
            .wait_time_seconds(seconds)
            .send()
            .await
            .map_err(port_error)?;
        let read = |message: aws_sdk_sqs::types::Message| {
            let count = message.attributes.as_ref();
            let count =
                count.and_then(|all| all.get(&MessageSystemAttributeName::ApproximateReceiveCount));
            Message {
                receive_count: count.and_then(|text| text.parse().ok()).unwrap_or(1),
                body: message.body.unwrap_or_default(),
                receipt: message.receipt_handle.unwrap_or_default(),
            }
        };

        Ok(answer
            .messages
            .unwrap_or_default()
            .into_iter()
            .map(read)
            .collect())
    }

    /// Deletes a message that was handled.
    ///
    /// # Errors
    /// When the queue does not answer; the message then comes again, which its handler bears.
    pub async fn delete(&self, message: &Message) -> PortResult<()> {
        let request = self
            .client
            .delete_message()
            .queue_url(&self.queue)
            .receipt_handle(&message.receipt);
        request.send().await.map(|_| ()).map_err(port_error)
    }

    /// Lets a message come again after `delay` instead of after the queue's visibility time-out.
    ///
    /// # Errors
    /// When the queue does not answer; the message then comes again later.
    pub async fn retry_after(&self, message: &Message, delay: Duration) -> PortResult<()> {
        let seconds = i32::try_from(delay.as_secs()).unwrap_or(i32::MAX);
        let request = self
            .client
            .change_message_visibility()
            .queue_url(&self.queue);
        let request = request
            .receipt_handle(&message.receipt)
            .visibility_timeout(seconds);
        request.send().await.map(|_| ()).map_err(port_error)
    }
}
