//! Backups of everything: an export of each container of each organization, and a manifest with which
//! a restored backup is verified.

use std::collections::BTreeSet;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, BufReader, BufWriter, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;

use anyhow::{Context, Result, bail};
use domain::{ContainerTag, Error, OrgId, Tenant, Timestamp};
use indicatif::ProgressBar;
use serde::{Deserialize, Serialize};
use service::{Ctx, find_existing_container};
use sha2::{Digest, Sha256};

use super::export::export_container;
use super::import::{ImportFormat, ImportOptions, ImportReport, import_file};
use super::verification::ContentDigest;
use crate::counts::count;
use crate::inventory::visit_blobs;

/// The file that says what is in a backup. A folder without it is incomplete.
const MANIFEST: &str = "manifest.json";
/// The container tag of the documents with which `recollect` tries a deployment. It is no part of a backup: each
/// stack has its own.
pub(crate) const TRIAL_TAG: &str = "recollect-trial";
/// The version of the format of backups.
const VERSION: u32 = 1;

/// The list of the containers in a backup.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BackupManifest {
    /// The version of the format.
    version: u32,
    /// The time at which the backup was begun.
    pub created_at: Timestamp,
    /// The containers.
    pub containers: Vec<ContainerBackup>,
}

/// The backup of a container.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ContainerBackup {
    /// The organization.
    pub org: OrgId,
    /// The container tag.
    pub container_tag: ContainerTag,
    /// The name of the file in the folder.
    file: String,
    /// The number of documents.
    pub documents: usize,
    /// The number of memories, including forgotten ones and old versions.
    pub memories: usize,
    /// The SHA-256 of the file without its lines about the time of the export and the settings.
    sha256: String,
    /// The documents that could not be read.
    pub damaged: Vec<String>,
}

/// The outcome of a restoration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RestoreReport {
    /// What the backup has.
    pub manifest: BackupManifest,
    /// A line for each container that is not as in the backup.
    pub differences: Vec<String>,
    /// The number of documents that were not done when the backup was made, and are processed again.
    pub reprocessed: usize,
    /// The number of documents that are left out because their announced file had not arrived when the
    /// backup was made.
    pub without_content: usize,
}

impl BackupManifest {
    /// Reads the list of the backup in `folder`.
    ///
    /// # Errors
    /// Fails if the folder has no complete backup, or one of another version.
    pub fn read(folder: &Path) -> Result<Self> {
        let path = folder.join(MANIFEST);
        let json = fs::read(&path).with_context(|| {
            format!(
                "cannot read {}: the folder has no backup, or one that was interrupted",
                path.display()
            )
        })?;
        let manifest: Self = serde_json::from_slice(&json)
            .with_context(|| format!("{} is damaged", path.display()))?;
        if manifest.version != VERSION {
            bail!(
                "the backup has the format {}, and this program reads {VERSION}",
                manifest.version
            );
        }
        Ok(manifest)
    }

    /// Returns the number of documents in the backup.
    pub fn documents(&self) -> usize {
        self.containers
            .iter()
            .map(|container| container.documents)
            .sum()
    }

    /// Returns the number of memories in the backup.
    pub fn memories(&self) -> usize {
        self.containers
            .iter()
            .map(|container| container.memories)
            .sum()
    }
}

