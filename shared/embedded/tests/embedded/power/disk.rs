//! A simulated disk, which computes from the trace of `disk.c` what a power cut leaves of a folder.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// The number of bytes that a disk writes as a unit.
const SECTOR: usize = 512;
/// The number of bytes of a record before its texts.
const HEAD: usize = 32;

/// A call that changed the folder, or an acknowledgement.
pub(super) struct TraceRecord {
    pub(super) nanoseconds: u64,
    pub(super) operation: u8,
    handle: u32,
    offset: u64,
    first_path: Vec<u8>,
    second_path: Vec<u8>,
}

impl TraceRecord {
    /// Reads all records of a trace.
    pub(super) fn read_all(trace: &Path) -> Vec<Self> {
        let bytes = fs::read(trace).unwrap();
        let mut rest = bytes.as_slice();
        let mut records = Vec::new();
        while rest.len() >= HEAD {
            let read_u64 = |at: usize| u64::from_le_bytes(rest[at..at + 8].try_into().unwrap());
            let read_u32 = |at: usize| u32::from_le_bytes(rest[at..at + 4].try_into().unwrap());
            let (first_length, second_length) = (read_u32(24) as usize, read_u32(28) as usize);
            records.push(Self {
                nanoseconds: read_u64(0),
                offset: read_u64(8),
                operation: u8::try_from(read_u32(16)).unwrap(),
                handle: read_u32(20),
                first_path: rest[HEAD..HEAD + first_length].to_vec(),
                second_path: rest[HEAD + first_length..HEAD + first_length + second_length]
                    .to_vec(),
            });
            rest = &rest[HEAD + first_length + second_length..];
        }

        records
    }

    /// Returns the text of an acknowledgement.
    pub(super) fn acknowledgement_text(&self) -> &str {
        std::str::from_utf8(&self.first_path).unwrap()
    }

    fn parse_path(text: &[u8]) -> PathBuf {
        PathBuf::from(std::str::from_utf8(text).unwrap())
    }
}

/// The unsynced changes that are on the disk after the cut.
#[derive(Debug, Clone, Copy)]
pub(super) enum UnsyncedChanges {
    /// None of them.
    Dropped,
    /// All of them.
    Kept,
    /// Each of them, by sectors, with this probability in percent.
    Torn(u64),
}

/// A generator of random numbers, which are the same for the same seed.
pub(super) struct RandomBits(pub(super) u64);

impl RandomBits {
    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ (bits >> 31)
    }

    pub(super) fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    fn keeps_change(&mut self, unsynced: UnsyncedChanges) -> bool {
        match unsynced {
            UnsyncedChanges::Dropped => false,
            UnsyncedChanges::Kept => true,
            UnsyncedChanges::Torn(percent) => self.below(100) < percent,
        }
    }
}

/// A change of the content of a file.
enum FileChange {
    Write(usize, Vec<u8>),
    Truncate(usize),
}

/// A change of an entry of a folder: a path and the number of its file, or `None` if the path is
/// removed.
struct EntryChange(PathBuf, Option<usize>);

#[derive(Default)]
struct DiskFile {
    synced: Vec<u8>,
    unsynced: Vec<FileChange>,
}

/// A folder as its process sees it, and as it is on the disk.
#[derive(Default)]
pub(super) struct SimulatedDisk {
    files: Vec<DiskFile>,
    /// The files by their paths, as the process sees them.
    seen: BTreeMap<PathBuf, usize>,
    /// The files by their paths, as they are on the disk.
    names: BTreeMap<PathBuf, usize>,
    /// Unsynced changes of entries, by folder. The entries of one change take effect together.
    entries: BTreeMap<PathBuf, Vec<Vec<EntryChange>>>,
    /// The folders on the disk. Those that are not on it yet follow, by the folder that contains
    /// them.
    folders: BTreeSet<PathBuf>,
    new_folders: BTreeMap<PathBuf, Vec<PathBuf>>,
    handles: BTreeMap<u32, OpenHandle>,
}

#[derive(Clone)]
enum OpenHandle {
    File(usize),
    Folder(PathBuf),
}

impl SimulatedDisk {
    /// Applies the call of a record.
    pub(super) fn apply_record(&mut self, record: &TraceRecord) {
        match record.operation {
            b'O' => self.open_file(record),
            b'W' => self.change_file(
                record.handle,
                FileChange::Write(record.offset as usize, record.first_path.clone()),
            ),
            b'T' => self.change_file(record.handle, FileChange::Truncate(record.offset as usize)),
            b'S' => self.sync_handle(record.handle),
            b'R' => {
                let (from, to) = (
                    TraceRecord::parse_path(&record.first_path),
                    TraceRecord::parse_path(&record.second_path),
                );
                let file = self.seen.remove(&from).unwrap();
                self.seen.insert(to.clone(), file);
                self.enter(vec![EntryChange(from, None), EntryChange(to, Some(file))]);
            }
            b'U' => {
                let path = TraceRecord::parse_path(&record.first_path);
                if self.seen.remove(&path).is_some() {
                    self.enter(vec![EntryChange(path, None)]);
                }
            }
            b'M' => {
                let path = TraceRecord::parse_path(&record.first_path);
                self.new_folders
                    .entry(path.parent().unwrap().to_owned())
                    .or_default()
                    .push(path);
            }
            _ => {}
        }
    }

