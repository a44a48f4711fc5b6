//! The files with the bytes, and the transactions of the index that give them a use.
//!
//! A file is on the list `garbage` from before it is written until the transaction that makes an object or a part of
//! it, and again from the transaction that removes its last use until it is deleted. Whatever dies in between, the
//! list still has it, and the next sweep removes it. All of this is on the disk in that order: see [`crate::Durability`].
//! Names are put on the list some at a time, so that a new file waits for no sync of it.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use anyhow::Context;
use rusqlite::{Connection, params};
use s3s::{S3Error, S3ErrorCode, S3Result, s3_error};

use super::index::{Change, SCHEMA, Stored, find, require_bucket, strings};
use super::verify;
use crate::clock::Clock;
use crate::folder::{self, Folder, sync_folder};
use crate::log::Log;
use crate::sqs::Sqs;
use crate::{Durability, sqlite};

/// A file that has been on the way for longer was left by a process that died.
const ABANDONED_WRITE_MS: i64 = 60 * 60 * 1000;
/// An upload in parts that is older was forgotten (what a life-cycle rule of the bucket does on AWS).
const ABANDONED_UPLOAD_MS: i64 = 7 * 24 * 60 * 60 * 1000;
/// How many names are put on the list at a time: few enough to be nothing when a process dies with them.
const RESERVED_NAMES: usize = 64;
/// How long they are used: long before they count as abandoned.
const RESERVED_MS: i64 = 10 * 60 * 1000;
/// How many deleted files stay on the list at most, because taking them from it costs a sync of their folders.
const MAX_DELETED: usize = 1024;

pub(super) struct Store {
    connection: Mutex<Connection>,
    /// What takes the index to the disk.
    pub(super) log: Log,
    /// The log of the items that name objects.
    records: Arc<Log>,
    /// Whom buckets may tell about new objects.
    pub(super) queues: Arc<Sqs>,
    files: Files,
    clock: Clock,
    reserved: Mutex<Reserved>,
    /// Deleted files that are still on the list.
    deleted: Mutex<Vec<String>>,
}

/// Names of files to come, on the list `garbage` already.
#[derive(Default)]
struct Reserved {
    names: Vec<String>,
    since_ms: i64,
}

impl Store {
    pub(super) fn open(
        folder: &Folder,
        durability: Durability,
        clock: Clock,
        queues: Arc<Sqs>,
        records: Arc<Log>,
    ) -> anyhow::Result<Self> {
        let index = folder.file(folder::S3_INDEX);
        let store = Self {
            connection: Mutex::new(sqlite::open(&index, SCHEMA)?),
            log: Log::open(&index, durability.of_bytes())?,
            records,
            queues,
            files: Files::new(folder.s3().join("blobs"), durability),
            clock,
            reserved: Mutex::default(),
            deleted: Mutex::default(),
        };

        store.collect_garbage()?;
        Ok(store)
    }

    /// Milliseconds since 1970.
    pub(super) fn now(&self) -> i64 {
        i64::try_from((self.clock)()).unwrap_or(i64::MAX)
    }

