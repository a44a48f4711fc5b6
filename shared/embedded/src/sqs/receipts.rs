//! Operations on received messages: deletion and change of the visibility time-out. Also the
//! deletion of what has expired.

use std::collections::HashMap;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use rusqlite::{Connection, OptionalExtension, Transaction};

use super::error::{SqsError, SqsResult};
use super::queues::queue_names;
use super::receive::visibility_ms;
use super::send::check_batch;
use super::store::{
    Queue, QueueStore, STATE_WAITING, find_queue, queue_of_url, restore_group_order,
};
use super::wire::{BatchAnswer, BatchEntries, EmptyAnswer, ReceiptRequest};

/// One receipt of one message.
#[derive(Debug, Clone, Copy)]
pub(super) struct Receipt {
    pub(super) queue: i64,
    pub(super) seq: i64,
    /// A random number, kept with the message until it is received again.
    pub(super) number: i64,
}

impl Receipt {
    /// Encodes the receipt as a receipt handle.
    pub(super) fn encode(&self) -> String {
        URL_SAFE_NO_PAD.encode(format!("{}/{}/{}", self.queue, self.seq, self.number))
    }

    fn decode(handle: &str) -> SqsResult<Self> {
        if handle.is_empty() {
            return Err(SqsError::missing_parameter("ReceiptHandle"));
        }

        let parse = || {
            let text = String::from_utf8(URL_SAFE_NO_PAD.decode(handle).ok()?).ok()?;
            let mut numbers = text.split('/').map(str::parse);
            let mut next = || numbers.next()?.ok();
            Some(Self {
                queue: next()?,
                seq: next()?,
                number: next()?,
            })
        };

        parse().ok_or_else(|| SqsError::bad_receipt(handle))
    }
}

/// The message of a receipt, while it exists.
struct MessageInFlight {
    state: i64,
    due_ms: i64,
    group: Option<String>,
    /// Set if the message was not received again since.
    is_current: bool,
}

/// Formats the sequence number of a message in a FIFO queue: 20 digits.
pub(super) fn sequence_number(seq: i64) -> String {
    format!("{seq:020}")
}

pub(super) fn delete(store: &QueueStore, request: ReceiptRequest) -> SqsResult<EmptyAnswer> {
    run_and_wake(store, &request.queue_url, |tx, queue, now| {
        delete_one(tx, queue, &request, now)
    })
}

pub(super) fn change_visibility(
    store: &QueueStore,
    request: ReceiptRequest,
) -> SqsResult<EmptyAnswer> {
    run_and_wake(store, &request.queue_url, |tx, queue, now| {
        change_visibility_of_one(tx, queue, &request, now)
    })
}

pub(super) fn delete_batch(
    store: &QueueStore,
    request: BatchEntries<ReceiptRequest>,
) -> SqsResult<BatchAnswer<EmptyAnswer>> {
    run_batch_and_wake(store, request, delete_one)
}

pub(super) fn change_visibility_batch(
    store: &QueueStore,
    request: BatchEntries<ReceiptRequest>,
) -> SqsResult<BatchAnswer<EmptyAnswer>> {
    run_batch_and_wake(store, request, change_visibility_of_one)
}

