//! The data folder, which is kept private, complete and synced.
//!
//! `MANIFEST` lists the files that the folder must have. It is written last, so a crash during the
//! creation of a folder leaves one without it, which is created again. A folder without a manifest
//! may also be from an earlier version, so its content decides: data was never stored before all
//! databases existed. Such a folder may lack its keys, because they were introduced later and
//! `kms.key` is created at its first use.

use std::collections::BTreeSet;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use anyhow::{Context, bail};
use rusqlite::{Connection, OpenFlags};

use crate::Durability;

/// The files of a folder, as `MANIFEST` names them.
pub(crate) const DYNAMODB: &str = "dynamodb.sqlite";
pub(crate) const SQS: &str = "sqs.sqlite";
pub(crate) const S3_INDEX: &str = "s3/index.sqlite";
pub(crate) const KMS_KEY: &str = "kms.key";
pub(crate) const SIGNING_KEY: &str = "signing.key";

/// The folder with the bytes of S3.
const BLOBS_FOLDER: &str = "s3/blobs";
/// The databases, each with a table that has a row as soon as anything can be stored.
const DATABASES: [(&str, &str); 3] = [
    (DYNAMODB, "_tables"),
    (SQS, "queues"),
    (S3_INDEX, "buckets"),
];
const MANIFEST: &str = "MANIFEST";
/// The suffix of a new `MANIFEST` or key until it is complete.
const UNFINISHED_SUFFIX: &str = ".new";

/// The modes of folders and files, which only this user may access.
#[cfg(unix)]
const PRIVATE_MODES: (u32, u32) = (0o700, 0o600);

/// A data folder.
#[derive(Clone)]
pub(crate) struct DataFolder {
    path: PathBuf,
    durability: Durability,
}

/// A folder that is locked: no other process opens it or creates a key in it.
pub(crate) struct LockedFolder<'a> {
    folder: &'a DataFolder,
    _lock: File,
}

/// Returns the time of the last write to the databases of the folder at `path`; `None` without
/// databases.
pub fn last_write_time(path: &Path) -> Option<SystemTime> {
    let written_at = |file: PathBuf| fs::metadata(file).ok()?.modified().ok();
    let mut last = None;
    for (name, _) in DATABASES {
        last = last.max(written_at(path.join(name)));
        last = last.max(written_at(path.join(format!("{name}-wal"))));
    }

    last
}

impl DataFolder {
    /// Opens the folder at `path`. Creates it, private, if it does not exist.
    pub(crate) fn open(path: &Path, durability: Durability) -> anyhow::Result<Self> {
        let folder = Self {
            path: path.to_owned(),
            durability,
        };
        for subfolder in ["", BLOBS_FOLDER] {
            let subfolder = path.join(subfolder);
            create_private_folder(&subfolder)
                .with_context(|| format!("cannot create {}", subfolder.display()))?;
        }
        Ok(folder)
    }

    /// Returns the path of the folder.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the path of the file `name`.
    pub(crate) fn file_path(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// Returns the path of the folder that only S3 uses.
    pub(crate) fn s3_path(&self) -> PathBuf {
        self.path.join("s3")
    }

    /// Locks the folder. Waits while another process has it locked.
    pub(crate) fn lock(&self) -> io::Result<LockedFolder<'_>> {
        let lock = File::open(&self.path)?;
        lock.lock()?;
        Ok(LockedFolder {
            folder: self,
            _lock: lock,
        })
    }

    fn sync_entries(&self, path: &Path) -> io::Result<()> {
        if self.durability.syncs_anything() {
            sync_folder(path)
        } else {
            Ok(())
        }
    }
}

