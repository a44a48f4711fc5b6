//! The content of an export that is the same after its restoration.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::io::{self, Write};

use domain::DocumentStatus;
use serde::Deserialize;
use serde::de::IgnoredAny;
use sha2::{Digest, Sha256};

/// Hashes the lines of an export that a restoration brings back as they are.
///
/// Left out are the time of the export, and the settings, whose secrets are not exported. Documents that were not
/// done when a backup was made are left out too: a restoration processes them again. They may be done by now and
/// have changed the memories, so the memories beside such documents are counted and not hashed.
#[derive(Debug, Default)]
pub(super) struct ContentDigest {
    hasher: Sha256,
    /// The beginning of a line whose end was not written yet.
    partial_line: Vec<u8>,
    /// The ids of the documents that were not done when the backup was made.
    unfinished: BTreeSet<String>,
    /// True for the file of a backup, whose lines say which documents were not done.
    is_backup: bool,
    /// The number of unfinished documents in the file of a backup whose content had not arrived.
    pub(super) without_content: usize,
    /// The number of the other documents.
    pub(super) documents: usize,
    /// The number of memories.
    pub(super) memories: usize,
}

/// The fields of a line by which it is compared or not.
#[derive(Deserialize)]
struct LineSummary<'a> {
    #[serde(borrow)]
    r#type: Cow<'a, str>,
    #[serde(borrow, default)]
    id: Option<Cow<'a, str>>,
    #[serde(default)]
    status: Option<DocumentStatus>,
    #[serde(default)]
    body: Option<IgnoredAny>,
}

impl ContentDigest {
    /// Creates a digest of the file of a backup.
    pub(super) fn of_backup() -> Self {
        Self {
            is_backup: true,
            ..Self::default()
        }
    }

    /// Creates a digest of what is stored after the restoration of a backup.
    pub(super) fn after_restoration(backup: &Self) -> Self {
        Self {
            unfinished: backup.unfinished.clone(),
            ..Self::default()
        }
    }

    /// Returns the number of documents of a backup that its restoration processes again.
    pub(super) fn reprocessed(&self) -> usize {
        self.unfinished.len() - self.without_content
    }

    /// Checks whether both have the same content.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        self.hasher.clone().finalize() == other.hasher.clone().finalize()
    }

    fn add_line(&mut self, line: &[u8]) -> io::Result<()> {
        let summary: LineSummary<'_> = serde_json::from_slice(line).map_err(io::Error::other)?;
        match summary.r#type.as_ref() {
            "recollect-export" | "settings" | "end" => return Ok(()),
            "document" => {
                if self.is_unfinished(&summary) {
                    return Ok(());
                }
                self.documents += 1;
            }
            "memory" => {
                self.memories += 1;
                if !self.unfinished.is_empty() {
                    return Ok(());
                }
            }
            _ => {}
        }
        self.hasher.update(line);
        Ok(())
    }

    /// Checks whether a document was not done when the backup was made.
    fn is_unfinished(&mut self, document: &LineSummary<'_>) -> bool {
        let Some(id) = document.id.as_deref() else {
            return false;
        };
        if self.is_backup && document.status != Some(DocumentStatus::Done) {
            self.unfinished.insert(id.to_owned());
            if document.body.is_none() {
                self.without_content += 1;
            }
        }
        self.unfinished.contains(id)
    }
}

impl Write for ContentDigest {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        for part in bytes.split_inclusive(|&byte| byte == b'\n') {
            self.partial_line.extend_from_slice(part);
            if part.ends_with(b"\n") {
                let mut line = std::mem::take(&mut self.partial_line);
                self.add_line(&line)?;
                // The next line needs about as much memory.
                line.clear();
                self.partial_line = line;
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BACKUP: &str = concat!(
        "{\"type\":\"recollect-export\",\"exportedAt\":1}\n",
        "{\"type\":\"container\",\"name\":\"a\"}\n",
        "{\"type\":\"settings\"}\n",
        "{\"type\":\"document\",\"id\":\"1\",\"status\":\"done\",\"body\":{}}\n",
    );

    fn write_in_pieces(mut digest: ContentDigest, text: &str) -> ContentDigest {
        for piece in text.as_bytes().chunks(7) {
            digest.write_all(piece).unwrap();
        }
        digest
    }

    #[test]
    fn time_and_settings_are_not_compared() {
        let backup = write_in_pieces(ContentDigest::of_backup(), BACKUP);
        let is_same = |text: &str| {
            let digest = ContentDigest::after_restoration(&backup);
            write_in_pieces(digest, text).is_same(&backup)
        };
        let later = BACKUP.replace("\"exportedAt\":1", "\"exportedAt\":2");
        assert!(is_same(&later.replace("settings\"", "settings\",\"a\":1")));
        assert!(!is_same(&BACKUP.replace("\"a\"", "\"b\"")));
        assert!(!is_same(&BACKUP.replace("done", "queued")));
        assert!(!is_same(&format!("{BACKUP}{{\"type\":\"memory\"}}\n")));
    }

    #[test]
    fn a_document_that_is_processed_again_is_no_difference() {
        let failed = "{\"type\":\"document\",\"id\":\"2\",\"status\":\"failed\",\"body\":{}}\n";
        let announced = "{\"type\":\"document\",\"id\":\"3\",\"status\":\"queued\"}\n";
        let memory = "{\"type\":\"memory\",\"id\":\"4\"}\n";
        let text = format!("{BACKUP}{failed}{announced}{memory}");
        let backup = write_in_pieces(ContentDigest::of_backup(), &text);
        assert_eq!((backup.reprocessed(), backup.without_content), (1, 1));
        assert_eq!((backup.documents, backup.memories), (1, 1));

        let is_same = |text: &str| {
            let digest = ContentDigest::after_restoration(&backup);
            write_in_pieces(digest, text).is_same(&backup)
        };
        let done = failed.replace("failed", "done");
        assert!(is_same(&format!("{BACKUP}{failed}{memory}")));
        assert!(is_same(&format!("{BACKUP}{done}{memory}{memory}")));
        assert!(!is_same(&BACKUP.replace("\"id\":\"1\"", "\"id\":\"5\"")));
    }
}
