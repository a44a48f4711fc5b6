//! The files with the bytes, and the transactions of the index that refer to them.
//!
//! A file is in the table `garbage` from before it is written until the transaction that makes an
//! object or a part of it. It is there again from the transaction that removes its last use until
//! it is deleted. If the process dies in between, the file is still in the table, and the next
//! sweep removes it. All of this reaches the disk in that order: see [`crate::Durability`]. Names
//! are put into the table in batches, so that a new file does not wait for a sync of its own.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};

use anyhow::Context;
use rusqlite::{Connection, params};
use s3s::{S3Error, S3ErrorCode, S3Result, s3_error};

use super::index::{
    IndexTransaction, SCHEMA, StoredObject, find_object, query_strings, require_bucket,
};
use super::verify::{self, VerifiedFiles};
use crate::blocking::lock_mutex;
use crate::clock::Clock;
use crate::folder::{self, DataFolder, sync_folder};
use crate::log::CommitLog;
use crate::sqs::Sqs;
use crate::{Durability, sqlite};

/// The age, in milliseconds, from which an unfinished file is abandoned: its process has died.
const ABANDONED_WRITE_MS: i64 = 60 * 60 * 1000;
/// The age, in milliseconds, from which an unfinished multipart upload is abandoned. On AWS, a
/// life-cycle rule of the bucket does this.
const ABANDONED_UPLOAD_MS: i64 = 7 * 24 * 60 * 60 * 1000;
/// The number of names that are put into the table at a time. They are few enough not to matter
/// when a process dies with them.
const RESERVED_NAMES: usize = 64;
/// The time, in milliseconds, for which reserved names are used. It ends long before they count as
/// abandoned.
const RESERVED_MS: i64 = 10 * 60 * 1000;
/// The most deleted files that stay in the table, because removing them from it costs a sync of
/// their folders.
const MAX_LISTED_DELETIONS: usize = 1024;

pub(super) struct ObjectStore {
    connection: Mutex<Connection>,
    /// The write-ahead log of the index.
    pub(super) log: CommitLog,
    /// The log of the items that name objects.
    records_log: Arc<CommitLog>,
    /// The queues that buckets may notify of new objects.
    pub(super) queues: Arc<Sqs>,
    files: BlobFiles,
    clock: Clock,
    reserved_names: Mutex<ReservedNames>,
    /// Deleted files that are still in the table.
    deleted_files: Mutex<Vec<String>>,
    verified: VerifiedFiles,
}

/// Names of future files, which are already in the table `garbage`.
#[derive(Default)]
struct ReservedNames {
    names: Vec<String>,
    since_ms: i64,
}

impl ObjectStore {
    pub(super) fn open(
        folder: &DataFolder,
        durability: Durability,
        clock: Clock,
        queues: Arc<Sqs>,
        records_log: Arc<CommitLog>,
    ) -> anyhow::Result<Self> {
        let index = folder.file_path(folder::S3_INDEX);
        let store = Self {
            connection: Mutex::new(sqlite::open_database(&index, SCHEMA)?),
            log: CommitLog::open(&index, durability.for_bytes())?,
            records_log,
            queues,
            files: BlobFiles::new(folder.s3_path().join("blobs"), durability),
            clock,
            reserved_names: Mutex::default(),
            deleted_files: Mutex::default(),
            verified: VerifiedFiles::default(),
        };

        store.collect_garbage()?;
        Ok(store)
    }

    /// Returns the time in milliseconds since 1970.
    pub(super) fn now(&self) -> i64 {
        i64::try_from((self.clock)()).unwrap_or(i64::MAX)
    }

