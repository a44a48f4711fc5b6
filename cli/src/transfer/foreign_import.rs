//! Imports the files of other services. Each user's records get a container of their own.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use domain::{ContainerId, ContainerTag, CustomId, Revision, Tenant, Timestamp};
use indicatif::ProgressBar;
use serde_json::{Map, Value};
use service::{
    ContainerScope, Ctx, DocumentCopy, NewDocument, create_container, find_document,
    import_documents, submit_document,
};
use sha2::{Digest, Sha256};

use super::convert::{ForeignMemory, text_field};
use super::foreign_records::{ForeignRecords, OWNER_FIELDS, TAGS_FIELD};
use super::import::{ImportOptions, ImportReport};
use super::{hosted, mem0, zep};

/// The number of documents that are written at a time.
const BATCH_DOCUMENTS: usize = 100;
/// The number of characters of a digest that keeps apart the tags of different names.
const DIGEST_CHARS: usize = 8;

/// What is written to one container.
#[derive(Default)]
struct ContainerImport {
    /// The memories, each with its position in the file.
    memories: Vec<(usize, ForeignMemory)>,
    /// The documents to process, each with its position in the file.
    documents: Vec<(usize, NewDocument)>,
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
    let mut report = ImportReport::default();
    let imports = sort_by_container(&records, options, &mut report)?;

    // The bar has counted bytes while the file was read.
    bar.reset();
    let count = |import: &ContainerImport| import.memories.len() + import.documents.len();
    bar.set_length(imports.values().map(count).sum::<usize>() as u64);
    for (tag, import) in imports {
        import_container(ctx, tenant, &tag, import, &mut report, bar).await?;
        report.tags.push(tag);
    }

    if report.tags.is_empty() {
        report.tags.push(default_tag(options));
    }
    Ok(report)
}

fn default_tag(options: &ImportOptions) -> ContainerTag {
    options
        .tag
        .clone()
        .unwrap_or_else(ContainerTag::default_tag)
}

/// Converts the records, and sorts them by their containers.
fn sort_by_container(
    records: &ForeignRecords,
    options: &ImportOptions,
    report: &mut ImportReport,
) -> Result<BTreeMap<ContainerTag, ContainerImport>> {
    let mut imports: BTreeMap<ContainerTag, ContainerImport> = BTreeMap::new();
    let at = |position: usize| format!("record {position} of the file");

    for (position, record) in &records.memories {
        if let Some(reason) = hosted::reason_against_memory(record) {
            report.leave_out(reason);
            continue;
        }
        let memory = mem0::memory_of_record(record).with_context(|| at(*position))?;
        add_memory(&mut imports, options, (*position, record), memory, report);
    }
    for (position, record) in &records.facts {
        let memory = zep::memory_of_fact(record).with_context(|| at(*position))?;
        add_memory(&mut imports, options, (*position, record), memory, report);
    }

    for (position, record) in &records.sessions {
        let tag = tags_of(record, options).swap_remove(0);
        let conversation = zep::conversation_of_session(&tag, record);
        match conversation.with_context(|| at(*position))? {
            Some(conversation) => {
                let import = imports.entry(tag).or_default();
                import.documents.push((*position, conversation));
            }
            None => report.documents.without_content += 1,
        }
    }

    for (position, record) in &records.documents {
        let tags = tags_of(record, options);
        let import = imports.entry(tags[0].clone()).or_default();
        let document = hosted::document_of_record(tags, record).with_context(|| at(*position))?;
        match document {
            Some(document) => import.documents.push((*position, document)),
            None => {
                add_entries(import, (*position, record), report).with_context(|| at(*position))?
            }
        }
    }

    imports.retain(|_, import| !import.memories.is_empty() || !import.documents.is_empty());
    Ok(imports)
}

fn add_memory(
    imports: &mut BTreeMap<ContainerTag, ContainerImport>,
    options: &ImportOptions,
    (position, record): (usize, &Map<String, Value>),
    memory: Option<ForeignMemory>,
    report: &mut ImportReport,
) {
    match memory {
        Some(memory) => {
            let tag = tags_of(record, options).swap_remove(0);
            let import = imports.entry(tag).or_default();
            import.memories.push((position, memory));
        }
        None => report.documents.without_content += 1,
    }
}

/// Adds the memories of a document whose content is not in the file.
fn add_entries(
    import: &mut ContainerImport,
    (position, record): (usize, &Map<String, Value>),
    report: &mut ImportReport,
) -> Result<()> {
    report.leave_out("documents without content; list them with `includeContent`");
    for entry in hosted::memory_entries(record) {
        match hosted::reason_against_memory(entry) {
            Some(reason) => report.leave_out(reason),
            None => {
                let memory = mem0::memory_of_record(entry)?;
                import
                    .memories
                    .extend(memory.map(|memory| (position, memory)));
            }
        }
    }
    Ok(())
}

