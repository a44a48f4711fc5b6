//! The state of a step in progress: what it knows, what it has read, and what it is going to write.

use std::collections::{HashMap, HashSet};

use domain::connection::{
    DocumentClaim, FolderWalk, ItemRecord, PendingRemoval, Run, Selection, SyncQueue,
    SyncQueueEntry, SyncState,
};
use domain::ports::{Connector, ConnectorError, ProviderAccess, ProviderItem};
use domain::{Connection, Error, PortError, Tenant, Timestamp};
use serde::de::DeserializeOwned;
use tokio::time::Instant;

use crate::context::StepContext;
use crate::decide::walks::{NewWalk, merge_walk};
use crate::item_filter::ItemFilter;
use crate::limits::LEASE_SECONDS;
use crate::queue::{self, FolderKey};
use crate::tick_writes::TickWrites;

/// The fewest rows of a page where the provider reports changes. They can all be examined
/// concurrently, and they suffice to tell a failing provider from failing items.
const MIN_ROWS: usize = 8;
/// The part of the rows that is read where the provider reports no changes. Its items are examined
/// one after another, with pauses.
const SLOW_ROWS_DIVISOR: usize = 50;

/// The reasons for which a tick ends without a commit.
#[derive(Debug)]
pub(crate) enum TickError {
    /// Another worker has continued the run.
    Fenced,
    /// A request to the provider failed.
    Provider(ConnectorError),
    /// The service is overloaded and has to catch up for this number of seconds.
    Pause(i64),
    /// The service itself failed.
    Ours(Error),
    /// The provider does not show an item, but does not report it as gone either.
    Withheld,
}

impl From<ConnectorError> for TickError {
    fn from(error: ConnectorError) -> Self {
        Self::Provider(error)
    }
}

impl From<PortError> for TickError {
    fn from(error: PortError) -> Self {
        Self::Ours(error.into())
    }
}

impl From<Error> for TickError {
    fn from(error: Error) -> Self {
        Self::Ours(error)
    }
}

/// The continuation after a tick.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TickFlow {
    /// Another tick follows.
    On,
    /// The run has reached its end.
    Ended,
}

/// The state of a step in progress.
pub(crate) struct StepState<'a> {
    pub(crate) context: &'a StepContext<'a>,
    pub(crate) tenant: &'a Tenant,
    pub(crate) connection: Connection,
    pub(crate) connector: &'a dyn Connector,
    pub(crate) access: ProviderAccess,
    pub(crate) selection: Selection,
    /// The ids of the selected items.
    pub(crate) selected_ids: HashSet<String>,
    pub(crate) filter: ItemFilter,
    pub(crate) state: SyncState,
    /// The state as it is stored.
    stored: SyncState,
    /// The writes of the tick.
    pub(crate) writes: TickWrites,
    /// The records that this tick has read, as they are stored.
    records: HashMap<String, Option<ItemRecord>>,
    /// The queue entries that this tick has read, as they are stored.
    queue_entries: HashMap<(SyncQueue, String), Option<String>>,
    /// The items as the provider showed them since the last page of changes was requested.
    pub(crate) lookups: HashMap<String, Option<ProviderItem>>,
    /// The items that the provider did not show, although it did not report them as gone.
    pub(crate) withheld_items: HashSet<String>,
    /// The number of items that this step has handled.
    pub(crate) handled_items: usize,
    /// `true` if items below a removed folder may be waiting to be removed.
    pub(crate) has_removals_below: bool,
    /// The queue key up to which this step has examined the documents to be removed.
    pub(crate) removal_position: Option<String>,
    /// The last feed for which this step has requested notifications.
    pub(crate) last_watched_feed: Option<String>,
    /// The name of the tokens that this step uses.
    pub(crate) tokens_name: Option<String>,
    /// `true` if this step has already renewed its access token.
    pub(crate) has_renewed_access: bool,
    began: Timestamp,
    began_at: Instant,
}

