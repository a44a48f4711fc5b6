//! SQS events to deliveries, and outcomes to partial batch responses.

use aws_lambda_events::sqs::SqsEvent;
use domain::{Delivery, Outcome};
use serde_json::{Value, json};

/// The message ids and the deliveries of an SQS event, in order. Messages of a queue whose name says so are dead.
///
/// # Errors
/// When it is not an SQS event.
pub fn deliveries(event: Value) -> Result<(Vec<String>, Vec<Delivery>), serde_json::Error> {
    let event: SqsEvent = serde_json::from_value(event)?;
    let read = |message: aws_lambda_events::sqs::SqsMessage| {
        let queue = message.event_source_arn.unwrap_or_default();
        let name = queue.rsplit(':').next().unwrap_or_default();
        let dead = name.trim_end_matches(".fifo").ends_with("-dead");
        (
            message.message_id.unwrap_or_default(),
            Delivery {
                body: message.body.unwrap_or_default(),
                dead,
            },
        )
    };

    Ok(event.records.into_iter().map(read).unzip())
}

/// Names the messages that are to come again; SQS deletes the others.
pub fn batch_response(ids: &[String], outcomes: &[Outcome]) -> Value {
    let failed = ids
        .iter()
        .zip(outcomes)
        .filter(|(_, outcome)| **outcome == Outcome::Retry);
    json!({"batchItemFailures": failed.map(|(id, _)| json!({"itemIdentifier": id})).collect::<Vec<_>>()})
}
