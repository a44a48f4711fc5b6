//! Containers and the log from which their index is built.
//!
//! A container tag maps to physical containers. Each physical container has an append-only log:
//! every commit is one record with the next sequence number. The index is computed from that log.
//! Older records are compacted into immutable segments, so a reader needs only the segments and the
//! few records after them.

mod change;
mod head;

use serde::{Deserialize, Serialize};

use crate::blob::BlobRef;
use crate::document::{Document, DocumentType};
use crate::error::{Error, Result};
use crate::ids::{ContainerId, CustomId, DocumentId, Revision, TaskId};
use crate::memory::MemoryEdit;
use crate::patch::Patch;
use crate::provenance::Authorship;
use crate::settings::ProfileBucket;
use crate::tag::ContainerTag;
use crate::time::Timestamp;

pub use change::DocumentChange;
pub use head::{IndexHead, MemoryIndexRef, SegmentRef};

/// The most characters of the guidance about a container. Part of the API.
pub const MAX_ENTITY_CONTEXT: usize = 1500;

/// A container tag and the physical containers from which it reads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Container {
    /// The tag, which is the caller's name for the container.
    pub tag: ContainerTag,
    /// The physical containers. The first one receives the documents with only this tag. The others
    /// were merged into it, or are shared with other tags ([`SharedContainer`]).
    pub ids: Vec<ContainerId>,
    /// The time at which the tag was first used.
    pub created_at: Timestamp,
    /// The time at which the caller last changed these settings.
    pub updated_at: Timestamp,
    /// The display name that the caller chose.
    pub name: Option<String>,
    /// The caller's description of the content. It guides extraction, but is never a source of
    /// statements.
    pub entity_context: Option<String>,
    /// The topics by which the profile is arranged, in addition to those of the organization.
    pub profile_buckets: Vec<ProfileBucket>,
    /// The paths whose documents memories are made from, or `None` for all paths.
    pub memory_paths: Option<Vec<String>>,
    /// The merge in which the container takes part.
    pub merge: Option<MergeRole>,
}

/// The role of a container in a merge that is in progress.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MergeRole {
    /// The task of the merge.
    pub task: TaskId,
    /// The tag that receives this container's content, or `None` if this container is the target.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub into: Option<ContainerTag>,
}

/// The current owner of a physical container.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ContainerOwner {
    /// The tag with which its documents were sent.
    Original,
    /// Another tag, after a merge; or several tags, which share it.
    Tags(Vec<ContainerTag>),
    /// None: the container was deleted, and nothing that is left of it may be seen.
    Deleted,
}

/// A physical container that several tags read from, because its documents were sent with all of
/// them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SharedContainer {
    /// The id.
    pub id: ContainerId,
    /// The tags, in the order in which they were sent. The settings of the first one apply.
    pub tags: Vec<ContainerTag>,
}

impl SharedContainer {
    /// Returns the tags that are left after `deleted` is deleted.
    pub fn tags_without(&self, deleted: &ContainerTag) -> Vec<ContainerTag> {
        let mut tags = self.tags.clone();
        tags.retain(|tag| tag != deleted);
        tags
    }

    /// Returns the tags after `sources` are merged into `target`, which takes the place of the first
    /// of them.
    pub fn tags_after_merge(
        &self,
        sources: &[Container],
        target: &ContainerTag,
    ) -> Vec<ContainerTag> {
        let mut merged = Vec::new();
        for tag in &self.tags {
            let is_source = sources.iter().any(|source| source.tag == *tag);
            let tag = if is_source { target } else { tag };
            if !merged.contains(tag) {
                merged.push(tag.clone());
            }
        }

        merged
    }
}

/// A change to the caller's settings of a container tag.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ContainerChange {
    /// The new [`Container::name`].
    pub name: Patch<String>,
    /// The new [`Container::entity_context`].
    pub entity_context: Patch<String>,
    /// The new [`Container::profile_buckets`].
    pub profile_buckets: Patch<Vec<ProfileBucket>>,
    /// The new [`Container::memory_paths`].
    pub memory_paths: Patch<Vec<String>>,
}

impl Container {
    /// Checks whether memories are made from a document with this path. A document without a path
    /// is in no folder, so it is never excluded.
    pub fn makes_memories_from(&self, path: Option<&str>) -> bool {
        let (Some(folders), Some(path)) = (&self.memory_paths, path) else {
            return true;
        };
        // `/notes` and `/notes/` both name the same folder, which does not include `/notes-old`.
        folders.iter().any(|folder| {
            let relative_path = path.strip_prefix(folder.trim_end_matches('/'));
            relative_path.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        })
    }

    /// Returns the container with `id` as its primary physical container, if that is one of its
    /// own.
    #[must_use]
    pub fn with_primary(mut self, id: &ContainerId) -> Self {
        if let Some(index) = self.ids.iter().position(|own| own == id) {
            self.ids[..=index].rotate_right(1);
        }
        self
    }

