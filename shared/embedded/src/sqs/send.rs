//! Sending of messages.

use std::collections::{BTreeMap, HashSet};

use rusqlite::{OptionalExtension, Transaction, params};
use sha2::{Digest, Sha256};

use super::error::{SqsError, SqsResult};
use super::settings::MAX_MESSAGE_BYTES;
use super::store::{
    Queue, QueueStore, STATE_BEHIND, STATE_READY, STATE_WAITING, queue_of_url, rank_of_new_message,
    restore_group_order, to_json,
};
use super::wire::{
    BatchAnswer, BatchEntries, MessageAttribute, OutgoingMessage, SendRequest, SentMessage,
};
use super::{digest, receipts};
use crate::wire::random_uuid;

/// The time for which a deduplication id suppresses repeats: five minutes.
const DEDUPLICATION_MS: i64 = 5 * 60 * 1000;
/// The longest message group id or deduplication id, in characters.
const MAX_ID_CHARS: usize = 128;

pub(super) fn send_message(store: &QueueStore, request: SendRequest) -> SqsResult<SentMessage> {
    let now = store.now();
    let (queue, sent) = store.write_transaction(|tx| {
        let queue = queue_of_url(tx, &request.queue_url)?;
        let sent = enqueue_message(tx, &queue, request.message, now)?;
        Ok((queue, sent))
    })?;
    store.receiver_notifier(queue.id).notify_one();
    Ok(sent)
}

/// Sends the entries in one transaction. A rejected entry does not affect the others.
pub(super) fn send_batch(
    store: &QueueStore,
    request: BatchEntries<OutgoingMessage>,
) -> SqsResult<BatchAnswer<SentMessage>> {
    check_batch(request.entries.iter().map(|entry| entry.id.as_str()))?;
    let length: usize = request.entries.iter().map(message_size).sum();
    if length as u64 > MAX_MESSAGE_BYTES {
        return Err(SqsError::batch_too_long(length, MAX_MESSAGE_BYTES));
    }

    let now = store.now();
    let (queue, answer) = store.write_transaction(|tx| {
        let queue = queue_of_url(tx, &request.queue_url)?;
        let mut answer = BatchAnswer::new();
        for entry in request.entries {
            let id = entry.id.clone();
            // A failure of this service must undo the whole batch.
            match enqueue_message(tx, &queue, entry, now) {
                Err(failure) if !failure.sender_fault => return Err(failure),
                outcome => answer.push_outcome(id, outcome),
            }
        }
        Ok((queue, answer))
    })?;

    store.receiver_notifier(queue.id).notify_one();
    Ok(answer)
}

/// Checks that a batch has one to ten entries with distinct, well-formed ids.
pub(super) fn check_batch<'a>(ids: impl ExactSizeIterator<Item = &'a str>) -> SqsResult<()> {
    match ids.len() {
        0 => return Err(SqsError::empty_batch()),
        1..=10 => {}
        count => return Err(SqsError::too_many_entries(count)),
    }

    let mut seen = HashSet::new();
    for id in ids {
        let is_valid = id
            .chars()
            .all(|character| character.is_ascii_alphanumeric() || "-_".contains(character));
        if id.is_empty() || id.len() > 80 || !is_valid {
            return Err(SqsError::bad_entry_id());
        }
        if !seen.insert(id) {
            return Err(SqsError::ids_not_distinct(id));
        }
    }

    Ok(())
}

/// Checks one message and stores it, unless its deduplication id was seen before.
fn enqueue_message(
    tx: &Transaction<'_>,
    queue: &Queue,
    message: OutgoingMessage,
    now: i64,
) -> SqsResult<SentMessage> {
    let body = check_message(queue, &message)?;
    let delay = message_delay(queue, &message)?;
    let mut sent = SentMessage {
        message_id: random_uuid(),
        md5_of_body: digest::digest_body(&body),
        md5_of_attributes: digest::digest_attributes(&message.message_attributes),
        md5_of_system_attributes: digest::digest_attributes(&message.message_system_attributes),
        sequence_number: None,
    };

    if queue.is_fifo() {
        enqueue_once(tx, queue, &message, &body, &mut sent, (now, delay))?;
    } else {
        insert_message(
            tx,
            queue,
            &message,
            &sent.message_id,
            &body,
            (None, now, delay),
        )?;
    }

    Ok(sent)
}

/// Stores a message of a FIFO queue at the end of its group. If its deduplication id was seen
/// before, the answer is that of the first time.
fn enqueue_once(
    tx: &Transaction<'_>,
    queue: &Queue,
    message: &OutgoingMessage,
    body: &str,
    sent: &mut SentMessage,
    (now, delay): (i64, i64),
) -> SqsResult<()> {
    let Some(group) = &message.message_group_id else {
        return Err(SqsError::missing_parameter("MessageGroupId"));
    };
    let deduplication = deduplication_id(queue, message, body)?;
    let per_group = queue.settings.deduplication_per_group;
    let key = if per_group {
        format!("{group}\n{deduplication}")
    } else {
        deduplication.clone()
    };

    if let Some((first_id, seq)) = find_duplicate(tx, queue.id, &key, now)? {
        sent.message_id = first_id;
        sent.sequence_number = Some(receipts::sequence_number(seq));
        return Ok(());
    }

    let times = (Some(deduplication.as_str()), now, delay);
    let seq = insert_message(tx, queue, message, &sent.message_id, body, times)?;
    let sql = "INSERT OR REPLACE INTO deduplication (queue, id, expires_ms, message_id, seq) \
               VALUES (?1, ?2, ?3, ?4, ?5)";
    let row = params![queue.id, key, now + DEDUPLICATION_MS, sent.message_id, seq];
    tx.prepare_cached(sql)?.execute(row)?;
    restore_group_order(tx, queue.id, group, now)?;
    sent.sequence_number = Some(receipts::sequence_number(seq));

    Ok(())
}

