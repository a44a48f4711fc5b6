//! Containers and the log that their search index is built from.
//!
//! A container tag maps to physical containers. Each physical container has an append-only log: every commit is one
//! record with the next sequence number. The index is a fold over that log; older records are folded into immutable
//! segments, so a reader needs the segments and the few records after them.

mod change;
mod head;

use serde::{Deserialize, Serialize};

use crate::blob::BlobRef;
use crate::document::{Document, DocumentType};
use crate::error::{Error, Result};
use crate::ids::{ContainerId, CustomId, DocumentId, Revision, TaskId};
use crate::memory::MemoryAction;
use crate::patch::Patch;
use crate::provenance::Authorship;
use crate::settings::Bucket;
use crate::tag::ContainerTag;
use crate::time::Timestamp;

pub use change::Change;
pub use head::{IndexHead, SegmentRef};

/// A container tag and the physical containers it reads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Container {
    /// The caller's name.
    pub tag: ContainerTag,
    /// Physical containers; the first takes the writes.
    pub ids: Vec<ContainerId>,
    /// When the tag was first used.
    pub created_at: Timestamp,
    /// When the caller last changed something here.
    pub updated_at: Timestamp,
    /// The caller's name for people.
    pub name: Option<String>,
    /// What the caller says that its content is about: guidance for extraction, never a source of facts.
    pub entity_context: Option<String>,
    /// Topics that its profile is sorted into, beside those of the organization.
    pub profile_buckets: Vec<Bucket>,
    /// Memories are made only of documents whose path lies here; `None` is everywhere.
    pub memory_paths: Option<Vec<String>>,
    /// The merge that it takes part in.
    pub merge: Option<Merging>,
}

/// A container's part in a merge that is under way.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Merging {
    /// The merge.
    pub task: TaskId,
    /// The tag that takes this one's content; `None` when this one is the target.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub into: Option<ContainerTag>,
}

/// Which tag a physical container belongs to now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Owner {
    /// The one that its documents were sent with.
    Original,
    /// Another one, by a merge.
    Tag(ContainerTag),
    /// None any more: it was deleted, and whatever is left of it must not be seen.
    Gone,
}

/// What a caller changes about a container tag.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ContainerChange {
    /// [`Container::name`].
    pub name: Patch<String>,
    /// [`Container::entity_context`].
    pub entity_context: Patch<String>,
    /// [`Container::profile_buckets`].
    pub profile_buckets: Patch<Vec<Bucket>>,
    /// [`Container::memory_paths`].
    pub memory_paths: Patch<Vec<String>>,
}

impl Container {
    /// Whether memories are made of a document with this path. One without a path lies nowhere, so never outside.
    pub fn learns_from(&self, path: Option<&str>) -> bool {
        let (Some(folders), Some(path)) = (&self.memory_paths, path) else {
            return true;
        };
        // `/notes` and `/notes/` both name the folder, and not `/notes-old`.
        folders.iter().any(|folder| {
            let inside = path.strip_prefix(folder.trim_end_matches('/'));
            inside.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        })
    }

    /// Refuses new content while a merge is under way.
    ///
    /// # Errors
    /// [`Error::Conflict`].
    pub fn check_writable(&self) -> Result<()> {
        match &self.merge {
            None => Ok(()),
            Some(Merging {
                into: Some(target), ..
            }) => Err(Error::Conflict(format!(
                "the container tag {} is being merged into {target}; write there when the merge is completed",
                self.tag
            ))),
            Some(Merging { into: None, .. }) => Err(Error::Conflict(format!(
                "a merge into the container tag {} is running; write when it is completed",
                self.tag
            ))),
        }
    }

    /// The physical container that new documents go to.
    pub fn primary(&self) -> &ContainerId {
        &self.ids[0]
    }
}

/// One commit.
#[derive(Debug, Clone, PartialEq)]
pub struct LogRecord {
    /// Its place in the log, from 1 without gaps.
    pub seq: u64,
    /// What it did.
    pub entries: Vec<LogEntry>,
}

