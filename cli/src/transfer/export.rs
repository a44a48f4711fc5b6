//! Exports a container.

use std::io::Write;

use anyhow::{Context, Result, bail};
use container_index::IndexedMemories;
use domain::{Container, ContainerTag, Document, DocumentId, Error, Tenant, Timestamp};
use futures::stream::{self, StreamExt, TryStreamExt};
use indicatif::ProgressBar;
use service::Ctx;
use service::{
    CopyOutcome, DocumentCopy, copy_container, copy_document, find_existing_container,
    report_damage,
};

use super::export_lines::{EditLine, EndLine, ExportLine, Header, MemoryLine, VERSION};
use super::read_all_memories;

/// The number of documents that are read at the same time. The largest have 50 MB.
const PARALLEL_READS: usize = 4;
/// The most tags that the error about an unknown tag names.
const TAGS_SHOWN: usize = 10;

/// The contents of an export.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExportReport {
    /// The number of documents.
    pub documents: usize,
    /// The number of callers' edits of memories.
    pub edits: usize,
    /// The number of memories, including forgotten ones and old versions.
    pub memories: usize,
    /// The documents that are left out because their stored data cannot be read.
    pub damaged: Vec<DocumentId>,
}

/// Writes everything of a container tag to `out`, in an order that depends only on the stored data.
/// Documents that change meanwhile are written in their state at the time of writing. Documents
/// that cannot be read are left out and named.
///
/// # Errors
/// Fails if there is no such tag, or if something cannot be read or written.
pub async fn export_container(
    ctx: &Ctx,
    tenant: &Tenant,
    tag: &ContainerTag,
    out: &mut (dyn Write + Send),
    bar: &ProgressBar,
) -> Result<ExportReport> {
    let container = find_container(ctx, tenant, tag).await?;
    let header = Header {
        version: VERSION,
        container_tag: tag.to_string(),
        exported_at: ctx.clock.now(),
    };

    write_line(out, &ExportLine::RecollectExport(header))?;
    let container_copy = copy_container(ctx, tenant, &container).await?;
    write_line(out, &ExportLine::Container(&container_copy))?;
    write_line(out, &ExportLine::Settings(&ctx.settings.get(tenant).await?))?;
    let (mut container_memories, mut documents) = (Vec::new(), Vec::new());
    for id in &container.ids {
        documents.extend(ctx.documents.list(tenant, id).await?);
        container_memories.push((id.clone(), read_all_memories(ctx, tenant, id).await?));
    }

    let mut end_line = EndLine {
        documents: 0,
        actions: 0,
        memories: 0,
    };

    let (written, damaged) =
        write_documents(ctx, tenant, documents, &container_memories, out, bar).await?;
    end_line.documents = written;
    if !damaged.is_empty() {
        for id in &container.ids {
            report_damage(ctx, tenant, id, &damaged).await;
        }
    }

    for (id, memories) in &container_memories {
        for edit in memories.ledger().list_edits() {
            write_line(
                out,
                &ExportLine::Action(EditLine {
                    container_id: id.clone(),
                    action: edit,
                }),
            )?;
            end_line.actions += 1;
        }
    }

    for (_, memories) in &container_memories {
        for memory in memories.ledger().read_memories() {
            write_line(out, &ExportLine::Memory(MemoryLine::new(&memory)))?;
            end_line.memories += 1;
        }
    }

    write_line(out, &ExportLine::End(end_line))?;
    out.flush().context("write the export")?;

    Ok(ExportReport {
        documents: end_line.documents,
        edits: end_line.actions,
        memories: end_line.memories,
        damaged,
    })
}

async fn find_container(ctx: &Ctx, tenant: &Tenant, tag: &ContainerTag) -> Result<Container> {
    match find_existing_container(ctx, tenant, tag).await {
        Err(Error::NotFound(_)) => {
            let containers = ctx.containers.list(tenant).await?;
            let tag_names: Vec<&str> = containers
                .iter()
                .take(TAGS_SHOWN)
                .map(|container| container.tag.as_str())
                .collect();
            let ellipsis = if containers.len() > TAGS_SHOWN {
                ", …"
            } else {
                ""
            };
            match tag_names.as_slice() {
                [] => bail!(
                    "there is no container yet in the organization {}; look at --data and --org",
                    tenant.org()
                ),
                tag_names => bail!(
                    "there is no container tag {tag}; there are: {}{ellipsis}",
                    tag_names.join(", ")
                ),
            }
        }
        result => Ok(result?),
    }
}

type Room = (domain::ContainerId, IndexedMemories<()>);

async fn write_documents(
    ctx: &Ctx,
    tenant: &Tenant,
    mut documents: Vec<Document>,
    container_memories: &[Room],
    out: &mut (dyn Write + Send),
    bar: &ProgressBar,
) -> Result<(usize, Vec<DocumentId>)> {
    documents.sort_by(|a, b| (a.created_at, &a.id).cmp(&(b.created_at, &b.id)));
    bar.set_length(documents.len() as u64);
    let copy_one = |document: Document| async move {
        let id = document.id.clone();
        copy_document(ctx, tenant, document)
            .await
            .map(|outcome| (id, outcome))
    };

    let mut copies = stream::iter(documents)
        .map(copy_one)
        .buffered(PARALLEL_READS);
    let (mut written, mut damaged) = (0, Vec::new());
    while let Some((id, outcome)) = copies.try_next().await? {
        bar.inc(1);
        let mut document_copy = match outcome {
            CopyOutcome::Copied(copy) => copy,
            CopyOutcome::Deleted => continue,
            CopyOutcome::Damaged => {
                damaged.push(id);
                continue;
            }
        };

        document_copy.indexed_at = find_indexed_at(container_memories, &document_copy);
        write_line(out, &ExportLine::Document(&document_copy))?;
        written += 1;
    }

    Ok((written, damaged))
}

/// Returns the time at which the index recorded the document, if it differs from that of the
/// document's last change.
fn find_indexed_at(container_memories: &[Room], document: &DocumentCopy) -> Option<Timestamp> {
    let (_, memories) = container_memories
        .iter()
        .find(|(id, _)| *id == document.container_id)?;
    let statements = memories.ledger().document_statements(&document.id)?;
    let indexed_at = Timestamp::from_millis(statements.document.updated_at);
    (indexed_at != document.updated_at).then_some(indexed_at)
}

fn write_line(out: &mut (dyn Write + Send), line: &ExportLine<'_>) -> Result<()> {
    serde_json::to_writer(&mut *out, line).context("write the export")?;
    out.write_all(b"\n").context("write the export")
}
