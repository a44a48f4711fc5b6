//! Converts the records of other services to those of this service.

use std::collections::BTreeMap;

use anyhow::{Context, Result, bail};
use domain::memory::MAX_MEMORY_CHARS;
use domain::{
    Authorship, BodyForm, ContainerId, CustomId, DocumentId, DocumentStatus, DocumentType,
    Dreaming, Metadata, Pack, Statement, TaskType, Timestamp, TopicId, Trust,
};
use memory_model::statement_from_client;
use serde_json::{Map, Value};
use service::{BodyCopy, CLIENT_EXTRACTOR, DocumentCopy, ServedCopy, StatementsCopy};

/// A memory of another service.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ForeignMemory {
    /// The name of the service.
    pub(super) service: &'static str,
    /// The id of the memory in that service.
    pub(super) id: Option<String>,
    pub(super) text: String,
    pub(super) said_at: Option<Timestamp>,
    pub(super) forget_after: Option<Timestamp>,
    pub(super) forget_reason: Option<String>,
    pub(super) metadata: Map<String, Value>,
}

impl ForeignMemory {
    /// Returns a document that states only this memory, as if a client had written it as a memory.
    /// Its customId is derived from the original id, so that a repeated import recognizes it.
    pub(super) fn into_document(
        self,
        container: &ContainerId,
        now: Timestamp,
    ) -> Result<DocumentCopy> {
        let characters = self.text.chars().count();
        if characters > MAX_MEMORY_CHARS {
            bail!("a memory has at most {MAX_MEMORY_CHARS} characters, and this one {characters}");
        }

        let created_at = self.said_at.unwrap_or(now);
        let custom_id = CustomId::parse_conversation_id(&self.custom_id(container))?;
        let text = self.text.clone();
        let body = Some(BodyCopy {
            form: BodyForm::Text,
            text: Some(text.clone()),
            base64: None,
        });

        Ok(DocumentCopy {
            id: DocumentId::random(),
            keeps_id: false,
            container_id: container.clone(),
            custom_id: Some(custom_id),
            status: DocumentStatus::Done,
            failure: None,
            revision_number: 1,
            created_at,
            updated_at: now,
            indexed_at: None,
            kind: DocumentType::Text,
            title: None,
            properties: BTreeMap::new(),
            url: None,
            metadata: Map::new(),
            filepath: None,
            filter_by_metadata: None,
            task_type: TaskType::Memory,
            dreaming: Dreaming::Instant,
            document_date: None,
            provenance: None,
            body,
            served: Some(served_copy(text, self.statement(created_at)?)),
        })
    }

    fn custom_id(&self, container: &ContainerId) -> String {
        if let Some(id) = &self.id {
            return format!("{}:{id}", self.service);
        }

        // Without an id, the text and the time identify the memory.
        let said_at = match self.said_at {
            Some(said_at) => said_at.to_string(),
            None => String::new(),
        };
        let digest = TopicId::derived(container, &[&self.text, &said_at]);
        format!("{}:{digest}", self.service)
    }

    fn statement(self, said_at: Timestamp) -> Result<Statement> {
        let metadata = Metadata::parse(self.metadata)?;
        Ok(Statement {
            forget_after: self.forget_after,
            forget_reason: self.forget_reason,
            metadata: metadata.as_object().clone(),
            ..statement_from_client(self.text, said_at)
        })
    }
}

/// Returns the served state of a written memory: one statement, and no chunks.
fn served_copy(text: String, statement: Statement) -> ServedCopy {
    ServedCopy {
        is_current: true,
        kind: DocumentType::Text,
        title: None,
        pack: Pack {
            v: Pack::VERSION,
            model: String::new(),
            chosen_model: None,
            text,
            chunks: Vec::new(),
        },
        learned: Some(StatementsCopy {
            extractor: CLIENT_EXTRACTOR.into(),
            fallback_reason: None,
            statements: vec![statement],
        }),
        authorship: Some(Authorship::own_words(Trust::Client)),
        summary: None,
    }
}

/// Returns a text field, unless it is absent or blank.
pub(super) fn text_field(object: &Map<String, Value>, name: &str) -> Option<String> {
    let text = object.get(name)?.as_str()?;
    (!text.trim().is_empty()).then(|| text.to_owned())
}

/// Returns the time in the first of these fields that has one. A time without an offset counts as
/// UTC.
pub(super) fn time_field(object: &Map<String, Value>, names: &[&str]) -> Result<Option<Timestamp>> {
    let Some((name, text)) = names
        .iter()
        .find_map(|name| Some((name, text_field(object, name)?)))
    else {
        return Ok(None);
    };
    let time = parse_time(name, &text).context("a time cannot be read")?;
    Ok(Some(time))
}

fn parse_time(name: &str, text: &str) -> domain::Result<Timestamp> {
    let error = match Timestamp::parse(name, text) {
        Ok(time) => return Ok(time),
        Err(error) => error,
    };

    // Python writes a time without a zone like this, sometimes with a space in the middle.
    match Timestamp::parse(name, &format!("{}Z", text.replacen(' ', "T", 1))) {
        Ok(time) => Ok(time),
        Err(_) => Err(error),
    }
}

/// Converts metadata to the rules of this service. Characters that keys may not contain become
/// underscores, nested values become JSON text, and only nulls are dropped.
pub(super) fn convert_metadata(source: Option<&Value>) -> Map<String, Value> {
    let mut metadata = Map::new();
    let Some(Value::Object(fields)) = source else {
        return metadata;
    };
    for (name, value) in fields {
        if !value.is_null() {
            metadata.insert(convert_key(name), flatten_value(value));
        }
    }

    metadata
}

/// Copies fields of a record into the metadata, unless it has such a name already.
pub(super) fn add_fields(
    metadata: &mut Map<String, Value>,
    record: &Map<String, Value>,
    names: &[&str],
) {
    for name in names {
        let Some(value) = record.get(*name) else {
            continue;
        };
        let is_empty = value.is_null() || *value == Value::Array(Vec::new());
        if !is_empty && !metadata.contains_key(*name) {
            metadata.insert((*name).to_owned(), flatten_value(value));
        }
    }
}

fn convert_key(name: &str) -> String {
    let is_allowed =
        |character: char| character.is_ascii_alphanumeric() || "_.-".contains(character);
    let mut key = String::new();
    for character in name.chars().take(64) {
        key.push(if is_allowed(character) {
            character
        } else {
            '_'
        });
    }

    if key.is_empty() { "_".into() } else { key }
}

fn flatten_value(value: &Value) -> Value {
    match value {
        Value::Array(items) if items.iter().all(Value::is_string) => value.clone(),
        Value::Array(_) | Value::Object(_) | Value::Null => Value::String(value.to_string()),
        Value::String(_) | Value::Number(_) | Value::Bool(_) => value.clone(),
    }
}
