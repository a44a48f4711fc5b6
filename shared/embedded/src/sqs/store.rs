//! The tables of SQS, the states of a message, and the order in which messages are served.
//!
//! **States.** A message is *waiting* until its due time (delayed, or in flight until its
//! visibility time-out), *ready* to be received, or, in a FIFO queue only, *behind* another message
//! of its group. The passage of time alone writes nothing. A waiting message whose due time has
//! passed counts as ready everywhere, and becomes ready in the next transaction that receives from
//! its queue (`promote_due_messages`). A receive therefore reads one index range of ready messages,
//! no matter how many are in flight, and an idle poll only reads.
//!
//! **FIFO.** At most one message of a group, its head, is ready, and only while none of the group
//! is in flight or delayed. `restore_group_order` restores this whenever a message of a group has
//! changed. Messages in flight were taken by one receive from the front of the group, so they are
//! always among its first ten messages.
//!
//! **Fairness.** Messages are served in the order of `rank`, then of arrival. This is start-time
//! fair queueing (Goyal, Vin, Cheng 1996) with equal weights. The virtual time of a queue is the
//! largest rank served so far. The rank of a message is one more than the last of its group, but
//! not less than the virtual time. Groups with a backlog are thus served in turns, and the first
//! message of a quiet group is served in the current turn. A message without a group is a group of
//! its own.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard};

use rusqlite::{Connection, OptionalExtension, Transaction, params};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::sync::Notify;

use super::error::{SqsError, SqsResult};
use super::settings::QueueSettings;
use crate::blocking::lock_mutex;
use crate::clock::Clock;
use crate::sqlite;

/// The account to which all queues belong.
pub(super) const ACCOUNT: &str = "000000000000";
/// The part of a queue's ARN before its name.
pub(super) const ARN_PREFIX: &str = "arn:aws:sqs:us-east-1:000000000000:";

/// The states of a message, as in the column `state`.
pub(super) const STATE_WAITING: i64 = 0;
pub(super) const STATE_READY: i64 = 1;
pub(super) const STATE_BEHIND: i64 = 2;

/// The most messages that one receive takes, and thus the most of a FIFO group that are in flight.
pub(super) const MAX_TAKE: i64 = 10;
/// The most messages that one receive makes ready, so that no transaction grows without limit.
const PROMOTE_LIMIT: i64 = 1000;