/// Writes everything into `folder`, which must be new or empty. API keys and the connections of
/// drives are not part of a backup: only digests of keys are stored, and the secrets of connections
/// are sealed with a key that stays where it is. Nor are organizations for which no bytes are
/// stored, such as one whose containers have a description and no document, nor the containers of
/// [`TRIAL_TAG`].
///
/// # Errors
/// Fails if the folder is not empty, or if something cannot be read or written.
pub async fn write_backup(ctx: &Ctx, folder: &Path, bar: &ProgressBar) -> Result<BackupManifest> {
    // A backup is readable by its user only, as a data folder is.
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(folder)
        .with_context(|| format!("cannot create {}", folder.display()))?;
    if fs::read_dir(folder)?.next().is_some() {
        bail!("{} is not empty: name a new folder", folder.display());
    }

    let mut manifest = BackupManifest {
        version: VERSION,
        created_at: ctx.clock.now(),
        containers: Vec::new(),
    };
    for org in list_organizations(ctx).await? {
        let tenant = Tenant::for_operator(org.clone());
        for container in ctx.containers.list(&tenant).await? {
            if container.tag.as_str() == TRIAL_TAG {
                continue;
            }
            let path = folder.join(format!("{}.jsonl", manifest.containers.len() + 1));
            let saved = write_container(ctx, &tenant, container.tag, &path, bar).await?;
            manifest.containers.extend(saved);
        }
    }

    write_manifest(folder, &manifest)?;
    Ok(manifest)
}

/// Writes a container to a new file. Returns `None` if it was deleted or merged while others were saved.
async fn write_container(
    ctx: &Ctx,
    tenant: &Tenant,
    tag: ContainerTag,
    path: &Path,
    bar: &ProgressBar,
) -> Result<Option<ContainerBackup>> {
    let out = create_file(path)?;
    let mut out = DigestWriter::new(BufWriter::new(out));
    bar.set_message(format!("{} {tag}", tenant.org()));
    let exported = export_container(ctx, tenant, &tag, &mut out, bar).await;
    if exported.is_err() && is_gone(ctx, tenant, &tag).await? {
        fs::remove_file(path)?;
        return Ok(None);
    }

    let report = exported?;
    out.out.get_ref().sync_all()?;
    let file = path.file_name().unwrap_or_default();
    Ok(Some(ContainerBackup {
        org: tenant.org().clone(),
        container_tag: tag,
        file: file.to_string_lossy().into_owned(),
        documents: report.documents,
        memories: report.memories,
        sha256: out.finish(),
        damaged: report.damaged.iter().map(ToString::to_string).collect(),
    }))
}

fn write_manifest(folder: &Path, manifest: &BackupManifest) -> Result<()> {
    let mut file = create_file(&folder.join(MANIFEST))?;
    file.write_all(&serde_json::to_vec_pretty(manifest)?)
        .and_then(|()| file.sync_all())
        .context("cannot write the manifest")?;
    File::open(folder)?.sync_all()?;
    Ok(())
}

/// Creates a file that only its user can read.
fn create_file(path: &Path) -> Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true).mode(0o600);
    let file = options.open(path);
    file.with_context(|| format!("cannot write {}", path.display()))
}

/// Checks whether a container tag does not exist any more.
async fn is_gone(ctx: &Ctx, tenant: &Tenant, tag: &ContainerTag) -> Result<bool> {
    match find_existing_container(ctx, tenant, tag).await {
        Ok(_) => Ok(false),
        Err(Error::NotFound(_)) => Ok(true),
        Err(error) => Err(error.into()),
    }
}

/// Reads everything of a backup back, and compares what is stored afterwards with the backup. Documents and
/// memories that are there already stay as they are. The settings of each organization become those of the
/// backup. A container that the store has with other content is reported, and the others are restored. The
/// containers of [`TRIAL_TAG`], which earlier backups have, are left out.
///
/// # Errors
/// Fails if the folder has no complete backup, or if something cannot be read or written.
pub async fn restore_backup(ctx: &Ctx, folder: &Path, bar: &ProgressBar) -> Result<RestoreReport> {
    let mut manifest = BackupManifest::read(folder)?;
    manifest
        .containers
        .retain(|container| container.container_tag.as_str() != TRIAL_TAG);
    let mut organizations = BTreeSet::new();
    let mut restored = Vec::with_capacity(manifest.containers.len());
    let mut differences = Vec::new();
    for container in &manifest.containers {
        let (org, tag) = (&container.org, &container.container_tag);
        // Each file of an organization has the same settings.
        let replaces_settings = !organizations.contains(org);
        match restore_container(ctx, folder, container, replaces_settings, bar).await {
            Ok(report) => {
                if report.settings_replaced {
                    organizations.insert(org.clone());
                }
                restored.push(container);
            }
            Err(error) if is_conflict(&error) => {
                differences.push(format!("{org} {tag}: {error:#}"));
            }
            Err(error) => return Err(error),
        }
    }

    let (mut reprocessed, mut without_content) = (0, 0);
    for container in restored {
        let backup = digest_file(folder, container)?;
        reprocessed += backup.content.reprocessed();
        without_content += backup.content.without_content;
        let difference = find_difference(ctx, container, &backup, bar).await?;
        differences.extend(difference);
    }
    Ok(RestoreReport {
        manifest,
        differences,
        reprocessed,
        without_content,
    })
}

