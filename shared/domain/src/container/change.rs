//! What a commit does to documents.

use crate::blob::BlobRef;
use crate::document::{Document, Extracted, Indexed};
use crate::ids::DocumentId;
use crate::memory::MemoryAction;

/// One document's part in a commit.
#[derive(Debug, Clone)]
pub enum Change {
    /// The document's extracted revision becomes what search serves, and the document `done`.
    Publish(Box<Document>),
    /// A document that is made, processed and served at once: memories that a client wrote.
    Create(Box<Document>),
    /// What the caller says about the document has changed (metadata, path); what search serves of its content stays.
    Describe(Box<Document>),
    /// The document and its place in the index disappear.
    Remove(Box<Document>),
    /// The document disappears here, as it was read, and begins under a new id, perhaps in another container.
    Move {
        /// What was read.
        from: Box<Document>,
        /// What it becomes: queued, its bytes stored, its id not taken.
        to: Box<Document>,
        /// Where else a document of its new customId could lie: none lives there.
        rivals: Vec<DocumentId>,
    },
    /// The document disappears from the index and from listings, and its record stays: another one of its customId is
    /// newer, as they meet in a merge. The record names that one; here it is named already.
    Supersede(Box<Document>),
    /// A caller does something to a memory. No document changes.
    Act(MemoryAction),
}

impl Change {
    /// The document that is changed, if one is.
    pub fn document(&self) -> Option<&Document> {
        match self {
            Self::Publish(document)
            | Self::Create(document)
            | Self::Describe(document)
            | Self::Remove(document)
            | Self::Supersede(document) => Some(document),
            Self::Move { from, .. } => Some(from),
            Self::Act(_) => None,
        }
    }

    /// How many documents search serves more than before.
    pub(super) fn served(&self) -> i64 {
        let is_served = |document: &Document| i64::from(document.is_served());
        match self {
            Self::Publish(document) => 1 - is_served(document),
            Self::Create(_) => 1,
            Self::Describe(_) | Self::Act(_) => 0,
            Self::Remove(document) | Self::Move { from: document, .. } => -is_served(document),
            // It comes with the newer one named already.
            Self::Supersede(document) => -i64::from(document.indexed.is_some()),
        }
    }

    /// Whether the index holds content that is no longer to be there once the change has happened.
    pub fn takes_away(&self) -> bool {
        match self {
            Self::Publish(document)
            | Self::Remove(document)
            | Self::Move { from: document, .. } => document.indexed.is_some(),
            Self::Create(_) | Self::Describe(_) | Self::Supersede(_) | Self::Act(_) => false,
        }
    }

    /// What the change puts in place of what search served.
    pub(super) fn published(&self) -> Option<&Extracted> {
        match self {
            Self::Publish(document) => document.extracted.as_ref(),
            Self::Create(_)
            | Self::Describe(_)
            | Self::Remove(_)
            | Self::Move { .. }
            | Self::Supersede(_)
            | Self::Act(_) => None,
        }
    }

    /// The bytes that nobody needs once the change has happened.
    pub fn garbage(&self) -> Vec<BlobRef> {
        let old = |document: &Document| -> Vec<BlobRef> {
            document
                .indexed
                .iter()
                .flat_map(Indexed::blobs)
                .cloned()
                .collect()
        };

        let mut blobs: Vec<BlobRef> = match self {
            Self::Publish(document) => old(document)
                .into_iter()
                .filter(|blob| !document.uses(blob))
                .collect(),
            Self::Create(_) | Self::Describe(_) | Self::Supersede(_) | Self::Act(_) => Vec::new(),
            Self::Remove(document) | Self::Move { from: document, .. } => old(document)
                .into_iter()
                .chain(document.unserved())
                .collect(),
        };

        blobs.sort();
        blobs.dedup();

        blobs
    }
}

impl Document {
    /// Whether search serves some content of it.
    pub fn is_served(&self) -> bool {
        self.indexed.is_some() && self.superseded_by.is_none()
    }

    /// Where the newest revision's pack lies, once it is made.
    pub fn pack_path(&self) -> String {
        format!("{}/{}/{}/pack", self.container, self.id, self.revision)
    }

    /// Where the newest revision's statements lie, once they are found.
    pub fn statements_path(&self) -> String {
        format!(
            "{}/{}/{}/statements",
            self.container, self.id, self.revision
        )
    }

    /// The bytes of the newest revision that search does not serve (yet). A worker may have stored what it made and not
    /// recorded it, so that is named in both places where it may lie.
    pub fn unserved(&self) -> Vec<BlobRef> {
        let served: Vec<&BlobRef> = self.indexed.iter().flat_map(Indexed::blobs).collect();
        let made = [self.pack_path(), self.statements_path()];
        let made = made
            .into_iter()
            .flat_map(|path| [BlobRef::Inline(path.clone()), BlobRef::Object(path)]);
        let bodies = [Some(self.body.blob.clone()), self.body.twin()]
            .into_iter()
            .flatten();
        made.chain(bodies)
            .filter(|blob| !served.contains(&blob))
            .collect()
    }

    /// Whether the newest revision needs these bytes, or may come to need them: those of a file that is still awaited will
    /// be kept beside where the client stores them.
    pub fn uses(&self, blob: &BlobRef) -> bool {
        let is_body = self.body.blob == *blob || self.body.twin().as_ref() == Some(blob);
        is_body
            || self
                .extracted
                .iter()
                .flat_map(Extracted::blobs)
                .any(|made| made == blob)
    }
}
