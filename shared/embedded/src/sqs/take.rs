//! Taking of ready messages from a queue, within one transaction.

use std::collections::BTreeMap;

use rusqlite::{Row, Transaction, params};

use super::digest;
use super::error::SqsResult;
use super::receipts::{Receipt, sequence_number};
use super::receive::ReceiveOptions;
use super::store::{
    ACCOUNT, ARN_PREFIX, Queue, STATE_BEHIND, STATE_READY, find_queue, from_json,
    promote_due_messages, rank_of_new_message, restore_group_order,
};
use super::wire::{MessageAttribute, WireMessage};

/// The result of taking messages.
pub(super) struct TakenMessages {
    pub(super) messages: Vec<WireMessage>,
    /// The dead-letter queue to which messages were moved instead.
    pub(super) moved_to: Option<i64>,
}

/// A message in the table.
struct StoredMessage {
    seq: i64,
    rank: i64,
    due_ms: i64,
    group: Option<String>,
    receive_count: i64,
    first_received_ms: Option<i64>,
    sent_ms: i64,
    id: String,
    deduplication_id: Option<String>,
    dead_letter_source: Option<String>,
    attributes: Option<String>,
    system_attributes: Option<String>,
    body: String,
}

/// The query for the ready messages of a queue, in the order in which they are served. The columns
/// are those of [`StoredMessage`].
const READY_MESSAGES_SQL: &str = "SELECT seq, rank, due_ms, group_id, received, first_received_ms, sent_ms, id, deduplication_id, \
     dead_letter_source, attributes, system_attributes, body \
     FROM messages WHERE queue = ?1 AND state = 1 ORDER BY rank, seq LIMIT ?2";
/// The query for the first messages of a group.
const GROUP_FRONT_SQL: &str = "SELECT seq, rank, due_ms, group_id, received, first_received_ms, sent_ms, id, deduplication_id, \
     dead_letter_source, attributes, system_attributes, body \
     FROM messages WHERE queue = ?1 AND group_id = ?2 ORDER BY rank, seq LIMIT ?3";

impl StoredMessage {
    fn from_row(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            seq: row.get(0)?,
            rank: row.get(1)?,
            due_ms: row.get(2)?,
            group: row.get(3)?,
            receive_count: row.get(4)?,
            first_received_ms: row.get(5)?,
            sent_ms: row.get(6)?,
            id: row.get(7)?,
            deduplication_id: row.get(8)?,
            dead_letter_source: row.get(9)?,
            attributes: row.get(10)?,
            system_attributes: row.get(11)?,
            body: row.get(12)?,
        })
    }
}

/// Takes up to `options.count` ready messages of `queue`. Deletes messages that are past their
/// retention, and moves messages that were received too often to the dead-letter queue.
pub(super) fn take_messages(
    tx: &Transaction<'_>,
    queue: &Queue,
    options: &ReceiveOptions,
    now: i64,
) -> SqsResult<TakenMessages> {
    promote_due_messages(tx, queue, now)?;
    let mut taker = MessageTaker {
        tx,
        queue,
        options,
        now,
        virtual_time: queue.virtual_time,
        taken: TakenMessages {
            messages: Vec::new(),
            moved_to: None,
        },
    };

    if queue.is_fifo() {
        taker.take_groups()?
    } else {
        taker.take_ready()?
    }

    if taker.virtual_time > queue.virtual_time {
        let sql = "UPDATE queues SET virtual_time = ?2 WHERE id = ?1";
        tx.prepare_cached(sql)?
            .execute([queue.id, taker.virtual_time])?;
    }

    Ok(taker.taken)
}

struct MessageTaker<'a> {
    tx: &'a Transaction<'a>,
    queue: &'a Queue,
    options: &'a ReceiveOptions,
    now: i64,
    virtual_time: i64,
    taken: TakenMessages,
}

