//! Finds the files of a folder.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

/// The most bytes of a file that the service takes.
const MAX_FILE_BYTES: u64 = documents::MAX_FILE_BYTES as u64;

/// A file to add.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in super::super) struct FoundFile {
    /// The absolute path, by which the file is recognized when it is added again.
    pub(in super::super) path: PathBuf,
    /// The path for people: that of the folder's name and what is below it.
    pub(in super::super) shown: String,
}

/// The files below a folder, sorted, and what is left out.
#[derive(Debug, Default)]
pub(in super::super) struct FoundFiles {
    pub(in super::super) files: Vec<FoundFile>,
    /// Hidden files and folders, which nobody expects to be added.
    pub(in super::super) hidden: Vec<String>,
    /// The files and folders that cannot be added, with the reason.
    pub(in super::super) failures: Vec<(String, String)>,
    /// A folder could not be read, so what is in it is unknown.
    pub(in super::super) is_incomplete: bool,
}

/// Finds the file at `input`, or the files below it if it is a folder.
///
/// # Errors
/// Fails if there is nothing, or if the folder itself cannot be read.
pub(in super::super) fn find_files(input: &Path) -> Result<FoundFiles> {
    let shown = input.display().to_string();
    let path = fs::canonicalize(input).with_context(|| format!("cannot read {shown}"))?;
    let mut found = FoundFiles::default();
    if !path.is_dir() {
        if !path.is_file() {
            bail!("{shown} is neither a file nor a folder");
        }
        found.note_file(path.clone(), shown_name(input, &path));
        return Ok(found);
    }

    fs::read_dir(&path).with_context(|| format!("read the folder {shown}"))?;
    found.walk(&path, &shown_name(input, &path));
    found.files.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(found)
}

/// Returns the path that people and the service see. It keeps what the user has written, unless
/// that is absolute or leads upwards: the folders of a machine are nobody else's business.
fn shown_name(input: &Path, path: &Path) -> String {
    let is_plain = |part| matches!(part, std::path::Component::Normal(_));
    let written = input.strip_prefix(".").unwrap_or(input);
    let is_below = written.components().all(is_plain) && written.components().count() > 0;
    let shown = match (is_below, path.file_name()) {
        (true, _) => written.display().to_string(),
        (false, Some(name)) => Path::new(name).display().to_string(),
        (false, None) => "files".to_owned(),
    };
    shown.trim_end_matches('/').to_owned()
}

impl FoundFiles {
    fn walk(&mut self, folder: &Path, shown: &str) {
        let entries = match fs::read_dir(folder) {
            Ok(entries) => entries,
            Err(error) => return self.note_unread_folder(shown, &error.to_string()),
        };
        for entry in entries {
            let entry = match entry {
                Ok(entry) => entry,
                Err(error) => {
                    self.note_unread_folder(shown, &error.to_string());
                    continue;
                }
            };
            let name = entry.file_name().to_string_lossy().into_owned();
            self.visit(entry.path(), format!("{shown}/{name}"), &name);
        }
    }

    fn visit(&mut self, path: PathBuf, shown: String, name: &str) {
        if name.starts_with('.') {
            self.hidden.push(shown);
            return;
        }
        if path.is_dir() {
            // A link may lead to a folder above it.
            match path.is_symlink() {
                true => self.note_failure(&shown, "a link to a folder is not followed"),
                false => self.walk(&path, &shown),
            }
            return;
        }
        if path.is_file() {
            self.note_file(path, shown);
        }
    }

    fn note_file(&mut self, path: PathBuf, shown: String) {
        match fs::metadata(&path) {
            Ok(metadata) if metadata.len() > MAX_FILE_BYTES => {
                let megabytes = MAX_FILE_BYTES / 1024 / 1024;
                self.note_failure(&shown, &format!("the file is larger than {megabytes} MB"));
            }
            Ok(_) => self.files.push(FoundFile { path, shown }),
            Err(error) => self.note_failure(&shown, &error.to_string()),
        }
    }

    fn note_unread_folder(&mut self, shown: &str, reason: &str) {
        self.is_incomplete = true;
        self.note_failure(shown, reason);
    }

    fn note_failure(&mut self, shown: &str, reason: &str) {
        self.failures.push((shown.to_owned(), reason.to_owned()));
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_folder_gives_its_visible_files_and_says_what_is_left_out() {
        let folder = tempfile::tempdir().unwrap();
        let notes = folder.path().join("notes");
        fs::create_dir_all(notes.join("a/b")).unwrap();
        fs::create_dir_all(notes.join(".git")).unwrap();
        for name in ["z.md", "a/b/c.md", ".hidden.md", ".git/config"] {
            fs::write(notes.join(name), "text").unwrap();
        }
        symlink(&notes, notes.join("a/loop")).unwrap();
        symlink(notes.join("gone"), notes.join("broken")).unwrap();
        let large = File::create(notes.join("large.bin")).unwrap();
        large.set_len(MAX_FILE_BYTES + 1).unwrap();

        let mut found = find_files(&notes).unwrap();
        let shown: Vec<&str> = found.files.iter().map(|file| file.shown.as_str()).collect();
        assert_eq!(shown, ["notes/a/b/c.md", "notes/z.md"]);
        found.hidden.sort();
        assert_eq!(found.hidden, ["notes/.git", "notes/.hidden.md"]);
        found.failures.sort();
        let failed: Vec<&str> = found
            .failures
            .iter()
            .map(|(path, _)| path.as_str())
            .collect();
        assert_eq!(failed, ["notes/a/loop", "notes/large.bin"]);
    }

    #[test]
    fn a_file_is_found_even_if_it_is_hidden_and_nothing_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(".notes.md");
        let error = find_files(&path).unwrap_err();
        assert!(format!("{error:#}").contains("No such file"), "{error:#}");
        fs::write(&path, "text").unwrap();
        let found = find_files(&path).unwrap();
        assert_eq!(found.files[0].shown, ".notes.md");
    }

    #[test]
    fn the_shown_path_does_not_tell_of_the_folders_above() {
        let path = Path::new("/a/b/notes");
        for (input, shown) in [
            ("notes/", "notes"),
            ("./notes", "notes"),
            ("b/notes", "b/notes"),
            ("/a/b/notes", "notes"),
            ("../b/notes", "notes"),
            (".", "notes"),
        ] {
            assert_eq!(shown_name(Path::new(input), path), shown, "{input}");
        }
        assert_eq!(shown_name(Path::new("/"), Path::new("/")), "files");
    }
}
