//! `ReceiveMessage`: its parameters, and waiting while no message is ready.

use std::sync::Arc;
use std::time::Duration;

use rusqlite::{Connection, params};
use tokio::time::Instant;

use super::error::{SqsError, SqsResult};
use super::store::{MAX_TAKE, Queue, QueueStore, queue_of_url};
use super::take;
use super::wire::{ReceiveAnswer, ReceiveRequest, WireMessage};

/// The interval at which a waiting receiver looks again. It matters only for messages from other
/// processes, because those from this process wake the receiver.
const POLL_INTERVAL: Duration = Duration::from_millis(200);
/// The longest visibility time-out, in seconds: twelve hours.
const MAX_VISIBILITY_SECONDS: i64 = 43_200;

/// The checked parameters of a request.
pub(super) struct ReceiveOptions {
    /// The most messages to take.
    pub(super) count: usize,
    /// The visibility time-out in milliseconds, or `None` for the default of the queue.
    pub(super) visibility: Option<i64>,
    /// The longest wait for the first message in milliseconds, or `None` for the default of the
    /// queue.
    wait: Option<u64>,
    /// The system attributes to return.
    pub(super) system_attributes: Vec<String>,
    /// The message attributes to return: names, `prefix.*` or `All`.
    pub(super) attributes: Vec<String>,
}

/// The result of a look at a queue: messages, or the time until a waiting message is due.
enum LookResult {
    Found(Vec<WireMessage>),
    Empty(Option<Duration>),
}

/// Takes up to the requested number of messages. If there are none, waits for the first ones, up to
/// the requested time.
pub(super) async fn receive_messages(
    store: &Arc<QueueStore>,
    request: ReceiveRequest,
) -> SqsResult<ReceiveAnswer> {
    let url = request.queue_url.clone();
    let options = ReceiveOptions::parse(request)?;
    let queue = queue_of_url(&store.lock_connection(), &url)?;
    let notifier = store.receiver_notifier(queue.id);
    let deadline =
        Instant::now() + Duration::from_millis(options.wait.unwrap_or(queue.settings.wait));

    loop {
        // The receiver registers before it looks, so that a message that is sent in between wakes
        // it.
        let mut notified = std::pin::pin!(notifier.notified());
        notified.as_mut().enable();

        let due = match look_for_messages(store, &url, &options)? {
            LookResult::Found(messages) => {
                if messages.len() == options.count {
                    // There may be more messages for another receiver.
                    notifier.notify_one();
                }
                return Ok(ReceiveAnswer { messages });
            }
            LookResult::Empty(due) => due.unwrap_or(POLL_INTERVAL).min(POLL_INTERVAL),
        };

        let now = Instant::now();
        if now >= deadline {
            return Ok(ReceiveAnswer {
                messages: Vec::new(),
            });
        }

        tokio::select! {
            () = notified => {}
            () = tokio::time::sleep_until((now + due).min(deadline)) => {}
        }
    }
}

impl ReceiveOptions {
    fn parse(request: ReceiveRequest) -> SqsResult<Self> {
        let count = match request.max_number_of_messages {
            None => 1,
            Some(count @ 1..=MAX_TAKE) => usize::try_from(count).unwrap_or(1),
            Some(count) => {
                let reason = "Must be between 1 and 10, if provided.";
                return Err(SqsError::invalid_parameter(
                    "MaxNumberOfMessages",
                    count,
                    reason,
                ));
            }
        };

        let wait = match request.wait_time_seconds {
            None => None,
            Some(seconds @ 0..=20) => Some(seconds.unsigned_abs() * 1000),
            Some(seconds) => {
                let reason = "Must be >= 0 and <= 20, if provided.";
                return Err(SqsError::invalid_parameter(
                    "WaitTimeSeconds",
                    seconds,
                    reason,
                ));
            }
        };

        let visibility = match request.visibility_timeout {
            Some(seconds) => Some(visibility_ms(seconds)?),
            None => None,
        };
        let mut system_attributes = request.message_system_attribute_names;
        system_attributes.extend(request.attribute_names);

        Ok(Self {
            count,
            visibility,
            wait,
            system_attributes,
            attributes: request.message_attribute_names,
        })
    }
}

/// Converts a visibility time-out to milliseconds, and checks its range.
pub(super) fn visibility_ms(seconds: i64) -> SqsResult<i64> {
    if (0..=MAX_VISIBILITY_SECONDS).contains(&seconds) {
        return Ok(seconds * 1000);
    }
    let reason = "Must be between 0 and 43200, if provided.";
    Err(SqsError::invalid_parameter(
        "VisibilityTimeout",
        seconds,
        reason,
    ))
}

/// Takes messages if there are any, and otherwise only reads.
fn look_for_messages(
    store: &QueueStore,
    url: &str,
    options: &ReceiveOptions,
) -> SqsResult<LookResult> {
    let now = store.now();
    {
        let connection = store.lock_connection();
        let queue = queue_of_url(&connection, url)?;
        if !has_ready(&connection, &queue, now)? {
            return Ok(LookResult::Empty(next_due(&connection, &queue, now)?));
        }
    }

    let (taken, due) = store.write_transaction(|tx| {
        let queue = queue_of_url(tx, url)?;
        let taken = take::take_messages(tx, &queue, options, now)?;
        let due = if taken.messages.is_empty() {
            next_due(tx, &queue, now)?
        } else {
            None
        };
        Ok((taken, due))
    })?;

    if let Some(queue) = taken.moved_to {
        store.receiver_notifier(queue).notify_one();
    }

    Ok(if taken.messages.is_empty() {
        LookResult::Empty(due)
    } else {
        LookResult::Found(taken.messages)
    })
}

fn has_ready(connection: &Connection, queue: &Queue, now: i64) -> SqsResult<bool> {
    let sql = "SELECT EXISTS (SELECT 1 FROM messages WHERE queue = ?1 AND state = 1) \
                   OR EXISTS (SELECT 1 FROM messages WHERE queue = ?1 AND state = 0 AND due_ms <= ?2)";
    Ok(connection
        .prepare_cached(sql)?
        .query_row(params![queue.id, now], |row| row.get(0))?)
}

/// Returns the time until the next waiting message of the queue is due.
fn next_due(connection: &Connection, queue: &Queue, now: i64) -> SqsResult<Option<Duration>> {
    let sql = "SELECT min(due_ms) FROM messages WHERE queue = ?1 AND state = 0";
    let due: Option<i64> = connection
        .prepare_cached(sql)?
        .query_row([queue.id], |row| row.get(0))?;
    Ok(due.map(|due| Duration::from_millis(u64::try_from(due - now).unwrap_or(0))))
}