impl MessageTaker<'_> {
    /// Returns the number of messages still to take.
    fn remaining_count(&self) -> usize {
        self.options.count - self.taken.messages.len()
    }

    /// Takes messages of a standard queue by rank. Each round takes, deletes or moves all messages
    /// that it read, so the loop ends.
    fn take_ready(&mut self) -> SqsResult<()> {
        while self.remaining_count() > 0 {
            let ready = self.query_ready(self.remaining_count())?;
            if ready.is_empty() {
                break;
            }
            for message in ready {
                self.serve_message(message)?;
            }
        }
        Ok(())
    }

    /// Takes messages of a FIFO queue group by group, in the order of the ranks of their heads.
    /// Takes as many as wanted of each group.
    fn take_groups(&mut self) -> SqsResult<()> {
        while self.remaining_count() > 0 {
            let Some(head) = self.query_ready(1)?.pop() else {
                break;
            };
            let Some(group) = head.group else {
                break;
            };

            for message in self.query_group_front(&group, self.remaining_count())? {
                if message.due_ms > self.now {
                    break;
                }
                self.serve_message(message)?;
            }
            restore_group_order(self.tx, self.queue.id, &group, self.now)?;
        }

        Ok(())
    }

    fn query_ready(&self, limit: usize) -> SqsResult<Vec<StoredMessage>> {
        let mut statement = self.tx.prepare_cached(READY_MESSAGES_SQL)?;
        let rows = statement.query_map(
            params![self.queue.id, limit as i64],
            StoredMessage::from_row,
        )?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    fn query_group_front(&self, group: &str, limit: usize) -> SqsResult<Vec<StoredMessage>> {
        let mut statement = self.tx.prepare_cached(GROUP_FRONT_SQL)?;
        let rows = statement.query_map(
            params![self.queue.id, group, limit as i64],
            StoredMessage::from_row,
        )?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// Deletes, moves or takes one message.
    fn serve_message(&mut self, message: StoredMessage) -> SqsResult<()> {
        self.virtual_time = self.virtual_time.max(message.rank);
        let settings = &self.queue.settings;
        if message.sent_ms + i64::try_from(settings.retention).unwrap_or(i64::MAX) <= self.now {
            self.tx
                .prepare_cached("DELETE FROM messages WHERE seq = ?1")?
                .execute([message.seq])?;
            return Ok(());
        }

        if let Some(redrive) = &settings.redrive
            && message.receive_count.unsigned_abs() >= redrive.max_receive_count
            && let Some(target) = find_queue(self.tx, &redrive.target)?
        {
            return self.move_to_dead_letters(&message, &target);
        }

        self.put_in_flight(message)
    }

    /// Moves a message to the dead-letter queue, where it keeps its receive count and age.
    fn move_to_dead_letters(&mut self, message: &StoredMessage, target: &Queue) -> SqsResult<()> {
        let state = if target.is_fifo() {
            STATE_BEHIND
        } else {
            STATE_READY
        };
        let rank = rank_of_new_message(self.tx, target, message.group.as_deref())?;
        let source = format!("{ARN_PREFIX}{}", self.queue.name);
        let sql = "UPDATE messages SET queue = ?2, state = ?3, rank = ?4, due_ms = ?5, receipt = NULL, \
                   dead_letter_source = ?6 WHERE seq = ?1";
        let row = params![message.seq, target.id, state, rank, self.now, source];
        self.tx.prepare_cached(sql)?.execute(row)?;
        if target.is_fifo()
            && let Some(group) = &message.group
        {
            restore_group_order(self.tx, target.id, group, self.now)?;
        }
        self.taken.moved_to = Some(target.id);
        Ok(())
    }

    /// Takes a message: it is in flight under a new receipt.
    fn put_in_flight(&mut self, message: StoredMessage) -> SqsResult<()> {
        let default_visibility = i64::try_from(self.queue.settings.visibility).unwrap_or(0);
        let due = self.now + self.options.visibility.unwrap_or(default_visibility);
        let receipt = Receipt {
            queue: self.queue.id,
            seq: message.seq,
            number: rand::random(),
        };

        let sql = "UPDATE messages SET state = 0, due_ms = ?2, receipt = ?3, received = received + 1, \
                   first_received_ms = ifnull(first_received_ms, ?4) WHERE seq = ?1";
        self.tx.prepare_cached(sql)?.execute(params![
            message.seq,
            due,
            receipt.number,
            self.now
        ])?;
        let wire_message = self.received_message(message, &receipt)?;
        self.taken.messages.push(wire_message);

        Ok(())
    }

    fn received_message(
        &self,
        message: StoredMessage,
        receipt: &Receipt,
    ) -> SqsResult<WireMessage> {
        let mut message_attributes = parse_attributes(message.attributes.as_deref())?;
        message_attributes.retain(|name, _| is_selected(&self.options.attributes, name));
        Ok(WireMessage {
            attributes: self.system_attributes(&message)?,
            message_id: message.id,
            receipt_handle: receipt.encode(),
            md5_of_body: digest::digest_body(&message.body),
            body: message.body,
            md5_of_attributes: digest::digest_attributes(&message_attributes),
            message_attributes,
        })
    }

    /// Returns the requested system attributes of a message.
    fn system_attributes(
        &self,
        message: &StoredMessage,
    ) -> SqsResult<BTreeMap<&'static str, String>> {
        let is_fifo = self.queue.is_fifo();
        let first_received_ms = message.first_received_ms.unwrap_or(self.now);
        let trace_header =
            parse_attributes(message.system_attributes.as_deref())?.remove("AWSTraceHeader");

        let candidates = [
            ("SenderId", Some(ACCOUNT.to_owned())),
            ("SentTimestamp", Some(message.sent_ms.to_string())),
            (
                "ApproximateReceiveCount",
                Some((message.receive_count + 1).to_string()),
            ),
            (
                "ApproximateFirstReceiveTimestamp",
                Some(first_received_ms.to_string()),
            ),
            (
                "SequenceNumber",
                is_fifo.then(|| sequence_number(message.seq)),
            ),
            ("MessageGroupId", message.group.clone()),
            ("MessageDeduplicationId", message.deduplication_id.clone()),
            (
                "DeadLetterQueueSourceArn",
                message.dead_letter_source.clone(),
            ),
            (
                "AWSTraceHeader",
                trace_header.and_then(|header| header.string_value),
            ),
        ];

        let requested = &self.options.system_attributes;
        let is_requested = |name: &str| {
            requested
                .iter()
                .any(|requested| requested == "All" || requested == name)
        };

        let mut attributes = BTreeMap::new();
        for (name, value) in candidates {
            if let Some(value) = value
                && is_requested(name)
            {
                attributes.insert(name, value);
            }
        }

        Ok(attributes)
    }
}

fn parse_attributes(attributes: Option<&str>) -> SqsResult<BTreeMap<String, MessageAttribute>> {
    match attributes {
        Some(attributes) => from_json(attributes),
        None => Ok(BTreeMap::new()),
    }
}

/// Checks whether the list of wanted message attributes (names, `prefix.*`, `.*` or `All`) has
/// `name`.
fn is_selected(patterns: &[String], name: &str) -> bool {
    patterns
        .iter()
        .any(|pattern| match pattern.strip_suffix(".*") {
            Some(prefix) => name.starts_with(prefix),
            None => pattern == "All" || pattern == name,
        })
}
