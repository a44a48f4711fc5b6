//! Checks everything that is stored, and repairs what can be repaired.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use anyhow::Result;
use domain::ports::StoredBlob;
use domain::{ContainerId, ContainerOwner, Document, DocumentId, OrgId, Tenant};
use indicatif::ProgressBar;
use service::Ctx;
use service::{
    DocumentDamage, RepairOutcome, delete_orphans, find_orphans, inspect_document, repair_document,
};

use crate::inventory::{PAGE_BLOBS, visit_blobs};

/// A defect, and the repair that was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckFinding {
    /// The affected object, as in `org acme container 4yK… document 9xQ…`.
    pub location: String,
    /// The defect and its consequences.
    pub description: String,
    /// The repair, or `None` if none was needed or possible.
    pub repair: Option<String>,
}

impl fmt::Display for CheckFinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.location, self.description)?;
        match &self.repair {
            Some(repair) => write!(f, " [{repair}]"),
            None => Ok(()),
        }
    }
}

/// The extent and the findings of a check.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CheckReport {
    /// The number of organizations.
    pub organizations: usize,
    /// The number of physical containers.
    pub containers: usize,
    /// The number of documents.
    pub documents: usize,
    /// The number of blobs, whether or not anything refers to them.
    pub blobs: usize,
    /// The defects.
    pub findings: Vec<CheckFinding>,
}

/// Checks every container of every organization: its records, the blobs to which they refer, the
/// index, and blobs to which nothing refers. With `repair`, derived data is rebuilt, lost data is
/// marked as failed, and orphans are deleted. Documents that have to be processed again are queued
/// for a running server, `recollect work`, or the functions of the stack.
///
/// # Errors
/// Fails if the folder cannot be read. A container that cannot be read is a finding instead.
pub async fn check_stored_data(ctx: &Ctx, repair: bool, bar: &ProgressBar) -> Result<CheckReport> {
    let mut report = CheckReport::default();
    let blobs = list_blobs(ctx, &mut report).await?;
    for (org, blobs) in blobs {
        report.organizations += 1;
        let tenant = Tenant::for_operator(org);
        for container in find_containers(ctx, &tenant, &blobs, &mut report).await? {
            report.containers += 1;
            let result = check_container(ctx, &tenant, &container, repair, bar, &mut report).await;
            if let Err(error) = result {
                let description =
                    format!("cannot be read, so its documents were not checked: {error:#}");
                report.findings.push(CheckFinding {
                    location: describe_place(&tenant, &container, None),
                    description,
                    repair: None,
                });
            }
        }
        check_orphans(ctx, &tenant, &blobs, repair, &mut report).await?;
    }

    Ok(report)
}

async fn list_blobs(
    ctx: &Ctx,
    report: &mut CheckReport,
) -> Result<BTreeMap<OrgId, Vec<StoredBlob>>> {
    let mut blobs_by_org: BTreeMap<OrgId, Vec<StoredBlob>> = BTreeMap::new();
    visit_blobs(ctx, |blob| {
        report.blobs += 1;
        blobs_by_org.entry(blob.org.clone()).or_default().push(blob);
    })
    .await?;
    Ok(blobs_by_org)
}

/// Returns the physical containers behind the tags, and those that contain blobs. A container with
/// blobs and without a tag is a finding, unless it was deleted and is being purged.
async fn find_containers(
    ctx: &Ctx,
    tenant: &Tenant,
    blobs: &[StoredBlob],
    report: &mut CheckReport,
) -> Result<BTreeSet<ContainerId>> {
    let tags = ctx.containers.list(tenant).await?;
    let mut containers: BTreeSet<ContainerId> = tags
        .into_iter()
        .flat_map(|container| container.ids)
        .collect();
    let mut blob_containers: BTreeSet<ContainerId> = BTreeSet::new();
    for stored_blob in blobs {
        let folder = stored_blob.blob.path().split('/').next();
        if let Some(id) = folder.and_then(ContainerId::parse) {
            blob_containers.insert(id);
        }
    }

    for id in blob_containers {
        if containers.contains(&id) {
            continue;
        }
        if ctx.containers.get_owner(tenant, &id).await? == ContainerOwner::Deleted {
            continue;
        }
        // Bytes that a killed process stored and did not record may outlast the removal of a container.
        // They are orphans like others.
        if !ctx.documents.list(tenant, &id).await?.is_empty() {
            let description =
                "no container tag names this container, so nobody can find its documents";
            report.findings.push(CheckFinding {
                location: describe_place(tenant, &id, None),
                description: description.to_owned(),
                repair: None,
            });
        }
        containers.insert(id);
    }

    Ok(containers)
}

