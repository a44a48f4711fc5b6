//! A store of records in memory, whose commits may be interrupted after any of their writes.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard};

use async_trait::async_trait;
use domain::connection::{
    Connection, DocumentClaim, Grant, ItemRecord, Run, Selection, SyncQueue, SyncQueueEntry,
    SyncState,
};
use domain::ports::{PortResult, SyncStore, SyncWrite};
use domain::{ConnectionId, DocumentId, GrantId, PortError, Tenant};
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};

/// The stored records of a connection.
#[derive(Debug, Default, Clone)]
pub(super) struct ConnectionRows {
    pub(super) state: SyncState,
    pub(super) selection: Selection,
    pub(super) records: BTreeMap<String, ItemRecord>,
    pub(super) queues: BTreeMap<(SyncQueue, String), String>,
    pub(super) runs: BTreeMap<u64, Run>,
}

#[derive(Default)]
pub(super) struct MemoryRecords {
    pub(super) connections: BTreeMap<ConnectionId, Connection>,
    pub(super) grants: BTreeMap<GrantId, Grant>,
    pub(super) claims: BTreeMap<DocumentId, Vec<DocumentClaim>>,
    pub(super) rows: BTreeMap<ConnectionId, ConnectionRows>,
    /// `true` if the process has died. All calls fail until it is reset.
    pub(super) dead: bool,
    /// The largest number of rows that one call has read.
    pub(super) most_read: usize,
}

/// A store that fails with the probability `crashes`.
pub(super) struct MemoryStore {
    records: Mutex<MemoryRecords>,
    rng: Mutex<SmallRng>,
    pub(super) crashes: Mutex<f64>,
}

fn crashed_error() -> PortError {
    PortError::Unavailable("the process has died".into())
}

impl MemoryStore {
    pub(super) fn new(seed: u64) -> Self {
        let rng = Mutex::new(SmallRng::seed_from_u64(seed ^ 0x5eed));
        Self {
            records: Mutex::default(),
            rng,
            crashes: Mutex::new(0.0),
        }
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, MemoryRecords> {
        self.records.lock().unwrap()
    }

    /// Crashes with the probability `crashes`.
    pub(super) fn maybe_crash(&self) -> PortResult<()> {
        if self.lock().dead {
            return Err(crashed_error());
        }
        let rate = *self.crashes.lock().unwrap();
        if rate > 0.0 && self.rng.lock().unwrap().random_bool(rate) {
            self.lock().dead = true;
            return Err(crashed_error());
        }
        Ok(())
    }

    pub(super) fn live_records(&self) -> PortResult<MutexGuard<'_, MemoryRecords>> {
        let records = self.lock();
        if records.dead {
            Err(crashed_error())
        } else {
            Ok(records)
        }
    }

    fn crash_position(&self, writes: usize) -> usize {
        self.rng.lock().unwrap().random_range(0..=writes)
    }
}

fn apply_write(rows: &mut ConnectionRows, write: &SyncWrite) {
    match write {
        SyncWrite::PutItem(record, _) => {
            rows.records.insert(record.id.clone(), (**record).clone());
        }
        SyncWrite::DeleteItem(record) => {
            rows.records.remove(&record.id);
        }
        SyncWrite::Enqueue(queue, entry) => {
            rows.queues
                .insert((*queue, entry.key.clone()), entry.value.clone());
        }
        SyncWrite::Dequeue(queue, key) => {
            rows.queues.remove(&(*queue, key.clone()));
        }
        SyncWrite::PutRun(run) => {
            rows.runs.insert(run.number, (**run).clone());
        }
    }
}

#[async_trait]
impl SyncStore for MemoryStore {
    async fn get_state(&self, _: &Tenant, of: &ConnectionId) -> PortResult<SyncState> {
        Ok(self
            .live_records()?
            .rows
            .entry(of.clone())
            .or_default()
            .state
            .clone())
    }

    async fn get_selection(&self, _: &Tenant, of: &ConnectionId) -> PortResult<Selection> {
        Ok(self
            .live_records()?
            .rows
            .entry(of.clone())
            .or_default()
            .selection
            .clone())
    }

    async fn save_selection(
        &self,
        _: &Tenant,
        of: &ConnectionId,
        selection: &Selection,
    ) -> PortResult<bool> {
        let mut records = self.live_records()?;
        let rows = records.rows.entry(of.clone()).or_default();
        let first = rows.selection.rev + 1 == selection.rev;
        if first {
            rows.selection = selection.clone();
        }
        Ok(first)
    }

    async fn get_items(
        &self,
        _: &Tenant,
        of: &ConnectionId,
        ids: &[String],
    ) -> PortResult<Vec<Option<ItemRecord>>> {
        let mut records = self.live_records()?;
        let rows = records.rows.entry(of.clone()).or_default();
        Ok(ids.iter().map(|id| rows.records.get(id).cloned()).collect())
    }

