//! Pages of the hosted service's lists: of its documents, of documents with their memories, and of
//! memories. Recollect's own lists have the same shape.

use anyhow::Result;
use bytes::Bytes;
use domain::{BodyForm, ContainerTag, CustomId, Metadata};
use serde_json::{Map, Value};
use service::{Content, NewDocument};

use super::convert::{convert_metadata, text_field, time_field};

/// Checks whether a record is a document: it has the status of its processing.
pub(super) fn is_document(record: &Map<String, Value>) -> bool {
    let has_text = |name: &str| record.get(name).is_some_and(Value::is_string);
    has_text("id") && has_text("status") && has_text("type")
}

/// Returns the document of a record, or `None` if its content is not in the file. What was extracted
/// from a page or a file becomes a text.
pub(super) fn document_of_record(
    tags: Vec<ContainerTag>,
    record: &Map<String, Value>,
) -> Result<Option<NewDocument>> {
    let Some(content) = text_field(record, "content") else {
        return Ok(None);
    };

    let id = text_field(record, "customId").or_else(|| {
        let id = text_field(record, "id")?;
        Some(format!("hosted:{id}"))
    });
    let custom_id = match id {
        Some(id) => Some(CustomId::parse_conversation_id(&id)?),
        None => None,
    };
    let metadata = Metadata::parse(convert_metadata(record.get("metadata")))?;
    let content = Content::Complete {
        bytes: Bytes::from(content),
        form: BodyForm::Text,
    };

    Ok(Some(NewDocument {
        tags,
        custom_id,
        metadata: (!metadata.is_empty()).then_some(metadata),
        filepath: text_field(record, "filepath"),
        document_date: time_field(record, &["createdAt"])?,
        ..NewDocument::new(content)
    }))
}

/// Returns the memories in the record of a document.
pub(super) fn memory_entries(
    record: &Map<String, Value>,
) -> impl Iterator<Item = &Map<String, Value>> {
    let entries = record.get("memoryEntries").and_then(Value::as_array);
    entries.into_iter().flatten().filter_map(Value::as_object)
}

/// Returns what a memory is if it is not imported.
pub(super) fn reason_against_memory(record: &Map<String, Value>) -> Option<&'static str> {
    let is = |name: &str, value: bool| record.get(name) == Some(&Value::Bool(value));
    if is("isForgotten", true) {
        Some("forgotten memories")
    } else if is("isLatest", false) {
        Some("former versions of memories")
    } else {
        None
    }
}