/// Imports the file of a container.
async fn restore_container(
    ctx: &Ctx,
    folder: &Path,
    container: &ContainerBackup,
    replaces_settings: bool,
    bar: &ProgressBar,
) -> Result<ImportReport> {
    let tenant = Tenant::for_operator(container.org.clone());
    let path = folder.join(&container.file);
    let file = File::open(&path).with_context(|| format!("cannot read {}", path.display()))?;
    bar.set_length(file.metadata()?.len());
    bar.set_position(0);
    bar.set_message(format!("{} {}", container.org, container.container_tag));
    let options = ImportOptions {
        tag: None,
        format: ImportFormat::Recollect,
        replaces_settings,
    };
    import_file(ctx, &tenant, &mut BufReader::new(file), &options, bar)
        .await
        .with_context(|| format!("cannot restore {}", path.display()))
}

/// Checks whether a container could not be restored because of what is stored already.
fn is_conflict(error: &anyhow::Error) -> bool {
    matches!(error.downcast_ref(), Some(Error::Conflict(_)))
}

/// The file of a container in a backup, as it is read.
struct BackupFile {
    content: ContentDigest,
    sha256: String,
}

/// Reads the file of a container once more, to compare with it.
fn digest_file(folder: &Path, container: &ContainerBackup) -> Result<BackupFile> {
    let path = folder.join(&container.file);
    let file = File::open(&path).with_context(|| format!("cannot read {}", path.display()))?;
    let mut out = DigestWriter::new(ContentDigest::of_backup());
    io::copy(&mut BufReader::new(file), &mut out)
        .with_context(|| format!("cannot read {}", path.display()))?;

    let content = std::mem::take(&mut out.out);
    Ok(BackupFile {
        content,
        sha256: out.finish(),
    })
}

/// Exports a container again, and returns a line if it is not as in the backup.
async fn find_difference(
    ctx: &Ctx,
    container: &ContainerBackup,
    backup: &BackupFile,
    bar: &ProgressBar,
) -> Result<Option<String>> {
    let (org, tag) = (&container.org, &container.container_tag);
    if backup.sha256 != container.sha256 {
        let difference = format!("{org} {tag}: the file {} was changed", container.file);
        return Ok(Some(difference));
    }

    let tenant = Tenant::for_operator(org.clone());
    let mut present = ContentDigest::after_restoration(&backup.content);
    export_container(ctx, &tenant, tag, &mut present, bar).await?;
    if present.is_same(&backup.content) {
        return Ok(None);
    }

    let counts = (present.documents, present.memories);
    let expected = (backup.content.documents, backup.content.memories);
    Ok(Some(match counts == expected {
        true => format!("{org} {tag}: the content differs"),
        false => format!(
            "{org} {tag}: {} and {}, {} and {} in the backup",
            count(counts.0, "document"),
            count(counts.1, "memory"),
            expected.0,
            expected.1
        ),
    }))
}

/// Returns the organizations for which something is stored.
async fn list_organizations(ctx: &Ctx) -> Result<BTreeSet<OrgId>> {
    let mut organizations = BTreeSet::new();
    visit_blobs(ctx, |blob| {
        organizations.insert(blob.org);
    })
    .await?;
    Ok(organizations)
}

