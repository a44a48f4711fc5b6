//! Imports the files of other services.

use anyhow::{Context, Result, bail};
use domain::{ContainerId, ContainerTag, CustomId, Revision, Tenant, Timestamp};
use indicatif::ProgressBar;
use serde_json::{Map, Value};
use service::Ctx;
use service::{
    ContainerScope, DocumentCopy, NewDocument, create_container, find_document, import_documents,
    submit_document,
};

use super::convert::ForeignMemory;
use super::import::{ImportFormat, ImportOptions, ImportReport};
use super::{mem0, zep};

/// The number of documents that are written at a time.
const BATCH_DOCUMENTS: usize = 100;
/// The fields that contain lists of records.
const LIST_FIELDS: [&str; 9] = [
    "results",
    "memories",
    "sessions",
    "threads",
    "edges",
    "facts",
    "relevant_facts",
    "items",
    "data",
];
const ACCEPTED: &str = "accepted are: an export of recollect; memories of mem0, as a list or {\"results\": […]} of \
    {\"id\", \"memory\", \"created_at\", …}; of Zep sessions or threads {\"session_id\", \"messages\": […]} and facts \
    or edges {\"uuid\", \"fact\", \"valid_at\", …}; each as JSON, or as one object a line";

/// Records of other services, each with its position in the file, from 1.
#[derive(Debug, Default, PartialEq)]
pub(super) struct ForeignRecords {
    /// The memories of mem0.
    pub(super) memories: Vec<(usize, Map<String, Value>)>,
    /// The sessions and threads of Zep.
    pub(super) sessions: Vec<(usize, Map<String, Value>)>,
    /// The facts of Zep.
    pub(super) facts: Vec<(usize, Map<String, Value>)>,
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
        let foreign_record = match format {
            ImportFormat::Mem0 => first_zep_record,
            ImportFormat::Zep => records.memories.first(),
            ImportFormat::Auto | ImportFormat::Recollect => None,
        };

        if let Some((position, _)) = foreign_record {
            bail!("record {position} is of another service than --format says; leave --format out");
        }

        Ok(records)
    }

    fn len(&self) -> usize {
        self.memories.len() + self.sessions.len() + self.facts.len()
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

        if matches!(object.get("memory"), Some(Value::String(_))) {
            self.memories.push((position, object));
            return Ok(());
        }
        if matches!(object.get("fact"), Some(Value::String(_))) {
            self.facts.push((position, object));
            return Ok(());
        }

        let has_lists = self.add_lists(&object)?;
        if matches!(object.get("messages"), Some(Value::Array(_))) {
            self.sessions.push((position, object));
        } else if !has_lists {
            bail!("record {position} is of no known shape; {ACCEPTED}");
        }

        Ok(())
    }

    /// Adds the records in the lists of an object. Returns `false` if the object has no lists.
    fn add_lists(&mut self, object: &Map<String, Value>) -> Result<bool> {
        let mut has_lists = false;
        for name in LIST_FIELDS {
            let Some(Value::Array(items)) = object.get(name) else {
                continue;
            };
            has_lists = true;
            for item in items {
                match item {
                    // Version 2 of Zep also has facts as bare sentences.
                    Value::String(fact) if name == "facts" => {
                        self.add_record(serde_json::json!({"fact": fact, "created_at": object.get("created_at")}))?;
                    }
                    item => self.add_record(item.clone())?,
                }
            }
        }

        Ok(has_lists)
    }
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

/// Imports a file of another service. The whole file is read and checked before anything is
/// written.
pub(super) async fn import_foreign(
    ctx: &Ctx,
    tenant: &Tenant,
    text: &str,
    options: &ImportOptions,
    bar: &ProgressBar,
) -> Result<ImportReport> {
    let records = ForeignRecords::read_records(text, options.format)?;
    let tag = target_tag(&records, options)?;
    let existing = ctx.containers.get(tenant, &tag).await?;
    let id = match &existing {
        Some(existing) => existing.primary_id().clone(),
        None => ContainerId::random(),
    };

    let mut report = ImportReport::new(tag.clone());
    let documents = convert_memories(ctx, &records, &id, &mut report)?;
    let conversations = convert_conversations(&records, &tag, &mut report)?;
    let container = match existing {
        Some(existing) => existing,
        None => create_container(ctx, tenant, &tag, id, ctx.clock.now()).await?,
    };

    // The bar has counted bytes while the file was read.
    bar.reset();
    bar.set_length((documents.len() + conversations.len()) as u64);
    for batch in documents.chunks(BATCH_DOCUMENTS) {
        report.documents += import_documents(ctx, tenant, &container, batch.to_vec()).await?;
        bar.inc(batch.len() as u64);
    }

    for (position, conversation) in conversations {
        let is_new = submit_if_new(ctx, tenant, &tag, conversation).await;
        if is_new.with_context(|| format!("record {position} of the file"))? {
            report.documents.queued += 1;
        } else {
            report.documents.already_present += 1;
        }
        bar.inc(1);
    }

    Ok(report)
}

