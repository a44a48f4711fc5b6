//! Exports a container.

use std::io::{self, Write};
use std::iter::zip;
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use domain::ports::DocumentListing;
use domain::{Container, ContainerTag, Document, DocumentId, Error, MemoryId, Tenant, Timestamp};
use futures::stream::{self, StreamExt, TryStreamExt};
use indicatif::ProgressBar;
use memory_model::{Ledger, Memory};
use service::{
    CopyOutcome, Ctx, EXACT_COUNT_LIMIT, copy_container, copy_document, count_documents,
    find_existing_container, report_damage,
};

use super::ContainerReader;
use super::export_lines::{EditLine, EndLine, ExportLine, Header, MemoryLine, VERSION};

/// The number of documents that are read at the same time. The largest have 50 MB.
const PARALLEL_READS: usize = 4;
/// The number of records of documents that are in memory at the same time.
const DOCUMENTS_TOGETHER: usize = 4_096;
/// The number of memories that are in memory at the same time.
const MEMORIES_TOGETHER: usize = 32_768;
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
/// Documents that change meanwhile are written in their state at the time of writing, and so are memories, which
/// an import computes anyway. Documents that cannot be read are left out and named.
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

    bar.set_position(0);
    bar.set_length(count_documents(ctx, tenant, &container, EXACT_COUNT_LIMIT).await?);
    let containers: Vec<ContainerReader<'_>> = container
        .ids
        .iter()
        .map(|id| ContainerReader::new(ctx, tenant, id))
        .collect();

    let mut end_line = EndLine {
        documents: 0,
        actions: 0,
        memories: 0,
    };
    let mut damaged = Vec::new();
    for container in &containers {
        let (written, unreadable) = write_documents(container, out, bar).await?;
        end_line.documents += written;
        if !unreadable.is_empty() {
            report_damage(ctx, tenant, container.id, &unreadable).await;
        }
        damaged.extend(unreadable);
    }
    // Edits are read after the documents, so that what is forgotten meanwhile stays forgotten.
    for container in &containers {
        end_line.actions += write_edits(container, out).await?;
    }
    for container in &containers {
        end_line.memories += write_memories(container, out).await?;
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
                    "there is no container yet in the organization {}; look at --org, and at --data or --stack",
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

/// Writes the documents of a physical container, oldest first. Returns their number, and the documents that
/// cannot be read.
async fn write_documents(
    container: &ContainerReader<'_>,
    out: &mut (dyn Write + Send),
    bar: &ProgressBar,
) -> Result<(usize, Vec<DocumentId>)> {
    let (ctx, tenant) = (container.ctx, container.tenant);
    let (mut written, mut damaged) = (0, Vec::new());
    let mut after: Option<String> = None;
    loop {
        let (documents, next) = list_documents(container, after).await?;
        let indexed_at = read_indexed_at(container, &documents).await?;

        let mut copies = Vec::with_capacity(documents.len());
        for (document, indexed_at) in zip(documents, indexed_at) {
            let id = document.id.clone();
            let copy = copy_document(ctx, tenant, document);
            copies.push(async move { copy.await.map(|outcome| (id, indexed_at, outcome)) });
        }
        let mut copies = stream::iter(copies).buffered(PARALLEL_READS);
        while let Some((id, indexed_at, outcome)) = copies.try_next().await? {
            bar.inc(1);
            match outcome {
                CopyOutcome::Copied(mut copy) => {
                    // Most documents are indexed at the time of their last change.
                    copy.indexed_at = indexed_at.filter(|time| *time != copy.updated_at);
                    write_line(out, &ExportLine::Document(&copy))?;
                    written += 1;
                }
                CopyOutcome::Deleted => {}
                CopyOutcome::Damaged => damaged.push(id),
            }
        }

        after = next;
        if after.is_none() {
            return Ok((written, damaged));
        }
    }
}

/// Returns the next documents, [`DOCUMENTS_TOGETHER`] of them unless there are no more, and the position after
/// them.
async fn list_documents(
    container: &ContainerReader<'_>,
    mut after: Option<String>,
) -> Result<(Vec<Document>, Option<String>)> {
    let (tenant, id) = (container.tenant, container.id);
    let mut documents = Vec::new();
    loop {
        let missing = DOCUMENTS_TOGETHER - documents.len();
        let oldest_first = DocumentListing::OldestFirst;
        let stored = &container.ctx.documents;
        let page = stored.list_page(tenant, id, oldest_first, after.as_deref(), missing);
        let (page, next) = page.await?;
        documents.extend(page);
        if next.is_none() || documents.len() >= DOCUMENTS_TOGETHER {
            return Ok((documents, next));
        }
        after = next;
    }
}

/// Returns the time at which the statements of each document were recorded, `None` for one without statements.
async fn read_indexed_at(
    container: &ContainerReader<'_>,
    documents: &[Document],
) -> Result<Vec<Option<Timestamp>>> {
    if documents.is_empty() {
        return Ok(Vec::new());
    }
    let read = |ledger: &Ledger| {
        let statements = documents
            .iter()
            .map(|document| ledger.document_statements(&document.id));
        let times = statements.map(|held| Some(held?.document.updated_at));
        times.map(|time| time.map(Timestamp::from_millis)).collect()
    };
    Ok(container.read_memories(read).await?)
}

/// Writes the edits of memories of a physical container. Returns their number.
async fn write_edits(
    container: &ContainerReader<'_>,
    out: &mut (dyn Write + Send),
) -> Result<usize> {
    let edits = container.list_edits().await?;
    let written = edits.len();
    for action in edits {
        let container_id = container.id.clone();
        let line = EditLine {
            container_id,
            action,
        };
        write_line(out, &ExportLine::Action(line))?;
    }
    Ok(written)
}

/// Writes the memories of a physical container, in the order of their ids. Returns their number.
async fn write_memories(
    container: &ContainerReader<'_>,
    out: &mut (dyn Write + Send),
) -> Result<usize> {
    let mut written = 0;
    for beginning in container.id_beginnings().await? {
        let list = |ledger: &Ledger| ledger.memory_ids(beginning);
        let ids: Vec<MemoryId> = container.read_memories(list).await?.into_iter().collect();
        for together in ids.chunks(MEMORIES_TOGETHER) {
            let read = |ledger: &Ledger| -> Vec<Arc<Memory>> {
                together.iter().filter_map(|id| ledger.get(id)).collect()
            };
            for memory in container.read_memories(read).await? {
                write_line(out, &ExportLine::Memory(MemoryLine::new(&memory)))?;
                written += 1;
            }
        }
    }
    Ok(written)
}

fn write_line(out: &mut (dyn Write + Send), line: &ExportLine<'_>) -> Result<()> {
    serde_json::to_writer(&mut *out, line)
        .map_err(io::Error::from)
        .context("write the export")?;
    out.write_all(b"\n").context("write the export")
}
