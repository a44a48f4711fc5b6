//! Conversion of SQS events to deliveries, and of outcomes to partial batch responses.

use aws_lambda_events::sqs::SqsEvent;
use domain::{DeliveryOutcome, QueueDelivery};
use serde_json::{Value, json};

/// Returns the message ids and the deliveries of an SQS event, in order. Messages of a queue whose
/// name ends with `-dead` or `-dead.fifo` are dead letters.
///
/// # Errors
/// Fails if `event` is not an SQS event.
pub fn parse_deliveries(
    event: Value,
) -> Result<(Vec<String>, Vec<QueueDelivery>), serde_json::Error> {
    let event: SqsEvent = serde_json::from_value(event)?;
    let (mut ids, mut deliveries) = (Vec::new(), Vec::new());
    for message in event.records {
        let queue = message.event_source_arn.unwrap_or_default();
        let name = queue.rsplit(':').next().unwrap_or_default();
        ids.push(message.message_id.unwrap_or_default());
        deliveries.push(QueueDelivery {
            body: message.body.unwrap_or_default(),
            is_dead_letter: name.trim_end_matches(".fifo").ends_with("-dead"),
        });
    }

    Ok((ids, deliveries))
}

/// Returns the response that names the messages to be received again. SQS deletes the others.
pub fn batch_response(ids: &[String], outcomes: &[DeliveryOutcome]) -> Value {
    let mut failures = Vec::new();
    for (id, outcome) in ids.iter().zip(outcomes) {
        if *outcome == DeliveryOutcome::Retry {
            failures.push(json!({"itemIdentifier": id}));
        }
    }

    json!({"batchItemFailures": failures})
}
