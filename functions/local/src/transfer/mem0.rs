//! Memories of mem0, as returned by its `get_all`.

use std::collections::BTreeSet;

use anyhow::Result;
use serde_json::{Map, Value};

use super::convert::{Note, add_fields, metadata, text, time};

/// The fields for the owner and the subject of a memory.
const FIELDS: [&str; 6] = [
    "user_id",
    "agent_id",
    "app_id",
    "run_id",
    "actor_id",
    "categories",
];

/// Returns the memory of a record, or `None` if it is blank. Its creation counts as the time of the
/// statement, and `expiration_date` ends it.
pub(super) fn note(record: &Map<String, Value>) -> Result<Option<Note>> {
    let Some(memory) = text(record, "memory") else {
        return Ok(None);
    };

    let mut metadata = metadata(record.get("metadata"));
    add_fields(&mut metadata, record, &FIELDS);
    let forget_after = time(record, &["expiration_date"])?;

    Ok(Some(Note {
        service: "mem0",
        id: text(record, "id"),
        text: memory.trim().to_owned(),
        said_at: time(record, &["created_at"])?,
        forget_reason: forget_after.map(|_| "its expiration date is over".to_owned()),
        forget_after,
        metadata,
    }))
}

/// Returns the users to whom the memories belong.
pub(super) fn users(records: &[(usize, Map<String, Value>)]) -> BTreeSet<String> {
    records
        .iter()
        .filter_map(|(_, record)| text(record, "user_id"))
        .collect()
}
