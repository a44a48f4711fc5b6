//! Taking what was deleted out of the files: rows are overwritten when they are deleted (`secure_delete` is compiled in),
//! but the write-ahead logs still hold the pages of before until they are written back and emptied.

use std::path::Path;
use std::time::Duration;

use anyhow::Context;
use rusqlite::Connection;

/// How long a checkpoint waits for readers and writers of other connections; the next one follows soon.
const WAIT: Duration = Duration::from_secs(5);
/// The databases of a data folder.
const DATABASES: [&str; 3] = ["dynamodb.sqlite", "sqs.sqlite", "s3/index.sqlite"];

/// Writes the write-ahead logs of all databases of a folder back and empties them; whether that worked for all of them.
///
/// # Errors
/// A database cannot be opened.
pub(crate) fn empty_logs(folder: &Path) -> anyhow::Result<bool> {
    let mut all = true;
    for name in DATABASES {
        let file = folder.join(name);
        let connection =
            Connection::open(&file).with_context(|| format!("cannot open {}", file.display()))?;
        connection.busy_timeout(WAIT)?;
        let busy: i64 =
            connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0))?;
        all &= busy == 0;
    }
    Ok(all)
}

/// Has SQLite check every database of a data folder, which takes as long as reading them. What is wrong: the name of a
/// file in the folder, and what SQLite says of it; empty when nothing is. Others may use the folder meanwhile.
///
/// # Errors
/// A database cannot be opened.
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
        connection.busy_timeout(WAIT)?;
        let found = integrity(&connection).unwrap_or_else(|error| vec![error.to_string()]);
        let found = found.into_iter().filter(|fault| fault != "ok");
        faults.extend(found.map(|fault| (name.to_owned(), fault)));
    }

    Ok(faults)
}

fn integrity(connection: &Connection) -> rusqlite::Result<Vec<String>> {
    let mut statement = connection.prepare("PRAGMA integrity_check")?;
    statement.query_map([], |row| row.get(0))?.collect()
}
