//! The changes that a commit makes to documents.

use crate::blob::BlobRef;
use crate::document::{Document, IndexedRevision, ProcessingResult};
use crate::memory::MemoryEdit;
use crate::ports::{AlternativeId, CustomIdReference};

/// The change that a commit makes to one document or memory.
#[derive(Debug, Clone)]
pub enum DocumentChange {
    /// The extracted revision of the document becomes the one that search serves, and the document
    /// becomes `done`. If its results are not recorded yet, its kind, title and properties are recorded
    /// as well.
    Publish(Box<Document>),
    /// A document is created, processed and served at once, for memories that a client writes and for
    /// imported documents.
    Create {
        /// The document.
        document: Box<Document>,
        /// The reference by which its `customId` leads to the document, if it needs one.
        reference: Option<CustomIdReference>,
    },
    /// The caller's information about the document has changed (metadata, path), while its indexed
    /// content stays.
    Describe(Box<Document>),
    /// The document is removed, with its entry in the index.
    Remove(Box<Document>),
    /// The document is removed from the index as it was read, and begins again with another
    /// `customId` or in another container. Its id stays.
    Move {
        /// The document as it was read.
        from: Box<Document>,
        /// The new record: queued, with its bytes stored.
        to: Box<Document>,
        /// The reference by which the `customId` leads to the document, if it needs one.
        reference: Option<CustomIdReference>,
        /// The other ids that a document with the `customId` could have. They must still be as they
        /// were found.
        alternatives: Vec<AlternativeId>,
    },
    /// The document is removed from the index and from listings, but its record stays: in a merge,
    /// another document with the same `customId` is newer. The record names the newer document,
    /// which is already set here.
    Supersede(Box<Document>),
    /// A caller edits a memory. No document changes.
    Edit(MemoryEdit),
}

impl DocumentChange {
    /// Returns the creation of a document to which its id leads.
    pub fn create(document: Document) -> Self {
        Self::Create {
            document: Box::new(document),
            reference: None,
        }
    }

    /// Returns the document that is changed, if there is one.
    pub fn document(&self) -> Option<&Document> {
        match self {
            Self::Publish(document)
            | Self::Create { document, .. }
            | Self::Describe(document)
            | Self::Remove(document)
            | Self::Supersede(document) => Some(document),
            Self::Move { from, .. } => Some(from),
            Self::Edit(_) => None,
        }
    }

    /// Returns the change in the number of documents that search serves.
    pub(super) fn served_count_delta(&self) -> i64 {
        let served_count = |document: &Document| i64::from(document.is_served());
        match self {
            Self::Publish(document) => 1 - served_count(document),
            Self::Create { .. } => 1,
            Self::Describe(_) | Self::Edit(_) => 0,
            Self::Remove(document) | Self::Move { from: document, .. } => -served_count(document),
            // The document already names the newer one, so [`Document::is_served`] would be
            // `false`.
            Self::Supersede(document) => -i64::from(document.indexed.is_some()),
        }
    }

    /// Checks whether the index holds content that has to be erased after the change.
    pub fn removes_content(&self) -> bool {
        match self {
            Self::Publish(document)
            | Self::Remove(document)
            | Self::Move { from: document, .. } => document.indexed.is_some(),
            Self::Create { .. } | Self::Describe(_) | Self::Supersede(_) | Self::Edit(_) => false,
        }
    }

    /// Returns the results of processing that replace the indexed content.
    pub(super) fn published_results(&self) -> Option<&ProcessingResult> {
        match self {
            Self::Publish(document) => document.extracted.as_ref(),
            Self::Create { .. }
            | Self::Describe(_)
            | Self::Remove(_)
            | Self::Move { .. }
            | Self::Supersede(_)
            | Self::Edit(_) => None,
        }
    }

    /// Returns the blobs that are no longer needed once the change has taken effect.
    pub fn unneeded_blobs(&self) -> Vec<BlobRef> {
        let indexed_blobs = |document: &Document| -> Vec<BlobRef> {
            document
                .indexed
                .iter()
                .flat_map(IndexedRevision::all_blobs)
                .cloned()
                .collect()
        };

        let mut blobs: Vec<BlobRef> = match self {
            Self::Publish(document) => indexed_blobs(document)
                .into_iter()
                .filter(|blob| !document.uses_blob(blob))
                .collect(),
            Self::Create { .. } | Self::Describe(_) | Self::Supersede(_) | Self::Edit(_) => {
                Vec::new()
            }
            Self::Remove(document) | Self::Move { from: document, .. } => indexed_blobs(document)
                .into_iter()
                .chain(document.unserved_blobs())
                .collect(),
        };

        blobs.sort();
        blobs.dedup();

        blobs
    }
}

impl Document {
    /// Checks whether search serves any content of the document.
    pub fn is_served(&self) -> bool {
        self.indexed.is_some() && self.superseded_by.is_none()
    }

    /// Returns the path of the newest revision's pack, which need not exist yet.
    pub fn pack_path(&self) -> String {
        format!("{}/{}/{}/pack", self.container, self.id, self.revision)
    }

    /// Returns the path of the newest revision's statements, which need not exist yet.
    pub fn statements_path(&self) -> String {
        format!(
            "{}/{}/{}/statements",
            self.container, self.id, self.revision
        )
    }

    /// Returns the blobs of the newest revision that search does not serve, or does not serve yet.
    /// A worker may have stored results without recording them, so these are included with both of
    /// their possible locations.
    pub fn unserved_blobs(&self) -> Vec<BlobRef> {
        let served_blobs: Vec<&BlobRef> = self
            .indexed
            .iter()
            .flat_map(IndexedRevision::all_blobs)
            .collect();
        let result_paths = [self.pack_path(), self.statements_path()];
        let result_blobs = result_paths
            .into_iter()
            .flat_map(|path| [BlobRef::Inline(path.clone()), BlobRef::Object(path)]);
        let bodies = [
            Some(self.body.blob.clone()),
            self.body.other_upload_location(),
        ]
        .into_iter()
        .flatten();
        result_blobs
            .chain(bodies)
            .filter(|blob| !served_blobs.contains(&blob))
            .collect()
    }

    /// Checks whether the newest revision needs this blob or may still need it. The latter concerns
    /// a file that has not arrived yet, which is going to be copied to a second path.
    pub fn uses_blob(&self, blob: &BlobRef) -> bool {
        let is_body =
            self.body.blob == *blob || self.body.other_upload_location().as_ref() == Some(blob);
        is_body
            || self
                .extracted
                .iter()
                .flat_map(ProcessingResult::blobs)
                .any(|made| made == blob)
    }
}
