//! Checks everything that is stored, and repairs what can be repaired.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use anyhow::Result;
use domain::ports::{BlobStore, StoredBlob};
use domain::{ContainerId, ContainerOwner, Document, DocumentId, OrgId, Tenant};
use indicatif::ProgressBar;
use service::Ctx;
use service::{
    DocumentDamage, RepairOutcome, delete_orphans, find_orphans, inspect_document, repair_document,
};

/// The number of blobs that are examined at a time.
const PAGE_BLOBS: usize = 1000;

/// A defect, and the repair that was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckFinding {
    /// The affected object, as in `org acme container 4yK… document 9xQ…`.
    pub place: String,
    /// The defect and its consequences.
    pub meaning: String,
    /// The repair, or `None` if none was needed or possible.
    pub repair: Option<String>,
}

impl fmt::Display for CheckFinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.meaning)?;
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
/// for a running server or `recollect work`.
///
/// # Errors
/// Fails if the folder cannot be read. A container that cannot be read is a finding instead.
pub async fn check_stored_data(ctx: &Ctx, repair: bool, bar: &ProgressBar) -> Result<CheckReport> {
    let mut checked = CheckReport::default();
    let stored = list_blobs(ctx, &mut checked).await?;
    for (org, stored) in stored {
        checked.organizations += 1;
        let tenant = Tenant::for_operator(org);
        for container in find_containers(ctx, &tenant, &stored, &mut checked).await? {
            checked.containers += 1;
            let found = check_container(ctx, &tenant, &container, repair, bar, &mut checked).await;
            if let Err(error) = found {
                let meaning =
                    format!("cannot be read, so its documents were not checked: {error:#}");
                checked.findings.push(CheckFinding {
                    place: describe_place(&tenant, &container, None),
                    meaning,
                    repair: None,
                });
            }
        }
        check_orphans(ctx, &tenant, &stored, repair, &mut checked).await?;
    }

    Ok(checked)
}

async fn list_blobs(
    ctx: &Ctx,
    checked: &mut CheckReport,
) -> Result<BTreeMap<OrgId, Vec<StoredBlob>>> {
    let mut found: BTreeMap<OrgId, Vec<StoredBlob>> = BTreeMap::new();
    for shelf in [BlobStore::Inline, BlobStore::Objects] {
        let mut after = None;
        loop {
            let page = ctx
                .blobs
                .list_inventory(shelf, after.as_deref(), PAGE_BLOBS)
                .await?;
            checked.blobs += page.blobs.len();
            for stored in page.blobs {
                found.entry(stored.org.clone()).or_default().push(stored);
            }
            after = page.next;
            if after.is_none() {
                break;
            }
        }
    }

    Ok(found)
}

/// Returns the physical containers behind the tags, and those that contain blobs. A container with
/// blobs and without a tag is a finding, unless it was deleted and is being purged.
async fn find_containers(
    ctx: &Ctx,
    tenant: &Tenant,
    stored: &[StoredBlob],
    checked: &mut CheckReport,
) -> Result<BTreeSet<ContainerId>> {
    let tags = ctx.containers.list(tenant).await?;
    let mut known: BTreeSet<ContainerId> = tags
        .into_iter()
        .flat_map(|container| container.ids)
        .collect();
    let of_blobs = stored
        .iter()
        .filter_map(|stored| stored.blob.path().split('/').next());
    let of_blobs: BTreeSet<ContainerId> = of_blobs.filter_map(ContainerId::parse).collect();
    for id in of_blobs {
        if known.contains(&id) {
            continue;
        }
        let owner = ctx
            .containers
            .list_owners(tenant, std::slice::from_ref(&id))
            .await?
            .pop();
        if owner == Some(ContainerOwner::Deleted) {
            continue;
        }
        let meaning =
            "no container tag names this container, so nobody can find its documents".to_owned();
        checked.findings.push(CheckFinding {
            place: describe_place(tenant, &id, None),
            meaning,
            repair: None,
        });
        known.insert(id);
    }

    Ok(known)
}

