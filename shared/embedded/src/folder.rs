//! The data folder: private, complete, and on the disk.
//!
//! `MANIFEST` lists the files that the folder has to have. It is written last, so a crash while a folder is made leaves one
//! that is simply made again. Folders of before it are judged by what they hold: nothing was ever stored before every
//! database existed. Their keys may be missing, for they came later and `kms.key` comes with its first use.

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

/// Where the bytes of S3 lie.
const BLOBS: &str = "s3/blobs";
/// Each database, and its table that has a row as soon as anything can be stored.
const DATABASES: [(&str, &str); 3] = [
    (DYNAMODB, "_tables"),
    (SQS, "queues"),
    (S3_INDEX, "buckets"),
];
const MANIFEST: &str = "MANIFEST";
/// What a new `MANIFEST` or key is called until it is whole.
const UNFINISHED: &str = ".new";

/// Modes of folders and files: for this user alone.
#[cfg(unix)]
const PRIVATE: (u32, u32) = (0o700, 0o600);

/// A data folder.
#[derive(Clone)]
pub(crate) struct Folder {
    path: PathBuf,
    durability: Durability,
}

/// The folder while no other process opens it or makes a key in it.
pub(crate) struct Locked<'a> {
    folder: &'a Folder,
    _lock: File,
}

/// Returns the time of the last write to the databases of the folder at `path`; `None` without databases.
pub fn last_write(path: &Path) -> Option<SystemTime> {
    let files = DATABASES
        .iter()
        .flat_map(|(name, _)| [path.join(name), path.join(format!("{name}-wal"))]);
    files
        .filter_map(|file| fs::metadata(file).ok()?.modified().ok())
        .max()
}

impl Folder {
    /// The folder at `path`, which is created when it is missing and made private when it is not.
    pub(crate) fn open(path: &Path, durability: Durability) -> anyhow::Result<Self> {
        let folder = Self {
            path: path.to_owned(),
            durability,
        };
        for inner in ["", BLOBS] {
            let inner = path.join(inner);
            create_private(&inner).with_context(|| format!("cannot create {}", inner.display()))?;
        }
        Ok(folder)
    }

    /// Where the folder lies.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Where the file `name` lies.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// The folder that S3 has to itself.
    pub(crate) fn s3(&self) -> PathBuf {
        self.path.join("s3")
    }

    /// Waits until no other process has the folder locked.
    pub(crate) fn lock(&self) -> io::Result<Locked<'_>> {
        let lock = File::open(&self.path)?;
        lock.lock()?;
        Ok(Locked {
            folder: self,
            _lock: lock,
        })
    }

    fn sync(&self, path: &Path) -> io::Result<()> {
        if self.durability.syncs() {
            sync_folder(path)
        } else {
            Ok(())
        }
    }
}