impl LockedFolder<'_> {
    /// Makes the folder private and checks that it is writable and complete, before anything is
    /// created in it.
    /// Creates missing databases as empty files, because SQLite would create them readable for
    /// others.
    pub(crate) fn prepare_files(&self) -> anyhow::Result<()> {
        let path = &self.folder.path;
        let probe = self
            .folder
            .file_path(&format!("{MANIFEST}{UNFINISHED_SUFFIX}"));
        create_file(&probe)
            .and_then(|_| fs::remove_file(&probe))
            .with_context(|| format!("cannot write to {}", path.display()))?;
        make_private(path).with_context(|| format!("cannot read {}", path.display()))?;
        self.check_files()?;
        for (name, _) in DATABASES {
            match private_options()
                .create_new(true)
                .open(self.folder.file_path(name))
            {
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                    return Err(error)
                        .with_context(|| format!("cannot create {name} in {}", path.display()));
                }
                _ => {}
            }
        }

        Ok(())
    }

    /// Syncs the new folder and then writes its manifest.
    pub(crate) fn complete_creation(&self) -> anyhow::Result<()> {
        let path = &self.folder.path;
        let sync = || -> io::Result<()> {
            self.folder.sync_entries(&path.join(BLOBS_FOLDER))?;
            self.folder.sync_entries(&self.folder.s3_path())?;
            self.folder.sync_entries(path)?;
            // The folder above may belong to another user, who then created this one.
            self.folder
                .sync_entries(fs::canonicalize(path)?.parent().unwrap_or(path))
                .ok();
            self.write_manifest()
        };
        sync().with_context(|| format!("cannot write to {}", path.display()))
    }

    /// Returns the key in the file `name`. Calls `make_key` for a new key if there is none.
    ///
    /// If several processes ask at the same time, all get the same key, and it is on the disk
    /// before any of them gets it.
    pub(crate) fn get_or_create_key(
        &self,
        name: &str,
        make_key: impl FnOnce() -> Vec<u8>,
    ) -> io::Result<Vec<u8>> {
        let file = self.folder.file_path(name);
        if !is_missing_or_empty(&file)? {
            return fs::read(file);
        }

        let recorded = self.read_manifest()?;
        if recorded.contains(name) {
            return Err(io::Error::other(self.loss_message(name)));
        }

        let key = make_key();
        self.replace_file(name, &key)?;
        // A folder that is still being created gets its manifest at the end.
        if !recorded.is_empty() {
            self.write_manifest()?;
        }

        Ok(key)
    }

    /// Refuses a folder that has lost a file.
    fn check_files(&self) -> anyhow::Result<()> {
        let recorded = self.read_manifest()?;
        let is_lost = |name: &str| -> anyhow::Result<bool> {
            let is_database = DATABASES.iter().any(|(database, _)| *database == name);
            let was_present = if recorded.is_empty() {
                is_database && self.holds_data()?
            } else {
                recorded.contains(name)
            };
            Ok(was_present && is_missing_or_empty(&self.folder.file_path(name))?)
        };

        for name in [DYNAMODB, SQS, S3_INDEX, KMS_KEY, SIGNING_KEY] {
            if is_lost(name)? {
                bail!(self.loss_message(name));
            }
        }

        Ok(())
    }

    fn loss_message(&self, name: &str) -> String {
        let file = self.folder.file_path(name);
        let state = if file.exists() {
            "is empty"
        } else {
            "is missing"
        };
        format!(
            "{} {state}, although other data of this folder exists. Restore the whole folder from a backup, or move the \
             folder away to start with an empty one",
            file.display()
        )
    }

    /// Checks whether anything was ever stored in a folder without a manifest.
    fn holds_data(&self) -> anyhow::Result<bool> {
        for (name, table) in DATABASES {
            let file = self.folder.file_path(name);
            if !is_missing_or_empty(&file)? && has_row(&file, table) {
                return Ok(true);
            }
        }

        for entry in fs::read_dir(self.folder.file_path(BLOBS_FOLDER))? {
            let entry = entry?.path();
            if entry.is_dir() && fs::read_dir(entry)?.next().is_some() {
                return Ok(true);
            }
        }

        Ok(false)
    }

    /// Returns the files that the folder must have, or an empty set if there is no manifest.
    fn read_manifest(&self) -> io::Result<BTreeSet<String>> {
        match fs::read_to_string(self.folder.file_path(MANIFEST)) {
            Ok(text) => Ok(text.lines().map(str::to_owned).collect()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(BTreeSet::new()),
            Err(error) => Err(error),
        }
    }

    /// Writes into the manifest which files exist.
    fn write_manifest(&self) -> io::Result<()> {
        let mut existing = BTreeSet::new();
        for name in [DYNAMODB, SQS, S3_INDEX, KMS_KEY, SIGNING_KEY] {
            if !is_missing_or_empty(&self.folder.file_path(name))? {
                existing.insert(name.to_owned());
            }
        }
        if existing != self.read_manifest()? {
            let lines: String = existing.iter().map(|name| format!("{name}\n")).collect();
            self.replace_file(MANIFEST, lines.as_bytes())?;
        }
        Ok(())
    }

    /// Replaces the content of the file `name`. After a power cut the file has either the whole new
    /// content or the old one.
    fn replace_file(&self, name: &str, content: &[u8]) -> io::Result<()> {
        let unfinished_path = self.folder.file_path(&format!("{name}{UNFINISHED_SUFFIX}"));
        let mut file = create_file(&unfinished_path)?;
        file.write_all(content)?;
        if self.folder.durability.syncs_anything() {
            file.sync_all()?;
        }
        fs::rename(&unfinished_path, self.folder.file_path(name))?;
        self.folder.sync_entries(&self.folder.path)
    }
}

