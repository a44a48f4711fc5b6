//! Erasure of deleted data from the files. Deleted rows are overwritten (`secure_delete` is
//! compiled in), but a write-ahead log still holds the earlier pages until it is written back and
//! emptied.

use std::path::Path;
use std::time::Duration;

use anyhow::Context;
use rusqlite::Connection;

/// The time that a checkpoint waits for readers and writers of other connections. The next
/// checkpoint follows soon.
const CHECKPOINT_TIMEOUT: Duration = Duration::from_secs(5);
/// The databases of a data folder.
const DATABASES: [&str; 3] = ["dynamodb.sqlite", "sqs.sqlite", "s3/index.sqlite"];

/// Writes the write-ahead logs of all databases of a folder back and empties them. Returns `false`
/// if this failed for any of them because the database was busy.
///
/// # Errors
/// Fails if a database cannot be opened.
pub(crate) fn truncate_logs(folder: &Path) -> anyhow::Result<bool> {
    let mut is_complete = true;
    for name in DATABASES {
        let file = folder.join(name);
        let connection =
            Connection::open(&file).with_context(|| format!("cannot open {}", file.display()))?;
        connection.busy_timeout(CHECKPOINT_TIMEOUT)?;
        let busy: i64 =
            connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0))?;
        is_complete &= busy == 0;
    }
    Ok(is_complete)
}

/// Checks the integrity of every database of a data folder, which takes as long as reading them.
/// Returns each fault as the name of the file in the folder and the message of SQLite; an empty
/// list means that there are none. Others may use the folder meanwhile.
///
/// # Errors
/// Fails if a database cannot be opened.
pub fn check_databases(folder: &Path) -> anyhow::Result<Vec<(String, String)>> {
    let mut faults = Vec::new();
    for name in DATABASES {
        let file = folder.join(name);
        if !file.exists() {
            faults.push((name.to_owned(), "the file is missing".to_owned()));
            continue;
        }
        let connection =
            Connection::open(&file).with_context(|| format!("cannot open {}", file.display()))?;
        connection.busy_timeout(CHECKPOINT_TIMEOUT)?;
        match check_integrity(&connection) {
            Ok(messages) => {
                for message in messages {
                    if message != "ok" {
                        faults.push((name.to_owned(), message));
                    }
                }
            }
            Err(error) => faults.push((name.to_owned(), error.to_string())),
        }
    }

    Ok(faults)
}

fn check_integrity(connection: &Connection) -> rusqlite::Result<Vec<String>> {
    let mut statement = connection.prepare("PRAGMA integrity_check")?;
    statement.query_map([], |row| row.get(0))?.collect()
}
