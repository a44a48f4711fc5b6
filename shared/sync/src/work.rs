//! The state of a step in progress: what it knows, what it has read, and what it is going to write.

use std::collections::{HashMap, HashSet};

use domain::connection::{Leaving, Node, Queue, QueueEntry, Run, Selection, SyncState, WalkEntry};
use domain::ports::{Access, Connector, ConnectorError, Item};
use domain::{Connection, Error, PortError, Tenant, Timestamp};
use tokio::time::Instant;

use crate::batch::Batch;
use crate::keys;
use crate::limits::LEASE_SECONDS;
use crate::rules::Filter;
use crate::step::Tools;

/// The fewest rows of a page. They can all be examined concurrently, and they suffice to tell a
/// failing provider from failing items.
const FEWEST_ROWS: usize = 8;

/// The reasons for which a tick ends without a commit.
#[derive(Debug)]
pub(crate) enum Halt {
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

impl From<ConnectorError> for Halt {
    fn from(error: ConnectorError) -> Self {
        Self::Provider(error)
    }
}

impl From<PortError> for Halt {
    fn from(error: PortError) -> Self {
        Self::Ours(error.into())
    }
}

impl From<Error> for Halt {
    fn from(error: Error) -> Self {
        Self::Ours(error)
    }
}

/// The continuation after a tick.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Flow {
    /// Another tick follows.
    On,
    /// The run has reached its end.
    Ended,
}

pub(crate) struct Work<'a> {
    pub(crate) tools: &'a Tools<'a>,
    pub(crate) tenant: &'a Tenant,
    pub(crate) connection: Connection,
    pub(crate) connector: &'a dyn Connector,
    pub(crate) access: Access,
    pub(crate) selection: Selection,
    /// The ids of the selected items.
    pub(crate) selected: HashSet<String>,
    pub(crate) filter: Filter,
    pub(crate) state: SyncState,
    /// The state as it is stored.
    stored: SyncState,
    pub(crate) batch: Batch,
    /// The rows that this tick has read, as they are stored.
    nodes: HashMap<String, Option<Node>>,
    waiting: HashMap<(Queue, String), Option<String>>,
    /// The items as the provider showed them since the last page of changes was requested.
    pub(crate) looks: HashMap<String, Option<Item>>,
    /// The items that the provider did not show, although it did not report them as gone.
    pub(crate) withheld: HashSet<String>,
    /// The number of items that this step has handled.
    pub(crate) handled: usize,
    /// `true` if records may be waiting to be removed.
    pub(crate) dropping: bool,
    /// The queue key up to which this step has examined the documents to be removed.
    pub(crate) left: Option<String>,
    /// The last feed for which this step has requested notifications.
    pub(crate) watched: Option<String>,
    /// The name of the tokens that this step uses.
    pub(crate) secret: Option<String>,
    /// `true` if this step has already renewed its access token.
    pub(crate) renewed: bool,
    began: Timestamp,
    began_at: Instant,
}

impl<'a> Work<'a> {
    pub(crate) fn new(
        tools: &'a Tools<'a>,
        tenant: &'a Tenant,
        connection: Connection,
        connector: &'a dyn Connector,
        state: SyncState,
    ) -> Self {
        let access = Access {
            token: None,
            metadata: connection.metadata.clone(),
        };

        Self {
            tools,
            tenant,
            connection,
            connector,
            access,
            selection: Selection::default(),
            selected: HashSet::new(),
            filter: Filter::default(),
            stored: state.clone(),
            state,
            batch: Batch::default(),
            nodes: HashMap::new(),
            waiting: HashMap::new(),
            looks: HashMap::new(),
            withheld: HashSet::new(),
            handled: 0,
            dropping: true,
            left: None,
            watched: None,
            secret: None,
            renewed: false,
            began: tools.desk.now(),
            began_at: Instant::now(),
        }
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.tools.desk.now()
    }

    /// Returns the time until which this step waits for answers of the provider.
    pub(crate) fn asks_until(&self) -> Instant {
        self.began_at + self.tools.limits.asks_for
    }