const SCHEMA: &str = "
CREATE TABLE IF NOT EXISTS queues (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL UNIQUE,
    attributes TEXT NOT NULL,
    virtual_time INTEGER NOT NULL DEFAULT 0,
    created_ms INTEGER NOT NULL,
    modified_ms INTEGER NOT NULL
);
CREATE TABLE IF NOT EXISTS messages (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    queue INTEGER NOT NULL,
    state INTEGER NOT NULL,
    rank INTEGER NOT NULL,
    due_ms INTEGER NOT NULL,
    group_id TEXT,
    receipt INTEGER,
    received INTEGER NOT NULL DEFAULT 0,
    first_received_ms INTEGER,
    sent_ms INTEGER NOT NULL,
    id TEXT NOT NULL,
    deduplication_id TEXT,
    dead_letter_source TEXT,
    attributes TEXT,
    system_attributes TEXT,
    body TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS messages_to_take ON messages (queue, state, rank, seq);
CREATE INDEX IF NOT EXISTS messages_by_due ON messages (queue, due_ms) WHERE state = 0;
CREATE INDEX IF NOT EXISTS messages_of_group ON messages (queue, group_id, rank, seq) WHERE group_id IS NOT NULL;
CREATE TABLE IF NOT EXISTS deduplication (
    queue INTEGER NOT NULL,
    id TEXT NOT NULL,
    expires_ms INTEGER NOT NULL,
    message_id TEXT NOT NULL,
    seq INTEGER NOT NULL,
    PRIMARY KEY (queue, id)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS deduplication_by_expiry ON deduplication (expires_ms);
";

/// A queue in its current state.
#[derive(Debug, Clone)]
pub(super) struct Queue {
    pub(super) id: i64,
    pub(super) name: String,
    pub(super) attributes: BTreeMap<String, String>,
    pub(super) settings: QueueSettings,
    pub(super) virtual_time: i64,
    pub(super) created_ms: i64,
    pub(super) modified_ms: i64,
}

impl Queue {
    pub(super) fn is_fifo(&self) -> bool {
        self.name.ends_with(".fifo")
    }
}

/// The file, the clock and the notifiers of waiting receivers.
pub(super) struct QueueStore {
    connection: Mutex<Connection>,
    clock: Clock,
    notifiers: Mutex<HashMap<i64, Arc<Notify>>>,
}

impl QueueStore {
    pub(super) fn open(file: &Path, clock: Clock) -> anyhow::Result<Self> {
        let connection = Mutex::new(sqlite::open_database(file, SCHEMA)?);
        Ok(Self {
            connection,
            clock,
            notifiers: Mutex::default(),
        })
    }

    /// Returns the time in milliseconds since 1970.
    pub(super) fn now(&self) -> i64 {
        i64::try_from((self.clock)()).unwrap_or(i64::MAX)
    }

    /// Locks the connection for reading. A panic while the lock was held rolled its transaction
    /// back, so a poisoned lock is harmless.
    pub(super) fn lock_connection(&self) -> MutexGuard<'_, Connection> {
        lock_mutex(&self.connection)
    }

    /// Runs `work` in a transaction, and commits it if `work` succeeds.
    pub(super) fn write_transaction<T>(
        &self,
        work: impl FnOnce(&Transaction<'_>) -> SqsResult<T>,
    ) -> SqsResult<T> {
        let mut connection = self.lock_connection();
        let transaction = sqlite::begin_write(&mut connection)?;
        let result = work(&transaction)?;
        transaction.commit()?;
        Ok(result)
    }

    /// Returns the notifier on which receivers of the queue `id` wait. One call wakes one receiver,
    /// which wakes the next if it leaves messages behind. Receivers in other processes are not
    /// notified, and look again at intervals.
    pub(super) fn receiver_notifier(&self, id: i64) -> Arc<Notify> {
        let mut notifiers = lock_mutex(&self.notifiers);
        Arc::clone(notifiers.entry(id).or_default())
    }
}

/// Returns the queue of a queue URL. Only the last segment of the URL matters.
pub(super) fn queue_of_url(connection: &Connection, url: &str) -> SqsResult<Queue> {
    if url.is_empty() {
        return Err(SqsError::missing_parameter("QueueUrl"));
    }
    let name = url.rsplit('/').next().unwrap_or(url);
    match find_queue(connection, name)? {
        Some(queue) => Ok(queue),
        None => Err(SqsError::no_such_queue()),
    }
}

/// Writes a value as the text of a column.
pub(super) fn to_json(value: &impl Serialize) -> SqsResult<String> {
    serde_json::to_string(value).map_err(SqsError::internal_failure)
}

/// Reads a value from the text of a column.
pub(super) fn from_json<T: DeserializeOwned>(text: &str) -> SqsResult<T> {
    serde_json::from_str(text).map_err(SqsError::internal_failure)
}

pub(super) fn find_queue(connection: &Connection, name: &str) -> SqsResult<Option<Queue>> {
    let sql =
        "SELECT id, attributes, virtual_time, created_ms, modified_ms FROM queues WHERE name = ?1";
    let row = connection
        .prepare_cached(sql)?
        .query_row([name], |row| {
            Ok((
                row.get::<_, i64>(0)?,
                row.get::<_, String>(1)?,
                row.get(2)?,
                row.get(3)?,
                row.get(4)?,
            ))
        })
        .optional()?;
    let Some((id, attributes, virtual_time, created_ms, modified_ms)) = row else {
        return Ok(None);
    };

    let attributes = from_json(&attributes)?;
    let settings = QueueSettings::parse(&attributes)?;
    let name = name.to_owned();

    Ok(Some(Queue {
        id,
        name,
        attributes,
        settings,
        virtual_time,
        created_ms,
        modified_ms,
    }))
}

/// Returns the rank of a message that now joins `group` at its end.
pub(super) fn rank_of_new_message(
    tx: &Transaction<'_>,
    queue: &Queue,
    group: Option<&str>,
) -> SqsResult<i64> {
    let Some(group) = group else {
        return Ok(queue.virtual_time);
    };
    let sql = "SELECT max(rank) FROM messages WHERE queue = ?1 AND group_id = ?2";
    let last_rank: Option<i64> = tx
        .prepare_cached(sql)?
        .query_row(params![queue.id, group], |row| row.get(0))?;
    match last_rank {
        Some(last_rank) => Ok(queue.virtual_time.max(last_rank + 1)),
        None => Ok(queue.virtual_time),
    }
}

/// Makes the waiting messages ready whose due time has passed.
pub(super) fn promote_due_messages(tx: &Transaction<'_>, queue: &Queue, now: i64) -> SqsResult<()> {
    let sql = "SELECT seq, group_id FROM messages WHERE queue = ?1 AND state = 0 AND due_ms <= ?2 \
               ORDER BY due_ms LIMIT ?3";
    let due: Vec<(i64, Option<String>)> = tx
        .prepare_cached(sql)?
        .query_map(params![queue.id, now, PROMOTE_LIMIT], |row| {
            Ok((row.get(0)?, row.get(1)?))
        })?
        .collect::<Result<_, _>>()?;

    for (seq, group) in due {
        match group {
            Some(group) if queue.is_fifo() => {
                set_state(tx, seq, STATE_BEHIND)?;
                restore_group_order(tx, queue.id, &group, now)?;
            }
            // A message that failed goes behind the others of its group, so that a tenant whose
            // messages all fail waits for its turn.
            group => {
                let rank = rank_of_new_message(tx, queue, group.as_deref())?;
                let sql = "UPDATE messages SET state = 1, rank = ?2 WHERE seq = ?1";
                tx.prepare_cached(sql)?.execute([seq, rank])?;
            }
        }
    }

    Ok(())
}

/// Restores the order of a group of a FIFO queue. Returns whether its head is ready.
pub(super) fn restore_group_order(
    tx: &Transaction<'_>,
    queue: i64,
    group: &str,
    now: i64,
) -> SqsResult<bool> {
    let sql = "SELECT seq, state, due_ms FROM messages WHERE queue = ?1 AND group_id = ?2 ORDER BY rank, seq LIMIT ?3";
    let front: Vec<(i64, i64, i64)> = tx
        .prepare_cached(sql)?
        .query_map(params![queue, group, MAX_TAKE], |row| {
            Ok((row.get(0)?, row.get(1)?, row.get(2)?))
        })?
        .collect::<Result<_, _>>()?;

    let is_blocked = front
        .iter()
        .any(|(_, state, due)| *state == STATE_WAITING && *due > now);
    for (index, (seq, state, due)) in front.into_iter().enumerate() {
        let is_head = index == 0 && !is_blocked;
        let new_state = match state {
            _ if is_head => {
                if due <= now {
                    STATE_READY
                } else {
                    STATE_WAITING
                }
            }
            STATE_WAITING if due > now => STATE_WAITING,
            _ => STATE_BEHIND,
        };
        if new_state != state {
            set_state(tx, seq, new_state)?;
        }
        if is_head && new_state == STATE_READY {
            return Ok(true);
        }
    }

    Ok(false)
}

fn set_state(tx: &Transaction<'_>, seq: i64, state: i64) -> SqsResult<()> {
    tx.prepare_cached("UPDATE messages SET state = ?2 WHERE seq = ?1")?
        .execute([seq, state])?;
    Ok(())
}
