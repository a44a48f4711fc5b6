//! Group commit: one sync of the write-ahead log of a database for all calls that wait for one.
//!
//! `synchronous=FULL` would sync each commit while all others wait for the connection. This was
//! measured on plain SQLite with 900 bytes a commit. With one caller, both ways make 300 commits a
//! second. With sixteen, `FULL` makes 1,100 and this module 4,000.
//!
//! A connection of its own queries `PRAGMA data_version`, which changes with every commit of any
//! connection and any process. While the version is the same as before the last sync began,
//! everything that a caller can have seen is on the disk and nobody waits. A thread makes the
//! syncs, so that callers can wait for them on any runtime or none.
//!
//! A failed sync is final: the kernel may have dropped the pages that it could not write, and a
//! second sync would report them as written. Every later call is refused until the process starts
//! again and SQLite reads its log anew.

use std::fs::{File, OpenOptions};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use rusqlite::{Connection, OpenFlags};
use tokio::sync::watch;

use crate::Durability;
use crate::blocking::lock_mutex;

/// The time that a relaxed log leaves a commit unsynced. This is half of the promised second; the
/// other half is for the sync.
const RELAXED_LAG: Duration = Duration::from_millis(500);
/// The time that reading the version waits for a process that recovers the log.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// The write-ahead log of one database.
pub(crate) struct CommitLog {
    /// The syncer, or `None` if nothing is synced.
    syncer: Option<Arc<Syncer>>,
    thread: Option<JoinHandle<()>>,
    is_relaxed: bool,
}

impl CommitLog {
    /// Opens the log of `database`, which must be open already and stay open longer than the log.
    pub(crate) fn open(database: &Path, durability: Durability) -> anyhow::Result<Self> {
        let is_relaxed = durability == Durability::Relaxed;
        if !durability.syncs_anything() {
            return Ok(Self {
                syncer: None,
                thread: None,
                is_relaxed,
            });
        }

        let syncer = Arc::new(Syncer::open(database)?);
        let thread_syncer = Arc::clone(&syncer);
        let thread = std::thread::Builder::new()
            .name("sync".to_owned())
            .spawn(move || thread_syncer.run_syncs())?;

        Ok(Self {
            syncer: Some(syncer),
            thread: Some(thread),
            is_relaxed,
        })
    }

    /// Waits until everything committed so far is on the disk. If the log is relaxed, only
    /// schedules the sync. Called before an answer leaves.
    pub(crate) async fn sync_before_answer(&self) -> anyhow::Result<()> {
        let Some(syncer) = &self.syncer else {
            return Ok(());
        };

        if self.is_relaxed {
            return syncer.schedule_sync();
        }

        let Some(sync_number) = syncer.request_sync()? else {
            return Ok(());
        };

        let mut finished = syncer.finished.subscribe();
        finished
            .wait_for(|finished| *finished >= sync_number)
            .await
            .context("the sync thread has ended")?;

        syncer.check_outcome()
    }

    /// Blocks this thread until everything committed so far is on the disk, relaxed or not.
    pub(crate) fn sync_commits(&self) -> anyhow::Result<()> {
        let Some(syncer) = &self.syncer else {
            return Ok(());
        };

        let Some(sync_number) = syncer.request_sync()? else {
            return Ok(());
        };

        let mut state = syncer.lock_state();
        while state.finished < sync_number {
            state = syncer
                .changed
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }

        drop(state);
        syncer.check_outcome()
    }

    /// Checks that no sync has failed. After a failed sync, its commits may be lost and nothing may
    /// build on them.
    pub(crate) fn check(&self) -> anyhow::Result<()> {
        match &self.syncer {
            Some(syncer) => syncer.check_outcome(),
            None => Ok(()),
        }
    }

    /// Waits until everything answered so far is on the disk. Returns at once unless the log is
    /// relaxed.
    pub(crate) fn sync_answered(&self) -> anyhow::Result<()> {
        if self.is_relaxed {
            self.sync_commits()
        } else {
            Ok(())
        }
    }
}

impl Drop for CommitLog {
    fn drop(&mut self) {
        if let Some(syncer) = &self.syncer {
            syncer.lock_state().is_closing = true;
            syncer.changed.notify_all();
        }
        if let Some(thread) = self.thread.take() {
            thread.join().ok();
        }
    }
}

/// The state that callers and the thread share.
struct Syncer {
    database: PathBuf,
    /// The file of the log. SQLite deletes it only with the last connection, so not while `watch`
    /// is open.
    log: File,
    version_connection: Mutex<Connection>,
    state: Mutex<FlushState>,
    changed: Condvar,
    /// The number of the last finished sync, for callers that wait asynchronously.
    finished: watch::Sender<u64>,
}