    /// Locks the index for reading. A panic while the lock was held rolled its transaction back, so
    /// a poisoned lock is harmless.
    pub(super) fn lock_index(&self) -> MutexGuard<'_, Connection> {
        lock_mutex(&self.connection)
    }

    /// Runs `work` in a transaction. If it succeeds, commits and syncs the transaction, and then
    /// deletes the files that it discarded.
    pub(super) fn write_index<T>(
        &self,
        work: impl FnOnce(&IndexTransaction<'_>) -> S3Result<T>,
    ) -> S3Result<T> {
        // After a failed sync it is unknown which file the index on the disk names.
        self.log.check().map_err(internal_error)?;
        let mut connection = self.lock_index();
        let transaction = sqlite::begin_write(&mut connection).map_err(S3Error::internal_error)?;
        let index_transaction = IndexTransaction::new(&transaction);
        let result = work(&index_transaction)?;
        let discarded = index_transaction.into_discarded();
        if !discarded.is_empty() {
            // Records and messages on the disk may still name these bytes.
            self.records_log.sync_answered().map_err(internal_error)?;
            self.queues.log.sync_answered().map_err(internal_error)?;
        }

        transaction.commit().map_err(S3Error::internal_error)?;
        drop(connection);
        self.log.sync_commits().map_err(internal_error)?;
        if let Err(error) = self.delete(discarded) {
            // The transaction is complete, and the next sweep tries again.
            tracing::warn!(%error, "could not delete files of replaced or deleted objects: {error}");
        }

        Ok(result)
    }

    /// Creates a new file and lets `fill` write it. The file is on the disk afterwards, and in the
    /// table of garbage until [`IndexTransaction::adopt_file`].
    pub(super) fn create(
        &self,
        fill: impl FnOnce(&mut File) -> io::Result<()>,
    ) -> S3Result<String> {
        let name = self.reserve_name()?;
        let result = self.files.create(&name, fill);
        if result.is_err() {
            // The disk may be full, and the partial file is of no use. The table has it until the
            // next sweep.
            fs::remove_file(self.path(&name)).ok();
        }
        result.map_err(S3Error::internal_error)?;
        Ok(name)
    }

    /// Returns a name that is in the table of garbage, on the disk.
    fn reserve_name(&self) -> S3Result<String> {
        let now = self.now();
        let mut reserved_names = lock_mutex(&self.reserved_names);
        let is_fresh =
            (reserved_names.since_ms..reserved_names.since_ms + RESERVED_MS).contains(&now);
        if is_fresh && let Some(name) = reserved_names.names.pop() {
            return Ok(name);
        }

        let mut names: Vec<String> = (0..RESERVED_NAMES)
            .map(|_| format!("{:032x}", rand::random::<u128>()))
            .collect();
        self.write_index(|transaction| {
            let sql = "INSERT INTO garbage (file, since_ms) VALUES (?1, ?2)";
            for name in &names {
                transaction.run_statement(sql, params![name, now])?;
            }
            Ok(())
        })?;

        let name = names.pop().unwrap_or_default();
        *reserved_names = ReservedNames {
            names,
            since_ms: now,
        };

        Ok(name)
    }

    /// Creates a new file with these bytes, like [`ObjectStore::create`].
    pub(super) fn create_file_with(&self, bytes: &[u8]) -> S3Result<String> {
        self.create(|file| file.write_all(bytes))
    }

    /// Returns the path of the file `name`.
    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.files.path(name)
    }

    /// Returns an object and a range of its bytes, which `choose_range` chooses from the object. If
    /// the object is replaced meanwhile, returns the new one.
    pub(super) fn load_object(
        &self,
        bucket: &str,
        key: &str,
        choose_range: impl Fn(&StoredObject) -> S3Result<Range<u64>>,
    ) -> S3Result<(StoredObject, Vec<u8>)> {
        loop {
            let stored = self.require_object(bucket, key)?;
            let range = choose_range(&stored)?;
            match verify::read_range(&self.path(&stored.file), &stored, range, &self.verified) {
                Ok(bytes) => return Ok((stored, bytes)),
                Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                    return Err(verify::damaged_object_error(key));
                }
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    // The object was replaced or deleted between the two steps. Otherwise the file
                    // is really lost.
                    let current = find_object(&self.lock_index(), bucket, key)?;
                    if let Some(current) = current
                        && current.file == stored.file
                    {
                        return Err(verify::damaged_object_error(key));
                    }
                }
                Err(error) => return Err(S3Error::internal_error(error)),
            }
        }
    }

    /// Returns the object, or the error `NoSuchBucket` or `NoSuchKey`.
    pub(super) fn require_object(&self, bucket: &str, key: &str) -> S3Result<StoredObject> {
        let index = self.lock_index();
        if let Some(stored) = find_object(&index, bucket, key)? {
            return Ok(stored);
        }
        require_bucket(&index, bucket)?;
        Err(s3_error!(NoSuchKey))
    }

    /// Deletes files that are not in use, and removes old uploads.
    pub(super) fn collect_garbage(&self) -> anyhow::Result<()> {
        let now = self.now();
        self.write_index(|transaction| {
            let sql = "SELECT id FROM uploads WHERE started_ms <= ?1";
            for id in query_strings(transaction.tx, sql, [now - ABANDONED_UPLOAD_MS])? {
                transaction.remove_upload(&id)?;
            }
            Ok(())
        })
        .map_err(|error| anyhow::anyhow!("cannot forget old uploads: {error}"))?;
        let sql = "SELECT file FROM garbage WHERE since_ms <= ?1";
        let files = query_strings(&self.lock_index(), sql, [now - ABANDONED_WRITE_MS])?;
        self.files.delete(&files).context("cannot delete files")?;

        self.remove_from_garbage(&files)
            .map_err(|error| anyhow::anyhow!("cannot forget deleted files: {error}"))
    }

    /// Deletes files that are no longer in use.
    fn delete(&self, files: Vec<String>) -> anyhow::Result<()> {
        self.files.delete(&files)?;
        let overdue = {
            let mut deleted_files = lock_mutex(&self.deleted_files);
            deleted_files.extend(files);
            if deleted_files.len() < MAX_LISTED_DELETIONS {
                Vec::new()
            } else {
                std::mem::take(&mut *deleted_files)
            }
        };
        self.remove_from_garbage(&overdue)
            .map_err(|error| anyhow::anyhow!("{error}"))
    }

    /// Removes deleted files from the table of garbage, once a power cut cannot bring them back.
    fn remove_from_garbage(&self, files: &[String]) -> S3Result<()> {
        if files.is_empty() {
            return Ok(());
        }
        self.files
            .sync_folders(files)
            .map_err(S3Error::internal_error)?;
        self.write_index(|transaction| {
            for file in files {
                transaction.adopt_file(file)?;
            }
            Ok(())
        })
    }
}

