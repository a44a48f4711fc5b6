//! Opening of this crate's own SQLite files.

use std::path::Path;
use std::time::Duration;

use anyhow::Context;
use rusqlite::config::DbConfig;
use rusqlite::{Connection, Transaction, TransactionBehavior};

/// The time that a call waits for another process that is writing to the same file.
const BUSY_TIMEOUT: Duration = Duration::from_secs(30);

/// Opens or creates `file` and applies `schema`, whose statements may run again on an existing
/// file.
///
/// The mode is WAL with `synchronous=NORMAL`: a commit is handed to the operating system and
/// survives the death of the process. [`crate::log::CommitLog`] brings it to the disk.
pub(crate) fn open_database(file: &Path, schema: &str) -> anyhow::Result<Connection> {
    let connection =
        Connection::open(file).with_context(|| format!("cannot open {}", file.display()))?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    connection.pragma_update(None, "journal_mode", "WAL")?;
    connection.pragma_update(None, "synchronous", "NORMAL")?;
    connection.set_prepared_statement_cache_capacity(64);
    // Otherwise SQLite plans a statement again whenever a value in a comparison is another one.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    connection
        .execute_batch(schema)
        .with_context(|| format!("cannot prepare {}", file.display()))?;
    Ok(connection)
}

/// Begins a transaction that holds the write lock from its start. What it reads is therefore still
/// true when it writes, in every process.
pub(crate) fn begin_write(connection: &mut Connection) -> rusqlite::Result<Transaction<'_>> {
    connection.transaction_with_behavior(TransactionBehavior::Immediate)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Several processes may open one folder. SQLite before 3.51.3 can corrupt a database in that
    /// case.
    #[test]
    fn sqlite_is_free_of_the_bug_with_several_writers() {
        assert!(
            rusqlite::version_number() >= 3_051_003,
            "{}",
            rusqlite::version()
        );
    }

    /// The embedded DynamoDB opens its own connection, so the default has to be compiled in.
    #[test]
    fn every_connection_overwrites_what_it_deletes() {
        let connection = Connection::open_in_memory().unwrap();
        let secure: i64 = connection
            .query_row("PRAGMA secure_delete", [], |row| row.get(0))
            .unwrap();
        assert_eq!(secure, 1);
    }
}