/// What a log record does to one document.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "op", rename_all = "lowercase")]
pub enum LogEntry {
    /// This revision is what search serves from now on.
    Put {
        /// The chunks and vectors.
        pack: BlobRef,
        /// What it states, if anything.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        statements: Option<BlobRef>,
        /// What results show and filters read.
        document: Box<SearchDocument>,
    },
    /// The document is gone.
    Remove {
        /// Which.
        id: DocumentId,
    },
    /// A caller did something to a memory.
    Act {
        /// What.
        action: MemoryAction,
    },
}

impl LogEntry {
    /// The document that it is about, if it is about one.
    pub fn document(&self) -> Option<&DocumentId> {
        match self {
            Self::Put { document, .. } => Some(&document.id),
            Self::Remove { id } => Some(id),
            Self::Act { .. } => None,
        }
    }
}

/// A document as the index carries it: enough to filter and to show a result without reading its record.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SearchDocument {
    /// Identity.
    pub id: DocumentId,
    /// The revision that the chunks were made of.
    pub revision: Revision,
    /// The tag it was sent with.
    pub tag: String,
    /// The caller's own identifier.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub custom_id: Option<CustomId>,
    /// The kind.
    pub kind: DocumentType,
    /// The title.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The caller's metadata.
    #[serde(default, skip_serializing_if = "serde_json::Map::is_empty")]
    pub metadata: serde_json::Map<String, serde_json::Value>,
    /// The caller's path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filepath: Option<String>,
    /// The metadata that other documents must have for its statements to replace theirs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filter_by_metadata: Option<serde_json::Map<String, serde_json::Value>>,
    /// Whose words its content is; none where it was processed before that was looked at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub authorship: Option<Authorship>,
    /// Milliseconds since the epoch.
    pub created_at: i64,
    /// Milliseconds since the epoch.
    pub updated_at: i64,
}

impl SearchDocument {
    /// What the index shows of a document while it serves `revision` of it.
    pub fn of(document: &Document, revision: &Revision) -> Self {
        Self {
            id: document.id.clone(),
            revision: revision.clone(),
            tag: document.tag.as_str().to_owned(),
            custom_id: document.custom_id.clone(),
            kind: document.shown_kind(),
            title: document.shown_title().map(str::to_owned),
            metadata: document.metadata.as_object().clone(),
            filepath: document.filepath.clone(),
            filter_by_metadata: document
                .filter_by_metadata
                .as_ref()
                .map(|wanted| wanted.as_object().clone()),
            authorship: document.authorship_of(revision).cloned(),
            created_at: document.created_at.as_millis(),
            updated_at: document.updated_at.as_millis(),
        }
    }

    /// What the index shows of a document while it goes on to serve what it serves; `None` when it serves nothing.
    pub fn served(document: &Document) -> Option<Self> {
        let served = document.indexed.as_ref()?;
        let (kind, title) = (served.kind, served.title.clone());
        Some(Self::of(
            &Document {
                kind,
                title,
                ..document.clone()
            },
            &served.revision,
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memories_are_made_of_what_lies_in_the_folders() {
        let mut container = Container {
            tag: ContainerTag::default_tag(),
            ids: Vec::new(),
            created_at: Timestamp::from_millis(0),
            updated_at: Timestamp::from_millis(0),
            name: None,
            entity_context: None,
            profile_buckets: Vec::new(),
            memory_paths: None,
            merge: None,
        };

        assert!(container.learns_from(Some("/a")) && container.learns_from(None));
        container.memory_paths = Some(vec![
            "/notes".into(),
            "/diary/2025/".into(),
            "log.md".into(),
        ]);
        for inside in [
            "/notes",
            "/notes/",
            "/notes/a/b.md",
            "/diary/2025/x",
            "/diary/2025",
            "log.md",
        ] {
            assert!(container.learns_from(Some(inside)), "{inside}");
        }

        for outside in [
            "/notes-old/a",
            "/diary/2024/x",
            "/",
            "",
            "notes/a",
            "log.md.bak",
            "/a/notes/b",
        ] {
            assert!(!container.learns_from(Some(outside)), "{outside}");
        }

        assert!(container.learns_from(None), "without a path");
        container.memory_paths = Some(vec!["/".into()]);
        assert!(container.learns_from(Some("/a")) && !container.learns_from(Some("a")));
        container.memory_paths = Some(Vec::new());
        assert!(!container.learns_from(Some("/a")));
    }
}