async fn check_container(
    ctx: &Ctx,
    tenant: &Tenant,
    container: &ContainerId,
    repair: bool,
    bar: &ProgressBar,
    report: &mut CheckReport,
) -> Result<()> {
    let documents = ctx.documents.list(tenant, container).await?;
    bar.inc_length(documents.len() as u64);
    for document in documents {
        bar.inc(1);
        report.documents += 1;
        if let Some(damage) = inspect_document(ctx, tenant, &document).await? {
            let repair = if repair {
                repair_and_describe(ctx, tenant, &document).await?
            } else {
                None
            };
            let location = describe_place(tenant, container, Some(&document.id));
            report.findings.push(CheckFinding {
                location,
                description: describe_damage(damage),
                repair,
            });
        }
    }

    check_index(ctx, tenant, container, repair, report).await
}

/// Returns the consequences of damage to a document for its user.
fn describe_damage(damage: DocumentDamage) -> String {
    let mut lost_parts = Vec::new();
    for (is_lost, name) in [
        (damage.body, "content"),
        (damage.pack, "chunks"),
        (damage.statements, "statements"),
    ] {
        if is_lost {
            lost_parts.push(name);
        }
    }

    let parts = lost_parts.join(", ");
    let advice = match damage {
        DocumentDamage {
            body: true,
            pack: false,
            statements: false,
        } => {
            "search still serves it; send its content again, or it is lost when it is processed the next time"
        }
        DocumentDamage { body: true, .. } => "send its content again",
        DocumentDamage { body: false, .. } => "it can be processed again from its content",
    };

    format!("the stored {parts} cannot be read: {advice}")
}

async fn repair_and_describe(
    ctx: &Ctx,
    tenant: &Tenant,
    document: &Document,
) -> Result<Option<String>> {
    let description = match repair_document(ctx, tenant, &document.id).await? {
        RepairOutcome::Queued => "queued to be processed again",
        RepairOutcome::Failed => "marked as failed",
        // The document has already failed, or is being processed, or only its client can send the
        // content again.
        RepairOutcome::BodyLost | RepairOutcome::Nothing => return Ok(None),
    };
    Ok(Some(description.to_owned()))
}

async fn check_index(
    ctx: &Ctx,
    tenant: &Tenant,
    container: &ContainerId,
    repair: bool,
    report: &mut CheckReport,
) -> Result<()> {
    let mut verdict = container_index::verify_index(ctx, tenant, container).await?;
    if !verdict.is_clean() {
        // A commit between the two reads of the verification looks like a defect.
        verdict = container_index::verify_index(ctx, tenant, container).await?;
    }

    let mut descriptions = Vec::new();
    if verdict.chunks_unreadable {
        descriptions.push(
            "segments of the index cannot be read; searches read every document instead".to_owned(),
        );
    }

    if verdict.memories_unreadable {
        descriptions.push(
            "stored memories or edits of them cannot be read; readers take what is missing from the other"
                .to_owned(),
        );
    }

    if !verdict.missing.is_empty() {
        descriptions.push(format!(
            "the index lacks documents, which nobody finds: {}",
            join_ids(&verdict.missing)
        ));
    }

    if !verdict.unexpected.is_empty() {
        descriptions.push(format!(
            "the index has documents that are gone: {}",
            join_ids(&verdict.unexpected)
        ));
    }

    if repair && !descriptions.is_empty() {
        container_index::rebuild_index(ctx, tenant, container).await?;
    }

    let repair_note = repair.then(|| "written anew from the documents".to_owned());
    for description in descriptions {
        let location = describe_place(tenant, container, None);
        report.findings.push(CheckFinding {
            location,
            description,
            repair: repair_note.clone(),
        });
    }

    Ok(())
}

fn join_ids(ids: &BTreeSet<DocumentId>) -> String {
    ids.iter()
        .map(DocumentId::as_str)
        .collect::<Vec<_>>()
        .join(", ")
}

async fn check_orphans(
    ctx: &Ctx,
    tenant: &Tenant,
    blobs: &[StoredBlob],
    repair: bool,
    report: &mut CheckReport,
) -> Result<()> {
    for page in blobs.chunks(PAGE_BLOBS) {
        let orphans = find_orphans(ctx, page, ctx.clock.now()).await?;
        if repair {
            delete_orphans(ctx, &orphans).await?;
        }
        for orphan in orphans {
            report.findings.push(CheckFinding {
                location: format!("org {} blob {}", tenant.org(), orphan.blob.path()),
                description: "nothing names these bytes; a killed process left them".to_owned(),
                repair: repair.then(|| "deleted".to_owned()),
            });
        }
    }

    Ok(())
}

fn describe_place(
    tenant: &Tenant,
    container: &ContainerId,
    document: Option<&DocumentId>,
) -> String {
    let location = format!("org {} container {container}", tenant.org());
    match document {
        Some(document) => format!("{location} document {document}"),
        None => location,
    }
}