    /// Returns the time at which this step is aborted.
    pub(crate) fn lasts_until(&self) -> Instant {
        self.began_at + self.tools.limits.lasts_for
    }

    /// Checks whether it is too late to begin anything else in this step.
    pub(crate) fn is_late(&self) -> bool {
        let seconds = i64::try_from(self.tools.limits.asks_for.as_secs()).unwrap_or(i64::MAX);
        Instant::now() >= self.asks_until() || self.now() >= self.began.plus_seconds(seconds)
    }

    /// Returns the number of rows to read if each of their items is examined. It is lower if
    /// lookups are slow, and after failed ticks.
    pub(crate) fn rows_to_look_at(&self) -> usize {
        let slow = if self.connector.has_changes() { 1 } else { 10 };
        let rows = self.tools.limits.rows;
        ((rows / slow) >> self.state.attempts.min(8)).max(rows.min(FEWEST_ROWS))
    }

    /// Returns the number of the current step, which is stored as `seen` in all items that the step
    /// sees.
    pub(crate) fn stamp(&self) -> u64 {
        self.state.step
    }

    /// Counts requests to the provider.
    pub(crate) fn asked(&mut self, requests: usize) {
        self.count(|run| run.requests += requests as u64);
    }

    pub(crate) fn count(&mut self, count: impl FnOnce(&mut Run)) {
        if let Some(run) = &mut self.state.run {
            count(run);
        }
    }

    pub(crate) fn run_number(&self) -> u64 {
        self.state.run.as_ref().map_or(0, |run| run.number)
    }

    /// Commits all writes of the tick together with the state, and extends the lease.
    pub(crate) async fn commit(&mut self) -> Result<(), Halt> {
        self.state.leased_until = Some(self.now().plus_seconds(LEASE_SECONDS));
        self.store().await
    }

    /// Commits like [`Self::commit`], but lets other workers continue from `from` on, or at once if
    /// that is `None`.
    pub(crate) async fn release(&mut self, from: Option<Timestamp>) -> Result<(), Halt> {
        self.state.leased_until = from;
        self.store().await
    }

    async fn store(&mut self) -> Result<(), Halt> {
        self.state.step += 1;
        let writes = self.batch.writes();
        let sync = self.tools.desk.sync();
        if !sync
            .commit(self.tenant, &self.connection.id, &writes, &self.state)
            .await?
        {
            return Err(Halt::Fenced);
        }
        self.stored = self.state.clone();
        self.forget_reads();
        Ok(())
    }

    /// Discards what the tick has not committed. The requests stay counted.
    pub(crate) fn revert(&mut self) {
        let requests = self.state.run.as_ref().map(|run| run.requests);
        self.state = self.stored.clone();
        if let (Some(run), Some(requests)) = (&mut self.state.run, requests) {
            run.requests = requests;
        }
        self.forget_reads();
    }

    /// Discards what the tick has not committed, and prepares the step to repeat the tick.
    pub(crate) fn start_over(&mut self) {
        self.revert();
        self.look_anew();
        self.dropping = true;
        self.left = None;
    }

    fn forget_reads(&mut self) {
        self.batch = Batch::default();
        self.nodes.clear();
        self.waiting.clear();
    }

    /// Reads these nodes in one request for later calls of [`Self::node`].
    pub(crate) async fn load(&mut self, ids: &[String]) -> Result<(), Halt> {
        let mut missing: Vec<String> = ids
            .iter()
            .filter(|id| !self.nodes.contains_key(*id))
            .cloned()
            .collect();
        missing.sort();
        missing.dedup();
        if missing.is_empty() {
            return Ok(());
        }

        let sync = self.tools.desk.sync();
        let found = sync
            .nodes(self.tenant, &self.connection.id, &missing)
            .await?;
        self.nodes.extend(missing.into_iter().zip(found));

        Ok(())
    }

