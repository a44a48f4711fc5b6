//! Imports an export.

use std::collections::{BTreeMap, HashSet};

use anyhow::{Context, Result, anyhow, bail};
use domain::{Container, ContainerId, ContainerTag, MemoryEdit, ProfileBucket, Settings, Tenant};
use serde::de::DeserializeOwned;
use service::Ctx;
use service::{
    ContainerCopy, DocumentCopy, apply_memory_edits, change_settings, check_still_importable,
    import_container, import_documents,
};

use super::ContainerReader;
use super::export_lines::{EditLine, EndLine, HEADER_TYPE, Header, LineType, VERSION};
use super::import::{ImportOptions, ImportReport, Lines};
use crate::counts::count;

/// The number of documents, or of bytes of lines, that are read before they are written.
const BATCH_DOCUMENTS: usize = 100;
const BATCH_BYTES: usize = 32 * 1024 * 1024;

pub(super) async fn restore_export(
    ctx: &Ctx,
    tenant: &Tenant,
    first_line: &str,
    mut lines: Lines<'_>,
    options: &ImportOptions,
) -> Result<ImportReport> {
    let header = read_header(first_line).context("line 1")?;
    let tag = match &options.tag {
        Some(tag) => tag.clone(),
        None => ContainerTag::parse(&header.container_tag).context("line 1")?,
    };

    let mut restore = Restore {
        ctx,
        tenant,
        options,
        report: ImportReport {
            tags: vec![tag.clone()],
            ..ImportReport::default()
        },
        tag,
        container: None,
        documents: Vec::new(),
        bytes: 0,
        edits: Vec::new(),
        is_complete: false,
    };

    let result = restore.read_lines(&mut lines).await;
    // The lines before a broken one are imported.
    restore.write_batch().await?;
    result?;
    if !restore.is_complete {
        bail!(
            "the file ends without its last line, so it is not whole; what it has is imported ({})",
            count(
                restore.report.documents.written + restore.report.documents.queued,
                "document"
            )
        );
    }

    Ok(restore.report)
}

fn read_header(first_line: &str) -> Result<Header> {
    let line_type: LineType = parse_line(first_line)?;
    if line_type.r#type != HEADER_TYPE {
        bail!("an export begins with a line of the type {HEADER_TYPE}");
    }
    let header: Header = parse_line(first_line)?;
    if header.version > VERSION {
        bail!(
            "this export has version {} of the format and was written by a newer recollect; this one reads up to {VERSION}",
            header.version
        );
    }
    Ok(header)
}

fn parse_line<T: DeserializeOwned>(line: &str) -> Result<T> {
    serde_json::from_str(line).context("this is not a line of an export")
}

struct Restore<'a> {
    ctx: &'a Ctx,
    tenant: &'a Tenant,
    options: &'a ImportOptions,
    tag: ContainerTag,
    report: ImportReport,
    container: Option<Container>,
    /// Read, but not written yet.
    documents: Vec<DocumentCopy>,
    bytes: usize,
    edits: Vec<(ContainerId, MemoryEdit)>,
    is_complete: bool,
}