    /// Refuses new content while a merge is in progress.
    ///
    /// # Errors
    /// Returns [`Error::Conflict`] during a merge.
    pub fn check_writable(&self) -> Result<()> {
        match &self.merge {
            None => Ok(()),
            Some(MergeRole {
                into: Some(target), ..
            }) => Err(Error::Conflict(format!(
                "the container tag {} is being merged into {target}; write there when the merge is completed",
                self.tag
            ))),
            Some(MergeRole { into: None, .. }) => Err(Error::Conflict(format!(
                "a merge into the container tag {} is running; write when it is completed",
                self.tag
            ))),
        }
    }

    /// Returns the physical container that receives new documents.
    pub fn primary_id(&self) -> &ContainerId {
        &self.ids[0]
    }
}

/// A record of a container's log: one commit.
#[derive(Debug, Clone, PartialEq)]
pub struct LogRecord {
    /// The sequence number of the record, from 1 without gaps.
    pub seq: u64,
    /// The effects of the commit.
    pub entries: Vec<LogEntry>,
}

/// The effect of a log record on one document or memory.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "op", rename_all = "lowercase")]
pub enum LogEntry {
    /// Search serves this revision of the document from now on.
    Put {
        /// The chunks and embeddings.
        pack: BlobRef,
        /// The statements, if there are any.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        statements: Option<BlobRef>,
        /// The fields that results show and filters read.
        document: Box<IndexedDocument>,
    },
    /// The document is removed.
    Remove {
        /// The id of the document.
        id: DocumentId,
    },
    /// A caller has edited a memory.
    #[serde(rename = "act")]
    Edit {
        /// The edit.
        #[serde(rename = "action")]
        edit: MemoryEdit,
    },
}

impl LogEntry {
    /// Returns the id of the document that the entry concerns, if it concerns one.
    pub fn document_id(&self) -> Option<&DocumentId> {
        match self {
            Self::Put { document, .. } => Some(&document.id),
            Self::Remove { id } => Some(id),
            Self::Edit { .. } => None,
        }
    }
}

/// A document as the index stores it, with everything that is needed to filter and show a result
/// without reading the document's record.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct IndexedDocument {
    /// The id.
    pub id: DocumentId,
    /// The revision from which the chunks were made.
    pub revision: Revision,
    /// The tag with which it was sent.
    pub tag: String,
    /// The caller's own identifier.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub custom_id: Option<CustomId>,
    /// The type of the document.
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
    /// The authorship of its content, or `None` if it was processed before authorship was
    /// determined.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub authorship: Option<Authorship>,
    /// The time at which it was accepted, in milliseconds since the Unix epoch.
    pub created_at: i64,
    /// The time of its last commit, in milliseconds since the Unix epoch.
    pub updated_at: i64,
    /// The time of the last change of its record, in milliseconds since the Unix epoch. It differs from
    /// `updated_at` for imported documents. `None` if an earlier version wrote the entry.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub changed_at: Option<i64>,
}

impl IndexedDocument {
    /// Creates the index entry of a document while search serves `revision` of it.
    pub fn for_revision(document: &Document, revision: &Revision) -> Self {
        Self {
            id: document.id.clone(),
            revision: revision.clone(),
            tag: document.tag.as_str().to_owned(),
            custom_id: document.custom_id.clone(),
            kind: document.display_type(),
            title: document.display_title().map(str::to_owned),
            metadata: document.metadata.as_object().clone(),
            filepath: document.filepath.clone(),
            filter_by_metadata: document
                .filter_by_metadata
                .as_ref()
                .map(|filter| filter.as_object().clone()),
            authorship: document.authorship_of(revision).cloned(),
            created_at: document.created_at.as_millis(),
            updated_at: document.updated_at.as_millis(),
            changed_at: Some(document.updated_at.as_millis()),
        }
    }

    /// Creates the index entry of a document for the revision that search already serves, or
    /// returns `None` if search serves none.
    pub fn for_served_revision(document: &Document) -> Option<Self> {
        let indexed = document.indexed.as_ref()?;
        let (kind, title) = (indexed.kind, indexed.title.clone());
        Some(Self::for_revision(
            &Document {
                kind,
                title,
                ..document.clone()
            },
            &indexed.revision,
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
        assert!(container.makes_memories_from(Some("/a")) && container.makes_memories_from(None));

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
            assert!(container.makes_memories_from(Some(inside)), "{inside}");
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
            assert!(!container.makes_memories_from(Some(outside)), "{outside}");
        }

        assert!(container.makes_memories_from(None), "without a path");

        container.memory_paths = Some(vec!["/".into()]);
        assert!(
            container.makes_memories_from(Some("/a")) && !container.makes_memories_from(Some("a"))
        );
        container.memory_paths = Some(Vec::new());
        assert!(!container.makes_memories_from(Some("/a")));
    }
}