    /// Reads the queue entries with these keys in one request for later calls of [`Self::waits`].
    pub(crate) async fn load_waits(&mut self, queue: Queue, keys: Vec<String>) -> Result<(), Halt> {
        let mut missing = keys;
        missing.retain(|key| !self.waiting.contains_key(&(queue, key.clone())));
        missing.sort();
        missing.dedup();
        if missing.is_empty() {
            return Ok(());
        }

        let sync = self.tools.desk.sync();
        let found = sync
            .waits(self.tenant, &self.connection.id, queue, &missing)
            .await?;
        let found = found
            .into_iter()
            .map(|entry| entry.map(|entry| entry.value));
        self.waiting
            .extend(missing.into_iter().map(|key| (queue, key)).zip(found));

        Ok(())
    }

    /// Adds nodes that were read in another way, unless they are known already.
    pub(crate) fn know(&mut self, nodes: &[Node]) {
        for node in nodes {
            self.nodes
                .entry(node.id.clone())
                .or_insert_with(|| Some(node.clone()));
        }
    }

    /// Returns the node of an item as this tick leaves it.
    pub(crate) async fn node(&mut self, id: &str) -> Result<Option<Node>, Halt> {
        if let Some(touched) = self.batch.node(id) {
            return Ok(touched.cloned());
        }
        self.load(&[id.to_owned()]).await?;
        Ok(self.nodes.get(id).cloned().flatten())
    }

    pub(crate) fn set(&mut self, id: &str, node: Option<Node>) {
        let stored = self.nodes.get(id).and_then(Option::as_ref);
        self.batch.set(id, stored, node);
        self.handled += 1;
    }

    /// Returns the queue entry with this key as this tick leaves it.
    pub(crate) async fn waits(&mut self, queue: Queue, key: &str) -> Result<Option<String>, Halt> {
        if let Some(touched) = self.batch.waits(queue, key) {
            return Ok(touched.map(str::to_owned));
        }
        self.load_waits(queue, vec![key.to_owned()]).await?;
        Ok(self
            .waiting
            .get(&(queue, key.to_owned()))
            .cloned()
            .flatten())
    }

    /// Returns the entry of an item whose document waits to be removed.
    pub(crate) async fn leaving(&mut self, id: &str) -> Result<Option<Leaving>, Halt> {
        let text = self.waits(Queue::Leave, id).await?;
        Ok(text.and_then(|text| serde_json::from_str(&text).ok()))
    }

    /// Returns the first entries of a queue after the key `after`, as they are stored.
    pub(crate) async fn first(
        &self,
        queue: Queue,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<QueueEntry>, Halt> {
        let sync = self.tools.desk.sync();
        Ok(sync
            .waiting(self.tenant, &self.connection.id, queue, after, limit)
            .await?)
    }

    /// Enqueues a walk through a folder. Does nothing if a walk that is at least as recent is
    /// already waiting, unless `afresh`: then the folder itself has changed, and its listing starts
    /// again.
    pub(crate) async fn walk(
        &mut self,
        folder: &str,
        drive: Option<&str>,
        stamp: u64,
        afresh: bool,
    ) -> Result<(), Halt> {
        let key = keys::walk_key(folder);
        let known: Option<WalkEntry> = self
            .waits(Queue::Walk, &key)
            .await?
            .map(|text| keys::read(&text));
        if known
            .as_ref()
            .is_some_and(|known| known.stamp >= stamp && !afresh)
        {
            return Ok(());
        }

        let stamp = known.map_or(stamp, |known| known.stamp.max(stamp));
        let entry = WalkEntry {
            drive: drive.map(str::to_owned),
            stamp,
            ..WalkEntry::default()
        };

        self.batch.enqueue(Queue::Walk, key, keys::text(&entry));
        Ok(())
    }

    /// Schedules the removal of all records below a folder, which precedes all other work.
    pub(crate) fn drop_below(&mut self, folder: &str, deselected: bool) {
        let entry = WalkEntry {
            deselected,
            ..WalkEntry::default()
        };
        self.batch
            .enqueue(Queue::Walk, keys::drop_key(folder), keys::text(&entry));
        self.dropping = true;
    }
}
