//! `recollect watch`: keeps a folder in step.
//!
//! The folder is read at an interval, which works on every file system, also on those of other
//! machines, where notifications of changes do not arrive.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use anyhow::{Context, Result};
use api_client::Method;
use indicatif::ProgressBar;

use super::add::find::{FoundFile, find_files};
use super::add::send::{Accepted, Sender, Source};
use super::add::wait::{Processed, wait_for_all};
use super::api::{document_path, found};
use super::output::{Outcome, Output, one_line, print_note};
use super::target::{OpenService, Purpose};
use crate::arguments::Watch;
use crate::command::wait_for_interrupt;
use crate::counts::count;

/// The time and size of a file, by which a changed content is recognized.
type Stamp = (Option<SystemTime>, u64);

/// The looks after which a file is sent again that the service did not take: a minute at the usual
/// interval.
const RETRY_AFTER_LOOKS: u64 = 30;

/// A file of one look.
#[derive(Debug, Clone)]
struct LookedFile {
    file: FoundFile,
    stamp: Stamp,
    /// The device of its folder. Another one means that a disk was mounted or unmounted.
    device: u64,
}

/// The files of one look, by their paths.
type Snapshot = BTreeMap<PathBuf, LookedFile>;

/// A look at the folder.
struct Look {
    files: Snapshot,
    /// Every folder could be read, so a file that is missing is gone.
    is_complete: bool,
    /// The device of the folder. Another one means that a disk was mounted or unmounted.
    device: u64,
    /// The files and folders that cannot be added, with the reason.
    failures: Vec<(String, String)>,
}

/// The work after a look.
#[derive(Debug, Default, PartialEq, Eq)]
struct Changes {
    to_add: Vec<FoundFile>,
    to_delete: Vec<FoundFile>,
}

/// The state of the watched folder.
#[derive(Debug, Default)]
struct Watcher {
    /// The last look.
    last: Snapshot,
    /// The files that were added, with the content that they had.
    added: Snapshot,
    /// The files that the service did not take, with their content and the number of the look.
    refused: HashMap<PathBuf, (Stamp, u64)>,
    /// The number of looks so far.
    looks: u64,
    /// The last look failed, and the user knows.
    is_lost: bool,
}

/// Sends the changes of one folder.
struct FolderSync<'a> {
    service: &'a OpenService,
    sender: Sender,
    deletes: bool,
    output: Output,
}

pub(super) async fn run_watch(options: Watch) -> Result<Outcome> {
    // A misspelled folder is an error, while one that vanishes later may come back.
    let first = look_at(&options.folder)?;
    for (path, reason) in &first.failures {
        print_note(&format!("{path} is left out: {reason}"));
    }
    let interrupted = wait_for_interrupt()?;
    let service = OpenService::open(&options.target, Purpose::Process).await?;
    let output = Output::stdout(false);
    output.print(&format!(
        "Watching {} with {}; Ctrl-C ends.\n",
        options.folder.display(),
        count(first.files.len(), "file")
    ))?;

    let sync = FolderSync {
        sender: Sender::new(&service.client, &options.marking, None),
        service: &service,
        deletes: options.delete,
        output,
    };
    let result = tokio::select! {
        result = sync.run(&options, first) => result,
        () = interrupted => Ok(()),
    };
    service.close().await;
    result.map(|()| Outcome::Done)
}

