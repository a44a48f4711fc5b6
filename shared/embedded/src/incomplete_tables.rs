//! Removal of tables that a crash left half made.
//!
//! The embedded DynamoDB creates a table in several commits: its description, its rows, and those
//! of each index. A crash in between leaves a table that exists and cannot be used. Its creation
//! was never answered, so the table is removed, and the caller that wanted it creates it again.

use std::path::Path;

use anyhow::Context;
use rusqlite::Connection;
use serde_json::Value;

use crate::sqlite;

/// Removes the half-made tables of the database at `file`. No other process may create tables
/// meanwhile.
pub(crate) fn remove_incomplete_tables(file: &Path) -> anyhow::Result<()> {
    let mut connection = sqlite::open_database(file, "")?;
    if !table_exists(&connection, "_tables")? {
        return Ok(());
    }

    for table in find_incomplete_tables(&connection)? {
        tracing::warn!(
            table,
            "the table {table} was left half made and is created again"
        );
        let transaction = sqlite::begin_write(&mut connection)?;
        let sql = "SELECT name FROM sqlite_schema WHERE type = 'table' AND (name = ?1 OR substr(name, 1, ?2) = ?3)";
        let prefix = format!("{table}::");
        let length = i64::try_from(prefix.chars().count())?;
        let parts: Vec<String> = transaction
            .prepare(sql)?
            .query_map((&table, length, &prefix), |row| row.get(0))?
            .collect::<rusqlite::Result<_>>()?;
        for part in parts {
            transaction.execute(&format!("DROP TABLE {}", quote_identifier(&part)), [])?;
        }
        transaction.execute("DELETE FROM _tables WHERE table_name = ?1", [&table])?;
        transaction.commit()?;
    }

    Ok(())
}

/// Lists the tables that lack their rows or those of an index, and that have no items.
fn find_incomplete_tables(connection: &Connection) -> anyhow::Result<Vec<String>> {
    let sql = "SELECT table_name, gsi_definitions, lsi_definitions FROM _tables";
    let mut statement = connection.prepare(sql)?;
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
    let mut incomplete = Vec::new();
    for row in rows {
        let (table, global, local): (String, Option<String>, Option<String>) = row?;
        let indexes = [("gsi", global), ("lsi", local)];
        let mut is_complete = table_exists(connection, &table)?;
        for (kind, definitions) in indexes {
            for index in index_names(definitions.as_deref())? {
                is_complete =
                    is_complete && table_exists(connection, &format!("{table}::{kind}::{index}"))?;
            }
        }
        if !is_complete && is_table_empty(connection, &table)? {
            incomplete.push(table);
        }
    }

    Ok(incomplete)
}

/// Returns the names of the indexes in their definitions.
fn index_names(definitions: Option<&str>) -> anyhow::Result<Vec<String>> {
    let definitions: Value =
        serde_json::from_str(definitions.unwrap_or("[]")).context("an index cannot be read")?;
    let mut names = Vec::new();
    if let Value::Array(indexes) = definitions {
        for index in indexes {
            if let Some(name) = index["IndexName"].as_str() {
                names.push(name.to_owned());
            }
        }
    }

    Ok(names)
}

fn table_exists(connection: &Connection, table: &str) -> rusqlite::Result<bool> {
    let sql = "SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?1)";
    connection.query_row(sql, [table], |row| row.get(0))
}

fn is_table_empty(connection: &Connection, table: &str) -> rusqlite::Result<bool> {
    if !table_exists(connection, table)? {
        return Ok(true);
    }
    let sql = format!(
        "SELECT NOT EXISTS (SELECT 1 FROM {})",
        quote_identifier(table)
    );
    connection.query_row(&sql, [], |row| row.get(0))
}

fn quote_identifier(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}