impl Locked<'_> {
    /// Checks that the folder can be written and that nothing is missing in it, before anything is created there, and
    /// creates the databases that it lacks as empty files, because SQLite would let others read them.
    pub(crate) fn prepare(&self) -> anyhow::Result<()> {
        let path = &self.folder.path;
        let probe = self.folder.file(&format!("{MANIFEST}{UNFINISHED}"));
        create_file(&probe)
            .and_then(|_| fs::remove_file(&probe))
            .with_context(|| format!("cannot write to {}", path.display()))?;
        make_private(path).with_context(|| format!("cannot read {}", path.display()))?;
        self.check()?;
        for (name, _) in DATABASES {
            match private_options()
                .create_new(true)
                .open(self.folder.file(name))
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

    /// Puts the new folder on the disk, and then on record what it has.
    pub(crate) fn complete(&self) -> anyhow::Result<()> {
        let path = &self.folder.path;
        let sync = || -> io::Result<()> {
            self.folder.sync(&path.join(BLOBS))?;
            self.folder.sync(&self.folder.s3())?;
            self.folder.sync(path)?;
            // The folder above may belong to somebody else, who then made this one.
            self.folder
                .sync(fs::canonicalize(path)?.parent().unwrap_or(path))
                .ok();
            self.record()
        };
        sync().with_context(|| format!("cannot write to {}", path.display()))
    }

    /// The key in the file `name`; when there is none, the one that `make` makes. Of several processes that ask for it at a
    /// time all get the same, and it is on the disk before any of them.
    pub(crate) fn key(&self, name: &str, make: impl FnOnce() -> Vec<u8>) -> io::Result<Vec<u8>> {
        let file = self.folder.file(name);
        if !is_missing(&file)? {
            return fs::read(file);
        }

        let recorded = self.recorded()?;
        if recorded.contains(name) {
            return Err(io::Error::other(self.loss(name)));
        }

        let key = make();
        self.replace(name, &key)?;
        // A folder that is still being made goes on record as a whole.
        if !recorded.is_empty() {
            self.record()?;
        }

        Ok(key)
    }

    /// Refuses a folder that lacks a file which it had.
    fn check(&self) -> anyhow::Result<()> {
        let recorded = self.recorded()?;
        let is_lost = |name: &str| -> anyhow::Result<bool> {
            let is_database = DATABASES.iter().any(|(database, _)| *database == name);
            let had = if recorded.is_empty() {
                is_database && self.holds_data()?
            } else {
                recorded.contains(name)
            };
            Ok(had && is_missing(&self.folder.file(name))?)
        };

        for name in [DYNAMODB, SQS, S3_INDEX, KMS_KEY, SIGNING_KEY] {
            if is_lost(name)? {
                bail!(self.loss(name));
            }
        }

        Ok(())
    }

    fn loss(&self, name: &str) -> String {
        let file = self.folder.file(name);
        let how = if file.exists() {
            "is empty"
        } else {
            "is missing"
        };
        format!(
            "{} {how}, while other data of this folder is there. Restore the whole folder from a backup, or move the \
             folder away to start with an empty one",
            file.display()
        )
    }

    /// Whether anything was ever stored in a folder without a record.
    fn holds_data(&self) -> anyhow::Result<bool> {
        for (name, table) in DATABASES {
            let file = self.folder.file(name);
            if !is_missing(&file)? && has_row(&file, table) {
                return Ok(true);
            }
        }

        for shelf in fs::read_dir(self.folder.file(BLOBS))? {
            let shelf = shelf?.path();
            if shelf.is_dir() && fs::read_dir(shelf)?.next().is_some() {
                return Ok(true);
            }
        }

        Ok(false)
    }

    /// The files that the folder has to have; none when there is no record.
    fn recorded(&self) -> io::Result<BTreeSet<String>> {
        match fs::read_to_string(self.folder.file(MANIFEST)) {
            Ok(text) => Ok(text.lines().map(str::to_owned).collect()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(BTreeSet::new()),
            Err(error) => Err(error),
        }
    }

    /// Writes down which files there are.
    fn record(&self) -> io::Result<()> {
        let mut there = BTreeSet::new();
        for name in [DYNAMODB, SQS, S3_INDEX, KMS_KEY, SIGNING_KEY] {
            if !is_missing(&self.folder.file(name))? {
                there.insert(name.to_owned());
            }
        }
        if there != self.recorded()? {
            let lines: String = there.iter().map(|name| format!("{name}\n")).collect();
            self.replace(MANIFEST, lines.as_bytes())?;
        }
        Ok(())
    }

    /// Gives the file `name` this content: all of it or, if the power goes before, what it had.
    fn replace(&self, name: &str, content: &[u8]) -> io::Result<()> {
        let unfinished = self.folder.file(&format!("{name}{UNFINISHED}"));
        let mut file = create_file(&unfinished)?;
        file.write_all(content)?;
        if self.folder.durability.syncs() {
            file.sync_all()?;
        }
        fs::rename(&unfinished, self.folder.file(name))?;
        self.folder.sync(&self.folder.path)
    }
}

/// Puts on the disk which files a folder has. Some network file systems do so by themselves and know no such call.
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
        synced => synced,
    }
}

/// How files are created that only this user may read.
pub(crate) fn private_options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, PRIVATE.1);
    options
}

/// Creates a folder, and those above it, that only this user may enter.
pub(crate) fn create_private(path: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, PRIVATE.0);
    builder.recursive(true).create(path)
}

fn create_file(path: &Path) -> io::Result<File> {
    private_options().create(true).truncate(true).open(path)
}

fn is_missing(file: &Path) -> io::Result<bool> {
    match fs::metadata(file) {
        Ok(about) => Ok(about.len() == 0),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(true),
        Err(error) => Err(error),
    }
}

/// Whether the table of a database has a row. What cannot be read says no, and the services say why when they open it.
fn has_row(database: &Path, table: &str) -> bool {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let open = Connection::open_with_flags(database, flags);
    let sql = format!("SELECT EXISTS (SELECT 1 FROM {table})");
    open.and_then(|connection| connection.query_row(&sql, [], |row| row.get(0)))
        .unwrap_or(false)
}

/// Takes the folder and what it has away from other users, if they may still enter it: the folder itself last, so that what
/// a crash left undone is done the next time. Files that are not ours are left alone.
#[cfg(unix)]
fn make_private(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;

    if fs::metadata(path)?.permissions().mode() & 0o777 == PRIVATE.0 {
        return Ok(());
    }

    let is_ours = |name: &str| {
        let database = DATABASES
            .iter()
            .any(|(database, _)| name.starts_with(database));
        database || [KMS_KEY, SIGNING_KEY, MANIFEST, "s3"].contains(&name)
    };

    let mut all = vec![path.to_owned()];
    let mut folders = vec![path.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder)? {
            let entry = entry?;
            if folder != path || is_ours(&entry.file_name().to_string_lossy()) {
                all.push(entry.path());
                folders.extend(entry.file_type()?.is_dir().then(|| entry.path()));
            }
        }
    }

    for path in all.iter().rev() {
        let mode = if path.is_dir() { PRIVATE.0 } else { PRIVATE.1 };
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
