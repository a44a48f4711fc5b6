//! The writes of a tick, which later parts of the same tick already see.

use std::collections::BTreeMap;

use domain::connection::{ItemRecord, Run, SyncQueue, SyncQueueEntry};
use domain::ports::SyncWrite;

/// The collected writes of a tick.
#[derive(Debug, Default)]
pub(crate) struct TickWrites {
    /// The records by id: each as it is stored, and as it is to be stored.
    records: BTreeMap<String, (Option<ItemRecord>, Option<ItemRecord>)>,
    /// The queue entries to write, or to remove if `None`.
    queue_writes: BTreeMap<(SyncQueue, String), Option<String>>,
    /// The same for entries whose work this tick has partly done. They are written last, so that a
    /// crash skips none of their work.
    late_queue_writes: BTreeMap<(SyncQueue, String), Option<String>>,
    run: Option<Run>,
}

impl TickWrites {
    pub(crate) fn len(&self) -> usize {
        self.records.len() + self.queue_writes.len()
    }

    /// Returns the record as this tick leaves it, or `None` if the tick has not touched it.
    pub(crate) fn touched_record(&self, id: &str) -> Option<Option<&ItemRecord>> {
        self.records.get(id).map(|(_, now)| now.as_ref())
    }

    /// Returns the queue entry as this tick leaves it, or `None` if the tick has not touched it.
    pub(crate) fn touched_entry(&self, queue: SyncQueue, key: &str) -> Option<Option<&str>> {
        self.queue_writes
            .get(&(queue, key.to_owned()))
            .map(|value| value.as_deref())
    }

    /// Stores a record, or removes it if `record` is `None`. `stored` is the record before this tick.
    pub(crate) fn set_record(
        &mut self,
        id: &str,
        stored: Option<&ItemRecord>,
        record: Option<ItemRecord>,
    ) {
        let entry = self
            .records
            .entry(id.to_owned())
            .or_insert_with(|| (stored.cloned(), None));
        entry.1 = record;
    }

    pub(crate) fn enqueue(&mut self, queue: SyncQueue, key: String, value: String) {
        self.queue_writes.insert((queue, key), Some(value));
    }

    pub(crate) fn dequeue(&mut self, queue: SyncQueue, key: String) {
        self.queue_writes.insert((queue, key), None);
    }

    /// Replaces the entry with this key by `value`, or removes it because its work is done. If the
    /// same tick enqueues the same key again, the new entry wins.
    pub(crate) fn replace_entry(&mut self, queue: SyncQueue, key: String, value: Option<String>) {
        self.late_queue_writes.insert((queue, key), value);
    }

    pub(crate) fn set_run(&mut self, run: Run) {
        self.run = Some(run);
    }

    /// Returns the writes in an order in which they may be interrupted anywhere and repeated: an
    /// entry for pending work is written before the record that makes the work look done, and a
    /// document is recorded in its new place before it is removed from the old one.
    pub(crate) fn ordered_writes(&self) -> Vec<SyncWrite> {
        let mut writes = Vec::with_capacity(self.len() + self.late_queue_writes.len() + 1);
        let entry = |key: &str, value: &str| SyncQueueEntry {
            key: key.to_owned(),
            value: value.to_owned(),
        };

        for ((queue, key), value) in &self.queue_writes {
            writes.extend(
                value
                    .as_ref()
                    .map(|value| SyncWrite::Enqueue(*queue, entry(key, value))),
            );
        }

        for (stored, now) in self.records.values() {
            if let Some(now) = now.as_ref().filter(|_| now != stored) {
                writes.push(SyncWrite::PutItem(
                    Box::new(now.clone()),
                    stored.clone().map(Box::new),
                ));
            }
        }

        for (stored, _) in self.records.values().filter(|(_, now)| now.is_none()) {
            writes.extend(
                stored
                    .clone()
                    .map(|stored| SyncWrite::DeleteItem(Box::new(stored))),
            );
        }

        for ((queue, key), _) in self
            .queue_writes
            .iter()
            .filter(|(_, value)| value.is_none())
        {
            writes.push(SyncWrite::Dequeue(*queue, key.clone()));
        }

        for (place, value) in self
            .late_queue_writes
            .iter()
            .filter(|(place, _)| !self.queue_writes.contains_key(place))
        {
            writes.push(match value {
                Some(value) => SyncWrite::Enqueue(place.0, entry(&place.1, value)),
                None => SyncWrite::Dequeue(place.0, place.1.clone()),
            });
        }

        writes.extend(self.run.clone().map(|run| SyncWrite::PutRun(Box::new(run))));
        writes
    }
}