    fn open_file(&mut self, record: &TraceRecord) {
        let path = TraceRecord::parse_path(&record.first_path);
        if record.offset & 4 != 0 {
            self.handles.insert(record.handle, OpenHandle::Folder(path));
            return;
        }

        let file = match self.seen.get(&path) {
            Some(file) => *file,
            None => {
                let file = self.files.len();
                self.files.push(DiskFile::default());
                self.seen.insert(path.clone(), file);
                self.enter(vec![EntryChange(path, Some(file))]);
                file
            }
        };

        self.handles.insert(record.handle, OpenHandle::File(file));
        if record.offset & 2 != 0 {
            self.change_file(record.handle, FileChange::Truncate(0));
        }
    }

    fn enter(&mut self, change: Vec<EntryChange>) {
        let folder = change[0].0.parent().unwrap().to_owned();
        self.entries.entry(folder).or_default().push(change);
    }

    fn change_file(&mut self, handle: u32, change: FileChange) {
        if let Some(OpenHandle::File(file)) = self.handles.get(&handle) {
            self.files[*file].unsynced.push(change);
        }
    }

    /// Syncs the content of a file, or the entries of a folder. Syncing a file does not sync its
    /// entry.
    fn sync_handle(&mut self, handle: u32) {
        match self.handles[&handle].clone() {
            OpenHandle::File(file) => {
                let file = &mut self.files[file];
                for change in std::mem::take(&mut file.unsynced) {
                    apply_change(&mut file.synced, &change);
                }
            }
            OpenHandle::Folder(folder) => {
                self.folders
                    .extend(self.new_folders.remove(&folder).unwrap_or_default());
                for change in self.entries.remove(&folder).unwrap_or_default() {
                    change_entries(&mut self.names, &change);
                }
            }
        }
    }

    /// Writes to `image` what is left of the folder `root` after a cut.
    pub(super) fn write_image(
        &self,
        root: &Path,
        image: &Path,
        unsynced: UnsyncedChanges,
        random: &mut RandomBits,
    ) {
        let mut folders = self.folders.clone();
        // A parent comes before its content: everything in a lost folder is lost.
        for folder in self.new_folders.values().flatten() {
            if random.keeps_change(unsynced) {
                folders.insert(folder.clone());
            }
        }

        let mut names = self.names.clone();
        for change in self.entries.values().flatten() {
            if random.keeps_change(unsynced) {
                change_entries(&mut names, change);
            }
        }

        let folder_exists = |folder: &Path| {
            folder
                .ancestors()
                .take_while(|ancestor| *ancestor != root)
                .all(|ancestor| folders.contains(ancestor))
        };

        let image_path = |path: &Path| image.join(path.strip_prefix(root).unwrap());
        for folder in folders.iter().filter(|folder| folder_exists(folder)) {
            fs::create_dir_all(image_path(folder)).unwrap();
        }

        for (path, file) in names
            .iter()
            .filter(|(path, _)| folder_exists(path.parent().unwrap()))
        {
            let file = &self.files[*file];
            let mut content = file.synced.clone();
            for change in &file.unsynced {
                apply_torn_change(&mut content, change, unsynced, random);
            }
            fs::write(image_path(path), content).unwrap();
        }
    }
}

fn change_entries(names: &mut BTreeMap<PathBuf, usize>, change: &[EntryChange]) {
    for EntryChange(path, file) in change {
        match file {
            Some(file) => names.insert(path.clone(), *file),
            None => names.remove(path),
        };
    }
}

fn apply_change(content: &mut Vec<u8>, change: &FileChange) {
    match change {
        FileChange::Truncate(length) => content.resize(*length, 0),
        FileChange::Write(at, bytes) => {
            content.resize(content.len().max(at + bytes.len()), 0);
            content[*at..at + bytes.len()].copy_from_slice(bytes);
        }
    }
}

/// Applies a change, some sectors of it, or nothing. A later sector may be kept without an earlier
/// one, because a disk writes in any order.
fn apply_torn_change(
    content: &mut Vec<u8>,
    change: &FileChange,
    unsynced: UnsyncedChanges,
    random: &mut RandomBits,
) {
    match change {
        FileChange::Truncate(_) => {
            if random.keeps_change(unsynced) {
                apply_change(content, change);
            }
        }
        FileChange::Write(at, bytes) => {
            let mut begin = 0;
            while begin < bytes.len() {
                let end = bytes
                    .len()
                    .min((at + begin) / SECTOR * SECTOR + SECTOR - at);
                if random.keeps_change(unsynced) {
                    apply_change(
                        content,
                        &FileChange::Write(at + begin, bytes[begin..end].to_vec()),
                    );
                }
                begin = end;
            }
        }
    }
}