/// Returns the container tag for the file. Memories of several users need an explicit tag.
fn target_tag(records: &ForeignRecords, options: &ImportOptions) -> Result<ContainerTag> {
    if let Some(tag) = &options.tag {
        return Ok(tag.clone());
    }

    let users = mem0::user_ids(&records.memories);
    if users.len() > 1 {
        let some_users: Vec<&str> = users.iter().take(3).map(String::as_str).collect();
        bail!(
            "the file has memories of {} users ({}, …), which would become one container: export each user alone, or \
             say --container-tag if that is what you want",
            users.len(),
            some_users.join(", ")
        );
    }

    Ok(ContainerTag::default_tag())
}

/// Converts the sessions to conversations, each with its position in the file.
fn convert_conversations(
    records: &ForeignRecords,
    tag: &ContainerTag,
    report: &mut ImportReport,
) -> Result<Vec<(usize, NewDocument)>> {
    let mut conversations = Vec::new();
    for (position, session) in &records.sessions {
        let conversation = zep::conversation_of_session(tag, session);
        match conversation.with_context(|| format!("record {position} of the file"))? {
            Some(conversation) => conversations.push((*position, conversation)),
            None => report.documents.without_content += 1,
        }
    }

    Ok(conversations)
}

/// Submits a conversation for processing. Returns `false` if it contains nothing new.
async fn submit_if_new(
    ctx: &Ctx,
    tenant: &Tenant,
    tag: &ContainerTag,
    document: NewDocument,
) -> Result<bool> {
    let custom_id = document.custom_id.clone();
    let revision_before = current_revision(ctx, tenant, tag, custom_id.as_ref()).await?;
    submit_document(ctx, tenant, document).await?;
    Ok(revision_before != current_revision(ctx, tenant, tag, custom_id.as_ref()).await?)
}

/// Converts the memories to documents.
fn convert_memories(
    ctx: &Ctx,
    records: &ForeignRecords,
    container: &ContainerId,
    report: &mut ImportReport,
) -> Result<Vec<DocumentCopy>> {
    let now = ctx.clock.now();
    let memories = records
        .memories
        .iter()
        .map(|(position, record)| (position, mem0::memory_of_record(record)));
    let facts = records
        .facts
        .iter()
        .map(|(position, record)| (position, zep::memory_of_fact(record)));
    let mut documents = Vec::new();
    for (position, memory) in memories.chain(facts) {
        let document = convert_memory(memory, container, now);
        match document.with_context(|| format!("record {position} of the file"))? {
            Some(document) => documents.push(document),
            None => report.documents.without_content += 1,
        }
    }

    Ok(documents)
}

/// Converts a memory to a document. Returns `None` if the record was blank.
fn convert_memory(
    memory: Result<Option<ForeignMemory>>,
    container: &ContainerId,
    now: Timestamp,
) -> Result<Option<DocumentCopy>> {
    match memory? {
        Some(memory) => Ok(Some(memory.into_document(container, now)?)),
        None => Ok(None),
    }
}

/// Returns the revision of the document with this customId in the container.
async fn current_revision(
    ctx: &Ctx,
    tenant: &Tenant,
    tag: &ContainerTag,
    custom_id: Option<&CustomId>,
) -> Result<Option<Revision>> {
    let Some(custom_id) = custom_id else {
        return Ok(None);
    };
    let scope = ContainerScope {
        tags: vec![tag.clone()],
    };
    match find_document(ctx, tenant, custom_id.as_str(), &scope).await {
        Ok(document) => Ok(Some(document.revision)),
        Err(domain::Error::NotFound(_)) => Ok(None),
        Err(error) => Err(error.into()),
    }
}