/// The folder of the files.
struct BlobFiles {
    folder: PathBuf,
    syncs: bool,
    /// The shelves that exist, on the disk.
    subfolders: Mutex<BTreeSet<PathBuf>>,
}

impl BlobFiles {
    fn new(folder: PathBuf, durability: Durability) -> Self {
        Self {
            folder,
            syncs: durability.syncs_anything(),
            subfolders: Mutex::default(),
        }
    }

    /// Returns the path of the file `name`. Files are on shelves by their first two letters, so
    /// that no folder gets too large.
    fn path(&self, name: &str) -> PathBuf {
        self.shelf_path(name).join(name)
    }

    fn shelf_path(&self, name: &str) -> PathBuf {
        self.folder.join(&name[..2])
    }

    /// Creates a file and syncs it: first its bytes, then its name.
    fn create(&self, name: &str, fill: impl FnOnce(&mut File) -> io::Result<()>) -> io::Result<()> {
        let subfolder = self.shelf_path(name);
        self.create_shelf(&subfolder)?;
        let mut file = folder::private_options()
            .create_new(true)
            .open(subfolder.join(name))?;
        fill(&mut file)?;
        if self.syncs {
            file.sync_data()?;
            sync_folder(&subfolder)?;
        }
        Ok(())
    }

    /// Creates a shelf. A shelf that another process created may not be on the disk yet, so it is
    /// synced as well.
    fn create_shelf(&self, subfolder: &Path) -> io::Result<()> {
        let mut subfolders = lock_mutex(&self.subfolders);
        if subfolders.contains(subfolder) {
            return Ok(());
        }
        folder::create_private_folder(subfolder)?;
        if self.syncs {
            sync_folder(&self.folder)?;
        }
        subfolders.insert(subfolder.to_owned());
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

    /// Syncs the deletion of these files.
    fn sync_folders(&self, names: &[String]) -> io::Result<()> {
        if !self.syncs {
            return Ok(());
        }
        let subfolders: BTreeSet<PathBuf> =
            names.iter().map(|name| self.shelf_path(name)).collect();
        for subfolder in subfolders {
            match sync_folder(&subfolder) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        Ok(())
    }
}

/// Returns the error for a fault of this service.
pub(super) fn internal_error(error: anyhow::Error) -> S3Error {
    S3Error::with_source(S3ErrorCode::InternalError, error.into())
}
