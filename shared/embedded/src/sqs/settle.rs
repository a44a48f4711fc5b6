//! Operations on received messages: deletion and change of the visibility time-out. Also the
//! deletion of what has expired.

use std::collections::HashMap;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use rusqlite::{Connection, OptionalExtension, Transaction};

use super::error::{Failure, Outcome};
use super::queues::names;
use super::receive::visibility_ms;
use super::send::check_batch;
use super::store::{Queue, Store, WAITING, queue_named, queue_of_url, settle_group};
use super::wire::{Batch, BatchAnswer, Nothing, Settle};

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

    fn decode(handle: &str) -> Outcome<Self> {
        if handle.is_empty() {
            return Err(Failure::missing("ReceiptHandle"));
        }

        let read = || {
            let text = String::from_utf8(URL_SAFE_NO_PAD.decode(handle).ok()?).ok()?;
            let mut numbers = text.split('/').map(str::parse);
            let mut next = || numbers.next()?.ok();
            Some(Self {
                queue: next()?,
                seq: next()?,
                number: next()?,
            })
        };

        read().ok_or_else(|| Failure::bad_receipt(handle))
    }
}

/// The message of a receipt, while it exists.
struct Held {
    state: i64,
    due_ms: i64,
    group: Option<String>,
    /// Set if the message was not received again since.
    current: bool,
}

/// Formats the sequence number of a message in a FIFO queue: 20 digits.
pub(super) fn sequence_number(seq: i64) -> String {
    format!("{seq:020}")
}

pub(super) fn delete(store: &Store, query: Settle) -> Outcome<Nothing> {
    settle(store, &query.queue_url, |tx, queue, now| {
        delete_one(tx, queue, &query, now)
    })
}

pub(super) fn change_visibility(store: &Store, query: Settle) -> Outcome<Nothing> {
    settle(store, &query.queue_url, |tx, queue, now| {
        change_one(tx, queue, &query, now)
    })
}

pub(super) fn delete_batch(store: &Store, query: Batch<Settle>) -> Outcome<BatchAnswer<Nothing>> {
    settle_batch(store, query, delete_one)
}

pub(super) fn change_visibility_batch(
    store: &Store,
    query: Batch<Settle>,
) -> Outcome<BatchAnswer<Nothing>> {
    settle_batch(store, query, change_one)
}

