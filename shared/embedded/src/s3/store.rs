//! The files with the bytes, and the transactions of the index that give them a use.
//!
//! A file is on the list `garbage` from before it is written until the transaction that makes an object or a part of
//! it, and again from the transaction that removes its last use until it is deleted. Whatever dies in between, the
//! list still has it, and the next sweep removes it.

use std::fs::{self, File};
use std::io::{self, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use anyhow::Context;
use rusqlite::{Connection, params};
use s3s::{S3Error, S3Result, s3_error};

use super::index::{Change, SCHEMA, Stored, find, require_bucket, strings};
use super::verify;
use crate::clock::Clock;
use crate::sqlite;
use crate::sqs::Sqs;

/// A file that has been on the way for longer was left by a process that died.
const ABANDONED_WRITE_MS: i64 = 60 * 60 * 1000;
/// An upload in parts that is older was forgotten (what a life-cycle rule of the bucket does on AWS).
const ABANDONED_UPLOAD_MS: i64 = 7 * 24 * 60 * 60 * 1000;

pub(super) struct Store {
    connection: Mutex<Connection>,
    files: PathBuf,
    clock: Clock,
    /// Whom buckets may tell about new objects.
    pub(super) queues: Arc<Sqs>,
}

impl Store {
    pub(super) fn open(folder: &Path, clock: Clock, queues: Arc<Sqs>) -> anyhow::Result<Self> {
        let files = folder.join("blobs");
        fs::create_dir_all(&files).with_context(|| format!("cannot create {}", files.display()))?;
        let connection = Mutex::new(sqlite::open(&folder.join("index.sqlite"), SCHEMA)?);
        let store = Self { connection, files, clock, queues };
        store.collect_garbage()?;
        Ok(store)
    }

    /// Milliseconds since 1970.
    pub(super) fn now(&self) -> i64 {
        i64::try_from((self.clock)()).unwrap_or(i64::MAX)
    }

    /// The index, for reading. A panic elsewhere rolled its transaction back, so poison means nothing.
    pub(super) fn read(&self) -> MutexGuard<'_, Connection> {
        self.connection.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs `work` in a transaction that is committed when it succeeds, then deletes the files it discarded.
    pub(super) fn write<T>(&self, work: impl FnOnce(&Change<'_>) -> S3Result<T>) -> S3Result<T> {
        let mut connection = self.read();
        let transaction = sqlite::write(&mut connection).map_err(S3Error::internal_error)?;
        let change = Change::new(&transaction);
        let result = work(&change)?;
        let discarded = change.into_discarded();
        transaction.commit().map_err(S3Error::internal_error)?;
        if let Err(error) = self.delete(&connection, &discarded) {
            // What was asked for is done; the next sweep tries again.
            tracing::warn!(%error, "could not delete files of replaced or deleted objects: {error}");
        }
        Ok(result)
    }

    /// Creates a new file, on the list of garbage until [`Change::adopt`], and lets `fill` write it.
    pub(super) fn create(&self, fill: impl FnOnce(&mut File) -> io::Result<()>) -> S3Result<String> {
        let name = format!("{:032x}", rand::random::<u128>());
        let sql = "INSERT INTO garbage (file, since_ms) VALUES (?1, ?2)";
        let now = self.now();
        let listed =
            self.read().prepare_cached(sql).and_then(|mut insert| insert.execute(params![name, now]));
        listed.map_err(S3Error::internal_error)?;
        let path = self.path(&name);
        let mut file = match File::create_new(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                path.parent().map_or(Ok(()), fs::create_dir_all).and_then(|()| File::create_new(&path))
            }
            created => created,
        }
        .map_err(S3Error::internal_error)?;
        fill(&mut file).map_err(S3Error::internal_error)?;
        Ok(name)
    }

    /// [`Store::create`] with bytes.
    pub(super) fn create_with(&self, bytes: &[u8]) -> S3Result<String> {
        self.create(|file| file.write_all(bytes))
    }

    /// Where the file `name` lies: by its first two letters, so that no folder gets too large.
    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.files.join(&name[..2]).join(name)
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
                Err(error) if error.kind() == io::ErrorKind::InvalidData => return Err(verify::damaged(key)),
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
        let connection = self.read();
        let sql = "SELECT file FROM garbage WHERE since_ms <= ?1";
        let files = strings(&connection, sql, [now - ABANDONED_WRITE_MS])?;
        self.delete(&connection, &files).context("cannot delete files")
    }

    fn delete(&self, connection: &Connection, files: &[String]) -> io::Result<()> {
        for name in files {
            match fs::remove_file(self.path(name)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
            let mut sql =
                connection.prepare_cached("DELETE FROM garbage WHERE file = ?1").map_err(io::Error::other)?;
            sql.execute([name]).map_err(io::Error::other)?;
        }
        Ok(())
    }
}