/// Syncs the entries of a folder. Some network file systems do so by themselves and do not support
/// the call.
pub(crate) fn sync_folder(path: &Path) -> io::Result<()> {
    match File::open(path)?.sync_all() {
        Err(error)
            if matches!(
                error.kind(),
                io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported
            ) =>
        {
            Ok(())
        }
        result => result,
    }
}

/// Returns the options that create a file which only this user may read.
pub(crate) fn private_options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, PRIVATE_MODES.1);
    options
}

/// Creates a folder that only this user may enter, and the missing folders above it.
pub(crate) fn create_private_folder(path: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, PRIVATE_MODES.0);
    builder.recursive(true).create(path)
}

fn create_file(path: &Path) -> io::Result<File> {
    private_options().create(true).truncate(true).open(path)
}

/// Checks whether the file does not exist or is empty, as a crash may leave it.
fn is_missing_or_empty(file: &Path) -> io::Result<bool> {
    match fs::metadata(file) {
        Ok(metadata) => Ok(metadata.len() == 0),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(true),
        Err(error) => Err(error),
    }
}

/// Checks whether a table of a database has a row. Returns `false` if it cannot be read; the
/// services report the reason when they open the database.
fn has_row(database: &Path, table: &str) -> bool {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let Ok(connection) = Connection::open_with_flags(database, flags) else {
        return false;
    };
    let sql = format!("SELECT EXISTS (SELECT 1 FROM {table})");
    connection
        .query_row(&sql, [], |row| row.get(0))
        .unwrap_or(false)
}

/// Revokes the access of other users to the folder and its content, if they have any. The folder
/// itself comes last, so that a crash leaves it to be done at the next start. Files that are
/// not ours are left alone.
#[cfg(unix)]
fn make_private(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;

    if fs::metadata(path)?.permissions().mode() & 0o777 == PRIVATE_MODES.0 {
        return Ok(());
    }

    let is_own_file = |name: &str| {
        let is_database = DATABASES
            .iter()
            .any(|(database, _)| name.starts_with(database));
        is_database || [KMS_KEY, SIGNING_KEY, MANIFEST, "s3"].contains(&name)
    };

    let mut paths = vec![path.to_owned()];
    let mut folders = vec![path.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder)? {
            let entry = entry?;
            if folder != path || is_own_file(&entry.file_name().to_string_lossy()) {
                paths.push(entry.path());
                folders.extend(entry.file_type()?.is_dir().then(|| entry.path()));
            }
        }
    }

    for path in paths.iter().rev() {
        let mode = if path.is_dir() {
            PRIVATE_MODES.0
        } else {
            PRIVATE_MODES.1
        };
        match fs::set_permissions(path, fs::Permissions::from_mode(mode)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                let path = path.display();
                tracing::warn!(%error, "other users may be able to read {path}, which cannot be made private: {error}");
                return Ok(());
            }
            _ => {}
        }
    }

    Ok(())
}

#[cfg(not(unix))]
fn make_private(_: &Path) -> io::Result<()> {
    Ok(())
}