/// Runs `work` in a transaction, and then wakes a receiver, because a message or its group may have
/// become ready.
fn settle<T>(
    store: &Store,
    url: &str,
    work: impl FnOnce(&Transaction<'_>, &Queue, i64) -> Outcome<T>,
) -> Outcome<T> {
    let now = store.now();
    let (queue, result) = store.write(|tx| {
        let queue = queue_of_url(tx, url)?;
        let result = work(tx, &queue, now)?;
        Ok((queue.id, result))
    })?;
    store.waker(queue).notify_one();
    Ok(result)
}

fn settle_batch(
    store: &Store,
    query: Batch<Settle>,
    one: impl Fn(&Transaction<'_>, &Queue, &Settle, i64) -> Outcome<Nothing>,
) -> Outcome<BatchAnswer<Nothing>> {
    check_batch(query.entries.iter().map(|entry| entry.id.as_str()))?;
    settle(store, &query.queue_url, |tx, queue, now| {
        let mut answer = BatchAnswer::new();
        for entry in query.entries {
            // A failure of this service must undo the whole batch.
            match one(tx, queue, &entry, now) {
                Err(failure) if !failure.sender_fault => return Err(failure),
                outcome => answer.push(entry.id, outcome),
            }
        }
        Ok(answer)
    })
}

/// Deletes a message by its latest receipt. In a standard queue this works even after its
/// visibility time-out. An earlier receipt succeeds without an effect, and so does the receipt of a
/// message that no longer exists.
fn delete_one(tx: &Transaction<'_>, queue: &Queue, query: &Settle, now: i64) -> Outcome<Nothing> {
    let receipt = Receipt::decode(&query.receipt_handle)?;
    let Some(held) = held(tx, queue, receipt, &query.receipt_handle)? else {
        return Ok(Nothing {});
    };

    if queue.is_fifo() && (!held.current || held.due_ms <= now) {
        let reason = "The receipt handle has expired.";
        return Err(Failure::invalid(
            "ReceiptHandle",
            &query.receipt_handle,
            reason,
        ));
    }

    if held.current {
        remove(tx, queue, receipt.seq, held.group.as_deref(), now)?;
    }

    Ok(Nothing {})
}

/// Sets the visibility time-out of a message in flight, from now on. Zero makes it visible at once.
fn change_one(tx: &Transaction<'_>, queue: &Queue, query: &Settle, now: i64) -> Outcome<Nothing> {
    let seconds = query
        .visibility_timeout
        .ok_or_else(|| Failure::missing("VisibilityTimeout"))?;
    let due = now + visibility_ms(seconds)?;
    let receipt = Receipt::decode(&query.receipt_handle)?;
    let held =
        held(tx, queue, receipt, &query.receipt_handle)?.ok_or_else(Failure::not_in_flight)?;
    if !held.current || held.state != WAITING || held.due_ms <= now {
        return Err(Failure::not_in_flight());
    }

    tx.prepare_cached("UPDATE messages SET due_ms = ?2 WHERE seq = ?1")?
        .execute([receipt.seq, due])?;
    Ok(Nothing {})
}

/// Returns the message of a receipt, or `None` if the message was deleted, has expired, or was
/// moved to another queue.
fn held(
    connection: &Connection,
    queue: &Queue,
    receipt: Receipt,
    handle: &str,
) -> Outcome<Option<Held>> {
    if receipt.queue != queue.id {
        return Err(Failure::bad_receipt(handle));
    }

    let sql = "SELECT state, due_ms, group_id, receipt FROM messages WHERE seq = ?1 AND queue = ?2";
    let held = connection
        .prepare_cached(sql)?
        .query_row([receipt.seq, queue.id], |row| {
            let current = row.get::<_, Option<i64>>(3)? == Some(receipt.number);
            Ok(Held {
                state: row.get(0)?,
                due_ms: row.get(1)?,
                group: row.get(2)?,
                current,
            })
        });

    Ok(held.optional()?)
}

/// Removes a message. The next message of its FIFO group may become ready.
fn remove(
    tx: &Transaction<'_>,
    queue: &Queue,
    seq: i64,
    group: Option<&str>,
    now: i64,
) -> Outcome<()> {
    tx.prepare_cached("DELETE FROM messages WHERE seq = ?1")?
        .execute([seq])?;
    if let Some(group) = group.filter(|_| queue.is_fifo()) {
        settle_group(tx, queue.id, group, now)?;
    }
    Ok(())
}

/// Ends the visibility time-out of all messages in flight in FIFO queues. Otherwise the groups of a
/// receiver that died would stay blocked until then. A receiver that still has one of these
/// messages finds its receipt expired.
pub(super) fn release_groups(store: &Store) -> Outcome<()> {
    let now = store.now();
    store.write(|tx| {
        let sql = "UPDATE messages SET due_ms = ?1 WHERE state = 0 AND due_ms > ?1 AND receipt IS NOT NULL \
                   AND queue IN (SELECT id FROM queues WHERE name LIKE '%.fifo')";
        tx.execute(sql, [now])?;
        Ok(())
    })
}

/// Deletes the messages past the retention of their queue, and the deduplication ids past their
/// window. A receive deletes only the expired messages that it meets. The sweep reads the messages
/// from the oldest on, up to the first that no queue would delete.
pub(super) fn sweep_expired(store: &Store) -> Outcome<()> {
    let now = store.now();
    store.write(|tx| {
        let mut queues = HashMap::new();
        for name in names(tx)? {
            queues.extend(queue_named(tx, &name)?.map(|queue| (queue.id, queue)));
        }

        let shortest = queues.values().map(retention).min().unwrap_or(i64::MAX);

        for old in older_than(tx, now.saturating_sub(shortest))? {
            let Some(queue) = queues.get(&old.queue) else {
                continue;
            };
            if old.sent_ms <= now.saturating_sub(retention(queue)) {
                remove(tx, queue, old.seq, old.group.as_deref(), now)?;
            }
        }

        tx.execute("DELETE FROM deduplication WHERE expires_ms <= ?1", [now])?;
        Ok(())
    })
}

fn retention(queue: &Queue) -> i64 {
    i64::try_from(queue.settings.retention).unwrap_or(i64::MAX)
}

/// A message that may be past its retention.
struct Old {
    seq: i64,
    queue: i64,
    group: Option<String>,
    sent_ms: i64,
}

/// Returns the messages that were sent up to `ms`, from the oldest on. Numbers grow with the time
/// of sending.
fn older_than(tx: &Transaction<'_>, ms: i64) -> Outcome<Vec<Old>> {
    let mut statement =
        tx.prepare_cached("SELECT seq, queue, group_id, sent_ms FROM messages ORDER BY seq")?;
    let mut rows = statement.query([])?;
    let mut old = Vec::new();
    while let Some(row) = rows.next()? {
        let sent_ms = row.get(3)?;
        if sent_ms > ms {
            break;
        }
        old.push(Old {
            seq: row.get(0)?,
            queue: row.get(1)?,
            group: row.get(2)?,
            sent_ms,
        });
    }

    Ok(old)
}