async fn check_container(
    ctx: &Ctx,
    tenant: &Tenant,
    container: &ContainerId,
    repair: bool,
    bar: &ProgressBar,
    checked: &mut CheckReport,
) -> Result<()> {
    let documents = ctx.documents.list(tenant, container).await?;
    bar.inc_length(documents.len() as u64);
    for document in documents {
        bar.inc(1);
        checked.documents += 1;
        if let Some(damage) = inspect_document(ctx, tenant, &document).await? {
            let repair = if repair {
                repair_and_describe(ctx, tenant, &document).await?
            } else {
                None
            };
            let place = describe_place(tenant, container, Some(&document.id));
            checked.findings.push(CheckFinding {
                place,
                meaning: describe_damage(damage),
                repair,
            });
        }
    }

    check_index(ctx, tenant, container, repair, checked).await
}

/// Returns the consequences of damage to a document for its user.
fn describe_damage(damage: DocumentDamage) -> String {
    let parts = [
        (damage.body, "content"),
        (damage.pack, "chunks"),
        (damage.statements, "statements"),
    ];
    let parts: Vec<&str> = parts
        .into_iter()
        .filter_map(|(is_lost, name)| is_lost.then_some(name))
        .collect();
    let parts = parts.join(", ");
    let then = match damage {
        DocumentDamage {
            body: true,
            pack: false,
            statements: false,
        } => {
            "it is still found; send its content again, or it is lost when it is processed the next time"
        }
        DocumentDamage { body: true, .. } => "send its content again",
        DocumentDamage { body: false, .. } => "it can be processed again from its content",
    };

    format!("the stored {parts} cannot be read: {then}")
}

async fn repair_and_describe(
    ctx: &Ctx,
    tenant: &Tenant,
    document: &Document,
) -> Result<Option<String>> {
    let done = match repair_document(ctx, tenant, &document.id).await? {
        RepairOutcome::Queued => "queued to be processed again",
        RepairOutcome::Failed => "marked as failed",
        // The document has already failed, or is being processed, or only its client can send the
        // content again.
        RepairOutcome::BodyLost | RepairOutcome::Nothing => return Ok(None),
    };
    Ok(Some(done.to_owned()))
}

async fn check_index(
    ctx: &Ctx,
    tenant: &Tenant,
    container: &ContainerId,
    repair: bool,
    checked: &mut CheckReport,
) -> Result<()> {
    let mut verdict = container_index::verify_index(ctx, tenant, container).await?;
    if !verdict.is_clean() {
        // A commit between the two reads of the verification looks like a defect.
        verdict = container_index::verify_index(ctx, tenant, container).await?;
    }

    let mut meanings = Vec::new();
    if verdict.chunks_unreadable {
        meanings.push(
            "segments of the index cannot be read; searches read every document instead".to_owned(),
        );
    }

    if verdict.memories_unreadable {
        meanings.push(
            "files of memories cannot be read; readers read every document instead".to_owned(),
        );
    }

    if !verdict.missing.is_empty() {
        meanings.push(format!(
            "the index lacks documents, which nobody finds: {}",
            join_ids(&verdict.missing)
        ));
    }

    if !verdict.unexpected.is_empty() {
        meanings.push(format!(
            "the index has documents that are gone: {}",
            join_ids(&verdict.unexpected)
        ));
    }

    if repair && !meanings.is_empty() {
        container_index::rebuild_index(ctx, tenant, container).await?;
    }

    let done = repair.then(|| "written anew from the documents".to_owned());
    for meaning in meanings {
        let place = describe_place(tenant, container, None);
        checked.findings.push(CheckFinding {
            place,
            meaning,
            repair: done.clone(),
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
    stored: &[StoredBlob],
    repair: bool,
    checked: &mut CheckReport,
) -> Result<()> {
    for page in stored.chunks(PAGE_BLOBS) {
        let orphans = find_orphans(ctx, page, ctx.clock.now()).await?;
        if repair {
            delete_orphans(ctx, &orphans).await?;
        }
        for orphan in orphans {
            checked.findings.push(CheckFinding {
                place: format!("org {} blob {}", tenant.org(), orphan.blob.path()),
                meaning: "nothing names these bytes; a process left them that was killed"
                    .to_owned(),
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
    let place = format!("org {} container {container}", tenant.org());
    match document {
        Some(document) => format!("{place} document {document}"),
        None => place,
    }
}