impl Restore<'_> {
    async fn read_lines(&mut self, lines: &mut Lines<'_>) -> Result<()> {
        let mut first_number = lines.number + 1;
        while let Some(line) = lines.next()? {
            self.take_line(&line)
                .await
                .with_context(|| format!("line {}", lines.number))?;
            self.bytes += line.len();
            if self.documents.len() >= BATCH_DOCUMENTS || self.bytes >= BATCH_BYTES {
                self.write_batch()
                    .await
                    .with_context(|| format!("lines {first_number} to {}", lines.number))?;
                first_number = lines.number + 1;
            }
        }

        self.write_batch()
            .await
            .with_context(|| format!("lines {first_number} to {}", lines.number))
    }

    async fn take_line(&mut self, line: &str) -> Result<()> {
        if self.is_complete {
            bail!("this stands after the end of the export");
        }

        let line_type: LineType =
            serde_json::from_str(line).context("this is not a line of an export")?;
        match line_type.r#type.as_str() {
            "container" => {
                let container_copy: ContainerCopy = parse_line(line)?;
                self.container = Some(
                    import_container(self.ctx, self.tenant, &self.tag, &container_copy).await?,
                );
            }
            "settings" if self.options.replaces_settings => {
                self.take_settings(parse_line(line)?).await?
            }
            "document" => {
                let document_copy: DocumentCopy = parse_line(line)?;
                self.check_container(&document_copy.container_id)?;
                document_copy.check_importable()?;
                self.documents.push(document_copy);
            }
            "action" => {
                let EditLine {
                    container_id,
                    action: edit,
                } = parse_line(line)?;
                self.check_container(&container_id)?;
                self.edits.push((container_id, edit));
            }
            "end" => {
                let _: EndLine = parse_line(line)?;
                self.is_complete = true;
            }
            // Memories are computed from documents and edits.
            "settings" | "memory" => {}
            other => bail!("there is no line of the type {other:?} in an export"),
        }
        Ok(())
    }

    fn check_container(&self, id: &ContainerId) -> Result<()> {
        let container = self
            .container
            .as_ref()
            .ok_or_else(|| anyhow!("the line of the container is missing"))?;
        if !container.ids.contains(id) {
            bail!("this belongs to another container ({id}) than the one of this export");
        }
        Ok(())
    }

    async fn take_settings(&mut self, settings: Settings) -> Result<()> {
        ProfileBucket::check_buckets(
            "profileBuckets",
            settings.profile_buckets.as_deref().unwrap_or_default(),
        )?;
        change_settings(self.ctx, self.tenant, |current| {
            *current = settings.clone().imported_over(current);
            Ok(())
        })
        .await?;
        self.report.settings_replaced = true;
        Ok(())
    }

    /// Writes everything that has been read.
    async fn write_batch(&mut self) -> Result<()> {
        self.bytes = 0;
        let Some(container) = &self.container else {
            return Ok(());
        };

        let mut documents: BTreeMap<ContainerId, Vec<DocumentCopy>> = BTreeMap::new();
        for copy in std::mem::take(&mut self.documents) {
            let id = copy.container_id.clone();
            documents.entry(id).or_default().push(copy);
        }
        for (id, copies) in documents {
            let container = container.clone().with_primary(&id);
            let imported = import_documents(self.ctx, self.tenant, &container, copies).await?;
            self.report.documents += imported;
        }

        let mut edits: BTreeMap<ContainerId, Vec<MemoryEdit>> = BTreeMap::new();
        for (id, edit) in std::mem::take(&mut self.edits) {
            edits.entry(id).or_default().push(edit);
        }
        for (id, edits) in edits {
            check_still_importable(self.ctx, self.tenant, &container.clone().with_primary(&id))
                .await?;
            self.report.edits += apply_new_edits(self.ctx, self.tenant, &id, edits).await?;
        }

        Ok(())
    }
}

/// Applies the edits that have not been applied before. Returns their number.
async fn apply_new_edits(
    ctx: &Ctx,
    tenant: &Tenant,
    container: &ContainerId,
    edits: Vec<MemoryEdit>,
) -> Result<usize> {
    let container_reader = ContainerReader::new(ctx, tenant, container);
    let applied = container_reader.list_edits().await?;
    let applied = applied
        .iter()
        .map(serde_json::to_string)
        .collect::<Result<HashSet<String>, _>>()?;
    let mut new_edits = Vec::new();
    for edit in edits {
        if !applied.contains(&serde_json::to_string(&edit)?) {
            new_edits.push(edit);
        }
    }

    apply_memory_edits(ctx, tenant, container, &new_edits).await?;
    Ok(new_edits.len())
}
