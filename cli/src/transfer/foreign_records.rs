//! Reads the files of other services. A record is known by its shape.

use std::iter;

use anyhow::{Context, Result, bail};
use serde_json::{Map, Value, json};

use super::hosted;
use super::import::ImportFormat;

/// The fields that contain lists of records.
const LIST_FIELDS: [&str; 11] = [
    "results",
    "memories",
    "memoryEntries",
    "documents",
    "sessions",
    "threads",
    "edges",
    "facts",
    "relevant_facts",
    "items",
    "data",
];
/// The field with the list of a record's container tags.
pub(super) const TAGS_FIELD: &str = "containerTags";
/// The fields that name the container or the user of a record.
pub(super) const OWNER_FIELDS: [&str; 3] = ["containerTag", "spaceContainerTag", "user_id"];
const ACCEPTED: &str = "accepted are: an export of recollect; pages of documents or memories of the hosted service; \
    memories of mem0, as a list, {\"results\": […]} or {\"memories\": […]} of {\"id\", \"memory\" or \"content\", \
    \"created_at\", …}; of Zep sessions or threads {\"session_id\", \"messages\": […]}, also by their ids, and facts or \
    edges {\"uuid\", \"fact\", \"valid_at\", …}; each as JSON, or as one object a line";

/// A record with its position in the file, from 1.
pub(super) type ForeignRecord = (usize, Map<String, Value>);

/// Records of other services.
#[derive(Debug, Default, PartialEq)]
pub(super) struct ForeignRecords {
    /// The memories of mem0 and of the hosted service.
    pub(super) memories: Vec<ForeignRecord>,
    /// The documents of the hosted service.
    pub(super) documents: Vec<ForeignRecord>,
    /// The sessions and threads of Zep.
    pub(super) sessions: Vec<ForeignRecord>,
    /// The facts of Zep.
    pub(super) facts: Vec<ForeignRecord>,
}

impl ForeignRecords {
    /// Reads a file, as one JSON value or one on each line.
    pub(super) fn read_records(text: &str, format: ImportFormat) -> Result<Self> {
        let mut records = Self::default();
        match serde_json::from_str(text) {
            Ok(value) => records.add_record(value)?,
            Err(_) => records.add_lines(text)?,
        }

        let first_zep_record = records.sessions.first().or(records.facts.first());
        let first_document = records.documents.first();
        let foreign_record = match format {
            ImportFormat::Mem0 => first_zep_record.or(first_document),
            ImportFormat::Zep => records.memories.first().or(first_document),
            ImportFormat::Auto | ImportFormat::Recollect => None,
        };

        if let Some((position, _)) = foreign_record {
            bail!("record {position} is of another service than --format says; leave --format out");
        }

        Ok(records)
    }

    fn len(&self) -> usize {
        self.memories.len() + self.documents.len() + self.sessions.len() + self.facts.len()
    }

    fn add_lines(&mut self, text: &str) -> Result<()> {
        for (index, line) in text.lines().enumerate() {
            if line.trim().is_empty() {
                continue;
            }
            let value = serde_json::from_str(line).with_context(|| {
                format!("this is no JSON, nor is its line {}; {ACCEPTED}", index + 1)
            })?;
            self.add_record(value)?;
        }

        Ok(())
    }

    fn add_record(&mut self, value: Value) -> Result<()> {
        let position = self.len() + 1;
        let object = match value {
            Value::Array(items) => {
                for item in items {
                    self.add_record(item)?;
                }
                return Ok(());
            }
            Value::Object(object) => object,
            other => bail!("record {position} is {}; {ACCEPTED}", name_of(&other)),
        };

        let has_text = |name: &str| matches!(object.get(name), Some(Value::String(_)));
        if hosted::is_document(&object) {
            self.documents.push((position, object));
            return Ok(());
        }
        // An export job of mem0 has the text in `content`. A message has a role beside it.
        if has_text("memory") || (has_text("content") && !has_text("role")) {
            self.memories.push((position, object));
            return Ok(());
        }
        if has_text("fact") {
            self.facts.push((position, object));
            return Ok(());
        }

        let has_lists = self.add_lists(&object)?;
        if matches!(object.get("messages"), Some(Value::Array(_))) {
            self.sessions.push((position, object));
        } else if !has_lists && !self.add_sessions_by_id(object) {
            bail!("record {position} is of no known shape; {ACCEPTED}");
        }

        Ok(())
    }

    /// Adds the sessions of an object that has them by their ids, each as a session or as its list of
    /// messages. Returns `false` if the object has anything else.
    fn add_sessions_by_id(&mut self, object: Map<String, Value>) -> bool {
        let mut sessions = Vec::with_capacity(object.len());
        for (id, value) in object {
            let mut session = match value {
                Value::Object(session) if session.get("messages").is_some_and(Value::is_array) => {
                    session
                }
                Value::Array(messages) if are_messages(&messages) => {
                    Map::from_iter([("messages".to_owned(), Value::Array(messages))])
                }
                _ => return false,
            };
            session.entry("session_id").or_insert(Value::String(id));
            sessions.push(session);
        }

        let is_empty = sessions.is_empty();
        for session in sessions {
            self.sessions.push((self.len() + 1, session));
        }
        !is_empty
    }

    /// Adds the records in the lists of an object. Those without an owner have that of the object. Returns `false`
    /// if the object has no lists.
    fn add_lists(&mut self, object: &Map<String, Value>) -> Result<bool> {
        let mut has_lists = false;
        for name in LIST_FIELDS {
            let Some(Value::Array(items)) = object.get(name) else {
                continue;
            };
            has_lists = true;
            for item in items {
                let mut record = match item {
                    // Version 2 of Zep also has facts as bare sentences.
                    Value::String(fact) if name == "facts" => {
                        json!({"fact": fact, "created_at": object.get("created_at")})
                    }
                    item => item.clone(),
                };
                if let Value::Object(record) = &mut record {
                    inherit_owner(record, object);
                }
                self.add_record(record)?;
            }
        }

        Ok(has_lists)
    }
}

/// Gives a record without an owner that of the object around it.
fn inherit_owner(record: &mut Map<String, Value>, object: &Map<String, Value>) {
    let names_owner = |value: &Value| match value {
        Value::String(name) => !name.trim().is_empty(),
        Value::Array(tags) => !tags.is_empty(),
        _ => false,
    };
    let fields = iter::once(TAGS_FIELD).chain(OWNER_FIELDS);
    if fields
        .clone()
        .any(|field| record.get(field).is_some_and(names_owner))
    {
        return;
    }

    for field in fields {
        if let Some(owner) = object.get(field) {
            record.insert(field.to_owned(), owner.clone());
        }
    }
}

fn are_messages(values: &[Value]) -> bool {
    let is_message = |value: &Value| value.get("role").is_some() && value.get("content").is_some();
    !values.is_empty() && values.iter().all(is_message)
}

fn name_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}
