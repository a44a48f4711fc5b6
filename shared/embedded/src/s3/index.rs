//! The index of S3: the existing buckets, objects and parts, and the files with their bytes.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use rusqlite::{Connection, OptionalExtension, Row, Transaction, params};
use s3s::dto::Timestamp;
use s3s::{S3Error, S3Result, s3_error};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// The schema. Keys are blobs, so that they sort by their bytes and any prefix is a range of them,
/// even one that ends within a character.
pub(super) const SCHEMA: &str = "
CREATE TABLE IF NOT EXISTS buckets (name TEXT PRIMARY KEY, created_ms INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS objects (
    bucket TEXT NOT NULL,
    key BLOB NOT NULL,
    file TEXT NOT NULL,
    size INTEGER NOT NULL,
    etag TEXT NOT NULL,
    modified_ms INTEGER NOT NULL,
    attributes TEXT NOT NULL,
    PRIMARY KEY (bucket, key)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS uploads (
    id TEXT PRIMARY KEY,
    bucket TEXT NOT NULL,
    key BLOB NOT NULL,
    attributes TEXT NOT NULL,
    started_ms INTEGER NOT NULL,
    completed_etag TEXT
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS parts (
    upload TEXT NOT NULL,
    number INTEGER NOT NULL,
    file TEXT NOT NULL,
    size INTEGER NOT NULL,
    etag TEXT NOT NULL,
    modified_ms INTEGER NOT NULL,
    PRIMARY KEY (upload, number)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS notifications (bucket TEXT PRIMARY KEY, queues TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS garbage (file TEXT PRIMARY KEY, since_ms INTEGER NOT NULL) WITHOUT ROWID;
";

/// The attributes of an object that the client sets, besides the bytes.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct ObjectAttributes {
    pub(super) content_type: Option<String>,
    pub(super) content_encoding: Option<String>,
    pub(super) content_disposition: Option<String>,
    pub(super) content_language: Option<String>,
    pub(super) cache_control: Option<String>,
    /// The headers `x-amz-meta-*`.
    pub(super) metadata: BTreeMap<String, String>,
    /// The verified checksums of the whole object, by the names in `check`.
    pub(super) checksums: BTreeMap<String, String>,
}

/// An object in the index.
#[derive(Debug, Clone)]
pub(super) struct StoredObject {
    pub(super) file: String,
    pub(super) size: u64,
    pub(super) etag: String,
    pub(super) modified_ms: i64,
    pub(super) attributes: ObjectAttributes,
}

/// A part in the index.
pub(super) struct StoredPart {
    pub(super) number: i32,
    pub(super) file: String,
    pub(super) size: u64,
    pub(super) etag: String,
    pub(super) modified_ms: i64,
}

/// A transaction of the index.
pub(super) struct IndexTransaction<'a> {
    pub(super) tx: &'a Transaction<'a>,
    discarded: RefCell<Vec<String>>,
}

impl<'a> IndexTransaction<'a> {
    pub(super) fn new(tx: &'a Transaction<'a>) -> Self {
        Self {
            tx,
            discarded: RefCell::default(),
        }
    }

    /// Returns the files to delete once the transaction is committed.
    pub(super) fn into_discarded(self) -> Vec<String> {
        self.discarded.into_inner()
    }

    /// Records that the file is in use from now on.
    pub(super) fn adopt_file(&self, file: &str) -> S3Result<()> {
        self.run_statement("DELETE FROM garbage WHERE file = ?1", params![file])
    }

    /// Records that the file is no longer in use. It is deleted after the transaction.
    pub(super) fn discard_file(&self, file: String) -> S3Result<()> {
        self.run_statement(
            "INSERT OR REPLACE INTO garbage (file, since_ms) VALUES (?1, 0)",
            params![file],
        )?;
        self.discarded.borrow_mut().push(file);
        Ok(())
    }

    /// Stores `stored` as the object of a key.
    pub(super) fn put_object(
        &self,
        bucket: &str,
        key: &str,
        stored: &StoredObject,
    ) -> S3Result<()> {
        if let Some(old) = find_object(self.tx, bucket, key)? {
            self.discard_file(old.file)?;
        }

        self.adopt_file(&stored.file)?;
        let attributes = to_json(&stored.attributes)?;
        let StoredObject {
            file,
            size,
            etag,
            modified_ms,
            ..
        } = stored;

        let size = i64::try_from(*size).map_err(S3Error::internal_error)?;
        let row = params![
            bucket,
            key.as_bytes(),
            file,
            size,
            etag,
            modified_ms,
            attributes
        ];

        self.run_statement(
            "INSERT OR REPLACE INTO objects VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
            row,
        )
    }

    /// Removes the object of a key, if there is one.
    pub(super) fn remove_object(&self, bucket: &str, key: &str) -> S3Result<()> {
        if let Some(old) = find_object(self.tx, bucket, key)? {
            self.discard_file(old.file)?;
            self.run_statement(
                "DELETE FROM objects WHERE bucket = ?1 AND key = ?2",
                params![bucket, key.as_bytes()],
            )?;
        }
        Ok(())
    }

    /// Removes an upload and its parts.
    pub(super) fn remove_upload(&self, id: &str) -> S3Result<()> {
        self.discard_parts(id)?;
        self.run_statement("DELETE FROM uploads WHERE id = ?1", [id])
    }

    /// Removes the parts of an upload.
    pub(super) fn discard_parts(&self, id: &str) -> S3Result<()> {
        let sql = "SELECT file FROM parts WHERE upload = ?1";
        for file in query_strings(self.tx, sql, [id])? {
            self.discard_file(file)?;
        }
        self.run_statement("DELETE FROM parts WHERE upload = ?1", [id])
    }

    /// Runs one statement.
    pub(super) fn run_statement(
        &self,
        sql: &str,
        parameters: impl rusqlite::Params,
    ) -> S3Result<()> {
        let run = || self.tx.prepare_cached(sql)?.execute(parameters);
        run().map_err(S3Error::internal_error)?;
        Ok(())
    }
}

/// Returns the first row of a query as `read_row` reads it, if there is one.
pub(super) fn query_row<T>(
    index: &Connection,
    sql: &str,
    parameters: impl rusqlite::Params,
    read_row: impl FnOnce(&Row<'_>) -> rusqlite::Result<T>,
) -> S3Result<Option<T>> {
    let read = || {
        let mut statement = index.prepare_cached(sql)?;
        statement.query_row(parameters, read_row).optional()
    };
    read().map_err(S3Error::internal_error)
}

/// Returns all rows of a query as `read_row` reads them.
pub(super) fn query_rows<T>(
    index: &Connection,
    sql: &str,
    parameters: impl rusqlite::Params,
    read_row: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
) -> S3Result<Vec<T>> {
    let read = || -> rusqlite::Result<Vec<T>> {
        let mut statement = index.prepare_cached(sql)?;
        statement.query_map(parameters, read_row)?.collect()
    };
    read().map_err(S3Error::internal_error)
}

/// Returns the first column of all rows.
pub(super) fn query_strings(
    index: &Connection,
    sql: &str,
    parameters: impl rusqlite::Params,
) -> S3Result<Vec<String>> {
    query_rows(index, sql, parameters, |row| row.get(0))
}

/// Writes a value as the text of a column.
pub(super) fn to_json(value: &impl Serialize) -> S3Result<String> {
    serde_json::to_string(value).map_err(S3Error::internal_error)
}

/// Reads a value from the text of a column.
pub(super) fn from_json<T: DeserializeOwned>(text: &str) -> S3Result<T> {
    serde_json::from_str(text).map_err(S3Error::internal_error)
}

/// Returns the object of a key, if there is one.
pub(super) fn find_object(
    index: &Connection,
    bucket: &str,
    key: &str,
) -> S3Result<Option<StoredObject>> {
    let sql = "SELECT file, size, etag, modified_ms, attributes FROM objects WHERE bucket = ?1 AND key = ?2";
    let row = query_row(index, sql, params![bucket, key.as_bytes()], |row| {
        Ok((stored_without_attributes(row)?, row.get::<_, String>(4)?))
    })?;
    let Some((mut stored, attributes)) = row else {
        return Ok(None);
    };
    stored.attributes = from_json(&attributes)?;
    Ok(Some(stored))
}

fn stored_without_attributes(row: &Row<'_>) -> rusqlite::Result<StoredObject> {
    Ok(StoredObject {
        file: row.get(0)?,
        size: row.get::<_, i64>(1)?.unsigned_abs(),
        etag: row.get(2)?,
        modified_ms: row.get(3)?,
        attributes: ObjectAttributes::default(),
    })
}

/// Returns the error `NoSuchBucket` unless the bucket exists.
pub(super) fn require_bucket(index: &Connection, bucket: &str) -> S3Result<()> {
    let sql = "SELECT 1 FROM buckets WHERE name = ?1";
    match query_row(index, sql, [bucket], |_| Ok(()))? {
        Some(()) => Ok(()),
        None => Err(s3_error!(NoSuchBucket)),
    }
}

/// Converts a time of the index to the type of S3.
pub(super) fn s3_timestamp(ms: i64) -> Timestamp {
    Timestamp::from(SystemTime::UNIX_EPOCH + Duration::from_millis(ms.unsigned_abs()))
}

/// Returns the attributes of an unfinished upload, or the error `NoSuchUpload`.
pub(super) fn require_upload(
    index: &Connection,
    bucket: &str,
    key: &str,
    id: &str,
) -> S3Result<ObjectAttributes> {
    let sql = "SELECT attributes FROM uploads WHERE id = ?1 AND bucket = ?2 AND key = ?3 AND completed_etag IS NULL";
    let attributes: Option<String> =
        query_row(index, sql, params![id, bucket, key.as_bytes()], |row| {
            row.get(0)
        })?;
    match attributes {
        Some(attributes) => from_json(&attributes),
        None => Err(s3_error!(NoSuchUpload)),
    }
}

/// Returns the entity tag of a completed upload.
pub(super) fn completed_etag(
    index: &Connection,
    bucket: &str,
    key: &str,
    id: &str,
) -> S3Result<Option<String>> {
    let sql = "SELECT completed_etag FROM uploads WHERE id = ?1 AND bucket = ?2 AND key = ?3";
    let etag = query_row(index, sql, params![id, bucket, key.as_bytes()], |row| {
        row.get(0)
    })?;
    Ok(etag.flatten())
}

/// Returns the parts of an upload, ordered by number.
pub(super) fn uploaded_parts(index: &Connection, upload: &str) -> S3Result<Vec<StoredPart>> {
    let sql =
        "SELECT number, file, size, etag, modified_ms FROM parts WHERE upload = ?1 ORDER BY number";
    query_rows(index, sql, [upload], |row| {
        Ok(StoredPart {
            number: row.get(0)?,
            file: row.get(1)?,
            size: row.get::<_, i64>(2)?.unsigned_abs(),
            etag: row.get(3)?,
            modified_ms: row.get(4)?,
        })
    })
}