/// Returns the container tags of a record: those that the options or the record name, or that of its
/// user, or the default one.
fn tags_of(record: &Map<String, Value>, options: &ImportOptions) -> Vec<ContainerTag> {
    if let Some(tag) = &options.tag {
        return vec![tag.clone()];
    }

    let mut tags: Vec<ContainerTag> = Vec::new();
    let listed = record.get(TAGS_FIELD).and_then(Value::as_array);
    for name in listed.into_iter().flatten().filter_map(Value::as_str) {
        let tag = tag_of_name(name);
        if !tags.contains(&tag) {
            tags.push(tag);
        }
    }
    if tags.is_empty() {
        let name = OWNER_FIELDS
            .iter()
            .find_map(|name| text_field(record, name));
        tags.push(name.map_or_else(ContainerTag::default_tag, |name| tag_of_name(&name)));
    }
    tags
}

/// Returns the container tag for a name of another service. Characters that tags do not allow become
/// underscores; a digest then keeps the names apart.
fn tag_of_name(name: &str) -> ContainerTag {
    if let Ok(tag) = ContainerTag::parse(name) {
        return tag;
    }

    let is_allowed = |c: &char| c.is_ascii_alphanumeric() || "_:.-".contains(*c);
    let replaced = name
        .chars()
        .take(80)
        .map(|c| if is_allowed(&c) { c } else { '_' });
    let replaced: String = replaced.collect();
    let digest = hex::encode(Sha256::digest(name));
    let tag = format!("{replaced}-{}", &digest[..DIGEST_CHARS]);
    ContainerTag::parse(&tag).expect("its characters and its length are those of a tag")
}

async fn import_container(
    ctx: &Ctx,
    tenant: &Tenant,
    tag: &ContainerTag,
    import: ContainerImport,
    report: &mut ImportReport,
    bar: &ProgressBar,
) -> Result<()> {
    let existing = ctx.containers.get(tenant, tag).await?;
    let id = match &existing {
        Some(existing) => existing.primary_id().clone(),
        None => ContainerId::random(),
    };
    let copies = copies_of(import.memories, &id, ctx.clock.now())?;
    let container = match existing {
        Some(existing) => existing,
        None => create_container(ctx, tenant, tag, id, ctx.clock.now()).await?,
    };

    for batch in copies.chunks(BATCH_DOCUMENTS) {
        report.documents += import_documents(ctx, tenant, &container, batch.to_vec()).await?;
        bar.inc(batch.len() as u64);
    }
    for (position, mut document) in import.documents {
        leave_others_alone(ctx, tenant, tag, &mut document).await?;
        let is_new = submit_if_new(ctx, tenant, tag, document).await;
        if is_new.with_context(|| format!("record {position} of the file"))? {
            report.documents.queued += 1;
        } else {
            report.documents.already_present += 1;
        }
        bar.inc(1);
    }

    Ok(())
}

fn copies_of(
    memories: Vec<(usize, ForeignMemory)>,
    container: &ContainerId,
    now: Timestamp,
) -> Result<Vec<DocumentCopy>> {
    let mut copies = Vec::with_capacity(memories.len());
    for (position, memory) in memories {
        let copy = memory.into_document(container, now);
        copies.push(copy.with_context(|| format!("record {position} of the file"))?);
    }
    Ok(copies)
}

/// Gives a document another customId if a document of another container has its own, which would be
/// replaced.
async fn leave_others_alone(
    ctx: &Ctx,
    tenant: &Tenant,
    tag: &ContainerTag,
    document: &mut NewDocument,
) -> Result<()> {
    let Some(custom_id) = &document.custom_id else {
        return Ok(());
    };
    if current_revision(ctx, tenant, tag, custom_id)
        .await?
        .is_some()
    {
        return Ok(());
    }

    let anywhere = ContainerScope::default();
    let other = find_document(ctx, tenant, custom_id.as_str(), &anywhere).await;
    // In an organization with too many containers to look into, a document that only its container
    // leads to is not found. A new document does not replace it either.
    let is_free = matches!(
        other,
        Err(domain::Error::NotFound(_) | domain::Error::Invalid { .. })
    );
    if !is_free {
        let own_id = format!("{tag}:{custom_id}");
        document.custom_id = Some(CustomId::parse_conversation_id(&own_id)?);
    }
    Ok(())
}

/// Submits a document for processing. Returns `false` if it contains nothing new.
async fn submit_if_new(
    ctx: &Ctx,
    tenant: &Tenant,
    tag: &ContainerTag,
    document: NewDocument,
) -> Result<bool> {
    let Some(custom_id) = document.custom_id.clone() else {
        submit_document(ctx, tenant, document).await?;
        return Ok(true);
    };
    let revision_before = current_revision(ctx, tenant, tag, &custom_id).await?;
    submit_document(ctx, tenant, document).await?;
    Ok(revision_before != current_revision(ctx, tenant, tag, &custom_id).await?)
}

/// Returns the revision of the document with this customId in the container.
async fn current_revision(
    ctx: &Ctx,
    tenant: &Tenant,
    tag: &ContainerTag,
    custom_id: &CustomId,
) -> Result<Option<Revision>> {
    let scope = ContainerScope {
        tags: vec![tag.clone()],
    };
    match find_document(ctx, tenant, custom_id.as_str(), &scope).await {
        Ok(document) => Ok(Some(document.revision)),
        Err(domain::Error::NotFound(_)) => Ok(None),
        Err(error) => Err(error.into()),
    }
}