    /// The index, for reading. A panic elsewhere rolled its transaction back, so poison means nothing.
    pub(super) fn read(&self) -> MutexGuard<'_, Connection> {
        self.connection
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs `work` in a transaction that is committed and on the disk when it succeeds, then deletes the files it discarded.
    pub(super) fn write<T>(&self, work: impl FnOnce(&Change<'_>) -> S3Result<T>) -> S3Result<T> {
        // After a sync that failed, nobody knows which file the index on the disk names.
        self.log.check().map_err(internal)?;
        let mut connection = self.read();
        let transaction = sqlite::write(&mut connection).map_err(S3Error::internal_error)?;
        let change = Change::new(&transaction);
        let result = work(&change)?;
        let discarded = change.into_discarded();
        if !discarded.is_empty() {
            // Records and messages on the disk may still name these bytes.
            self.records
                .settle_answered()
                .and_then(|()| self.queues.log.settle_answered())
                .map_err(internal)?;
        }

        transaction.commit().map_err(S3Error::internal_error)?;
        drop(connection);
        self.log.settle().map_err(internal)?;
        if let Err(error) = self.delete(discarded) {
            // What was asked for is done; the next sweep tries again.
            tracing::warn!(%error, "could not delete files of replaced or deleted objects: {error}");
        }

        Ok(result)
    }

    /// Creates a new file, on the list of garbage until [`Change::adopt`], and lets `fill` write it. It is on the disk then.
    pub(super) fn create(
        &self,
        fill: impl FnOnce(&mut File) -> io::Result<()>,
    ) -> S3Result<String> {
        let name = self.reserve()?;
        let created = self.files.create(&name, fill);
        if created.is_err() {
            // The disk may be full: what there is of it is of no use. The list has it until the next sweep.
            fs::remove_file(self.path(&name)).ok();
        }
        created.map_err(S3Error::internal_error)?;
        Ok(name)
    }

    /// A name that is on the list of garbage, on the disk.
    fn reserve(&self) -> S3Result<String> {
        let now = self.now();
        let mut reserved = self.reserved.lock().unwrap_or_else(PoisonError::into_inner);
        let is_fresh = (reserved.since_ms..reserved.since_ms + RESERVED_MS).contains(&now);
        if is_fresh && let Some(name) = reserved.names.pop() {
            return Ok(name);
        }

        let mut names: Vec<String> = (0..RESERVED_NAMES)
            .map(|_| format!("{:032x}", rand::random::<u128>()))
            .collect();
        self.write(|change| {
            let sql = "INSERT INTO garbage (file, since_ms) VALUES (?1, ?2)";
            names
                .iter()
                .try_for_each(|name| change.run(sql, params![name, now]))
        })?;

        let name = names.pop().unwrap_or_default();
        *reserved = Reserved {
            names,
            since_ms: now,
        };

        Ok(name)
    }

    /// [`Store::create`] with bytes.
    pub(super) fn create_with(&self, bytes: &[u8]) -> S3Result<String> {
        self.create(|file| file.write_all(bytes))
    }

    /// Where the file `name` lies.
    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.files.path(name)
    }

    /// The object and a range of its bytes, which `wanted` chooses once it has seen the object. When the object is
    /// replaced meanwhile, the new one.
    pub(super) fn load(
        &self,
        bucket: &str,
        key: &str,
        wanted: impl Fn(&Stored) -> S3Result<Range<u64>>,
    ) -> S3Result<(Stored, Vec<u8>)> {
        loop {
            let stored = self.object(bucket, key)?;
            let range = wanted(&stored)?;
            match verify::read_range(&self.path(&stored.file), &stored, range) {
                Ok(bytes) => return Ok((stored, bytes)),
                Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                    return Err(verify::damaged(key));
                }
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    // Replaced or deleted between the two steps; if not, the file is really lost.
                    let still = find(&self.read(), bucket, key)?;
                    if still.is_some_and(|still| still.file == stored.file) {
                        return Err(verify::damaged(key));
                    }
                }
                Err(error) => return Err(S3Error::internal_error(error)),
            }
        }
    }

    /// The object, or `NoSuchBucket`, or `NoSuchKey`.
    pub(super) fn object(&self, bucket: &str, key: &str) -> S3Result<Stored> {
        let index = self.read();
        if let Some(stored) = find(&index, bucket, key)? {
            return Ok(stored);
        }
        require_bucket(&index, bucket)?;
        Err(s3_error!(NoSuchKey))
    }

    /// Deletes files without a use, and forgets old uploads.
    pub(super) fn collect_garbage(&self) -> anyhow::Result<()> {
        let now = self.now();
        self.write(|change| {
            let sql = "SELECT id FROM uploads WHERE started_ms <= ?1";
            for id in strings(change.tx, sql, [now - ABANDONED_UPLOAD_MS])? {
                change.forget_upload(&id)?;
            }
            Ok(())
        })
        .map_err(|error| anyhow::anyhow!("cannot forget old uploads: {error}"))?;
        let sql = "SELECT file FROM garbage WHERE since_ms <= ?1";
        let files = strings(&self.read(), sql, [now - ABANDONED_WRITE_MS])?;
        self.files.delete(&files).context("cannot delete files")?;

        self.unlist(&files)
            .map_err(|error| anyhow::anyhow!("cannot forget deleted files: {error}"))
    }

    /// Deletes files that have no use any more.
    fn delete(&self, files: Vec<String>) -> anyhow::Result<()> {
        self.files.delete(&files)?;
        let many = {
            let mut deleted = self.deleted.lock().unwrap_or_else(PoisonError::into_inner);
            deleted.extend(files);
            if deleted.len() < MAX_DELETED {
                Vec::new()
            } else {
                std::mem::take(&mut *deleted)
            }
        };
        self.unlist(&many)
            .map_err(|error| anyhow::anyhow!("{error}"))
    }

    /// Takes deleted files from the list of garbage, once a power cut cannot bring them back.
    fn unlist(&self, files: &[String]) -> S3Result<()> {
        if files.is_empty() {
            return Ok(());
        }
        self.files
            .sync_folders(files)
            .map_err(S3Error::internal_error)?;
        self.write(|change| files.iter().try_for_each(|file| change.adopt(file)))
    }
}