impl FolderSync<'_> {
    /// Looks at the folder again and again.
    async fn run(&self, options: &Watch, first: Look) -> Result<()> {
        // A file that is there at the start counts as settled.
        let mut watcher = Watcher {
            last: first.files.clone(),
            ..Watcher::default()
        };
        let device = first.device;
        let mut look = Ok(first);
        loop {
            match look {
                Ok(look) => {
                    watcher.is_lost = false;
                    let is_complete = look.is_complete && look.device == device;
                    let changes = watcher.compare(look.files, is_complete);
                    self.apply(&mut watcher, changes).await?;
                }
                Err(error) if !watcher.is_lost => {
                    watcher.is_lost = true;
                    print_note(&format!(
                        "{error:#}; nothing is deleted, and watching goes on"
                    ));
                }
                Err(_) => {}
            }
            tokio::time::sleep(Duration::from_secs(options.every)).await;
            look = look_at(&options.folder);
        }
    }

    async fn apply(&self, watcher: &mut Watcher, changes: Changes) -> Result<()> {
        let mut accepted = Vec::new();
        for file in changes.to_add {
            match self.sender.send(&Source::File(file.clone())).await {
                Ok(document) => {
                    watcher.note_added(&file);
                    accepted.push(document);
                }
                // It is tried again when it has changed, or after a minute or so.
                Err(reason) => {
                    watcher.note_refused(&file);
                    print_note(&format!("failed {}: {reason}", file.shown));
                }
            }
        }
        self.report(&accepted).await?;

        for file in changes.to_delete {
            // A file may be there and be left out, such as one that has grown too large.
            let device = watcher.added.get(&file.path).map(|added| added.device);
            if !device.is_some_and(|device| is_gone(&file.path, device)) {
                continue;
            }
            if self.deletes && !self.delete(&file).await? {
                continue;
            }
            watcher.added.remove(&file.path);
        }
        Ok(())
    }

    /// Deletes the document of a file. Returns `false` if that has to be tried again.
    async fn delete(&self, file: &FoundFile) -> Result<bool> {
        let path = document_path(&self.sender.file_id(&file.path));
        let deleted = self.service.client.send(Method::DELETE, &path, None).await;
        if let Err(error) = found(deleted) {
            print_note(&format!("failed to delete {}: {error}", file.shown));
            return Ok(false);
        }
        let line = format!("deleted {}\n", one_line(&file.shown));
        self.output.print(&line)?;
        Ok(true)
    }

    /// Waits for documents, and prints how each ended.
    async fn report(&self, documents: &[Accepted]) -> Result<()> {
        let bar = ProgressBar::hidden();
        let ended = match wait_for_all(&self.service.client, documents, &bar).await {
            Ok(ended) => ended,
            // The documents are accepted, so only their end is unknown. The server may come back.
            Err(error) => {
                print_note(&format!("{error:#}; watching goes on"));
                return Ok(());
            }
        };
        for (document, ended) in documents.iter().zip(ended) {
            let source = one_line(&document.source);
            let line = match ended {
                Processed::Done if document.is_unchanged => continue,
                Processed::Done => format!("added {source}\n"),
                Processed::Failed(reason) => format!("failed {source}: {}\n", one_line(&reason)),
                Processed::Gone => format!("failed {source}: it was deleted meanwhile\n"),
                Processed::Unfinished => format!("unfinished {source}\n"),
            };
            self.output.print(&line)?;
        }
        Ok(())
    }
}

impl Watcher {
    /// Compares a look with the one before. A file counts once it is the same in two looks, so that
    /// one that is being written, or replaced by an editor, is left alone.
    fn compare(&mut self, snapshot: Snapshot, is_complete: bool) -> Changes {
        let mut changes = Changes::default();
        for (path, LookedFile { file, stamp, .. }) in &snapshot {
            let stamp_of = |looked: &Snapshot| looked.get(path).map(|looked| looked.stamp);
            let is_settled = stamp_of(&self.last) == Some(*stamp);
            let is_refused = self.refused.get(path).is_some_and(|(refused, look)| {
                refused == stamp && self.looks < look + RETRY_AFTER_LOOKS
            });
            if is_settled && !is_refused && stamp_of(&self.added) != Some(*stamp) {
                changes.to_add.push(file.clone());
            }
        }
        for (path, LookedFile { file, device, .. }) in &mut self.added {
            // A disk may have another number when it is mounted again.
            if let Some(looked) = snapshot.get(path) {
                *device = looked.device;
            }
            let is_gone = !snapshot.contains_key(path) && !self.last.contains_key(path);
            if is_gone && is_complete {
                changes.to_delete.push(file.clone());
            }
        }
        self.last = snapshot;
        self.looks += 1;
        changes
    }

    /// Notes that the service did not take the content of the last look.
    fn note_refused(&mut self, file: &FoundFile) {
        if let Some(looked) = self.last.get(&file.path) {
            self.refused
                .insert(file.path.clone(), (looked.stamp, self.looks));
        }
    }

    /// Notes that the content of the last look was added.
    fn note_added(&mut self, file: &FoundFile) {
        if let Some(entry) = self.last.get(&file.path) {
            self.added.insert(file.path.clone(), entry.clone());
        }
    }
}

/// Checks that a file is no longer there, whose folder was on this device. A folder that cannot be searched is no
/// answer, nor is one on another device: a disk was unmounted below the watched folder, and has the file.
fn is_gone(path: &Path, device: u64) -> bool {
    for ancestor in path.ancestors() {
        match fs::symlink_metadata(ancestor) {
            Ok(found) => return ancestor != path && found.dev() == device,
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(_) => return false,
        }
    }
    false
}