impl<'a> StepState<'a> {
    pub(crate) fn new(
        context: &'a StepContext<'a>,
        tenant: &'a Tenant,
        connection: Connection,
        connector: &'a dyn Connector,
        state: SyncState,
    ) -> Self {
        let access = ProviderAccess {
            token: None,
            metadata: connection.metadata.clone(),
        };

        Self {
            context,
            tenant,
            connection,
            connector,
            access,
            selection: Selection::default(),
            selected_ids: HashSet::new(),
            filter: ItemFilter::default(),
            stored: state.clone(),
            state,
            writes: TickWrites::default(),
            records: HashMap::new(),
            queue_entries: HashMap::new(),
            lookups: HashMap::new(),
            withheld_items: HashSet::new(),
            handled_items: 0,
            has_removals_below: true,
            removal_position: None,
            last_watched_feed: None,
            tokens_name: None,
            has_renewed_access: false,
            began: context.service.clock().now(),
            began_at: Instant::now(),
        }
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.context.service.clock().now()
    }

    /// Returns the time until which this step waits for answers of the provider.
    pub(crate) fn request_deadline(&self) -> Instant {
        self.began_at + self.context.limits.request_time
    }

    /// Returns the time until which this step begins to fetch a file. A fifth of the time for requests
    /// is left for the last one, which would otherwise be late and count as a failure.
    pub(crate) fn fetch_deadline(&self) -> Instant {
        self.request_deadline() - self.context.limits.request_time / 5
    }

    /// Returns the time at which this step is aborted.
    pub(crate) fn step_deadline(&self) -> Instant {
        self.began_at + self.context.limits.total_time
    }

    /// Checks whether it is too late to begin anything else in this step.
    pub(crate) fn is_late(&self) -> bool {
        let seconds = i64::try_from(self.context.limits.request_time.as_secs()).unwrap_or(i64::MAX);
        Instant::now() >= self.request_deadline() || self.now() >= self.began.plus_seconds(seconds)
    }

    /// Returns the number of rows to read if each of their items is examined. It is lower if
    /// lookups are slow, and after failed ticks.
    pub(crate) fn lookup_page_size(&self) -> usize {
        let rows = self.context.limits.rows;
        let (most, fewest) = if self.connector.reports_changes() {
            (rows, rows.min(MIN_ROWS))
        } else {
            (rows / SLOW_ROWS_DIVISOR, 1)
        };
        (most >> self.state.attempts.min(8)).max(fewest)
    }

    /// Returns the number of the current step, which is stored as `seen` in all items that the step
    /// sees.
    pub(crate) fn step_number(&self) -> u64 {
        self.state.step
    }

    /// Counts requests to the provider.
    pub(crate) fn count_requests(&mut self, requests: usize) {
        self.update_run(|run| run.requests += requests as u64);
    }

    pub(crate) fn update_run(&mut self, count: impl FnOnce(&mut Run)) {
        if let Some(run) = &mut self.state.run {
            count(run);
        }
    }

    pub(crate) fn run_number(&self) -> u64 {
        self.state.run.as_ref().map_or(0, |run| run.number)
    }

    /// Returns the time until which the holder of the lease may begin something that no commit can
    /// undo.
    pub(crate) fn irrevocable_deadline(&self) -> Timestamp {
        let lease_end = match self.state.leased_until {
            Some(until) => until,
            None => self.now().plus_seconds(LEASE_SECONDS),
        };
        lease_end.plus_seconds(-LEASE_SECONDS / 9)
    }

    /// Checks whether something may begin that no commit can undo.
    pub(crate) fn is_before_deadline(&self) -> bool {
        self.now() < self.irrevocable_deadline()
    }

    /// Changes the record of the connection, and returns the record or `None` if it no longer
    /// exists. `change` returns whether it changed anything, and may be called several times because
    /// of concurrent changes.
    pub(crate) async fn update_connection(
        &self,
        mut change: impl FnMut(&mut Connection) -> bool + Send,
    ) -> domain::Result<Option<Connection>> {
        let service = self.context.service;
        service::update_connection(
            service.connections(),
            service.clock(),
            self.tenant,
            &self.connection.id,
            |connection| Ok(change(connection)),
        )
        .await
    }