/// The folder of the files.
struct Files {
    folder: PathBuf,
    syncs: bool,
    /// The shelves that are there, on the disk.
    shelves: Mutex<BTreeSet<PathBuf>>,
}

impl Files {
    fn new(folder: PathBuf, durability: Durability) -> Self {
        Self {
            folder,
            syncs: durability.syncs(),
            shelves: Mutex::default(),
        }
    }

    /// Where the file `name` lies: on a shelf by its first two letters, so that no folder gets too large.
    fn path(&self, name: &str) -> PathBuf {
        self.shelf(name).join(name)
    }

    fn shelf(&self, name: &str) -> PathBuf {
        self.folder.join(&name[..2])
    }

    /// Creates a file and puts it on the disk: its bytes, then its name.
    fn create(&self, name: &str, fill: impl FnOnce(&mut File) -> io::Result<()>) -> io::Result<()> {
        let shelf = self.shelf(name);
        self.make(&shelf)?;
        let mut file = folder::private_options()
            .create_new(true)
            .open(shelf.join(name))?;
        fill(&mut file)?;
        if self.syncs {
            file.sync_data()?;
            sync_folder(&shelf)?;
        }
        Ok(())
    }

    /// Makes a shelf. One that another process made may not be on the disk yet.
    fn make(&self, shelf: &Path) -> io::Result<()> {
        let mut shelves = self.shelves.lock().unwrap_or_else(PoisonError::into_inner);
        if shelves.contains(shelf) {
            return Ok(());
        }
        folder::create_private(shelf)?;
        if self.syncs {
            sync_folder(&self.folder)?;
        }
        shelves.insert(shelf.to_owned());
        Ok(())
    }

    fn delete(&self, names: &[String]) -> io::Result<()> {
        for name in names {
            match fs::remove_file(self.path(name)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        Ok(())
    }

    /// Puts on the disk that these files are not there.
    fn sync_folders(&self, names: &[String]) -> io::Result<()> {
        if !self.syncs {
            return Ok(());
        }
        let shelves: BTreeSet<PathBuf> = names.iter().map(|name| self.shelf(name)).collect();
        for shelf in shelves {
            match sync_folder(&shelf) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        Ok(())
    }
}

fn internal(error: anyhow::Error) -> S3Error {
    S3Error::with_source(S3ErrorCode::InternalError, error.into())
}