/// Checks what every queue requires of a message. Returns its body.
fn check_message(queue: &Queue, message: &OutgoingMessage) -> SqsResult<String> {
    let body = match message.message_body.as_deref() {
        None | Some("") => return Err(SqsError::missing_parameter("MessageBody")),
        Some(body) => body,
    };
    if !body.chars().all(is_allowed) {
        return Err(SqsError::message_contents());
    }

    if message_size(message) as u64 > queue.settings.max_bytes {
        return Err(SqsError::too_long(queue.settings.max_bytes));
    }

    if message.message_attributes.len() > 10 {
        let count = message.message_attributes.len();
        return Err(SqsError::invalid_parameter(
            "MessageAttributes",
            count,
            "A message can have at most 10 attributes.",
        ));
    }

    let ids = [
        ("MessageGroupId", &message.message_group_id),
        ("MessageDeduplicationId", &message.message_deduplication_id),
    ];
    for (name, id) in ids {
        let Some(id) = id else { continue };
        if id.is_empty()
            || id.len() > MAX_ID_CHARS
            || !id.chars().all(|character| character.is_ascii_graphic())
        {
            let reason = format!(
                "{name} can only include alphanumeric and punctuation characters. 1 to 128 in length."
            );
            return Err(SqsError::invalid_parameter(name, id, &reason));
        }
    }

    Ok(body.to_owned())
}

/// Checks whether a character is one of XML 1.0.
fn is_allowed(character: char) -> bool {
    matches!(character, '\t' | '\n' | '\r' | ' '..='\u{fffd}' | '\u{10000}'..)
}

/// Returns the bytes of a message that count towards the limit: the body, and names, types and
/// values of the attributes.
fn message_size(message: &OutgoingMessage) -> usize {
    let mut size = 0;
    if let Some(body) = &message.message_body {
        size += body.len();
    }
    for (name, value) in &message.message_attributes {
        size += name.len() + value.size_bytes();
    }

    size
}

/// Returns the delay in milliseconds. FIFO queues support only the delay of the queue.
fn message_delay(queue: &Queue, message: &OutgoingMessage) -> SqsResult<i64> {
    let queue_delay = i64::try_from(queue.settings.delay).unwrap_or(0);
    match message.delay_seconds {
        None => Ok(queue_delay),
        Some(0) if queue.is_fifo() => Ok(queue_delay),
        Some(seconds) if queue.is_fifo() => {
            let reason = "The request include parameter that is not valid for this queue type.";
            Err(SqsError::invalid_parameter("DelaySeconds", seconds, reason))
        }
        Some(seconds @ 0..=900) => Ok(seconds * 1000),
        Some(seconds) => Err(SqsError::invalid_parameter(
            "DelaySeconds",
            seconds,
            "DelaySeconds must be >= 0 and <= 900.",
        )),
    }
}

fn deduplication_id(queue: &Queue, message: &OutgoingMessage, body: &str) -> SqsResult<String> {
    match &message.message_deduplication_id {
        Some(id) => Ok(id.clone()),
        None if queue.settings.content_deduplication => {
            Ok(hex::encode(Sha256::digest(body.as_bytes())))
        }
        None => {
            let reason = "The queue should either have ContentBasedDeduplication enabled or \
                          MessageDeduplicationId provided explicitly";
            Err(SqsError::invalid_parameter(
                "MessageDeduplicationId",
                "null",
                reason,
            ))
        }
    }
}

/// Returns the id and number of the message that was sent under `key` within the window.
fn find_duplicate(
    tx: &Transaction<'_>,
    queue: i64,
    key: &str,
    now: i64,
) -> SqsResult<Option<(String, i64)>> {
    let sql = "SELECT message_id, seq FROM deduplication WHERE queue = ?1 AND id = ?2 AND expires_ms > ?3";
    let row = tx
        .prepare_cached(sql)?
        .query_row(params![queue, key, now], |row| {
            Ok((row.get(0)?, row.get(1)?))
        });
    Ok(row.optional()?)
}

/// Stores a message: ready or delayed in a standard queue, at the end of its group in a FIFO queue.
fn insert_message(
    tx: &Transaction<'_>,
    queue: &Queue,
    message: &OutgoingMessage,
    id: &str,
    body: &str,
    (deduplication, now, delay): (Option<&str>, i64, i64),
) -> SqsResult<i64> {
    let group = message.message_group_id.as_deref();
    let state = match delay {
        _ if queue.is_fifo() => STATE_BEHIND,
        0 => STATE_READY,
        _ => STATE_WAITING,
    };

    let sql = "INSERT INTO messages (queue, state, rank, due_ms, group_id, sent_ms, id, deduplication_id, attributes, \
               system_attributes, body) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)";
    let attributes = attributes_column(&message.message_attributes)?;
    let system_attributes = attributes_column(&message.message_system_attributes)?;
    let rank = rank_of_new_message(tx, queue, group)?;
    let row = params![
        queue.id,
        state,
        rank,
        now + delay,
        group,
        now,
        id,
        deduplication,
        attributes,
        system_attributes,
        body
    ];

    Ok(tx.prepare_cached(sql)?.insert(row)?)
}

/// Returns the attributes of a message as the table has them: `NULL` if there are none.
fn attributes_column(attributes: &BTreeMap<String, MessageAttribute>) -> SqsResult<Option<String>> {
    if attributes.is_empty() {
        return Ok(None);
    }
    Ok(Some(to_json(attributes)?))
}