/// Looks at the folder.
///
/// # Errors
/// Fails if the folder itself cannot be read, as after an unmount.
fn look_at(folder: &Path) -> Result<Look> {
    let reading = || format!("watch {}", folder.display());
    let device = fs::metadata(folder).with_context(reading)?.dev();
    let found = find_files(folder).with_context(reading)?;
    let mut snapshot = Snapshot::new();
    for file in found.files {
        // A file that vanishes meanwhile is missing in the next look as well.
        let folder = file.path.parent().unwrap_or(&file.path);
        if let (Ok(metadata), Ok(folder)) = (fs::metadata(&file.path), fs::metadata(folder)) {
            let looked = LookedFile {
                stamp: (metadata.modified().ok(), metadata.len()),
                device: folder.dev(),
                file,
            };
            snapshot.insert(looked.file.path.clone(), looked);
        }
    }
    Ok(Look {
        files: snapshot,
        is_complete: !found.is_incomplete,
        device,
        failures: found.failures,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a look at files with these names and sizes.
    fn look(files: &[(&str, u64)]) -> Snapshot {
        let entry = |&(name, size): &(&str, u64)| {
            let file = FoundFile {
                path: PathBuf::from(name),
                shown: name.to_owned(),
            };
            let looked = LookedFile {
                file,
                stamp: (None, size),
                device: 0,
            };
            (looked.file.path.clone(), looked)
        };
        files.iter().map(entry).collect()
    }

    fn names(files: &[FoundFile]) -> Vec<&str> {
        files.iter().map(|file| file.shown.as_str()).collect()
    }

    /// Compares a look, and notes everything as added.
    fn step(watcher: &mut Watcher, files: &[(&str, u64)]) -> (Vec<String>, Vec<String>) {
        let changes = watcher.compare(look(files), true);
        for file in &changes.to_add {
            watcher.note_added(file);
        }
        for file in &changes.to_delete {
            watcher.added.remove(&file.path);
        }
        let owned = |files: &[FoundFile]| names(files).into_iter().map(str::to_owned).collect();
        (owned(&changes.to_add), owned(&changes.to_delete))
    }

    #[test]
    fn a_file_is_added_when_it_has_settled_and_once_for_each_content() {
        let mut watcher = Watcher::default();
        let none: (Vec<String>, Vec<String>) = Default::default();
        assert_eq!(step(&mut watcher, &[("a", 1)]), none, "it may still grow");
        assert_eq!(step(&mut watcher, &[("a", 2)]), none, "it has grown");
        assert_eq!(step(&mut watcher, &[("a", 2)]).0, ["a"]);
        assert_eq!(step(&mut watcher, &[("a", 2)]), none);
        assert_eq!(step(&mut watcher, &[("a", 3)]), none);
        assert_eq!(step(&mut watcher, &[("a", 3)]).0, ["a"]);
    }

    #[test]
    fn a_file_is_gone_when_two_looks_miss_it() {
        let mut watcher = Watcher::default();
        let none: (Vec<String>, Vec<String>) = Default::default();
        step(&mut watcher, &[("a", 1)]);
        assert_eq!(step(&mut watcher, &[("a", 1)]).0, ["a"]);
        assert_eq!(step(&mut watcher, &[]), none, "an editor may replace it");
        assert_eq!(step(&mut watcher, &[("a", 1)]), none);
        assert_eq!(step(&mut watcher, &[]), none);
        assert_eq!(step(&mut watcher, &[]).1, ["a"]);
        assert_eq!(step(&mut watcher, &[]), none);
    }

    #[test]
    fn a_file_that_was_refused_is_sent_again_when_it_changes_or_later() {
        let mut watcher = Watcher::default();
        let mut to_add = |size| {
            let changes = watcher.compare(look(&[("a", size)]), true);
            for file in &changes.to_add {
                watcher.note_refused(file);
            }
            changes.to_add.len()
        };
        assert_eq!((to_add(1), to_add(1)), (0, 1));
        let waiting: usize = (0..RETRY_AFTER_LOOKS).map(|_| to_add(1)).sum();
        assert_eq!((waiting, to_add(1)), (0, 1));
        assert_eq!((to_add(2), to_add(2)), (0, 1));
    }

    #[test]
    fn a_file_that_is_there_is_not_gone() {
        let folder = tempfile::tempdir().unwrap();
        let device = fs::metadata(folder.path()).unwrap().dev();
        let path = folder.path().join("a.md");
        assert!(is_gone(&path, device));
        fs::write(&path, "text").unwrap();
        assert!(!is_gone(&path, device));
    }

    #[test]
    fn a_file_is_not_gone_when_its_disk_was_unmounted() {
        let folder = tempfile::tempdir().unwrap();
        let device = fs::metadata(folder.path()).unwrap().dev();
        let mount_point = folder.path().join("disk");
        let path = mount_point.join("letters/a.md");
        fs::create_dir(&mount_point).unwrap();
        assert!(!is_gone(&path, device + 1));
        fs::remove_dir(&mount_point).unwrap();
        assert!(!is_gone(&path, device + 1));
        assert!(is_gone(&path, device), "its folder was deleted");
    }

    #[test]
    fn nothing_is_gone_while_a_folder_cannot_be_read() {
        let mut watcher = Watcher::default();
        step(&mut watcher, &[("a", 1)]);
        assert_eq!(step(&mut watcher, &[("a", 1)]).0, ["a"]);
        for _ in 0..3 {
            assert_eq!(watcher.compare(look(&[]), false), Changes::default());
        }
        assert_eq!(names(&watcher.compare(look(&[]), true).to_delete), ["a"]);
        assert!(look_at(Path::new("gone/altogether")).is_err());
    }
}