    /// Commits all writes of the tick together with the state, and extends the lease.
    pub(crate) async fn commit_tick(&mut self) -> Result<(), TickError> {
        self.state.leased_until = Some(self.now().plus_seconds(LEASE_SECONDS));
        self.store_state().await
    }

    /// Commits like [`Self::commit_tick`], but lets other workers continue from `from` on, or at
    /// once if that is `None`.
    pub(crate) async fn release_lease(&mut self, from: Option<Timestamp>) -> Result<(), TickError> {
        self.state.leased_until = from;
        self.store_state().await
    }

    async fn store_state(&mut self) -> Result<(), TickError> {
        self.state.step += 1;
        let writes = self.writes.ordered_writes();
        let sync = self.context.service.sync();
        if !sync
            .commit_step(self.tenant, &self.connection.id, &writes, &self.state)
            .await?
        {
            return Err(TickError::Fenced);
        }
        self.stored = self.state.clone();
        self.clear_reads();
        Ok(())
    }

    /// Discards what the tick has not committed. The requests stay counted.
    pub(crate) fn revert_tick(&mut self) {
        let requests = self.state.run.as_ref().map(|run| run.requests);
        self.state = self.stored.clone();
        if let (Some(run), Some(requests)) = (&mut self.state.run, requests) {
            run.requests = requests;
        }
        self.clear_reads();
    }

    /// Discards what the tick has not committed, and prepares the step to repeat the tick.
    pub(crate) fn restart_tick(&mut self) {
        self.revert_tick();
        self.clear_lookups();
        self.has_removals_below = true;
        self.removal_position = None;
    }

    fn clear_reads(&mut self) {
        self.writes = TickWrites::default();
        self.records.clear();
        self.queue_entries.clear();
    }

    /// Returns the claim of this connection on the document of an item.
    pub(crate) fn claim_of(&self, item: &str) -> DocumentClaim {
        DocumentClaim {
            connection: self.connection.id.clone(),
            item: item.to_owned(),
        }
    }

    /// Reads these records in one request for later calls of [`Self::current_record`].
    pub(crate) async fn load_records(&mut self, ids: &[String]) -> Result<(), TickError> {
        let mut missing: Vec<String> = ids
            .iter()
            .filter(|id| !self.records.contains_key(*id))
            .cloned()
            .collect();
        missing.sort();
        missing.dedup();
        if missing.is_empty() {
            return Ok(());
        }

        let sync = self.context.service.sync();
        let found = sync
            .get_items(self.tenant, &self.connection.id, &missing)
            .await?;
        self.records.extend(missing.into_iter().zip(found));

        Ok(())
    }

    /// Reads the queue entries with these keys in one request for later calls of
    /// [`Self::queue_entry`].
    pub(crate) async fn load_queue_entries(
        &mut self,
        queue: SyncQueue,
        keys: Vec<String>,
    ) -> Result<(), TickError> {
        let mut missing = keys;
        missing.retain(|key| !self.queue_entries.contains_key(&(queue, key.clone())));
        missing.sort();
        missing.dedup();
        if missing.is_empty() {
            return Ok(());
        }

        let sync = self.context.service.sync();
        let found = sync
            .get_queue_entries(self.tenant, &self.connection.id, queue, &missing)
            .await?;
        let found = found
            .into_iter()
            .map(|entry| entry.map(|entry| entry.value));
        self.queue_entries
            .extend(missing.into_iter().map(|key| (queue, key)).zip(found));

        Ok(())
    }

    /// Adds records that were read in another way, unless they are known already.
    pub(crate) fn add_known_records(&mut self, records: &[ItemRecord]) {
        for record in records {
            self.records
                .entry(record.id.clone())
                .or_insert_with(|| Some(record.clone()));
        }
    }

