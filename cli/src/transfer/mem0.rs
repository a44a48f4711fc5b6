//! Memories of mem0, as returned by its `get_all` and its export jobs, and those of the hosted service.

use anyhow::Result;
use serde_json::{Map, Value};

use super::convert::{ForeignMemory, add_fields, convert_metadata, text_field, time_field};

/// The fields for the owner and the subject of a memory.
const OWNER_FIELDS: [&str; 6] = [
    "user_id",
    "agent_id",
    "app_id",
    "run_id",
    "actor_id",
    "categories",
];

/// Returns the memory of a record, or `None` if it is blank. Its creation counts as the time of the
/// statement, and `expiration_date` or `forgetAfter` ends it.
pub(super) fn memory_of_record(record: &Map<String, Value>) -> Result<Option<ForeignMemory>> {
    let Some(memory) = text_field(record, "memory").or_else(|| text_field(record, "content"))
    else {
        return Ok(None);
    };

    let mut metadata = convert_metadata(record.get("metadata"));
    add_fields(&mut metadata, record, &OWNER_FIELDS);
    let forget_after = time_field(record, &["expiration_date", "forgetAfter"])?;

    Ok(Some(ForeignMemory {
        service: "mem0",
        id: text_field(record, "id"),
        text: memory.trim().to_owned(),
        said_at: time_field(record, &["created_at", "createdAt"])?,
        forget_reason: forget_after.map(|_| "its expiration date is over".to_owned()),
        forget_after,
        metadata,
    }))
}