    async fn list_items(
        &self,
        _: &Tenant,
        of: &ConnectionId,
        after: Option<&str>,
        limit: usize,
    ) -> PortResult<Vec<ItemRecord>> {
        let mut records = self.live_records()?;
        records.most_read = records.most_read.max(limit);
        let records = &records.rows.entry(of.clone()).or_default().records;
        let after = after.unwrap_or_default().to_owned();

        Ok(records
            .range(after.clone()..)
            .filter(|(id, _)| **id > after)
            .take(limit)
            .map(|(_, n)| n.clone())
            .collect())
    }

    async fn list_children(
        &self,
        _: &Tenant,
        of: &ConnectionId,
        folder: &str,
        after: Option<&str>,
        limit: usize,
    ) -> PortResult<(Vec<ItemRecord>, Option<String>)> {
        let mut records = self.live_records()?;
        records.most_read = records.most_read.max(limit);
        let records = &records.rows.entry(of.clone()).or_default().records;
        let inside = records
            .values()
            .filter(|record| record.parent.as_deref() == Some(folder));
        let found: Vec<ItemRecord> = inside
            .filter(|record| after.is_none_or(|after| *record.id > *after))
            .take(limit)
            .cloned()
            .collect();
        let next = found
            .last()
            .filter(|_| found.len() == limit)
            .map(|record| record.id.clone());

        Ok((found, next))
    }

    async fn list_shortcuts(
        &self,
        _: &Tenant,
        of: &ConnectionId,
        target: &str,
        limit: usize,
    ) -> PortResult<Vec<ItemRecord>> {
        let mut records = self.live_records()?;
        let records = &records.rows.entry(of.clone()).or_default().records;
        let found = records
            .values()
            .filter(|record| record.target.as_deref() == Some(target));
        Ok(found.take(limit).cloned().collect())
    }

    async fn list_queue(
        &self,
        _: &Tenant,
        of: &ConnectionId,
        queue: SyncQueue,
        after: Option<&str>,
        limit: usize,
    ) -> PortResult<Vec<SyncQueueEntry>> {
        let mut records = self.live_records()?;
        records.most_read = records.most_read.max(limit);
        let queues = &records.rows.entry(of.clone()).or_default().queues;
        let after = after.unwrap_or_default().to_owned();
        let of_queue = queues
            .range((queue, after.clone())..)
            .take_while(|((of, _), _)| *of == queue);
        let entry = |((_, key), value): (&(SyncQueue, String), &String)| SyncQueueEntry {
            key: key.clone(),
            value: value.clone(),
        };

        Ok(of_queue
            .filter(|((_, key), _)| *key > after)
            .take(limit)
            .map(entry)
            .collect())
    }

    async fn get_queue_entries(
        &self,
        _: &Tenant,
        of: &ConnectionId,
        queue: SyncQueue,
        keys: &[String],
    ) -> PortResult<Vec<Option<SyncQueueEntry>>> {
        let mut records = self.live_records()?;
        let queues = &records.rows.entry(of.clone()).or_default().queues;
        let entry = |key: &String| {
            let value = queues.get(&(queue, key.clone()))?.clone();
            Some(SyncQueueEntry {
                key: key.clone(),
                value,
            })
        };

        Ok(keys.iter().map(entry).collect())
    }

    async fn commit_step(
        &self,
        _: &Tenant,
        of: &ConnectionId,
        writes: &[SyncWrite],
        next: &SyncState,
    ) -> PortResult<bool> {
        let died = self.maybe_crash().is_err();
        let mut records = self.lock();
        let rows = records.rows.entry(of.clone()).or_default();
        if rows.state.step + 1 != next.step {
            return if died {
                Err(crashed_error())
            } else {
                Ok(false)
            };
        }

        // There is one position more than there are writes: then everything is stored, and only the
        // answer is lost.
        let made = if died {
            self.crash_position(writes.len() + 1)
        } else {
            writes.len() + 1
        };

        for write in writes.iter().take(made) {
            apply_write(rows, write);
        }

        if made > writes.len() {
            rows.state = next.clone();
        }

        if died { Err(crashed_error()) } else { Ok(true) }
    }

    async fn list_runs(&self, _: &Tenant, of: &ConnectionId, limit: usize) -> PortResult<Vec<Run>> {
        let mut records = self.live_records()?;
        let runs = &records.rows.entry(of.clone()).or_default().runs;
        Ok(runs.values().rev().take(limit).cloned().collect())
    }

    async fn erase_records(&self, _: &Tenant, of: &ConnectionId, _: usize) -> PortResult<bool> {
        self.maybe_crash()?;
        self.lock().rows.remove(of);
        Ok(false)
    }
}
