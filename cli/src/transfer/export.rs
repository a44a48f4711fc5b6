//! Exports a container.

use std::io::Write;

use anyhow::{Context, Result, bail};
use container_index::{IndexedMemories, ViewCache};
use domain::{Container, ContainerTag, Document, DocumentId, Error, Tenant, Timestamp};
use futures::stream::{self, StreamExt, TryStreamExt};
use indicatif::ProgressBar;
use service::Ctx;
use service::{ContainerCopy, CopyOutcome, copy_document, find_existing_container, report_damage};

use super::lines::{EditLine, EndLine, ExportLine, Header, MemoryLine, VERSION};

/// The number of documents that are read at the same time. The largest have 50 MB.
const PARALLEL: usize = 4;
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
    write_line(
        out,
        &ExportLine::Container(&ContainerCopy::from(&container)),
    )?;
    write_line(out, &ExportLine::Settings(&ctx.settings.get(tenant).await?))?;
    let cache: ViewCache<IndexedMemories<()>> = ViewCache::new(0);
    let (mut rooms, mut documents) = (Vec::new(), Vec::new());
    for id in &container.ids {
        documents.extend(ctx.documents.list(tenant, id).await?);
        rooms.push((id.clone(), cache.open(ctx, tenant, id).await?));
    }

    let mut end = EndLine {
        documents: 0,
        actions: 0,
        memories: 0,
    };

    let (written, damaged) = write_documents(ctx, tenant, documents, &rooms, out, bar).await?;
    end.documents = written;
    for id in container.ids.iter().filter(|_| !damaged.is_empty()) {
        report_damage(ctx, tenant, id, &damaged).await;
    }

    for (id, room) in &rooms {
        for action in room.ledger().list_edits() {
            write_line(
                out,
                &ExportLine::Action(EditLine {
                    container_id: id.clone(),
                    action,
                }),
            )?;
            end.actions += 1;
        }
    }

    for (_, room) in &rooms {
        for memory in room.ledger().memories() {
            write_line(out, &ExportLine::Memory(MemoryLine::new(memory)))?;
            end.memories += 1;
        }
    }

    write_line(out, &ExportLine::End(end))?;
    out.flush().context("write the export")?;

    Ok(ExportReport {
        documents: end.documents,
        edits: end.actions,
        memories: end.memories,
        damaged,
    })
}

async fn find_container(ctx: &Ctx, tenant: &Tenant, tag: &ContainerTag) -> Result<Container> {
    match find_existing_container(ctx, tenant, tag).await {
        Err(Error::NotFound(_)) => {
            let all = ctx.containers.list(tenant).await?;
            let some: Vec<&str> = all
                .iter()
                .take(TAGS_SHOWN)
                .map(|other| other.tag.as_str())
                .collect();
            let more = if all.len() > TAGS_SHOWN { ", …" } else { "" };
            match some.as_slice() {
                [] => bail!(
                    "there is no container yet in the organization {}; look at --data and --org",
                    tenant.org()
                ),
                some => bail!(
                    "there is no container tag {tag}; there are: {}{more}",
                    some.join(", ")
                ),
            }
        }
        found => Ok(found?),
    }
}

type Room = (domain::ContainerId, IndexedMemories<()>);

async fn write_documents(
    ctx: &Ctx,
    tenant: &Tenant,
    mut documents: Vec<Document>,
    rooms: &[Room],
    out: &mut (dyn Write + Send),
    bar: &ProgressBar,
) -> Result<(usize, Vec<DocumentId>)> {
    documents.sort_by(|a, b| (a.created_at, &a.id).cmp(&(b.created_at, &b.id)));
    bar.set_length(documents.len() as u64);
    let copy = |document: Document| async move {
        let id = document.id.clone();
        copy_document(ctx, tenant, document)
            .await
            .map(|copied| (id, copied))
    };

    let mut copies = stream::iter(documents).map(copy).buffered(PARALLEL);
    let (mut written, mut damaged) = (0, Vec::new());
    while let Some((id, copied)) = copies.try_next().await? {
        bar.inc(1);
        let mut copy = match copied {
            CopyOutcome::Copied(copy) => copy,
            CopyOutcome::Deleted => continue,
            CopyOutcome::Damaged => {
                damaged.push(id);
                continue;
            }
        };
        let room = rooms.iter().find(|(id, _)| *id == copy.container_id);
        let told = room.and_then(|(_, room)| room.ledger().document_statements(&copy.id));
        let shown = told.map(|told| Timestamp::from_millis(told.document.updated_at));
        copy.indexed_at = shown.filter(|shown| *shown != copy.updated_at);
        write_line(out, &ExportLine::Document(&copy))?;
        written += 1;
    }

    Ok((written, damaged))
}

fn write_line(out: &mut (dyn Write + Send), line: &ExportLine<'_>) -> Result<()> {
    serde_json::to_writer(&mut *out, line).context("write the export")?;
    out.write_all(b"\n").context("write the export")
}
