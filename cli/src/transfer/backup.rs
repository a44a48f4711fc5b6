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
use super::import::{ImportFormat, ImportOptions, import_file};
use super::verification::ContentDigest;
use crate::inventory::visit_blobs;

/// The file that says what is in a backup. A folder without it is incomplete.
const MANIFEST: &str = "manifest.json";
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
/// stored, such as one whose containers have a description and no document.
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
            let file = format!("{}.jsonl", manifest.containers.len() + 1);
            let path = folder.join(&file);
            let out = create_file(&path)?;
            let mut out = DigestWriter::new(BufWriter::new(out));
            bar.set_message(format!("{org} {}", container.tag));
            let exported = export_container(ctx, &tenant, &container.tag, &mut out, bar).await;
            if exported.is_err() && is_gone(ctx, &tenant, &container.tag).await? {
                // It was deleted or merged while others were saved.
                fs::remove_file(&path)?;
                continue;
            }
            let report = exported?;
            out.out.get_ref().sync_all()?;
            manifest.containers.push(ContainerBackup {
                org: org.clone(),
                container_tag: container.tag,
                file,
                documents: report.documents,
                memories: report.memories,
                sha256: out.finish(),
                damaged: report.damaged.iter().map(ToString::to_string).collect(),
            });
        }
    }

    let mut file = create_file(&folder.join(MANIFEST))?;
    file.write_all(&serde_json::to_vec_pretty(&manifest)?)
        .and_then(|()| file.sync_all())
        .context("cannot write the manifest")?;
    File::open(folder)?.sync_all()?;
    Ok(manifest)
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
/// backup.
///
/// # Errors
/// Fails if the folder has no complete backup, or if something cannot be read or written.
pub async fn restore_backup(ctx: &Ctx, folder: &Path, bar: &ProgressBar) -> Result<RestoreReport> {
    let manifest = read_manifest(folder)?;
    let mut organizations = BTreeSet::new();
    for container in &manifest.containers {
        let tenant = Tenant::for_operator(container.org.clone());
        let path = folder.join(&container.file);
        let file = File::open(&path).with_context(|| format!("cannot read {}", path.display()))?;
        bar.set_length(file.metadata()?.len());
        bar.set_position(0);
        bar.set_message(format!("{} {}", container.org, container.container_tag));
        let options = ImportOptions {
            tag: None,
            format: ImportFormat::Recollect,
            // Each file of an organization has the same settings.
            replaces_settings: organizations.insert(container.org.clone()),
        };
        import_file(ctx, &tenant, &mut BufReader::new(file), &options, bar)
            .await
            .with_context(|| format!("cannot restore {}", path.display()))?;
    }

    let mut report = RestoreReport {
        manifest,
        differences: Vec::new(),
        reprocessed: 0,
        without_content: 0,
    };
    for container in &report.manifest.containers {
        let backup = digest_file(folder, container)?;
        report.reprocessed += backup.content.reprocessed();
        report.without_content += backup.content.without_content;
        let difference = find_difference(ctx, container, &backup, bar).await?;
        report.differences.extend(difference);
    }
    Ok(report)
}

fn read_manifest(folder: &Path) -> Result<BackupManifest> {
    let path = folder.join(MANIFEST);
    let json = fs::read(&path).with_context(|| {
        format!(
            "cannot read {}: the folder has no backup, or one that was interrupted",
            path.display()
        )
    })?;
    let manifest: BackupManifest =
        serde_json::from_slice(&json).with_context(|| format!("{} is damaged", path.display()))?;
    if manifest.version != VERSION {
        bail!(
            "the backup has the format {}, and this program reads {VERSION}",
            manifest.version
        );
    }
    Ok(manifest)
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
            "{org} {tag}: {} documents and {} memories, {} and {} in the backup",
            counts.0, counts.1, expected.0, expected.1
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
    use super::*;

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
}