/// The lines that are not hashed, from 0: the header with the time of the export, and the settings,
/// whose secrets are not exported.
const UNHASHED_LINES: [usize; 2] = [0, 2];

/// Hashes what is written, but for [`UNHASHED_LINES`].
struct DigestWriter<W> {
    out: W,
    hasher: Sha256,
    line: usize,
}

impl<W: Write> DigestWriter<W> {
    fn new(out: W) -> Self {
        Self {
            out,
            hasher: Sha256::new(),
            line: 0,
        }
    }

    /// Returns the digest in hexadecimal digits.
    fn finish(self) -> String {
        hex::encode(self.hasher.finalize())
    }
}

impl<W: Write> Write for DigestWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.out.write(bytes)?;
        for part in bytes[..written].split_inclusive(|&byte| byte == b'\n') {
            if !UNHASHED_LINES.contains(&self.line) {
                self.hasher.update(part);
            }
            if part.ends_with(b"\n") {
                self.line += 1;
            }
        }
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use domain::{ContainerId, DocumentId};
    use embedded::Durability;
    use serde_json::{Value, json};
    use service::{ContainerScope, create_container, find_document};

    use super::*;
    use crate::system::LocalSystem;

    fn digest(pieces: &[&str]) -> String {
        let mut writer = DigestWriter::new(Vec::new());
        for piece in pieces {
            writer.write_all(piece.as_bytes()).unwrap();
        }
        writer.finish()
    }

    #[test]
    fn time_and_settings_are_not_compared() {
        let first = digest(&["time 1\ncontainer\nsettings 1\ndocument\n"]);
        assert_eq!(
            first,
            digest(&["time", " 2\ncontainer\nset", "tings 2\n", "document\n"])
        );
        assert_ne!(first, digest(&["time 1\ncontainer\nsettings 1\nother\n"]));
        assert_ne!(first, digest(&["time 1\nother\nsettings 1\ndocument\n"]));
    }

    fn tenant() -> Tenant {
        Tenant::for_operator(OrgId::parse("local").unwrap())
    }

    fn tag(name: &str) -> ContainerTag {
        ContainerTag::parse(name).unwrap()
    }

    async fn open(folder: &Path) -> Ctx {
        let system = LocalSystem::open(folder, Durability::Process, None).await;
        system.unwrap().ctx
    }

    async fn add_memory(ctx: &Ctx, name: &str, text: &str) {
        let options = ImportOptions {
            tag: Some(tag(name)),
            ..ImportOptions::default()
        };
        let line = json!({"memory": text}).to_string();
        let bar = ProgressBar::hidden();
        let imported = import_file(ctx, &tenant(), &mut line.as_bytes(), &options, &bar).await;
        assert_eq!(imported.unwrap().documents.written, 1);
    }

    /// Makes the empty container that a trial of a deployment leaves.
    async fn add_trial(ctx: &Ctx) {
        let (id, now) = (ContainerId::random(), ctx.clock.now());
        let created = create_container(ctx, &tenant(), &tag(TRIAL_TAG), id, now).await;
        created.unwrap();
    }

    #[tokio::test]
    async fn the_container_of_trials_is_no_part_of_a_backup() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("backup");
        let bar = ProgressBar::hidden();
        let here = open(&folder.path().join("here")).await;
        add_memory(&here, "notes", "The atlas lies in the map room.").await;
        add_trial(&here).await;
        let mut manifest = write_backup(&here, &path, &bar).await.unwrap();
        let saved = |manifest: &BackupManifest| -> Vec<String> {
            let tags = manifest.containers.iter();
            tags.map(|saved| saved.container_tag.to_string()).collect()
        };
        assert_eq!(saved(&manifest), ["notes"]);

        // Earlier backups have it, before or after others.
        let trial = path.join("0.jsonl");
        let trial = write_container(&here, &tenant(), tag(TRIAL_TAG), &trial, &bar).await;
        manifest.containers.splice(0..0, trial.unwrap());
        assert_eq!(saved(&manifest), [TRIAL_TAG, "notes"]);
        fs::remove_file(path.join(MANIFEST)).unwrap();
        write_manifest(&path, &manifest).unwrap();

        let there = open(&folder.path().join("there")).await;
        add_trial(&there).await;
        let report = restore_backup(&there, &path, &bar).await.unwrap();
        assert_eq!(report.differences, [""; 0]);
        assert_eq!(saved(&report.manifest), ["notes"]);
    }

    #[tokio::test]
    async fn a_container_that_exists_with_other_content_does_not_stop_a_restoration() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("backup");
        let bar = ProgressBar::hidden();
        let here = open(&folder.path().join("here")).await;
        for name in ["a", "b"] {
            add_memory(&here, name, "The atlas lies in the map room.").await;
        }
        write_backup(&here, &path, &bar).await.unwrap();

        let there = open(&folder.path().join("there")).await;
        add_memory(&there, "a", "The key hangs by the door.").await;
        let report = restore_backup(&there, &path, &bar).await.unwrap();
        let [difference] = report.differences.as_slice() else {
            panic!("{:?}", report.differences);
        };
        assert!(
            difference.starts_with("local a: ") && difference.contains("exists already"),
            "{difference}"
        );
        let restored = export_container(&there, &tenant(), &tag("b"), &mut io::sink(), &bar).await;
        assert_eq!(restored.unwrap().documents, 1);
    }

    /// Returns an export of a document whose id is not derived from its customId `later`.
    async fn export_of_renamed(ctx: &Ctx, id: &DocumentId, is_done: bool) -> String {
        add_memory(ctx, "notes", "The atlas lies in the map room.").await;
        let (mut out, bar) = (Vec::new(), ProgressBar::hidden());
        let exported = export_container(ctx, &tenant(), &tag("notes"), &mut out, &bar).await;
        exported.unwrap();
        let lines = out
            .split(|&byte| byte == b'\n')
            .filter(|line| !line.is_empty());
        let lines = lines.map(|line| {
            let mut line: Value = serde_json::from_slice(line).unwrap();
            if line["type"] == "document" {
                line["id"] = json!(id);
                line["customId"] = json!("later");
                line["keepsId"] = json!(true);
            }
            if line["type"] == "document" && !is_done {
                line["status"] = json!("queued");
                line.as_object_mut().unwrap().remove("served");
            }
            format!("{line}\n")
        });
        lines.collect()
    }

    #[tokio::test]
    async fn a_document_that_got_its_custom_id_later_keeps_its_id() {
        for is_done in [true, false] {
            let folder = tempfile::tempdir().unwrap();
            let bar = ProgressBar::hidden();
            let id = DocumentId::random();
            let first = open(&folder.path().join("first")).await;
            let export = export_of_renamed(&first, &id, is_done).await;
            let here = open(&folder.path().join("here")).await;
            for expected in [0, 1] {
                let mut input = export.as_bytes();
                let options = ImportOptions::default();
                let imported = import_file(&here, &tenant(), &mut input, &options, &bar).await;
                assert_eq!(imported.unwrap().documents.already_present, expected);
            }

            let path = folder.path().join("backup");
            write_backup(&here, &path, &bar).await.unwrap();
            let there = open(&folder.path().join("there")).await;
            let report = restore_backup(&there, &path, &bar).await.unwrap();
            assert_eq!(report.differences, [""; 0]);
            for ctx in [&here, &there] {
                let by_id = ctx.documents.get_one(&tenant(), &id).await.unwrap();
                assert!(by_id.is_some(), "{is_done}");
                let scope = ContainerScope::default();
                let found = find_document(ctx, &tenant(), "later", &scope).await;
                assert_eq!(found.unwrap().id, id, "{is_done}");
            }
        }
    }
}