    /// Returns the record of an item as this tick leaves it.
    pub(crate) async fn current_record(
        &mut self,
        id: &str,
    ) -> Result<Option<ItemRecord>, TickError> {
        if let Some(touched) = self.writes.touched_record(id) {
            return Ok(touched.cloned());
        }
        self.load_records(&[id.to_owned()]).await?;
        Ok(self.records.get(id).cloned().flatten())
    }

    pub(crate) fn set_record(&mut self, id: &str, record: Option<ItemRecord>) {
        let stored = self.records.get(id).and_then(Option::as_ref);
        self.writes.set_record(id, stored, record);
        self.handled_items += 1;
    }

    /// Returns the value of the queue entry with this key as this tick leaves it.
    async fn queue_value<T: DeserializeOwned>(
        &mut self,
        queue: SyncQueue,
        key: &str,
    ) -> Result<Option<T>, TickError> {
        let value = if let Some(touched) = self.writes.touched_entry(queue, key) {
            touched.map(str::to_owned)
        } else {
            self.load_queue_entries(queue, vec![key.to_owned()]).await?;
            let place = (queue, key.to_owned());
            self.queue_entries.get(&place).cloned().flatten()
        };

        let Some(value) = value else {
            return Ok(None);
        };
        let key = key.to_owned();
        Ok(Some(queue::parse_value(&SyncQueueEntry { key, value })?))
    }

    /// Returns the entry of an item whose document waits to be removed.
    pub(crate) async fn pending_removal(
        &mut self,
        id: &str,
    ) -> Result<Option<PendingRemoval>, TickError> {
        self.queue_value(SyncQueue::Remove, id).await
    }

    /// Returns the first entries of a queue after the key `after`, as they are stored.
    pub(crate) async fn first_entries(
        &self,
        queue: SyncQueue,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<SyncQueueEntry>, TickError> {
        let sync = self.context.service.sync();
        Ok(sync
            .list_queue(self.tenant, &self.connection.id, queue, after, limit)
            .await?)
    }

    /// Enqueues a walk through a folder, unless a walk that is at least as recent is already waiting.
    pub(crate) async fn enqueue_walk(
        &mut self,
        folder: &str,
        drive: Option<&str>,
        walk: NewWalk,
    ) -> Result<(), TickError> {
        let key = FolderKey::Walk(folder.to_owned()).to_string();
        let waiting: Option<FolderWalk> = self.queue_value(SyncQueue::Walk, &key).await?;
        if let Some(entry) = merge_walk(waiting.as_ref(), drive, walk) {
            self.writes
                .enqueue(SyncQueue::Walk, key, queue::to_value(&entry)?);
        }

        Ok(())
    }

    /// Enqueues a new walk through a folder that has changed itself.
    pub(crate) async fn walk_again(&mut self, folder: &ProviderItem) -> Result<(), TickError> {
        let walk = NewWalk {
            stamp: self.step_number(),
            restarts_listing: true,
        };
        self.enqueue_walk(&folder.id, folder.drive.as_deref(), walk)
            .await
    }

    /// Enqueues the removal of a document.
    pub(crate) fn enqueue_removal(&mut self, removal: PendingRemoval) -> Result<(), TickError> {
        let id = removal.record.id.clone();
        let value = queue::to_value(&removal)?;
        self.writes.enqueue(SyncQueue::Remove, id, value);
        Ok(())
    }

    /// Schedules the removal of all records below a folder, which precedes all other work.
    pub(crate) fn enqueue_removal_below(
        &mut self,
        folder: &str,
        deselected: bool,
    ) -> Result<(), TickError> {
        let entry = FolderWalk {
            deselected,
            ..FolderWalk::default()
        };
        let key = FolderKey::RemoveBelow(folder.to_owned()).to_string();
        self.writes
            .enqueue(SyncQueue::Walk, key, queue::to_value(&entry)?);
        self.has_removals_below = true;
        Ok(())
    }
}