/// Runs `work` in a transaction, and then wakes a receiver, because a message or its group may have
/// become ready.
fn run_and_wake<T>(
    store: &QueueStore,
    url: &str,
    work: impl FnOnce(&Transaction<'_>, &Queue, i64) -> SqsResult<T>,
) -> SqsResult<T> {
    let now = store.now();
    let (queue, result) = store.write_transaction(|tx| {
        let queue = queue_of_url(tx, url)?;
        let result = work(tx, &queue, now)?;
        Ok((queue.id, result))
    })?;
    store.receiver_notifier(queue).notify_one();
    Ok(result)
}

fn run_batch_and_wake(
    store: &QueueStore,
    request: BatchEntries<ReceiptRequest>,
    operation: impl Fn(&Transaction<'_>, &Queue, &ReceiptRequest, i64) -> SqsResult<EmptyAnswer>,
) -> SqsResult<BatchAnswer<EmptyAnswer>> {
    check_batch(request.entries.iter().map(|entry| entry.id.as_str()))?;
    run_and_wake(store, &request.queue_url, |tx, queue, now| {
        let mut answer = BatchAnswer::new();
        for entry in request.entries {
            // A failure of this service must undo the whole batch.
            match operation(tx, queue, &entry, now) {
                Err(failure) if !failure.sender_fault => return Err(failure),
                outcome => answer.push_outcome(entry.id, outcome),
            }
        }
        Ok(answer)
    })
}

/// Deletes a message by its latest receipt. In a standard queue this works even after its
/// visibility time-out. An earlier receipt succeeds without an effect, and so does the receipt of a
/// message that no longer exists.
fn delete_one(
    tx: &Transaction<'_>,
    queue: &Queue,
    request: &ReceiptRequest,
    now: i64,
) -> SqsResult<EmptyAnswer> {
    let receipt = Receipt::decode(&request.receipt_handle)?;
    let Some(message) = find_received_message(tx, queue, receipt, &request.receipt_handle)? else {
        return Ok(EmptyAnswer {});
    };

    if queue.is_fifo() && (!message.is_current || message.due_ms <= now) {
        let reason = "The receipt handle has expired.";
        return Err(SqsError::invalid_parameter(
            "ReceiptHandle",
            &request.receipt_handle,
            reason,
        ));
    }

    if message.is_current {
        remove_message(tx, queue, receipt.seq, message.group.as_deref(), now)?;
    }

    Ok(EmptyAnswer {})
}

/// Sets the visibility time-out of a message in flight, from now on. Zero makes it visible at once.
fn change_visibility_of_one(
    tx: &Transaction<'_>,
    queue: &Queue,
    request: &ReceiptRequest,
    now: i64,
) -> SqsResult<EmptyAnswer> {
    let Some(seconds) = request.visibility_timeout else {
        return Err(SqsError::missing_parameter("VisibilityTimeout"));
    };
    let due = now + visibility_ms(seconds)?;
    let receipt = Receipt::decode(&request.receipt_handle)?;
    let Some(message) = find_received_message(tx, queue, receipt, &request.receipt_handle)? else {
        return Err(SqsError::not_in_flight());
    };
    if !message.is_current || message.state != STATE_WAITING || message.due_ms <= now {
        return Err(SqsError::not_in_flight());
    }

    tx.prepare_cached("UPDATE messages SET due_ms = ?2 WHERE seq = ?1")?
        .execute([receipt.seq, due])?;
    Ok(EmptyAnswer {})
}

/// Returns the message of a receipt, or `None` if the message was deleted, has expired, or was
/// moved to another queue.
fn find_received_message(
    connection: &Connection,
    queue: &Queue,
    receipt: Receipt,
    handle: &str,
) -> SqsResult<Option<MessageInFlight>> {
    if receipt.queue != queue.id {
        return Err(SqsError::bad_receipt(handle));
    }

    let sql = "SELECT state, due_ms, group_id, receipt FROM messages WHERE seq = ?1 AND queue = ?2";
    let message = connection
        .prepare_cached(sql)?
        .query_row([receipt.seq, queue.id], |row| {
            let is_current = row.get::<_, Option<i64>>(3)? == Some(receipt.number);
            Ok(MessageInFlight {
                state: row.get(0)?,
                due_ms: row.get(1)?,
                group: row.get(2)?,
                is_current,
            })
        });

    Ok(message.optional()?)
}

/// Removes a message. The next message of its FIFO group may become ready.
fn remove_message(
    tx: &Transaction<'_>,
    queue: &Queue,
    seq: i64,
    group: Option<&str>,
    now: i64,
) -> SqsResult<()> {
    tx.prepare_cached("DELETE FROM messages WHERE seq = ?1")?
        .execute([seq])?;
    if queue.is_fifo()
        && let Some(group) = group
    {
        restore_group_order(tx, queue.id, group, now)?;
    }
    Ok(())
}

/// Ends the visibility time-out of all messages in flight in FIFO queues. Otherwise the groups of a
/// receiver that died would stay blocked until then. A receiver that still has one of these
/// messages finds its receipt expired.
pub(super) fn release_groups(store: &QueueStore) -> SqsResult<()> {
    let now = store.now();
    store.write_transaction(|tx| {
        let sql = "UPDATE messages SET due_ms = ?1 WHERE state = 0 AND due_ms > ?1 AND receipt IS NOT NULL \
                   AND queue IN (SELECT id FROM queues WHERE name LIKE '%.fifo')";
        tx.execute(sql, [now])?;
        Ok(())
    })
}

/// Deletes the messages past the retention of their queue, and the deduplication ids past their
/// window. A receive deletes only the expired messages that it meets. The sweep reads the messages
/// from the oldest on, up to the first that no queue would delete.
pub(super) fn sweep_expired(store: &QueueStore) -> SqsResult<()> {
    let now = store.now();
    store.write_transaction(|tx| {
        let mut queues = HashMap::new();
        for name in queue_names(tx)? {
            if let Some(queue) = find_queue(tx, &name)? {
                queues.insert(queue.id, queue);
            }
        }

        let shortest_retention = queues.values().map(retention_ms).min().unwrap_or(i64::MAX);

        for message in list_sent_until(tx, now.saturating_sub(shortest_retention))? {
            let Some(queue) = queues.get(&message.queue) else {
                continue;
            };
            if message.sent_ms <= now.saturating_sub(retention_ms(queue)) {
                remove_message(tx, queue, message.seq, message.group.as_deref(), now)?;
            }
        }

        tx.execute("DELETE FROM deduplication WHERE expires_ms <= ?1", [now])?;
        Ok(())
    })
}

fn retention_ms(queue: &Queue) -> i64 {
    i64::try_from(queue.settings.retention).unwrap_or(i64::MAX)
}

/// A message that may be past its retention.
struct ExpiringMessage {
    seq: i64,
    queue: i64,
    group: Option<String>,
    sent_ms: i64,
}

/// Returns the messages that were sent up to `ms`, from the oldest on. Numbers grow with the time
/// of sending.
fn list_sent_until(tx: &Transaction<'_>, ms: i64) -> SqsResult<Vec<ExpiringMessage>> {
    let mut statement =
        tx.prepare_cached("SELECT seq, queue, group_id, sent_ms FROM messages ORDER BY seq")?;
    let mut rows = statement.query([])?;
    let mut messages = Vec::new();
    while let Some(row) = rows.next()? {
        let sent_ms = row.get(3)?;
        if sent_ms > ms {
            break;
        }
        messages.push(ExpiringMessage {
            seq: row.get(0)?,
            queue: row.get(1)?,
            group: row.get(2)?,
            sent_ms,
        });
    }

    Ok(messages)
}