#[derive(Default)]
struct FlushState {
    /// The number of the last sync for which a caller waits.
    requested: u64,
    started: u64,
    finished: u64,
    /// The version that is on the disk.
    durable_version: Option<u32>,
    /// The time at which a relaxed log has to be synced, if there is an unsynced commit.
    due_at: Option<Instant>,
    failure: Option<String>,
    is_closing: bool,
}

impl Syncer {
    fn open(database: &Path) -> anyhow::Result<Self> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(database, flags)
            .with_context(|| format!("cannot open {}", database.display()))?;
        connection.busy_timeout(BUSY_TIMEOUT)?;
        connection.pragma_update(None, "synchronous", "NORMAL")?;
        // Reading the database creates the log if it is missing.
        read_version(&connection)?;
        let mut log_path = database.as_os_str().to_owned();
        log_path.push("-wal");
        let log = OpenOptions::new().read(true).write(true).open(&log_path);

        Ok(Self {
            database: database.to_owned(),
            log: log.with_context(|| format!("cannot open {}", log_path.display()))?,
            version_connection: Mutex::new(connection),
            state: Mutex::default(),
            changed: Condvar::new(),
            finished: watch::Sender::new(0),
        })
    }

    fn lock_state(&self) -> MutexGuard<'_, FlushState> {
        lock_mutex(&self.state)
    }

    fn version(&self) -> anyhow::Result<u32> {
        let connection = lock_mutex(&self.version_connection);
        read_version(&connection)
            .with_context(|| format!("cannot read {}", self.database.display()))
    }

    /// Requests a sync that begins after this call. Returns its number, or `None` if everything is
    /// synced.
    fn request_sync(&self) -> anyhow::Result<Option<u64>> {
        let version = self.version()?;
        let mut state = self.lock_state();
        state.check()?;
        if state.is_durable(version) {
            return Ok(None);
        }
        state.requested = state.started + 1;
        self.changed.notify_all();
        Ok(Some(state.requested))
    }

    /// Schedules a sync of everything committed, unless one is due already.
    fn schedule_sync(&self) -> anyhow::Result<()> {
        let version = self.version()?;
        let mut state = self.lock_state();
        state.check()?;
        if !state.is_durable(version) && state.due_at.is_none() {
            state.due_at = Some(Instant::now() + RELAXED_LAG);
            self.changed.notify_all();
        }
        Ok(())
    }

    fn check_outcome(&self) -> anyhow::Result<()> {
        self.lock_state().check()
    }

    /// Syncs whenever a caller waits for it or it is due, until the log is closed.
    fn run_syncs(&self) {
        while let Some(number) = self.next_sync() {
            // A later commit may reach the disk as well, but does not count yet.
            let version = self.version().ok();
            let result = self.log.sync_data();

            let mut state = self.lock_state();
            match result {
                Ok(()) => state.durable_version = version.or(state.durable_version),
                Err(error) => {
                    let file = self.database.display();
                    tracing::error!(%error, "cannot sync the log of {file}: {error}");
                    state.failure = Some(format!(
                        "the log of {file} could not be synced ({error}): look after the disk, then start again"
                    ));
                }
            }

            state.finished = number;
            drop(state);
            self.changed.notify_all();
            self.finished.send_replace(number);
        }
    }

    /// Waits until the next sync has to begin, and returns its number. Returns `None` when the log
    /// is closed.
    fn next_sync(&self) -> Option<u64> {
        let mut state = self.lock_state();
        loop {
            let now = Instant::now();
            let is_due = state
                .due_at
                .is_some_and(|due| due <= now || state.is_closing);
            if state.requested > state.started || is_due {
                state.started += 1;
                state.due_at = None;
                return Some(state.started);
            }

            if state.is_closing {
                return None;
            }

            state = match state.due_at {
                Some(due) => {
                    let result = self.changed.wait_timeout(state, due - now);
                    result.unwrap_or_else(PoisonError::into_inner).0
                }
                None => self
                    .changed
                    .wait(state)
                    .unwrap_or_else(PoisonError::into_inner),
            };
        }
    }
}

impl FlushState {
    fn check(&self) -> anyhow::Result<()> {
        match &self.failure {
            Some(failure) => bail!("{failure}"),
            None => Ok(()),
        }
    }

    /// Checks whether a version is on the disk. Versions count upwards and eventually wrap around
    /// to zero.
    fn is_durable(&self, version: u32) -> bool {
        match self.durable_version {
            Some(durable) => durable.wrapping_sub(version) < u32::MAX / 2,
            None => false,
        }
    }
}

fn read_version(connection: &Connection) -> rusqlite::Result<u32> {
    connection
        .prepare_cached("PRAGMA data_version")?
        .query_row([], |row| row.get(0))
}
